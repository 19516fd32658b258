/* rank_network: a small network that corrects what the rule of policy adlro says of a waiting job: its rank, and how
 * much prices and waiting count for it.
 *
 * Features are relative to what the cluster shows (typical run time, load), so that one network serves every cluster. A
 * hidden layer with x / (1 + |x|), then three outputs, each the logarithm of a factor: with all parameters of the
 * second layer 0 the rule stays as it is. `adlro train adlro` trains it (rl/rank_trainer.h). */
#ifndef ADLRO_POLICY_ADLRO_RANK_NETWORK_H
#define ADLRO_POLICY_ADLRO_RANK_NETWORK_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adl_rank_feature {
    ADL_RANK_REST,      /* ln(rest of its run / typical run time) */
    ADL_RANK_WAIT,      /* ln(1 + wait / rest) */
    ADL_RANK_GPUS,      /* ln(GPUs) */
    ADL_RANK_PART,      /* its GPUs / all GPUs of the cluster */
    ADL_RANK_QUEUE,     /* ln(1 + waiting jobs / GPUs of the cluster) */
    ADL_RANK_IDLE,      /* share of the cluster's GPUs that is idle */
    ADL_RANK_ADVANTAGE, /* ln(run time on its second best type / on its best), at most 2 */
    ADL_RANK_PRICE,     /* ln(1 + price of its best type * GPUs) */
    ADL_RANK_DOUBT,     /* ln(expected cost of a completion / expected rest) */
    ADL_RANK_CHOICE,    /* share of the cluster's GPUs that are of a type it may use */
    ADL_RANK_FEATURES
};

enum adl_rank_output { ADL_RANK_SCORE, ADL_RANK_PRICES, ADL_RANK_WAITING, ADL_RANK_OUTPUTS };

#define ADL_RANK_HIDDEN   10
#define ADL_RANK_GPUS_MAX 64 /* of the clusters that it is trained on: on larger ones the rule stays as it is */
#define ADL_RANK_PARAMS   (ADL_RANK_HIDDEN * (ADL_RANK_FEATURES + 1) + ADL_RANK_OUTPUTS * (ADL_RANK_HIDDEN + 1))

/* First layer: for each hidden unit its weights and its bias; then the same for each output. */
struct adl_rank_network {
    float params[ADL_RANK_PARAMS];
};

struct adl_rank_factors {
    double of[ADL_RANK_OUTPUTS]; /* each from 1/8 to 8 */
};

struct adl_rank_factors adl_rank_network_apply(const struct adl_rank_network *network,
                                               const double features[ADL_RANK_FEATURES]);

/* Random weights of the first layer, and a second layer that corrects nothing. */
void adl_rank_network_init(struct adl_rank_network *network, uint64_t seed);

/* As bytes: "ADLRORNK", u32 version, u32 features, u32 hidden units, u32 outputs, parameters as 32-bit floats, u64
 * FNV-1a of all before it; little-endian. */
bool adl_rank_network_is(const void *bytes, size_t size); /* they begin as one does */
void adl_rank_network_encode(const struct adl_rank_network *network, struct adl_text *ret);
int adl_rank_network_decode(const void *bytes, size_t size, struct adl_rank_network *ret, struct adl_error *err);

#endif
