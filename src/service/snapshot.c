#include "service/snapshot.h"

#include "experiment/run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHARE_OF_TIME 50                 /* a copy is followed by 49 times as long without one */
#define NUDGE_NS      INT64_C(100000000) /* the deciding thread is woken again after this time */
#define TRIES         8                  /* an engine may be replaced while its copy is prepared */

struct adl_snapshots {
    struct adl_snapshots_config config;
    struct adl_recent *recent; /* only the deciding thread reads and changes it */
    pthread_mutex_t lock;
    pthread_cond_t done;
    atomic_uint waiting;
    struct adl_snapshot *first; /* that wait for a copy, the longest wait first */
    uint64_t version;           /* of the live engine; from 1 */
    int64_t due_ns;             /* no copy before */
    bool ended;
    struct adl_snapshots_counts counts;
};

struct adl_snapshot {
    struct adl_snapshots *source;
    struct adl_snapshot *next;
    struct adl_engine_config config; /* of the engine that it is like; what it points to is its own */
    char *settings;
    void *model;
    uint64_t version; /* that config is of; 0 = none */
    struct adl_engine *engine;
    struct adl_recent *recent;
    int64_t wall_ahead_us;
    bool answered, renewed; /* renewed: config is another one, and no copy was made */
    int status;
    struct adl_error err;
};

/* ---- the service's part ---- */

int adl_snapshots_create(const struct adl_snapshots_config *config, struct adl_snapshots **ret, struct adl_error *err)
{
    pthread_condattr_t attributes;
    struct adl_snapshots *snapshots = calloc(1, sizeof *snapshots);
    if (!snapshots || adl_recent_create(config->cluster, &snapshots->recent)) {
        free(snapshots);
        return adl_fail(err, ADL_ENOMEM, "out of memory for copies of the engine");
    }
    snapshots->config = *config;
    snapshots->version = 1;
    pthread_mutex_init(&snapshots->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&snapshots->done, &attributes);
    pthread_condattr_destroy(&attributes);
    *ret = snapshots;
    return 0;
}

void adl_snapshots_destroy(struct adl_snapshots *snapshots)
{
    if (!snapshots)
        return;
    pthread_cond_destroy(&snapshots->done);
    pthread_mutex_destroy(&snapshots->lock);
    adl_recent_destroy(snapshots->recent);
    free(snapshots);
}

struct adl_observer adl_snapshots_observer(struct adl_snapshots *snapshots)
{
    return adl_recent_observer(snapshots->recent);
}

void adl_snapshots_encode(const struct adl_snapshots *snapshots, int64_t wall_ahead_us, struct adl_text *ret)
{
    adl_recent_encode(snapshots->recent, wall_ahead_us, ret);
}

int adl_snapshots_decode(struct adl_snapshots *snapshots, const void *bytes, size_t size, int64_t wall_ahead_us,
                         int64_t now_us, struct adl_error *err)
{
    return adl_recent_decode(snapshots->recent, bytes, size, wall_ahead_us, now_us, err);
}

/* What an engine of the same kind is created from, in the thread that asks. */
static int renew(struct adl_snapshot *snapshot, const struct adl_engine_config *from)
{
    const struct adl_policy_config *policy = &from->policy_config;
    char *settings = policy->settings ? strdup(policy->settings) : NULL;
    void *model = policy->model ? malloc(policy->model_size + 1) : NULL;
    if ((policy->settings && !settings) || (policy->model && !model)) {
        free(settings);
        free(model);
        return ADL_ENOMEM;
    }
    if (model)
        memcpy(model, policy->model, policy->model_size);
    free(snapshot->settings);
    free(snapshot->model);
    snapshot->settings = settings;
    snapshot->model = model;
    snapshot->config = *from;
    snapshot->config.policy_config.settings = settings;
    snapshot->config.policy_config.model = model;
    snapshot->version = snapshot->source->version;
    return 0;
}

