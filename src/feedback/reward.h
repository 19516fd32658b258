/* reward: R = -(sum of completion times + lambda * idle GPU time), paid out densely between events as
 * r = -integral of [N(t) + lambda * idle(t)] dt, where N(t) are the jobs in the system and idle(t) the GPUs that are up
 * and hold no job. Over a run in which every job ends it sums to R exactly, because a job is in the system for just its
 * completion time. In seconds and GPU-seconds. */
#ifndef ADLRO_FEEDBACK_REWARD_H
#define ADLRO_FEEDBACK_REWARD_H

#include "state/state.h"

static inline double adl_reward(const struct adl_state *state, double lambda, int64_t until_us)
{
    const double jobs = (double)state->queue.count + (double)state->running_jobs;
    const double idle = (double)(state->cluster->gpu_count - state->busy_gpus - state->down_gpus);
    return -(jobs + lambda * idle) * (double)(until_us - state->now_us) * 1e-6;
}

#endif
