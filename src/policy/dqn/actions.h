/* actions: the actions possible now, listed for a policy that values each of them: start one waiting job on one type of
 * GPU, or wait for what the next event frees.
 *
 * The list has the oldest and the shortest job of each lane, on every type where they fit; if there are too many, those
 * of the highest rank (policy/adlro/ranking.h). Waiting is listed while some job runs, so that it ends.
 *
 * No job starves, whatever the policy prefers: the job that has waited longest for what it needs, once that is many
 * times the sum of a typical run time and its own, is overdue. If it fits, the list has only it, on each type; until
 * then it has a reservation, as under EASY: no listed action would delay it. Without such a job the same holds for the
 * one that the outlook reserves, lest GPUs are idle at the end. docs/decisions/0006-choices.md says why.
 */
#ifndef ADLRO_POLICY_DQN_ACTIONS_H
#define ADLRO_POLICY_DQN_ACTIONS_H

#include "model/plan.h"
#include "model/scenario.h"
#include "policy/dqn/outlook.h"
#include "policy/mechanism/forecast.h"
#include "state/state.h"

/* Most lanes considered, the one with the oldest job first; most starts listed; and with it the wait. */
#define ADL_ACTION_LANES  64
#define ADL_ACTION_STARTS 31
#define ADL_ACTIONS_MAX   (ADL_ACTION_STARTS + 1)

/* The options of the policy dqn. */
struct adl_dqn_options {
    bool share;
    double lambda; /* weight of idle GPU time; negative: the scenario's */
    double guard;  /* a job is overdue once it waited this many times the sum of a typical run time and its own */
};

struct adl_action {
    uint32_t job;
    uint32_t gpu_offset; /* its GPUs are gpus[gpu_offset .. gpu_offset + gpu_count - 1] */
    uint16_t gpu_count;
    uint16_t type;
    bool shared;          /* beside another job */
    bool planned;         /* as the outlook planned it; a wait: nothing is planned to start now */
    bool waits;           /* starts nothing; job and type are those of the last start */
    double rest_us;       /* of the job, here */
    double best_us;       /* on its best type */
    double rate;          /* rank */
    double cost_us;       /* wait and rest here, with the price of the type */
    double least_cost_us; /* of all types, with the wait until GPUs are believed to be free there */
};

/* A waiting job whose starts may be listed. */
struct adl_action_job {
    uint32_t slot;
    double best_us, rate;
};

struct adl_actions {
    struct adl_action list[ADL_ACTIONS_MAX];
    uint32_t count;
    uint32_t *gpus;
    uint32_t gpu_count, gpu_capacity;
    uint32_t head;        /* the oldest waiting job, or ADL_NONE */
    uint32_t overdue;     /* a job that has waited too long, or ADL_NONE */
    uint32_t reserved;    /* the job that nobody may delay: overdue, or of the bottleneck; or ADL_NONE */
    bool has_reservation; /* reservation is set, for reserved */
    struct adl_reservation reservation;
    struct adl_forecast *forecast;
    bool share;
    double lambda, guard;
    struct adl_outlook outlook;
    /* Of the present state: */
    double typical_us;            /* geometric mean of the run times of jobs that wait or run */
    double price[ADL_TYPES_MAX];  /* GPUs wanted by waiting jobs that are fastest there, for each GPU of the type */
    double slower[ADL_TYPES_MAX]; /* mean of ln(run time there / on the best type) of waiting jobs that can run there */
    struct adl_action_job candidates[2 * ADL_ACTION_LANES + ADL_OUTLOOK_JOBS];
    uint32_t candidate_count;
};

/* 0 or ADL_ENOMEM. options->lambda: as it is to be observed. */
int adl_actions_create(const struct adl_cluster *cluster, const struct adl_dqn_options *options, int64_t preemption_us,
                       struct adl_actions **ret);
void adl_actions_destroy(struct adl_actions *actions); /* accepts NULL */
/* Of actions that were created in the same way. 0 or ADL_ENOMEM. */
int adl_actions_copy(struct adl_actions *to, const struct adl_actions *from);

void adl_actions_reset(struct adl_actions *actions); /* as after create */

/* Rebuilds the list. Needs a queue in order of submission and state->running. */
void adl_actions_find(struct adl_actions *actions, const struct adl_state *state);

/* Parts of it: false if nothing can start, because no GPU is free; the job that has waited longest for what it needs,
 * if it is overdue, else ADL_NONE (needs typical_us); sets the reservation for actions->reserved. */
bool adl_actions_possible(const struct adl_actions *actions, const struct adl_state *state);
uint32_t adl_actions_overdue(const struct adl_actions *actions, const struct adl_state *state);
void adl_actions_reserve(struct adl_actions *actions, const struct adl_state *state);

/* Adds an action of the last list to the plan: a START, or nothing if it waits. 0 or ADL_EREFUSED. */
int adl_actions_execute(struct adl_actions *actions, const struct adl_action *action, struct adl_plan *plan);

/* Keeps the starts of the oldest job listed: for an agent that decides on one job at a time. */
void adl_actions_keep_one_job(struct adl_actions *actions, const struct adl_state *state);

#endif
