#include "policy/mechanism/placement.h"

uint32_t adl_placement_sort_types(const struct adl_state *state, uint32_t slot, uint32_t types, uint32_t *ret_types)
{
    uint32_t count = 0;
    for (uint32_t left = types; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        const int64_t time = adl_state_runtime(state, slot, type);
        uint32_t at = count++;
        for (; at > 0 && adl_state_runtime(state, slot, ret_types[at - 1]) > time; at--)
            ret_types[at] = ret_types[at - 1];
        ret_types[at] = type;
    }
    return count;
}

/* The job's predicted end on the type, and the reservations that it must not delay until then. */
static struct adl_hold hold_until(const struct adl_state *state, uint32_t slot, uint32_t type,
                                  const struct adl_placement_request *request)
{
    return (struct adl_hold){.reservations = request->reservations,
                             .count = request->reservation_count,
                             .end_us = state->now_us + adl_state_remaining_us(state, slot, type)};
}

bool adl_placement_start(const struct adl_state *state, uint32_t slot, const struct adl_placement_request *request,
                         struct adl_plan *plan)
{
    const uint32_t count = state->jobs[slot].spec.gpus;
    uint32_t *gpus = adl_plan_gpus(plan, count);
    if (!gpus)
        return false;
    uint32_t order[ADL_TYPES_MAX], types = 0;
    if (request->fastest)
        types = adl_placement_order_types(state, slot, request->types, order);
    else
        for (uint32_t left = state->jobs[slot].eligible & request->types; left; left &= left - 1)
            order[types++] = (uint32_t)__builtin_ctz(left);
    for (uint32_t i = 0; i < types; i++) {
        if (state->pool.free_gpus[order[i]] < count)
            continue;
        struct adl_hold hold;
        if (request->reservation_count > 0)
            hold = hold_until(state, slot, order[i], request);
        if (adl_fit_find(state, slot, order[i], request->reservation_count > 0 ? &hold : NULL, gpus))
            return adl_plan_start(plan, slot, count) == 0;
    }
    for (uint32_t i = 0; request->share && i < types; i++) {
        const struct adl_hold hold = hold_until(state, slot, order[i], request);
        if (adl_fit_share(state, slot, order[i], &hold, gpus))
            return adl_plan_start(plan, slot, count) == 0;
    }
    return false;
}

bool adl_placement_start_in_bank(const struct adl_state *state, uint32_t slot, uint32_t bank, struct adl_plan *plan)
{
    const uint32_t count = state->jobs[slot].spec.gpus;
    uint32_t *gpus = adl_plan_gpus(plan, count);
    if (!gpus)
        return false;
    uint64_t mask = state->pool.free_mask[bank];
    for (uint32_t i = 0; i < count; i++, mask &= mask - 1)
        gpus[i] = state->cluster->banks[bank].gpu_first + (uint32_t)__builtin_ctzll(mask);
    return adl_plan_start(plan, slot, count) == 0;
}

bool adl_placement_try_bank(const struct adl_state *state, uint32_t slot, uint32_t bank, struct adl_plan *plan)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    const struct adl_node_use *node = &state->nodes_use[state->cluster->banks[bank].node];
    return adl_pool_bank_free(&state->pool, bank) >= spec->gpus &&
           node->free_cores >= (int64_t)spec->gpus * spec->cpu_cores &&
           node->free_memory_mib >= (int64_t)spec->gpus * spec->memory_mib &&
           adl_placement_start_in_bank(state, slot, bank, plan);
}
