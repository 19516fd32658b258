/* belief_predict: what is predicted of a job that comes, and of one that changes. */
#include "predict/belief_internal.h"

#include "predict/similar.h"

#include <math.h>

void adl_belief_find_speeds(const struct adl_belief *belief, const struct adl_job_spec *spec,
                            struct adl_belief_speeds *ret)
{
    const uint32_t types = belief->cluster->type_count;
    const struct adl_job_speeds *known = adl_belief_known_speeds(belief, spec);
    const double *specified = belief->spec_speed[spec->kind];
    ret->best = 0;
    ret->slowest = HUGE_VAL;
    ret->alike = !known;
    for (uint32_t t = 0; t < types; t++) {
        ret->here[t] = (known ? known->here[t] : specified[t]) * belief->type_speed[t];
        ret->across[t] = known ? known->across[t] * belief->type_speed[t] : ret->here[t];
        if (!(spec->types >> t & 1))
            continue;
        ret->best = ret->here[t] > ret->best ? ret->here[t] : ret->best;
        ret->slowest = ret->here[t] < ret->slowest ? ret->here[t] : ret->slowest;
    }
}

/* The truth, where the world tells it. */
static void copy_revealed(const struct adl_belief *belief, const struct adl_event *event, struct adl_runtimes *ret)
{
    const int64_t *best_us = event->submit.runtime_us, *across_us = event->submit.spanning_us;
    ret->alike = !across_us;
    for (uint32_t t = 0; t < belief->cluster->type_count; t++) {
        const bool acceptable = event->submit.spec->types >> t & 1;
        ret->best_us[t] = acceptable ? best_us[t] : 0;
        if (across_us)
            ret->across_us[t] = acceptable ? across_us[t] : 0;
    }
}

/* Run times of a job whose time * speed is the same on each type. */
static void set_runtimes(const struct adl_belief *belief, const struct adl_job_spec *spec,
                         const struct adl_belief_speeds *speeds, double work, struct adl_runtimes *ret)
{
    ret->alike = speeds->alike;
    for (uint32_t t = 0; t < belief->cluster->type_count; t++) {
        const bool acceptable = spec->types >> t & 1;
        ret->best_us[t] = acceptable ? (int64_t)(work / speeds->here[t]) + 1 : 0;
        if (!speeds->alike)
            ret->across_us[t] = acceptable ? (int64_t)(work / speeds->across[t]) + 1 : 0;
    }
}

/* The user's limit holds on the slowest type. */
static double work_by_limit(const struct adl_job_spec *spec, const struct adl_belief_speeds *speeds)
{
    return (double)spec->limit_us * speeds->slowest;
}

/* Points only, and not learned: nothing of the job is kept. */
static void predict_point(const struct adl_belief *belief, const struct adl_event *event, struct adl_runtimes *ret)
{
    struct adl_belief_speeds speeds;
    if (event->submit.runtime_us) {
        copy_revealed(belief, event, ret);
        return;
    }
    adl_belief_find_speeds(belief, event->submit.spec, &speeds);
    set_runtimes(belief, event->submit.spec, &speeds, work_by_limit(event->submit.spec, &speeds), ret);
}

/* By completed jobs; false until one has completed, and unless run times are learned. */
static bool find_similar(struct adl_belief *belief, const struct adl_job_spec *spec, int64_t now_us,
                         struct adl_traits *ret_traits, struct adl_similar_prediction *ret)
{
    if (!belief->similar)
        return false;
    adl_traits_read(ret_traits, spec, now_us);
    return adl_similar_predict(belief->similar, ret_traits, ret);
}

/* From completed jobs, if run times are learned; until the first has completed there are only the users' limits. */
static void predict(struct adl_belief *belief, const struct adl_event *event, struct believed *job,
                    struct adl_runtimes *ret)
{
    const struct adl_job_spec *spec = event->submit.spec;
    struct adl_belief_speeds speeds;
    struct adl_traits traits;
    struct adl_similar_prediction prediction;
    adl_belief_find_speeds(belief, spec, &speeds);
    double work = work_by_limit(spec, &speeds);
    if (find_similar(belief, spec, event->time_us, &traits, &prediction)) {
        work = (double)prediction.run_us * speeds.best;
        *job = (struct believed){.basis = spec->limit_us > 0 ? BY_LIMITED_NEIGHBOURS : BY_NEIGHBOURS,
                                 .neighbours = prediction.neighbours,
                                 .spread = (float)prediction.spread};
        struct adl_shape *shape = &belief->shapes[event->job];
        *shape = adl_shape_of_deciles(prediction.deciles);
        if (job->basis == BY_NEIGHBOURS)
            job->owner_key = adl_owner_residuals_key(adl_traits_owner(&traits), shape, (double)prediction.run_us);
    }
    set_runtimes(belief, spec, &speeds, work, ret);
}

