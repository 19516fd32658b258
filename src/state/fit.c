#include "state/fit.h"

static uint32_t at_most(uint32_t usable, int32_t have, int32_t each)
{
    return each > 0 && (int64_t)each * usable > have ? (uint32_t)((have > 0 ? have : 0) / each) : usable;
}

/* GPUs of a bank that a job may take, as far as the node's cores and memory and the reservations allow. */
static uint32_t bank_usable(const struct adl_state *state, uint32_t bank, const struct adl_job_spec *spec,
                            const struct adl_hold *hold)
{
    const struct adl_bank *banks = state->cluster->banks;
    const struct adl_node_use *node = &state->nodes_use[banks[bank].node];
    uint32_t usable = adl_pool_bank_free(&state->pool, bank);
    usable = at_most(usable, node->free_cores, spec->cpu_cores);
    usable = at_most(usable, node->free_memory_mib, spec->memory_mib);
    for (uint32_t i = 0; hold && i < hold->count; i++) {
        const struct adl_reservation *r = &hold->reservations[i];
        if (r->bank == ADL_NONE || banks[r->bank].node != banks[bank].node || r->start_us >= hold->end_us)
            continue;
        if (r->bank == bank && r->spare < usable)
            usable = r->spare;
        usable = at_most(usable, r->spare_cores, spec->cpu_cores);
        usable = at_most(usable, r->spare_memory_mib, spec->memory_mib);
    }
    return usable;
}

/* GPUs of the type that reservations without a bank leave to such a job. */
static uint32_t type_usable(const struct adl_state *state, uint32_t type, const struct adl_hold *hold)
{
    uint32_t usable = state->pool.free_gpus[type];
    for (uint32_t i = 0; hold && i < hold->count; i++) {
        const struct adl_reservation *r = &hold->reservations[i];
        if (r->bank == ADL_NONE && r->type == type && r->start_us < hold->end_us && r->spare < usable)
            usable = r->spare;
    }
    return usable;
}

/* Writes the fastest count free GPUs of a bank, of equal ones the lowest numbered; returns the slowest's speed. */
static double take_fastest(const struct adl_state *state, uint32_t bank, uint32_t count, uint32_t *ret_gpus)
{
    uint64_t mask = state->pool.free_mask[bank];
    const uint32_t first = state->cluster->banks[bank].gpu_first;
    double slowest = 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t best = (uint32_t)__builtin_ctzll(mask);
        for (uint64_t left = mask & (mask - 1); left; left &= left - 1) {
            const uint32_t at = (uint32_t)__builtin_ctzll(left);
            best = state->gpu_speed[first + at] > state->gpu_speed[first + best] ? at : best;
        }
        ret_gpus[i] = first + best;
        slowest = state->gpu_speed[ret_gpus[i]];
        mask &= ~(UINT64_C(1) << best);
    }
    return slowest;
}

/* Writes the lowest numbered count free GPUs of a bank. */
static uint32_t take_lowest(const struct adl_state *state, uint32_t bank, uint32_t count, uint32_t *ret_gpus)
{
    if (state->drifted) {
        take_fastest(state, bank, count, ret_gpus);
        return count;
    }
    uint64_t mask = state->pool.free_mask[bank];
    const uint32_t first = state->cluster->banks[bank].gpu_first;
    for (uint32_t i = 0; i < count; i++) {
        ret_gpus[i] = first + (uint32_t)__builtin_ctzll(mask);
        mask &= mask - 1;
    }
    return count;
}

static bool find_spanning(const struct adl_state *state, const struct adl_job_spec *spec, uint32_t type,
                          const struct adl_hold *hold, uint32_t *ret_gpus)
{
    uint32_t found = 0;
    for (uint32_t f = state->pool.widest[type]; f >= 1; f--) {
        const struct adl_bitmap *banks = &state->pool.banks[type][f];
        for (uint32_t b = adl_bitmap_next(banks, 0); b != ADL_NONE; b = adl_bitmap_next(banks, b + 1)) {
            uint32_t usable = bank_usable(state, b, spec, hold);
            if (usable > spec->gpus - found)
                usable = spec->gpus - found;
            found += take_lowest(state, b, usable, ret_gpus + found);
            if (found == spec->gpus)
                return true;
        }
    }
    return false;
}

