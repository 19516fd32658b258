#include "model/scenario.h"
#include "policy/adlro/effort.h"
#include "policy/adlro/profile_internal.h"
#include "policy/adlro/rest.h"

#include <math.h>
#include <string.h>

/* Of the time that a running job has left: so long its end is taken to be the same, where effort is saved. */
#define KEPT_SHARE 0.125

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

/* After a node was read: what it is indexed by while nothing is planned there. */
static void keep_index(struct adl_free_profile *profile, const struct adl_node_profile *node)
{
    for (uint32_t b = node->bank_first; b < node->bank_first + node->banks; b++) {
        const struct type_banks *type = &profile->types[profile->cluster->banks[b].type];
        for (uint32_t n = 0, at = profile->index[b]; n < type->widest; n++, at += type->count)
            type->unplanned[at] = type->ready[at];
    }
}

/* Nothing is planned there any more. */
static void restore_index(struct adl_free_profile *profile, const struct adl_node_profile *node)
{
    for (uint32_t b = node->bank_first; b < node->bank_first + node->banks; b++) {
        const struct type_banks *type = &profile->types[profile->cluster->banks[b].type];
        for (uint32_t n = 0, at = profile->index[b]; n < type->widest; n++, at += type->count)
            type->ready[at] = type->unplanned[at];
    }
}

/* Before openings are looked for among all banks. Until then ready times are lower bounds. */
static void index_behind(struct adl_free_profile *profile)
{
    for (uint32_t i = 0; i < profile->behind_count; i++) {
        profile->is_behind[profile->behind[i]] = false;
        index_node(profile, &profile->nodes[profile->behind[i]]);
    }
    profile->behind_count = 0;
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
        profile->due_us[adl_gpu_node_of(state->cluster, gpu)] = ADL_STALE;
}

/* Nodes in which GPUs were taken or came free. */
static void note_changes(struct adl_free_profile *profile)
{
    const uint64_t *known = profile->known, *now = profile->state->pool.free_mask;
    for (uint32_t b = 0; b < profile->cluster->bank_count; b++)
        if (known[b] != now[b])
            profile->due_us[profile->cluster->banks[b].node] = ADL_STALE;
}

