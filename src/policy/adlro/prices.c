#include "policy/adlro/prices.h"

#define PLAN_SHARE 0.05 /* of a new plan, in the average */

void adl_type_prices_update(struct adl_type_prices *prices, const struct adl_cluster *cluster, const double *planned,
                            uint32_t plans)
{
    double kept = 1;
    for (uint32_t i = 0; i < plans; i++)
        kept *= 1 - PLAN_SHARE;
    for (uint32_t t = 0; t < cluster->type_count; t++)
        if (cluster->type_gpus[t] > 0)
            prices->of[t] += (1 - kept) * (planned[t] / cluster->type_gpus[t] - prices->of[t]);
}