int adl_belief_admit(struct adl_belief *belief, const struct adl_event *event, struct adl_runtimes *ret)
{
    if (!adl_belief_keeps_jobs(belief)) {
        predict_point(belief, event, ret);
        return 0;
    }
    if (adl_belief_reserve(belief, (size_t)event->job + 1))
        return ADL_ENOMEM;
    struct believed *job = &belief->jobs[event->job];
    belief->slots = event->job < belief->slots ? belief->slots : event->job + 1;
    belief->factors->known[event->job] = (struct known_factors){{0}};
    if (event->submit.runtime_us) {
        *job = (struct believed){.basis = BY_WORLD};
        copy_revealed(belief, event, ret);
    } else {
        *job = (struct believed){.basis = BY_LIMIT};
        predict(belief, event, job, ret);
    }
    for (uint32_t t = 0; t < belief->cluster->type_count; t++) {
        const double there_us = (double)ret->best_us[t];
        if (there_us > 0 && (job->predicted_us == 0 || there_us < job->predicted_us))
            job->predicted_us = there_us;
    }
    job->predicted_us += job->predicted_us == 0; /* it can run nowhere: the engine refuses it */
    return 0;
}

/* ---- a job that changes ---- */

/* The work of a job that is submitted now. */
static double new_work(struct adl_belief *belief, const struct adl_job_spec *spec, int64_t now_us)
{
    struct adl_belief_speeds speeds;
    struct adl_traits traits;
    struct adl_similar_prediction prediction;
    adl_belief_find_speeds(belief, spec, &speeds);
    return find_similar(belief, spec, now_us, &traits, &prediction) ? (double)prediction.run_us * speeds.best
                                                                    : work_by_limit(spec, &speeds);
}

/* What the change does to a new prediction. Further types are no other work, though limits and similar jobs, which are
 * of the types that a job accepts, would say so. */
static double change_of_work(struct adl_belief *belief, const struct adl_job_spec *from, const struct adl_job_spec *to,
                             int64_t now_us)
{
    struct adl_job_spec alike = *to;
    alike.types = from->types;
    const double before = new_work(belief, from, now_us);
    return before > 0 ? new_work(belief, &alike, now_us) / before : 1;
}

static int64_t changed_us(int64_t before_us, double ratio)
{
    const double us = (double)before_us * ratio;
    return us < ADL_REMAINING_MAX_US ? (int64_t)us + (before_us > 0 && us < 1) : (int64_t)ADL_REMAINING_MAX_US;
}

/* The work that the run times before stand for, on the fastest type that has one. */
static double known_work(const struct adl_belief *belief, const struct adl_job_spec *spec,
                         const struct adl_runtimes *times)
{
    struct adl_belief_speeds speeds;
    double work = 0, fastest = 0;
    adl_belief_find_speeds(belief, spec, &speeds);
    for (uint32_t t = 0; t < belief->cluster->type_count; t++) {
        if (times->best_us[t] <= 0 || speeds.here[t] <= fastest)
            continue;
        fastest = speeds.here[t];
        work = (double)times->best_us[t] * fastest;
    }
    return work;
}

void adl_belief_change(struct adl_belief *belief, uint32_t slot, const struct adl_job_spec *from,
                       const struct adl_job_spec *to, int64_t now_us, struct adl_runtimes *times)
{
    const double ratio = change_of_work(belief, from, to, now_us), work = ratio * known_work(belief, from, times);
    struct adl_belief_speeds speeds;
    struct adl_runtimes new;
    double shortest_us = HUGE_VAL;
    adl_belief_find_speeds(belief, to, &speeds);
    set_runtimes(belief, to, &speeds, work, &new);
    for (uint32_t t = 0; t < belief->cluster->type_count; t++) {
        const bool before = (from->types & to->types) >> t & 1;
        const int64_t across_us = new.alike ? new.best_us[t] : new.across_us[t];
        times->best_us[t] = before ? changed_us(times->best_us[t], ratio) : new.best_us[t];
        times->across_us[t] = before ? changed_us(times->across_us[t], ratio) : across_us;
        if (times->best_us[t] > 0)
            shortest_us = fmin(shortest_us, (double)times->best_us[t]);
    }
    times->alike = false;
    if (!adl_belief_keeps_jobs(belief))
        return;
    struct believed *job = &belief->jobs[slot];
    job->predicted_us = shortest_us < HUGE_VAL ? shortest_us : job->predicted_us;
    belief->factors->known[slot] = (struct known_factors){{0}};
}
