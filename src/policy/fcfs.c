/* fcfs: strict first come, first served, on any GPUs that fit; the head of the queue blocks unless first fit is
 * asked for. */
#include "policy/mechanism/list_scheduler.h"

#include <stdlib.h>

struct fcfs_options {
    bool share, first_fit;
};

static const struct adl_policy_option options[] = {
    ADL_POLICY_FIRST_FIT(struct fcfs_options, "false"),
    ADL_POLICY_SHARE(struct fcfs_options),
};

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed;
    const struct fcfs_options *own = config->options;
    const struct adl_placement_request place = {.types = UINT32_MAX, .share = own->share};
    return adl_list_scheduler_create(&place, ADL_RULE_FIRST, own->first_fit, ret_policy, err);
}

const struct adl_policy_ops adl_policy_fcfs = {
    .name = "fcfs",
    .blind = true,
    .summary = "first come, first served on any GPU that fits; the head of the queue blocks",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct fcfs_options),
    .create = create,
    .destroy = free,
    .copy = adl_list_scheduler_copy,
    .decide = adl_list_scheduler_decide,
};

const struct adl_policy_ops adl_policy_fcfs_ff = {
    .name = "fcfs-ff",
    .blind = true,
    .summary = "fcfs with first fit: the first job that fits starts",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct fcfs_options),
    .settings = "first_fit=true\n",
    .variant_of = "fcfs",
    .create = create,
    .destroy = free,
    .copy = adl_list_scheduler_copy,
    .decide = adl_list_scheduler_decide,
};
