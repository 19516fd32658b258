#include "twin/window.h"

#include "base/hash.h"
#include "base/index.h"
#include "twin/alternatives.h"

#include <stdlib.h>

#define TYPICAL_SHARE 0.05 /* of each ended job in the usual run time */

struct adl_window {
    const struct adl_cluster *cluster;
    bool open;
    int64_t begin_us, half_us, end_us; /* half_us: 0 while the first half lasts */
    double typical_us;
    struct adl_window_job *jobs;
    size_t job_capacity;
    uint32_t job_count, first; /* the first that came after the anchor */
    uint32_t *anchored;        /* [slot] at the anchor */
    uint32_t *of_slot;         /* [slot] now */
    size_t anchored_capacity, slot_capacity;
    struct adl_alternatives alternatives; /* of the anchor */
    struct adl_window_fault *faults;
    size_t fault_capacity;
    uint32_t fault_count;
};

int adl_window_create(const struct adl_cluster *cluster, struct adl_window **ret)
{
    struct adl_window *window = calloc(1, sizeof *window);
    if (!window)
        return ADL_ENOMEM;
    window->cluster = cluster;
    *ret = window;
    return 0;
}

void adl_window_destroy(struct adl_window *window)
{
    if (!window)
        return;
    free(window->jobs);
    free(window->anchored);
    free(window->of_slot);
    free(window->faults);
    adl_alternatives_clear(&window->alternatives);
    free(window);
}

/* ---- records ---- */

static int grow_slots(uint32_t **slots, size_t *capacity, size_t count)
{
    const size_t known = *capacity;
    if (adl_grow((void **)slots, capacity, count, sizeof **slots))
        return ADL_ENOMEM;
    for (size_t i = known; i < *capacity; i++)
        (*slots)[i] = ADL_NONE;
    return 0;
}

static int add_job(struct adl_window *window, const struct adl_job_spec *spec, uint32_t slot, int64_t submit_us)
{
    if (adl_grow((void **)&window->jobs, &window->job_capacity, (size_t)window->job_count + 1, sizeof *window->jobs) ||
        grow_slots(&window->of_slot, &window->slot_capacity, (size_t)slot + 1))
        return ADL_ENOMEM;
    window->of_slot[slot] = window->job_count;
    window->jobs[window->job_count++] =
        (struct adl_window_job){.past = {.spec = *spec, .submit_us = submit_us, .slot = slot},
                                .end_us = INT64_MAX,
                                .counts = window->half_us == 0};
    return 0;
}

static int add_fault(struct adl_window *window, uint32_t gpu, int64_t from_us)
{
    if (adl_grow((void **)&window->faults, &window->fault_capacity, (size_t)window->fault_count + 1,
                 sizeof *window->faults))
        return ADL_ENOMEM;
    window->faults[window->fault_count++] = (struct adl_window_fault){gpu, from_us, INT64_MAX};
    return 0;
}

static void end_fault(struct adl_window *window, uint32_t gpu, int64_t to_us)
{
    for (uint32_t i = 0; i < window->fault_count; i++)
        if (window->faults[i].gpu == gpu && window->faults[i].to_us == INT64_MAX)
            window->faults[i].to_us = to_us;
}

/* A job that accepts several demands is in several slots: it is one job, and the first of them stands for it. */
static int submit(struct adl_window *window, const struct adl_event *event)
{
    const uint32_t last = window->job_count - 1;
    const int64_t since_us = event->submit.since_us > 0 ? event->submit.since_us : event->time_us;
    if (grow_slots(&window->of_slot, &window->slot_capacity, (size_t)event->job + 1))
        return ADL_ENOMEM;
    if (window->job_count > 0 && window->jobs[last].past.spec.id == event->submit.spec->id &&
        window->jobs[last].end_us == INT64_MAX) {
        window->of_slot[event->job] = last;
        return 0;
    }
    return add_job(window, event->submit.spec, event->job, since_us > window->begin_us ? since_us : event->time_us);
}

static void finish(struct adl_window *window, const struct adl_event *event, const struct adl_state *state)
{
    const uint32_t index = event->job < window->slot_capacity ? window->of_slot[event->job] : ADL_NONE;
    const struct adl_job *live = &state->jobs[event->job];
    if (index == ADL_NONE)
        return;
    window->of_slot[event->job] = ADL_NONE;
    struct adl_window_job *job = &window->jobs[index];
    if (live->phase == ADL_PHASE_PENDING)
        for (uint32_t slot = 0; slot < window->slot_capacity; slot++)
            if (window->of_slot[slot] == index) { /* another of its demands waits or runs */
                job->past.slot = slot;
                return;
            }
    adl_recent_learn(&job->past, event, state);
    job->end_us = event->time_us;
    job->completed = event->outcome.end == ADL_END_COMPLETED;
    if (event->outcome.end == ADL_END_TIMEOUT && live->spec.limit_us > 0)
        job->past.work_us = 1e3 * (double)live->spec.limit_us; /* it would have run on */
    if (live->phase != ADL_PHASE_PENDING && event->time_us > live->start_us) {
        const double run_us = (double)(event->time_us - live->start_us + live->attained_us);
        window->typical_us += (window->typical_us > 0 ? TYPICAL_SHARE : 1) * (run_us - window->typical_us);
    }
}

