#include "policy/adlro/profile.h"

#include "model/scenario.h"
#include "policy/adlro/effort.h"
#include "policy/adlro/rest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the time that a running job has left: so long its end is taken to be the same, where effort is saved. */
#define KEPT_SHARE 0.0625

/* The banks of one type. */
struct type_banks {
    uint32_t *banks;
    uint32_t count, widest;
    int64_t *ready; /* [(n - 1) * count + index] when a bank first has n free GPUs: no opening for n is earlier */
};

/* What was found of a bank: no opening for a job that needs as much or more, and starts later than now, is earlier.
 * Jobs that are planned only make it later. */
struct bank_bound {
    int64_t run_us, start_us; /* start_us 0: nothing was found */
    int32_t gpus, cores, memory_mib;
};

/* Of a running job: when it is believed to end, for as long as that is taken to be the same. */
struct known_end {
    uint32_t slot;
    int phase;
    int64_t start_us, until_us, end_us;
};

struct adl_free_profile {
    const struct adl_cluster *cluster;
    const struct adl_state *state;
    int64_t switch_us;
    const struct adl_corrections *corrections;
    struct adl_node_profile *nodes;
    struct type_banks types[ADL_TYPES_MAX];
    uint32_t *index;           /* [bank] in its type */
    struct known_end *ends;    /* [first GPU of the job] */
    uint64_t *known;           /* [bank] free GPUs when its node was read */
    uint8_t *free_in;          /* [bank] their number */
    struct bank_bound *bounds; /* [bank] */
    uint32_t *planned;         /* nodes with planned jobs */
    uint32_t planned_count;
    uint32_t free_now[ADL_TYPES_MAX];
    uint32_t offered;        /* mask of types whose free GPUs are on offer */
    uint32_t reserved_types; /* mask of types with a planned job that no start may delay */
    int64_t *earliest;       /* scratch of find_spanning */
    struct adl_step *steps;
    int32_t *gpus;
    int64_t *ready;
    uint32_t *banks;
    size_t step_count, gpu_count, ready_count; /* of these */
};

void adl_free_profile_destroy(struct adl_free_profile *profile)
{
    if (!profile)
        return;
    free(profile->nodes);
    free(profile->index);
    free(profile->ends);
    free(profile->known);
    free(profile->free_in);
    free(profile->bounds);
    free(profile->planned);
    free(profile->earliest);
    free(profile->steps);
    free(profile->gpus);
    free(profile->ready);
    free(profile->banks);
    free(profile);
}

static size_t ready_rows(const struct adl_cluster *cluster, struct type_banks *types)
{
    size_t size = 0;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        struct type_banks *type = &types[cluster->banks[b].type];
        type->count++;
        type->widest = cluster->banks[b].gpu_count > type->widest ? cluster->banks[b].gpu_count : type->widest;
    }
    for (uint32_t t = 0; t < cluster->type_count; t++)
        size += (size_t)types[t].count * types[t].widest;
    return size;
}

static void list_types(struct adl_free_profile *profile)
{
    const struct adl_cluster *cluster = profile->cluster;
    uint32_t *banks = profile->banks;
    int64_t *ready = profile->ready;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        struct type_banks *type = &profile->types[t];
        uint32_t count = 0;
        type->banks = banks;
        type->ready = ready;
        for (uint32_t b = 0; b < cluster->bank_count; b++)
            if (cluster->banks[b].type == t) {
                profile->index[b] = count;
                type->banks[count++] = b;
            }
        banks += count;
        ready += (size_t)count * type->widest;
    }
}

static void list_nodes(struct adl_free_profile *profile)
{
    struct adl_step *steps = profile->steps;
    int32_t *gpus = profile->gpus;
    for (uint32_t n = 0; n < profile->cluster->node_count; n++) {
        const struct adl_node *it = &profile->cluster->nodes[n];
        const uint32_t room = adl_node_profile_steps(it);
        profile->nodes[n] = (struct adl_node_profile){.base = steps,
                                                      .planned = steps + room,
                                                      .base_gpus = gpus,
                                                      .planned_gpus = gpus + (size_t)room * it->bank_count,
                                                      .capacity = room,
                                                      .banks = it->bank_count,
                                                      .bank_first = it->bank_first,
                                                      .stale = true};
        steps += (size_t)2 * room;
        gpus += (size_t)2 * room * it->bank_count;
    }
}

