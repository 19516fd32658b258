/* blockers: the running jobs that stand between a waiting job and its GPUs, and when it would find room at the earliest
 * if they end as predicted and nobody else takes their place. */
#ifndef ADLRO_STATE_BLOCKERS_H
#define ADLRO_STATE_BLOCKERS_H

#include "state/state.h"

#define ADL_BLOCKERS_MAX 8

struct adl_blockers {
    int64_t room_us; /* when it fits; state->now_us: it fits now */
    uint32_t type;
    uint32_t node;                   /* of its GPUs; ADL_NONE: of several */
    uint32_t jobs[ADL_BLOCKERS_MAX]; /* slots of those that have to end, the last to end first; each holds some of the
                                      * GPUs, or cores or memory of their node */
    uint32_t count;                  /* of all of them; jobs has at most ADL_BLOCKERS_MAX */
};

/* What is asked about a waiting job: the job as it is, or other types, or fewer GPUs. */
struct adl_blockers_demand {
    uint32_t types; /* mask; 0 = those that the job can run on */
    uint32_t gpus;  /* 0 = as many as it asks for */
};

/* Answers several demands of one job at once. ret_found: false if there is no room even when all running jobs have
 * ended, because GPUs are down or too few. 0 or ADL_ENOMEM. It works on a copy of the state: not for decisions. */
int adl_blockers_find(const struct adl_state *state, uint32_t slot, const struct adl_blockers_demand *demands,
                      uint32_t count, struct adl_blockers *ret, bool *ret_found);

#endif
