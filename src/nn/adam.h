/* adam: the optimizer Adam (Kingma and Ba 2015) with optional clipping of the gradient's norm. */
#ifndef ADLRO_NN_ADAM_H
#define ADLRO_NN_ADAM_H

#include "base/error.h"
#include "base/text.h"
#include "nn/kernels.h"

#include <stddef.h>
#include <stdint.h>

struct adl_adam_config {
    double beta1;    /* 0 = 0.9 */
    double beta2;    /* 0 = 0.999 */
    double epsilon;  /* 0 = 1e-8 */
    double norm_max; /* clips the gradient's norm; 0 = no clipping */
};

/* One block: the moments follow it. */
struct adl_adam {
    struct adl_adam_config config;
    size_t count; /* parameters */
    uint64_t steps;
    float moments[]; /* (count) first, (count) second */
};

int adl_adam_create(const struct adl_adam_config *config, size_t count, struct adl_adam **ret, struct adl_error *err);
void adl_adam_destroy(struct adl_adam *adam); /* accepts NULL */

/* Moves params against grads, both of count. Returns the gradient's norm before clipping. A gradient whose norm is not
 * finite changes nothing, neither parameters nor moments. */
double adl_adam_step(struct adl_adam *adam, const struct adl_kernels *kernels, double learning_rate, const float *grads,
                     float *params);

/* Steps and moments as bytes, for a model file; reading them back needs the same number of parameters. */
void adl_adam_write(const struct adl_adam *adam, struct adl_text *ret_bytes);
int adl_adam_read(struct adl_adam *adam, const void *bytes, size_t size, struct adl_error *err);

#endif
