/* stop: the cost of stopping a running job now, for every policy, the service and the reports, so that estimated costs
 * match the effect of a stop. It uses only what can be observed: the job's specification and how long it has run. */
#ifndef ADLRO_STATE_STOP_H
#define ADLRO_STATE_STOP_H

#include "state/state.h"

/* Run time of this attempt that a running job would have to repeat; 0 for a waiting one. */
static inline int64_t adl_stop_lost_us(const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    return job->phase >= ADL_PHASE_RUNNING ? adl_job_lost_us(&job->spec, state->now_us - job->start_us) : 0;
}

/* The same, plus the time to stop and restart (adl_policy_config.preemption_us). */
static inline int64_t adl_stop_cost_us(const struct adl_state *state, uint32_t slot, int64_t switch_us)
{
    return adl_stop_lost_us(state, slot) + switch_us;
}

/* What must be gained before a policy that orders jobs by time stops a running one: a margin times the cost of the
 * stop, twice that if the job was stopped before, three times after two stops, and so on. */
static inline int64_t adl_stop_price_us(const struct adl_state *state, uint32_t slot, int64_t switch_us, double margin)
{
    const uint32_t attempts = state->jobs[slot].attempts;
    const int64_t cost_us = adl_stop_cost_us(state, slot, switch_us);
    return cost_us == 0 ? 0 : (int64_t)(margin * (attempts > 1 ? attempts : 1) * (double)cost_us);
}

/* adl_stop_pays() of a stop that loses something. */
bool adl_stop_pays_loss(const struct adl_state *state, uint32_t victim, uint32_t wanted, int64_t lost_us);

/* For policies whose order does not weigh what a stop loses: true if the preemptor (wanted) has waited for at least as
 * much GPU time as stopping the victim would lose; twice as much if the victim was stopped before, and so on. So no
 * policy loses more GPU time than jobs have waited for, and no job is stopped again and again. */
static inline bool adl_stop_pays(const struct adl_state *state, uint32_t victim, uint32_t wanted)
{
    const int64_t lost_us = adl_stop_lost_us(state, victim);
    return lost_us == 0 || adl_stop_pays_loss(state, victim, wanted, lost_us);
}

/* True if a stop would lose all work of this attempt. Policies that stop jobs periodically wait for a checkpoint,
 * because a job that is always stopped before its first one would never end. */
static inline bool adl_stop_keeps_nothing(const struct adl_state *state, uint32_t slot)
{
    const int64_t ran_us = state->now_us - state->jobs[slot].start_us;
    return ran_us > 0 && adl_stop_lost_us(state, slot) >= ran_us;
}

/* Least predicted share of work left, for a job that has outlived its prediction. */
#define ADL_STOP_REMAINING_LEAST 0.05

/* Predicted share of a job's work left if it leaves its GPUs at that time, for worlds that do not know it. A job works
 * until it is told to stop. fault: it was not told; a job that saves its work only when told keeps nothing of this
 * attempt. */
double adl_stop_remaining(const struct adl_state *state, uint32_t slot, int64_t now_us, bool fault);

#endif
