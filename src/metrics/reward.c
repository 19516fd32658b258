#include "metrics/reward.h"

#define TAIL_UNIT_S 60.0

/* Integral of the sum of squared ages over the next dt. With b the ages now, it is sum of b^2 dt + b dt^2 + dt^3 / 3.
 */
static double squared_ages(const struct adl_reward *reward, double jobs, double now_s, double dt)
{
    const double ages = jobs * now_s - reward->submit_s;
    const double squares = jobs * now_s * now_s - 2.0 * now_s * reward->submit_s + reward->submit_s2;
    return squares * dt + ages * dt * dt + jobs * dt * dt * dt / 3.0;
}

static void note(struct adl_reward *reward, const struct adl_state *state, const struct adl_event *event)
{
    if (event->kind == ADL_EVENT_SUBMIT) {
        const double at_s = (double)event->time_us * 1e-6;
        reward->submit_s += at_s;
        reward->submit_s2 += at_s * at_s;
    } else if (event->kind == ADL_EVENT_FINISH) {
        const double at_s = (double)state->jobs[event->job].submit_us * 1e-6;
        reward->submit_s -= at_s;
        reward->submit_s2 -= at_s * at_s;
    }
}

double adl_reward_until(struct adl_reward *reward, const struct adl_state *state, const struct adl_event *event)
{
    double cost = 0;
    if (event->time_us > state->now_us) {
        const double dt = (double)(event->time_us - state->now_us) * 1e-6;
        const double jobs = (double)state->queue.count + (double)state->running_jobs;
        const double idle = (double)(state->cluster->gpu_count - state->busy_gpus - state->down_gpus);
        cost = (jobs + reward->lambda * idle) * dt;
        if (reward->tail > 0)
            cost += reward->tail / (TAIL_UNIT_S * TAIL_UNIT_S) *
                    squared_ages(reward, jobs, (double)state->now_us * 1e-6, dt);
    }
    if (reward->tail > 0)
        note(reward, state, event);
    return -cost;
}