int adl_free_profile_create(const struct adl_cluster *cluster, const struct adl_corrections *corrections,
                            int64_t switch_us, struct adl_free_profile **ret)
{
    struct adl_free_profile *profile = calloc(1, sizeof *profile);
    size_t steps = 1, gpus = 1;
    if (!profile)
        return ADL_ENOMEM;
    profile->cluster = cluster;
    profile->switch_us = switch_us;
    profile->corrections = corrections;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const size_t room = adl_node_profile_steps(&cluster->nodes[n]);
        steps += 2 * room;
        gpus += 2 * room * cluster->nodes[n].bank_count;
    }
    profile->nodes = calloc((size_t)cluster->node_count + 1, sizeof *profile->nodes);
    profile->step_count = steps;
    profile->gpu_count = gpus;
    profile->ready_count = ready_rows(cluster, profile->types) + 1;
    profile->steps = calloc(steps, sizeof *profile->steps);
    profile->gpus = calloc(gpus, sizeof *profile->gpus);
    profile->ready = calloc(profile->ready_count, sizeof *profile->ready);
    profile->banks = calloc((size_t)cluster->bank_count + 1, sizeof *profile->banks);
    profile->ends = calloc((size_t)cluster->gpu_count + 1, sizeof *profile->ends);
    profile->index = calloc((size_t)cluster->bank_count + 1, sizeof *profile->index);
    profile->known = calloc((size_t)cluster->bank_count + 1, sizeof *profile->known);
    profile->free_in = calloc((size_t)cluster->bank_count + 1, sizeof *profile->free_in);
    profile->bounds = calloc((size_t)cluster->bank_count + 1, sizeof *profile->bounds);
    profile->planned = calloc((size_t)cluster->node_count + 1, sizeof *profile->planned);
    profile->earliest = calloc((size_t)ADL_JOB_GPUS_MAX + 1, sizeof *profile->earliest);
    if (!profile->ends || !profile->nodes || !profile->steps || !profile->gpus || !profile->ready || !profile->banks ||
        !profile->index || !profile->known || !profile->free_in || !profile->bounds || !profile->planned ||
        !profile->earliest) {
        adl_free_profile_destroy(profile);
        return ADL_ENOMEM;
    }
    list_types(profile);
    list_nodes(profile);
    *ret = profile;
    return 0;
}

/* A node's steps lie in the profile's arrays: at the same place in both. */
static void copy_node(struct adl_node_profile *to, const struct adl_node_profile *from)
{
    const struct adl_node_profile own = *to;
    *to = *from;
    to->base = own.base;
    to->planned = own.planned;
    to->base_gpus = own.base_gpus;
    to->planned_gpus = own.planned_gpus;
    to->steps = from->steps == from->planned ? own.planned : from->steps ? own.base : NULL;
    to->gpus = from->gpus == from->planned_gpus ? own.planned_gpus : from->gpus ? own.base_gpus : NULL;
}

void adl_free_profile_copy(struct adl_free_profile *to, const struct adl_free_profile *from)
{
    const struct adl_cluster *cluster = from->cluster;
    const size_t banks = cluster->bank_count;
    for (uint32_t n = 0; n < cluster->node_count; n++)
        copy_node(&to->nodes[n], &from->nodes[n]);
    memcpy(to->steps, from->steps, from->step_count * sizeof *to->steps);
    memcpy(to->gpus, from->gpus, from->gpu_count * sizeof *to->gpus);
    memcpy(to->ready, from->ready, from->ready_count * sizeof *to->ready);
    memcpy(to->ends, from->ends, cluster->gpu_count * sizeof *to->ends);
    memcpy(to->known, from->known, banks * sizeof *to->known);
    memcpy(to->free_in, from->free_in, banks * sizeof *to->free_in);
    memcpy(to->bounds, from->bounds, banks * sizeof *to->bounds);
    memcpy(to->planned, from->planned, from->planned_count * sizeof *to->planned);
    to->planned_count = from->planned_count;
    memcpy(to->free_now, from->free_now, sizeof to->free_now);
}

/* ---- reading the state ---- */

static int64_t end_us(const void *context, const struct adl_state *state, uint32_t slot)
{
    const struct adl_free_profile *profile = context;
    const struct adl_job *job = &state->jobs[slot];
    struct known_end *known = &profile->ends[job->first_gpu];
    if (known->slot == slot && known->start_us == job->start_us && known->phase == job->phase &&
        state->now_us < known->until_us)
        return known->end_us;
    const int64_t end = adl_rest_end_us(profile->corrections, state, slot, profile->switch_us);
    if (adl_effort_is_saved(profile->cluster))
        *known = (struct known_end){slot, job->phase, job->start_us,
                                    state->now_us + (int64_t)(KEPT_SHARE * (double)(end - state->now_us)), end};
    return end;
}

