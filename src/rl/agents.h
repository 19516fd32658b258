/* agents: what the trainer of policy market needs beyond the agents' axis of include/adlro/adlro.h: a scenario already
 * in memory. */
#ifndef ADLRO_RL_AGENTS_H
#define ADLRO_RL_AGENTS_H

#include "metrics/metrics.h"
#include "model/scenario.h"
#include <adlro/adlro.h>

/* Like adlro_agents_create, with a scenario that the caller owns and that outlives the environment; config->scenario,
 * config->jobs and config->load are not used. */
int adl_agents_create(const struct adl_scenario *scenario, const struct adlro_agents_config *config,
                      struct adlro_agents **ret, struct adl_error *err);

/* Buffers of the sizes that the shape requires, without rewards; 0 or ADL_ENOMEM. */
int adl_agents_buffers_create(const struct adlro_agents_shape *shape, struct adlro_agents_buffers *ret);
void adl_agents_buffers_clear(struct adlro_agents_buffers *buffers); /* frees; accepts a zeroed one */

#endif
