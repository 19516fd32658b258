#include "jobs/job_table.h"

#include "base/index.h"
#include "jobs/submission.h"

#include <stdlib.h>
#include <string.h>

int adl_roster_create(struct adl_roster *ret)
{
    *ret = (struct adl_roster){.table_size = 1024};
    ret->table = calloc(ret->table_size, sizeof *ret->table);
    return ret->table ? 0 : ADL_ENOMEM;
}

static void shared_release(struct adl_roster_shared *shared)
{
    if (shared && --shared->jobs == 0)
        free(shared);
}

static void job_free(struct adl_roster_job *job)
{
    if (!job)
        return;
    shared_release(job->shared);
    free(job->gpus);
    free((void *)job->reason);
    if (job->stderr_path != job->stdout_path)
        free((void *)job->stderr_path);
    free((void *)job->stdout_path);
    free(job);
}

void adl_roster_clear(struct adl_roster *roster)
{
    for (struct adl_roster_job *job = roster->first, *next; job; job = next) {
        next = job->next;
        job_free(job);
    }
    free(roster->slots);
    free(roster->table);
    free(roster->users);
    *roster = (struct adl_roster){0};
}

/* ---- the table: open addressing, at most half full; numbers follow each other, so they are their own hash ---- */

static struct adl_roster_job **place(const struct adl_roster *roster, uint64_t id)
{
    size_t at = id & (roster->table_size - 1);
    while (roster->table[at] && roster->table[at]->id != id)
        at = (at + 1) & (roster->table_size - 1);
    return &roster->table[at];
}

static int table_grow(struct adl_roster *roster)
{
    if (2 * ((size_t)roster->count + 1) <= roster->table_size)
        return 0;
    struct adl_roster_job **grown = calloc(2 * roster->table_size, sizeof *grown);
    if (!grown)
        return ADL_ENOMEM;
    free(roster->table);
    roster->table = grown;
    roster->table_size *= 2;
    for (struct adl_roster_job *job = roster->first; job; job = job->next)
        *place(roster, job->id) = job;
    return 0;
}