static void index_node(struct adl_free_profile *profile, const struct adl_node_profile *node)
{
    for (uint32_t b = node->bank_first; b < node->bank_first + node->banks; b++) {
        const struct adl_bank *bank = &profile->cluster->banks[b];
        const struct type_banks *type = &profile->types[bank->type];
        adl_node_profile_ready(node, b, bank->gpu_count, &type->ready[profile->index[b]], type->count);
        for (uint32_t n = bank->gpu_count; n < type->widest; n++)
            type->ready[(size_t)n * type->count + profile->index[b]] = INT64_MAX;
    }
}

static void forget_bounds(struct adl_free_profile *profile, const struct adl_node_profile *node)
{
    for (uint32_t b = node->bank_first; b < node->bank_first + node->banks; b++)
        profile->bounds[b].start_us = 0;
}

void adl_free_profile_forget_job(struct adl_free_profile *profile, const struct adl_state *state, uint32_t slot)
{
    if (state->jobs[slot].phase < ADL_PHASE_RUNNING)
        return;
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        profile->nodes[adl_gpu_node_of(state->cluster, gpu)].stale = true;
}

static bool node_changed(const struct adl_free_profile *profile, const struct adl_node_profile *node)
{
    bool changed = adl_node_profile_outdated(node, profile->state->now_us);
    for (uint32_t b = node->bank_first; b < node->bank_first + node->banks; b++)
        changed |= profile->known[b] != profile->state->pool.free_mask[b];
    return changed;
}

void adl_free_profile_begin(struct adl_free_profile *profile, const struct adl_state *state, bool all)
{
    profile->state = state;
    for (uint32_t i = 0; i < profile->planned_count; i++) {
        adl_node_profile_unplan(&profile->nodes[profile->planned[i]]);
        index_node(profile, &profile->nodes[profile->planned[i]]);
        forget_bounds(profile, &profile->nodes[profile->planned[i]]);
    }
    profile->planned_count = 0;
    profile->reserved_types = 0;
    for (uint32_t n = 0; n < profile->cluster->node_count; n++) {
        struct adl_node_profile *node = &profile->nodes[n];
        if (!node_changed(profile, node))
            continue;
        adl_node_profile_read(node, state, n, end_us, profile);
        index_node(profile, node);
        forget_bounds(profile, node);
        for (uint32_t b = node->bank_first; b < node->bank_first + node->banks; b++) {
            profile->known[b] = state->pool.free_mask[b];
            profile->free_in[b] = (uint8_t)adl_pool_bank_free(&state->pool, b);
        }
    }
    profile->offered = 0;
    for (uint32_t t = 0; t < profile->cluster->type_count; t++)
        profile->offered |= (uint32_t)(all || state->pool.free_gpus[t] > profile->free_now[t]) << t;
    memcpy(profile->free_now, state->pool.free_gpus, sizeof profile->free_now);
}

void adl_free_profile_reset(struct adl_free_profile *profile)
{
    profile->planned_count = 0;
    profile->reserved_types = 0;
    list_nodes(profile);
    memset(profile->ends, 0, profile->cluster->gpu_count * sizeof *profile->ends);
}

/* ---- openings ---- */

/* No opening of the bank is earlier. ready_us: when it has the GPUs. */
static int64_t earliest_us(const struct adl_free_profile *profile, const struct adl_job_spec *spec, uint32_t bank,
                           int64_t run_us, int64_t ready_us)
{
    const struct bank_bound *bound = &profile->bounds[bank];
    return bound->start_us > ready_us && profile->free_in[bank] < spec->gpus && run_us >= bound->run_us &&
                   spec->gpus >= bound->gpus && spec->cpu_cores >= bound->cores && spec->memory_mib >= bound->memory_mib
               ? bound->start_us
               : ready_us;
}

static void find_in_bank(struct adl_free_profile *profile, const struct adl_job_spec *spec, uint32_t bank,
                         int64_t run_us, double delay_weight, struct adl_opening *best)
{
    const int64_t start_us = adl_node_profile_find(&profile->nodes[profile->cluster->banks[bank].node], bank, spec,
                                                   run_us, profile->state->now_us, delay_weight, best);
    profile->bounds[bank] = (struct bank_bound){run_us, start_us, spec->gpus, spec->cpu_cores, spec->memory_mib};
}

