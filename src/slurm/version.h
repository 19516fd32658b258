/* version: all that differs between Slurm 22.05 and 26.05, behind one interface. The adapter is built for one version
 * of the library, whose soname changes with every version. */
#ifndef ADLRO_SLURM_VERSION_H
#define ADLRO_SLURM_VERSION_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct job_info_msg;
struct node_info;

/* Whether the GPU type of a job can be changed once it has one. Where it cannot, a new type is added to the old: the
 * job waits for both for ever; and counts with a type and without do not go together. A count alone can be changed. */
bool adl_slurm_retypes(void);

/* Whether num_nodes of a pending job can be too high: 2 for one task of four CPUs. */
bool adl_slurm_overcounts_nodes(void);

/* GPUs per node of a job as Slurm reads it; type "" = any. */
void adl_slurm_gres_write(struct adl_text *text, const char *type, uint32_t count);

/* "QOSMaxJobsPerUserLimit": the name of a state_reason. */
const char *adl_slurm_reason(uint32_t reason);

/* The code of a call of the library that failed with this status: some return it, others have it in errno. */
int adl_slurm_error_of(int status);

/* Whether such a code means that slurmctld was not reached or did not answer. */
bool adl_slurm_is_unreachable(int code);

void adl_slurm_ctl_conf_free(void *conf); /* that slurm_load_ctl_conf returned */

/* Frees also what the library leaks in some versions: a text of each job, each time they are loaded. Accepts NULL. */
void adl_slurm_jobs_free(struct job_info_msg *jobs);

uint32_t adl_slurm_node_cpus_used(const struct node_info *node);
uint64_t adl_slurm_node_memory_used_mib(const struct node_info *node);

/* A reading of a node's energy meter. */
struct adl_slurm_draw {
    double joules;  /* since some time that stays the same while slurmd runs */
    double watts;   /* negative = not known */
    int64_t read_s; /* by the node's clock */
};
/* False if it has none, or it was not read yet. */
bool adl_slurm_node_draw(const struct node_info *node, struct adl_slurm_draw *ret);

#endif
