#include "policy/adlro/prices.h"

/* GPUs that each time add to the distance of plans, and its limit. */
#define GPUS_EACH 128
#define APART_MAX 8

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

uint32_t adl_type_prices_apart(const struct adl_cluster *cluster)
{
    const uint32_t apart = cluster->gpu_count / GPUS_EACH;
    return apart < 1 ? 1 : apart > APART_MAX ? APART_MAX : apart;
}
