#include "metrics/metrics.h"

#include "base/copy.h"
#include "base/median.h"
#include "metrics/hyperscore.h"
#include "metrics/reward.h"
#include "metrics/statistics.h"
#include "state/stop.h"

#include <math.h>
#include <stdlib.h>

const struct adl_metric_info adl_metric_table[ADL_METRIC_COUNT] = {
    [ADL_METRIC_JCT_MEAN] = {"jct_mean_s", "mean JCT", "s", "mean time from a job's submission to its end", -1},
    [ADL_METRIC_JCT_P99] = {"jct_p99_s", "p99 JCT", "s", "99th percentile of job completion times", -1},
    [ADL_METRIC_WAIT_MEAN] = {"wait_mean_s", "mean wait", "s", "mean time a job is in the system without holding GPUs",
                              -1},
    [ADL_METRIC_SLOWDOWN_MEAN] = {"slowdown_mean", "slowdown", "",
                                  "mean of completion time over run time alone on the fastest acceptable GPU type", -1},
    [ADL_METRIC_THROUGHPUT] = {"throughput_jobs_per_h", "throughput", "jobs/h", "jobs ended per hour of makespan", 1},
    [ADL_METRIC_UTILIZATION] = {"gpu_utilization", "GPU utilization", "",
                                "share of GPU time until the last end in which the GPU held a job", 1},
    [ADL_METRIC_MAKESPAN] = {"makespan_s", "makespan", "s", "time of the last job's end", -1},
    [ADL_METRIC_ENERGY] = {"energy_j", "energy", "J", "drawn by all GPUs, idle ones included, until the last end", -1},
    [ADL_METRIC_SLA] = {"sla_attainment", "SLA attainment", "",
                        "share of the jobs with a deadline or a least throughput that got it; 1 if there are none", 1},
    [ADL_METRIC_EFFICIENCY] =
        {"allocation_efficiency", "allocation efficiency", "",
         "GPU time completed jobs would need alone on their best type, over GPU time in which GPUs held jobs", 1},
    [ADL_METRIC_HYPERSCORE] = {"hyperscore", "HyperScore", "",
                               "one figure from JCT, p99, throughput, energy, slowdown and SLA, see docs/metrics.md",
                               1},
    [ADL_METRIC_REWARD] = {"reward", "reward", "s", "minus the sum of completion times and lambda times idle GPU time",
                           1},
    [ADL_METRIC_DECISION_P50] = {"decision_us_p50", "decision p50", "us", "median wall time of one decision", -1},
    [ADL_METRIC_DECISION_P99] = {"decision_us_p99", "decision p99", "us", "99th percentile of it", -1},
    [ADL_METRIC_WALL] = {"wall_s", "wall time", "s", "wall time of the run", -1},
};

struct adl_metrics {
    struct adl_reward reward_terms;
    double reward;
    double *jct_s; /* of every job that ended */
    size_t jct_capacity;
    struct adl_median run_us;
    uint64_t jobs, timeouts, evictions;
    double lost_gpu_s;
    struct adl_preemption preemption; /* times of a stop */
    double jct_sum_s, wait_sum_s, slowdown_sum;
    double ideal_gpu_s;
    uint64_t sla_jobs, sla_met;
    double busy_gpu_s; /* up to the last event */
    double busy_at_last_end_s;
    int64_t last_end_us;
    double energy_j;
};

int adl_metrics_create(double lambda, struct adl_metrics **ret)
{
    struct adl_metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics)
        return ADL_ENOMEM;
    metrics->reward_terms.lambda = lambda;
    *ret = metrics;
    return 0;
}

int adl_metrics_reserve(struct adl_metrics *metrics, size_t jobs)
{
    return adl_grow((void **)&metrics->jct_s, &metrics->jct_capacity, jobs, sizeof *metrics->jct_s);
}

int adl_metrics_copy(struct adl_metrics *to, const struct adl_metrics *from)
{
    if (adl_metrics_reserve(to, from->jct_capacity))
        return ADL_ENOMEM;
    const struct adl_metrics own = *to;
    *to = *from;
    to->jct_capacity = own.jct_capacity;
    ADL_COPY_ARRAY(to, own, from, jct_s, from->jobs);
    return 0;
}

void adl_metrics_reset(struct adl_metrics *metrics)
{
    *metrics = (struct adl_metrics){
        .reward_terms = {.lambda = metrics->reward_terms.lambda, .tail = metrics->reward_terms.tail},
        .jct_s = metrics->jct_s,
        .jct_capacity = metrics->jct_capacity};
}

void adl_metrics_destroy(struct adl_metrics *metrics)
{
    if (!metrics)
        return;
    free(metrics->jct_s);
    free(metrics);
}

