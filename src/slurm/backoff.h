/* backoff: a job that is not placed for a while: on the nodes it left, or anywhere, because Slurm refused it. */
#ifndef ADLRO_SLURM_BACKOFF_H
#define ADLRO_SLURM_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct adl_slurm_cluster;
struct job_info;

#define ADL_SLURM_LEFT_US    INT64_C(2000000) /* a job is not placed on a node that it left less than this ago */
#define ADL_SLURM_CROWDED_US INT64_C(3000000) /* nor on one that had no room for it */

struct adl_slurm_backoff {
    uint64_t id;
    int64_t until_us;
    char nodes[400]; /* "" = anywhere */
    char why[200];
    uint32_t refusals; /* in a row; this and the next two are 0 if there are nodes */
    uint32_t uid;
    int64_t since_s;
};

/* Until the given time the job is not placed on these nodes, or "" = anywhere. */
int adl_slurm_backoff_add(struct adl_slurm_cluster *cluster, const struct adl_slurm_backoff *backoff);
const struct adl_slurm_backoff *adl_slurm_backoff_find(const struct adl_slurm_cluster *cluster, uint64_t id,
                                                       bool anywhere);

/* Starts the time on its nodes again: the job is still completing there. */
void adl_slurm_backoff_extend(struct adl_slurm_cluster *cluster, uint64_t id);

/* Slurm would not start the job for this reason: it is not eligible for 10 s, the next time 20 s and so on to 5 min,
 * or until another of its user's jobs ends. Refusals are remembered for 5 min after. */
int adl_slurm_backoff_refusal(struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                              const char *why);

/* Ends those whose time is over, or whose reason may be gone by the jobs of this pass. */
void adl_slurm_backoffs_age(struct adl_slurm_cluster *cluster);

#endif
