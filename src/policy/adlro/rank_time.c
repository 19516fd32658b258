#include "policy/adlro/rank_time.h"

#include "base/real.h"
#include "predict/belief.h"

#include <math.h>

/* The share of limits before a job has completed, as if so many had shown it, each a factor of e apart. */
#define FIRST_SHARE 0.5
#define FIRST_JOBS  64

/* The run time on the job's best type that its limit allows, which holds on its slowest; 0: it has none, or more is
 * known than similar jobs tell. */
static double limit_us(const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    double slowest = 0;
    if (!state->belief || job->spec.limit_us <= 0)
        return 0;
    const struct adl_certainty certainty = adl_belief_certainty(state->belief, slot);
    if (certainty.neighbours == 0 || certainty.steps)
        return 0;
    for (uint32_t left = job->eligible; left; left &= left - 1)
        slowest =
            fmax(slowest, adl_belief_type_factor(state->belief, state, slot, (uint32_t)__builtin_ctz(left), false));
    return slowest > 0 ? (double)job->spec.limit_us / slowest : 0;
}

void adl_rank_time_learn(struct adl_rank_time *time, const struct adl_state *state, uint32_t slot, double run_us)
{
    const double whole_us = limit_us(state, slot);
    if (!(whole_us > 0) || !(run_us > 0))
        return;
    const double expected = adl_log(adl_belief_mean_us(state->belief, slot, 0) + 1);
    const double error = adl_log(run_us) - expected, gap = adl_log(whole_us) - expected;
    time->count++;
    const double step = error - time->error_mean, gap_step = gap - time->gap_mean;
    time->error_mean += step / time->count;
    time->gap_mean += gap_step / time->count;
    time->gap_square += gap_step * (gap - time->gap_mean);
    time->gap_error += gap_step * (error - time->error_mean);
}

double adl_rank_time_log(const struct adl_rank_time *time, const struct adl_state *state, uint32_t slot, double rest_us)
{
    const double whole_us = limit_us(state, slot);
    if (!(whole_us > 0) || time->count == 0)
        return 0;
    const double share = (FIRST_SHARE * FIRST_JOBS + time->gap_error) / (FIRST_JOBS + time->gap_square);
    const double left_us = whole_us * state->jobs[slot].remaining + 1;
    return fmin(fmax(share, 0), 1) * (adl_log(left_us / (rest_us + 1)) - time->gap_mean + time->error_mean);
}

double adl_rank_time_us(const struct adl_rank_time *time, const struct adl_state *state, uint32_t slot, double rest_us)
{
    const double log = adl_rank_time_log(time, state, slot, rest_us);
    return log == 0 ? rest_us : (rest_us + 1) * adl_exp(log);
}