/* True if some node, when empty, could hold the whole job: such a job does not span. */
static bool one_node_suffices(const struct adl_state *state, const struct adl_job_spec *spec, uint32_t type)
{
    const struct adl_cluster *cluster = state->cluster;
    for (uint32_t b = 0; spec->gpus <= state->pool.widest[type] && b < cluster->bank_count; b++) {
        const struct adl_node *node = &cluster->nodes[cluster->banks[b].node];
        uint32_t usable = cluster->banks[b].type == type ? cluster->banks[b].gpu_count : 0;
        usable = at_most(usable, node->cpu_cores, spec->cpu_cores);
        usable = at_most(usable, node->memory_mib, spec->memory_mib);
        if (usable >= spec->gpus)
            return true;
    }
    return false;
}

/* Takes empty banks whole, largest first, but never more than the job needs; returns the number of GPUs found. A bank
 * that is skipped could serve all that is still missing. */
static uint32_t take_empty(const struct adl_state *state, const struct adl_job_spec *spec, uint32_t type,
                           const struct adl_hold *hold, uint32_t *ret_gpus)
{
    uint32_t found = 0;
    for (uint32_t f = state->pool.widest[type]; f >= 1; f--) {
        const struct adl_bitmap *banks = &state->pool.banks[type][f];
        for (uint32_t b = adl_bitmap_next(banks, 0); b != ADL_NONE; b = adl_bitmap_next(banks, b + 1)) {
            if (state->cluster->banks[b].gpu_count != f)
                continue;
            const uint32_t usable = bank_usable(state, b, spec, NULL);
            if (found + usable <= spec->gpus && (!hold || bank_usable(state, b, spec, hold) == usable))
                found += take_lowest(state, b, usable, ret_gpus + found);
            if (found == spec->gpus)
                return found;
        }
    }
    return found;
}

static bool is_taken(const struct adl_state *state, uint32_t bank, const uint32_t *gpus, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (state->cluster->gpu_bank[gpus[i]] == bank)
            return true;
    return false;
}

/* Empty nodes whole, and the rest from one more: the emptiest that suffices. */
static bool find_consolidated(const struct adl_state *state, const struct adl_job_spec *spec, uint32_t type,
                              const struct adl_hold *hold, uint32_t *ret_gpus)
{
    if (one_node_suffices(state, spec, type))
        return false;
    const uint32_t found = take_empty(state, spec, type, hold, ret_gpus), rest = spec->gpus - found;
    if (rest == 0)
        return true;
    for (uint32_t f = state->pool.widest[type]; f >= rest; f--) {
        const struct adl_bitmap *banks = &state->pool.banks[type][f];
        for (uint32_t b = adl_bitmap_next(banks, 0); b != ADL_NONE; b = adl_bitmap_next(banks, b + 1))
            if (bank_usable(state, b, spec, hold) >= rest && !is_taken(state, b, ret_gpus, found)) {
                take_lowest(state, b, rest, ret_gpus + found);
                return true;
            }
    }
    return false;
}

/* If some GPUs are slow: of the banks with equally many free GPUs the one that serves the job fastest. */
static bool find_fastest(const struct adl_state *state, const struct adl_job_spec *spec, const struct adl_bitmap *banks,
                         const struct adl_hold *hold, uint32_t *ret_gpus)
{
    uint32_t found = ADL_NONE;
    double best = 0;
    for (uint32_t b = adl_bitmap_next(banks, 0); b != ADL_NONE; b = adl_bitmap_next(banks, b + 1)) {
        if (bank_usable(state, b, spec, hold) < spec->gpus)
            continue;
        const double speed = take_fastest(state, b, spec->gpus, ret_gpus);
        found = speed > best ? b : found;
        best = speed > best ? speed : best;
    }
    if (found != ADL_NONE)
        take_fastest(state, found, spec->gpus, ret_gpus);
    return found != ADL_NONE;
}

