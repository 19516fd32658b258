/* swaps: local search: improves a packing by small exchanges, each of which increases the saving.
 *
 * There is one kind of move: force one offer in, give back the offers that conflict with it (of its jobs, of its pool,
 * or for their power), and let the jobs that lost theirs, then any waiting job, take the best offer that fits. So jobs
 * move, swap, pair up, split, or replace each other. Dual prices of GPUs, watts and jobs decide which offers are tried
 * first and which ones give way. */
#ifndef ADLRO_SOLVE_SWAPS_H
#define ADLRO_SOLVE_SWAPS_H

#include "solve/prices.h"

/* Runs until no try improves or `most` tries are done; returns their number. */
uint32_t adl_swaps_run(const struct adl_prices *prices, struct adl_packing *packing, uint32_t most);

#endif
