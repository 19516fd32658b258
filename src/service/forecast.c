#include "service/forecast.h"

#include "base/index.h"
#include "experiment/run.h"
#include "service/forecast_outcome.h"
#include "service/service_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define LOOK_NS       INT64_C(200000000)   /* how often the thread looks whether a forecast is due */
#define AGE_NS        INT64_C(30000000000) /* a forecast is made again after this time though nothing changed */
#define ROUND_CPU_S   2.0                  /* of one round of forecasts, at most */
#define QUICK_CPU_S   0.25                 /* the same of a round for new jobs */
#define FUTURES_LEAST 4
#define TIMES_MAX     (1u << 20) /* starts in memory: with more jobs there are fewer futures */
#define COPY_WAIT_S   10.0
#define HORIZON_S     (60 * 86400.0)
#define NICE          10

struct adl_forecasts {
    struct adl_service_state *shared;
    pthread_t thread;
    bool begun;
    atomic_bool stopping;
    pthread_mutex_t lock; /* of what follows, up to the next comment; held for moments */
    pthread_cond_t stop;
    struct adl_forecast_config config;
    struct adl_start_forecast *rows; /* in order of ids */
    size_t row_capacity;
    struct adl_forecasts_counts counts;
    int64_t made_ns; /* when the last were made */
    struct adl_outcome_levels levels;
    /* Of the thread alone: */
    struct adl_start_forecast *next_rows;
    size_t next_capacity;
    uint32_t next_count;
    struct adl_snapshot *snapshot;
    struct adl_starts *starts[2]; /* [from limits] */
    uint64_t version;             /* of the engine that they are of */
    uint32_t futures;             /* that starts[0] was created with */
    struct adl_outcomes *outcomes;
    uint64_t stamp, submitted; /* what had happened when the last round began */
    int64_t began_ns;          /* the last round */
    int64_t stale_us;          /* when its forecasts are stale though nothing happened, in the engine's time */
    int64_t due_ns, quick_ns;  /* the next whole and the next quick one, at the earliest */
    double future_s;           /* CPU time of one future in the last round */
    double halt_s;             /* CPU time of the thread at which the present future ends */
};

/* ---- the service's part ---- */

int adl_forecasts_create(const struct adl_forecast_config *config, struct adl_service_state *shared,
                         struct adl_forecasts **ret, struct adl_error *err)
{
    pthread_condattr_t attributes;
    struct adl_forecasts *forecasts = calloc(1, sizeof *forecasts);
    if (!forecasts || adl_outcomes_create(&forecasts->outcomes)) {
        free(forecasts);
        return adl_fail(err, ADL_ENOMEM, "out of memory for forecasts");
    }
    forecasts->config = *config;
    forecasts->shared = shared;
    pthread_mutex_init(&forecasts->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&forecasts->stop, &attributes);
    pthread_condattr_destroy(&attributes);
    *ret = forecasts;
    return 0;
}

void adl_forecasts_destroy(struct adl_forecasts *forecasts)
{
    if (!forecasts)
        return;
    if (forecasts->begun) {
        adl_snapshots_end(forecasts->shared->snapshots);
        pthread_mutex_lock(&forecasts->lock);
        atomic_store(&forecasts->stopping, true);
        pthread_cond_signal(&forecasts->stop);
        pthread_mutex_unlock(&forecasts->lock);
        pthread_join(forecasts->thread, NULL);
    }
    adl_starts_destroy(forecasts->starts[0]);
    adl_starts_destroy(forecasts->starts[1]);
    adl_snapshot_destroy(forecasts->snapshot);
    adl_outcomes_destroy(forecasts->outcomes);
    pthread_cond_destroy(&forecasts->stop);
    pthread_mutex_destroy(&forecasts->lock);
    free(forecasts->rows);
    free(forecasts->next_rows);
    free(forecasts);
}

struct adl_observer adl_forecasts_observer(struct adl_forecasts *forecasts)
{
    return adl_outcomes_observer(forecasts->outcomes);
}

