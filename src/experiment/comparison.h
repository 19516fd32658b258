/* comparison: several policies on the same seeds of one scenario, with statistics of their figures. */
#ifndef ADLRO_EXPERIMENT_COMPARISON_H
#define ADLRO_EXPERIMENT_COMPARISON_H

#include "experiment/actual.h"
#include "metrics/metrics.h"
#include "metrics/statistics.h"
#include "metrics/timeline.h"
#include "model/scenario.h"
#include "policy/policy.h"
#include "sim/source.h"

#include <stdbool.h>
#include <stdint.h>

struct adl_policy_result {
    const char *name;
    const char *variant_of;  /* the policy's name; NULL = it is no variant */
    char *options;           /* lines of OPTION=VALUE: those that differ from the defaults; NULL = none */
    const char *summary;     /* the policy's one-line description */
    struct adl_result *runs; /* [seed_count] */
    struct adl_summary metrics[ADL_METRIC_COUNT];
    struct adl_paired versus_first[ADL_METRIC_COUNT]; /* p-values Holm-corrected over policies and metrics without a
                                                       * clock; meaningless for the first policy */
    struct adl_regression jct_on_utilization;         /* over seeds: mean JCT against utilization */
    struct adl_summary quarters[ADL_RUN_QUARTERS][ADL_RUN_QUARTER_FIGURES];
    struct adl_paired third_versus_first[ADL_RUN_QUARTER_FIGURES]; /* quarter, over the seeds; p-values not corrected */
    struct adl_timeline *timeline;                                 /* of the first seed; NULL unless asked for */
};

/* How many jobs of a trace came without a limit of their user, and the limit that policies were told instead. */
struct adl_limits_given {
    uint64_t jobs; /* 0 = the jobs are a scenario's, and all have limits */
    uint64_t without;
    int64_t site_us;
};

struct adl_comparison {
    const struct adl_scenario *scenario;
    const char *regime; /* "declared", "oracle", "learned" */
    const char *told;   /* what policies are told in it; NULL = not said */
    const char *belief; /* what every run started with, in words; NULL = nothing */
    struct adl_limits_given limits;
    struct adl_score_figures references; /* of HyperScore */
    const char *references_from;         /* the policy whose means they are; NULL = the scenario's file has them */
    uint64_t first_seed;
    uint32_t seed_count;
    uint32_t policy_count;
    struct adl_policy_result *policies;       /* one more than policy_count if actual has jobs: what happened */
    struct adl_actual actual;                 /* of a trace */
    int bound;                                /* enum adl_bound_kind */
    struct adl_summary bound_jct_s;           /* over seeds */
    struct adl_regression jct_on_utilization; /* over all policies and seeds */
};

struct adl_comparison_request {
    const struct adl_scenario *scenario; /* outlives the comparison */
    const struct adl_job_supply *supply; /* NULL: the scenario's workload; several threads use it at a time */
    const struct adl_policy_ops *const *policies;
    uint32_t policy_count;
    uint64_t first_seed;
    uint32_t seed_count;
    int regime;                          /* enum adl_regime */
    int bound;                           /* enum adl_bound_kind */
    uint32_t threads;                    /* at least 1; the result does not depend on it */
    bool timelines;                      /* keep the first seed's, for plots */
    bool actual;                         /* the supply is a trace's: what happened to its jobs; one seed */
    const struct adl_observer *observer; /* one more observer, or NULL; only for one policy on one seed */
    const void *belief;                  /* bytes that every run starts with, as in struct adl_run; NULL = none */
    size_t belief_size;
    struct adl_text *learned; /* as in struct adl_run; only for one policy on one seed, as is health */
    struct adl_text *health;
    const char *origin;
    void (*progress)(void *self, uint64_t done, uint64_t total); /* of the runs, and of the bounds lp before them; may
                                                                  * be NULL; called by one thread at a time */
    void *progress_self;
};

/* Runs every policy on every seed. On failure *ret is untouched. */
#define ADL_ACTUAL_NAME "actual"

int adl_comparison_run(const struct adl_comparison_request *request, struct adl_comparison *ret, struct adl_error *err);
uint32_t adl_comparison_rows(const struct adl_comparison *comparison); /* policies, and what happened if it is known */
void adl_comparison_clear(struct adl_comparison *comparison);          /* frees; accepts a zeroed one */

#endif
