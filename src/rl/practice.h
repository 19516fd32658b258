/* practice: random scenarios that training turns to besides its own, so that a network learns what holds on clusters
 * and loads that it has not seen. */
#ifndef ADLRO_RL_PRACTICE_H
#define ADLRO_RL_PRACTICE_H

#include "base/error.h"
#include "model/scenario.h"

#define ADL_PRACTICE_MAX 256

/* The small ones of the generator (scenario/generator.h), of its seeds for training. At most jobs_max jobs each. The
 * array is malloc'd: adl_practice_destroy. */
int adl_practice_create(uint64_t first_seed, uint32_t count, uint64_t jobs_max, struct adl_scenario **ret,
                        struct adl_error *err);
void adl_practice_destroy(struct adl_scenario *scenarios, uint32_t count); /* accepts NULL */

#endif
