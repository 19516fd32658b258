/* sim_cost: what an event of a simulation costs, beside the cost of one in a bare event loop. */
#ifndef ADLRO_BENCH_SIM_COST_H
#define ADLRO_BENCH_SIM_COST_H

#include "model/scenario.h"

void sim_warm_up(void); /* before the first measurement */

/* Events a second of a loop that does nothing but hold events, with so many pending. */
double sim_bare_rate(uint32_t pending, bool exponential);

/* ns of an event, creation of the run apart: the best of some rounds. */
double sim_ns_per_event(const struct adl_scenario *scenario, const char *policy);

/* The same on so many nodes of eight GPUs with so many jobs. */
double sim_cost_ns(uint32_t nodes, uint64_t jobs, const char *policy);

#endif
