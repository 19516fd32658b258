/* stop: what it costs to stop a running job now. Every policy, the service and the reports ask here, so that a price
 * means what a stop really does. Only what can be observed is used: the job's specification and how long it has run. */
#ifndef ADLRO_STATE_STOP_H
#define ADLRO_STATE_STOP_H

#include "state/state.h"

/* Run time of this attempt that a job which holds GPUs would have to do again; 0 of one that waits. */
static inline int64_t adl_stop_lost_us(const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    return job->phase >= ADL_PHASE_RUNNING ? adl_job_lost_us(&job->spec, state->now_us - job->start_us) : 0;
}

/* The same, plus what stopping and restarting take whatever is lost (adl_policy_config.preemption_us). */
static inline int64_t adl_stop_cost_us(const struct adl_state *state, uint32_t slot, int64_t switch_us)
{
    return adl_stop_lost_us(state, slot) + switch_us;
}

/* For policies that do not weigh run times: true if the job that a running one is to be stopped for has waited for at
 * least as much GPU time as the stop would lose; for twice as much if that one was stopped before, and so on. So no
 * policy loses more GPU time than jobs have waited for, and no job is stopped for ever. */
bool adl_stop_pays(const struct adl_state *state, uint32_t victim, uint32_t wanted);

/* True if a stop would leave nothing of what the job has done since it last started. Who stops jobs by the clock waits
 * for a checkpoint: a job that is always stopped before its first one would never end. */
static inline bool adl_stop_keeps_nothing(const struct adl_state *state, uint32_t slot)
{
    const int64_t ran_us = state->now_us - state->jobs[slot].start_us;
    return ran_us > 0 && adl_stop_lost_us(state, slot) >= ran_us;
}

/* A job that has run for longer than it was believed to take is not done: at least this share is believed to be left.
 */
#define ADL_STOP_REMAINING_LEAST 0.05

/* Believed share of a job's work that is still to be done if it leaves its GPUs then: for worlds that do not know it.
 */
double adl_stop_remaining(const struct adl_state *state, uint32_t slot, int64_t now_us);

#endif