static int answer(struct adl_snapshots *snapshots, struct adl_snapshot *snapshot, const struct adl_engine *engine)
{
    snapshot->renewed = snapshot->version != snapshots->version || !snapshot->engine;
    if (snapshot->renewed)
        return renew(snapshot, adl_engine_config(engine))
                   ? adl_fail(&snapshot->err, ADL_ENOMEM, "out of memory for a copy of the engine")
                   : 0;
    const int status = adl_engine_copy(snapshot->engine, engine, &snapshot->err);
    if (status)
        return status;
    return adl_recent_copy(snapshot->recent, snapshots->recent)
               ? adl_fail(&snapshot->err, ADL_ENOMEM, "out of memory for recent jobs")
               : 0;
}

static void count(struct adl_snapshots *snapshots, bool copied, int64_t begin_ns)
{
    const int64_t end_ns = adl_clock_ns();
    const double took_s = (double)(end_ns - begin_ns) * 1e-9;
    snapshots->due_ns = end_ns + (SHARE_OF_TIME - 1) * (end_ns - begin_ns);
    snapshots->counts.copies += copied;
    snapshots->counts.copy_s += took_s;
    if (took_s > snapshots->counts.longest_s)
        snapshots->counts.longest_s = took_s;
}

void adl_snapshots_serve(struct adl_snapshots *snapshots, const struct adl_engine *engine, int64_t now_us,
                         int64_t wall_ahead_us)
{
    if (atomic_load(&snapshots->waiting) == 0)
        return;
    pthread_mutex_lock(&snapshots->lock);
    const int64_t begin_ns = adl_clock_ns();
    struct adl_snapshot *snapshot = snapshots->first;
    if (snapshot && begin_ns >= snapshots->due_ns) {
        snapshots->first = snapshot->next;
        snapshot->status = answer(snapshots, snapshot, engine);
        if (snapshot->status == 0 && !snapshot->renewed)
            adl_engine_set_now(snapshot->engine, now_us);
        snapshot->wall_ahead_us = wall_ahead_us;
        snapshot->answered = true;
        count(snapshots, snapshot->status == 0 && !snapshot->renewed, begin_ns);
        pthread_cond_broadcast(&snapshots->done);
    }
    pthread_mutex_unlock(&snapshots->lock);
}

void adl_snapshots_change(struct adl_snapshots *snapshots)
{
    pthread_mutex_lock(&snapshots->lock);
    snapshots->version++;
    pthread_mutex_unlock(&snapshots->lock);
}

void adl_snapshots_end(struct adl_snapshots *snapshots)
{
    pthread_mutex_lock(&snapshots->lock);
    snapshots->ended = true;
    pthread_cond_broadcast(&snapshots->done);
    pthread_mutex_unlock(&snapshots->lock);
}

struct adl_snapshots_counts adl_snapshots_counts(struct adl_snapshots *snapshots)
{
    pthread_mutex_lock(&snapshots->lock);
    const struct adl_snapshots_counts counts = snapshots->counts;
    pthread_mutex_unlock(&snapshots->lock);
    return counts;
}

/* ---- a copy ---- */

int adl_snapshot_create(struct adl_snapshots *snapshots, struct adl_snapshot **ret, struct adl_error *err)
{
    struct adl_snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (!snapshot || adl_recent_create(snapshots->config.cluster, &snapshot->recent)) {
        free(snapshot);
        return adl_fail(err, ADL_ENOMEM, "out of memory for a copy of the engine");
    }
    snapshot->source = snapshots;
    *ret = snapshot;
    return 0;
}

void adl_snapshot_destroy(struct adl_snapshot *snapshot)
{
    if (!snapshot)
        return;
    adl_engine_destroy(snapshot->engine);
    adl_recent_destroy(snapshot->recent);
    free(snapshot->settings);
    free(snapshot->model);
    free(snapshot);
}

static void enqueue(struct adl_snapshot *snapshot)
{
    struct adl_snapshot **at = &snapshot->source->first;
    while (*at)
        at = &(*at)->next;
    snapshot->next = NULL;
    snapshot->answered = false;
    *at = snapshot;
    atomic_fetch_add(&snapshot->source->waiting, 1);
}

