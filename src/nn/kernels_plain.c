/* kernels_plain: the kernels for any processor. */
#include "nn/kernels_body.h"
