/* registry: finds policies; the rows are in policy.h. */
#include "policy/policy.h"

#include <string.h>

#define ADDRESS(name) &adl_policy_##name,
static const struct adl_policy_ops *const policies[] = {ADL_POLICIES(ADDRESS)};

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
