/* fork: a future of an engine's state: a simulated world that begins where the engine is, with a copy of the engine.
 *
 * What nobody knows is drawn: the rest of each job from the belief, given what it has run; later submissions from the
 * recent past, by the hour of the week; failures of GPUs at the rate seen so far. GPUs are as fast as they are believed
 * to be. Nothing is read from the world that the engine runs on.
 *
 * Equal seeds and futures give equal draws for the same job and the same hour, whatever is changed in the fork: common
 * random numbers for alternatives. One fork is used for one future after the other, and allocates nothing once its
 * memory has grown. */
#ifndef ADLRO_TWIN_FORK_H
#define ADLRO_TWIN_FORK_H

#include "engine/engine.h"
#include "twin/window.h"

#define ADL_FORK_FIRST_ID (UINT64_C(1) << 62) /* of jobs that nobody has submitted yet */

/* What run times are taken to be. */
enum adl_fork_draw {
    ADL_FORK_BELIEF, /* drawn from the belief */
    ADL_FORK_LIMITS, /* the users' limits, and nobody else submits: the classic estimate, as of `squeue --start` */
};

struct adl_fork_config {
    const struct adl_engine *engine; /* whose cluster, policy and options it has; read when it is created */
    struct adl_observer observer;    /* of what happens in it */
    struct adl_preemption preemption;
    bool kill_at_limit, one_by_one;      /* as struct adl_scenario has them */
    int draw;                            /* enum adl_fork_draw */
    const struct adl_policy_ops *policy; /* that decides in it, from its beginning on; NULL: the engine's, as it is */
    const struct adl_policy_config *policy_config; /* of that policy; outlives the fork */
};

struct adl_fork;

int adl_fork_create(const struct adl_fork_config *config, struct adl_fork **ret, struct adl_error *err);
void adl_fork_destroy(struct adl_fork *fork); /* accepts NULL */

/* One of the futures of a base. */
struct adl_future {
    const struct adl_engine *base;   /* between two steps; it stays as it is while the future is played */
    const struct adl_recent *recent; /* the same; NULL: nobody submits, nothing fails */
    const struct adl_window *window; /* what happened since the base's time: nothing is drawn; NULL: not known */
    uint64_t seed;
    uint32_t number, count; /* this one, from 0, and how many there are; 2^n of them are spread evenly for each job */
    int64_t until_us;       /* nobody submits later */
};

/* The fork is this future, at its beginning. */
int adl_fork_begin(struct adl_fork *fork, const struct adl_future *future, struct adl_error *err);

/* To be stepped, or changed before. */
struct adl_engine *adl_fork_engine(struct adl_fork *fork);

/* After begin. Wake: an event then, at which the policy decides. Drain: the GPU takes no more jobs from then on, for
 * good. 0 or ADL_ENOMEM. */
int adl_fork_wake(struct adl_fork *fork, int64_t time_us);
int adl_fork_drain(struct adl_fork *fork, uint32_t gpu, int64_t time_us);
double adl_fork_energy_j(struct adl_fork *fork); /* of all GPUs since it began */

/* When the job in this slot ends in this future if it is not stopped before; INT64_MAX: it does not run. */
int64_t adl_fork_end_us(const struct adl_fork *fork, uint32_t slot);

#endif
