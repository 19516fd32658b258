/* placing: where everybody goes who is to start or to move by a plan, and which of the jobs that the plan wants stopped
 * are stopped for something: a job only leaves if there is a place for it where it is to go, or another takes its GPUs.
 *
 * A program (policy/gogh/ilp_model.h) counts GPUs of a type; whether those that are free, or will be, are together and
 * have cores and memory beside them is found out here, before anybody is stopped. */
#ifndef ADLRO_POLICY_GOGH_PLACING_H
#define ADLRO_POLICY_GOGH_PLACING_H

#include "policy/gogh/claims.h"
#include "policy/gogh/transition_plan.h"

/* Where one is to go. */
struct adl_placed {
    struct adl_transition_step step;
    uint32_t first_gpu; /* chain through next_gpu */
    bool now;           /* nobody has to leave first */
};

struct adl_placing {
    const struct adl_cluster *cluster;
    uint8_t *had;                   /* [gpu] whether it can be had: enum in placing.c */
    uint32_t *next_gpu;             /* [gpu] */
    uint32_t *taker;                /* [gpu] the job that is to have it, or ADL_NONE */
    struct adl_placing_room *rooms; /* [node] cores and memory: free now, and when the stopped have left */
    struct adl_placed *list;
    uint32_t count;
};

/* room for as many as the program has jobs. 0 or ADL_ENOMEM. */
int adl_placing_create(struct adl_placing *ret, const struct adl_ilp_model *program);
void adl_placing_clear(struct adl_placing *placing); /* frees; accepts a zeroed one */

/* Finds a place for all of the steps that can have one, and takes those out of transitions->stops that nobody needs.
 * With saves_power who got nothing is stopped even if nobody takes its GPUs. */
void adl_placing_find(struct adl_placing *placing, const struct adl_state *state, const struct adl_claims *claims,
                      struct adl_transition_plan *transitions, bool saves_power);

/* Who is to have GPUs of this job, or the room beside them; NULL = nobody. */
const struct adl_transition_step *adl_placing_taker_of(const struct adl_placing *placing, const struct adl_state *state,
                                                       uint32_t slot);

#endif