bool adl_fit_find(const struct adl_state *state, uint32_t slot, uint32_t type, const struct adl_hold *hold,
                  uint32_t *ret_gpus)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    const struct adl_pool *pool = &state->pool;
    if (spec->gpus > pool->free_gpus[type] || spec->gpus > type_usable(state, type, hold))
        return false;
    uint64_t counts = spec->gpus <= 64 ? pool->counts[type] & (UINT64_MAX << (spec->gpus - 1)) : 0;
    for (; counts; counts &= counts - 1) {
        const struct adl_bitmap *banks = &pool->banks[type][__builtin_ctzll(counts) + 1];
        if (state->drifted && find_fastest(state, spec, banks, hold, ret_gpus))
            return true;
        for (uint32_t b = adl_bitmap_next(banks, 0); b != ADL_NONE; b = adl_bitmap_next(banks, b + 1))
            if (bank_usable(state, b, spec, hold) >= spec->gpus) {
                take_lowest(state, b, spec->gpus, ret_gpus);
                return true;
            }
    }
    if (!(spec->flags & ADL_JOB_SPAN) || spec->gpus == 1)
        return false;
    return state->placement == ADL_PLACEMENT_CONSOLIDATED ? find_consolidated(state, spec, type, hold, ret_gpus)
                                                          : find_spanning(state, spec, type, hold, ret_gpus);
}

/* Sharing takes cores and memory that may be reserved, and the GPU itself if it was to become free by then. */
static bool share_spares(const struct adl_state *state, uint32_t gpu, const struct adl_job_spec *spec,
                         const struct adl_hold *hold)
{
    const struct adl_cluster *cluster = state->cluster;
    const uint32_t bank = cluster->gpu_bank[gpu];
    const int64_t free_us = state->jobs[state->gpus[gpu].job[0]].expected_us;
    for (uint32_t i = 0; hold && i < hold->count; i++) {
        const struct adl_reservation *r = &hold->reservations[i];
        if (r->start_us >= hold->end_us)
            continue;
        const bool of_bank = r->bank != ADL_NONE;
        if (of_bank && cluster->banks[r->bank].node == cluster->banks[bank].node &&
            (r->spare_cores < spec->cpu_cores || r->spare_memory_mib < spec->memory_mib))
            return false;
        const bool reserved = of_bank ? r->bank == bank : r->type == cluster->banks[bank].type;
        if (reserved && free_us <= r->start_us && r->spare == 0)
            return false;
    }
    return true;
}

/* Two jobs that time-share a GPU slow each other to half the speed at worst. A job with a tighter bound shares only
 * under a policy that estimates interference. */
static bool shares_with_any(const struct adl_job_spec *spec)
{
    return spec->share_slowdown == 0 || spec->share_slowdown >= 2;
}

bool adl_fit_share(const struct adl_state *state, uint32_t slot, uint32_t type, const struct adl_hold *hold,
                   uint32_t *ret_gpu)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    if (spec->gpus != 1 || !(spec->flags & ADL_JOB_SHARE) || !shares_with_any(spec))
        return false;
    const struct adl_bitmap *half = &state->pool.half[type];
    for (uint32_t g = adl_bitmap_next(half, 0); g != ADL_NONE; g = adl_bitmap_next(half, g + 1)) {
        const uint32_t node = adl_gpu_node_of(state->cluster, g);
        const struct adl_node_use *has = &state->nodes_use[node];
        const struct adl_gpu_use *use = &state->gpus[g];
        if (use->free_memory_mib >= spec->gpu_memory_mib && has->free_cores >= spec->cpu_cores &&
            has->free_memory_mib >= spec->memory_mib && !use->down && shares_with_any(&state->jobs[use->job[0]].spec) &&
            share_spares(state, g, spec, hold)) {
            *ret_gpu = g;
            return true;
        }
    }
    return false;
}
