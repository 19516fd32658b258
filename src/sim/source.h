/* source: the jobs of a simulated world, with their true run times: from a scenario's workload or a trace. */
#ifndef ADLRO_SIM_SOURCE_H
#define ADLRO_SIM_SOURCE_H

#include "base/error.h"
#include "model/cluster.h"
#include "model/job.h"

#include <stdbool.h>

struct adl_true_job {
    struct adl_job_spec spec;
    int64_t submit_us;
    double steps;                      /* the work */
    bool without_limit;                /* its user gave no limit: it is never ended at spec.limit_us */
    int64_t ideal_us;                  /* run time on its fastest acceptable type */
    int64_t runtime_us[ADL_TYPES_MAX]; /* alone, on new GPUs of one node; 0 = does not run there; as many as the cluster
                                        * has types */
    int64_t spanning_us[ADL_TYPES_MAX]; /* the same across nodes; read only by worlds that adopt jobs */
};

struct adl_job_source {
    void *self;
    /* 1 and the next job, in order of submission; 0 when there are no more; negative on failure. */
    int (*next)(void *self, struct adl_true_job *ret, struct adl_error *err);
    void (*close)(void *self);                /* accepts NULL */
    int (*rewind)(void *self, uint64_t seed); /* optional: restarts with this seed, without allocating */
    int (*copy)(void *self,
                const void *from); /* optional: goes on as another, opened in the same way, will; 0 or less */
};

/* Opens the same jobs again for each run. */
struct adl_job_supply {
    void *self;
    int (*open)(void *self, uint64_t seed, struct adl_job_source *ret, struct adl_error *err);
};

#endif
