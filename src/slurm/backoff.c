#include "slurm/backoff.h"

#include "base/index.h"
#include "slurm/cluster.h"

#include <slurm/slurm.h>
#include <stdio.h>
#include <string.h>

#define REFUSED_US  INT64_C(10000000)  /* a job that Slurm would not start is ineligible for this, at first */
#define REFUSED_MAX INT64_C(300000000) /* and at most */

int adl_slurm_backoff_add(struct adl_slurm_cluster *cluster, const struct adl_slurm_backoff *backoff)
{
    for (size_t i = 0; i < cluster->backoff_count; i++) {
        struct adl_slurm_backoff *old = &cluster->backoffs[i];
        if (old->id == backoff->id && (old->nodes[0] == '\0') == (backoff->nodes[0] == '\0')) {
            *old = *backoff;
            return 0;
        }
    }
    if (adl_grow((void **)&cluster->backoffs, &cluster->backoff_capacity, cluster->backoff_count + 1,
                 sizeof *cluster->backoffs) != 0)
        return ADL_ENOMEM;
    cluster->backoffs[cluster->backoff_count++] = *backoff;
    return 0;
}

const struct adl_slurm_backoff *adl_slurm_backoff_find(const struct adl_slurm_cluster *cluster, uint64_t id,
                                                       bool anywhere)
{
    for (size_t i = 0; i < cluster->backoff_count; i++) {
        const struct adl_slurm_backoff *backoff = &cluster->backoffs[i];
        if (backoff->id == id && (backoff->nodes[0] == '\0') == anywhere && backoff->until_us > cluster->now_us)
            return backoff;
    }
    return NULL;
}

int adl_slurm_backoff_refusal(struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                              const char *why)
{
    struct adl_slurm_backoff backoff = {
        .id = id, .refusals = 1, .uid = job->user_id, .since_s = cluster->now_us / 1000000};
    for (size_t i = 0; i < cluster->backoff_count; i++) {
        const struct adl_slurm_backoff *old = &cluster->backoffs[i];
        if (old->id == id && old->refusals > 0) /* a refusal while it is ineligible is the same again */
            backoff.refusals = old->refusals + (old->until_us <= cluster->now_us);
    }
    int64_t wait_us = REFUSED_US;
    for (uint32_t i = 1; i < backoff.refusals && wait_us < REFUSED_MAX; i++)
        wait_us *= 2;
    backoff.until_us = cluster->now_us + (wait_us < REFUSED_MAX ? wait_us : REFUSED_MAX);
    snprintf(backoff.why, sizeof backoff.why, "Slurm said: %s", why);
    return adl_slurm_backoff_add(cluster, &backoff);
}

void adl_slurm_backoff_extend(struct adl_slurm_cluster *cluster, uint64_t id)
{
    for (size_t i = 0; i < cluster->backoff_count; i++) {
        if (cluster->backoffs[i].id == id && cluster->backoffs[i].nodes[0])
            cluster->backoffs[i].until_us = cluster->now_us + ADL_SLURM_LEFT_US;
    }
}

/* A job that ended may have been the cause: for each, one job of its user becomes eligible again. */
static void lift_refusal(struct adl_slurm_cluster *cluster, const struct job_info *ended)
{
    for (size_t i = 0; i < cluster->backoff_count; i++) {
        struct adl_slurm_backoff *backoff = &cluster->backoffs[i];
        if (backoff->refusals > 0 && backoff->uid == ended->user_id && backoff->until_us > cluster->now_us &&
            backoff->since_s < ended->end_time) {
            backoff->until_us = cluster->now_us;
            return;
        }
    }
}

static void lift_refusals(struct adl_slurm_cluster *cluster)
{
    const int64_t past_s = cluster->now_us / 1000000 - 1; /* a full second: each end counts once */
    for (uint32_t i = 0; cluster->backoff_count > 0 && i < cluster->jobs->record_count; i++) {
        const struct job_info *job = &cluster->jobs->job_array[i];
        const uint32_t base = job->job_state & JOB_STATE_BASE;
        if (base > JOB_SUSPENDED && job->end_time > cluster->lifted_s && job->end_time <= past_s)
            lift_refusal(cluster, job);
    }
    cluster->lifted_s = past_s;
}

static void expire_backoffs(struct adl_slurm_cluster *cluster)
{
    size_t kept = 0;
    for (size_t i = 0; i < cluster->backoff_count; i++) {
        const int64_t memory_us = cluster->backoffs[i].refusals > 0 ? REFUSED_MAX : 0;
        if (cluster->backoffs[i].until_us + memory_us > cluster->now_us)
            cluster->backoffs[kept++] = cluster->backoffs[i];
    }
    cluster->backoff_count = kept;
}

void adl_slurm_backoffs_age(struct adl_slurm_cluster *cluster)
{
    expire_backoffs(cluster);
    lift_refusals(cluster);
}
