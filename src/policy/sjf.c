/* sjf: the shortest job first, by its predicted run time on its best type, on the fastest GPUs that are free. */
#include "policy/mechanism/list_scheduler.h"

#include <stdlib.h>

struct sjf_options {
    bool share, first_fit;
};

static const struct adl_policy_option options[] = {
    ADL_POLICY_FIRST_FIT(struct sjf_options, "true"),
    ADL_POLICY_SHARE(struct sjf_options),
};

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed;
    const struct sjf_options *own = config->options;
    const struct adl_placement_request place = {.types = UINT32_MAX, .fastest = true, .share = own->share};
    return adl_list_scheduler_create(&place, ADL_RULE_SHORTEST, own->first_fit, ret_policy, err);
}

static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    (void)policy;
    return adl_state_shortest_us(state, slot);
}

const struct adl_policy_ops adl_policy_sjf = {
    .name = "sjf",
    .summary = "shortest job first on the fastest GPUs that are free; first fit",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct sjf_options),
    .create = create,
    .destroy = free,
    .copy = adl_list_scheduler_copy,
    .rank = rank,
    .decide = adl_list_scheduler_decide,
};

const struct adl_policy_ops adl_policy_sjf_strict = {
    .name = "sjf-strict",
    .summary = "sjf without first fit: the shortest job blocks the others",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct sjf_options),
    .settings = "first_fit=false\n",
    .variant_of = "sjf",
    .create = create,
    .destroy = free,
    .copy = adl_list_scheduler_copy,
    .rank = rank,
    .decide = adl_list_scheduler_decide,
};
