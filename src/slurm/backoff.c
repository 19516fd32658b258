#include "slurm/backoff.h"

#include "base/index.h"
#include "slurm/cluster.h"

#include <slurm/slurm.h>
#include <stdio.h>
#include <string.h>

#define REFUSED_US  INT64_C(10000000)  /* a job that Slurm would not start is not offered again within this, at first */
#define REFUSED_MAX INT64_C(300000000) /* and at last */

int adl_slurm_backoff_add(struct adl_slurm_cluster *cluster, const struct adl_slurm_backoff *mark)
{
    for (size_t i = 0; i < cluster->mark_count; i++) {
        struct adl_slurm_backoff *old = &cluster->marks[i];
        if (old->id == mark->id && (old->nodes[0] == '\0') == (mark->nodes[0] == '\0')) {
            *old = *mark;
            return 0;
        }
    }
    if (adl_grow((void **)&cluster->marks, &cluster->mark_capacity, cluster->mark_count + 1, sizeof *cluster->marks) !=
        0)
        return ADL_ENOMEM;
    cluster->marks[cluster->mark_count++] = *mark;
    return 0;
}

const struct adl_slurm_backoff *adl_slurm_backoff_find(const struct adl_slurm_cluster *cluster, uint64_t id,
                                                       bool anywhere)
{
    for (size_t i = 0; i < cluster->mark_count; i++) {
        const struct adl_slurm_backoff *mark = &cluster->marks[i];
        if (mark->id == id && (mark->nodes[0] == '\0') == anywhere && mark->until_us > cluster->now_us)
            return mark;
    }
    return NULL;
}

int adl_slurm_backoff_refusal(struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                              const char *why)
{
    struct adl_slurm_backoff mark = {
        .id = id, .refusals = 1, .uid = job->user_id, .since_s = cluster->now_us / 1000000};
    for (size_t i = 0; i < cluster->mark_count; i++) {
        const struct adl_slurm_backoff *old = &cluster->marks[i];
        if (old->id == id && old->refusals > 0) /* while one counts, another is the same said twice */
            mark.refusals = old->refusals + (old->until_us <= cluster->now_us);
    }
    int64_t wait_us = REFUSED_US;
    for (uint32_t i = 1; i < mark.refusals && wait_us < REFUSED_MAX; i++)
        wait_us *= 2;
    mark.until_us = cluster->now_us + (wait_us < REFUSED_MAX ? wait_us : REFUSED_MAX);
    snprintf(mark.why, sizeof mark.why, "Slurm said: %s", why);
    return adl_slurm_backoff_add(cluster, &mark);
}

void adl_slurm_backoff_extend(struct adl_slurm_cluster *cluster, uint64_t id)
{
    for (size_t i = 0; i < cluster->mark_count; i++) {
        if (cluster->marks[i].id == id && cluster->marks[i].nodes[0])
            cluster->marks[i].until_us = cluster->now_us + ADL_SLURM_LEFT_US;
    }
}

/* What ended may have been what the job waited for: one of its user's is offered again for each that did. */
static void lift_refusal(struct adl_slurm_cluster *cluster, const struct job_info *ended)
{
    for (size_t i = 0; i < cluster->mark_count; i++) {
        struct adl_slurm_backoff *mark = &cluster->marks[i];
        if (mark->refusals > 0 && mark->uid == ended->user_id && mark->until_us > cluster->now_us &&
            mark->since_s < ended->end_time) {
            mark->until_us = cluster->now_us;
            return;
        }
    }
}

static void lift_refusals(struct adl_slurm_cluster *cluster)
{
    const int64_t past_s = cluster->now_us / 1000000 - 1; /* a second that is over: each end counts once */
    for (uint32_t i = 0; cluster->mark_count > 0 && i < cluster->jobs->record_count; i++) {
        const struct job_info *job = &cluster->jobs->job_array[i];
        const uint32_t base = job->job_state & JOB_STATE_BASE;
        if (base > JOB_SUSPENDED && job->end_time > cluster->lifted_s && job->end_time <= past_s)
            lift_refusal(cluster, job);
    }
    cluster->lifted_s = past_s;
}

static void expire_marks(struct adl_slurm_cluster *cluster)
{
    size_t kept = 0;
    for (size_t i = 0; i < cluster->mark_count; i++) {
        const int64_t memory_us = cluster->marks[i].refusals > 0 ? REFUSED_MAX : 0;
        if (cluster->marks[i].until_us + memory_us > cluster->now_us)
            cluster->marks[kept++] = cluster->marks[i];
    }
    cluster->mark_count = kept;
}

void adl_slurm_marks_age(struct adl_slurm_cluster *cluster)
{
    expire_marks(cluster);
    lift_refusals(cluster);
}
