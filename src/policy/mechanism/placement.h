/* placement: proposes one start, on the first GPU type in an order that fits. Shared by the policies that take jobs one
 * by one. */
#ifndef ADLRO_POLICY_MECHANISM_PLACEMENT_H
#define ADLRO_POLICY_MECHANISM_PLACEMENT_H

#include "model/plan.h"
#include "state/fit.h"
#include "state/state.h"

struct adl_placement_request {
    uint32_t types; /* only these */
    bool fastest;   /* type by type from the shortest believed run time; else in the cluster's order */
    bool share;     /* beside another job where no GPU is free */
    const struct adl_reservation *reservations; /* not to be disturbed */
    uint32_t reservation_count;
};

/* True and one START more in the plan, or false and nothing. */
bool adl_placement_start(const struct adl_state *state, uint32_t slot, const struct adl_placement_request *request,
                         struct adl_plan *plan);

/* The same on the lowest free GPUs of one bank, which has enough. */
bool adl_placement_start_in_bank(const struct adl_state *state, uint32_t slot, uint32_t bank, struct adl_plan *plan);

/* The same if it fits there now. */
bool adl_placement_try_bank(const struct adl_state *state, uint32_t slot, uint32_t bank, struct adl_plan *plan);

/* The eligible types in order of believed run time, shortest first; the number of them. */
uint32_t adl_placement_order_types(const struct adl_state *state, uint32_t slot, uint32_t types, uint32_t *ret_types);

#endif
