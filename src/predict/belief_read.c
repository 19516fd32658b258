/* belief_read: the distribution of a live job's run time, as policies and the service read it. */
#include "predict/belief_internal.h"

#include "base/fetch.h"

#include <assert.h>

/* What a job that has run done_us is read from: of the distribution, the part above u, in units of unit_us; and
 * again_us, what it has to run again before. */
struct reading {
    const struct adl_residuals *residuals;
    const struct adl_shape *shape;
    double unit_us, u, again_us;
};

static struct reading read_job(const struct adl_belief *belief, uint32_t slot, double done_us,
                               struct adl_residuals *room)
{
    const struct believed *job = &belief->jobs[slot];
    const double since_us = done_us - job->told_at_us;
    assert(!belief->points_only);
    if (job->told_us > 0)
        return (struct reading){&belief->residuals[BY_STEPS], &belief->steps_shape, job->told_us,
                                since_us > 0 ? since_us / job->told_us : 0, since_us < 0 ? -since_us : 0};
    return (struct reading){adl_belief_residuals_of(belief, job, room), adl_belief_shape_of(belief, slot),
                            job->predicted_us, done_us / job->predicted_us, 0};
}

double adl_belief_quantile_us(const struct adl_belief *belief, uint32_t slot, double done_us, double q)
{
    struct adl_residuals room;
    const struct reading it = read_job(belief, slot, done_us, &room);
    return it.again_us + it.unit_us * adl_residuals_quantile(it.residuals, it.shape, it.u, q);
}

int64_t adl_belief_end_us(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot, int64_t now_us,
                          double q)
{
    const struct adl_job *job = &state->jobs[slot];
    const double rest_us = adl_belief_quantile_us(belief, slot, adl_belief_age_us(belief, state, slot, now_us), q);
    const double here_us = rest_us * adl_belief_here_factor(belief, state, slot);
    const int64_t latest_us = job->spec.limit_us > 0 ? job->start_us + job->spec.limit_us : INT64_MAX;
    const int64_t end_us = now_us + (int64_t)(here_us < ADL_REMAINING_MAX_US ? here_us : ADL_REMAINING_MAX_US);
    return end_us < latest_us ? end_us : latest_us > now_us ? latest_us : now_us;
}

/* Of a job with a fixed shape that has not run. */
static double whole_mean_of(const struct adl_belief *belief, uint32_t slot)
{
    const struct believed *job = &belief->jobs[slot];
    struct whole_mean *whole = belief->whole;
    const struct adl_residuals *residuals = &belief->residuals[job->basis];
    if (whole->count[job->basis] != residuals->count + 1) {
        whole->mean[job->basis] = adl_residuals_mean(residuals, adl_belief_shape_of(belief, slot), 0);
        whole->count[job->basis] = residuals->count + 1;
    }
    return whole->mean[job->basis];
}

double adl_belief_mean_us(const struct adl_belief *belief, uint32_t slot, double done_us)
{
    const struct believed *job = &belief->jobs[slot];
    struct adl_residuals room;
    assert(!belief->points_only);
    if (job->basis <= BY_LIMIT && !(job->told_us > 0) && done_us == 0)
        return job->predicted_us * whole_mean_of(belief, slot);
    const struct reading it = read_job(belief, slot, done_us, &room);
    return it.again_us + it.unit_us * adl_residuals_mean(it.residuals, it.shape, it.u);
}

double adl_belief_cost_us(const struct adl_belief *belief, uint32_t slot, double done_us)
{
    struct adl_residuals room;
    const struct reading it = read_job(belief, slot, done_us, &room);
    return it.again_us + it.unit_us * adl_residuals_cost(it.residuals, it.shape, it.u);
}

double adl_belief_rank(const struct adl_belief *belief, uint32_t slot, double whole_us)
{
    struct adl_residuals room;
    const struct reading it = read_job(belief, slot, 0, &room);
    return adl_residuals_within(it.residuals, it.shape, it.u, (whole_us - it.again_us) / it.unit_us);
}

void adl_belief_ranks(const struct adl_belief *belief, uint32_t slot, double done_us, const double *whole_us, int count,
                      double *ret)
{
    struct adl_residuals room;
    const struct reading it = read_job(belief, slot, done_us, &room);
    for (int i = 0; i < count; i++)
        ret[i] = adl_residuals_within(it.residuals, it.shape, it.u, (whole_us[i] - done_us - it.again_us) / it.unit_us);
}

struct adl_certainty adl_belief_certainty(const struct adl_belief *belief, uint32_t slot)
{
    const struct believed *job = &belief->jobs[slot];
    const int basis = job->told_us > 0 ? BY_STEPS : job->basis;
    assert(!belief->points_only);
    return (struct adl_certainty){job->told_us > 0, (double)job->spread, job->neighbours,
                                  belief->residuals[basis].count};
}

/* ---- types ---- */

/* Run times on all types relative to the best one. Apart from the function that reads them, which is called very often.
 */
static __attribute__((noinline)) void find_factors(const struct adl_belief *belief, const struct adl_job_spec *spec,
                                                   uint32_t slot, bool across)
{
    double *ret = &belief->factors->of[(2 * (size_t)slot + across) * belief->cluster->type_count];
    const struct adl_job_speeds *known = adl_belief_known_speeds(belief, spec);
    const double *here = known ? known->here : belief->spec_speed[spec->kind];
    const double *speeds = across && known ? known->across : here;
    double best = 0;
    for (uint32_t left = spec->types; left; left &= left - 1) {
        const uint32_t t = (uint32_t)__builtin_ctz(left);
        best = here[t] * belief->type_speed[t] > best ? here[t] * belief->type_speed[t] : best;
    }
    for (uint32_t t = 0; t < belief->cluster->type_count; t++) {
        const double there = speeds[t] * belief->type_speed[t];
        ret[t] = there > 0 && best > 0 ? best / there : 0;
    }
    belief->factors->known[slot].change[across] = adl_speeds_change(belief->speeds);
}

static const double *factors_of(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot,
                                bool across)
{
    if (!belief->speeds || belief->jobs[slot].basis == BY_WORLD)
        return NULL;
    if (belief->factors->known[slot].change[across] != adl_speeds_change(belief->speeds))
        find_factors(belief, &state->jobs[slot].spec, slot, across);
    return &belief->factors->of[(2 * (size_t)slot + across) * state->cluster->type_count];
}

bool adl_belief_knows_across(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot)
{
    if (belief->jobs[slot].basis == BY_WORLD)
        return true;
    const struct adl_job_speeds *known = adl_belief_known_speeds(belief, &state->jobs[slot].spec);
    return known && known->across_known;
}

const double *adl_belief_type_factors(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot)
{
    assert(adl_belief_keeps_jobs(belief));
    return factors_of(belief, state, slot, false);
}

double adl_belief_type_factor(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot,
                              uint32_t type, bool across)
{
    assert(adl_belief_keeps_jobs(belief));
    const double *factors = factors_of(belief, state, slot, across);
    if (factors)
        return factors[type];
    const int64_t *row = across ? state->spanning_us : state->runtime_us;
    return (double)row[(size_t)slot * state->cluster->type_count + type] / belief->jobs[slot].predicted_us;
}

void adl_belief_fetch(const struct adl_belief *belief, uint32_t slots)
{
    adl_fetch(belief->jobs, slots * sizeof *belief->jobs);
    adl_fetch(&belief->residuals[BY_LIMIT], sizeof belief->residuals[BY_LIMIT]);
}
