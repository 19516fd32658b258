/* kernels_fast: the kernels for x86-64 with AVX2 and FMA; compiled with those switched on, see CMakeLists.txt. */
#include "nn/kernels_builds.h"

#ifdef ADL_KERNELS_FAST
#define LANES 8
#define ROWS  6 /* x 16 columns = 12 of the 16 vector registers */
#define WIDE  4
#define NAME  "avx2"
#define TABLE adl_kernels_fast
#include "nn/kernels_body.h"
#endif
