#include "service/forecast_outcome.h"

#include "base/index.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define STARTS_MAX 4096  /* that wait to be judged */
#define OPEN_MAX   16384 /* jobs whose first forecast is kept */

struct start {
    uint64_t id;
    int64_t time_us;
};

/* The first forecast of a job that waits. */
struct expected {
    struct adl_start_forecast first;
    uint32_t futures;
    size_t times; /* where its starts begin */
};

struct expectations {
    struct expected *jobs; /* in order of ids once they are complete */
    size_t job_capacity;
    uint32_t job_count;
    int64_t *times_us;
    size_t time_capacity, time_count;
};

struct adl_outcomes {
    struct start starts[STARTS_MAX]; /* a ring with one writer and one reader */
    atomic_ullong written, read;
    struct expectations now, next;
    struct adl_start_ranks ranks;
    struct adl_outcome_counts counts;
};

int adl_outcomes_create(struct adl_outcomes **ret)
{
    *ret = calloc(1, sizeof **ret);
    return *ret ? 0 : ADL_ENOMEM;
}

void adl_outcomes_destroy(struct adl_outcomes *outcomes)
{
    if (!outcomes)
        return;
    free(outcomes->now.jobs);
    free(outcomes->now.times_us);
    free(outcomes->next.jobs);
    free(outcomes->next.times_us);
    free(outcomes);
}

/* ---- starts ---- */

static int on_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    (void)gpus;
    struct adl_outcomes *outcomes = self;
    const uint64_t at = atomic_load_explicit(&outcomes->written, memory_order_relaxed);
    if (command->kind != ADL_COMMAND_START || at - atomic_load(&outcomes->read) >= STARTS_MAX)
        return 0;
    outcomes->starts[at % STARTS_MAX] = (struct start){state->jobs[command->job].spec.id, state->now_us};
    atomic_store(&outcomes->written, at + 1);
    return 0;
}

struct adl_observer adl_outcomes_observer(struct adl_outcomes *outcomes)
{
    return (struct adl_observer){.self = outcomes, .command = on_command};
}

/* ---- what was expected ---- */

static int compare_jobs(const void *a, const void *b)
{
    const uint64_t x = ((const struct expected *)a)->first.id, y = ((const struct expected *)b)->first.id;
    return (x > y) - (x < y);
}

static struct expected *find(const struct expectations *from, uint64_t id)
{
    const struct expected key = {.first.id = id};
    return from->job_count ? bsearch(&key, from->jobs, from->job_count, sizeof key, compare_jobs) : NULL;
}

void adl_outcomes_judge(struct adl_outcomes *outcomes)
{
    const uint64_t written = atomic_load(&outcomes->written);
    for (uint64_t at = atomic_load(&outcomes->read); at < written; at++) {
        const struct start start = outcomes->starts[at % STARTS_MAX];
        struct expected *expected = find(&outcomes->now, start.id);
        if (!expected || expected->futures == 0)
            continue;
        const int64_t *times_us = &outcomes->now.times_us[expected->times];
        adl_start_ranks_learn(&outcomes->ranks,
                              adl_start_rank(times_us, expected->futures, expected->first.made_us, start.time_us));
        outcomes->counts.started++;
        outcomes->counts.in_p50 += start.time_us <= expected->first.start_p50_us;
        outcomes->counts.in_p90 += start.time_us <= expected->first.start_p90_us;
        expected->futures = 0; /* once */
    }
    atomic_store(&outcomes->read, written);
}

double adl_outcomes_level(const struct adl_outcomes *outcomes, double q)
{
    return adl_start_ranks_level(&outcomes->ranks, q);
}

struct adl_outcome_counts adl_outcomes_counts(const struct adl_outcomes *outcomes)
{
    return outcomes->counts;
}

/* ---- a round ---- */

void adl_outcomes_begin(struct adl_outcomes *outcomes, uint32_t jobs, uint32_t futures)
{
    struct expectations *next = &outcomes->next;
    next->job_count = 0;
    next->time_count = 0;
    const size_t count = jobs < OPEN_MAX ? jobs : OPEN_MAX;
    adl_grow((void **)&next->jobs, &next->job_capacity, count + 1, sizeof *next->jobs);
    adl_grow((void **)&next->times_us, &next->time_capacity, count * futures + outcomes->now.time_count + 1,
             sizeof *next->times_us);
}

void adl_outcomes_expect(struct adl_outcomes *outcomes, const struct adl_start_forecast *forecast,
                         const int64_t *starts_us, uint32_t futures)
{
    struct expectations *next = &outcomes->next;
    const struct expected *before = find(&outcomes->now, forecast->id);
    if (before && before->futures > 0) {
        futures = before->futures;
        starts_us = &outcomes->now.times_us[before->times];
        forecast = &before->first;
    }
    if (forecast->start_p90_us == ADL_NEVER_US || next->job_count >= next->job_capacity ||
        next->time_count + futures > next->time_capacity)
        return;
    next->jobs[next->job_count++] = (struct expected){*forecast, futures, next->time_count};
    memcpy(&next->times_us[next->time_count], starts_us, futures * sizeof *starts_us);
    next->time_count += futures;
}

void adl_outcomes_end(struct adl_outcomes *outcomes)
{
    const struct expectations now = outcomes->now;
    outcomes->now = outcomes->next;
    outcomes->next = now;
    qsort(outcomes->now.jobs, outcomes->now.job_count, sizeof *outcomes->now.jobs, compare_jobs);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < outcomes->now.job_count; i++) /* a job with alternatives was expected in each slot */
        if (kept == 0 || outcomes->now.jobs[kept - 1].first.id != outcomes->now.jobs[i].first.id)
            outcomes->now.jobs[kept++] = outcomes->now.jobs[i];
    outcomes->now.job_count = kept;
}