/* A job with both kinds of SLA must meet both. */
static void count_sla(struct adl_metrics *metrics, const struct adl_job_spec *spec, const struct adl_outcome *outcome,
                      int64_t jct_us)
{
    if (spec->deadline_us == 0 && spec->min_steps_per_s <= 0)
        return;
    const bool in_time = spec->deadline_us == 0 || jct_us <= spec->deadline_us;
    const bool fast_enough =
        spec->min_steps_per_s <= 0 ||
        (outcome->run_us > 0 && outcome->steps / ((double)outcome->run_us * 1e-6) >= (double)spec->min_steps_per_s);
    metrics->sla_jobs++;
    metrics->sla_met += in_time && fast_enough && outcome->end == ADL_END_COMPLETED;
}

static int count_end(struct adl_metrics *metrics, const struct adl_job_spec *spec, int64_t submit_us, int64_t end_us,
                     const struct adl_outcome *outcome)
{
    const int64_t jct_us = end_us - submit_us;
    const double jct_s = (double)jct_us * 1e-6, run_s = (double)outcome->run_us * 1e-6,
                 ideal_s = (double)outcome->ideal_us * 1e-6;
    if (metrics->jobs == metrics->jct_capacity && adl_metrics_reserve(metrics, metrics->jobs + 1))
        return ADL_ENOMEM;
    metrics->jct_s[metrics->jobs++] = jct_s;
    adl_median_add(&metrics->run_us, (double)outcome->run_us);
    metrics->timeouts += outcome->end == ADL_END_TIMEOUT;
    metrics->jct_sum_s += jct_s;
    metrics->wait_sum_s += jct_s - run_s;
    metrics->slowdown_sum += ideal_s > 0 ? jct_s / ideal_s : 1.0;
    if (outcome->end == ADL_END_COMPLETED)
        metrics->ideal_gpu_s += ideal_s * spec->gpus;
    metrics->last_end_us = end_us > metrics->last_end_us ? end_us : metrics->last_end_us;
    metrics->busy_at_last_end_s = metrics->busy_gpu_s;
    count_sla(metrics, spec, outcome, jct_us);
    return 0;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_metrics *metrics = self;
    metrics->busy_gpu_s += state->busy_gpus * (double)(event->time_us - state->now_us) * 1e-6;
    metrics->reward += adl_reward_until(&metrics->reward_terms, state, event);
    if (event->kind == ADL_EVENT_FINISH) {
        const struct adl_job *job = &state->jobs[event->job];
        return count_end(metrics, &job->spec, job->submit_us, event->time_us, &event->outcome);
    }
    if (event->kind == ADL_EVENT_EVICT)
        metrics->evictions++;
    else if (event->kind == ADL_EVENT_METER)
        metrics->energy_j += event->energy_j;
    return 0;
}

void adl_metrics_price_stops(struct adl_metrics *metrics, const struct adl_preemption *preemption)
{
    metrics->preemption = *preemption;
}

/* GPU time that stopping a running job now loses. */
static double stop_gpu_s(const struct adl_metrics *metrics, const struct adl_state *state, uint32_t slot)
{
    const struct adl_preemption *preemption = &metrics->preemption;
    const uint32_t gpus = state->jobs[slot].spec.gpus;
    return gpus * ((double)adl_stop_lost_us(state, slot) * 1e-6 + preemption->checkpoint_s +
                   adl_preemption_restart_s(preemption, gpus) + adl_preemption_rework_s(preemption, gpus));
}

static int on_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    (void)gpus;
    struct adl_metrics *metrics = self;
    if (command->kind == ADL_COMMAND_PREEMPT)
        metrics->lost_gpu_s += stop_gpu_s(metrics, state, command->job);
    return 0;
}

struct adl_observer adl_metrics_observer(struct adl_metrics *metrics)
{
    return (struct adl_observer){.self = metrics, .event = on_event, .command = on_command};
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0.0;
}

static void fill_decision_times(const struct adl_engine_counts *counts, struct adl_result *ret)
{
    double *times_us = counts->decision_count ? malloc(counts->decision_count * sizeof *times_us) : NULL;
    if (!times_us)
        return;
    for (size_t i = 0; i < counts->decision_count; i++)
        times_us[i] = (double)counts->decision_ns[i] * 1e-3;
    ret->value[ADL_METRIC_DECISION_P50] = adl_quantile(times_us, counts->decision_count, 0.5);
    ret->value[ADL_METRIC_DECISION_P99] = adl_quantile(times_us, counts->decision_count, 0.99);
    free(times_us);
}