void adl_free_profile_begin(struct adl_free_profile *profile, const struct adl_state *state, bool all)
{
    profile->state = state;
    note_changes(profile);
    for (uint32_t i = 0; i < profile->planned_count; i++) {
        struct adl_node_profile *node = &profile->nodes[profile->planned[i]];
        profile->is_behind[profile->planned[i]] = false;
        adl_node_profile_unplan(node);
        if (profile->due_us[profile->planned[i]] <= state->now_us) /* it is read below */
            continue;
        restore_index(profile, node);
        forget_bounds(profile, node);
    }
    profile->planned_count = profile->behind_count = 0; /* what is behind has planned jobs */
    profile->reserved_types = 0;
    for (uint32_t n = 0; n < profile->cluster->node_count; n++) {
        if (profile->due_us[n] > state->now_us)
            continue;
        struct adl_node_profile *node = &profile->nodes[n];
        adl_node_profile_read(node, state, n, end_us, profile);
        profile->due_us[n] = adl_node_profile_due_us(node);
        index_node(profile, node);
        keep_index(profile, node);
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

/* ---- openings ---- */

/* No opening of the bank that delays nobody is earlier; 0: nothing is known. */
static int64_t bound_us(const struct adl_free_profile *profile, const struct adl_job_spec *spec, uint32_t bank,
                        int64_t run_us)
{
    const struct bank_bound *bound = &profile->bounds[bank];
    return run_us >= bound->run_us && spec->gpus >= bound->gpus && spec->cpu_cores >= bound->cores &&
                   spec->memory_mib >= bound->memory_mib
               ? bound->start_us
               : 0;
}

/* No opening of the bank is earlier. ready_us: when it has the GPUs. */
static int64_t earliest_us(const struct adl_free_profile *profile, const struct adl_job_spec *spec, uint32_t bank,
                           int64_t run_us, int64_t ready_us)
{
    if (profile->bounds[bank].start_us <= ready_us || profile->free_in[bank] >= spec->gpus)
        return ready_us;
    const int64_t least_us = bound_us(profile, spec, bank, run_us);
    return least_us > ready_us ? least_us : ready_us;
}

/* The fastest of these GPUs of a bank, of equal ones the lowest numbered. */
static uint32_t fastest_of(const struct adl_free_profile *profile, uint32_t bank, uint64_t mask)
{
    const double *speed = &profile->state->gpu_speed[profile->cluster->banks[bank].gpu_first];
    uint32_t best = (uint32_t)__builtin_ctzll(mask);
    for (uint64_t left = mask & (mask - 1); profile->state->drifted && left; left &= left - 1)
        best = speed[__builtin_ctzll(left)] > speed[best] ? (uint32_t)__builtin_ctzll(left) : best;
    return best;
}

/* How much longer a job takes there because GPUs are slow: on the fastest that are free, or of all if it starts later.
 */
static double slowness(const struct adl_free_profile *profile, uint32_t bank, uint32_t gpus, bool now)
{
    const struct adl_bank *it = &profile->cluster->banks[bank];
    uint64_t mask = now ? profile->known[bank] : UINT64_MAX >> (64 - it->gpu_count);
    double slowest = 1;
    for (uint32_t i = 0; i < gpus && mask; i++) {
        const uint32_t at = fastest_of(profile, bank, mask);
        slowest = fmin(slowest, profile->state->gpu_speed[it->gpu_first + at]);
        mask &= ~(UINT64_C(1) << at);
    }
    return 1 / slowest;
}

static void note_bound(struct adl_free_profile *profile, const struct adl_job_spec *spec, uint32_t bank, int64_t run_us,
                       int64_t start_us)
{
    profile->bounds[bank] = (struct bank_bound){run_us, start_us, spec->gpus, spec->cpu_cores, spec->memory_mib};
}

static void find_in_bank(struct adl_free_profile *profile, const struct adl_job_spec *spec, uint32_t bank,
                         int64_t run_us, double delay_weight, struct adl_opening *best)
{
    const int64_t now_us = profile->state->now_us;
    const bool drifted = profile->state->drifted;
    struct adl_opening found = {.start_us = INT64_MAX};
    const int64_t start_us = adl_node_profile_find(&profile->nodes[profile->cluster->banks[bank].node], bank, spec,
                                                   run_us, now_us, delay_weight, drifted ? &found : best);
    note_bound(profile, spec, bank, run_us, start_us);
    if (found.start_us == INT64_MAX)
        return;
    found.run_us = (int64_t)((double)run_us * slowness(profile, bank, spec->gpus, found.start_us == now_us));
    adl_opening_offer(&found, now_us, delay_weight, best);
}

/* False if no bank has an opening before *until_us. If none has the GPUs now, that becomes the time after the opening
 * of the bank that may have the first, *ret: another one has to be earlier. */
static bool look_ahead(struct adl_free_profile *profile, const struct adl_job_spec *spec, const struct type_banks *type,
                       int64_t run_us, int64_t *until_us, struct adl_opening *ret)
{
    const int64_t *ready = &type->ready[(size_t)(spec->gpus - 1) * type->count];
    const int64_t now_us = profile->state->now_us;
    int64_t least_us = INT64_MAX;
    uint32_t bank = ADL_NONE;
    for (uint32_t i = 0; i < type->count && least_us > now_us; i++) {
        if (ready[i] >= least_us)
            continue;
        const int64_t time_us = earliest_us(profile, spec, type->banks[i], run_us, ready[i]);
        bank = time_us < least_us ? type->banks[i] : bank;
        least_us = time_us < least_us ? time_us : least_us;
    }
    if (least_us >= *until_us || least_us <= now_us)
        return least_us < *until_us;
    find_in_bank(profile, spec, bank, run_us, HUGE_VAL, ret);
    if (ret->start_us > now_us && ret->start_us < *until_us)
        *until_us = ret->start_us + 1 + (ret->run_us - run_us);
    return true;
}

/* In one bank. A bank that has the GPUs no earlier than the best opening so far is not looked at. */
static void find_in_banks(struct adl_free_profile *profile, const struct adl_job_spec *spec, uint32_t t, int64_t run_us,
                          double delay_weight, int64_t until_us, struct adl_opening *best)
{
    const struct type_banks *type = &profile->types[t];
    const int64_t now_us = profile->state->now_us;
    struct adl_opening first = {.start_us = INT64_MAX, .bank = ADL_NONE};
    if (spec->gpus > type->widest)
        return;
    if (!look_ahead(profile, spec, type, run_us, &until_us, &first))
        return;
    const int64_t *ready = &type->ready[(size_t)(spec->gpus - 1) * type->count];
    for (uint32_t i = 0; i < type->count; i++) {
        const uint32_t b = type->banks[i];
        if (ready[i] >= until_us || earliest_us(profile, spec, b, run_us, ready[i]) >= until_us ||
            (until_us == now_us + 1 && best->start_us == now_us && !profile->state->drifted &&
             profile->free_in[b] >= best->spare + spec->gpus))
            continue;
        if (b == first.bank) /* it lacks GPUs now: the same is found, without delay */
            adl_opening_offer(&first, now_us, delay_weight, best);
        else
            find_in_bank(profile, spec, b, run_us, delay_weight, best);
        if (best->start_us == INT64_MAX)
            continue;
        const double wait_us = adl_opening_wait_us(best, now_us, delay_weight) + (double)(best->run_us - run_us);
        if (wait_us == 0 && best->spare == 0)
            return;
        const int64_t before_us = wait_us < ADL_REMAINING_MAX_US ? now_us + 1 + (int64_t)wait_us : INT64_MAX;
        until_us = before_us < until_us ? before_us : until_us;
    }
}

/* Keeps the earliest times in a heap with the latest of them first: as many as most. */
static uint32_t keep_earliest(int64_t *heap, uint32_t count, uint32_t most, int64_t time_us)
{
    uint32_t at = 0;
    if (count < most) {
        for (at = count++; at > 0 && heap[(at - 1) / 2] < time_us; at = (at - 1) / 2)
            heap[at] = heap[(at - 1) / 2];
    } else {
        for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
            child += child + 1 < count && heap[child + 1] > heap[child];
            if (heap[child] <= time_us)
                break;
            heap[at] = heap[child];
        }
    }
    heap[at] = time_us;
    return count;
}

/* The time by which GPUs of a type are free, as many as the gang has. */
static int64_t gang_ready_us(struct adl_free_profile *profile, const struct type_banks *type, uint32_t gpus)
{
    int64_t *heap = profile->earliest;
    const int64_t *ready = type->ready;
    uint32_t count = 0;
    bool any = true; /* of the last row was among the earliest: else none of the next is, which are no earlier */
    for (uint32_t n = 0; n < type->widest && any; n++) {
        any = false;
        for (uint32_t i = 0; i < type->count; i++, ready++)
            if (count < gpus || *ready < heap[0]) {
                count = keep_earliest(heap, count, gpus, *ready);
                any = true;
            }
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

static int64_t run_us_on(const struct adl_rest_factors *factors, uint32_t type, double rest_us)
{
    return 1 + (int64_t)(rest_us * adl_rest_factor_on(factors, type));
}

static int64_t across_us_on(const struct adl_rest_factors *factors, uint32_t type, double rest_us)
{
    return 1 + (int64_t)(rest_us * adl_rest_factor(factors->corrections, factors->state, factors->slot, type, true));
}

static bool may_span(const struct adl_job_spec *spec)
{
    return spec->gpus > 1 && spec->flags & ADL_JOB_SPAN;
}

void adl_free_profile_find(struct adl_free_profile *profile, uint32_t type, const struct adl_seek *seek,
                           struct adl_opening *ret)
{
    const struct adl_state *state = profile->state;
    const struct adl_job_spec *spec = &state->jobs[seek->factors->slot].spec;
    const bool spans = may_span(spec);
    const int64_t run_us = run_us_on(seek->factors, type, seek->rest_us);
    const int64_t across_us = spans ? across_us_on(seek->factors, type, seek->rest_us) : run_us;
    const double wait_us = seek->most_us - seek->each * (double)(run_us < across_us ? run_us : across_us);
    *ret = (struct adl_opening){.start_us = INT64_MAX, .bank = ADL_NONE};
    if (wait_us <= 0)
        return;
    index_behind(profile);
    find_in_banks(profile, spec, type, run_us, seek->delay_weight,
                  spans || wait_us >= ADL_REMAINING_MAX_US ? INT64_MAX : state->now_us + 2 + (int64_t)wait_us, ret);
    if (spans && !(state->placement == ADL_PLACEMENT_CONSOLIDATED && ret->start_us != INT64_MAX))
        find_spanning(profile, spec, type, across_us, seek->delay_weight, ret);
}

void adl_free_profile_find_now(struct adl_free_profile *profile, const struct adl_rest_factors *factors, uint32_t type,
                               double rest_us, struct adl_opening *ret)
{
    const struct type_banks *it = &profile->types[type];
    const struct adl_job_spec *spec = &profile->state->jobs[factors->slot].spec;
    if (may_span(spec)) {
        adl_free_profile_find(profile, type, &(struct adl_seek){factors, rest_us, HUGE_VAL, 1, HUGE_VAL}, ret);
        return;
    }
    const int64_t run_us = run_us_on(factors, type, rest_us), now_us = profile->state->now_us;
    const bool drifted = profile->state->drifted;
    *ret = (struct adl_opening){.start_us = INT64_MAX, .bank = ADL_NONE, .spare = UINT32_MAX - spec->gpus};
    for (uint32_t i = 0; i < it->count && (ret->spare > 0 || ret->run_us > run_us); i++) {
        const uint32_t b = it->banks[i], free = profile->free_in[b];
        if (free < spec->gpus || (!drifted && free >= ret->spare + spec->gpus) ||
            bound_us(profile, spec, b, run_us) > now_us)
            continue;
        const int64_t start_us =
            adl_node_profile_start_now(&profile->nodes[profile->cluster->banks[b].node], b, spec, run_us, now_us);
        note_bound(profile, spec, b, run_us, start_us);
        if (start_us != now_us)
            continue;
        struct adl_opening opening = {
            .start_us = now_us, .run_us = run_us, .bank = b, .spare = (uint32_t)(free - spec->gpus)};
        if (drifted)
            opening.run_us = (int64_t)((double)run_us * slowness(profile, b, spec->gpus, true));
        adl_opening_offer(&opening, now_us, HUGE_VAL, ret);
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
    for (uint32_t i = 0; i < count && mask; i++) {
        const uint32_t at = fastest_of(profile, b, mask);
        ret_gpus[i] = profile->cluster->banks[b].gpu_first + at;
        mask &= ~(UINT64_C(1) << at);
    }
    profile->free_in[b] = (uint8_t)(profile->free_in[b] - count);
    profile->known[b] = mask; /* what was read of the node is no longer true */
    profile->due_us[profile->cluster->banks[b].node] = ADL_STALE;
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
    if (!profile->is_behind[n])
        profile->behind[profile->behind_count++] = n;
    profile->is_behind[n] = true;
}

/* For each bank of a type, the most GPUs that it may have free at a time, by the index; returns the largest of them. */
static uint32_t most_free(struct adl_free_profile *profile, const struct type_banks *type, int64_t time_us)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < type->count; i++) {
        uint32_t has = 0;
        while (has < type->widest && type->ready[(size_t)has * type->count + i] <= time_us)
            has++;
        profile->may_have[i] = (uint8_t)has;
        most = has > most ? has : most;
    }
    return most;
}

/* From the banks that have most, as adl_fit_find does. */
static uint32_t take_spanning(struct adl_free_profile *profile, const struct adl_job_spec *spec, uint32_t t,
                              const struct adl_opening *opening, uint32_t *ret_gpus)
{
    const struct type_banks *type = &profile->types[t];
    const bool now = opening->start_us == profile->state->now_us;
    const int64_t end = opening->start_us + (opening->delay_us > 0 || !now ? 0 : opening->run_us);
    uint32_t found = 0;
    for (uint32_t f = most_free(profile, type, opening->start_us); f >= 1 && found < spec->gpus; f--)
        for (uint32_t i = 0; i < type->count && found < spec->gpus; i++) {
            const uint32_t b = type->banks[i], left = spec->gpus - found;
            if (profile->may_have[i] < f)
                continue;
            const uint32_t has =
                adl_node_profile_has(&profile->nodes[profile->cluster->banks[b].node], b, spec, opening->start_us, end);
            const uint32_t gpus = has < left ? has : left;
            profile->may_have[i] = (uint8_t)(has < f ? has : has - gpus);
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

uint32_t adl_free_profile_room_types(const struct adl_free_profile *profile, uint32_t slot)
{
    const struct adl_job *job = &profile->state->jobs[slot];
    uint32_t types = 0;
    for (uint32_t left = job->eligible & profile->offered; left; left &= left - 1)
        types |= profile->free_now[__builtin_ctz(left)] >= job->spec.gpus ? left & -left : 0;
    return types;
}

bool adl_free_profile_room_for(const struct adl_free_profile *profile, uint32_t slot)
{
    return adl_free_profile_room_types(profile, slot) != 0;
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