static int observe(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_window *window = self;
    if (!window->open)
        return 0;
    const int64_t first_us = event->time_us - window->begin_us;
    if (window->half_us == 0 && window->job_count - window->first >= ADL_WINDOW_JOBS && window->typical_us > 0 &&
        (double)first_us >= ADL_WINDOW_RUNS * window->typical_us)
        window->half_us = event->time_us;
    if (event->kind == ADL_EVENT_SUBMIT)
        return submit(window, event);
    if (event->kind == ADL_EVENT_FINISH && event->job < state->job_capacity &&
        state->jobs[event->job].phase != ADL_PHASE_NONE)
        finish(window, event, state);
    else if (event->kind == ADL_EVENT_GPU_DOWN && event->gpu < window->cluster->gpu_count)
        return add_fault(window, event->gpu, event->time_us);
    else if (event->kind == ADL_EVENT_GPU_UP)
        end_fault(window, event->gpu, event->time_us);
    return 0;
}

struct adl_observer adl_window_observer(struct adl_window *window)
{
    return (struct adl_observer){.self = window, .event = observe};
}

/* ---- begin and end ---- */

/* A job that waits in several slots is one job. */
static int anchor_job(struct adl_window *window, const struct adl_job *job, uint32_t slot)
{
    const uint32_t *next = window->alternatives.next;
    uint32_t other = next[slot];
    while (other != slot && window->anchored[other] == ADL_NONE)
        other = next[other];
    if (other == slot) {
        window->anchored[slot] = window->job_count;
        return add_job(window, &job->spec, slot, job->submit_us);
    }
    if (grow_slots(&window->of_slot, &window->slot_capacity, (size_t)slot + 1))
        return ADL_ENOMEM;
    window->anchored[slot] = window->of_slot[slot] = window->anchored[other];
    return 0;
}

int adl_window_begin(struct adl_window *window, const struct adl_state *state)
{
    window->open = true;
    window->begin_us = state->now_us;
    window->half_us = window->end_us = 0;
    window->job_count = window->fault_count = 0;
    if (grow_slots(&window->anchored, &window->anchored_capacity, state->job_capacity + 1) ||
        adl_alternatives_list(&window->alternatives, state))
        return ADL_ENOMEM;
    for (size_t i = 0; i < window->slot_capacity; i++)
        window->of_slot[i] = ADL_NONE;
    for (size_t i = 0; i < window->anchored_capacity; i++)
        window->anchored[i] = ADL_NONE;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase != ADL_PHASE_NONE && anchor_job(window, &state->jobs[slot], slot))
            return ADL_ENOMEM;
    window->first = window->job_count;
    for (uint32_t g = 0; g < window->cluster->gpu_count; g++)
        if (state->gpus[g].down && add_fault(window, g, state->now_us))
            return ADL_ENOMEM;
    return 0;
}

bool adl_window_full(const struct adl_window *window, int64_t now_us)
{
    return window->half_us > 0 && now_us - window->half_us >= window->half_us - window->begin_us;
}

/* What is left of a job that has not ended. */
static void draw_rest(struct adl_window_job *job, const struct adl_state *state, uint64_t seed)
{
    const uint32_t slot = job->past.slot;
    const uint64_t hash = adl_hash_u64(adl_hash_u64(adl_hash_start(), seed), job->past.spec.id);
    const double done_us = adl_belief_done_us(state->belief, state, slot);
    const double rest_us = adl_belief_quantile_us(state->belief, slot, done_us, (double)(hash >> 11) * 0x1.0p-53);
    job->past.work_us = done_us + (rest_us < ADL_REMAINING_MAX_US ? rest_us : ADL_REMAINING_MAX_US) + 1;
    for (uint32_t t = 0; t < state->cluster->type_count; t++) {
        job->past.here[t] = (float)adl_belief_type_factor(state->belief, state, slot, t, false);
        job->past.across[t] = (float)adl_belief_type_factor(state->belief, state, slot, t, true);
    }
}

void adl_window_close(struct adl_window *window, const struct adl_state *state, uint64_t seed)
{
    window->open = false;
    window->end_us = state->now_us;
    for (uint32_t i = 0; i < window->job_count; i++) {
        struct adl_window_job *job = &window->jobs[i];
        const bool live = job->past.slot < state->job_capacity && state->jobs[job->past.slot].phase != ADL_PHASE_NONE &&
                          state->jobs[job->past.slot].spec.id == job->past.spec.id;
        if (job->end_us == INT64_MAX && live)
            draw_rest(job, state, seed);
        else if (job->end_us == INT64_MAX)
            job->past.work_us = 1; /* it left unseen */
    }
    for (uint32_t i = 0; i < window->fault_count; i++) /* nobody knows when those that are down will be repaired */
        if (window->faults[i].to_us == INT64_MAX)
            window->faults[i].to_us = window->end_us + 1;
}

/* ---- reads ---- */

double adl_window_typical_us(const struct adl_window *window)
{
    return window->typical_us;
}

void adl_window_set_typical_us(struct adl_window *window, double typical_us)
{
    window->typical_us = typical_us;
}

int64_t adl_window_begin_us(const struct adl_window *window)
{
    return window->begin_us;
}

int64_t adl_window_end_us(const struct adl_window *window)
{
    return window->end_us;
}

uint32_t adl_window_count(const struct adl_window *window)
{
    return window->job_count;
}

const struct adl_window_job *adl_window_job(const struct adl_window *window, uint32_t index)
{
    return &window->jobs[index];
}

uint32_t adl_window_first(const struct adl_window *window)
{
    return window->first;
}

uint32_t adl_window_at_slot(const struct adl_window *window, uint32_t slot)
{
    return slot < window->anchored_capacity ? window->anchored[slot] : ADL_NONE;
}

uint32_t adl_window_faults(const struct adl_window *window, const struct adl_window_fault **ret)
{
    *ret = window->faults;
    return window->fault_count;
}
