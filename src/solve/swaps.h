/* swaps: makes a packing save more by small exchanges, each of which pays.
 *
 * One kind of try covers all: force one offer in, give back what stands in its way (another offer of its jobs, of its
 * pool, or what draws too much power), and let those who lost their place, then anyone who waits, take the best that
 * is left. So jobs move, change places, pair up, part, or serve one who waits instead of another. Which offers are
 * tried first and what gives way is told by prices: what the last GPU of a pool, the last watt, and a job's next best
 * place are worth. */
#ifndef ADLRO_SOLVE_SWAPS_H
#define ADLRO_SOLVE_SWAPS_H

#include "solve/packing.h"

struct adl_swaps {
    double *gpu_price;    /* [pool] */
    double *job_value;    /* [group] of one job at these prices */
    uint64_t *candidates; /* [offer] keys by what they promise */
    uint64_t *scratch;
};

int adl_swaps_init(struct adl_swaps *swaps, uint32_t groups, uint32_t pools, uint32_t offers); /* 0 or ADL_ENOMEM */
void adl_swaps_clear(struct adl_swaps *swaps);

/* Until nothing pays or `most` tries are done; how many were. */
uint32_t adl_swaps_run(struct adl_swaps *swaps, struct adl_packing *packing, uint32_t most);

#endif
