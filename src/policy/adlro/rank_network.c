#include "policy/adlro/rank_network.h"

#include "base/real.h"
#include "base/rng.h"
#include "nn/bytes.h"

#include <math.h>

#define MAGIC       "ADLRORNK"
#define MAGIC_SIZE  8
#define VERSION     1
#define HEADER_SIZE (MAGIC_SIZE + 4 * sizeof(uint32_t))
#define MODEL_SIZE  (HEADER_SIZE + ADL_RANK_PARAMS * sizeof(float) + sizeof(uint64_t))

#define LOG_MOST 2.0794415416798357 /* ln 8: of an output */

/* Typical spread of each feature, by which it is divided. */
static const double spread[ADL_RANK_FEATURES] = {1.5, 1.5, 1, 0.2, 1, 0.2, 0.5, 1, 0.5, 0.3};
static const double middle[ADL_RANK_FEATURES] = {-0.5, 1, 0.5, 0.1, 0.5, 0.2, 0.4, 0.7, -0.3, 0.8};

static double squash(double x)
{
    return x / (1 + fabs(x));
}

struct adl_rank_factors adl_rank_network_apply(const struct adl_rank_network *network,
                                               const double features[ADL_RANK_FEATURES])
{
    const float *at = network->params;
    double in[ADL_RANK_FEATURES], hidden[ADL_RANK_HIDDEN];
    struct adl_rank_factors ret;
    for (int f = 0; f < ADL_RANK_FEATURES; f++)
        in[f] = (features[f] - middle[f]) / spread[f];
    for (int h = 0; h < ADL_RANK_HIDDEN; h++, at += ADL_RANK_FEATURES + 1) {
        double sum = (double)at[ADL_RANK_FEATURES];
        for (int f = 0; f < ADL_RANK_FEATURES; f++)
            sum += (double)at[f] * in[f];
        hidden[h] = squash(sum);
    }
    for (int o = 0; o < ADL_RANK_OUTPUTS; o++, at += ADL_RANK_HIDDEN + 1) {
        double sum = (double)at[ADL_RANK_HIDDEN];
        for (int h = 0; h < ADL_RANK_HIDDEN; h++)
            sum += (double)at[h] * hidden[h];
        ret.of[o] = adl_exp(fmin(fmax(sum, -LOG_MOST), LOG_MOST));
    }
    return ret;
}

void adl_rank_network_init(struct adl_rank_network *network, uint64_t seed)
{
    struct adl_rng rng;
    adl_rng_seed(&rng, seed, "rank network");
    for (int i = 0; i < ADL_RANK_PARAMS; i++)
        network->params[i] = i < ADL_RANK_HIDDEN * (ADL_RANK_FEATURES + 1) ? (float)(adl_rng_normal(&rng) * 0.4) : 0.0f;
}

bool adl_rank_network_is(const void *bytes, size_t size)
{
    return bytes && size >= MAGIC_SIZE && memcmp(bytes, MAGIC, MAGIC_SIZE) == 0;
}

void adl_rank_network_encode(const struct adl_rank_network *network, struct adl_text *ret)
{
    const size_t begin = ret->size;
    adl_text_bytes(ret, MAGIC, MAGIC_SIZE);
    adl_bytes_put_u32(ret, VERSION);
    adl_bytes_put_u32(ret, ADL_RANK_FEATURES);
    adl_bytes_put_u32(ret, ADL_RANK_HIDDEN);
    adl_bytes_put_u32(ret, ADL_RANK_OUTPUTS);
    adl_bytes_put_floats(ret, network->params, ADL_RANK_PARAMS);
    if (adl_text_status(ret) == 0)
        adl_bytes_put_u64(ret, adl_bytes_checksum(ret->data + begin, ret->size - begin));
}

int adl_rank_network_decode(const void *bytes, size_t size, struct adl_rank_network *ret, struct adl_error *err)
{
    static const uint32_t shape[] = {VERSION, ADL_RANK_FEATURES, ADL_RANK_HIDDEN, ADL_RANK_OUTPUTS};
    struct adl_rank_network read;
    const unsigned char *at = bytes;
    if (!adl_rank_network_is(bytes, size))
        return adl_fail(err, ADL_EINVAL, "this is not a network of `adlro train adlro`");
    if (size != MODEL_SIZE ||
        adl_bytes_checksum(bytes, size - sizeof(uint64_t)) != adl_bytes_u64(at + size - sizeof(uint64_t)))
        return adl_fail(err, ADL_EINVAL, "the network is damaged or of another version: %zu bytes, %zu expected", size,
                        (size_t)MODEL_SIZE);
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        if (adl_bytes_u32(at + MAGIC_SIZE + i * sizeof(uint32_t)) != shape[i])
            return adl_fail(err, ADL_EINVAL, "the network has another shape; train it with this program");
    adl_bytes_floats(at + HEADER_SIZE, ADL_RANK_PARAMS, read.params);
    for (int i = 0; i < ADL_RANK_PARAMS; i++)
        if (!isfinite(read.params[i]))
            return adl_fail(err, ADL_EINVAL, "parameter %d of the network is not a finite number", i);
    *ret = read;
    return 0;
}
