/* sjf: the shortest job first, by its believed run time on its best type, on the fastest GPUs that are free. */
#include "policy/mechanism/list_scheduler.h"

#include <stdlib.h>

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed;
    const struct adl_placement_request place = {.types = UINT32_MAX, .fastest = true, .share = config->share};
    return adl_list_scheduler_create(&place, ADL_RULE_SHORTEST, config->first_fit, ret_policy, err);
}

static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    (void)policy;
    return adl_state_shortest_us(state, slot);
}

const struct adl_policy_ops adl_policy_sjf = {
    .name = "sjf",
    .summary = "shortest job first on the fastest GPUs that are free; the shortest blocks",
    .create = create,
    .destroy = free,
    .rank = rank,
    .decide = adl_list_scheduler_decide,
};
