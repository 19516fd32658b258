/* round_placement: which GPUs the jobs chosen for a round get, which jobs must leave, and which can start already. */
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
/* Becomes equal to another of the same cluster; jobs: the copied table of the round's jobs. 0 or ADL_ENOMEM. */
int adl_round_placement_copy(struct adl_round_placement *to, const struct adl_round_placement *from,
                             const uint32_t *jobs);
void adl_round_placement_forget(struct adl_round_placement *round_placement,
                                uint32_t slot); /* at its arrival and its end: drops its placement */

/* Begins a round: only the running jobs that may not be preempted are chosen. */
void adl_round_placement_begin(struct adl_round_placement *round_placement, const struct adl_state *state,
                               const uint32_t *jobs, uint32_t count);

/* Chooses a job for GPUs of a type unless it is chosen already or too few are left; call in order of rank. */
void adl_round_placement_choose(struct adl_round_placement *round_placement, const struct adl_state *state,
                                uint32_t slot, uint32_t type);

/* The same, but the GPUs stay idle: the job only blocks them. */
void adl_round_placement_hold(struct adl_round_placement *round_placement, const struct adl_state *state, uint32_t slot,
                              uint32_t type);

bool adl_round_placement_full(
    const struct adl_round_placement *round_placement); /* no GPU is left to choose a job for */

/* Assigns GPUs to the chosen jobs, largest gangs first and among equals those that can stay, and adds PREEMPTs of jobs
 * that must leave to the plan. 0 or ADL_EREFUSED. */
int adl_round_placement_preempt(struct adl_round_placement *round_placement, const struct adl_state *state,
                                struct adl_plan *plan);

/* For which job a running job has to leave: itself if it gets other GPUs, else the job that gets one of its GPUs, or
 * ADL_NONE. */
uint32_t adl_round_placement_successor(const struct adl_round_placement *round_placement, const struct adl_state *state,
                                       uint32_t slot);
uint32_t adl_round_placement_type(const struct adl_round_placement *round_placement,
                                  uint32_t slot); /* it is chosen for, or ADL_NONE */

/* Adds the starts of jobs whose GPUs are free. 0 or ADL_EREFUSED. */
int adl_round_placement_start(struct adl_round_placement *round_placement, const struct adl_state *state,
                              struct adl_plan *plan);

#endif