void adl_forecasts_set(struct adl_forecasts *forecasts, const struct adl_forecast_config *config)
{
    pthread_mutex_lock(&forecasts->lock);
    forecasts->config = *config;
    pthread_mutex_unlock(&forecasts->lock);
}

static struct adl_forecast_config config_of(struct adl_forecasts *forecasts)
{
    pthread_mutex_lock(&forecasts->lock);
    const struct adl_forecast_config config = forecasts->config;
    pthread_mutex_unlock(&forecasts->lock);
    return config;
}

void adl_forecasts_encode(struct adl_forecasts *forecasts, struct adl_text *ret)
{
    pthread_mutex_lock(&forecasts->lock);
    const struct adl_outcome_levels levels = forecasts->levels;
    pthread_mutex_unlock(&forecasts->lock);
    adl_outcome_levels_encode(&levels, ret);
}

int adl_forecasts_decode(struct adl_forecasts *forecasts, const void *bytes, size_t size, struct adl_error *err)
{
    const int status = adl_outcome_levels_decode(&forecasts->levels, bytes, size, err);
    if (status == 0)
        *adl_outcomes_levels(forecasts->outcomes) = forecasts->levels;
    return status;
}

static int compare_ids(const void *a, const void *b)
{
    const uint64_t x = ((const struct adl_start_forecast *)a)->id, y = ((const struct adl_start_forecast *)b)->id;
    return (x > y) - (x < y);
}

static const struct adl_start_forecast *find(const struct adl_forecasts *forecasts, uint64_t id)
{
    const struct adl_start_forecast key = {.id = id};
    const uint32_t count = forecasts->counts.jobs;
    return count ? bsearch(&key, forecasts->rows, count, sizeof key, compare_ids) : NULL;
}

bool adl_forecasts_find(struct adl_forecasts *forecasts, uint64_t id, struct adl_start_forecast *ret)
{
    pthread_mutex_lock(&forecasts->lock);
    const struct adl_start_forecast *found = find(forecasts, id);
    if (found)
        *ret = *found;
    pthread_mutex_unlock(&forecasts->lock);
    return found != NULL;
}

struct adl_forecasts_counts adl_forecasts_counts(struct adl_forecasts *forecasts)
{
    pthread_mutex_lock(&forecasts->lock);
    struct adl_forecasts_counts counts = forecasts->counts;
    counts.on = forecasts->config.futures > 0;
    counts.age_s = (double)(adl_clock_ns() - forecasts->made_ns) * 1e-9;
    pthread_mutex_unlock(&forecasts->lock);
    return counts;
}

/* A round of forecasts. */
struct round {
    bool quick;      /* for jobs that have no forecast yet; others keep theirs */
    double budget_s; /* CPU time */
    struct adl_snapshot_view view;
    const struct adl_state *state;
    struct adl_starts *starts;
    bool limits;
    uint64_t ended; /* jobs so far */
};

/* ---- whether a round is due ---- */

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* What the thread looks at to see whether a round is due. */
struct look {
    uint64_t stamp;     /* what has happened so far, as one number */
    uint64_t submitted; /* of that, submissions */
    uint32_t queued;
    int64_t now_us; /* of the engine */
};

static struct look look(struct adl_service_state *shared)
{
    adl_service_state_lock(shared);
    const struct adl_service_state_counts *c = &shared->counts;
    struct look it = {.submitted = c->submitted,
                      .queued = shared->job_table.by_stage[ADL_STAGE_QUEUED],
                      .now_us = shared->now_us(shared) - shared->wall_ahead_us};
    it.stamp = c->submitted + c->started + c->completed + c->failed + c->cancelled + c->timed_out + c->requeued +
               it.queued + (uintptr_t)shared->engine;
    adl_service_state_unlock(shared);
    return it;
}

