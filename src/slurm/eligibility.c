#include "slurm/eligibility.h"

#include "slurm/backoff.h"
#include "slurm/constraint.h"
#include "slurm/dependency.h"
#include "slurm/job.h"
#include "slurm/limits.h"
#include "slurm/version.h"

#include <slurm/slurm.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Slurm delays a requeued job by this; placing it cancels the delay. */
#define REQUEUE_DELAY_S 125

struct verdict {
    char *why;
    size_t size;
    enum adl_slurm_eligibility eligibility;
};

static bool because(struct verdict *verdict, enum adl_slurm_eligibility eligibility, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static bool because(struct verdict *verdict, enum adl_slurm_eligibility eligibility, const char *fmt, ...)
{
    verdict->eligibility = eligibility;
    va_list args;
    va_start(args, fmt);
    vsnprintf(verdict->why, verdict->size, fmt, args);
    va_end(args);
    return true;
}

static bool begin_time_blocks(const struct job_info *job, int64_t now_s, struct verdict *verdict)
{
    const int64_t begin_s = job->start_time; /* of a pending job: the earliest start */
    if (begin_s >= ADL_HELD_BEGIN_S)
        return because(verdict, ADL_SLURM_INELIGIBLE, "held by its user");
    if (begin_s > now_s && !(job->restart_cnt > 0 && begin_s - now_s < REQUEUE_DELAY_S)) {
        char text[32] = "";
        struct tm parts;
        if (gmtime_r(&job->start_time, &parts))
            strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
        return because(verdict, ADL_SLURM_INELIGIBLE, "begin time: %s", text);
    }
    return false;
}

static enum adl_slurm_dependee dependee_of_record(const struct job_info *job)
{
    switch (job->job_state & JOB_STATE_BASE) {
    case JOB_PENDING:
        return ADL_DEPENDEE_PENDING;
    case JOB_RUNNING:
    case JOB_SUSPENDED:
        return ADL_DEPENDEE_RUNNING;
    case JOB_COMPLETE:
        return job->job_state & JOB_COMPLETING ? ADL_DEPENDEE_RUNNING : ADL_DEPENDEE_SUCCEEDED;
    default:
        return job->job_state & JOB_COMPLETING ? ADL_DEPENDEE_RUNNING : ADL_DEPENDEE_FAILED;
    }
}

/* Of several tasks: the least advanced, or a failed one if all have ended. */
static enum adl_slurm_dependee dependee_of(void *context, uint32_t id, int64_t array_index)
{
    const struct adl_slurm_cluster *cluster = context;
    enum adl_slurm_dependee dependee = ADL_DEPENDEE_FORGOTTEN;
    for (uint32_t i = 0; i < cluster->jobs->record_count; i++) {
        const struct job_info *job = &cluster->jobs->job_array[i];
        if (job->job_id != id && job->array_job_id != id)
            continue;
        if (array_index >= 0 && job->array_task_id != NO_VAL && job->array_task_id != array_index)
            continue;
        const enum adl_slurm_dependee one = dependee_of_record(job);
        const bool open = dependee == ADL_DEPENDEE_PENDING || dependee == ADL_DEPENDEE_RUNNING;
        if (dependee == ADL_DEPENDEE_FORGOTTEN || one == ADL_DEPENDEE_PENDING ||
            (one == ADL_DEPENDEE_RUNNING && dependee != ADL_DEPENDEE_PENDING) || (one == ADL_DEPENDEE_FAILED && !open))
            dependee = one;
    }
    return dependee;
}

static bool dependency_blocks(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                              struct verdict *verdict)
{
    if (!job->dependency || !*job->dependency)
        return false;
    const int met = adl_slurm_dependency_met(job->dependency, dependee_of, (void *)cluster);
    if (met == 1)
        return false;
    return met == 0 ? because(verdict, ADL_SLURM_INELIGIBLE, "dependency: %s", job->dependency)
                    : because(verdict, ADL_SLURM_BEYOND, "only Slurm can test the dependency %s", job->dependency);
}

static bool partition_blocks(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                             struct verdict *verdict)
{
    const struct partition_info *partition = adl_slurm_partition_find(cluster, job->partition);
    if (!partition)
        return because(verdict, ADL_SLURM_INELIGIBLE, "partition %s no longer exists", job->partition);
    if (!(partition->state_up & PARTITION_SCHED))
        return because(verdict, ADL_SLURM_INELIGIBLE, "partition %s is down", job->partition);
    if (partition->max_time != INFINITE && job->time_limit != NO_VAL && job->time_limit > partition->max_time)
        return because(verdict, ADL_SLURM_INELIGIBLE, "time limit above that of partition %s", job->partition);
    if (partition->max_nodes != INFINITE && adl_slurm_job_nodes(cluster, job) > partition->max_nodes)
        return because(verdict, ADL_SLURM_INELIGIBLE, "more nodes than partition %s allows", job->partition);
    return false;
}

static const struct reserve_info *find_reservation(const struct adl_slurm_cluster *cluster, const char *name)
{
    for (uint32_t i = 0; cluster->reservation_msg && i < cluster->reservation_msg->record_count; i++) {
        if (strcmp(cluster->reservation_msg->reservation_array[i].name, name) == 0)
            return &cluster->reservation_msg->reservation_array[i];
    }
    return NULL;
}

static bool reservation_blocks(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                               struct verdict *verdict)
{
    if (!job->resv_name || !*job->resv_name)
        return false;
    const struct reserve_info *reservation = find_reservation(cluster, job->resv_name);
    const int64_t now_s = cluster->now_us / 1000000;
    if (!reservation)
        return because(verdict, ADL_SLURM_INELIGIBLE, "reservation %s no longer exists", job->resv_name);
    if (now_s < reservation->start_time || now_s >= reservation->end_time)
        return because(verdict, ADL_SLURM_INELIGIBLE, "reservation %s is not active now", job->resv_name);
    return false;
}

/* The limit of tasks of an array at once; pending tasks start in the order of their indices. */
static bool array_blocks(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                         struct verdict *verdict)
{
    if (job->array_job_id == 0 || job->array_max_tasks == 0)
        return false;
    uint32_t running = 0, before = 0;
    for (uint32_t i = 0; i < cluster->jobs->record_count; i++) {
        const struct job_info *other = &cluster->jobs->job_array[i];
        if (other->array_job_id != job->array_job_id || other->array_task_id == NO_VAL)
            continue;
        const uint32_t base = other->job_state & JOB_STATE_BASE;
        running += base == JOB_RUNNING || base == JOB_SUSPENDED || (base == JOB_PENDING && other->priority != 0);
        before += adl_slurm_job_is_held(other) && other->array_task_id < (id >> 32) - 1;
    }
    if (job->array_task_id == NO_VAL && job->array_task_str) {
        /* Those before it in the record of the array. */
        unsigned first = 0;
        if (sscanf(job->array_task_str, "%u", &first) == 1 && (id >> 32) - 1 > first)
            before += (uint32_t)((id >> 32) - 1 - first);
    }
    if (running + before >= job->array_max_tasks)
        return because(verdict, ADL_SLURM_INELIGIBLE, "array limit: %u tasks at once", job->array_max_tasks);
    return false;
}

bool adl_slurm_job_is_crowded(const struct job_info *job)
{
    return job->priority != 0 && (job->state_reason == WAIT_RESOURCES || job->state_reason == WAIT_NODE_NOT_AVAIL);
}

/* Slurm's own reason for a job that was released. */
static bool slurm_blocks(const struct job_info *job, struct verdict *verdict)
{
    if (job->priority == 0)
        return false;
    if (adl_slurm_job_is_crowded(job))
        return because(verdict, ADL_SLURM_CROWDED, "placed, and Slurm says: %s", adl_slurm_reason(job->state_reason));
    switch (job->state_reason) {
    case WAIT_NO_REASON:
    case WAIT_PRIORITY:
    case WAIT_CLEANING:
    case WAIT_PROLOG:
        return because(verdict, ADL_SLURM_INELIGIBLE, "placed");
    default:
        return because(verdict, ADL_SLURM_REFUSED, "placed, and Slurm says: %s", adl_slurm_reason(job->state_reason));
    }
}

bool adl_slurm_job_waits_for(const struct job_info *job, char *ret_why, size_t why_size)
{
    ret_why[0] = '\0';
    if (job->priority != 0 && (job->state_reason == WAIT_NO_REASON || job->state_reason == WAIT_PRIORITY ||
                               job->state_reason == WAIT_RESOURCES))
        return false;
    snprintf(ret_why, why_size, "Slurm says: %s", adl_slurm_reason(job->state_reason));
    return true;
}

/* Limits come last: a job that passes them counts as offered. */
static bool is_blocked(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                       struct verdict *verdict)
{
    const struct adl_slurm_backoff *backoff = adl_slurm_backoff_find(cluster, id, true);
    struct adl_catch caught;
    if (adl_slurm_job_is_ours(cluster, job, &caught) && caught.uneven)
        return because(verdict, ADL_SLURM_BEYOND, "its GPUs or tasks do not divide by its nodes");
    if (job->job_state & JOB_COMPLETING)
        return because(verdict, ADL_SLURM_INELIGIBLE, "its last run is still completing");
    if (dependency_blocks(cluster, job, verdict))
        return true;
    if (backoff)
        return because(verdict, ADL_SLURM_INELIGIBLE, "%s", backoff->why);
    if (adl_constraint_holds(job->features, "") < 0)
        return because(verdict, ADL_SLURM_BEYOND, "only Slurm can test the constraint '%s'", job->features);
    if (slurm_blocks(job, verdict) || /* first: the begin time of a placed job is Slurm's forecast */
        begin_time_blocks(job, cluster->now_us / 1000000, verdict) || partition_blocks(cluster, job, verdict) ||
        reservation_blocks(cluster, job, verdict) || array_blocks(cluster, job, id, verdict))
        return true;
    verdict->eligibility = ADL_SLURM_INELIGIBLE;
    return adl_slurm_limits_forbid(cluster, job, id, verdict->why, verdict->size);
}

enum adl_slurm_eligibility adl_slurm_job_eligibility(const struct adl_slurm_cluster *cluster,
                                                     const struct job_info *job, uint64_t id, char *ret_why,
                                                     size_t why_size)
{
    struct verdict verdict = {.why = ret_why, .size = why_size};
    ret_why[0] = '\0';
    return is_blocked(cluster, job, id, &verdict) ? verdict.eligibility : ADL_SLURM_ELIGIBLE;
}

/* Nodes that a reservation of others has, now or before the job would end. */
static bool reserved_from(const struct adl_slurm_cluster *cluster, const struct job_info *job, const char *node)
{
    const int64_t now_s = cluster->now_us / 1000000;
    const bool limited = job->time_limit != INFINITE && job->time_limit != NO_VAL;
    for (uint32_t i = 0; cluster->reservation_msg && i < cluster->reservation_msg->record_count; i++) {
        const struct reserve_info *reservation = &cluster->reservation_msg->reservation_array[i];
        const bool own = job->resv_name && strcmp(job->resv_name, reservation->name) == 0;
        const bool listed = adl_slurm_hosts_have(reservation->node_list, node);
        if (own && !listed && !(reservation->flags & RESERVE_FLAG_FLEX))
            return true;
        if (!own && listed && now_s < reservation->end_time &&
            (!limited || now_s + (int64_t)job->time_limit * 60 > reservation->start_time))
            return true;
    }
    return false;
}

/* Where types cannot be changed, a job that was placed without a type stays without, and cannot go to nodes with
 * several types, which need one. */
static bool type_bars(const struct job_info *job, const struct adl_slurm_node *node)
{
    if (adl_slurm_retypes())
        return false;
    const struct adl_gpu_counts given = adl_gres_parse(job->tres_per_node);
    return given.count > 0 && given.items[0].type[0] == '\0' && node->gpus.count > 1;
}

bool adl_slurm_job_may_use(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                           const struct adl_slurm_node *node)
{
    const uint32_t nodes = adl_slurm_job_nodes(cluster, job);
    const struct adl_slurm_backoff *left = adl_slurm_backoff_find(cluster, id, false);
    return node->gpus.count > 0 && adl_constraint_holds(job->features, node->features) == 1 &&
           (job->num_cpus == NO_VAL || (job->num_cpus + nodes - 1) / nodes <= node->cpus) &&
           !adl_slurm_hosts_have(job->exc_nodes, node->name) && !reserved_from(cluster, job, node->name) &&
           !type_bars(job, node) && !(left && adl_slurm_hosts_have(left->nodes, node->name));
}

struct adl_gpu_counts adl_slurm_job_choices(const struct job_info *job, const struct adl_gpu_counts *request)
{
    const struct adl_gpu_counts given = adl_gres_parse(job->tres_per_node);
    if (adl_slurm_retypes() || given.count == 0 || given.items[0].type[0] == '\0')
        return *request;
    struct adl_gpu_counts left = {.count = 0};
    for (uint32_t i = 0; i < request->count; i++) {
        const struct adl_gpu_count *item = &request->items[i];
        if (item->type[0] == '\0' || strcmp(item->type, given.items[0].type) == 0) {
            left.items[left.count] = *item;
            memcpy(left.items[left.count++].type, given.items[0].type, sizeof item->type);
        }
    }
    return left.count > 0 ? left : *request;
}