/* If no bank has the GPUs now: when the opening starts in the bank that may have the first, if that is before until_us.
 */
static int64_t look_ahead(struct adl_free_profile *profile, const struct adl_job_spec *spec,
                          const struct type_banks *type, int64_t run_us, int64_t until_us)
{
    const int64_t *ready = &type->ready[(size_t)(spec->gpus - 1) * type->count];
    int64_t least_us = INT64_MAX;
    uint32_t bank = ADL_NONE;
    for (uint32_t i = 0; i < type->count && least_us > profile->state->now_us; i++) {
        const int64_t time_us = earliest_us(profile, spec, type->banks[i], run_us, ready[i]);
        bank = time_us < least_us ? type->banks[i] : bank;
        least_us = time_us < least_us ? time_us : least_us;
    }
    if (least_us >= until_us || least_us <= profile->state->now_us)
        return least_us;
    struct adl_opening opening = {.start_us = INT64_MAX};
    find_in_bank(profile, spec, bank, run_us, HUGE_VAL, &opening);
    return opening.start_us;
}

/* In one bank. A bank that has the GPUs no earlier than the best opening so far is not looked at. */
static void find_in_banks(struct adl_free_profile *profile, const struct adl_job_spec *spec, uint32_t t, int64_t run_us,
                          double delay_weight, int64_t until_us, struct adl_opening *best)
{
    const struct type_banks *type = &profile->types[t];
    const int64_t now_us = profile->state->now_us;
    if (spec->gpus > type->widest)
        return;
    const int64_t *ready = &type->ready[(size_t)(spec->gpus - 1) * type->count];
    const int64_t ahead_us = look_ahead(profile, spec, type, run_us, until_us);
    if (ahead_us > now_us && ahead_us < until_us)
        until_us = ahead_us + 1; /* an opening has to be earlier */
    for (uint32_t i = 0; i < type->count; i++) {
        const uint32_t b = type->banks[i];
        if (earliest_us(profile, spec, b, run_us, ready[i]) >= until_us ||
            (until_us == now_us + 1 && best->start_us == now_us && profile->free_in[b] >= best->spare + spec->gpus))
            continue;
        find_in_bank(profile, spec, b, run_us, delay_weight, best);
        if (best->start_us == INT64_MAX)
            continue;
        const double wait_us = adl_opening_wait_us(best, now_us, delay_weight);
        if (wait_us == 0 && best->spare == 0)
            return;
        const int64_t before_us = wait_us < ADL_REMAINING_MAX_US ? now_us + 1 + (int64_t)wait_us : INT64_MAX;
        until_us = before_us < until_us ? before_us : until_us;
    }
}

/* The time by which GPUs of a type are free, as many as the gang has: the largest of a heap of the earliest. */
static int64_t gang_ready_us(struct adl_free_profile *profile, const struct type_banks *type, uint32_t gpus)
{
    int64_t *heap = profile->earliest;
    uint32_t count = 0;
    const size_t size = (size_t)type->count * type->widest;
    for (size_t i = 0; i < size; i++) {
        const int64_t time_us = type->ready[i];
        uint32_t at = 0;
        if (count < gpus) {
            for (at = count++; at > 0 && heap[(at - 1) / 2] < time_us; at = (at - 1) / 2)
                heap[at] = heap[(at - 1) / 2];
        } else if (time_us < heap[0]) {
            for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
                child += child + 1 < count && heap[child + 1] > heap[child];
                if (heap[child] <= time_us)
                    break;
                heap[at] = heap[child];
            }
        } else {
            continue;
        }
        heap[at] = time_us;
    }
    return count < gpus ? INT64_MAX : heap[0];
}

/* GPUs of a type that such a job finds, if it starts at a time. */
static uint64_t gpus_from(const struct adl_free_profile *profile, const struct type_banks *type,
                          const struct adl_job_spec *spec, int64_t start_us, int64_t end)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < type->count; i++)
        if (type->ready[i] <= start_us)
            found += adl_node_profile_has(&profile->nodes[profile->cluster->banks[type->banks[i]].node], type->banks[i],
                                          spec, start_us, end);
    return found;
}

