/* prices: dual prices of a GPU of each pool, a watt and a job of each group in an allotment, and about how often each
 * offer is then taken: an approximate solution of the linear relaxation and its dual.
 *
 * Entropic smoothing: if offers are taken exp(surplus / T) times, the prices at which no constraint is violated are
 * found by scaling one constraint after the other (R. Sinkhorn's method as used for transport by M. Cuturi, "Sinkhorn
 * distances: lightspeed computation of optimal transport", NIPS 2013); T falls from round to round, and the lower it is
 * the fewer offers matter. Any shape that falls fast can replace exp: here (1 + z/16)^16, which needs no library. */
#ifndef ADLRO_SOLVE_PRICES_H
#define ADLRO_SOLVE_PRICES_H

#include "solve/packing.h"

/* The data of an offer that the rounds read. */
struct adl_priced_offer {
    double saving, power, gpus, weight;
    uint32_t pool, group[2];
};

struct adl_prices {
    double *gpu;                     /* [pool] */
    double *job;                     /* [group], and one more that is 0 */
    double mean;                     /* saving of an offer */
    double watt;                     /* of 2^-20 W */
    double *surplus;                 /* [offer] its saving minus these prices */
    double *amount;                  /* [offer] about how often the relaxation takes it */
    struct adl_priced_offer *active; /* offers that may matter */
    uint32_t active_count;
    double *pool_load, *group_load;
    double power_cap, power_mean; /* 0: there is no cap */
};

int adl_prices_init(struct adl_prices *prices, uint32_t groups, uint32_t pools, uint32_t offers); /* 0 or ADL_ENOMEM */
void adl_prices_clear(struct adl_prices *prices);

/* Of the packing's problem, regardless of the offers taken. */
void adl_prices_find(struct adl_prices *prices, const struct adl_packing *packing);

/* Recomputes the surplus of all offers for other prices, which the caller wrote to gpu, job and watt. */
void adl_prices_apply(struct adl_prices *prices, const struct adl_packing *packing);

/* Upper bound on the saving: valid for any non-negative prices, tight at the optimal ones. */
double adl_prices_bound(const struct adl_prices *prices, const struct adl_packing *packing);

#endif
