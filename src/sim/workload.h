/* workload: the jobs of a scenario, one after the other, with the truth about each. The same for every policy. */
#ifndef ADLRO_SIM_WORKLOAD_H
#define ADLRO_SIM_WORKLOAD_H

#include "base/rng.h"
#include "model/scenario.h"

struct adl_true_job {
    struct adl_job_spec spec;
    int64_t submit_us;
    double steps;                      /* the work */
    int64_t ideal_us;                  /* run time on its fastest acceptable type */
    int64_t runtime_us[ADL_TYPES_MAX]; /* alone, on new GPUs of one node; 0 = does not run there; as many as the cluster
                                        * has types */
};

struct adl_workload_choice;

struct adl_workload_stream {
    const struct adl_scenario *scenario;
    struct adl_rng arrivals; /* separate from the jobs: another rate gives the same jobs */
    struct adl_rng jobs;
    double now_s;
    uint64_t issued;
    uint64_t burst_left;
    struct adl_workload_choice *choices; /* what a job can be, drawn by the alias method; owned */
    double *ratio;                       /* [mix][type] run time relative to the reference type; owned */
    uint32_t choice_count;
    uint32_t surge_first, surge_count; /* the choices of the surge's kind, a table of their own */
};

int adl_workload_begin(struct adl_workload_stream *ret, const struct adl_scenario *scenario, uint64_t seed);
void adl_workload_end(struct adl_workload_stream *stream); /* frees; accepts a zeroed one */

/* True and the next job, in order of submission; false when all were given. */
bool adl_workload_next(struct adl_workload_stream *stream, struct adl_true_job *ret);

/* Fingerprint of the first count jobs (0 = all), truth included: what a frozen scenario pins. 0 or ADL_ENOMEM. */
int adl_workload_hash(const struct adl_scenario *scenario, uint64_t seed, uint64_t count, uint64_t *ret);

#endif
