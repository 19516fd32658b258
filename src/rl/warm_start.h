/* warm_start: the warm-start policy, a linear rule over the features of actions, found by search. It acts in the first
 * episodes, before the network has learned anything. */
#ifndef ADLRO_RL_WARM_START_H
#define ADLRO_RL_WARM_START_H

#include "experiment/thread_pool.h"
#include "rl/rollout.h"

#define ADL_WARM_START_FEATURES_MAX 64

struct adl_warm_start {
    float weights[ADL_WARM_START_FEATURES_MAX]; /* [action_features] */
    double mean_return;                         /* over the seeds of the search */
};

struct adl_warm_start_search {
    struct adl_thread_pool *pool;
    struct adl_rollout *const *rollouts; /* one for each concurrent evaluation */
    uint32_t rollout_count;
    uint64_t seed;       /* of the search itself */
    uint64_t first_seed; /* of the episodes */
    uint32_t generations;
    /* Called after each generation, may be NULL; nonzero ends the search with the rule so far. */
    int (*progress)(void *self, uint32_t generation, double best);
    void *progress_self;
};

/* The cross-entropy method (Rubinstein 1999): draw rules from a normal distribution, evaluate them, fit it to the
 * best. */
int adl_warm_start_find(const struct adl_warm_start_search *search, struct adl_warm_start *ret, struct adl_error *err);

#endif
