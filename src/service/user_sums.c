#include "service/user_sums.h"

#include "base/hash.h"
#include "base/index.h"

#include <stdlib.h>
#include <string.h>

static size_t place_of(const struct adl_user_sums *sums, const char *user)
{
    size_t at = adl_hash_bytes(adl_hash_start(), user, strlen(user)) & (sums->table_size - 1);
    while (sums->table[at] && strcmp(sums->users[sums->table[at] - 1].user, user) != 0)
        at = (at + 1) & (sums->table_size - 1);
    return at;
}

/* At most half of the table is used. */
static bool grow_table(struct adl_user_sums *sums)
{
    if (sums->table_size > 2 * ((size_t)sums->count + 1))
        return true;
    const size_t size = sums->table_size ? 2 * sums->table_size : 64;
    uint32_t *table = calloc(size, sizeof *table);
    if (!table)
        return false;
    free(sums->table);
    sums->table = table;
    sums->table_size = size;
    for (uint32_t i = 0; i < sums->count; i++)
        table[place_of(sums, sums->users[i].user)] = i + 1;
    return true;
}

/* NULL: out of memory. */
static struct adl_user_sum *find(struct adl_user_sums *sums, const char *user, uint32_t uid)
{
    if (sums->failed || !grow_table(sums))
        return NULL;
    const size_t at = place_of(sums, user);
    if (sums->table[at])
        return &sums->users[sums->table[at] - 1];
    char *name = strdup(user);
    if (!name || adl_grow((void **)&sums->users, &sums->capacity, (size_t)sums->count + 1, sizeof *sums->users) != 0) {
        free(name);
        return NULL;
    }
    sums->users[sums->count] = (struct adl_user_sum){.user = name, .uid = uid};
    sums->table[at] = ++sums->count;
    return &sums->users[sums->count - 1];
}

/* Earlier attempts count as far as they can have been since from_us: when each of them was is not kept. */
static double used_us(int64_t from_us, int64_t start_us, int64_t end_us, int64_t ran_us)
{
    const int64_t since_us = start_us > from_us ? start_us : from_us, before_us = since_us - from_us;
    return (double)(end_us > since_us ? end_us - since_us : 0) + (double)(ran_us < before_us ? ran_us : before_us);
}

/* Since it was eligible, without the time that it ran. */
static double waited_us(int64_t submit_us, int64_t eligible_us, int64_t start_us, int64_t ran_us)
{
    const int64_t wait_us = start_us - (eligible_us > 0 ? eligible_us : submit_us) - ran_us;
    return wait_us > 0 ? (double)wait_us : 0;
}

void adl_user_sums_add_live(struct adl_user_sums *sums, const struct adl_job_entry *job, int64_t now_us)
{
    struct adl_user_sum *sum = find(sums, job->user, job->uid);
    sums->failed = sums->failed || !sum;
    if (!sum)
        return;
    const bool runs = adl_job_table_runs(job);
    sum->idle_us += (double)job->idle_us;
    sum->running += runs;
    sum->waiting += !runs;
    if (!runs || job->start_us <= 0) { /* it may have run before */
        sum->gpu_us += used_us(sums->from_us, now_us, now_us, job->ran_us) * job->spec.gpus;
        return;
    }
    sum->gpus += job->spec.gpus;
    sum->started++;
    sum->gpu_us += used_us(sums->from_us, job->start_us, now_us, job->ran_us) * job->spec.gpus;
    sum->wait_us += waited_us(job->submit_us, job->eligible_us, job->start_us, job->ran_us);
}

void adl_user_sums_add_ended(struct adl_user_sums *sums, const struct adl_store_run *run)
{
    struct adl_user_sum *sum = find(sums, run->user, run->uid);
    sums->failed = sums->failed || !sum;
    if (!sum)
        return;
    sum->ended++;
    sum->idle_us += (double)run->idle_us;
    sum->completed += run->state == ADL_STORE_COMPLETED;
    if (run->start_us <= 0)
        return;
    sum->started++;
    sum->gpu_us += used_us(sums->from_us, run->start_us, run->end_us, run->ran_us) * run->gpus;
    sum->wait_us += waited_us(run->submit_us, run->eligible_us, run->start_us, run->ran_us);
}

void adl_user_sums_add_idle(struct adl_user_sums *sums, const char *user, uint32_t uid, double idle_us)
{
    const bool full = sums->count >= ADL_USER_SUMS_MAX && !sums->table[place_of(sums, user)];
    struct adl_user_sum *sum = find(sums, full ? ADL_USER_SUMS_OTHER : user, uid);
    if (sum)
        sum->idle_us += idle_us;
}

static int by_use(const void *a, const void *b)
{
    const struct adl_user_sum *x = a, *y = b;
    return x->gpu_us != y->gpu_us ? (x->gpu_us < y->gpu_us ? 1 : -1) : strcmp(x->user, y->user);
}

void adl_user_sums_sort(struct adl_user_sums *sums)
{
    if (sums->count > 0)
        qsort(sums->users, sums->count, sizeof *sums->users, by_use);
}

void adl_user_sums_clear(struct adl_user_sums *sums)
{
    for (uint32_t i = 0; i < sums->count; i++)
        free(sums->users[i].user);
    free(sums->users);
    free(sums->table);
    *sums = (struct adl_user_sums){0};
}
