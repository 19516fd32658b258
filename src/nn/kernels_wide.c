/* kernels_wide: the kernels for x86-64 with AVX2, without fused multiply-adds: the same bits as the plain ones. */
#include "nn/kernels_builds.h"

#ifdef ADL_KERNELS_FAST
#define LANES 8
#define ROWS  6 /* x 16 columns = 12 of the 16 vector registers */
#define WIDE  4
#define NAME  "avx2, exact"
#define TABLE adl_kernels_wide
#include "nn/kernels_body.h"
#endif
