/* placement: proposes one start, on the first GPU type in an order that fits. Shared by policies that serve one job at
 * a time. */
#ifndef ADLRO_POLICY_MECHANISM_PLACEMENT_H
#define ADLRO_POLICY_MECHANISM_PLACEMENT_H

#include "model/plan.h"
#include "state/fit.h"
#include "state/state.h"

struct adl_placement_request {
    uint32_t types; /* only these */
    bool fastest;   /* types by predicted run time, shortest first; else in the cluster's order */
    bool share;     /* share a GPU with another job if none is free */
    const struct adl_reservation *reservations; /* that must not be delayed */
    uint32_t reservation_count;
};

/* Adds one START to the plan and returns true, or adds nothing and returns false. */
bool adl_placement_start(const struct adl_state *state, uint32_t slot, const struct adl_placement_request *request,
                         struct adl_plan *plan);

/* The same on the lowest free GPUs of one bank, which has enough. */
bool adl_placement_start_in_bank(const struct adl_state *state, uint32_t slot, uint32_t bank, struct adl_plan *plan);

/* The same if it fits there now. */
bool adl_placement_try_bank(const struct adl_state *state, uint32_t slot, uint32_t bank, struct adl_plan *plan);

/* Lists types of a mask by predicted run time, shortest first; returns their number. */
uint32_t adl_placement_sort_types(const struct adl_state *state, uint32_t slot, uint32_t types, uint32_t *ret_types);

/* The same for those of the types that the job is eligible for. */
static inline uint32_t adl_placement_order_types(const struct adl_state *state, uint32_t slot, uint32_t types,
                                                 uint32_t *ret_types)
{
    const uint32_t eligible = state->jobs[slot].eligible & types;
    if (eligible & (eligible - 1))
        return adl_placement_sort_types(state, slot, eligible, ret_types);
    ret_types[0] = eligible ? (uint32_t)__builtin_ctz(eligible) : 0;
    return eligible != 0;
}

#endif
