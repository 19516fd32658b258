/* static: each kind of job has its own GPU types and its own first-come, first-served line for them. */
#include "policy/mechanism/placement.h"
#include "policy/mechanism/reason.h"
#include "policy/policy.h"

#include <stdlib.h>

/* Its options are also its whole state. */
struct affinity {
    struct adl_policy_affinity affinity;
    bool share;
};

static const struct adl_policy_option options[] = {
    {.name = "affinity",
     .type = ADL_POLICY_AFFINITY,
     .offset = offsetof(struct affinity, affinity),
     .value = "",
     .help = "GPU types that jobs of a kind go to; a kind that is not listed goes to all types"},
    ADL_POLICY_SHARE(struct affinity),
};

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed;
    struct affinity *self = malloc(sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy static");
    *self = *(const struct affinity *)config->options;
    *ret_policy = self;
    return 0;
}

static int copy(void *policy, const void *from)
{
    *(struct affinity *)policy = *(const struct affinity *)from;
    return 0;
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    const struct affinity *self = policy;
    bool blocked[ADL_KIND_COUNT] = {false};
    adl_walk_begin(&state->queue);
    for (uint32_t slot; (slot = adl_walk_job(&state->queue)) != ADL_NONE;) {
        const uint8_t kind = state->jobs[slot].spec.kind;
        const struct adl_placement_request place = {.types = self->affinity.types[kind], .share = self->share};
        if (!blocked[kind] && adl_placement_start(state, slot, &place, plan)) {
            adl_plan_because(plan, adl_reason_ranked(state, &state->queue, slot, ADL_RULE_FIRST));
            return 0;
        }
        blocked[kind] = true;
        adl_walk_leave(&state->queue);
    }
    return 0;
}

const struct adl_policy_ops adl_policy_static = {
    .name = "static",
    .blind = true,
    .summary = "static affinity: each kind of job has its GPU types and its own first-come line",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct affinity),
    .create = create,
    .destroy = free,
    .copy = copy,
    .decide = decide,
};
