/* lower_bound: two relaxed machines whose optimal schedules bound every real one from below.
 *
 * What any schedule must obey. Job j is submitted at r_j, has p_j = run_us and w_j = gpu_us; the cluster has
 * m GPUs. Let x_j(t) be the progress per unit of time of that part of its work that is kept to the end (work
 * lost to a fault or a preemption is not counted), so that x_j is 0 outside [r_j, C_j] and
 *
 *     (A) integral of x_j = 1;
 *
 *     (B) x_j(t) <= 1 / p_j, as p_j is the shortest possible run;
 *
 *     (C) sum over j of w_j x_j(t) <= m.
 *
 * (C) holds because, while j has k GPUs and would need a run of length T on them, x_j <= 1 / T and w_j <= k
 * T: it is charged no more than the k GPUs it holds. If it may share, w_j <= k T / 2, so it is charged at
 * most half of each; at most two jobs share a GPU and both must be willing, so no GPU is charged more than
 * once in full. Nothing else is used below: preemption, migration and mixed GPU types are covered.
 *
 * Seen as one machine, j has size q_j = w_j / m and gets the share y_j = q_j x_j; by (C) the shares sum to at
 * most 1.
 *
 * Bound 1, the run. (A) and (B) give C_j - r_j >= p_j.
 *
 * Bound 2, shortest remaining first. Cut the y schedule at every submission and completion, and within each
 * piece serve the jobs one after the other instead of side by side, each for what it got in the piece. No
 * completion moves to a later piece, so this is a preemptive schedule of one machine with no C_j later. Among
 * those SRPT has the least sum of C_j (Schrage 1968). Where at time t a job j is served, or the machine
 * idles, although i with less left is live, take all the time from t on given to i and j (and the idle time)
 * and use it for i first, then j. The last of the two completions comes no later than before, and the first
 * comes after just what i had left, the least that either could have needed. So the sum does not grow.
 *
 * Bound 3, mean busy time. Let M_j = integral of t x_j(t). By (A), (B) and x_j = 0 after C_j, M_j is largest
 * if the progress is 1 / p_j on [C_j - p_j, C_j] and 0 before, so C_j >= M_j + p_j / 2. The sum of M_j is the
 * sum of (1 / q_j) integral of t y_j(t). Number the jobs by q_1 <= ... <= q_n and let 1 / q_{n+1} = 0;
 * summing by parts it is
 *
 *     sum over k of (1 / q_k - 1 / q_{k+1}) * integral of t (y_1 + ... + y_k)(t)
 *
 * with factors that are not negative. Each integral is the area over time of the work of jobs 1..k that is
 * yet to be done, submitted or not, which is least at every instant if they get the whole machine while any
 * of them is live. Always serving the live job of the least q does so for all k at once, and so has the least
 * sum of M_j. Hence
 *
 *     sum of (C_j - r_j) >= sum of (M_j - r_j) in that schedule + sum of p_j / 2.
 *
 * (A job with q = 0 takes no part in (C); it adds M_j - r_j >= 0.) Bound 3 is the strongest where many jobs
 * that are long for their size are live at once, 2 where jobs are short for their size, 1 where no job waits.
 * All three hold, hence the greatest does.
 *
 * Makespan. No job ends before r_j + p_j, and by (C) the work submitted at or after any time s keeps the
 * machine until s + the sum of its q at least; the greatest of these over s is when a machine that never
 * idles with work at hand is done. */
#include "metrics/lower_bound.h"

#include "model/plan.h"
#include "sim/power.h"
#include "sim/true_drift.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

const char *const adl_bound_names[] = {"relaxed", "lp", NULL};

/* Times are of the one machine: GPU time over m, in microseconds. */
struct relaxed_job {
    double left;
    double size;
    double submit;
};

/* A machine that serves the root of a binary minimum heap. Serving lowers the root's key or leaves it, so the
 * order only changes when a job comes or goes. */
struct machine {
    struct relaxed_job *jobs;
    size_t count, capacity;
    double now;
    double flow;      /* sum of C_j - r_j over completed jobs */
    double mean_busy; /* sum of M_j - r_j over work done */
    bool by_left;     /* key: what is left (bound 2), or else the size (bound 3) */
};

struct adl_jct_bound {
    struct machine srpt;
    struct machine least;
    double gpus;
    double run_us;     /* sum of p_j */
    double end_us;     /* greatest r_j + p_j */
    int64_t submit_us; /* of the last job */
    uint64_t jobs;
};

static double key(const struct machine *machine, const struct relaxed_job *job)
{
    return machine->by_left ? job->left : job->size;
}