/* Exchanges the rows for the next ones, and says that there are others. round NULL: nobody waits. */
static void publish(struct adl_forecasts *forecasts, const struct round *round)
{
    const int64_t made_ns = adl_clock_ns();
    char text[100];
    const struct adl_outcome_counts outcomes = adl_outcomes_counts(forecasts->outcomes);
    pthread_mutex_lock(&forecasts->lock);
    struct adl_start_forecast *rows = forecasts->rows;
    const size_t capacity = forecasts->row_capacity;
    forecasts->rows = forecasts->next_rows;
    forecasts->row_capacity = forecasts->next_capacity;
    forecasts->next_rows = rows;
    forecasts->next_capacity = capacity;
    struct adl_forecasts_counts *counts = &forecasts->counts;
    counts->jobs = forecasts->next_count;
    if (round) {
        counts->made_us = round->state->now_us;
        counts->limits = round->limits;
        counts->ended = round->ended;
        forecasts->made_ns = made_ns;
    }
    counts->cpu_s = cpu_s();
    counts->started = outcomes.started;
    counts->in_p50 = outcomes.in_p50;
    counts->in_p90 = outcomes.in_p90;
    forecasts->levels = *adl_outcomes_levels(forecasts->outcomes);
    pthread_mutex_unlock(&forecasts->lock);
    snprintf(text, sizeof text, "{\"jobs\":%u}", forecasts->next_count);
    adl_events_publish(forecasts->shared->events, "forecast", text, NULL, NULL);
}

enum due { DUE_NOTHING, DUE_QUICK, DUE_WHOLE };

static enum due is_due(struct adl_forecasts *forecasts, const struct adl_forecast_config *config)
{
    const int64_t now_ns = adl_clock_ns();
    const struct look it = look(forecasts->shared);
    const bool off = it.queued == 0 || config->futures == 0;
    if (off && forecasts->counts.jobs > 0) {
        forecasts->next_count = 0;
        publish(forecasts, NULL);
    }
    const bool changed =
        it.stamp != forecasts->stamp || now_ns >= forecasts->began_ns + AGE_NS || it.now_us >= forecasts->stale_us;
    const bool quick = it.submitted != forecasts->submitted && now_ns >= forecasts->quick_ns;
    if (off || !changed || (now_ns < forecasts->due_ns && !quick))
        return DUE_NOTHING;
    forecasts->stamp = it.stamp;
    forecasts->submitted = it.submitted;
    forecasts->began_ns = now_ns;
    return now_ns < forecasts->due_ns ? DUE_QUICK : DUE_WHOLE;
}

/* ---- one round ---- */

static bool halt(void *context)
{
    const struct adl_forecasts *forecasts = context;
    return atomic_load(&forecasts->stopping) || cpu_s() >= forecasts->halt_s;
}

/* Forks belong to one policy and its options. */
static int prepare(struct adl_forecasts *forecasts, const struct adl_snapshot_view *view, uint32_t futures,
                   struct adl_error *err)
{
    if (forecasts->starts[1] && forecasts->version == view->version && forecasts->futures == futures)
        return 0;
    struct adl_starts_config config = {
        .fork = view->fork, .futures = futures, .horizon_s = HORIZON_S, .halt = halt, .context = forecasts};
    for (int limits = 0; limits < 2; limits++) {
        adl_starts_destroy(forecasts->starts[limits]);
        forecasts->starts[limits] = NULL;
    }
    int status = adl_starts_create(&config, &forecasts->starts[0], err);
    config.futures = 1;
    config.fork.draw = ADL_FORK_LIMITS;
    if (status == 0)
        status = adl_starts_create(&config, &forecasts->starts[1], err);
    forecasts->version = view->version;
    forecasts->futures = futures;
    return status;
}

