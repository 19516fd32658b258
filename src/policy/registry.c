/* registry: the list of policies, in the order `adlro policies` shows them. */
#include "policy/policy.h"

#include <string.h>

static const struct adl_policy_ops *const policies[] = {
    &adl_policy_fcfs,         &adl_policy_static, &adl_policy_sjf,          &adl_policy_srtf,  &adl_policy_easy,
    &adl_policy_conservative, &adl_policy_las,    &adl_policy_qssf,         &adl_policy_allox, &adl_policy_gavel,
    &adl_policy_gavel_jct,    &adl_policy_fgd,    &adl_policy_least_loaded, &adl_policy_dqn,   &adl_policy_gogh,
};

uint32_t adl_policy_count(void)
{
    return sizeof policies / sizeof *policies;
}

const struct adl_policy_ops *adl_policy_at(uint32_t index)
{
    return policies[index];
}

const struct adl_policy_ops *adl_policy_find(const char *name)
{
    for (uint32_t i = 0; i < adl_policy_count(); i++)
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    return NULL;
}
