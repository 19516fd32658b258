/* lower_bound: figures that no scheduler can beat, clairvoyant or not, on the workload of one run. */
#ifndef ADLRO_METRICS_LOWER_BOUND_H
#define ADLRO_METRICS_LOWER_BOUND_H

#include "base/error.h"
#include "model/scenario.h"
#include "sim/source.h"

#include <stdint.h>

/* Which bound on the mean JCT. */
enum adl_bound_kind {
    ADL_BOUND_RELAXED, /* the relaxed machines of lower_bound.c */
    ADL_BOUND_LP,      /* the time-indexed linear program of metrics/lp_bound.h, if it is higher */
};

extern const char *const adl_bound_names[]; /* of enum adl_bound_kind, ends with NULL */

struct adl_lower_bound {
    double jct_mean_s;
    double makespan_s; /* from time 0 */
    double energy_j;
};

/* The bound for the workload of one seed. */
int adl_lower_bound_compute(const struct adl_scenario *scenario, const struct adl_job_supply *supply, uint64_t seed,
                            struct adl_lower_bound *ret, struct adl_error *err);

/* The bound on completion times. Streaming: memory grows only with the jobs that are live in the relaxed problem. */
struct adl_jct_bound;

struct adl_jct_bound_job {
    int64_t submit_us; /* not decreasing from call to call */
    int64_t run_us;    /* shortest possible run time, > 0 */
    double gpu_us;     /* least GPU time it can take: min over types of GPUs * run time; halved if it may share */
};

struct adl_jct_bound_result {
    uint64_t jobs;
    double jct_mean_s; /* no schedule has a smaller mean JCT */
    double makespan_s; /* from time 0; no schedule ends earlier */
};

int adl_jct_bound_create(double gpus, struct adl_jct_bound **ret); /* capacity in GPUs of unit speed; 0 or ADL_ENOMEM */
int adl_jct_bound_add(struct adl_jct_bound *bound, const struct adl_jct_bound_job *job);
struct adl_jct_bound_result adl_jct_bound_finish(struct adl_jct_bound *bound); /* no more adds after it */
void adl_jct_bound_destroy(struct adl_jct_bound *bound);                       /* accepts NULL */

#endif
