#include "jobs/job_table.h"

#include "base/index.h"
#include "jobs/submission.h"

#include <stdlib.h>
#include <string.h>

int adl_job_table_create(struct adl_job_table *ret)
{
    *ret = (struct adl_job_table){.table_size = 1024};
    ret->table = calloc(ret->table_size, sizeof *ret->table);
    return ret->table ? 0 : ADL_ENOMEM;
}

static void shared_release(struct adl_job_table_shared *shared)
{
    if (shared && --shared->jobs == 0)
        free(shared);
}

static void job_free(struct adl_job_entry *job)
{
    if (!job)
        return;
    shared_release(job->shared);
    free(job->gpus);
    free((void *)job->reason);
    free((void *)job->waited);
    if (job->stderr_path != job->stdout_path)
        free((void *)job->stderr_path);
    free((void *)job->stdout_path);
    free(job);
}

void adl_job_table_clear(struct adl_job_table *job_table)
{
    for (struct adl_job_entry *job = job_table->first, *next; job; job = next) {
        next = job->next;
        job_free(job);
    }
    free(job_table->slots);
    free(job_table->table);
    free(job_table->users);
    *job_table = (struct adl_job_table){0};
}

/* ---- hash table: open addressing, at most half full; numbers are consecutive, so they are their own hash ---- */

static struct adl_job_entry **place(const struct adl_job_table *job_table, uint64_t id)
{
    size_t at = id & (job_table->table_size - 1);
    while (job_table->table[at] && job_table->table[at]->id != id)
        at = (at + 1) & (job_table->table_size - 1);
    return &job_table->table[at];
}

static int table_grow(struct adl_job_table *job_table)
{
    if (2 * ((size_t)job_table->count + 1) <= job_table->table_size)
        return 0;
    struct adl_job_entry **grown = calloc(2 * job_table->table_size, sizeof *grown);
    if (!grown)
        return ADL_ENOMEM;
    free(job_table->table);
    job_table->table = grown;
    job_table->table_size *= 2;
    for (struct adl_job_entry *job = job_table->first; job; job = job->next)
        *place(job_table, job->id) = job;
    return 0;
}

/* Moves entries behind the gap that would no longer be found. */
static void table_remove(struct adl_job_table *job_table, uint64_t id)
{
    const size_t mask = job_table->table_size - 1;
    size_t gap = (size_t)(place(job_table, id) - job_table->table);
    job_table->table[gap] = NULL;
    for (size_t at = (gap + 1) & mask; job_table->table[at]; at = (at + 1) & mask) {
        const size_t home = job_table->table[at]->id & mask;
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            job_table->table[gap] = job_table->table[at];
            job_table->table[at] = NULL;
            gap = at;
        }
    }
}

/* ---- jobs ---- */

static size_t string_size(const char *string)
{
    return string ? strlen(string) + 1 : 1;
}

static const char *string_put(char **at, const char *string)
{
    const size_t size = string_size(string);
    const char *put = memcpy(*at, string ? string : "", size);
    *at += size;
    return put;
}

/* One block: the dependencies, then the strings. The job gets pointers into it. */
static struct adl_job_table_shared *shared_make(const struct adl_store_job *from, struct adl_job_entry *job)
{
    char command[256];
    adl_command_text(from, command, sizeof command);
    const size_t dependencies = from->dependency_count * sizeof *from->dependencies;
    const size_t size = sizeof(struct adl_job_table_shared) + dependencies + string_size(from->user) +
                        string_size(from->name) + string_size(from->request) + string_size(from->directory) +
                        string_size(command) + string_size(from->warn_signal);
    struct adl_job_table_shared *shared = calloc(1, size);
    if (!shared)
        return NULL;
    *shared = (struct adl_job_table_shared){.payload = from->payload,
                                            .jobs = 1,
                                            .memory = size,
                                            .stored = adl_store_payload_size(from),
                                            .array = from->array};
    job->dependencies = (struct adl_store_dependency *)(shared + 1);
    job->dependency_count = from->dependency_count;
    if (dependencies > 0)
        memcpy(job->dependencies, from->dependencies, dependencies);
    char *at = (char *)(shared + 1) + dependencies;
    job->user = string_put(&at, from->user);
    job->name = string_put(&at, from->name);
    job->request = string_put(&at, from->request);
    job->directory = string_put(&at, from->directory);
    job->command = string_put(&at, command);
    job->warn_signal = string_put(&at, from->warn_signal);
    return shared;
}

static struct adl_job_table_shared *shared_join(const struct adl_job_entry *other, struct adl_job_entry *job)
{
    job->dependencies = other->dependencies;
    job->dependency_count = other->dependency_count;
    job->user = other->user;
    job->name = other->name;
    job->request = other->request;
    job->directory = other->directory;
    job->command = other->command;
    job->warn_signal = other->warn_signal;
    other->shared->jobs++;
    return other->shared;
}

