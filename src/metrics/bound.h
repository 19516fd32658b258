/* bound: lower bounds that no scheduler can beat, clairvoyant or not, on the workload of one run. */
#ifndef ADLRO_METRICS_BOUND_H
#define ADLRO_METRICS_BOUND_H

#include <stdint.h>

struct adl_bound; /* streaming: memory grows with the jobs that are live in the relaxed problem only */

struct adl_bound_job {
    int64_t submit_us; /* not decreasing from call to call */
    int64_t run_us;    /* shortest possible run time, > 0 */
    double gpu_us;     /* least GPU time it can take: min over types of GPUs * run time; halved if it may share */
};

struct adl_bound_result {
    uint64_t jobs;
    double jct_mean_s; /* no schedule has a smaller mean JCT */
    double makespan_s; /* from time 0; no schedule ends earlier */
};

int adl_bound_create(double gpus, struct adl_bound **ret); /* capacity in GPUs of unit speed; 0 or ADL_ENOMEM */
int adl_bound_add(struct adl_bound *bound, const struct adl_bound_job *job);
struct adl_bound_result adl_bound_finish(struct adl_bound *bound); /* no more adds after it */
void adl_bound_destroy(struct adl_bound *bound);                   /* accepts NULL */

#endif
