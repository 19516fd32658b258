/* lab: jobs, GPU types, and the true speed of each job on each type, alone and co-located: training data of the
 * estimator's networks. Drawn from a prior over the behaviour of jobs and GPUs, or filled with measurements.
 *
 * The prior: a step takes host time and GPU time that overlap in part; GPU time is arithmetic and memory traffic that
 * overlap in part, and launches. How well software uses a type, how fast its hosts are, and how much jobs gain from
 * matrix units vary by type, by family of jobs and by job. Two jobs on one GPU take turns, or share its units, its
 * bandwidth and their hosts. Nothing in the prior was fitted to measurements that the estimator is evaluated on. */
#ifndef ADLRO_ESTIMATOR_LAB_H
#define ADLRO_ESTIMATOR_LAB_H

#include "base/rng.h"
#include "model/cluster.h"
#include "model/job.h"

#include <stdbool.h>

#define ADL_LAB_JOBS  28
#define ADL_LAB_TYPES 8

struct adl_lab {
    uint32_t type_count, job_count;
    struct adl_gpu_type types[ADL_LAB_TYPES];
    struct adl_job_spec jobs[ADL_LAB_JOBS];
    bool spans[ADL_LAB_JOBS];
    uint32_t family[ADL_LAB_JOBS];
    double rate[ADL_LAB_JOBS][ADL_LAB_TYPES];                /* logarithm of steps/s; NAN = not measured */
    double share[ADL_LAB_JOBS][ADL_LAB_JOBS][ADL_LAB_TYPES]; /* [job][beside] of that; NAN = not measured */
};

void adl_lab_draw(struct adl_rng *rng, struct adl_lab *ret);

#endif
