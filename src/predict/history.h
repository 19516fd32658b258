/* history: run times predicted from completed jobs, for jobs of which only the submission is known (Hu et al.,
 * "Characterization and prediction of deep learning workloads in large-scale GPU datacenters", SC 2021, section 4.2:
 * P = lambda * P_rolling + (1 - lambda) * P_regression).
 *
 * Rolling: a decaying mean over the user's jobs of that name, else over the user's jobs with that many GPUs, else over
 * all users' jobs with that many. Regression: ridge on the logarithm of the time, from the submission. The paper has
 * boosted trees there, and treats similar names as one, where this has equal names only.
 *
 * Memory is fixed: 16,384 means; if there is no room for another, the least recently used of its set is evicted. */
#ifndef ADLRO_PREDICT_HISTORY_H
#define ADLRO_PREDICT_HISTORY_H

#include "model/job.h"

#define ADL_HISTORY_FEATURES (4 + ADL_KIND_COUNT)

struct adl_history_mean {
    uint64_t key; /* 0 = empty */
    uint64_t count;
    uint64_t last_used; /* number of jobs seen at its last change */
    double mean_us;
};

struct adl_history {
    struct adl_history_mean *means;                            /* set-associative: a key belongs to one set */
    double normal[ADL_HISTORY_FEATURES][ADL_HISTORY_FEATURES]; /* sum of x x' */
    double moment[ADL_HISTORY_FEATURES];                       /* sum of x y */
    double weight[ADL_HISTORY_FEATURES];                       /* the solution */
    uint64_t count;                                            /* jobs seen */
};

int adl_history_create(struct adl_history *ret);     /* 0 or ADL_ENOMEM */
void adl_history_clear(struct adl_history *history); /* frees; accepts a zeroed one */
void adl_history_copy(struct adl_history *to, const struct adl_history *from);

/* A job completed; run_us: its time on the best type it accepts. */
void adl_history_learn(struct adl_history *history, const struct adl_job_spec *spec, int64_t run_us);

/* The predicted time of such a job, at least 1; 0 if no job has completed yet. */
int64_t adl_history_predict(const struct adl_history *history, const struct adl_job_spec *spec);

#endif
