/* workload: the jobs of a scenario, one after the other, with their true run times. The same for every policy. */
#ifndef ADLRO_SIM_WORKLOAD_H
#define ADLRO_SIM_WORKLOAD_H

#include "base/rng.h"
#include "model/scenario.h"
#include "sim/source.h"

struct adl_workload_choice;

/* What chance says of a job. */
struct adl_workload_draw {
    double submit_s;
    double urgency, exact, deadline, throughput; /* uniform */
    double duration, limit;                      /* factors of the medians, log-normal */
    uint32_t choice, user;
};

#define ADL_WORKLOAD_DRAWS 8 /* drawn at a time: logarithms of several jobs cost little more than those of one */

struct adl_workload_stream {
    const struct adl_scenario *scenario;
    struct adl_rng arrivals; /* separate from the jobs: another rate gives the same jobs */
    struct adl_rng jobs;
    double now_s; /* of the last job that was drawn */
    uint64_t issued, drawn;
    uint64_t burst_left;
    struct adl_workload_choice *choices; /* kinds of jobs, drawn by the alias method; owned */
    double *ratio;                       /* [choice][type] run time relative to the reference type; owned */
    uint32_t choice_count;
    uint32_t surge_first, surge_count;                  /* the choices of the surge's kind, a table of their own */
    struct adl_workload_draw draws[ADL_WORKLOAD_DRAWS]; /* of job n at n % ADL_WORKLOAD_DRAWS */
};

int adl_workload_begin(struct adl_workload_stream *ret, const struct adl_scenario *scenario, uint64_t seed);
void adl_workload_rewind(struct adl_workload_stream *stream, uint64_t seed); /* as after begin with that seed */
void adl_workload_end(struct adl_workload_stream *stream);                   /* frees; accepts a zeroed one */

/* True and the next job, in order of submission; false if there are no more. */
bool adl_workload_next(struct adl_workload_stream *stream, struct adl_true_job *ret);

/* The same as a source, and as a supply whose self is the scenario. */
int adl_workload_open(void *scenario, uint64_t seed, struct adl_job_source *ret, struct adl_error *err);
struct adl_job_supply adl_workload_supply(const struct adl_scenario *scenario);

/* Hash of the first count jobs (0 = all), with true run times, which a frozen scenario pins. 0 or ADL_ENOMEM. */
int adl_workload_hash(const struct adl_scenario *scenario, uint64_t seed, uint64_t count, uint64_t *ret);

#endif
