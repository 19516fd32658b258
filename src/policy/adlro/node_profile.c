#include "policy/adlro/node_profile.h"

#include <string.h>

#define PLANNED_MAX 24 /* jobs planned on a node in one decision */

uint32_t adl_node_profile_steps(const struct adl_node *node)
{
    return 1 + ADL_GPU_JOBS_MAX * node->gpu_count + 2 * PLANNED_MAX;
}

/* ---- steps ---- */

/* The step that begins at that time, added if there is none. There is room. */
static uint32_t step_at(struct adl_node_profile *node, int64_t time_us)
{
    struct adl_step *steps = node->steps;
    if (steps[0].time_us >= time_us)
        return 0;
    uint32_t at = node->count;
    while (steps[at - 1].time_us > time_us)
        at--;
    if (steps[at - 1].time_us == time_us)
        return at - 1;
    for (uint32_t i = node->count; i > at; i--) /* few: calls would cost more than they move */
        steps[i] = steps[i - 1];
    const size_t from = (size_t)(at - 1) * node->banks;
    int32_t *gpus = &node->gpus[node->banks];
    for (size_t i = (size_t)node->count * node->banks; i-- > from;)
        gpus[i] = node->gpus[i];
    steps[at] = steps[at - 1];
    steps[at].time_us = time_us;
    node->count++;
    return at;
}

static void add_host(struct adl_node_profile *node, uint32_t from, uint32_t to, const struct adl_job_spec *spec,
                     int32_t gpus)
{
    for (uint32_t i = from; i < to; i++) {
        node->steps[i].cores += gpus * spec->cpu_cores;
        node->steps[i].memory_mib += gpus * spec->memory_mib;
    }
}

static void add_gpus(struct adl_node_profile *node, uint32_t from, uint32_t to, uint32_t bank, int32_t gpus)
{
    for (uint32_t i = from; i < to; i++)
        node->gpus[(size_t)i * node->banks + bank] += gpus;
}

void adl_node_profile_unplan(struct adl_node_profile *node)
{
    node->steps = node->base;
    node->gpus = node->base_gpus;
    node->count = node->base_count;
    node->full = false;
    node->reserved = false;
}

void adl_node_profile_read(struct adl_node_profile *node, const struct adl_state *state, uint32_t number,
                           int64_t (*end_us)(const void *context, const struct adl_state *state, uint32_t slot),
                           const void *context)
{
    const struct adl_cluster *cluster = state->cluster;
    node->base_count = 1;
    adl_node_profile_unplan(node);
    node->steps[0] =
        (struct adl_step){state->now_us, state->nodes_use[number].free_cores, state->nodes_use[number].free_memory_mib};
    for (uint32_t b = 0; b < node->banks; b++)
        node->gpus[b] = (int32_t)adl_pool_bank_free(&state->pool, node->bank_first + b);
    const struct adl_node *it = &cluster->nodes[number];
    uint32_t last = ADL_NONE; /* the job of the last GPU, which is mostly that of the next */
    int64_t last_us = 0;
    for (uint32_t g = it->gpu_first; g < it->gpu_first + it->gpu_count; g++) {
        const struct adl_gpu_use *use = &state->gpus[g];
        int64_t free_us = 0;
        uint32_t free_at = 0; /* the step of free_us */
        for (uint32_t i = 0; i < ADL_GPU_JOBS_MAX && use->job[i] != ADL_NONE; i++) {
            const int64_t leaves_us = use->job[i] == last ? last_us : end_us(context, state, use->job[i]);
            last = use->job[i];
            last_us = leaves_us;
            const uint32_t at = step_at(node, leaves_us);
            add_host(node, at, node->count, &state->jobs[use->job[i]].spec, 1);
            free_at = leaves_us > free_us ? at : step_at(node, free_us);
            free_us = leaves_us > free_us ? leaves_us : free_us;
        }
        if (free_us > 0 && !use->down)
            add_gpus(node, free_at, node->count, cluster->gpu_bank[g] - node->bank_first, 1);
    }
    node->base_count = node->count;
}

static int32_t at_most(int32_t usable, int32_t have, int32_t each)
{
    return each > 0 && (int64_t)each * usable > have ? (have > 0 ? have : 0) / each : usable;
}

/* GPUs of a bank that such a job could use in a step. */
static int32_t usable(const struct adl_node_profile *node, uint32_t i, uint32_t bank, const struct adl_job_spec *spec)
{
    const struct adl_step *step = &node->steps[i];
    const int32_t gpus = node->full ? 0 : node->gpus[(size_t)i * node->banks + (bank - node->bank_first)];
    return at_most(at_most(gpus > 0 ? gpus : 0, step->cores, spec->cpu_cores), step->memory_mib, spec->memory_mib);
}

/* The step that covers a time. */
static uint32_t step_of(const struct adl_node_profile *node, int64_t time_us)
{
    uint32_t at = 0;
    while (at + 1 < node->count && node->steps[at + 1].time_us <= time_us)
        at++;
    return at;
}

/* ---- openings ---- */

static void offer(const struct adl_node_profile *node, uint32_t step, uint16_t gpus, struct adl_opening *opening,
                  int64_t now_us, double delay_weight, struct adl_opening *best)
{
    const uint32_t bank = opening->bank - node->bank_first;
    opening->spare = (uint32_t)(node->gpus[(size_t)step * node->banks + bank] - gpus);
    adl_opening_offer(opening, now_us, delay_weight, best);
}

/* What a job needs of one bank and its node. */
struct need {
    int32_t gpus;
    int64_t cores, memory_mib;
};

