/* transition_plan: the steps from the current state to a solution of the integer program (policy/gogh/ilp_model.h):
 * which jobs start, on which type and beside which job, which are stopped or moved, which GPUs get which power cap. */
#ifndef ADLRO_POLICY_GOGH_TRANSITION_PLAN_H
#define ADLRO_POLICY_GOGH_TRANSITION_PLAN_H

#include "policy/gogh/ilp_model.h"

struct adl_transition_step {
    uint32_t job;
    uint32_t beside; /* the job whose GPU it is to share, or ADL_NONE */
    uint16_t type;
    bool may_span; /* a gang that still pays if its GPUs are in several nodes */
    bool alone;    /* of a job that stays: it has its GPU to itself */
    double cap_w;
    double cost_w;    /* of a start or a move: the cost of its offer, of both jobs if it is a pair */
    double current_w; /* the cost of changing nothing: waiting jobs wait, running jobs stay */
    double wait_w;    /* the cost of waiting */
};

struct adl_transition_plan {
    struct adl_transition_step *starts; /* of waiting jobs, largest first, because they are hardest to place */
    uint32_t start_count;
    struct adl_transition_step *stops; /* running jobs that move; type ADL_TYPES_MAX: that go back to the queue */
    uint32_t stop_count;
    bool unstoppable; /* a job without an offer may not be stopped: the plan cannot be executed in full */
    struct adl_transition_step *stays; /* running jobs that stay, with the power cap of their GPUs */
    uint32_t stay_count;
    uint32_t *cursor; /* [group] its next job without a step */
};

int adl_transition_plan_create(struct adl_transition_plan *ret, const struct adl_ilp_model *ilp); /* 0 or ADL_ENOMEM */
void adl_transition_plan_clear(struct adl_transition_plan *transitions); /* accepts a zeroed one */
void adl_transition_plan_copy(struct adl_transition_plan *to, const struct adl_transition_plan *from);

/* Takes the program's jobs out of their groups: solve it again before the next call. */
void adl_transition_plan_list(struct adl_transition_plan *transitions, struct adl_ilp_model *ilp,
                              const struct adl_state *state);

/* Starts of jobs with an SLA that can still be met before the others, each in their order. */
void adl_transition_plan_put_promised_first(struct adl_transition_plan *transitions, const struct adl_state *state);

#endif
