/* prices: what a GPU of each type is worth to those who wait for it: queued jobs that are planned on the type, for each
 * of its GPUs, averaged over the last plans. */
#ifndef ADLRO_POLICY_ADLRO_PRICES_H
#define ADLRO_POLICY_ADLRO_PRICES_H

#include "model/cluster.h"

struct adl_type_prices {
    double of[ADL_TYPES_MAX];
};

/* After a plan of a queue that is not empty: an empty queue tells nothing of what is scarce. If energy has a weight,
 * after a decision with an empty queue, too: prices that stay high would keep the frugal types idle. planned: jobs that
 * wait, by the type that they are planned on. plans: those since the last update, this one included. Prices of the last
 * plan alone would make the types that jobs wait for alternate. */
void adl_type_prices_update(struct adl_type_prices *prices, const struct adl_cluster *cluster, const double *planned,
                            uint32_t plans);

#endif
