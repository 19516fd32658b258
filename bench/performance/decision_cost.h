/* decision_cost: how long a decision of a policy takes where many jobs wait. Only calls that had jobs to decide on
 * count; most of them are the last of their instant and find nothing more to do. */
#ifndef ADLRO_BENCH_DECISION_COST_H
#define ADLRO_BENCH_DECISION_COST_H

#include "experiment/run.h"
#include "policy/policy.h"

enum { DECISION_PLACES = 3 }; /* paper16, 256 GPUs, 10,000 GPUs */

struct decision_cost {
    double p50_us, p99_us, most_us;
    size_t count; /* of decisions */
};

const char *decision_place_name(uint32_t place);
double decision_bar_us(uint32_t place, const char *policy); /* for p99; 0 = none */
void decision_place_load(uint32_t place, struct adl_scenario *ret);

/* Of a loaded place; ends the program if it cannot be run. */
struct decision_cost decision_cost(uint32_t place, const struct adl_scenario *scenario,
                                   const struct adl_policy_ops *ops);

#endif
