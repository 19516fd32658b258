/* fit: where a queued job could start now. Every policy uses this one test of whether a job fits. */
#ifndef ADLRO_STATE_FIT_H
#define ADLRO_STATE_FIT_H

#include "model/scenario.h"
#include "state/state.h"

/* GPUs reserved for a queued job from start_us on. */
struct adl_reservation {
    int64_t start_us;
    int64_t end_us;
    uint32_t job;
    uint32_t type;
    uint32_t bank; /* ADL_NONE: any of the type */
    uint32_t gpus;
    uint32_t spare;      /* GPUs of that bank (or type) free at start_us beside those reserved */
    int32_t spare_cores; /* and of its node; without a bank cores and memory are not reserved */
    int32_t spare_memory_mib;
};

/* A start must not delay reservations: a job that ends before a reservation begins may use all that is free, one that
 * runs into it only what it spares. end_us: the predicted end of the job. */
struct adl_hold {
    const struct adl_reservation *reservations;
    uint32_t count;
    int64_t end_us;
};

/* Finds GPUs of one type for a pending job: in one node if it fits, best fit (ties by number); else, if the job may
 * span nodes, the emptiest banks first. With consolidated placement a job spans only if no node could hold it, and then
 * takes empty nodes whole and the rest from one more, the emptiest. hold may be NULL. On true, ret_gpus has spec.gpus
 * entries.
 */
bool adl_fit_find(const struct adl_state *state, uint32_t slot, uint32_t type, const struct adl_hold *hold,
                  uint32_t *ret_gpus);

/* True if only the number of free GPUs of the type decides whether such a job can start. */
static inline bool adl_fit_counts_alone(const struct adl_state *state, const struct adl_job_spec *spec)
{
    return (spec->gpus == 1 || ((spec->flags & ADL_JOB_SPAN) && state->placement == ADL_PLACEMENT_BEST_FIT)) &&
           spec->cpu_cores == 0 && spec->memory_mib == 0;
}

/* False if no type the job may run on has enough free GPUs: a quick test before the search. */
static inline bool adl_fit_room(const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    for (uint32_t left = job->eligible; left; left &= left - 1)
        if (state->pool.free_gpus[__builtin_ctz(left)] >= job->spec.gpus)
            return true;
    return false;
}

/* Finds a GPU of the type that holds one job which may share, for a one-GPU job which may share. hold may be NULL. */
bool adl_fit_share(const struct adl_state *state, uint32_t slot, uint32_t type, const struct adl_hold *hold,
                   uint32_t *ret_gpu);

#endif
