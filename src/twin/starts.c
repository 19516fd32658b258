#include "twin/starts.h"

#include "base/index.h"
#include "twin/alternatives.h"

#include <stdlib.h>

struct target {
    uint32_t slot;
    uint64_t id;
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
    uint32_t future; /* that is played */
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
        starts->left -= !starts->config.ends;
    }
    return 0;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_starts *starts = self;
    struct target *target = event->kind == ADL_EVENT_FINISH ? find(starts, event->job, state) : NULL;
    if (target && state->jobs[event->job].phase != ADL_PHASE_PENDING && /* an alternative that was not taken */
        target->ends_us[starts->future] == ADL_NEVER_US) {
        target->ends_us[starts->future] = event->time_us;
        starts->left -= starts->config.ends;
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
            (struct target){slot, state->jobs[slot].spec.id, times_us, times_us + futures};
    }
}

static int play(struct adl_starts *starts, const struct adl_future *future, struct adl_error *err)
{
    int status = adl_fork_begin(starts->fork, future, err);
    struct adl_engine *engine = adl_fork_engine(starts->fork);
    const struct adl_state *state = adl_engine_state(engine);
    const struct adl_engine_counts *counts = adl_engine_counts(engine);
    const uint64_t before = counts->events, most = starts->config.events_max;
    starts->future = future->number;
    starts->left = starts->target_count;
    for (int more = 1; status == 0 && more > 0 && starts->left > 0 && state->now_us < future->until_us &&
                       (most == 0 || counts->events - before < most);) {
        more = adl_engine_step(engine, err);
        status = more < 0 ? more : 0;
    }
    starts->events += counts->events - before;
    return status;
}

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int adl_starts_refresh(struct adl_starts *starts, const struct adl_engine *base, const struct adl_recent *recent,
                       uint64_t seed, uint32_t slot, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(base);
    const uint32_t futures = starts->config.futures;
    if (grow(starts, state))
        return adl_fail(err, ADL_ENOMEM, "out of memory for start times of %u waiting jobs", state->queue.count);
    list_targets(starts, state, slot);
    starts->made_us = state->now_us;
    starts->events = 0;
    int status = 0;
    for (uint32_t i = 0; i < futures && status == 0 && starts->target_count > 0; i++) {
        const struct adl_future future = {.base = base,
                                          .recent = recent,
                                          .seed = seed,
                                          .number = i,
                                          .count = futures,
                                          .until_us = state->now_us + (int64_t)(starts->config.horizon_s * 1e6)};
        status = play(starts, &future, err);
    }
    for (uint32_t t = 0; t < starts->target_count && status == 0; t++) {
        qsort(starts->targets[t].starts_us, futures, sizeof(int64_t), compare_times);
        qsort(starts->targets[t].ends_us, futures, sizeof(int64_t), compare_times);
    }
    return status;
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
