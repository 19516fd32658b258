#include "experiment/floor.h"

#include "metrics/bound.h"
#include "model/plan.h"
#include "sim/drift.h"
#include "sim/power.h"

#include <math.h>
#include <stdlib.h>

enum { CAPS = 64 };

/* What a GPU draws beyond idle at the least, whatever its power cap: at any moment, and times how much longer the work
 * takes under the cap, so that the second times the run time without a cap is energy. */
struct thrift {
    double power_w;
    double work_w;
};

/* What is known of a scenario before its jobs. */
struct terms {
    const struct adl_scenario *scenario;
    double ceiling[ADL_TYPES_MAX];
    struct thrift *thrifts; /* [class][type] */
};

/* A higher cap draws no less and is no slower: between two caps the draw of the lower one and the time of the higher
 * one bound both from below. */
static struct thrift thrift_of(const struct adl_gpu_type *type, double activity)
{
    struct thrift least = {HUGE_VAL, HUGE_VAL};
    double below_w = HUGE_VAL;
    for (int step = 0; step <= CAPS; step++) {
        const double share = ADL_CAP_LEAST + (1.0 - ADL_CAP_LEAST) * step / CAPS;
        const struct adl_power_point point = adl_power_capped(type, activity, share * type->max_w);
        const double work_w = below_w / point.speed;
        least.work_w = work_w < least.work_w ? work_w : least.work_w;
        below_w = adl_power_w(type, true, point.load) - type->idle_w;
        least.power_w = below_w < least.power_w ? below_w : least.power_w;
    }
    return least;
}

static int prepare(const struct adl_scenario *scenario, struct terms *ret)
{
    const struct adl_cluster *cluster = &scenario->cluster;
    *ret = (struct terms){.scenario = scenario};
    ret->thrifts = malloc(((size_t)scenario->class_count * cluster->type_count + 1) * sizeof *ret->thrifts);
    if (!ret->thrifts)
        return ADL_ENOMEM;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        ret->ceiling[t] = adl_drift_ceiling(scenario, t);
        for (uint32_t c = 0; c < scenario->class_count; c++)
            ret->thrifts[(size_t)c * cluster->type_count + t] =
                thrift_of(&cluster->types[t], scenario->classes[c].activity);
    }
    return 0;
}

/* The least a job can take on any acceptable type: run time, GPU time, and energy beyond what its GPUs draw idle. A GPU
 * is never faster than its type's ceiling, a job killed at its limit ends there, and of two that share a GPU one may
 * count half of it as the other's. */
static void least(const struct terms *terms, const struct adl_true_job *job, struct adl_bound_job *ret,
                  double *ret_energy_j)
{
    const struct adl_scenario *scenario = terms->scenario;
    const struct adl_cluster *cluster = &scenario->cluster;
    const struct thrift *thrifts = &terms->thrifts[(size_t)job->spec.class_index * cluster->type_count];
    const double share = job->spec.flags & ADL_JOB_SHARE ? 0.5 : 1.0;
    double run_us = HUGE_VAL, energy_j = HUGE_VAL;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        if (job->runtime_us[t] <= 0)
            continue;
        const double limit_us = scenario->kill_at_limit ? (double)job->spec.limit_us : HUGE_VAL;
        double there_us = (double)job->runtime_us[t] / terms->ceiling[t], there_j = there_us * thrifts[t].work_w;
        if (limit_us * thrifts[t].power_w < there_j)
            there_j = limit_us * thrifts[t].power_w;
        there_us = limit_us < there_us ? limit_us : there_us;
        there_j *= 1e-6 * job->spec.gpus * share;
        run_us = there_us < run_us ? there_us : run_us;
        energy_j = there_j < energy_j ? there_j : energy_j;
    }
    *ret = (struct adl_bound_job){.submit_us = job->submit_us,
                                  .run_us = run_us > 1.0 ? (int64_t)run_us : 1,
                                  .gpu_us = floor(run_us) * job->spec.gpus * share};
    *ret_energy_j += energy_j > 0 ? energy_j : 0;
}

int adl_lower_bound_compute(const struct adl_scenario *scenario, const struct adl_job_supply *supply, uint64_t seed,
                            struct adl_lower_bound *ret, struct adl_error *err)
{
    const struct adl_cluster *cluster = &scenario->cluster;
    struct adl_bound *bound = NULL;
    struct adl_job_source source;
    struct adl_true_job job;
    struct adl_bound_job relaxed;
    struct terms terms;
    double energy_j = 0;
    int status = supply->open(supply->self, seed, &source, err);
    if (status)
        return status;
    if (prepare(scenario, &terms) || adl_bound_create(cluster->gpu_count, &bound))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for the lower bound");
    while (status == 0 && (status = source.next(source.self, &job, err)) > 0) {
        least(&terms, &job, &relaxed, &energy_j);
        status = adl_bound_add(bound, &relaxed);
        if (status)
            adl_fail(err, status, "out of memory for the lower bound");
    }
    if (status == 0) {
        const struct adl_bound_result result = adl_bound_finish(bound);
        /* A GPU that is down draws nothing, so with faults even idle power is not certain. */
        const bool whole = scenario->faults.gpu_mtbf_h <= 0 && scenario->faults.node_mtbf_h <= 0;
        for (uint32_t t = 0; whole && t < cluster->type_count; t++)
            energy_j += cluster->type_gpus[t] * cluster->types[t].idle_w * result.makespan_s;
        *ret = (struct adl_lower_bound){result.jct_mean_s, result.makespan_s, energy_j};
    }
    source.close(source.self);
    adl_bound_destroy(bound);
    free(terms.thrifts);
    return status;
}