/* Across nodes. A later opening counts GPUs alone: cores, memory and planned jobs in between are left out. */
static void find_spanning(struct adl_free_profile *profile, const struct adl_job_spec *spec, uint32_t t, int64_t run_us,
                          double delay_weight, struct adl_opening *best)
{
    const struct type_banks *type = &profile->types[t];
    const int64_t now_us = profile->state->now_us;
    if (best->start_us != INT64_MAX &&
        adl_opening_wait_us(best, now_us, delay_weight) + (double)best->run_us <= (double)run_us)
        return;
    const int64_t ready_us = gang_ready_us(profile, type, spec->gpus);
    struct adl_opening opening = {
        .start_us = ready_us > now_us ? ready_us : now_us, .run_us = run_us, .bank = ADL_NONE};
    if (ready_us == INT64_MAX)
        return;
    if (ready_us <= now_us && gpus_from(profile, type, spec, now_us, now_us + run_us) < spec->gpus) {
        if (gpus_from(profile, type, spec, now_us, now_us) < spec->gpus)
            return; /* cores or memory are missing; when they will be there is not known */
        if (profile->reserved_types >> t & 1)
            return;
        opening.delay_us = run_us;
    }
    const double cost_us = adl_opening_wait_us(&opening, now_us, delay_weight) + (double)run_us;
    if (best->start_us == INT64_MAX || cost_us < adl_opening_wait_us(best, now_us, delay_weight) + (double)best->run_us)
        *best = opening;
}

static int64_t run_us_on(const struct adl_free_profile *profile, uint32_t slot, uint32_t type, double rest_us,
                         bool across)
{
    return 1 + (int64_t)(rest_us * adl_rest_factor(profile->corrections, profile->state, slot, type, across));
}

static bool may_span(const struct adl_job_spec *spec)
{
    return spec->gpus > 1 && spec->flags & ADL_JOB_SPAN;
}

void adl_free_profile_find(struct adl_free_profile *profile, uint32_t slot, uint32_t type, const struct adl_seek *seek,
                           struct adl_opening *ret)
{
    const struct adl_state *state = profile->state;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    const bool spans = may_span(spec);
    const int64_t run_us = run_us_on(profile, slot, type, seek->rest_us, false);
    const int64_t across_us = spans ? run_us_on(profile, slot, type, seek->rest_us, true) : run_us;
    const double wait_us = seek->most_us - seek->each * (double)(run_us < across_us ? run_us : across_us);
    *ret = (struct adl_opening){.start_us = INT64_MAX, .bank = ADL_NONE};
    if (wait_us <= 0)
        return;
    find_in_banks(profile, spec, type, run_us, seek->delay_weight,
                  spans || wait_us >= ADL_REMAINING_MAX_US ? INT64_MAX : state->now_us + 2 + (int64_t)wait_us, ret);
    if (spans && !(state->placement == ADL_PLACEMENT_CONSOLIDATED && ret->start_us != INT64_MAX))
        find_spanning(profile, spec, type, across_us, seek->delay_weight, ret);
}

void adl_free_profile_find_now(struct adl_free_profile *profile, uint32_t slot, uint32_t type, double rest_us,
                               struct adl_opening *ret)
{
    const struct type_banks *it = &profile->types[type];
    const struct adl_job_spec *spec = &profile->state->jobs[slot].spec;
    if (may_span(spec)) {
        adl_free_profile_find(profile, slot, type, &(struct adl_seek){rest_us, HUGE_VAL, 1, HUGE_VAL}, ret);
        return;
    }
    const int64_t run_us = run_us_on(profile, slot, type, rest_us, false);
    *ret = (struct adl_opening){.start_us = INT64_MAX, .bank = ADL_NONE};
    for (uint32_t i = 0; i < it->count && (ret->start_us == INT64_MAX || ret->spare > 0); i++) {
        struct adl_opening opening = {.start_us = INT64_MAX};
        if (profile->free_in[it->banks[i]] < spec->gpus)
            continue;
        find_in_bank(profile, spec, it->banks[i], run_us, HUGE_VAL, &opening);
        if (opening.start_us == profile->state->now_us && opening.delay_us == 0 &&
            (ret->start_us == INT64_MAX || opening.spare < ret->spare))
            *ret = opening;
    }
}

void adl_free_profile_find_in(const struct adl_free_profile *profile, uint32_t slot, uint32_t bank, int64_t run_us,
                              struct adl_opening *ret)
{
    *ret = (struct adl_opening){.start_us = INT64_MAX, .bank = ADL_NONE};
    adl_node_profile_find(&profile->nodes[profile->cluster->banks[bank].node], bank, &profile->state->jobs[slot].spec,
                          run_us, profile->state->now_us, HUGE_VAL, ret);
}

/* ---- taking ---- */