/* The last job with a lower number; NULL: it comes first. */
static struct adl_job_entry *find_before(const struct adl_job_table *job_table, uint64_t id)
{
    struct adl_job_entry *job = job_table->last;
    while (job && job->id > id)
        job = job->previous;
    return job;
}

/* Jobs of an array are neighbours. */
static struct adl_job_table_shared *shared_find(const struct adl_store_job *from, struct adl_job_entry *job)
{
    const struct adl_job_entry *const beside[] = {job->previous, job->next};
    for (int i = 0; i < 2 && from->payload > 0; i++)
        if (beside[i] && beside[i]->shared->payload == from->payload)
            return shared_join(beside[i], job);
    return shared_make(from, job);
}

static struct adl_job_entry *job_make(const struct adl_job_table *job_table, const struct adl_store_job *from)
{
    struct adl_job_entry *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->previous = find_before(job_table, from->spec.id);
    job->next = job->previous ? job->previous->next : job_table->first;
    job->shared = shared_find(from, job);
    job->reason = strdup(from->status.reason ? from->status.reason : "");
    job->stdout_path = strdup(from->stdout_path ? from->stdout_path : "");
    job->stderr_path = strdup(from->stderr_path ? from->stderr_path : "");
    if (!job->shared || !job->reason || !job->stdout_path || !job->stderr_path) {
        job_free(job);
        return NULL;
    }
    job->bytes = sizeof *job + strlen(job->stdout_path) + strlen(job->stderr_path);
    return job;
}

/* ---- users ---- */

static struct adl_job_table_user *user_find(const struct adl_job_table *job_table, uint32_t uid)
{
    for (uint32_t i = 0; i < job_table->user_count; i++)
        if (job_table->users[i].uid == uid)
            return &job_table->users[i];
    return NULL;
}

struct adl_job_table_user adl_job_table_user(const struct adl_job_table *job_table, uint32_t uid)
{
    const struct adl_job_table_user *user = user_find(job_table, uid);
    return user ? *user : (struct adl_job_table_user){.uid = uid};
}

/* Bytes that a job adds for its user: those that it shares count only for the last job that has them. */
static uint64_t stored_by(const struct adl_job_entry *job)
{
    return ADL_STORE_JOB_SIZE + (job->shared->jobs == 1 ? job->shared->stored : 0);
}

static int user_add(struct adl_job_table *job_table, const struct adl_job_entry *job)
{
    struct adl_job_table_user *user = user_find(job_table, job->uid);
    if (!user) {
        if (adl_grow((void **)&job_table->users, &job_table->user_capacity, (size_t)job_table->user_count + 1,
                     sizeof *user))
            return ADL_ENOMEM;
        user = &job_table->users[job_table->user_count++];
        *user = (struct adl_job_table_user){.uid = job->uid};
    }
    user->jobs++;
    user->bytes += stored_by(job);
    return 0;
}

static void user_remove(struct adl_job_table *job_table, const struct adl_job_entry *job)
{
    struct adl_job_table_user *user = user_find(job_table, job->uid);
    user->bytes -= stored_by(job);
    if (--user->jobs == 0)
        *user = job_table->users[--job_table->user_count];
}

/* ---- adding and removing ---- */

static void count_waiter(struct adl_job_table *job_table, const struct adl_job_entry *job, uint32_t by)
{
    bool waits = false;
    for (uint32_t i = 0; i < job->dependency_count; i++)
        waits = waits || job->dependencies[i].after == ADL_AFTER_START;
    job_table->start_waiters += waits ? by : 0;
}

struct adl_job_entry *adl_job_table_add(struct adl_job_table *job_table, const struct adl_store_job *from)
{
    struct adl_job_entry *job = table_grow(job_table) ? NULL : job_make(job_table, from);
    if (!job)
        return NULL;
    job->array_id = from->array_index >= 0 ? (from->array_id ? from->array_id : from->spec.id) : 0;
    job->id = from->spec.id;
    job->spec = from->spec;
    job->hold = from->status.hold;
    job->priority = from->status.priority;
    job->uid = from->uid;
    job->gid = from->gid;
    job->array_index = from->array_index;
    job->external = from->external;
    job->submit_us = from->submit_us;
    job->begin_us = from->begin_us;
    job->dependency_any = from->dependency_any;
    job->attempts = from->status.attempts;
    job->requeue_us = from->status.requeue_us;
    job->requeue_end = from->status.requeue_end;
    job->energy_j = from->status.energy_j;
    job->idle_us = from->status.idle_us;
    job->idle.told = from->status.state == ADL_STORE_RUNNING && job->idle_us > 0;
    if (user_add(job_table, job)) {
        job_free(job);
        return NULL;
    }
    *(job->previous ? &job->previous->next : &job_table->first) = job;
    *(job->next ? &job->next->previous : &job_table->last) = job;
    count_waiter(job_table, job, 1);
    *place(job_table, job->id) = job;
    job_table->count++;
    job_table->by_stage[ADL_STAGE_NEW]++;
    job_table->bytes += job->bytes + (job->shared->jobs == 1 ? job->shared->memory : 0);
    return job;
}

