/* job_table_wait: whether the dependencies of a job are met. */
#include "jobs/job_table.h"

#include <string.h>

/* It was requeued after its end, and the other was submitted before that: its first end counts. */
static bool is_over(const struct adl_job_entry *job, const struct adl_job_entry *waiting)
{
    return job->requeue_us > waiting->submit_us;
}

/* Whether the other waits for this one: until its end, or its start if only that counts. */
static bool is_awaited(const struct adl_job_entry *job, const struct adl_job_entry *waiting, bool start)
{
    const bool started = adl_job_table_holds_gpus(job) || job->attempts > 0;
    return job != waiting && !is_over(job, waiting) && !(start && started);
}

/* Whether it waits for the job of this number or for a job of the array that has it. */
static bool is_any_awaited(const struct adl_job_table *job_table, uint64_t id, const struct adl_job_entry *waiting,
                           bool start)
{
    const struct adl_job_entry *first = adl_job_table_find(job_table, id);
    if (first && is_awaited(first, waiting, start))
        return true;
    if (first && first->array_id == 0)
        return false;
    for (const struct adl_job_entry *job = job_table->last; job && job->id > id; job = job->previous)
        if (job->array_id == id && is_awaited(job, waiting, start))
            return true;
    return false;
}

/* No other job of its name and user was submitted or queued before it. Those of its own array do not count. */
static bool is_alone(const struct adl_job_table *job_table, const struct adl_job_entry *job)
{
    for (const struct adl_job_entry *other = job_table->first; other; other = other->next)
        if (other != job && other->uid == job->uid && (job->array_id == 0 || other->array_id != job->array_id) &&
            (other->id < job->id || adl_stages[other->stage].in_queue) && strcmp(other->name, job->name) == 0)
            return false;
    return true;
}

/* Of one dependency: 1 it is met, 0 not yet, -1 it never will be. */
static int evaluate(const struct adl_job_table *job_table, const struct adl_job_entry *job,
                    const struct adl_store_dependency *on, int (*end_of)(void *context, uint64_t id), void *context)
{
    if (on->after == ADL_AFTER_SINGLETON)
        return is_alone(job_table, job);
    if (is_any_awaited(job_table, on->job, job, on->after == ADL_AFTER_START))
        return 0;
    if (on->after == ADL_AFTER_ANY || on->after == ADL_AFTER_START)
        return 1;
    const int end = end_of(context, on->job);
    return end == ADL_JOB_TABLE_PURGED || (end == ADL_END_COMPLETED) == (on->after == ADL_AFTER_OK) ? 1 : -1;
}

int adl_job_table_dependencies(const struct adl_job_table *job_table, const struct adl_job_entry *job,
                               int (*end_of)(void *context, uint64_t id), void *context,
                               const struct adl_store_dependency **ret_culprit)
{
    const bool any = job->dependency_any;
    int answer = any && job->dependency_count > 0 ? -1 : 1;
    for (uint32_t i = 0; i < job->dependency_count; i++) {
        const struct adl_store_dependency *on = &job->dependencies[i];
        const int verdict = evaluate(job_table, job, on, end_of, context);
        if (any && verdict > 0)
            return 1;
        if (any ? verdict >= answer : verdict < answer) {
            *ret_culprit = on;
            answer = verdict;
        }
        if (!any && verdict < 0)
            return -1;
    }
    return answer;
}

bool adl_job_table_depends(const struct adl_job_entry *job, uint64_t id, uint64_t array_id)
{
    for (uint32_t i = 0; i < job->dependency_count; i++)
        if (job->dependencies[i].job > 0 &&
            (job->dependencies[i].job == id || (array_id > 0 && job->dependencies[i].job == array_id)))
            return true;
    return false;
}

bool adl_job_table_is_singleton(const struct adl_job_entry *job)
{
    for (uint32_t i = 0; i < job->dependency_count; i++)
        if (job->dependencies[i].after == ADL_AFTER_SINGLETON)
            return true;
    return false;
}
