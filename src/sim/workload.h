/* workload: the jobs of a scenario, one after the other, with the truth about each. The same for every policy. */
#ifndef ADLRO_SIM_WORKLOAD_H
#define ADLRO_SIM_WORKLOAD_H

#include "base/rng.h"
#include "model/scenario.h"

struct adl_true_job {
    struct adl_job_spec spec;
    int64_t submit_us;
    double steps;                       /* the work */
    double gang_speed;                  /* speed of its gang relative to one GPU */
    int64_t runtime_us[ADL_TYPES_MAX];  /* alone, on new GPUs of one node; 0 = does not run there */
};

struct adl_workload_stream {
    const struct adl_scenario *scenario;
    struct adl_rng arrivals;            /* separate from the jobs: another rate gives the same jobs */
    struct adl_rng jobs;
    double now_s;
    uint64_t issued;
    uint64_t burst_left;
    double weight_sum;                  /* of the mix */
    double surge_weight_sum;            /* of the mix entries of the surge's kind */
};

void adl_workload_begin(struct adl_workload_stream *ret, const struct adl_scenario *scenario, uint64_t seed);

/* True and the next job, in order of submission; false when all were given. */
bool adl_workload_next(struct adl_workload_stream *stream, struct adl_true_job *ret);

/* Fingerprint of the first count jobs (0 = all), truth included: what a frozen scenario pins. */
uint64_t adl_workload_hash(const struct adl_scenario *scenario, uint64_t seed, uint64_t count);

/* Run time on its fastest acceptable type, and the least GPU time over those types. */
int64_t adl_true_job_ideal_us(const struct adl_true_job *job, uint32_t type_count);

#endif
