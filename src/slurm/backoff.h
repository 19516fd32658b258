/* backoff: a job that must not run for a while: on the nodes it left, or at all, for Slurm refused it. */
#ifndef ADLRO_SLURM_BACKOFF_H
#define ADLRO_SLURM_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct adl_slurm_cluster;
struct job_info;

#define ADL_SLURM_LEFT_US    INT64_C(2000000) /* a job does not go back to the node it left within this */
#define ADL_SLURM_CROWDED_US INT64_C(3000000) /* nor to one that had no room for it */

struct adl_slurm_backoff {
    uint64_t id;
    int64_t until_us;
    char nodes[400]; /* "" = anywhere */
    char why[200];
    uint32_t refusals; /* one after the other; as the next two 0 where there are nodes */
    uint32_t uid;
    int64_t since_s;
};

/* Until the given time the job is not to run on these nodes, or "" = anywhere. */
int adl_slurm_backoff_add(struct adl_slurm_cluster *cluster, const struct adl_slurm_backoff *mark);
const struct adl_slurm_backoff *adl_slurm_backoff_find(const struct adl_slurm_cluster *cluster, uint64_t id,
                                                       bool anywhere);

/* A job that is still on its way out has not left its nodes yet. */
void adl_slurm_backoff_extend(struct adl_slurm_cluster *cluster, uint64_t id);

/* Slurm would not start the job for this reason: it is not offered for 10 s, the next time 20 s and so on to 5 min, or
 * until another of its user's jobs ends. Refusals are remembered for 5 min after. */
int adl_slurm_backoff_refusal(struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                              const char *why);

/* By the time and the jobs of this pass. */
void adl_slurm_marks_age(struct adl_slurm_cluster *cluster);

#endif