static int machine_reserve(struct machine *machine)
{
    if (machine->count < machine->capacity)
        return 0;
    const size_t capacity = machine->capacity ? machine->capacity * 2 : 64;
    struct relaxed_job *jobs = realloc(machine->jobs, capacity * sizeof *jobs);
    if (!jobs)
        return ADL_ENOMEM;
    machine->jobs = jobs;
    machine->capacity = capacity;
    return 0;
}

/* There must be room. */
static void machine_push(struct machine *machine, struct relaxed_job job)
{
    size_t hole = machine->count++;
    while (hole > 0) {
        const size_t parent = (hole - 1) / 2;
        if (key(machine, &machine->jobs[parent]) <= key(machine, &job))
            break;
        machine->jobs[hole] = machine->jobs[parent];
        hole = parent;
    }
    machine->jobs[hole] = job;
}

static void machine_pop(struct machine *machine)
{
    struct relaxed_job *jobs = machine->jobs;
    const size_t count = --machine->count;
    const struct relaxed_job last = jobs[count];
    size_t hole = 0;
    for (size_t child; (child = 2 * hole + 1) < count;) {
        if (child + 1 < count && key(machine, &jobs[child + 1]) < key(machine, &jobs[child]))
            child++;
        if (key(machine, &last) <= key(machine, &jobs[child]))
            break;
        jobs[hole] = jobs[child];
        hole = child;
    }
    jobs[hole] = last;
}

/* Serves until the given time, or until nothing is left if it is infinite. Everything is measured from the
 * job's own submission, so that figures keep their digits however late in the run they arise. */
static void machine_advance(struct machine *machine, double until)
{
    while (machine->count > 0 && machine->now < until) {
        struct relaxed_job *job = &machine->jobs[0];
        double end = machine->now + job->left;
        const bool done = end <= until;
        if (!done)
            end = until;
        const double served = done ? job->left : until - machine->now;
        const double middle = ((machine->now - job->submit) + (end - job->submit)) / 2;
        machine->mean_busy += middle * (served / job->size);
        machine->now = end;
        if (done) {
            machine->flow += end - job->submit;
            machine_pop(machine);
        } else {
            job->left -= served;
        }
    }
    if (isfinite(until))
        machine->now = until;
}

int adl_jct_bound_create(double gpus, struct adl_jct_bound **ret)
{
    if (!(gpus > 0.0) || !isfinite(gpus))
        return ADL_EINVAL;
    struct adl_jct_bound *bound = calloc(1, sizeof *bound);
    if (!bound)
        return ADL_ENOMEM;
    bound->gpus = gpus;
    bound->srpt.by_left = true;
    *ret = bound;
    return 0;
}

int adl_jct_bound_add(struct adl_jct_bound *bound, const struct adl_jct_bound_job *job)
{
    if (job->submit_us < bound->submit_us || job->run_us <= 0 || !(job->gpu_us >= 0.0) || !isfinite(job->gpu_us))
        return ADL_EINVAL;
    if (machine_reserve(&bound->srpt) || machine_reserve(&bound->least))
        return ADL_ENOMEM;
    const double submit = (double)job->submit_us;
    const double run = (double)job->run_us;
    bound->submit_us = job->submit_us;
    bound->jobs++;
    bound->run_us += run;
    if (submit + run > bound->end_us)
        bound->end_us = submit + run;
    machine_advance(&bound->srpt, submit);
    machine_advance(&bound->least, submit);
    const double size = job->gpu_us / bound->gpus;
    if (size > 0.0) {
        const struct relaxed_job relaxed = {.left = size, .size = size, .submit = submit};
        machine_push(&bound->srpt, relaxed);
        machine_push(&bound->least, relaxed);
    }
    return 0;
}

struct adl_jct_bound_result adl_jct_bound_finish(struct adl_jct_bound *bound)
{
    machine_advance(&bound->srpt, HUGE_VAL);
    machine_advance(&bound->least, HUGE_VAL);
    struct adl_jct_bound_result result = {.jobs = bound->jobs};
    if (bound->jobs == 0)
        return result;
    double jct = bound->run_us;
    if (bound->srpt.flow > jct)
        jct = bound->srpt.flow;
    const double by_mean_busy = bound->least.mean_busy + bound->run_us / 2;
    if (by_mean_busy > jct)
        jct = by_mean_busy;
    const double end = bound->srpt.now > bound->end_us ? bound->srpt.now : bound->end_us;
    result.jct_mean_s = jct / (double)bound->jobs / 1e6;
    result.makespan_s = end / 1e6;
    return result;
}

void adl_jct_bound_destroy(struct adl_jct_bound *bound)
{
    if (!bound)
        return;
    free(bound->srpt.jobs);
    free(bound->least.jobs);
    free(bound);
}

enum { CAPS = 64 };