static void leave(struct adl_snapshot *snapshot)
{
    struct adl_snapshot **at = &snapshot->source->first;
    while (*at && *at != snapshot)
        at = &(*at)->next;
    if (*at)
        *at = snapshot->next;
    atomic_fetch_sub(&snapshot->source->waiting, 1);
}

static void wait_until(struct adl_snapshots *snapshots, int64_t time_ns)
{
    const struct timespec until = {.tv_sec = time_ns / 1000000000, .tv_nsec = time_ns % 1000000000};
    pthread_cond_timedwait(&snapshots->done, &snapshots->lock, &until);
}

/* Until the deciding thread has answered. */
static int ask(struct adl_snapshot *snapshot, int64_t deadline_ns, struct adl_error *err)
{
    struct adl_snapshots *snapshots = snapshot->source;
    pthread_mutex_lock(&snapshots->lock);
    enqueue(snapshot);
    for (int64_t now_ns; !snapshot->answered && !snapshots->ended && (now_ns = adl_clock_ns()) < deadline_ns;) {
        const bool due = now_ns >= snapshots->due_ns;
        const int64_t again_ns = due ? now_ns + NUDGE_NS : snapshots->due_ns;
        if (due)
            adl_request_queue_nudge(snapshots->config.request_queue);
        wait_until(snapshots, again_ns < deadline_ns ? again_ns : deadline_ns);
    }
    leave(snapshot);
    const bool answered = snapshot->answered, ended = snapshots->ended;
    pthread_mutex_unlock(&snapshots->lock);
    if (ended || !answered)
        return adl_fail(err, ADL_EREFUSED,
                        ended ? "the service is ending" : "the service is too busy to copy its state");
    if (snapshot->status)
        *err = snapshot->err;
    return snapshot->status;
}

static int no_event(void *world, struct adl_event *ret, struct adl_error *err)
{
    (void)world;
    (void)ret;
    (void)err;
    return 0;
}

static int no_command(void *world, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    (void)world;
    (void)command;
    (void)gpus;
    return adl_fail(err, ADL_EREFUSED, "a copy of the engine executes nothing");
}

static int create_engine(struct adl_snapshot *snapshot, struct adl_error *err)
{
    static const struct adl_world_ops nowhere = {.name = "copy", .next_event = no_event, .submit = no_command};
    snapshot->config.world_ops = &nowhere;
    snapshot->config.world = NULL;
    snapshot->config.observer_count = 0;
    snapshot->config.clock_ns = NULL;
    adl_engine_destroy(snapshot->engine);
    snapshot->engine = NULL;
    return adl_engine_create(&snapshot->config, &snapshot->engine, err);
}

int adl_snapshot_take(struct adl_snapshot *snapshot, double wait_s, struct adl_error *err)
{
    struct adl_error ignored = {.text = ""};
    const int64_t deadline_ns = adl_clock_ns() + (int64_t)(wait_s * 1e9);
    err = err ? err : &ignored;
    for (int i = 0; i < TRIES; i++) {
        int status = ask(snapshot, deadline_ns, err);
        if (status || !snapshot->renewed)
            return status;
        status = create_engine(snapshot, err);
        if (status)
            return status;
    }
    return adl_fail(err, ADL_EREFUSED, "the policy changes too often to copy its state");
}

struct adl_snapshot_view adl_snapshot_view(const struct adl_snapshot *snapshot)
{
    const struct adl_snapshots_config *config = &snapshot->source->config;
    return (struct adl_snapshot_view){.engine = snapshot->engine,
                                      .recent = snapshot->recent,
                                      .version = snapshot->version,
                                      .wall_ahead_us = snapshot->wall_ahead_us,
                                      .fork = {.engine = snapshot->engine,
                                               .preemption = config->preemption,
                                               .kill_at_limit = config->kill_at_limit,
                                               .one_by_one = config->one_by_one}};
}
