/* round_placement: which GPUs the jobs chosen for a round get, who must leave for it, and who can start already. */
#ifndef ADLRO_POLICY_MECHANISM_ROUND_PLACEMENT_H
#define ADLRO_POLICY_MECHANISM_ROUND_PLACEMENT_H

#include "model/plan.h"
#include "state/state.h"

struct adl_round_placement;

int adl_round_placement_create(const struct adl_cluster *cluster,
                               struct adl_round_placement **ret);              /* 0 or ADL_ENOMEM */
void adl_round_placement_destroy(struct adl_round_placement *round_placement); /* accepts NULL */
int adl_round_placement_grow(struct adl_round_placement *round_placement, uint32_t slot,
                             uint32_t jobs); /* room; 0 or ADL_ENOMEM */
void adl_round_placement_forget(struct adl_round_placement *round_placement,
                                uint32_t slot); /* it comes or goes: no seats from before */

/* A new round: nobody is chosen but the jobs among these that run and may not be preempted. */
void adl_round_placement_begin(struct adl_round_placement *round_placement, const struct adl_state *state,
                               const uint32_t *jobs, uint32_t count);

/* Chooses a job for GPUs of a type unless it is chosen already or too few are left; from the most deserving down. */
void adl_round_placement_choose(struct adl_round_placement *round_placement, const struct adl_state *state,
                                uint32_t slot, uint32_t type);

/* The same, but the GPUs stay idle: the job only keeps them from others. */
void adl_round_placement_hold(struct adl_round_placement *round_placement, const struct adl_state *state, uint32_t slot,
                              uint32_t type);

bool adl_round_placement_full(
    const struct adl_round_placement *round_placement); /* no GPU is left to choose a job for */

/* Gives the chosen their GPUs, gangs of the same size that can stay where they are before others, and adds preemptions
 * of those that must leave to the plan. 0 or ADL_EREFUSED. */
int adl_round_placement_preempt(struct adl_round_placement *round_placement, const struct adl_state *state,
                                struct adl_plan *plan);

/* For whom a running job that is not to stay has to leave: itself if it is given other GPUs, else who is given one of
 * its, or ADL_NONE. */
uint32_t adl_round_placement_successor(const struct adl_round_placement *round_placement, const struct adl_state *state,
                                       uint32_t slot);
uint32_t adl_round_placement_type(const struct adl_round_placement *round_placement,
                                  uint32_t slot); /* it is chosen for, or ADL_NONE */

/* Adds the starts of jobs whose GPUs are free. 0 or ADL_EREFUSED. */
int adl_round_placement_start(struct adl_round_placement *round_placement, const struct adl_state *state,
                              struct adl_plan *plan);

#endif
