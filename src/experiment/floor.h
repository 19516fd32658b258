/* floor: what no policy can beat on the workload of one seed: mean JCT, makespan, energy. */
#ifndef ADLRO_EXPERIMENT_FLOOR_H
#define ADLRO_EXPERIMENT_FLOOR_H

#include "metrics/metrics.h"
#include "model/scenario.h"
#include "sim/source.h"

int adl_lower_bound_compute(const struct adl_scenario *scenario, const struct adl_job_supply *supply, uint64_t seed,
                            struct adl_lower_bound *ret, struct adl_error *err);

#endif