static void add_row(struct adl_forecasts *forecasts, const struct round *round, uint32_t slot, bool last)
{
    const int64_t *begins = adl_starts_of(round->starts, slot), *ends = adl_ends_of(round->starts, slot);
    const int64_t made_us = adl_starts_made_us(round->starts);
    const uint32_t count = adl_starts_futures(round->starts);
    const uint64_t id = round->state->jobs[slot].spec.id;
    const struct adl_start_forecast *before = find(forecasts, id);
    struct adl_start_forecast row = {.id = id, .made_us = made_us, .limits = round->limits};
    const struct adl_start_issue issue = adl_outcomes_issue(forecasts->outcomes, id);
    const double p50 = round->limits ? 0.5 : (double)issue.level[adl_start_level_index(0.5)];
    const double p90 = round->limits ? 0.5 : (double)issue.level[adl_start_level_index(0.9)];
    const double alike_us = adl_recent_alike_us(round->view.recent);
    const struct adl_start_times starts = {begins, count, made_us, alike_us};
    const struct adl_start_times finishes = {ends, count, made_us, alike_us};
    row.start_p50_us = adl_start_rank_time(&starts, p50);
    row.start_p90_us = adl_start_rank_time(&starts, p90);
    row.end_p50_us = adl_start_rank_time(&finishes, p50);
    row.end_p90_us = adl_start_rank_time(&finishes, p90);
    if (last && !round->limits)
        adl_outcomes_expect(forecasts->outcomes, &row, &issue, &starts);
    if (before && before->start_p90_us > made_us && (round->quick || row.start_p50_us == ADL_NEVER_US))
        row = *before;
    forecasts->next_rows[forecasts->next_count++] = row;
}

/* A job with alternatives is in several slots, with one forecast. */
static void drop_repeated(struct adl_forecasts *forecasts)
{
    uint32_t kept = 0;
    qsort(forecasts->next_rows, forecasts->next_count, sizeof *forecasts->next_rows, compare_ids);
    for (uint32_t i = 0; i < forecasts->next_count; i++)
        if (kept == 0 || forecasts->next_rows[kept - 1].id != forecasts->next_rows[i].id)
            forecasts->next_rows[kept++] = forecasts->next_rows[i];
    forecasts->next_count = kept;
}

/* Half of the way to the first start that is expected. */
static void set_stale(struct adl_forecasts *forecasts, int64_t now_us)
{
    int64_t first_us = ADL_NEVER_US;
    for (uint32_t i = 0; i < forecasts->next_count; i++)
        if (forecasts->next_rows[i].start_p50_us < first_us)
            first_us = forecasts->next_rows[i].start_p50_us;
    forecasts->stale_us = first_us == ADL_NEVER_US ? first_us : now_us + (first_us - now_us) / 2;
}

static int list_rows(struct adl_forecasts *forecasts, const struct round *round, bool last)
{
    const struct adl_state *state = round->state;
    if (adl_grow((void **)&forecasts->next_rows, &forecasts->next_capacity, (size_t)state->queue.count + 1,
                 sizeof *forecasts->next_rows))
        return ADL_ENOMEM;
    forecasts->next_count = 0;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_PENDING && forecasts->next_count < forecasts->next_capacity)
            add_row(forecasts, round, slot, last);
    drop_repeated(forecasts);
    set_stale(forecasts, state->now_us);
    return 0;
}

/* The forecasts of the futures that were played so far. The last of a round are followed until their jobs start. */
static int publish_round(struct adl_forecasts *forecasts, const struct round *round, bool last, struct adl_error *err)
{
    const uint32_t jobs = round->state->queue.count;
    adl_starts_sort(round->starts);
    if (last)
        adl_outcomes_begin(forecasts->outcomes, jobs, adl_starts_futures(round->starts));
    if (list_rows(forecasts, round, last))
        return adl_fail(err, ADL_ENOMEM, "out of memory for forecasts of %u jobs", jobs);
    if (last)
        adl_outcomes_end(forecasts->outcomes);
    publish(forecasts, round);
    return 0;
}

/* Plays as many futures as the time allows, but at least a few, and publishes forecasts whenever they have doubled. */
static int play(struct adl_forecasts *forecasts, const struct round *round, uint32_t futures, struct adl_error *err)
{
    const struct adl_snapshot_view *view = &round->view;
    const uint32_t least = futures < FUTURES_LEAST ? futures : FUTURES_LEAST;
    const double begin_s = cpu_s();
    uint32_t played = 0, next = least;
    int status =
        adl_starts_begin(round->starts, view->engine, view->recent, (uint64_t)round->state->now_us, ADL_NONE, err);
    while (status == 0 && played < futures) {
        forecasts->halt_s = cpu_s() + round->budget_s / least;
        status = adl_starts_play(round->starts, err);
        if (status || atomic_load(&forecasts->stopping))
            return status;
        const double spent_s = cpu_s() - begin_s;
        forecasts->future_s = spent_s / ++played;
        if (played >= least && spent_s + forecasts->future_s > round->budget_s)
            break;
        if (played == next && played < futures) {
            status = publish_round(forecasts, round, false, err);
            next *= 2;
        }
    }
    return status ? status : publish_round(forecasts, round, true, err);
}

