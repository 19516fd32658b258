/* limits: what the QOS and associations of Slurm's accounting allow a job now: how many jobs, GPUs, cores and how much
 * memory at once, and for how long.
 *
 * Held jobs are not tested for these by Slurm. The limits come from slurmctld; what is in use is counted from the jobs,
 * so that both are of the same moment and placed jobs count before they start. */
#ifndef ADLRO_SLURM_LIMITS_H
#define ADLRO_SLURM_LIMITS_H

#include "slurm/cluster.h"

struct adl_slurm_limits;

/* What the reasons below begin with. */
#define ADL_SLURM_LIMIT_WORDS "limit of "

struct adl_slurm_limits *adl_slurm_limits_create(void);         /* NULL without memory */
void adl_slurm_limits_destroy(struct adl_slurm_limits *limits); /* accepts NULL */

/* Asks slurmctld what it enforces, unless it was asked only just now. If it does not say, there are no limits: Slurm
 * refuses by itself then. */
void adl_slurm_limits_load(struct adl_slurm_limits *limits, int64_t now_us);

/* Begins a pass over all jobs: counts what runs and what was placed. */
void adl_slurm_limits_count(const struct adl_slurm_cluster *cluster);

/* Whether a limit forbids the job to start now, and which. If none does, it is taken as offered: those that come later
 * in the pass get what it leaves, until it has not been placed for a while. So of the jobs of a user who is near a
 * limit only as many can be placed at once as may run. */
bool adl_slurm_limits_forbid(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                             char *ret_why, size_t why_size);

/* The same of a job that is about to be placed with these GPUs on each node, by what was placed since the pass;
 * nothing is noted. */
bool adl_slurm_limits_refuse(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                             const struct adl_gpu_count *gpus, char *ret_why, size_t why_size);
/* It was placed. */
void adl_slurm_limits_note(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                           const struct adl_gpu_count *gpus);

#endif
