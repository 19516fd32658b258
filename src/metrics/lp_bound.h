/* lp_bound: the bound of solve/time_index.h on the mean JCT of a run. */
#ifndef ADLRO_METRICS_LP_BOUND_H
#define ADLRO_METRICS_LP_BOUND_H

#include "metrics/lower_bound.h"

#define ADL_LP_BOUND_JOBS_MAX 2048

/* Raises jct_mean_s of a bound that adl_lower_bound_compute() made from the same arguments. Fails if there are more
 * jobs than ADL_LP_BOUND_JOBS_MAX. */
int adl_lp_bound_raise(const struct adl_scenario *scenario, const struct adl_job_supply *supply, uint64_t seed,
                       struct adl_lower_bound *bound, struct adl_error *err);

#endif
