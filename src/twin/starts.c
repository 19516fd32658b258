#include "twin/starts.h"

#include "base/index.h"
#include "twin/alternatives.h"

#include <stdlib.h>

#define HALT_EVERY 8 /* steps from one question to the next */

struct target {
    uint64_t id;
    uint32_t taken;               /* in the future that is played: the slot in which it has started, or ADL_NONE */
    int64_t *starts_us, *ends_us; /* [future] */
};

struct adl_starts {
    struct adl_starts_config config;
    struct adl_fork *fork;
    struct target *targets; /* in order of slots */
    size_t target_capacity;
    uint32_t target_count;
    int64_t *times_us; /* [target][start, end][future] */
    size_t time_capacity;
    uint32_t *of_slot; /* [slot] target, or ADL_NONE */
    size_t slot_capacity;
    struct adl_alternatives alternatives;
    const struct adl_engine *base;
    const struct adl_recent *recent;
    uint64_t seed;
    uint32_t future; /* that is played, or comes next */
    uint32_t left;   /* targets whose time is still to come in it */
    int64_t made_us;
    uint64_t events;
};

/* ---- what happens in a future ---- */

static struct target *find(struct adl_starts *starts, uint32_t slot, const struct adl_state *state)
{
    const uint32_t at = slot < starts->slot_capacity ? starts->of_slot[slot] : ADL_NONE;
    struct target *target = at == ADL_NONE ? NULL : &starts->targets[at];
    return target && state->jobs[slot].spec.id == target->id ? target : NULL;
}

static int on_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    (void)gpus;
    struct adl_starts *starts = self;
    struct target *target = command->kind == ADL_COMMAND_START ? find(starts, command->job, state) : NULL;
    if (target && target->starts_us[starts->future] == ADL_NEVER_US) {
        target->starts_us[starts->future] = state->now_us;
        target->taken = command->job;
        starts->left--;
    }
    return 0;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_starts *starts = self;
    struct target *target = event->kind == ADL_EVENT_FINISH ? find(starts, event->job, state) : NULL;
    if (target && state->jobs[event->job].phase != ADL_PHASE_PENDING && /* else an alternative that was not taken */
        target->ends_us[starts->future] == ADL_NEVER_US) {
        target->ends_us[starts->future] = event->time_us;
        target->taken = ADL_NONE;
    }
    return 0;
}

/* ---- create ---- */

int adl_starts_create(const struct adl_starts_config *config, struct adl_starts **ret, struct adl_error *err)
{
    struct adl_starts *starts = calloc(1, sizeof *starts);
    if (!starts)
        return adl_fail(err, ADL_ENOMEM, "out of memory for start times");
    starts->config = *config;
    starts->config.fork.observer = (struct adl_observer){.self = starts, .event = on_event, .command = on_command};
    const int status = adl_fork_create(&starts->config.fork, &starts->fork, err);
    if (status)
        adl_starts_destroy(starts);
    else
        *ret = starts;
    return status;
}

void adl_starts_destroy(struct adl_starts *starts)
{
    if (!starts)
        return;
    adl_fork_destroy(starts->fork);
    free(starts->targets);
    free(starts->times_us);
    free(starts->of_slot);
    adl_alternatives_clear(&starts->alternatives);
    free(starts);
}

/* ---- refresh ---- */

static int grow(struct adl_starts *starts, const struct adl_state *state)
{
    const size_t waiting = state->queue.count;
    return adl_grow((void **)&starts->targets, &starts->target_capacity, waiting + 1, sizeof *starts->targets) ||
                   adl_grow((void **)&starts->times_us, &starts->time_capacity,
                            2 * waiting * starts->config.futures + 1, sizeof *starts->times_us) ||
                   adl_grow((void **)&starts->of_slot, &starts->slot_capacity, state->job_capacity + 1,
                            sizeof *starts->of_slot) ||
                   adl_alternatives_list(&starts->alternatives, state)
               ? ADL_ENOMEM
               : 0;
}

/* Of the same job in another slot, if it has one; else ADL_NONE. */
static uint32_t target_besides(const struct adl_starts *starts, uint32_t slot)
{
    const uint32_t *next = starts->alternatives.next;
    for (uint32_t other = next[slot]; other != slot; other = next[other])
        if (starts->of_slot[other] != ADL_NONE)
            return starts->of_slot[other];
    return ADL_NONE;
}

static bool is_slot_of(const struct adl_starts *starts, uint32_t slot, uint32_t of)
{
    const uint32_t *next = starts->alternatives.next;
    uint32_t other = next[of];
    while (other != slot && other != of)
        other = next[other];
    return other == slot;
}

