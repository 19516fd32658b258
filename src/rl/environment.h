/* environment: what the trainer needs beyond the public include/adlro/adlro.h: the normalizer, a scenario already in
 * memory, and the complete result. */
#ifndef ADLRO_RL_ENVIRONMENT_H
#define ADLRO_RL_ENVIRONMENT_H

#include "metrics/metrics.h"
#include "model/scenario.h"
#include "policy/dqn/normalize.h"
#include <adlro/adlro.h>

/* Like adlro_create, with a scenario that the caller owns and that outlives the environment; config->scenario is not
 * used. */
int adl_environment_create(const struct adl_scenario *scenario, const struct adlro_config *config,
                           struct adlro_environment **ret, struct adl_error *err);

const struct adl_normalizer *adl_environment_normalizer(const struct adlro_environment *environment);
void adl_environment_set_normalizer(struct adlro_environment *environment, const struct adl_normalizer *normalizer);

/* Another weight of idle GPU time than the scenario's, from the next reset on. */
void adl_environment_set_lambda(struct adlro_environment *environment, double lambda);

/* Buffers of the sizes that the shape requires; 0 or ADL_ENOMEM. */
int adl_buffers_create(const struct adlro_shape *shape, struct adlro_buffers *ret);
void adl_buffers_clear(struct adlro_buffers *buffers); /* frees; accepts a zeroed one */

void adl_environment_result(struct adlro_environment *environment, uint32_t index, struct adl_result *ret);

#endif
