/* transition_plan: what has to be done so that a solved program (policy/gogh/ilp_model.h) comes true: which jobs start,
 * on which type and beside whom, which are stopped to move, which GPUs are held to which power. */
#ifndef ADLRO_POLICY_GOGH_TRANSITION_PLAN_H
#define ADLRO_POLICY_GOGH_TRANSITION_PLAN_H

#include "policy/gogh/ilp_model.h"

struct adl_transition_step {
    uint32_t job;
    uint32_t beside; /* the job whose GPU it is to share, or ADL_NONE */
    uint16_t type;
    bool alone; /* of one that stays: with its GPU for itself */
    double cap_w;
    double cost_w; /* of a start or a move: the price of the offer that was taken, for both if it is a pair */
    double else_w; /* what it would cost not to take it: to let who waits wait, who runs run as it does */
    double wait_w; /* what it would cost to let it wait */
};

struct adl_transition_plan {
    struct adl_transition_step *starts; /* of waiting jobs, the largest first: they are hardest to place */
    uint32_t start_count;
    struct adl_transition_step
        *stops; /* running jobs that move, or go back to the queue: of these the type is ADL_TYPES_MAX */
    uint32_t stop_count;
    bool unstoppable; /* a job that got nothing may not be stopped: what was planned without it cannot all come true */
    struct adl_transition_step *stays; /* running jobs that stay, with the cap their GPUs are to have */
    uint32_t stay_count;
    uint32_t *cursor; /* [group] the next of its jobs that has nothing to do yet */
};

int adl_transition_plan_create(struct adl_transition_plan *ret,
                               const struct adl_ilp_model *program);     /* 0 or ADL_ENOMEM */
void adl_transition_plan_clear(struct adl_transition_plan *transitions); /* accepts a zeroed one */

/* Takes the program's jobs out of their groups: solve it anew before listing again. */
void adl_transition_plan_list(struct adl_transition_plan *transitions, struct adl_ilp_model *program,
                              const struct adl_state *state);

#endif