bool adl_forecasts_know(const struct adl_state *state)
{
    return state->learned && adl_belief_count(state->belief) >= ADL_FORECAST_ENDS;
}

static int make_round(struct adl_forecasts *forecasts, uint32_t most, bool quick, struct adl_error *err)
{
    int status = forecasts->snapshot ? 0 : adl_snapshot_create(forecasts->shared->snapshots, &forecasts->snapshot, err);
    if (status == 0)
        status = adl_snapshot_take(forecasts->snapshot, COPY_WAIT_S, err);
    if (status)
        return status;
    struct round round = {
        .quick = quick, .budget_s = quick ? QUICK_CPU_S : ROUND_CPU_S, .view = adl_snapshot_view(forecasts->snapshot)};
    round.state = adl_engine_state(round.view.engine);
    round.ended = adl_belief_count(round.state->belief);
    round.limits = !adl_forecasts_know(round.state);
    adl_outcomes_judge(forecasts->outcomes, round.state->now_us);
    while (most > FUTURES_LEAST && (uint64_t)most * round.state->queue.count > TIMES_MAX)
        most /= 2;
    status = prepare(forecasts, &round.view, most, err);
    if (status)
        return status;
    round.starts = forecasts->starts[round.limits];
    return play(forecasts, &round, round.limits ? 1 : quick ? FUTURES_LEAST : most, err);
}

/* ---- the thread ---- */

static void wait_a_moment(struct adl_forecasts *forecasts)
{
    const int64_t until_ns = adl_clock_ns() + LOOK_NS;
    const struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    pthread_mutex_lock(&forecasts->lock);
    if (!atomic_load(&forecasts->stopping))
        pthread_cond_timedwait(&forecasts->stop, &forecasts->lock, &until);
    pthread_mutex_unlock(&forecasts->lock);
}

/* When the next rounds are due, after one that took this much CPU time. */
static void pace(struct adl_forecasts *forecasts, const struct adl_forecast_config *config, enum due due, double took_s)
{
    const int64_t now_ns = adl_clock_ns(), interval_ns = (int64_t)(config->interval_s * 1e9);
    const int64_t pause_ns = (int64_t)(took_s * (1 / config->cpu_share - 1) * 1e9);
    const int64_t from_ns = due == DUE_QUICK && forecasts->due_ns > now_ns ? forecasts->due_ns : now_ns;
    forecasts->due_ns = from_ns + (pause_ns > interval_ns || due == DUE_QUICK ? pause_ns : interval_ns);
    forecasts->quick_ns = now_ns + interval_ns;
}

static void count_failure(struct adl_forecasts *forecasts)
{
    pthread_mutex_lock(&forecasts->lock);
    forecasts->counts.failures++;
    pthread_mutex_unlock(&forecasts->lock);
}

static void *run(void *self)
{
    struct adl_forecasts *forecasts = self;
    struct adl_error err;
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICE); /* of this thread alone, in Linux */
    while (!atomic_load(&forecasts->stopping)) {
        const struct adl_forecast_config config = config_of(forecasts);
        const enum due due = is_due(forecasts, &config);
        if (due != DUE_NOTHING) {
            const double begin_s = cpu_s();
            if (make_round(forecasts, config.futures, due == DUE_QUICK, &err)) /* the next one may succeed */
                count_failure(forecasts);
            pace(forecasts, &config, due, cpu_s() - begin_s);
        }
        wait_a_moment(forecasts);
    }
    return NULL;
}

int adl_forecasts_begin(struct adl_forecasts *forecasts, struct adl_error *err)
{
    const int error = pthread_create(&forecasts->thread, NULL, run, forecasts);
    if (error)
        return adl_fail(err, ADL_EIO, "the thread of forecasts cannot be started: %s", strerror(error));
    forecasts->begun = true;
    return 0;
}
