/* adam: see adam.h; the moments follow the struct in one block. */
#include "nn/adam.h"

#include "nn/bytes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int check_config(const struct adl_adam_config *config, struct adl_error *err)
{
    if (!(config->beta1 >= 0 && config->beta1 < 1 && config->beta2 >= 0 && config->beta2 < 1))
        return adl_fail(err, ADL_EINVAL, "adam: beta1 and beta2 must be at least 0 and less than 1");
    if (!(config->epsilon >= 0 && config->norm_max >= 0))
        return adl_fail(err, ADL_EINVAL, "adam: epsilon and norm_max must not be negative");
    return 0;
}

int adl_adam_create(const struct adl_adam_config *config, size_t count, struct adl_adam **ret, struct adl_error *err)
{
    const int status = check_config(config, err);
    if (status)
        return status;
    if (count == 0 || count > SIZE_MAX / (4 * sizeof(float)))
        return adl_fail(err, ADL_EINVAL, "adam: no optimizer for %zu parameters", count);
    struct adl_adam *adam = calloc(1, sizeof *adam + 2 * count * sizeof(float));
    if (!adam)
        return adl_fail(err, ADL_ENOMEM, "adam: no memory for %zu parameters", count);
    adam->config = *config;
    adam->config.beta1 = config->beta1 > 0 ? config->beta1 : 0.9;
    adam->config.beta2 = config->beta2 > 0 ? config->beta2 : 0.999;
    adam->config.epsilon = config->epsilon > 0 ? config->epsilon : 1e-8;
    adam->count = count;
    *ret = adam;
    return 0;
}

void adl_adam_destroy(struct adl_adam *adam)
{
    free(adam);
}

/* By squaring: only multiplications, so the same bits everywhere. */
static double power(double base, uint64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= base;
        base *= base;
    }
    return result;
}

double adl_adam_step(struct adl_adam *adam, const struct adl_kernels *kernels, double learning_rate, const float *grads,
                     float *params)
{
    const struct adl_adam_config *config = &adam->config;
    const ptrdiff_t count = (ptrdiff_t)adam->count;
    const double norm = sqrt(kernels->sum_squares(count, grads));
    if (!isfinite(norm))
        return norm;
    adam->steps++;
    const double root = sqrt(1 - power(config->beta2, adam->steps));
    const struct adl_adam_rates rates = {
        .beta1 = (float)config->beta1,
        .beta2 = (float)config->beta2,
        .step = (float)(learning_rate * root / (1 - power(config->beta1, adam->steps))),
        .epsilon = (float)(config->epsilon * root),
        .grad_scale = config->norm_max > 0 && norm > config->norm_max ? (float)(config->norm_max / norm) : 1,
    };
    kernels->adam(count, rates, grads, adam->moments, adam->moments + count, params);
    return norm;
}

void adl_adam_write(const struct adl_adam *adam, struct adl_text *ret_bytes)
{
    adl_bytes_put_u64(ret_bytes, adam->steps);
    adl_bytes_put_floats(ret_bytes, adam->moments, 2 * adam->count);
}

int adl_adam_read(struct adl_adam *adam, const void *bytes, size_t size, struct adl_error *err)
{
    const size_t right = 8 + 2 * adam->count * sizeof(float);
    if (size != right)
        return adl_fail(err, ADL_EINVAL, "adam: state of %zu parameters takes %zu bytes, got %zu", adam->count, right,
                        size);
    adam->steps = adl_bytes_u64(bytes);
    adl_bytes_floats((const unsigned char *)bytes + 8, 2 * adam->count, adam->moments);
    return 0;
}
