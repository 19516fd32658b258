#include "policy/adlro/prices.h"

#include <math.h>

#define PLAN_SHARE 0.05 /* of a new plan, in the average */

/* The same, at most, however many decisions it stands for: by one plan alone prices turn from one type to another and
 * back, because all jobs of it want the type that the last one left cheap. */
#define PLAN_MOST 0.3

void adl_type_prices_update(struct adl_type_prices *prices, const struct adl_cluster *cluster, const double *planned,
                            uint32_t plans)
{
    double kept = 1;
    for (uint32_t i = 0; i < plans && kept > 1 - PLAN_MOST; i++)
        kept *= 1 - PLAN_SHARE;
    kept = fmax(kept, 1 - PLAN_MOST);
    for (uint32_t t = 0; t < cluster->type_count; t++)
        if (cluster->type_gpus[t] > 0)
            prices->of[t] += (1 - kept) * (planned[t] / cluster->type_gpus[t] - prices->of[t]);
}
