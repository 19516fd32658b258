#include "service/forecast_outcome.h"

#include "base/index.h"
#include "predict/packing.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define STARTS_MAX 4096                      /* that wait to be judged */
#define OPEN_MAX   16384                     /* jobs whose forecasts are kept */
#define LATER_US   (INT64_C(3600) * 1000000) /* from the first forecast of a job to the second that is kept */

#define MAGIC      "adlrstrt"
#define VERSION    4
#define HEAD_SIZE  12
#define SEAL_SIZE  8
#define LEVEL_MOST 100.0f  /* a factor of e to this power */
#define OWED_MOST  1000.0f /* starts */

enum { FIRST, LATER, KINDS };

struct start {
    uint64_t id;
    int64_t time_us;
};

/* A forecast of a job that waits. */
struct expected {
    struct adl_start_forecast forecast;
    struct adl_start_issue issue;
    int kind;
    uint32_t futures; /* 0 = the job has started */
    size_t times;     /* where its starts begin */
    double alike_us;
};

struct expectations {
    struct expected *jobs; /* in order of ids and kinds once they are complete */
    size_t job_capacity;
    uint32_t job_count;
    int64_t *times_us;
    size_t time_capacity, time_count;
};

struct adl_outcomes {
    struct start starts[STARTS_MAX]; /* a ring with one writer and one reader */
    atomic_ullong written, read;
    struct expectations now, next;
    struct adl_outcome_levels levels;
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
    const struct expected *x = a, *y = b;
    const uint64_t i = x->forecast.id, j = y->forecast.id;
    return i == j ? x->kind - y->kind : (i > j) - (i < j);
}

/* NULL: there is none, or its job has started since. */
static struct expected *find(const struct expectations *from, uint64_t id, int kind)
{
    const struct expected key = {.forecast.id = id, .kind = kind};
    struct expected *it = from->job_count ? bsearch(&key, from->jobs, from->job_count, sizeof key, compare_jobs) : NULL;
    return it && it->futures > 0 ? it : NULL;
}

static struct adl_start_rank rank_of(const struct adl_outcomes *outcomes, const struct expected *it, int64_t time_us)
{
    const struct adl_start_times times = {&outcomes->now.times_us[it->times], it->futures, it->forecast.made_us,
                                          it->alike_us};
    return adl_start_rank(&times, time_us);
}

static void judge_start(struct adl_outcomes *outcomes, const struct start *start)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct expected *it = find(&outcomes->now, start->id, kind);
        if (!it)
            continue;
        adl_start_levels_learn(&outcomes->levels.kinds[kind], &it->issue, rank_of(outcomes, it, start->time_us));
        it->futures = 0; /* once */
        if (kind != FIRST)
            continue;
        outcomes->counts.started++;
        outcomes->counts.in_p50 += start->time_us <= it->forecast.start_p50_us;
        outcomes->counts.in_p90 += start->time_us <= it->forecast.start_p90_us;
    }
}

void adl_outcomes_judge(struct adl_outcomes *outcomes, int64_t now_us)
{
    const uint64_t written = atomic_load(&outcomes->written);
    for (uint64_t at = atomic_load(&outcomes->read); at < written; at++)
        judge_start(outcomes, &outcomes->starts[at % STARTS_MAX]);
    atomic_store(&outcomes->read, written);
    for (uint32_t i = 0; i < outcomes->now.job_count; i++) {
        struct expected *it = &outcomes->now.jobs[i];
        if (it->futures > 0 && now_us > it->forecast.made_us)
            adl_start_levels_wait(&outcomes->levels.kinds[it->kind], &it->issue, rank_of(outcomes, it, now_us));
    }
}

struct adl_start_issue adl_outcomes_issue(const struct adl_outcomes *outcomes, uint64_t id)
{
    const int kind = find(&outcomes->now, id, FIRST) ? LATER : FIRST;
    return adl_start_levels_issue(&outcomes->levels.kinds[kind]);
}

struct adl_outcome_counts adl_outcomes_counts(const struct adl_outcomes *outcomes)
{
    return outcomes->counts;
}

struct adl_outcome_levels *adl_outcomes_levels(struct adl_outcomes *outcomes)
{
    return &outcomes->levels;
}

/* ---- bytes ---- */

void adl_outcome_levels_encode(const struct adl_outcome_levels *levels, struct adl_text *ret)
{
    const size_t begin = ret->size;
    adl_text_put(ret, MAGIC);
    adl_bytes_put_u32(ret, VERSION);
    adl_bytes_put_u32(ret, ADL_START_LEVELS);
    for (int kind = 0; kind < KINDS; kind++) {
        const struct adl_start_levels *it = &levels->kinds[kind];
        for (int t = 0; t < ADL_START_TRACKERS; t++) {
            adl_bytes_put_floats(ret, it->moved[t], ADL_START_LEVELS);
            adl_bytes_put_floats(ret, it->weight[t], ADL_START_LEVELS);
        }
        adl_bytes_put_floats(ret, it->owed, ADL_START_LEVELS);
        adl_bytes_put_floats(ret, it->distance, ADL_START_LEVELS);
        adl_bytes_put_u32(ret, it->starts);
    }
    if (adl_text_status(ret) == 0)
        adl_bytes_put_u64(ret, adl_bytes_checksum(ret->data + begin, ret->size - begin));
}