static void write_gpus(struct adl_free_profile *profile, uint32_t b, uint32_t count, uint32_t *ret_gpus)
{
    uint64_t mask = profile->known[b];
    for (uint32_t i = 0; i < count && mask; i++, mask &= mask - 1)
        ret_gpus[i] = profile->cluster->banks[b].gpu_first + (uint32_t)__builtin_ctzll(mask);
    profile->free_in[b] = (uint8_t)(profile->free_in[b] - count);
    profile->known[b] = mask; /* what was read of the node is no longer true */
    profile->nodes[profile->cluster->banks[b].node].stale = true;
    profile->free_now[profile->cluster->banks[b].type] -= count;
}

static void take_in_bank(struct adl_free_profile *profile, uint32_t b, uint32_t gpus, const struct adl_job_spec *spec,
                         const struct adl_opening *opening)
{
    const uint32_t n = profile->cluster->banks[b].node;
    struct adl_node_profile *node = &profile->nodes[n];
    if (node->steps != node->planned)
        profile->planned[profile->planned_count++] = n;
    adl_node_profile_take(node, b, spec, gpus, opening->start_us, opening->start_us + opening->run_us,
                          profile->state->now_us);
    node->reserved |= opening->reserved;
    profile->reserved_types |= (uint32_t)opening->reserved << profile->cluster->banks[b].type;
    index_node(profile, node);
}

/* From the banks that have most, as adl_fit_find does. */
static uint32_t take_spanning(struct adl_free_profile *profile, const struct adl_job_spec *spec, uint32_t t,
                              const struct adl_opening *opening, uint32_t *ret_gpus)
{
    const struct type_banks *type = &profile->types[t];
    const bool now = opening->start_us == profile->state->now_us;
    const int64_t end = opening->start_us + (opening->delay_us > 0 || !now ? 0 : opening->run_us);
    uint32_t found = 0;
    for (uint32_t f = type->widest; f >= 1 && found < spec->gpus; f--)
        for (uint32_t i = 0; i < type->count && found < spec->gpus; i++) {
            const uint32_t b = type->banks[i], left = spec->gpus - found;
            if (type->ready[(size_t)(f - 1) * type->count + i] > opening->start_us)
                continue;
            const uint32_t has =
                adl_node_profile_has(&profile->nodes[profile->cluster->banks[b].node], b, spec, opening->start_us, end);
            const uint32_t gpus = has < left ? has : left;
            if (has < f)
                continue;
            if (now)
                write_gpus(profile, b, gpus, ret_gpus + found);
            take_in_bank(profile, b, gpus, spec, opening);
            found += gpus;
        }
    return found;
}

bool adl_free_profile_take(struct adl_free_profile *profile, uint32_t slot, uint32_t type,
                           const struct adl_opening *opening, uint32_t *ret_gpus)
{
    const struct adl_job_spec *spec = &profile->state->jobs[slot].spec;
    if (opening->bank == ADL_NONE)
        return take_spanning(profile, spec, type, opening, ret_gpus) == spec->gpus;
    if (opening->start_us == profile->state->now_us)
        write_gpus(profile, opening->bank, spec->gpus, ret_gpus);
    take_in_bank(profile, opening->bank, spec->gpus, spec, opening);
    return true;
}

uint32_t adl_free_profile_free_now(const struct adl_free_profile *profile, uint32_t type)
{
    return profile->free_now[type];
}

uint32_t adl_free_profile_offered(const struct adl_free_profile *profile, uint32_t type)
{
    return profile->offered >> type & 1 ? profile->free_now[type] : 0;
}

bool adl_free_profile_room_for(const struct adl_free_profile *profile, uint32_t slot)
{
    const struct adl_job *job = &profile->state->jobs[slot];
    for (uint32_t left = job->eligible & profile->offered; left; left &= left - 1)
        if (profile->free_now[__builtin_ctz(left)] >= job->spec.gpus)
            return true;
    return false;
}

bool adl_free_profile_any_offered(const struct adl_free_profile *profile)
{
    for (uint32_t left = profile->offered; left; left &= left - 1)
        if (profile->free_now[__builtin_ctz(left)] > 0)
            return true;
    return false;
}

struct adl_room adl_free_profile_room(const struct adl_free_profile *profile, uint32_t bank)
{
    const struct adl_node_profile *node = &profile->nodes[profile->cluster->banks[bank].node];
    return (struct adl_room){profile->free_in[bank], node->steps[0].cores, node->steps[0].memory_mib};
}
