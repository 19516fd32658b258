/* load: how many jobs of a scenario's mix its cluster can finish, and so how loaded its arrivals make it. */
#ifndef ADLRO_SCENARIO_LOAD_H
#define ADLRO_SCENARIO_LOAD_H

#include "base/error.h"
#include "model/scenario.h"

/* Jobs per hour that the cluster finishes at most in the long run: the fluid limit, a linear program. Each kind of job
 * (a line of the mix with a number of GPUs) goes to the types on which it fits, split as is best for all. Nothing is
 * lost to fragments, stops, faults or wear, and no GPU is shared. */
int adl_scenario_capacity(const struct adl_scenario *scenario, double *ret_jobs_per_h, struct adl_error *err);

/* The mean run time of a line of the mix on its reference type. */
double adl_mix_mean_s(const struct adl_mix *mix);

#endif
