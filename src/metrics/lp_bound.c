/* lp_bound: a run as a problem of solve/time_index.h. What that takes, and why every run of the simulator obeys it:
 *
 *   - Modes are GPU types on which the job can run. Its run time there is the true one in the fastest placement that
 * the empty cluster has, on GPUs that are never slower than their type's ceiling. Wear, throttling, power caps, slower
 *     placements, neighbours, checkpoints and restarts only add to it. A job that is killed at its limit has held its
 *     GPUs for that long, so no mode is longer than the limit.
 *   - Pools are the GPUs of a type, and the cores and the memory of the nodes that have it. Nodes as such do not
 * matter: a gang is free to use what is left of several. A GPU that is down only makes a pool smaller.
 *   - A job that may share holds half of its GPUs. At most two jobs are on a GPU and both must be willing, so no GPU is
 *     counted more than once. Each has all its cores and memory, shared or not.
 *   - A job is fixed if nothing can stop it, or if a stop costs all its work; the run that counts is then one piece. */
#include "metrics/lp_bound.h"

#include "sim/runtimes.h"
#include "sim/true_drift.h"
#include "solve/time_index.h"

#include <math.h>
#include <stdlib.h>

/* Prices vary along a mesh that goes on after the least makespan, by this factor. */
enum { POINTS = 97 };
#define STRETCH 1.25

static const struct adl_time_index_limits limits = {.rounds = 30, .iterations = 20000, .gap = 0.005};

struct filler {
    const struct adl_scenario *scenario;
    double ceiling[ADL_TYPES_MAX];
    uint32_t group[ADL_TYPES_MAX]; /* types that share nodes have the same: the least of them */
    double cores[ADL_TYPES_MAX], memory_mib[ADL_TYPES_MAX]; /* by group */
    struct adl_time_index_job *jobs;
    struct adl_time_index_mode *modes;
    uint32_t job_count, mode_count, job_capacity;
};

/* Cores and memory belong to nodes. Types that are in a node together draw on one pool. */
static void group_types(struct filler *filler)
{
    const struct adl_cluster *cluster = &filler->scenario->cluster;
    for (uint32_t t = 0; t < cluster->type_count; t++)
        filler->group[t] = t;
    for (uint32_t b = 1; b < cluster->bank_count; b++) {
        if (cluster->banks[b].node != cluster->banks[b - 1].node)
            continue;
        const uint32_t one = filler->group[cluster->banks[b - 1].type], two = filler->group[cluster->banks[b].type];
        const uint32_t least = one < two ? one : two, most = one < two ? two : one;
        for (uint32_t t = 0; t < cluster->type_count; t++)
            filler->group[t] = filler->group[t] == most ? least : filler->group[t];
    }
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const uint32_t group = filler->group[cluster->banks[b].type];
        if (b > 0 && cluster->banks[b].node == cluster->banks[b - 1].node)
            continue;
        filler->cores[group] += cluster->nodes[cluster->banks[b].node].cpu_cores;
        filler->memory_mib[group] += cluster->nodes[cluster->banks[b].node].memory_mib;
    }
}

/* GPUs of the type that the job could have in an empty cluster. */
static uint32_t gpus_for(const struct adl_cluster *cluster, const struct adl_job_spec *spec, uint32_t type)
{
    uint32_t all = 0;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        const uint32_t here = bank->type == type ? adl_bank_usable_gpus(cluster, bank, spec) : 0;
        all = spec->flags & ADL_JOB_SPAN ? all + here : here > all ? here : all;
    }
    return spec->gpu_memory_mib <= cluster->types[type].memory_mib ? all : 0;
}

static void use(struct adl_time_index_mode *mode, uint32_t pool, double demand, double capacity)
{
    if (demand <= 0 || capacity <= 0)
        return;
    mode->pool[mode->use_count] = pool;
    mode->share[mode->use_count++] = demand / capacity;
}

static void add_mode(struct filler *filler, const struct adl_job_spec *spec, uint32_t type, double run_s)
{
    const struct adl_cluster *cluster = &filler->scenario->cluster;
    const uint32_t group = filler->group[type];
    const double share = spec->flags & ADL_JOB_SHARE ? 0.5 : 1.0;
    struct adl_time_index_mode *mode = &filler->modes[filler->mode_count++];
    *mode = (struct adl_time_index_mode){.run = run_s > 1e-6 ? run_s : 1e-6};
    use(mode, type, spec->gpus * share, cluster->type_gpus[type]);
    use(mode, cluster->type_count + group, (double)spec->gpus * spec->cpu_cores, filler->cores[group]);
    use(mode, 2 * cluster->type_count + group, (double)spec->gpus * spec->memory_mib, filler->memory_mib[group]);
}

/* One run, in one place: it is never stopped, or loses all its work if it is. A failure stops any job. */
static bool is_fixed(const struct adl_scenario *scenario, const struct adl_job_spec *spec)
{
    const bool fails = scenario->faults.gpu_mtbf_h > 0 || scenario->faults.node_mtbf_h > 0;
    return spec->stop_loss == ADL_LOSS_ALL || (!(spec->flags & ADL_JOB_PREEMPTIBLE) && !fails);
}