/* Those behind a gap that would no longer be found move up. */
static void table_remove(struct adl_roster *roster, uint64_t id)
{
    const size_t mask = roster->table_size - 1;
    size_t gap = (size_t)(place(roster, id) - roster->table);
    roster->table[gap] = NULL;
    for (size_t at = (gap + 1) & mask; roster->table[at]; at = (at + 1) & mask) {
        const size_t home = roster->table[at]->id & mask;
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            roster->table[gap] = roster->table[at];
            roster->table[at] = NULL;
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
static struct adl_roster_shared *shared_make(const struct adl_store_job *from, struct adl_roster_job *job)
{
    char command[256];
    adl_command_text(from, command, sizeof command);
    const size_t dependencies = from->dependency_count * sizeof *from->dependencies;
    const size_t size = sizeof(struct adl_roster_shared) + dependencies + string_size(from->user) +
                        string_size(from->name) + string_size(from->request) + string_size(from->directory) +
                        string_size(command) + string_size(from->warn_signal);
    struct adl_roster_shared *shared = calloc(1, size);
    if (!shared)
        return NULL;
    *shared = (struct adl_roster_shared){.payload = from->payload,
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

static struct adl_roster_shared *shared_join(const struct adl_roster_job *other, struct adl_roster_job *job)
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
static struct adl_roster_job *find_before(const struct adl_roster *roster, uint64_t id)
{
    struct adl_roster_job *job = roster->last;
    while (job && job->id > id)
        job = job->previous;
    return job;
}

/* Jobs of an array follow each other, so that only the neighbours have to be looked at. */
static struct adl_roster_shared *shared_find(const struct adl_store_job *from, struct adl_roster_job *job)
{
    const struct adl_roster_job *const beside[] = {job->previous, job->next};
    for (int i = 0; i < 2 && from->payload > 0; i++)
        if (beside[i] && beside[i]->shared->payload == from->payload)
            return shared_join(beside[i], job);
    return shared_make(from, job);
}

static struct adl_roster_job *job_make(const struct adl_roster *roster, const struct adl_store_job *from)
{
    struct adl_roster_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->previous = find_before(roster, from->spec.id);
    job->next = job->previous ? job->previous->next : roster->first;
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

static struct adl_roster_user *user_find(const struct adl_roster *roster, uint32_t uid)
{
    for (uint32_t i = 0; i < roster->user_count; i++)
        if (roster->users[i].uid == uid)
            return &roster->users[i];
    return NULL;
}

struct adl_roster_user adl_roster_user(const struct adl_roster *roster, uint32_t uid)
{
    const struct adl_roster_user *user = user_find(roster, uid);
    return user ? *user : (struct adl_roster_user){.uid = uid};
}

/* What a job adds to its user's account, as the only one with what it shares or beside others. */
static uint64_t stored_by(const struct adl_roster_job *job)
{
    return ADL_STORE_JOB_SIZE + (job->shared->jobs == 1 ? job->shared->stored : 0);
}

static int user_add(struct adl_roster *roster, const struct adl_roster_job *job)
{
    struct adl_roster_user *user = user_find(roster, job->uid);
    if (!user) {
        if (adl_grow((void **)&roster->users, &roster->user_capacity, (size_t)roster->user_count + 1, sizeof *user))
            return ADL_ENOMEM;
        user = &roster->users[roster->user_count++];
        *user = (struct adl_roster_user){.uid = job->uid};
    }
    user->jobs++;
    user->bytes += stored_by(job);
    return 0;
}

static void user_remove(struct adl_roster *roster, const struct adl_roster_job *job)
{
    struct adl_roster_user *user = user_find(roster, job->uid);
    user->bytes -= stored_by(job);
    if (--user->jobs == 0)
        *user = roster->users[--roster->user_count];
}

/* ---- coming and going ---- */

static void count_waiter(struct adl_roster *roster, const struct adl_roster_job *job, uint32_t by)
{
    bool waits = false;
    for (uint32_t i = 0; i < job->dependency_count; i++)
        waits = waits || job->dependencies[i].after == ADL_AFTER_START;
    roster->start_waiters += waits ? by : 0;
}

struct adl_roster_job *adl_roster_add(struct adl_roster *roster, const struct adl_store_job *from)
{
    struct adl_roster_job *job = table_grow(roster) ? NULL : job_make(roster, from);
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
    if (user_add(roster, job)) {
        job_free(job);
        return NULL;
    }
    *(job->previous ? &job->previous->next : &roster->first) = job;
    *(job->next ? &job->next->previous : &roster->last) = job;
    count_waiter(roster, job, 1);
    *place(roster, job->id) = job;
    roster->count++;
    roster->by_stage[ADL_STAGE_HELD]++;
    roster->bytes += job->bytes + (job->shared->jobs == 1 ? job->shared->memory : 0);
    return job;
}

/* The counts of where it stands. */
static void count_stage(struct adl_roster *roster, const struct adl_roster_job *job, uint32_t by)
{
    roster->by_stage[job->stage] += by;
    if (job->stage == ADL_STAGE_DEPENDENT)
        roster->by_wait[job->wait] += by;
    if (job->stage >= ADL_STAGE_QUEUED)
        job->shared->active += by;
}

#define MINUS_ONE UINT32_MAX /* as it is added to a count */

void adl_roster_remove(struct adl_roster *roster, struct adl_roster_job *job)
{
    adl_roster_free_slots(roster, job);
    table_remove(roster, job->id);
    *(job->previous ? &job->previous->next : &roster->first) = job->next;
    *(job->next ? &job->next->previous : &roster->last) = job->previous;
    roster->count--;
    roster->bytes -= job->bytes + (job->shared->jobs == 1 ? job->shared->memory : 0);
    user_remove(roster, job);
    count_stage(roster, job, MINUS_ONE);
    count_waiter(roster, job, MINUS_ONE);
    job_free(job);
}

struct adl_roster_job *adl_roster_find(const struct adl_roster *roster, uint64_t id)
{
    return *place(roster, id);
}

struct adl_roster_job *adl_roster_at(const struct adl_roster *roster, uint32_t slot)
{
    return slot < roster->slot_capacity ? roster->slots[slot] : NULL;
}

void adl_roster_set_stage(struct adl_roster *roster, struct adl_roster_job *job, int stage)
{
    count_stage(roster, job, MINUS_ONE);
    job->stage = (uint8_t)stage;
    count_stage(roster, job, 1);
}

void adl_roster_set_wait(struct adl_roster *roster, struct adl_roster_job *job, int wait)
{
    count_stage(roster, job, MINUS_ONE);
    job->stage = ADL_STAGE_DEPENDENT;
    job->wait = (uint8_t)wait;
    count_stage(roster, job, 1);
}

int adl_roster_set_slot(struct adl_roster *roster, struct adl_roster_job *job, uint32_t alternative, uint32_t slot)
{
    const size_t before = roster->slot_capacity;
    if (adl_grow((void **)&roster->slots, &roster->slot_capacity, (size_t)slot + 1, sizeof(struct adl_roster_job *)))
        return ADL_ENOMEM;
    for (size_t i = before; i < roster->slot_capacity; i++)
        roster->slots[i] = NULL;
    roster->slots[slot] = job;
    job->alternatives[alternative].slot = slot;
    return 0;
}

void adl_roster_free_slots(struct adl_roster *roster, struct adl_roster_job *job)
{
    for (uint32_t i = 0; i < job->alternative_count; i++) {
        if (job->alternatives[i].slot != ADL_NONE)
            roster->slots[job->alternatives[i].slot] = NULL;
        job->alternatives[i].slot = ADL_NONE;
    }
}

int adl_roster_set_reason(struct adl_roster_job *job, const char *reason)
{
    char *copy = strdup(reason);
    if (!copy)
        return ADL_ENOMEM;
    free((void *)job->reason);
    job->reason = copy;
    return 0;
}
