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

/* Finds free GPUs of the type. */
static inline bool find(const struct adl_state *state, uint32_t slot, uint32_t type,
                        const struct adl_placement_request *request, uint32_t *gpus)
{
    if (state->pool.free_gpus[type] < state->jobs[slot].spec.gpus)
        return false;
    if (request->reservation_count == 0)
        return adl_fit_find(state, slot, type, NULL, gpus);
    const struct adl_hold hold = hold_until(state, slot, type, request);
    return adl_fit_find(state, slot, type, &hold, gpus);
}

static bool find_in_order(const struct adl_state *state, uint32_t slot, const struct adl_placement_request *request,
                          uint32_t *gpus)
{
    uint32_t order[ADL_TYPES_MAX];
    const uint32_t types = adl_placement_sort_types(state, slot, state->jobs[slot].eligible & request->types, order);
    for (uint32_t i = 0; i < types; i++)
        if (find(state, slot, order[i], request, gpus))
            return true;
    return false;
}

/* The same beside another job. */
static bool find_shared(const struct adl_state *state, uint32_t slot, const struct adl_placement_request *request,
                        uint32_t *gpus)
{
    const uint32_t eligible = state->jobs[slot].eligible & request->types;
    uint32_t order[ADL_TYPES_MAX], types = 0;
    if (request->fastest)
        types = adl_placement_sort_types(state, slot, eligible, order);
    else
        for (uint32_t left = eligible; left; left &= left - 1)
            order[types++] = (uint32_t)__builtin_ctz(left);
    for (uint32_t i = 0; i < types; i++) {
        const struct adl_hold hold = hold_until(state, slot, order[i], request);
        if (adl_fit_share(state, slot, order[i], &hold, gpus))
            return true;
    }
    return false;
}

bool adl_placement_start(const struct adl_state *state, uint32_t slot, const struct adl_placement_request *request,
                         struct adl_plan *plan)
{
    const struct adl_job *job = &state->jobs[slot];
    const uint32_t eligible = job->eligible & request->types;
    uint32_t *gpus = adl_plan_gpus(plan, job->spec.gpus);
    bool found = false;
    if (!gpus)
        return false;
    if (request->fastest && (eligible & (eligible - 1)))
        found = find_in_order(state, slot, request, gpus);
    else
        for (uint32_t left = eligible; left && !found; left &= left - 1)
            found = find(state, slot, (uint32_t)__builtin_ctz(left), request, gpus);
    if (!found && request->share)
        found = find_shared(state, slot, request, gpus);
    return found && adl_plan_start(plan, slot, job->spec.gpus) == 0;
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
