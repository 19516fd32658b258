/* trace_supply: the jobs of a trace on a cluster: turns rows into jobs and counts rows that the cluster cannot run. */
#ifndef ADLRO_EXPERIMENT_TRACE_SUPPLY_H
#define ADLRO_EXPERIMENT_TRACE_SUPPLY_H

#include "model/scenario.h"
#include "scenario/throughputs.h"
#include "sim/source.h"
#include "trace/trace.h"

struct adl_trace_plan {
    const char *path;
    struct adl_trace_options options;
    const struct adl_scenario *scenario;       /* from adl_cluster_load(): its class 0 is that of every job */
    const struct adl_throughputs *throughputs; /* of jobs that have a number of steps; NULL = none */
    uint64_t jobs_max;                         /* only the first that many usable rows; 0 = all */
    int64_t site_limit_us;                     /* what policies are told of rows without a limit; 0 = a week */
};

#define ADL_SITE_LIMIT_US (INT64_C(7) * 86400 * INT64_C(1000000))

/* How the rows were used. */
struct adl_trace_account {
    uint64_t rows[ADL_TRACE_REASON_COUNT]; /* of the whole trace, even if jobs_max cut it off */
    uint64_t jobs;                         /* issued */
    uint64_t without_limit;                /* of these: policies are told the site's limit */
    int format;                            /* enum adl_trace_format of the file */
    uint64_t unknown_line;                 /* of the first row whose types the cluster lacks; 0 = none */
    char unknown_types[2 * ADL_TRACE_WORD];
};

/* True in *ret if a usable row has a limit. */
int adl_trace_has_limits(const char *path, const struct adl_trace_options *options, bool *ret, struct adl_error *err);

struct adl_trace_supply;

/* What the plan points to outlives the supply. */
int adl_trace_supply_create(const struct adl_trace_plan *plan, struct adl_trace_supply **ret, struct adl_error *err);
void adl_trace_supply_destroy(struct adl_trace_supply *supply); /* accepts NULL */

/* Every source reads the file again, row by row; several may be open at once, in several threads. The seed has no
 * effect. */
struct adl_job_supply adl_trace_supply_jobs(struct adl_trace_supply *supply);

/* The row of the job that such a source gave last. */
const struct adl_trace_row *adl_trace_supply_row(const struct adl_job_source *source);

/* Of the source that was last to reach its end; zeros before. */
struct adl_trace_account adl_trace_supply_account(struct adl_trace_supply *supply);

#endif
