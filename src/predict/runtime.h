/* runtime: the predicted run time of a job on each GPU type, before it has run.
 *
 * Declared: the user's limit holds for the slowest type the job accepts; on faster types it is scaled by the ratio of
 * speeds by specification for that kind of job. Learned: the time on the best type is predicted from completed jobs
 * (predict/similar.h), and scaled to slower types in the same way. Oracle: the world tells the true times. */
#ifndef ADLRO_PREDICT_RUNTIME_H
#define ADLRO_PREDICT_RUNTIME_H

#include "model/cluster.h"
#include "model/job.h"

struct adl_runtime {
    const struct adl_cluster *cluster;
    double spec_speed[ADL_KIND_COUNT][ADL_TYPES_MAX]; /* relative speed by specification */
};

void adl_runtime_init(struct adl_runtime *ret, const struct adl_cluster *cluster);

/* true_us: [type], or NULL. ret: [type], 0 = not acceptable. */
void adl_runtime_estimate(const struct adl_runtime *runtime, const struct adl_job_spec *spec, const int64_t *true_us,
                          int64_t *ret);

/* best_us: the time on the best type the job accepts, at least 1. ret as above. */
void adl_runtime_from_best(const struct adl_runtime *runtime, const struct adl_job_spec *spec, int64_t best_us,
                           int64_t *ret);

/* What a job that took run_us on a type would have taken on the best one it accepts, at least 1. */
int64_t adl_runtime_on_best(const struct adl_runtime *runtime, const struct adl_job_spec *spec, uint32_t type,
                            int64_t run_us);

#endif
