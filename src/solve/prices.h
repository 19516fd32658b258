/* prices: what a GPU of each pool, a watt and a job of each group are worth in an allotment, and about how often each
 * offer is then taken: an approximate answer to the linear relaxation and its dual.
 *
 * Entropic smoothing: were offers taken exp(surplus / T) times, the prices at which nothing is overbooked are found by
 * scaling one constraint after the other (R. Sinkhorn's method as used for transport by M. Cuturi, "Sinkhorn distances:
 * lightspeed computation of optimal transport", NIPS 2013); T falls from round to round, and the fewer offers matter
 * the lower it is. Any shape that falls fast does instead of exp: here (1 + z/16)^16, which needs no library. */
#ifndef ADLRO_SOLVE_PRICES_H
#define ADLRO_SOLVE_PRICES_H

#include "solve/packing.h"

/* What the rounds read of an offer, together. */
struct adl_priced_offer {
    double saving, power, gpus, weight;
    uint32_t pool, group[2];
};

struct adl_prices {
    double *gpu;                     /* [pool] */
    double *job;                     /* [group], and one more that is 0 */
    double mean;                     /* saving of an offer */
    double watt;                     /* of 2^-20 W */
    double *surplus;                 /* [offer] what it saves beyond these prices */
    double *amount;                  /* [offer] about how often the relaxation takes it */
    struct adl_priced_offer *active; /* that may matter */
    uint32_t active_count;
    double *pool_load, *group_load;
    double power_cap, power_mean; /* 0: there is no cap */
};

int adl_prices_init(struct adl_prices *prices, uint32_t groups, uint32_t pools, uint32_t offers); /* 0 or ADL_ENOMEM */
void adl_prices_clear(struct adl_prices *prices);

/* Of the packing's problem, whatever is taken. */
void adl_prices_find(struct adl_prices *prices, const struct adl_packing *packing);

/* The surplus of all offers at other prices, written to gpu, job and watt. */
void adl_prices_apply(struct adl_prices *prices, const struct adl_packing *packing);

/* No allotment saves more: true at any prices that are not negative, close at the right ones. */
double adl_prices_bound(const struct adl_prices *prices, const struct adl_packing *packing);

#endif
