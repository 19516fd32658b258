/* eligibility: whether Slurm would let a job start now, and on which nodes. */
#ifndef ADLRO_SLURM_ELIGIBILITY_H
#define ADLRO_SLURM_ELIGIBILITY_H

#include "slurm/cluster.h"
#include "slurm/wire.h"

/* Whether the job can be placed now, and why not, else "". */
enum adl_slurm_eligibility adl_slurm_job_eligibility(const struct adl_slurm_cluster *cluster,
                                                     const struct job_info *job, uint64_t id, char *ret_why,
                                                     size_t why_size);

/* Of a job that was placed: Slurm says that its nodes have no room. */
bool adl_slurm_job_is_crowded(const struct job_info *job);

/* Whether a job that Slurm schedules itself waits for more than resources and priority. */
bool adl_slurm_job_waits_for(const struct job_info *job, char *ret_why, size_t why_size);

/* Whether the job may be placed on this node of its partition, once there is room. */
bool adl_slurm_job_may_use(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                           const struct adl_slurm_node *node);

/* The alternatives that can still be given: if the type of a job cannot be changed any more, only that type. */
struct adl_gpu_counts adl_slurm_job_choices(const struct job_info *job, const struct adl_gpu_counts *request);

#endif
