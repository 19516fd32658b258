/* actions: what may be done now, listed for a policy that weighs each: start one of the waiting jobs on one type of
 * GPU.
 *
 * Offered are the oldest and the shortest job of each lane, on every type where it fits. But the oldest job of all
 * comes first: where it fits it alone is offered, on each type. Else, once it has waited for many times what stopping a
 * job costs, younger jobs are stopped for it; and until it starts it holds a promise, as under EASY: nothing is offered
 * that would delay it. So no job starves, whatever the policy prefers. To leave GPUs idle though something may start is
 * not offered. docs/decisions/0006-choices.md says why. */
#ifndef ADLRO_POLICY_DQN_ACTIONS_H
#define ADLRO_POLICY_DQN_ACTIONS_H

#include "model/plan.h"
#include "model/scenario.h"
#include "policy/mechanism/forecast.h"
#include "state/state.h"

/* Lanes looked at, the one with the oldest job first, and choices listed; what is beyond waits its turn. */
#define ADL_ACTION_LANES 32
#define ADL_ACTIONS_MAX  128

struct adl_action {
    uint32_t job;
    uint32_t gpu_offset; /* its GPUs are gpus[gpu_offset .. gpu_offset + gpu_count - 1] */
    uint16_t gpu_count;
    uint16_t type;
    bool shared;  /* beside another job */
    bool cleared; /* jobs were stopped for it and are gone */
    bool takes;   /* jobs on its GPUs are stopped first, and it starts once they are gone */
};

struct adl_actions {
    struct adl_action list[ADL_ACTIONS_MAX];
    uint32_t count;
    uint32_t *gpus;
    uint32_t gpu_count, gpu_capacity;
    uint32_t head; /* the oldest job that waits, or ADL_NONE */
    bool promised; /* promise holds for head */
    struct adl_reservation promise;
    struct adl_forecast *forecast;
    bool share;
    int64_t take_after_us; /* younger jobs are stopped for the oldest once it has waited this long */
    /* A job for which others are being stopped, and the GPUs it is to have. */
    uint32_t claimant; /* or ADL_NONE */
    uint64_t claimant_id;
    uint32_t claim_count;
    uint32_t *claim, *victims; /* [GPUs of the cluster] */
};

/* 0 or ADL_ENOMEM. */
int adl_actions_create(const struct adl_cluster *cluster, const struct adl_policy_config *config,
                       struct adl_actions **ret);
void adl_actions_destroy(struct adl_actions *choices); /* accepts NULL */

/* Lists them anew. Needs a queue in order of submission and state->running. */
void adl_actions_find(struct adl_actions *choices, const struct adl_state *state);

/* Adds to the plan what carries out a choice of the last list: a start, or stopping those in its way. Why it was chosen
 * is said of stops and of what follows them; of other starts the caller says it. 0 or ADL_EREFUSED. */
int adl_actions_carry_out(struct adl_actions *choices, const struct adl_state *state, const struct adl_action *choice,
                          const uint32_t *gpus, struct adl_plan *plan);

/* Keeps those of the first job listed, the oldest that fits: for an agent that is asked about one job at a time. */
void adl_actions_keep_first_job(struct adl_actions *choices);

#endif
