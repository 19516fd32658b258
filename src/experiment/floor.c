#include "experiment/floor.h"

#include "feedback/bound.h"
#include "sim/drift.h"
#include "sim/power.h"

#include <math.h>

/* The least a job can take on any acceptable type: run time, GPU time, and energy beyond what its GPUs draw idle. A GPU
 * is never faster than its type's ceiling, a job killed at its limit ends there, and of two that share a GPU one may
 * count half of it as the other's. */
static void least(const struct adl_scenario *scenario, const double *ceiling, const struct adl_true_job *job,
                  struct adl_bound_job *ret, double *ret_energy_j)
{
    const struct adl_cluster *cluster = &scenario->cluster;
    const struct adl_job_class *class = &scenario->classes[job->spec.class_index];
    const double share = job->spec.flags & ADL_JOB_SHARE ? 0.5 : 1.0;
    double run_us = HUGE_VAL, energy_j = HUGE_VAL;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        if (job->runtime_us[t] <= 0)
            continue;
        double there_us = (double)job->runtime_us[t] / ceiling[t];
        if (scenario->kill_at_limit && (double)job->spec.limit_us < there_us)
            there_us = (double)job->spec.limit_us;
        const double extra_w = adl_power_w(&cluster->types[t], true, class->activity) - cluster->types[t].idle_w;
        const double there_j = there_us * 1e-6 * job->spec.gpus * extra_w * share;
        run_us = there_us < run_us ? there_us : run_us;
        energy_j = there_j < energy_j ? there_j : energy_j;
    }
    *ret = (struct adl_bound_job){.submit_us = job->submit_us,
                                  .run_us = run_us > 1.0 ? (int64_t)run_us : 1,
                                  .gpu_us = floor(run_us) * job->spec.gpus * share};
    *ret_energy_j += energy_j > 0 ? energy_j : 0;
}

int adl_floor_compute(const struct adl_scenario *scenario, const struct adl_job_supply *supply, uint64_t seed,
                      struct adl_floor *ret, struct adl_error *err)
{
    const struct adl_cluster *cluster = &scenario->cluster;
    struct adl_bound *bound = NULL;
    struct adl_job_source source;
    struct adl_true_job job;
    struct adl_bound_job relaxed;
    double ceiling[ADL_TYPES_MAX], energy_j = 0;
    for (uint32_t t = 0; t < cluster->type_count; t++)
        ceiling[t] = adl_drift_ceiling(scenario, t);
    int status = supply->open(supply->self, seed, &source, err);
    if (status)
        return status;
    if (adl_bound_create(cluster->gpu_count, &bound))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for the lower bound");
    while (status == 0 && (status = source.next(source.self, &job, err)) > 0) {
        least(scenario, ceiling, &job, &relaxed, &energy_j);
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
        *ret = (struct adl_floor){result.jct_mean_s, result.makespan_s, energy_j};
    }
    source.close(source.self);
    adl_bound_destroy(bound);
    return status;
}
