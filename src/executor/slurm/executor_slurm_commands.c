#include "executor/slurm/executor_slurm_internal.h"

#include "base/index.h"

#include <stdio.h>
#include <string.h>

void adl_executor_slurm_post(struct adl_executor_slurm *executor, const struct adl_report *report,
                             struct adl_slurm_job *job)
{
    if (adl_grow((void **)&executor->waiting, &executor->waiting_capacity, (size_t)executor->waiting_count + 1,
                 sizeof *executor->waiting))
        return; /* the next reconciliation tells it again */
    executor->waiting[executor->waiting_count++] = (struct adl_slurm_waiting){*report, job};
}

void adl_executor_slurm_remove(struct adl_executor_slurm *executor, struct adl_slurm_job *job)
{
    uint32_t kept = executor->waiting_first;
    for (uint32_t i = kept; i < executor->waiting_count; i++)
        if (executor->waiting[i].job != job)
            executor->waiting[kept++] = executor->waiting[i];
    executor->waiting_count = kept;
    for (uint32_t i = 0; i < executor->slot_count; i++)
        if (executor->slots[i] == job)
            executor->slots[i] = NULL;
    adl_slurm_mirror_remove(&executor->mirror, job);
}

void adl_executor_slurm_post_arrival(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *bar)
{
    struct adl_report report = {.kind = ADL_REPORT_ARRIVED, .slot = ADL_NONE, .gpu = ADL_NONE};
    adl_slurm_job_apply(job, ADL_MIRROR_ON_REPORT);
    snprintf(job->bar, sizeof job->bar, "%s", bar);
    memcpy(job->arrival.bar, job->bar, sizeof job->bar);
    report.submit.spec = &job->spec;
    report.submit.arrival = &job->arrival;
    adl_executor_slurm_post(executor, &report, job);
}

static struct adl_report about(const struct adl_slurm_job *job, int kind)
{
    return (struct adl_report){.kind = (uint8_t)kind, .slot = job->taken, .number = job->number, .gpu = ADL_NONE};
}

void adl_executor_slurm_post_end(struct adl_executor_slurm *executor, struct adl_slurm_job *job)
{
    struct adl_report report = about(job, ADL_REPORT_ENDED);
    adl_slurm_job_apply(job, ADL_MIRROR_ON_END);
    adl_slurm_mirror_leave(&executor->mirror, job); /* what it drew is known then */
    executor->restless = true;                      /* who waits for these very GPUs */
    report.exit_code = job->exit_code;
    report.signal = job->signal;
    report.outcome.end = (uint8_t)job->end;
    report.outcome.energy_j = job->energy_j > 0 ? job->energy_j : 0;
    report.outcome.run_us = job->began_us > 0 ? executor->now_us - job->began_us : 0;
    snprintf(report.text, sizeof report.text, "%s", job->why);
    adl_executor_slurm_post(executor, &report, NULL);
}

void adl_executor_slurm_post_evict(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *text)
{
    struct adl_report report = about(job, ADL_REPORT_REQUEUED);
    report.requeue.remaining = 1.0;
    report.requeue.fault = job->stopping != ADL_ORDER_STOP_AND_REQUEUE;
    snprintf(report.text, sizeof report.text, "%s", text);
    adl_slurm_job_apply(job, ADL_MIRROR_ON_REQUEUE);
    job->stopping = ADL_ORDER_NONE;
    job->began_us = 0;
    job->taken = ADL_NONE;
    adl_slurm_mirror_leave(&executor->mirror, job);
    executor->restless = true; /* who waits for these very GPUs */
    report.requeue.energy_j = job->energy_j;
    adl_executor_slurm_post(executor, &report, NULL);
}

/* Whether it may start, and why not. */
void adl_executor_slurm_post_bar(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *why)
{
    struct adl_report report = about(job, why[0] == '\0' ? ADL_REPORT_ELIGIBLE : ADL_REPORT_INELIGIBLE);
    char bar[sizeof job->bar];
    snprintf(bar, sizeof bar, "%s", why);
    if (strcmp(job->bar, bar) == 0)
        return;
    memcpy(job->bar, bar, sizeof bar);
    memcpy(report.text, bar, sizeof bar);
    adl_executor_slurm_post(executor, &report, NULL);
}

void adl_executor_slurm_post_job(struct adl_executor_slurm *executor, struct adl_slurm_job *job, int kind)
{
    const struct adl_report report = about(job, kind);
    adl_executor_slurm_post(executor, &report, NULL);
}

static bool has_slot(const struct adl_slurm_job *job)
{
    for (int i = 0; i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] != ADL_NONE)
            return true;
    return false;
}

void adl_executor_slurm_post_place(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *why)
{
    struct adl_report report = about(job, ADL_REPORT_CLUSTER_STARTED);
    adl_slurm_job_apply(job, ADL_MIRROR_ON_RUN);
    job->moved = false;
    job->began_us = executor->now_us;
    report.running.gpus = job->gpus;
    report.running.gpu_count = job->gpu_count;
    snprintf(report.text, sizeof report.text, "%s", why);
    adl_executor_slurm_post(executor, &report, job);
}

void adl_executor_slurm_post_seizure(struct adl_executor_slurm *executor, struct adl_slurm_job *job)
{
    const struct adl_cluster *cluster = &executor->mirror.inventory->scenario.cluster;
    const uint32_t type = job->gpu_count > 0 ? adl_gpu_type_of(cluster, job->gpus[0]) : 0;
    if (job->gpu_count > 0 && !has_slot(job)) {
        adl_executor_slurm_post_bar(executor, job, ""); /* it gets one */
        return;
    }
    for (int i = 0; i < ADL_ALTERNATIVES_MAX && job->taken == ADL_NONE; i++)
        if (job->slots[i] != ADL_NONE && job->wants[i].gpus == job->gpu_count && job->wants[i].types >> type & 1)
            job->taken = job->slots[i];
    if (job->taken == ADL_NONE) { /* its GPUs show as used by others */
        adl_slurm_mirror_leave(&executor->mirror, job);
        adl_executor_slurm_post_bar(executor, job, "it runs on other GPUs than it was thought to ask for");
        return;
    }
    adl_executor_slurm_post_place(executor, job, "");
}

int adl_executor_slurm_give(struct adl_executor_slurm *executor, struct adl_report *ret)
{
    while (executor->waiting_first < executor->waiting_count) {
        const struct adl_slurm_waiting *it = &executor->waiting[executor->waiting_first++];
        const bool stale = it->report.kind == ADL_REPORT_CLUSTER_STARTED &&
                           it->report.running.gpus != it->job->gpus; /* it has left them */
        if (it->report.kind == ADL_REPORT_NONE || stale)
            continue;
        *ret = it->report;
        return 1;
    }
    executor->waiting_first = executor->waiting_count = 0;
    return 0;
}
