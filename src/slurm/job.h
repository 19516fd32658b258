/* job: a job of Slurm as a message: what it asks for, and whether it may be placed. */
#ifndef ADLRO_SLURM_JOB_H
#define ADLRO_SLURM_JOB_H

#include "slurm/cluster.h"

/* The protocol's number of a job, which never changes: Slurm's, and for a task of an array that of the array plus
 * (index + 1) * 2^32. Slurm gives a pending task no number of its own until it is modified. */
uint64_t adl_slurm_id(uint32_t job, int64_t array_index);

#define ADL_SLURM_NAME_SIZE 32
/* As Slurm reads it: "123", "123_4". */
void adl_slurm_name(uint64_t id, char ret[ADL_SLURM_NAME_SIZE]);

/* The hook sets the begin time of a job that its user holds to more than this. */
#define ADL_HELD_BEGIN_S INT64_C(4000000000)

/* Calls visit for the job, or for each task that the record of an array still has, until one does not return 0. */
int adl_slurm_job_each(const struct job_info *job, int (*visit)(void *context, const struct job_info *job, uint64_t id),
                       void *context);

/* Whether it is in one of our partitions and asks for GPUs. */
bool adl_slurm_job_concerns(const struct adl_slurm_cluster *cluster, const struct job_info *job);

/* Caught by the hook and not given back; ret is what the hook noted. */
bool adl_slurm_job_is_ours(const struct adl_slurm_cluster *cluster, const struct job_info *job, struct adl_catch *ret);

/* Nodes on which it runs, or the fewest it asks for. */
uint32_t adl_slurm_job_nodes(const struct adl_slurm_cluster *cluster, const struct job_info *job);

bool adl_slurm_job_is_held(const struct job_info *job); /* pending and not released */

uint64_t adl_slurm_job_memory_mib(const struct job_info *job, uint32_t nodes); /* it asks for on each node */

/* Appends one line, without its end. */
void adl_slurm_job_write(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                         struct adl_text *line);

#endif
