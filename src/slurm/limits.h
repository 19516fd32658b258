/* limits: whether the QOS and associations of Slurm's accounting allow a job to start: limits on jobs, GPUs, cores and
 * memory at once, and on time.
 *
 * Slurm does not test held jobs for these. The limits come from slurmctld; usage is counted from the jobs, so that both
 * are of the same moment and placed jobs count before they start. */
#ifndef ADLRO_SLURM_LIMITS_H
#define ADLRO_SLURM_LIMITS_H

#include "slurm/cluster.h"

struct adl_slurm_limits;

/* The beginning of the reasons below. */
#define ADL_SLURM_LIMIT_WORDS "limit of "

struct adl_slurm_limits *adl_slurm_limits_create(void);         /* NULL: out of memory */
void adl_slurm_limits_destroy(struct adl_slurm_limits *limits); /* accepts NULL */

/* Loads the limits from slurmctld, at most once a second. If it does not answer there are none: Slurm itself refuses
 * then. */
void adl_slurm_limits_load(struct adl_slurm_limits *limits, int64_t now_us);

/* Starts a pass over all jobs: counts those that run and those that were placed. */
void adl_slurm_limits_count(const struct adl_slurm_cluster *cluster);

/* Whether a limit forbids the job to start now, and which. If none does it counts as offered: for jobs later in the
 * pass it is in use, until it was not placed for 2 s. So no more jobs of a user near a limit are eligible at once than
 * may run. */
bool adl_slurm_limits_forbid(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                             char *ret_why, size_t why_size);

/* The same of a job that is about to be placed with these GPUs on each node, counting what was placed since the pass;
 * changes nothing. */
bool adl_slurm_limits_refuse(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                             const struct adl_gpu_count *gpus, char *ret_why, size_t why_size);
/* It was placed. */
void adl_slurm_limits_note(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                           const struct adl_gpu_count *gpus);

#endif
