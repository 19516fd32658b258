#include "policy/adlro/rest.h"

#include "base/real.h"

/* Without a belief: a job that outlived its prediction runs on for this share of the time that it has run. */
#define OVERDUE_SHARE 0.25

double adl_rest_us(const struct adl_state *state, uint32_t slot)
{
    if (!state->belief)
        return (double)adl_state_shortest_us(state, slot);
    return adl_belief_mean_us(state->belief, slot, adl_belief_done_us(state->belief, state, slot));
}

double adl_rest_cost_us(const struct adl_state *state, uint32_t slot)
{
    if (state->belief)
        return adl_belief_cost_us(state->belief, slot, adl_belief_done_us(state->belief, state, slot));
    const struct adl_job *job = &state->jobs[slot];
    const double whole_us = (double)adl_state_shortest_us(state, slot);
    if (job->phase != ADL_PHASE_RUNNING || job->expected_us <= job->start_us)
        return whole_us;
    const double share = (double)(job->expected_us - state->now_us) / (double)(job->expected_us - job->start_us);
    return share > 0 ? whole_us * share : 0;
}

static double predicted_factor(const struct adl_state *state, uint32_t slot, uint32_t type, bool across)
{
    if (state->belief)
        return adl_belief_type_factor(state->belief, state, slot, type, across);
    const int64_t *whole_us = across ? state->spanning_us : state->runtime_us;
    const int64_t left_us =
        adl_state_left_us(&state->jobs[slot], whole_us[(size_t)slot * state->cluster->type_count + type]);
    return (double)left_us / (double)adl_state_shortest_us(state, slot);
}

/* Nothing is predicted of a run of the job across nodes but what holds in one node. */
static bool is_across_unknown(const struct adl_state *state, uint32_t slot)
{
    return state->belief && !adl_belief_knows_across(state->belief, state, slot);
}

double adl_rest_factor(const struct adl_corrections *corrections, const struct adl_state *state, uint32_t slot,
                       uint32_t type, bool across)
{
    const double corrected = adl_corrections_factor(corrections, &state->jobs[slot].spec, type, across);
    const double predicted = predicted_factor(state, slot, type, across);
    return (across && is_across_unknown(state, slot) ? predicted * adl_corrections_across(corrections, type)
                                                     : predicted) *
           corrected;
}

double adl_rest_learn(struct adl_corrections *corrections, const struct adl_event *event, const struct adl_state *state,
                      double limits)
{
    const struct adl_job *job = &state->jobs[event->job];
    if (job->phase != ADL_PHASE_RUNNING || job->attempts != 1 || event->outcome.end != ADL_END_COMPLETED ||
        event->time_us <= job->start_us || job->expected_us <= job->start_us)
        return 0;
    const double run_us = (double)(event->time_us - job->start_us);
    const bool across = job->spec.gpus > 1 && adl_state_spans_nodes(state, event->job);
    const double expected =
        across && is_across_unknown(state, event->job) ? adl_corrections_beyond(corrections, job->type) : 0;
    adl_corrections_learn(corrections, &job->spec, job->type, across,
                          adl_log(run_us) - adl_log((double)(job->expected_us - job->start_us)) - expected - limits);
    return run_us;
}

/* Of a running job: the belief is asked as if the job had run as much less as its class runs longer. */
static double running_rest_us(const struct adl_corrections *corrections, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    const bool across = job->spec.gpus > 1 && adl_state_spans_nodes(state, slot);
    const double corrected = adl_corrections_factor(corrections, &job->spec, job->type, across);
    const double done_us = adl_belief_done_us(state->belief, state, slot) / corrected;
    return adl_belief_mean_us(state->belief, slot, done_us) * corrected *
           adl_belief_type_factor(state->belief, state, slot, job->type, across);
}

int64_t adl_rest_end_us(const struct adl_corrections *corrections, const struct adl_state *state, uint32_t slot,
                        int64_t switch_us)
{
    const struct adl_job *job = &state->jobs[slot];
    const int64_t now_us = state->now_us;
    if (job->phase == ADL_PHASE_RUNNING && state->belief)
        return now_us + 1 + (int64_t)running_rest_us(corrections, state, slot);
    const int64_t leaves_us = job->phase == ADL_PHASE_STOPPING ? job->stop_us + switch_us : job->expected_us;
    return leaves_us > now_us ? leaves_us : now_us + 1 + (int64_t)(OVERDUE_SHARE * (double)(now_us - job->start_us));
}
