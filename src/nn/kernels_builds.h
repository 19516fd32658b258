/* kernels_builds: the tables that kernels.c chooses from. */
#ifndef ADLRO_NN_KERNELS_BUILDS_H
#define ADLRO_NN_KERNELS_BUILDS_H

#include "nn/kernels.h"

extern const struct adl_kernels adl_kernels_plain;
extern const struct adl_kernels adl_kernels_wide; /* these two only where ADL_KERNELS_FAST is defined */
extern const struct adl_kernels adl_kernels_fast;

#endif
