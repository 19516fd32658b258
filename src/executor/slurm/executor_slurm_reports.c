#include "executor/slurm/executor_slurm_internal.h"

#include "base/index.h"

#include <stdio.h>
#include <string.h>

void adl_executor_slurm_post(struct adl_executor_slurm *executor, const struct adl_report *report,
                             struct adl_mirror_job *job)
{
    if (adl_grow((void **)&executor->reports, &executor->report_capacity, (size_t)executor->report_count + 1,
                 sizeof *executor->reports))
        return; /* the next reconciliation reports it again */
    executor->reports[executor->report_count++] = (struct adl_slurm_queued_report){*report, job};
}

void adl_executor_slurm_remove(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    uint32_t kept = executor->report_first;
    for (uint32_t i = kept; i < executor->report_count; i++)
        if (executor->reports[i].job != job)
            executor->reports[kept++] = executor->reports[i];
    executor->report_count = kept;
    for (uint32_t i = 0; i < executor->slot_count; i++)
        if (executor->slots[i] == job)
            executor->slots[i] = NULL;
    adl_slurm_mirror_remove(&executor->mirror, job);
}

void adl_executor_slurm_post_arrived(struct adl_executor_slurm *executor, struct adl_mirror_job *job, const char *why)
{
    struct adl_report report = {.kind = ADL_REPORT_ARRIVED, .slot = ADL_NONE, .gpu = ADL_NONE};
    adl_mirror_job_apply(job, ADL_MIRROR_ON_REPORT);
    snprintf(job->reported_why, sizeof job->reported_why, "%s", why);
    memcpy(job->arrival.ineligible, job->reported_why, sizeof job->reported_why);
    report.submit.spec = &job->spec;
    report.submit.arrival = &job->arrival;
    adl_executor_slurm_post(executor, &report, job);
}

static struct adl_report about(const struct adl_mirror_job *job, int kind)
{
    return (struct adl_report){.kind = (uint8_t)kind, .slot = job->run_slot, .number = job->number, .gpu = ADL_NONE};
}

void adl_executor_slurm_post_ended(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    struct adl_report report = about(job, ADL_REPORT_ENDED);
    adl_mirror_job_apply(job, ADL_MIRROR_ON_END);
    adl_slurm_mirror_release(&executor->mirror, job); /* that completes its energy */
    executor->dirty = true;                           /* a job may wait for these GPUs */
    report.exit_code = job->exit_code;
    report.signal = job->signal;
    report.outcome.end = (uint8_t)job->end;
    report.outcome.energy_j = job->energy_j > 0 ? job->energy_j : 0;
    report.outcome.run_us = job->began_us > 0 ? executor->now_us - job->began_us : 0;
    snprintf(report.text, sizeof report.text, "%s", job->why);
    adl_executor_slurm_post(executor, &report, NULL);
}

void adl_executor_slurm_post_requeued(struct adl_executor_slurm *executor, struct adl_mirror_job *job, const char *text)
{
    struct adl_report report = about(job, ADL_REPORT_REQUEUED);
    report.requeue.remaining = 1.0;
    report.requeue.fault = job->stopping != ADL_ORDER_STOP_AND_REQUEUE;
    snprintf(report.text, sizeof report.text, "%s", text);
    adl_mirror_job_apply(job, ADL_MIRROR_ON_REQUEUE);
    job->stopping = ADL_ORDER_NONE;
    job->began_us = 0;
    job->run_slot = ADL_NONE;
    adl_slurm_mirror_release(&executor->mirror, job);
    executor->dirty = true; /* a job may wait for these GPUs */
    report.requeue.energy_j = job->energy_j;
    adl_executor_slurm_post(executor, &report, NULL);
}

void adl_executor_slurm_post_eligibility(struct adl_executor_slurm *executor, struct adl_mirror_job *job,
                                         const char *why)
{
    struct adl_report report = about(job, why[0] == '\0' ? ADL_REPORT_ELIGIBLE : ADL_REPORT_INELIGIBLE);
    char text[sizeof job->reported_why];
    snprintf(text, sizeof text, "%s", why);
    if (strcmp(job->reported_why, text) == 0)
        return;
    memcpy(job->reported_why, text, sizeof text);
    memcpy(report.text, text, sizeof text);
    adl_executor_slurm_post(executor, &report, NULL);
}

void adl_executor_slurm_post_job(struct adl_executor_slurm *executor, struct adl_mirror_job *job, int kind)
{
    const struct adl_report report = about(job, kind);
    adl_executor_slurm_post(executor, &report, NULL);
}

static bool has_slot(const struct adl_mirror_job *job)
{
    for (int i = 0; i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] != ADL_NONE)
            return true;
    return false;
}

void adl_executor_slurm_post_cluster_started(struct adl_executor_slurm *executor, struct adl_mirror_job *job,
                                             const char *why)
{
    struct adl_report report = about(job, ADL_REPORT_CLUSTER_STARTED);
    adl_mirror_job_apply(job, ADL_MIRROR_ON_RUN);
    job->moved = false;
    job->began_us = executor->now_us;
    report.running.gpus = job->gpus;
    report.running.gpu_count = job->gpu_count;
    snprintf(report.text, sizeof report.text, "%s", why);
    adl_executor_slurm_post(executor, &report, job);
}

void adl_executor_slurm_post_found_running(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    const struct adl_cluster *cluster = &executor->mirror.inventory->scenario.cluster;
    const uint32_t type = job->gpu_count > 0 ? adl_gpu_type_of(cluster, job->gpus[0]) : 0;
    if (job->gpu_count > 0 && !has_slot(job)) {
        adl_executor_slurm_post_eligibility(executor, job, ""); /* the service gives it one */
        return;
    }
    for (int i = 0; i < ADL_ALTERNATIVES_MAX && job->run_slot == ADL_NONE; i++)
        if (job->slots[i] != ADL_NONE && job->wants[i].gpus == job->gpu_count && job->wants[i].types >> type & 1)
            job->run_slot = job->slots[i];
    if (job->run_slot == ADL_NONE) { /* its GPUs count as used by others */
        adl_slurm_mirror_release(&executor->mirror, job);
        adl_executor_slurm_post_eligibility(executor, job, "it runs on other GPUs than it asked for");
        return;
    }
    adl_executor_slurm_post_cluster_started(executor, job, "");
}

int adl_executor_slurm_next_report(struct adl_executor_slurm *executor, struct adl_report *ret)
{
    while (executor->report_first < executor->report_count) {
        const struct adl_slurm_queued_report *it = &executor->reports[executor->report_first++];
        const bool stale = it->report.kind == ADL_REPORT_CLUSTER_STARTED &&
                           it->report.running.gpus != it->job->gpus; /* it has released them */
        if (it->report.kind == ADL_REPORT_NONE || stale)
            continue;
        *ret = it->report;
        return 1;
    }
    executor->report_first = executor->report_count = 0;
    return 0;
}
