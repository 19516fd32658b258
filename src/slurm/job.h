/* job: a job of Slurm in the words of the protocol: what it wants, and whether it may be placed. */
#ifndef ADLRO_SLURM_JOB_H
#define ADLRO_SLURM_JOB_H

#include "slurm/cluster.h"

/* The number by which the protocol knows a job for as long as it lives: Slurm's, and for a task of an array that of the
 * array with (index + 1) * 2^32 added. Tasks that wait have no number of their own with Slurm until they are touched.
 */
uint64_t adl_slurm_id(uint32_t job, int64_t array_index);

#define ADL_SLURM_NAME_SIZE 32
/* As Slurm reads it: "123", "123_4". */
void adl_slurm_name(uint64_t id, char ret[ADL_SLURM_NAME_SIZE]);

/* A job held by its user begins after this, by what the hook did. */
#define ADL_HELD_BEGIN_S INT64_C(4000000000)

/* Calls visit for the job, or for each task that still waits in the record of its array, until one does not return 0.
 */
int adl_slurm_job_each(const struct job_info *job, int (*visit)(void *context, const struct job_info *job, uint64_t id),
                       void *context);

/* Whether it is in one of our partitions and has to do with GPUs. */
bool adl_slurm_job_concerns(const struct adl_slurm_cluster *cluster, const struct job_info *job);

/* Caught by the hook and not given back; ret is what for. */
bool adl_slurm_job_is_ours(const struct adl_slurm_cluster *cluster, const struct job_info *job, struct adl_catch *ret);

/* On how many nodes it runs, or wants to at least. */
uint32_t adl_slurm_job_nodes(const struct adl_slurm_cluster *cluster, const struct job_info *job);

bool adl_slurm_job_is_held(const struct job_info *job); /* waits, and not released */

uint64_t adl_slurm_job_memory_mib(const struct job_info *job, uint32_t nodes); /* that it asks for on each of them */

/* Appends one line, without its end. */
void adl_slurm_job_write(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                         struct adl_text *line);

#endif