static void decode_floats(struct adl_unpack *from, float most, bool negative, float *ret)
{
    for (int i = 0; i < ADL_START_LEVELS; i++) {
        ret[i] = adl_unpack_float(from, most);
        from->failed |= !negative && ret[i] < 0;
    }
}

static void decode_kind(struct adl_unpack *from, struct adl_start_levels *ret)
{
    for (int t = 0; t < ADL_START_TRACKERS; t++) {
        decode_floats(from, LEVEL_MOST, true, ret->moved[t]);
        decode_floats(from, 1, false, ret->weight[t]);
    }
    decode_floats(from, OWED_MOST, true, ret->owed);
    decode_floats(from, LEVEL_MOST, false, ret->distance);
    ret->starts = adl_unpack_u32(from, UINT32_MAX);
}

int adl_outcome_levels_decode(struct adl_outcome_levels *levels, const void *bytes, size_t size, struct adl_error *err)
{
    const unsigned char *at = bytes;
    struct adl_outcome_levels read = {.kinds = {{.starts = 0}}};
    if (size < HEAD_SIZE + SEAL_SIZE || memcmp(at, MAGIC, strlen(MAGIC)) != 0)
        return adl_fail(err, ADL_EINVAL, "these are not levels of forecasts");
    if (adl_bytes_u32(at + strlen(MAGIC)) != VERSION)
        return adl_fail(err, ADL_EINVAL, "levels of forecasts of version %" PRIu32 "; this program reads version %d",
                        adl_bytes_u32(at + strlen(MAGIC)), VERSION);
    if (adl_bytes_checksum(at, size - SEAL_SIZE) != adl_bytes_u64(at + size - SEAL_SIZE))
        return adl_fail(err, ADL_EINVAL, "the checksum of levels of forecasts is wrong: bytes were changed");
    struct adl_unpack from = {.at = at + HEAD_SIZE, .end = at + size - SEAL_SIZE};
    from.failed |= adl_unpack_u32(&from, ADL_START_LEVELS) != ADL_START_LEVELS;
    for (int kind = 0; kind < KINDS; kind++)
        decode_kind(&from, &read.kinds[kind]);
    if (from.failed || from.at != from.end)
        return adl_fail(err, ADL_EINVAL, "levels of forecasts are not whole: something is missing or out of bounds");
    *levels = read;
    return 0;
}

/* ---- a round ---- */

void adl_outcomes_begin(struct adl_outcomes *outcomes, uint32_t jobs, uint32_t futures)
{
    struct expectations *next = &outcomes->next;
    next->job_count = 0;
    next->time_count = 0;
    const size_t count = KINDS * (size_t)(jobs < OPEN_MAX ? jobs : OPEN_MAX);
    adl_grow((void **)&next->jobs, &next->job_capacity, count + 1, sizeof *next->jobs);
    adl_grow((void **)&next->times_us, &next->time_capacity, count * futures + outcomes->now.time_count + 1,
             sizeof *next->times_us);
}

static void keep(struct expectations *next, const struct expected *it, const int64_t *starts_us)
{
    if (next->job_count >= next->job_capacity || next->time_count + it->futures > next->time_capacity)
        return;
    next->jobs[next->job_count] = *it;
    next->jobs[next->job_count++].times = next->time_count;
    memcpy(&next->times_us[next->time_count], starts_us, it->futures * sizeof *starts_us);
    next->time_count += it->futures;
}

void adl_outcomes_expect(struct adl_outcomes *outcomes, const struct adl_start_forecast *forecast,
                         const struct adl_start_issue *issue, const struct adl_start_times *starts)
{
    const struct expected *before[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        before[kind] = find(&outcomes->now, forecast->id, kind);
        if (before[kind])
            keep(&outcomes->next, before[kind], &outcomes->now.times_us[before[kind]->times]);
    }
    const int kind = before[FIRST] ? LATER : FIRST;
    const bool due =
        kind == FIRST || (!before[LATER] && forecast->made_us - before[FIRST]->forecast.made_us >= LATER_US);
    const struct expected now = {*forecast, *issue, kind, starts->count, 0, starts->alike_us};
    if (due && starts->count > 0 && forecast->start_p90_us != ADL_NEVER_US)
        keep(&outcomes->next, &now, starts->us);
}

void adl_outcomes_end(struct adl_outcomes *outcomes)
{
    const struct expectations now = outcomes->now;
    outcomes->now = outcomes->next;
    outcomes->next = now;
    qsort(outcomes->now.jobs, outcomes->now.job_count, sizeof *outcomes->now.jobs, compare_jobs);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < outcomes->now.job_count; i++) /* a job with alternatives was expected in each slot */
        if (kept == 0 || compare_jobs(&outcomes->now.jobs[kept - 1], &outcomes->now.jobs[i]) != 0)
            outcomes->now.jobs[kept++] = outcomes->now.jobs[i];
    outcomes->now.job_count = kept;
}
