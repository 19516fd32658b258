/* reward: R = -(sum of completion times + lambda * idle GPU time), given densely between events as
 * r = -integral of [N(t) + lambda * idle(t)] dt, where N(t) are the jobs in the system and idle(t) the GPUs that are up
 * and hold no job. Over a run in which every job ends it sums to R exactly, because a job is in the system for just its
 * completion time. In seconds and GPU-seconds.
 *
 * A tail weight w penalizes long waits: a job of age a counts 1 + w * (a / 60 s)^2 instead of 1, so that a
 * completion time T costs T + w * T^3 / (3 * 60^2). Without it (w = 0) this is the ADLRO paper's reward. */
#ifndef ADLRO_METRICS_REWARD_H
#define ADLRO_METRICS_REWARD_H

#include "state/state.h"

struct adl_reward {
    double lambda;
    double tail;
    /* Sums over the jobs in the system, only if tail > 0: submission times, and their squares. */
    double submit_s, submit_s2;
};

/* The reward for the time from the state's now to the event; then accounts for the event. Call it before the event
 * changes the state. */
double adl_reward_until(struct adl_reward *reward, const struct adl_state *state, const struct adl_event *event);

#endif