/* The least draw of a GPU beyond idle over all power caps: at any moment, and multiplied by the slowdown under the cap,
 * so that the second times the run time without a cap is energy. */
struct least_draw {
    double power_w;
    double work_w;
};

/* What follows from a scenario before its jobs. */
struct terms {
    const struct adl_scenario *scenario;
    double ceiling[ADL_TYPES_MAX];
    struct least_draw *least_draws; /* [class][type] */
};

/* A higher cap draws no less and is no slower: between two caps the draw under the lower one and the time under the
 * higher one are lower bounds. */
static struct least_draw least_draw_of(const struct adl_gpu_type *type, double activity)
{
    struct least_draw least = {HUGE_VAL, HUGE_VAL};
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
    ret->least_draws = malloc(((size_t)scenario->class_count * cluster->type_count + 1) * sizeof *ret->least_draws);
    if (!ret->least_draws)
        return ADL_ENOMEM;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        ret->ceiling[t] = adl_true_drift_ceiling(scenario, t);
        for (uint32_t c = 0; c < scenario->class_count; c++)
            ret->least_draws[(size_t)c * cluster->type_count + t] =
                least_draw_of(&cluster->types[t], scenario->classes[c].activity);
    }
    return 0;
}

/* The least run time, GPU time and energy beyond idle of a job on any acceptable type. A GPU is never faster than its
 * type's ceiling, a job killed at its limit ends there, and a job that may share counts half of its GPU. */
static void least_demand(const struct terms *terms, const struct adl_true_job *job, struct adl_jct_bound_job *ret,
                         double *ret_energy_j)
{
    const struct adl_scenario *scenario = terms->scenario;
    const struct adl_cluster *cluster = &scenario->cluster;
    const struct least_draw *least_draws = &terms->least_draws[(size_t)job->spec.class_index * cluster->type_count];
    const double share = job->spec.flags & ADL_JOB_SHARE ? 0.5 : 1.0;
    double run_us = HUGE_VAL, energy_j = HUGE_VAL;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        if (job->runtime_us[t] <= 0)
            continue;
        const double limit_us = scenario->kill_at_limit ? (double)job->spec.limit_us : HUGE_VAL;
        double there_us = (double)job->runtime_us[t] / terms->ceiling[t], there_j = there_us * least_draws[t].work_w;
        if (limit_us * least_draws[t].power_w < there_j)
            there_j = limit_us * least_draws[t].power_w;
        there_us = limit_us < there_us ? limit_us : there_us;
        there_j *= 1e-6 * job->spec.gpus * share;
        run_us = there_us < run_us ? there_us : run_us;
        energy_j = there_j < energy_j ? there_j : energy_j;
    }
    *ret = (struct adl_jct_bound_job){.submit_us = job->submit_us,
                                      .run_us = run_us > 1.0 ? (int64_t)run_us : 1,
                                      .gpu_us = floor(run_us) * job->spec.gpus * share};
    *ret_energy_j += energy_j > 0 ? energy_j : 0;
}

int adl_lower_bound_compute(const struct adl_scenario *scenario, const struct adl_job_supply *supply, uint64_t seed,
                            struct adl_lower_bound *ret, struct adl_error *err)
{
    const struct adl_cluster *cluster = &scenario->cluster;
    struct adl_jct_bound *bound = NULL;
    struct adl_job_source source;
    struct adl_true_job job;
    struct adl_jct_bound_job relaxed;
    struct terms terms;
    double energy_j = 0;
    int status = supply->open(supply->self, seed, &source, err);
    if (status)
        return status;
    if (prepare(scenario, &terms) || adl_jct_bound_create(cluster->gpu_count, &bound)) {
        adl_fail(err, ADL_ENOMEM, "out of memory for the lower bound");
        status = ADL_ENOMEM;
    }
    while (status == 0 && (status = source.next(source.self, &job, err)) > 0) {
        least_demand(&terms, &job, &relaxed, &energy_j);
        status = adl_jct_bound_add(bound, &relaxed);
        if (status)
            adl_fail(err, status, "out of memory for the lower bound");
    }
    if (status == 0) {
        const struct adl_jct_bound_result result = adl_jct_bound_finish(bound);
        /* A GPU that is down draws nothing, so with faults not even idle power is certain. */
        const bool whole = scenario->faults.gpu_mtbf_h <= 0 && scenario->faults.node_mtbf_h <= 0;
        for (uint32_t t = 0; whole && t < cluster->type_count; t++)
            energy_j += cluster->type_gpus[t] * cluster->types[t].idle_w * result.makespan_s;
        *ret = (struct adl_lower_bound){result.jct_mean_s, result.makespan_s, energy_j};
    }
    source.close(source.self);
    adl_jct_bound_destroy(bound);
    free(terms.least_draws);
    return status;
}
