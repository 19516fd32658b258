/* history: how long jobs take, learned from those that have ended and asked for jobs of which only the submission is
 * known (Hu et al., "Characterization and prediction of deep learning workloads in large-scale GPU datacenters", SC
 * 2021, section 4.2: P = lambda * P_rolling + (1 - lambda) * P_regression).
 *
 * Rolling: a decaying mean over the user's jobs of that name, failing that over the user's jobs of that many GPUs,
 * failing that over everybody's. Regression: ridge on the logarithm of the time, from what a submission says. The paper
 * has boosted trees there, and counts similar names as one where this has equal ones only.
 *
 * Memory is fixed: 16,384 means; where there is no room for one more, the one not heard of for longest is forgotten. */
#ifndef ADLRO_PREDICT_HISTORY_H
#define ADLRO_PREDICT_HISTORY_H

#include "model/job.h"

#define ADL_HISTORY_FEATURES (4 + ADL_KIND_COUNT)

struct adl_history_mean {
    uint64_t key; /* 0 = empty */
    uint64_t count;
    uint64_t heard; /* the number of jobs seen when it last changed */
    double mean_us;
};

struct adl_history {
    struct adl_history_mean *means;                            /* in sets: a key has its place in one of them */
    double normal[ADL_HISTORY_FEATURES][ADL_HISTORY_FEATURES]; /* sum of x x' */
    double moment[ADL_HISTORY_FEATURES];                       /* sum of x y */
    double weight[ADL_HISTORY_FEATURES];                       /* the solution */
    uint64_t count;                                            /* jobs seen */
};

int adl_history_create(struct adl_history *ret);     /* 0 or ADL_ENOMEM */
void adl_history_clear(struct adl_history *history); /* frees; accepts a zeroed one */

/* A job ended after this time on the best type it accepts. */
void adl_history_learn(struct adl_history *history, const struct adl_job_spec *spec, int64_t run_us);

/* The time such a job is expected to take, at least 1; 0 if nothing is known yet. */
int64_t adl_history_predict(const struct adl_history *history, const struct adl_job_spec *spec);

#endif
