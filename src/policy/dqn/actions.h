/* actions: the actions possible now, listed for a policy that values each of them: start one waiting job on one type of
 * GPU.
 *
 * The list has the oldest and the shortest job of each lane, on every type where they fit. But the oldest job of all
 * goes first: if it fits, the list has only it, on each type. Else, once it has waited many times the cost of a
 * preemption, younger jobs are preempted for it; and until it starts it has a reservation, as under EASY: no listed
 * action would delay it. So no job starves, whatever the policy prefers. Leaving GPUs idle while a job could start is
 * not listed. docs/decisions/0006-choices.md says why. */
#ifndef ADLRO_POLICY_DQN_ACTIONS_H
#define ADLRO_POLICY_DQN_ACTIONS_H

#include "model/plan.h"
#include "model/scenario.h"
#include "policy/mechanism/forecast.h"
#include "state/state.h"

/* Most lanes considered, the one with the oldest job first, and most actions listed. */
#define ADL_ACTION_LANES 32
#define ADL_ACTIONS_MAX  128

/* The options of the policy dqn. */
struct adl_dqn_options {
    bool share;
};

struct adl_action {
    uint32_t job;
    uint32_t gpu_offset; /* its GPUs are gpus[gpu_offset .. gpu_offset + gpu_count - 1] */
    uint16_t gpu_count;
    uint16_t type;
    bool shared;           /* beside another job */
    bool after_preemption; /* jobs were preempted for it and have left */
    bool preempts;         /* jobs on its GPUs are preempted first; it starts once they have left */
};

struct adl_actions {
    struct adl_action list[ADL_ACTIONS_MAX];
    uint32_t count;
    uint32_t *gpus;
    uint32_t gpu_count, gpu_capacity;
    uint32_t head;        /* the oldest waiting job, or ADL_NONE */
    bool has_reservation; /* reservation is set, for head */
    struct adl_reservation reservation;
    struct adl_forecast *forecast;
    bool share;
    int64_t preempt_after_us; /* younger jobs are preempted for the oldest once it has waited this long */
    /* A job for which others are being preempted, and the GPUs reserved for it. */
    uint32_t reserved_job; /* or ADL_NONE */
    uint64_t reserved_job_id;
    uint32_t reserved_count;
    uint32_t *reserved_gpus, *victims; /* [GPUs of the cluster] */
};

/* 0 or ADL_ENOMEM. */
int adl_actions_create(const struct adl_cluster *cluster, bool share, int64_t preemption_us, struct adl_actions **ret);
void adl_actions_destroy(struct adl_actions *actions);                         /* accepts NULL */
void adl_actions_copy(struct adl_actions *to, const struct adl_actions *from); /* created in the same way */

/* Rebuilds the list. Needs a queue in order of submission and state->running. */
void adl_actions_find(struct adl_actions *actions, const struct adl_state *state);

/* Adds an action of the last list to the plan: a START, or the PREEMPTs before it. Sets the reason of PREEMPTs and of
 * the start that follows them; the caller sets it for other starts. 0 or ADL_EREFUSED. */
int adl_actions_execute(struct adl_actions *actions, const struct adl_state *state, const struct adl_action *action,
                        const uint32_t *gpus, struct adl_plan *plan);

/* Keeps the actions of the first job listed, the oldest that fits: for an agent that decides on one job at a time. */
void adl_actions_keep_first_job(struct adl_actions *actions);

#endif