static void list_targets(struct adl_starts *starts, const struct adl_state *state, uint32_t only)
{
    const uint32_t futures = starts->config.futures;
    starts->target_count = 0;
    for (size_t slot = 0; slot < starts->slot_capacity; slot++)
        starts->of_slot[slot] = ADL_NONE;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++) {
        if (state->jobs[slot].phase != ADL_PHASE_PENDING || (only != ADL_NONE && !is_slot_of(starts, slot, only)))
            continue;
        starts->of_slot[slot] = target_besides(starts, slot);
        if (starts->of_slot[slot] != ADL_NONE)
            continue;
        int64_t *times_us = &starts->times_us[(size_t)2 * starts->target_count * futures];
        for (uint32_t i = 0; i < 2 * futures; i++)
            times_us[i] = ADL_NEVER_US;
        starts->of_slot[slot] = starts->target_count;
        starts->targets[starts->target_count++] =
            (struct target){state->jobs[slot].spec.id, ADL_NONE, times_us, times_us + futures};
    }
}

/* Jobs that run when the last one has started: when they end. */
static void set_ends(struct adl_starts *starts)
{
    for (uint32_t t = 0; t < starts->target_count; t++) {
        struct target *target = &starts->targets[t];
        if (target->taken != ADL_NONE)
            target->ends_us[starts->future] = adl_fork_end_us(starts->fork, target->taken);
        target->taken = ADL_NONE;
    }
}

static bool is_halted(const struct adl_starts *starts, uint64_t events, uint64_t steps)
{
    const struct adl_starts_config *config = &starts->config;
    return (config->events_max > 0 && events >= config->events_max) ||
           (config->halt && steps % HALT_EVERY == 0 && config->halt(config->context));
}

int adl_starts_play(struct adl_starts *starts, struct adl_error *err)
{
    const struct adl_future future = {.base = starts->base,
                                      .recent = starts->recent,
                                      .seed = starts->seed,
                                      .number = starts->future,
                                      .count = starts->config.futures,
                                      .until_us = starts->made_us + (int64_t)(starts->config.horizon_s * 1e6)};
    int status = adl_fork_begin(starts->fork, &future, err);
    struct adl_engine *engine = adl_fork_engine(starts->fork);
    const struct adl_state *state = adl_engine_state(engine);
    const struct adl_engine_counts *counts = adl_engine_counts(engine);
    const uint64_t before = counts->events;
    uint64_t steps = 0;
    starts->left = starts->target_count;
    for (int more = 1; status == 0 && more > 0 && starts->left > 0 && state->now_us < future.until_us &&
                       !is_halted(starts, counts->events - before, steps++);) {
        more = adl_engine_step(engine, err);
        status = more < 0 ? more : 0;
    }
    if (status)
        return status;
    starts->events += counts->events - before;
    set_ends(starts);
    starts->future++;
    return 0;
}

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int adl_starts_begin(struct adl_starts *starts, const struct adl_engine *base, const struct adl_recent *recent,
                     uint64_t seed, uint32_t slot, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(base);
    if (grow(starts, state))
        return adl_fail(err, ADL_ENOMEM, "out of memory for start times of %u waiting jobs", state->queue.count);
    list_targets(starts, state, slot);
    starts->base = base;
    starts->recent = recent;
    starts->seed = seed;
    starts->future = 0;
    starts->made_us = state->now_us;
    starts->events = 0;
    return 0;
}

void adl_starts_sort(struct adl_starts *starts)
{
    for (uint32_t t = 0; t < starts->target_count; t++) {
        qsort(starts->targets[t].starts_us, starts->future, sizeof(int64_t), compare_times);
        qsort(starts->targets[t].ends_us, starts->future, sizeof(int64_t), compare_times);
    }
}

int adl_starts_refresh(struct adl_starts *starts, const struct adl_engine *base, const struct adl_recent *recent,
                       uint64_t seed, uint32_t slot, struct adl_error *err)
{
    int status = adl_starts_begin(starts, base, recent, seed, slot, err);
    while (status == 0 && starts->target_count > 0 && starts->future < starts->config.futures)
        status = adl_starts_play(starts, err);
    if (status == 0)
        adl_starts_sort(starts);
    return status;
}

uint32_t adl_starts_futures(const struct adl_starts *starts)
{
    return starts->future;
}

static const struct target *target_of(const struct adl_starts *starts, uint32_t slot)
{
    const uint32_t at = slot < starts->slot_capacity ? starts->of_slot[slot] : ADL_NONE;
    return at == ADL_NONE ? NULL : &starts->targets[at];
}

const int64_t *adl_starts_of(const struct adl_starts *starts, uint32_t slot)
{
    const struct target *target = target_of(starts, slot);
    return target ? target->starts_us : NULL;
}

const int64_t *adl_ends_of(const struct adl_starts *starts, uint32_t slot)
{
    const struct target *target = target_of(starts, slot);
    return target ? target->ends_us : NULL;
}

int64_t adl_starts_made_us(const struct adl_starts *starts)
{
    return starts->made_us;
}

uint64_t adl_starts_events(const struct adl_starts *starts)
{
    return starts->events;
}
