/* trace_supply: the jobs of a trace on a cluster: rows become jobs, and rows that the cluster cannot run are counted.
 */
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
    const struct adl_throughputs *throughputs; /* of jobs that say how many steps they do; NULL = none */
    uint64_t jobs_max;                         /* the first so many usable rows; 0 = all */
};

/* What became of the rows. */
struct adl_trace_account {
    uint64_t rows[ADL_TRACE_REASON_COUNT]; /* of the whole trace, also where jobs_max cut it off */
    uint64_t jobs;                         /* given out */
    uint64_t without_limit;                /* of these: their run time stands in for the limit */
    int format;                            /* enum adl_trace_format: the one that the file has */
    uint64_t unknown_line;                 /* of the first row whose types the cluster lacks; 0 = there is none */
    char unknown_types[2 * ADL_TRACE_WORD];
};

struct adl_trace_supply;

/* What the plan points to outlives the supply. */
int adl_trace_supply_create(const struct adl_trace_plan *plan, struct adl_trace_supply **ret, struct adl_error *err);
void adl_trace_supply_destroy(struct adl_trace_supply *supply); /* accepts NULL */

/* Every source reads the file anew, row by row; several may be open at once, in several threads. Seeds make no
 * difference. */
struct adl_job_supply adl_trace_supply_jobs(struct adl_trace_supply *supply);

/* Of the source that came last to its end; zeros before any did. */
struct adl_trace_account adl_trace_supply_account(struct adl_trace_supply *supply);

#endif
