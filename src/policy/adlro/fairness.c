#include "policy/adlro/fairness.h"

#include "base/range.h"
#include "base/real.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HALF_LIFE_RUNS 100 /* usual run times */
#define OVERUSE_MAX    20  /* usage over share beyond this counts as this */
#define LOG_2          0.69314718055994531

struct adl_fair_user {
    uint32_t user;
    bool known; /* the place is taken */
    bool waits; /* in this decision */
    double share;
    double usage_us;  /* GPU time of jobs that left, decayed */
    double recent_us; /* with that of running jobs, in this decision */
    double factor;
};

/* ---- shares ---- */

static int read_share(struct adl_fairness *fairness, const char *part, struct adl_error *err)
{
    static const struct adl_range range = {.min = 0.001, .max = 1e6}, numbers = {.max = UINT32_MAX};
    const char *colon = strchr(part, ':');
    char name[128], why[ADL_REFUSAL_SIZE] = "must be USER:SHARE,USER:SHARE ...";
    double share = 0;
    int64_t user = 0;
    if (!colon || colon == part || !adl_range_read_real(colon + 1, &range, &share, why))
        return adl_fail(err, ADL_EINVAL, "policy adlro: user_shares: '%.60s' %s", part, why);
    if (fairness->share_count == ADL_FAIR_SHARES_MAX)
        return adl_fail(err, ADL_EINVAL, "policy adlro: user_shares must have at most %d users", ADL_FAIR_SHARES_MAX);
    snprintf(name, sizeof name, "%.*s", (int)(colon - part), part);
    if (!adl_range_read_int(name, &numbers, &user, why))
        user = adl_job_name_id(name);
    fairness->shares[fairness->share_count++] = (struct adl_fair_share){(uint32_t)user, share};
    return 0;
}

int adl_fairness_read_shares(struct adl_fairness *fairness, const char *text, struct adl_error *err)
{
    int status = 0;
    for (const char *at = text; at && *at && status == 0;) {
        const size_t length = strcspn(at, ",");
        char part[128];
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        status = read_share(fairness, part, err);
        at = at[length] ? at + length + 1 : NULL;
    }
    return status;
}

static double share_of(const struct adl_fairness *fairness, uint32_t user)
{
    for (uint32_t i = 0; i < fairness->share_count; i++)
        if (fairness->shares[i].user == user)
            return fairness->shares[i].share;
    return 1;
}

/* ---- users ---- */

void adl_fairness_clear(struct adl_fairness *fairness)
{
    free(fairness->users);
    *fairness = (struct adl_fairness){0};
}

int adl_fairness_copy(struct adl_fairness *to, const struct adl_fairness *from)
{
    struct adl_fair_user *users = to->users;
    if (to->capacity < from->capacity)
        users = realloc(to->users, from->capacity * sizeof *users);
    if (!users && from->capacity > 0)
        return ADL_ENOMEM;
    if (from->capacity > 0)
        memcpy(users, from->users, from->capacity * sizeof *users);
    *to = *from;
    to->users = users;
    return 0;
}

/* The user's place, or the free one where it belongs. */
static struct adl_fair_user *find(const struct adl_fairness *fairness, uint32_t user)
{
    size_t at = (size_t)(user * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (fairness->capacity - 1);
    while (fairness->users[at].known && fairness->users[at].user != user)
        at = (at + 1) & (fairness->capacity - 1);
    return &fairness->users[at];
}

static int grow(struct adl_fairness *fairness)
{
    const size_t capacity = fairness->capacity > 0 ? 2 * fairness->capacity : 16;
    struct adl_fair_user *old = fairness->users, *users = calloc(capacity, sizeof *users);
    const size_t count = fairness->capacity;
    if (!users)
        return ADL_ENOMEM;
    fairness->users = users;
    fairness->capacity = capacity;
    for (size_t i = 0; i < count; i++)
        if (old[i].known)
            *find(fairness, old[i].user) = old[i];
    free(old);
    return 0;
}

int adl_fairness_join(struct adl_fairness *fairness, uint32_t user)
{
    if (fairness->weight <= 0)
        return 0;
    if (2 * (fairness->count + 1) > fairness->capacity && grow(fairness))
        return ADL_ENOMEM;
    struct adl_fair_user *it = find(fairness, user);
    if (!it->known) {
        *it = (struct adl_fair_user){.user = user, .known = true, .share = share_of(fairness, user), .factor = 1};
        fairness->count++;
    }
    return 0;
}

/* ---- usage ---- */

static double held_us(const struct adl_job *job, int64_t time_us)
{
    return time_us > job->start_us ? (double)(time_us - job->start_us) * job->spec.gpus : 0;
}

void adl_fairness_charge(struct adl_fairness *fairness, const struct adl_job *job, int64_t time_us)
{
    if (fairness->count > 0 && job->phase >= ADL_PHASE_RUNNING && find(fairness, job->spec.user)->known)
        find(fairness, job->spec.user)->usage_us += held_us(job, time_us);
}

static void decay(struct adl_fairness *fairness, int64_t now_us, double typical_us)
{
    const double half_life_us = fairness->half_life_s > 0 ? fairness->half_life_s * 1e6 : HALF_LIFE_RUNS * typical_us;
    const double left = half_life_us > 0 ? adl_exp(-LOG_2 * (double)(now_us - fairness->decayed_us) / half_life_us) : 1;
    fairness->decayed_us = now_us;
    for (size_t i = 0; i < fairness->capacity; i++) {
        struct adl_fair_user *it = &fairness->users[i];
        it->usage_us *= left;
        it->recent_us = it->usage_us;
        it->waits = false;
    }
}

static void read_jobs(struct adl_fairness *fairness, const struct adl_state *state)
{
    const struct adl_queue *queue = &state->queue;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        for (uint32_t s = state->running[t].first; s != ADL_NONE; s = state->nodes[s].next)
            find(fairness, state->jobs[s].spec.user)->recent_us += held_us(&state->jobs[s], state->now_us);
    for (uint32_t i = 0; i < queue->heap_count; i++)
        for (uint32_t s = queue->lanes[queue->heap[i]].jobs.first; s != ADL_NONE; s = queue->nodes[s].next)
            find(fairness, state->jobs[s].spec.user)->waits = true;
}

void adl_fairness_update(struct adl_fairness *fairness, const struct adl_state *state, double typical_us)
{
    if (fairness->count < 2)
        return;
    double usage_us = 0, shares = 0;
    decay(fairness, state->now_us, typical_us);
    read_jobs(fairness, state);
    for (size_t i = 0; i < fairness->capacity; i++)
        usage_us += fairness->users[i].known ? fairness->users[i].recent_us : 0;
    for (size_t i = 0; i < fairness->capacity; i++) {
        const struct adl_fair_user *it = &fairness->users[i];
        shares += it->known && (it->waits || it->recent_us > 1e-6 * usage_us) ? it->share : 0;
    }
    for (size_t i = 0; i < fairness->capacity; i++) {
        struct adl_fair_user *it = &fairness->users[i];
        if (!it->known || !it->waits)
            continue;
        const double over = usage_us > 0 ? it->recent_us / usage_us * shares / it->share : 0;
        it->factor = adl_exp(-LOG_2 * fairness->weight * (over < OVERUSE_MAX ? over : OVERUSE_MAX));
    }
}

double adl_fairness_factor(const struct adl_fairness *fairness, uint32_t user)
{
    const struct adl_fair_user *it = fairness->count > 1 ? find(fairness, user) : NULL;
    return it && it->known ? it->factor : 1;
}
