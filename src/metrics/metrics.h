/* metrics: computes a run's figures from its events, for comparisons, training and live reports alike. */
#ifndef ADLRO_METRICS_METRICS_H
#define ADLRO_METRICS_METRICS_H

#include "engine/engine.h"
#include "metrics/lower_bound.h"
#include "metrics/run_quarters.h"
#include "model/scenario.h"

#include <stdint.h>

enum adl_metric {
    ADL_METRIC_JCT_MEAN,
    ADL_METRIC_JCT_P99,
    ADL_METRIC_WAIT_MEAN,
    ADL_METRIC_SLOWDOWN_MEAN,
    ADL_METRIC_THROUGHPUT,
    ADL_METRIC_UTILIZATION,
    ADL_METRIC_MAKESPAN,
    ADL_METRIC_ENERGY,
    ADL_METRIC_SLA,
    ADL_METRIC_EFFICIENCY,
    ADL_METRIC_HYPERSCORE,
    ADL_METRIC_REWARD,
    ADL_METRIC_DECISION_P50, /* from here on wall-clock figures, which differ from run to run */
    ADL_METRIC_DECISION_P99,
    ADL_METRIC_WALL,
    ADL_METRIC_COUNT,
};

#define ADL_METRIC_FIRST_TIMING ADL_METRIC_DECISION_P50

struct adl_metric_info {
    const char *name;  /* in JSON and CSV: "jct_mean_s" */
    const char *label; /* for display: "mean JCT" */
    const char *unit;  /* "s", "jobs/h", "" */
    const char *about; /* one line: what it measures */
    int better;        /* -1 lower is better, +1 higher, 0 neither */
};

extern const struct adl_metric_info adl_metric_table[ADL_METRIC_COUNT];

/* One run's figures. */
struct adl_result {
    double value[ADL_METRIC_COUNT];
    uint64_t jobs; /* finished, however they ended */
    uint64_t timeouts;
    uint64_t sla_jobs;   /* finished ones with a deadline or a least throughput */
    uint64_t evictions;  /* preemptions and faults */
    uint64_t lost_gpu_s; /* GPU time lost by preemptions: work to repeat, according to the jobs' specifications, and
                          * what adl_metrics_price_stops() says */
    uint64_t events;
    uint64_t decisions;
    uint64_t refused;                                  /* commands that failed validation; the guard took over */
    uint64_t unfinished;                               /* jobs queued or running when the world had no more events */
    uint64_t plan_hash;                                /* over every command, in order */
    double round_s;                                    /* of the policy's rounds at the end; 0 = it has none */
    double run_median_s;                               /* of the finished jobs, to a tenth */
    double bound_jct_s;                                /* clairvoyant lower bound on the mean JCT of this workload */
    struct adl_run_quarter quarters[ADL_RUN_QUARTERS]; /* filled in by the caller, from an observer of its own */
};

struct adl_metrics;

int adl_metrics_create(double lambda, struct adl_metrics **ret); /* 0 or ADL_ENOMEM */
void adl_metrics_destroy(struct adl_metrics *metrics);           /* accepts NULL */
void adl_metrics_reset(struct adl_metrics *metrics);             /* as after create; memory is kept */
/* From now on GPU time lost includes the time to stop and restart. After create or reset, stops take no time. */
void adl_metrics_price_stops(struct adl_metrics *metrics, const struct adl_preemption *preemption);
int adl_metrics_reserve(struct adl_metrics *metrics,
                        size_t jobs); /* room for that many finished jobs; 0 or ADL_ENOMEM */
int adl_metrics_copy(struct adl_metrics *to, const struct adl_metrics *from); /* 0 or ADL_ENOMEM */
struct adl_observer adl_metrics_observer(struct adl_metrics *metrics);

/* The figures of the run so far. The caller fills in the wall time and, by adl_result_score(), HyperScore. */
void adl_metrics_result(struct adl_metrics *metrics, const struct adl_engine *engine,
                        const struct adl_lower_bound *bound, struct adl_result *ret);

/* The figures of a record of what happened, without an engine: its jobs one after the other, in any order, then the
 * result. Figures that no record has are NAN. held_gpus: as much of GPUs as the job had. */
int adl_metrics_record(struct adl_metrics *metrics, const struct adl_job_spec *spec, double held_gpus,
                       int64_t submit_us, int64_t end_us, const struct adl_outcome *outcome); /* 0 or ADL_ENOMEM */
void adl_metrics_record_result(struct adl_metrics *metrics, uint32_t gpu_count, struct adl_result *ret);

struct adl_score_figures adl_result_figures(const struct adl_result *result);
void adl_result_score(struct adl_result *result, const struct adl_score_figures *references); /* sets HyperScore */

#endif