static struct need need_of(const struct adl_job_spec *spec)
{
    return (struct need){spec->gpus, spec->cpu_cores > 0 ? (int64_t)spec->cpu_cores * spec->gpus : INT64_MIN,
                         spec->memory_mib > 0 ? (int64_t)spec->memory_mib * spec->gpus : INT64_MIN};
}

/* A step of a bank lacks something. gpus: those of that step. */
static inline bool lacks(const struct adl_step *step, int32_t gpus, const struct need *need)
{
    return gpus < need->gpus || step->cores < need->cores || step->memory_mib < need->memory_mib;
}

/* The first step from which such a job finds its GPUs for all its run time; the number of steps if there is none.
 * *ret_gap: the first step that lacks something, if the job could begin in the first; else 0. */
static uint32_t first_fit(const struct adl_node_profile *node, uint32_t bank, const struct need *need, int64_t run_us,
                          int64_t now_us, uint32_t *ret_gap)
{
    const struct adl_step *steps = node->steps;
    const int32_t *gpus = &node->gpus[bank - node->bank_first];
    const uint32_t count = node->full ? 0 : node->count, banks = node->banks;
    uint32_t i = 0;
    *ret_gap = 0;
    for (;;) {
        for (; i < count && lacks(&steps[i], *gpus, need); gpus += banks)
            i++;
        if (i == count)
            return node->count;
        const uint32_t from = i;
        const int64_t end_us = (steps[from].time_us > now_us ? steps[from].time_us : now_us) + run_us;
        do {
            gpus += banks;
            if (++i == count || steps[i].time_us >= end_us)
                return from;
        } while (!lacks(&steps[i], *gpus, need));
        *ret_gap = from == 0 ? i : *ret_gap;
    }
}

int64_t adl_node_profile_find(const struct adl_node_profile *node, uint32_t bank, const struct adl_job_spec *spec,
                              int64_t run_us, int64_t now_us, double delay_weight, struct adl_opening *best)
{
    struct adl_opening opening = {.start_us = now_us, .run_us = run_us, .bank = bank};
    const struct need need = need_of(spec);
    uint32_t gap;
    const uint32_t at = first_fit(node, bank, &need, run_us, now_us, &gap);
    if (gap > 0 && !node->reserved) { /* a start now delays the job that needs the GPUs from that step on */
        opening.delay_us = now_us + run_us - node->steps[gap].time_us;
        offer(node, 0, spec->gpus, &opening, now_us, delay_weight, best);
        opening.delay_us = 0;
    }
    if (at == node->count)
        return INT64_MAX;
    opening.start_us = at > 0 ? node->steps[at].time_us : now_us;
    offer(node, at, spec->gpus, &opening, now_us, delay_weight, best);
    return opening.start_us;
}

int64_t adl_node_profile_start_now(const struct adl_node_profile *node, uint32_t bank, const struct adl_job_spec *spec,
                                   int64_t run_us, int64_t now_us)
{
    const struct adl_step *steps = node->steps;
    const int32_t *gpus = &node->gpus[bank - node->bank_first];
    const struct need need = need_of(spec);
    if (node->full)
        return INT64_MAX;
    for (uint32_t i = 0; i < node->count && (i == 0 || steps[i].time_us < now_us + run_us); i++, gpus += node->banks)
        if (lacks(&steps[i], *gpus, &need))
            return i + 1 < node->count ? steps[i + 1].time_us : INT64_MAX;
    return now_us;
}

uint32_t adl_node_profile_has(const struct adl_node_profile *node, uint32_t bank, const struct adl_job_spec *spec,
                              int64_t start_us, int64_t end_us)
{
    uint32_t i = step_of(node, start_us);
    int32_t least = usable(node, i, bank, spec);
    while (++i < node->count && node->steps[i].time_us < end_us && least > 0) {
        const int32_t has = usable(node, i, bank, spec);
        least = has < least ? has : least;
    }
    return (uint32_t)least;
}

/* ---- planning ---- */

/* From here on planned jobs are in the steps. */
static void begin_planning(struct adl_node_profile *node, int64_t now_us)
{
    if (node->steps == node->planned)
        return;
    memcpy(node->planned, node->base, node->base_count * sizeof *node->base);
    memcpy(node->planned_gpus, node->base_gpus, (size_t)node->base_count * node->banks * sizeof *node->base_gpus);
    node->steps = node->planned;
    node->gpus = node->planned_gpus;
    node->steps[0].time_us = now_us; /* it was read earlier */
}

void adl_node_profile_take(struct adl_node_profile *node, uint32_t bank, const struct adl_job_spec *spec, uint32_t gpus,
                           int64_t start_us, int64_t end_us, int64_t now_us)
{
    begin_planning(node, now_us);
    node->full |= node->count + 2 > node->capacity;
    if (node->full)
        return;
    const uint32_t from = step_at(node, start_us), to = step_at(node, end_us);
    add_host(node, from, to, spec, -(int32_t)gpus);
    add_gpus(node, from, to, bank - node->bank_first, -(int32_t)gpus);
}

void adl_node_profile_ready(const struct adl_node_profile *node, uint32_t bank, uint32_t count, int64_t *ret,
                            size_t stride)
{
    uint32_t ready = 0;
    for (uint32_t i = 0; i < node->count && ready < count && !node->full; i++)
        for (const int32_t has = node->gpus[(size_t)i * node->banks + (bank - node->bank_first)];
             ready < count && (int32_t)ready < has; ready++)
            ret[ready * stride] = node->steps[i].time_us;
    for (; ready < count; ready++)
        ret[ready * stride] = INT64_MAX;
}