/* Counts by stage. */
static void count_stage(struct adl_job_table *job_table, const struct adl_job_entry *job, uint32_t by)
{
    job_table->by_stage[job->stage] += by;
    if (adl_stages[job->stage].in_queue)
        job->shared->active += by;
}

#define MINUS_ONE UINT32_MAX /* as it is added to a count */

static void free_slots(struct adl_job_table *job_table, struct adl_job_entry *job)
{
    for (uint32_t i = 0; i < job->alternative_count; i++) {
        if (job->alternatives[i].slot != ADL_NONE)
            job_table->slots[job->alternatives[i].slot] = NULL;
        job->alternatives[i].slot = ADL_NONE;
    }
}

void adl_job_table_remove(struct adl_job_table *job_table, struct adl_job_entry *job)
{
    free_slots(job_table, job);
    table_remove(job_table, job->id);
    *(job->previous ? &job->previous->next : &job_table->first) = job->next;
    *(job->next ? &job->next->previous : &job_table->last) = job->previous;
    job_table->count--;
    job_table->bytes -= job->bytes + (job->shared->jobs == 1 ? job->shared->memory : 0);
    user_remove(job_table, job);
    count_stage(job_table, job, MINUS_ONE);
    count_waiter(job_table, job, MINUS_ONE);
    job_free(job);
}

struct adl_job_entry *adl_job_table_find(const struct adl_job_table *job_table, uint64_t id)
{
    return *place(job_table, id);
}

uint32_t adl_job_table_running(const struct adl_job_table *job_table)
{
    uint32_t running = 0;
    for (int stage = 0; stage < ADL_STAGE_COUNT; stage++)
        running += adl_stages[stage].runs ? job_table->by_stage[stage] : 0;
    return running;
}

struct adl_job_entry *adl_job_table_at(const struct adl_job_table *job_table, uint32_t slot)
{
    return slot < job_table->slot_capacity ? job_table->slots[slot] : NULL;
}

void adl_job_entry_act(struct adl_job_entry *job, unsigned actions, int64_t now_us)
{
    if (actions & ADL_DO_OPEN_RUN && job->start_us == 0) {
        job->start_us = now_us;
        job->attempts++;
        job->idle = (struct adl_job_idle){0};
    }
    if (actions & ADL_DO_TIME_RUN)
        job->start_us = now_us;
    if (actions & ADL_DO_CLOSE_RUN) {
        job->ran_us += job->start_us > 0 && now_us > job->start_us ? now_us - job->start_us : 0;
        job->start_us = 0;
    }
    if (actions & ADL_DO_UNDO_RUN && job->start_us > 0) {
        job->start_us = 0;
        job->attempts--;
    }
    if (actions & ADL_DO_FREE_GPUS) {
        free(job->gpus);
        job->gpus = NULL;
    }
}

const struct adl_stage_move *adl_job_table_move(struct adl_job_table *job_table, struct adl_job_entry *job, int event,
                                                int64_t now_us)
{
    const struct adl_stage_move *move = adl_stage_move(job->stage, event);
    if (!move)
        return NULL;
    count_stage(job_table, job, MINUS_ONE);
    job->stage = (uint8_t)adl_stage_next(job->stage, event);
    count_stage(job_table, job, 1);
    adl_job_entry_act(job, move->actions, now_us);
    return move;
}

int adl_job_table_set_slot(struct adl_job_table *job_table, struct adl_job_entry *job, uint32_t alternative,
                           uint32_t slot)
{
    const size_t before = job_table->slot_capacity;
    if (adl_grow((void **)&job_table->slots, &job_table->slot_capacity, (size_t)slot + 1,
                 sizeof(struct adl_job_entry *)))
        return ADL_ENOMEM;
    for (size_t i = before; i < job_table->slot_capacity; i++)
        job_table->slots[i] = NULL;
    job_table->slots[slot] = job;
    job->alternatives[alternative].slot = slot;
    return 0;
}

int adl_job_table_set_reason(struct adl_job_entry *job, const char *reason)
{
    char *copy = strdup(reason);
    if (!copy)
        return ADL_ENOMEM;
    free((void *)job->reason);
    job->reason = copy;
    return 0;
}

void adl_job_table_set_waited(struct adl_job_entry *job, const char *reason)
{
    free((void *)job->waited);
    job->waited = reason ? strdup(reason) : NULL;
}
