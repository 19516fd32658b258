/* past_jobs: jobs that ended elsewhere, in a trace or before a restart, taught to a belief: as if an engine had seen
 * each of them submitted, started on free GPUs and ended. */
#ifndef ADLRO_PREDICT_PAST_JOBS_H
#define ADLRO_PREDICT_PAST_JOBS_H

#include "predict/belief.h"

struct adl_past_jobs;

/* A job that ended. */
struct adl_past_job {
    const struct adl_job_spec *spec;
    int64_t submit_us, end_us;
    int64_t run_us;     /* above 0 */
    uint32_t type;      /* of the GPUs that it had */
    uint8_t end;        /* enum adl_job_end */
    double steps_per_s; /* that it reported at its end; 0 = none */
    int64_t seen_us;    /* the belief has counted it as running until then; 0 = it has not */
};

/* cluster and belief outlive it. 0 or ADL_ENOMEM. */
int adl_past_jobs_create(const struct adl_cluster *cluster, struct adl_belief *belief, struct adl_past_jobs **ret);
void adl_past_jobs_destroy(struct adl_past_jobs *jobs); /* accepts NULL */

/* A job was submitted: its run time is predicted from what is known by then. slot: a number that no other job has until
 * this one has ended. 0 or ADL_ENOMEM. */
int adl_past_jobs_submit(struct adl_past_jobs *jobs, uint32_t slot, const struct adl_job_spec *spec, int64_t time_us);

/* It ended. False: the cluster has fewer GPUs of the type than it had, so nothing was learned. */
bool adl_past_jobs_end(struct adl_past_jobs *jobs, uint32_t slot, const struct adl_past_job *job);

#endif
