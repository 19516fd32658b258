/* step_placement: the GPUs for each start and move of a transition plan, and which of its stops are needed: a job is
 * stopped only if it has a place to move to, or another job takes its GPUs.
 *
 * The integer program (policy/gogh/ilp_model.h) counts GPUs by type only. Whether free GPUs are in one node and have
 * cores and memory is checked here, before any job is stopped. */
#ifndef ADLRO_POLICY_GOGH_STEP_PLACEMENT_H
#define ADLRO_POLICY_GOGH_STEP_PLACEMENT_H

#include "policy/gogh/gpu_reservations.h"
#include "policy/gogh/transition_plan.h"

/* The GPUs of one step. */
struct adl_placed_step {
    struct adl_transition_step step;
    uint32_t first_gpu; /* chain through next_gpu */
    bool now;           /* no job has to leave first */
};

struct adl_step_placement {
    const struct adl_cluster *cluster;
    uint8_t *availability;       /* [gpu] enum in step_placement.c */
    uint32_t *next_gpu;          /* [gpu] */
    uint32_t *assigned_job;      /* [gpu] the job that gets it, or ADL_NONE */
    struct adl_node_room *rooms; /* [node] cores and memory: free now, and once stopped jobs have left */
    struct adl_placed_step *list;
    uint32_t count;
};

/* Has room for as many steps as the program has jobs. 0 or ADL_ENOMEM. */
int adl_step_placement_create(struct adl_step_placement *ret, const struct adl_ilp_model *ilp);
void adl_step_placement_clear(struct adl_step_placement *placement); /* frees; accepts a zeroed one */
void adl_step_placement_copy(struct adl_step_placement *to, const struct adl_step_placement *from);

/* Finds GPUs for all steps that can have some, and removes stops that are not needed from transitions->stops. With
 * saves_power a job without an offer is stopped even if no job takes its GPUs. */
void adl_step_placement_find(struct adl_step_placement *placement, const struct adl_state *state,
                             const struct adl_gpu_reservations *reservations, struct adl_transition_plan *transitions,
                             bool saves_power);

/* The step that gets GPUs, cores or memory of this job; NULL = none. */
const struct adl_transition_step *adl_step_placement_successor(const struct adl_step_placement *placement,
                                                               const struct adl_state *state, uint32_t slot);

#endif