static int reserve(struct filler *filler)
{
    if (filler->job_count < filler->job_capacity)
        return 0;
    const uint32_t capacity = filler->job_capacity ? 2 * filler->job_capacity : 256;
    const size_t modes_size = ((size_t)capacity * filler->scenario->cluster.type_count + 1) * sizeof *filler->modes;
    struct adl_time_index_job *jobs = realloc(filler->jobs, capacity * sizeof *jobs);
    if (!jobs)
        return ADL_ENOMEM;
    filler->jobs = jobs;
    struct adl_time_index_mode *modes = realloc(filler->modes, modes_size);
    if (!modes)
        return ADL_ENOMEM;
    filler->modes = modes;
    filler->job_capacity = capacity;
    return 0;
}

static int add_job(struct filler *filler, const struct adl_true_job *job)
{
    const struct adl_scenario *scenario = filler->scenario;
    int64_t fastest_us[ADL_TYPES_MAX], spanning_us[ADL_TYPES_MAX];
    const bool killed = scenario->kill_at_limit && !job->without_limit;
    if (reserve(filler))
        return ADL_ENOMEM;
    struct adl_time_index_job *added = &filler->jobs[filler->job_count];
    *added = (struct adl_time_index_job){.release = (double)job->submit_us * 1e-6,
                                         .mode_first = filler->mode_count,
                                         .fixed = is_fixed(scenario, &job->spec)};
    adl_runtimes_by_placement(scenario, job, fastest_us, spanning_us);
    for (uint32_t t = 0; t < scenario->cluster.type_count; t++) {
        if (fastest_us[t] <= 0 || gpus_for(&scenario->cluster, &job->spec, t) < job->spec.gpus)
            continue;
        const double run_us = (double)(fastest_us[t] - 1) / filler->ceiling[t];
        const double limit_us = killed ? (double)job->spec.limit_us : HUGE_VAL;
        add_mode(filler, &job->spec, t, (run_us < limit_us ? run_us : limit_us) * 1e-6);
    }
    added->mode_count = filler->mode_count - added->mode_first;
    filler->job_count += added->mode_count > 0;
    return 0;
}

static int read_jobs(struct filler *filler, const struct adl_job_supply *supply, uint64_t seed, struct adl_error *err)
{
    struct adl_job_source source;
    struct adl_true_job job;
    int status = supply->open(supply->self, seed, &source, err);
    if (status)
        return status;
    while (status == 0 && (status = source.next(source.self, &job, err)) > 0) {
        status = 0;
        if (filler->job_count == ADL_LP_BOUND_JOBS_MAX)
            status =
                adl_fail(err, ADL_EINVAL,
                         "the bound lp takes at most %d jobs and the workload has more: give --jobs %d, or --bound "
                         "relaxed, which takes any number",
                         ADL_LP_BOUND_JOBS_MAX, ADL_LP_BOUND_JOBS_MAX);
        else if (add_job(filler, &job))
            status = adl_fail(err, ADL_ENOMEM, "out of memory for the lower bound of %u jobs", filler->job_count);
    }
    source.close(source.self);
    return status;
}

static int solve(const struct filler *filler, double makespan_s, double *ret_flow_s)
{
    const double first_s = filler->jobs[0].release, step_s = (STRETCH * makespan_s - first_s) / (POINTS - 1);
    double mesh[POINTS];
    for (int i = 0; i < POINTS; i++)
        mesh[i] = first_s + i * step_s;
    const struct adl_time_index_problem problem = {.jobs = filler->jobs,
                                                   .modes = filler->modes,
                                                   .mesh = mesh,
                                                   .job_count = filler->job_count,
                                                   .mode_count = filler->mode_count,
                                                   .pool_count = 3 * filler->scenario->cluster.type_count,
                                                   .points = POINTS};
    return adl_time_index_bound(&problem, &limits, ret_flow_s);
}

int adl_lp_bound_raise(const struct adl_scenario *scenario, const struct adl_job_supply *supply, uint64_t seed,
                       struct adl_lower_bound *bound, struct adl_error *err)
{
    struct filler filler = {.scenario = scenario};
    double flow_s = 0;
    group_types(&filler);
    for (uint32_t t = 0; t < scenario->cluster.type_count; t++)
        filler.ceiling[t] = adl_true_drift_ceiling(scenario, t);
    int status = read_jobs(&filler, supply, seed, err);
    if (status == 0 && filler.job_count > 0 && solve(&filler, bound->makespan_s, &flow_s))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for the lower bound of %u jobs", filler.job_count);
    if (status == 0 && filler.job_count > 0 && flow_s / filler.job_count > bound->jct_mean_s)
        bound->jct_mean_s = flow_s / filler.job_count;
    free(filler.jobs);
    free(filler.modes);
    return status;
}
