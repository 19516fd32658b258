#include "policy/adlro/job_factors.h"

#include "base/copy.h"
#include "base/index.h"
#include "base/real.h"
#include "policy/adlro/rest.h"
#include "policy/adlro/shipped_network.h"

#include <math.h>
#include <stdlib.h>

#define KEPT_SHARE     0.0625 /* of wait and rest of a job: so long its factors stay the same */
#define ADVANTAGE_MOST 2.0

int adl_job_factors_load(struct adl_job_factors *factors, bool on, const void *model, size_t size,
                         struct adl_error *err)
{
    const bool given = adl_rank_network_is(model, size);
    factors->on = on;
    return adl_rank_network_decode(given ? model : adl_shipped_network, given ? size : adl_shipped_network_size,
                                   &factors->network, err);
}

void adl_job_factors_clear(struct adl_job_factors *factors)
{
    free(factors->jobs);
    factors->jobs = NULL;
    factors->capacity = 0;
}

/* These slots have had no job. */
static void clear_slots(struct adl_job_factors *factors, size_t from)
{
    for (size_t i = from; i < factors->capacity; i++)
        factors->jobs[i].id = UINT64_MAX;
}

int adl_job_factors_copy(struct adl_job_factors *to, const struct adl_job_factors *from)
{
    if (adl_grow((void **)&to->jobs, &to->capacity, from->capacity, sizeof *to->jobs))
        return ADL_ENOMEM;
    const struct adl_job_factors own = *to;
    *to = *from;
    to->capacity = own.capacity;
    ADL_COPY_ARRAY(to, own, from, jobs, from->capacity);
    clear_slots(to, from->capacity);
    return 0;
}

int adl_job_factors_join(struct adl_job_factors *factors, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    const size_t had = factors->capacity;
    if (adl_grow((void **)&factors->jobs, &factors->capacity, (size_t)slot + 1, sizeof *factors->jobs))
        return ADL_ENOMEM;
    const bool waited = slot < had && factors->jobs[slot].id == job->spec.id && job->attempts == 0;
    clear_slots(factors, had);
    if (!waited)
        factors->jobs[slot] = (struct adl_job_factor){.it = {{1, 1, 1}}, .until_us = INT64_MIN, .id = job->spec.id};
    return 0;
}

/* The types that the job may use: the best, how much longer the next best takes, and how many GPUs there are. */
struct types_seen {
    uint32_t best, gpus;
    double advantage;
};

static struct types_seen see_types(const struct adl_state *state, const struct adl_job_outlook *outlook, uint32_t slot)
{
    struct types_seen seen = {.best = 0};
    double least = HUGE_VAL, next = HUGE_VAL;
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        const double factor = adl_rest_factor(outlook->corrections, state, slot, type, false);
        seen.gpus += state->cluster->type_gpus[type];
        next = factor < least ? least : fmin(next, factor);
        seen.best = factor < least ? type : seen.best;
        least = fmin(least, factor);
    }
    seen.advantage = next < HUGE_VAL && least > 0 ? fmin(adl_log(next / least), ADVANTAGE_MOST) : ADVANTAGE_MOST;
    return seen;
}

static void see(const struct adl_state *state, const struct adl_job_outlook *outlook, uint32_t slot,
                double ret[ADL_RANK_FEATURES])
{
    const struct types_seen seen = see_types(state, outlook, slot);
    const double rest_us = outlook->rest_us + 1, wait_us = (double)adl_state_waited_us(state, slot);
    const double all = state->cluster->gpu_count, gpus = state->jobs[slot].spec.gpus;
    ret[ADL_RANK_REST] = outlook->typical_us > 0 ? adl_log(rest_us / outlook->typical_us) : 0;
    ret[ADL_RANK_WAIT] = adl_log(1 + fmax(wait_us, 0) / rest_us);
    ret[ADL_RANK_GPUS] = adl_log(gpus);
    ret[ADL_RANK_PART] = gpus / all;
    ret[ADL_RANK_QUEUE] = adl_log(1 + state->queue.count / all);
    ret[ADL_RANK_IDLE] = 1 - (state->busy_gpus + state->down_gpus) / all;
    ret[ADL_RANK_ADVANTAGE] = seen.advantage;
    ret[ADL_RANK_PRICE] = adl_log(1 + outlook->prices->of[seen.best] * gpus);
    ret[ADL_RANK_DOUBT] = adl_log((outlook->need_us + 1) / rest_us);
    ret[ADL_RANK_CHOICE] = seen.gpus / all;
}

const struct adl_rank_factors *adl_job_factors_find(struct adl_job_factors *factors, const struct adl_state *state,
                                                    const struct adl_job_outlook *outlook, uint32_t slot)
{
    struct adl_job_factor *job = &factors->jobs[slot];
    if (!factors->on || state->now_us < job->until_us)
        return &job->it;
    double features[ADL_RANK_FEATURES];
    see(state, outlook, slot, features);
    job->it = adl_rank_network_apply(&factors->network, features);
    const double kept_us = KEPT_SHARE * (outlook->rest_us + fmax((double)adl_state_waited_us(state, slot), 0));
    job->until_us = state->now_us + 1 + (int64_t)fmin(kept_us, ADL_REMAINING_MAX_US);
    return &job->it;
}
