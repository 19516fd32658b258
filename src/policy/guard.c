/* guard: starts whatever fits, in rank order. It keeps no state and so cannot be wrong twice in the same way; it
 * decides for the rest of an instant in which a policy's plan was refused. */
#include "policy/mechanism/placement.h"
#include "policy/policy.h"

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    (void)policy;
    const struct adl_placement_request place = {.types = UINT32_MAX, .fastest = true};
    adl_walk_begin(&state->queue);
    for (uint32_t slot; (slot = adl_walk_job(&state->queue)) != ADL_NONE; adl_walk_leave(&state->queue))
        if (adl_placement_start(state, slot, &place, plan)) {
            adl_plan_because(plan, adl_reason_make(ADL_RULE_GUARD, ADL_NONE, 0, 0));
            return 0;
        }
    return 0;
}

const struct adl_policy_ops adl_policy_guard = {
    .name = "guard",
    .summary = "first fit in rank order, when a policy's plan was refused",
    .decide = decide,
};
