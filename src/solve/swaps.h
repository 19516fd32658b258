/* swaps: makes a packing save more by small exchanges, each of which pays.
 *
 * One kind of try covers all: force one offer in, give back what stands in its way (another offer of its jobs, of its
 * pool, or what draws too much power), and let those who lost their place, then anyone who waits, take the best that
 * is left. So jobs move, change places, pair up, part, or serve one who waits instead of another. Which offers are
 * tried first and what gives way is told by prices: what the last GPU of a pool, the last watt, and a job's next best
 * place are worth. */
#ifndef ADLRO_SOLVE_SWAPS_H
#define ADLRO_SOLVE_SWAPS_H

#include "solve/prices.h"

/* Until nothing pays or `most` tries are done; how many were. */
uint32_t adl_swaps_run(const struct adl_prices *prices, struct adl_packing *packing, uint32_t most);

#endif
