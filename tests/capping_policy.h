/* capping_policy: another policy that now and then caps some GPUs at random, or lifts their caps. */
#ifndef ADLRO_TESTS_CAPPING_POLICY_H
#define ADLRO_TESTS_CAPPING_POLICY_H

#include "base/rng.h"
#include "policy/policy.h"

#include <stdlib.h>

struct capping {
    void *inner;
    const struct adl_cluster *cluster;
    struct adl_rng rng;
    int64_t last_us;
};

static inline const struct adl_policy_ops *capping_inner(void)
{
    return &adl_policy_srtf; /* it preempts, and shares where it may */
}

static inline int capping_create(const struct adl_policy_config *config, const struct adl_cluster *cluster,
                                 uint64_t seed, void **ret_policy, struct adl_error *err)
{
    struct capping *self = calloc(1, sizeof *self);
    if (!self)
        return ADL_ENOMEM;
    self->cluster = cluster;
    self->last_us = -1;
    adl_rng_seed(&self->rng, seed, "capping");
    const int status = capping_inner()->create(config, cluster, seed, &self->inner, err);
    if (status) {
        free(self);
        return status;
    }
    *ret_policy = self;
    return 0;
}

static inline void capping_destroy(void *policy)
{
    struct capping *self = policy;
    if (!self)
        return;
    capping_inner()->destroy(self->inner);
    free(self);
}

static inline int64_t capping_rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    return capping_inner()->rank(((struct capping *)policy)->inner, state, slot);
}

/* One cap for a run of GPUs of one bank: up, down, idle or busy. */
static inline int capping_cap(struct capping *self, struct adl_plan *plan)
{
    const struct adl_bank *bank = &self->cluster->banks[adl_rng_below(&self->rng, self->cluster->bank_count)];
    const double max_w = self->cluster->types[bank->type].max_w;
    const uint32_t first = adl_rng_below(&self->rng, bank->gpu_count);
    const uint32_t count = 1 + adl_rng_below(&self->rng, bank->gpu_count - first);
    const double share = ADL_CAP_LEAST + (1 - ADL_CAP_LEAST) * adl_rng_uniform(&self->rng);
    uint32_t *gpus = adl_plan_gpus(plan, count);
    if (!gpus)
        return ADL_EREFUSED;
    for (uint32_t i = 0; i < count; i++)
        gpus[i] = bank->gpu_first + first + i;
    return adl_plan_cap(plan, count, adl_rng_below(&self->rng, 4) == 0 ? 0 : share * max_w);
}

static inline int capping_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct capping *self = policy;
    const int status = capping_inner()->decide(self->inner, state, plan);
    if (status || state->now_us == self->last_us)
        return status;
    self->last_us = state->now_us;
    return adl_rng_below(&self->rng, 2) ? capping_cap(self, plan) : 0;
}

static inline void capping_observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    capping_inner()->observe(((struct capping *)policy)->inner, event, state);
}

static const struct adl_policy_ops capping_policy = {.name = "capping",
                                                     .summary = "srtf, and caps at random",
                                                     .track_running = true,
                                                     .create = capping_create,
                                                     .destroy = capping_destroy,
                                                     .rank = capping_rank,
                                                     .decide = capping_decide,
                                                     .observe = capping_observe};

#endif