/* What follows from the jobs alone. */
static void fill_figures(struct adl_metrics *metrics, uint32_t gpu_count, struct adl_result *ret)
{
    const double jobs = (double)metrics->jobs, end_s = (double)metrics->last_end_us * 1e-6;
    double *value = ret->value;
    ret->jobs = metrics->jobs;
    ret->timeouts = metrics->timeouts;
    ret->sla_jobs = metrics->sla_jobs;
    ret->run_median_s = adl_median_value(&metrics->run_us) * 1e-6;
    value[ADL_METRIC_JCT_MEAN] = ratio(metrics->jct_sum_s, jobs);
    value[ADL_METRIC_JCT_P99] = adl_quantile(metrics->jct_s, metrics->jobs, 0.99);
    value[ADL_METRIC_WAIT_MEAN] = ratio(metrics->wait_sum_s, jobs);
    value[ADL_METRIC_SLOWDOWN_MEAN] = ratio(metrics->slowdown_sum, jobs);
    value[ADL_METRIC_THROUGHPUT] = ratio(jobs * 3600.0, end_s);
    value[ADL_METRIC_UTILIZATION] = ratio(metrics->busy_at_last_end_s, end_s * gpu_count);
    value[ADL_METRIC_MAKESPAN] = end_s;
    value[ADL_METRIC_SLA] = metrics->sla_jobs ? (double)metrics->sla_met / (double)metrics->sla_jobs : 1.0;
    value[ADL_METRIC_EFFICIENCY] = ratio(metrics->ideal_gpu_s, metrics->busy_at_last_end_s);
}

void adl_metrics_result(struct adl_metrics *metrics, const struct adl_engine *engine,
                        const struct adl_lower_bound *bound, struct adl_result *ret)
{
    const struct adl_state *state = adl_engine_state(engine);
    const struct adl_engine_counts *counts = adl_engine_counts(engine);
    *ret = (struct adl_result){.evictions = metrics->evictions,
                               .lost_gpu_s = (uint64_t)(metrics->lost_gpu_s + 0.5),
                               .events = counts->events,
                               .decisions = counts->decisions,
                               .refused = counts->refused,
                               .unfinished = (uint64_t)state->queue.count + state->running_jobs,
                               .plan_hash = counts->plan_hash,
                               .round_s = adl_engine_round_s(engine),
                               .bound_jct_s = bound->jct_mean_s};
    fill_figures(metrics, state->cluster->gpu_count, ret);
    ret->value[ADL_METRIC_ENERGY] = metrics->energy_j;
    ret->value[ADL_METRIC_REWARD] = metrics->reward;
    fill_decision_times(counts, ret);
}

int adl_metrics_record(struct adl_metrics *metrics, const struct adl_job_spec *spec, double held_gpus,
                       int64_t submit_us, int64_t end_us, const struct adl_outcome *outcome)
{
    metrics->busy_gpu_s += held_gpus * (double)outcome->run_us * 1e-6;
    return count_end(metrics, spec, submit_us, end_us, outcome);
}

/* The reward is that of a run whose GPUs were all up. */
void adl_metrics_record_result(struct adl_metrics *metrics, uint32_t gpu_count, struct adl_result *ret)
{
    const double idle_gpu_s = (double)metrics->last_end_us * 1e-6 * gpu_count - metrics->busy_gpu_s;
    *ret = (struct adl_result){0};
    fill_figures(metrics, gpu_count, ret);
    ret->value[ADL_METRIC_REWARD] = -metrics->jct_sum_s - metrics->reward_terms.lambda * fmax(idle_gpu_s, 0);
    ret->value[ADL_METRIC_ENERGY] = ret->value[ADL_METRIC_HYPERSCORE] = NAN;
    for (int metric = ADL_METRIC_FIRST_TIMING; metric < ADL_METRIC_COUNT; metric++)
        ret->value[metric] = NAN;
}

struct adl_score_figures adl_result_figures(const struct adl_result *result)
{
    const double *value = result->value;
    return (struct adl_score_figures){.jct_s = value[ADL_METRIC_JCT_MEAN],
                                      .p99_s = value[ADL_METRIC_JCT_P99],
                                      .jobs_per_h = value[ADL_METRIC_THROUGHPUT],
                                      .energy_mj = value[ADL_METRIC_ENERGY] * 1e-6,
                                      .slowdown = value[ADL_METRIC_SLOWDOWN_MEAN],
                                      .sla = result->sla_jobs ? value[ADL_METRIC_SLA] : 0.0};
}

void adl_result_score(struct adl_result *result, const struct adl_score_figures *references)
{
    const struct adl_score_figures figures = adl_result_figures(result);
    const struct adl_score_terms terms = adl_score_relate(&figures, references);
    result->value[ADL_METRIC_HYPERSCORE] = adl_hyperscore(adl_score_v(&terms));
}
