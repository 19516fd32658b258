/* warm_start: the rule that training begins with, linear in the features of actions: start the job that completes most
 * for its GPU time, more so with age, where it costs least; wait if every start costs much more than its job would
 * elsewhere. It is the ranking of policy adlro, as far as the features of one action express it. */
#ifndef ADLRO_RL_WARM_START_H
#define ADLRO_RL_WARM_START_H

#include "policy/dqn/normalize.h"

#define ADL_WARM_START_FEATURES_MAX 64

/* Weights of an action's normalized features; returns how many there are. */
uint32_t adl_warm_start_rule(const struct adl_normalizer *normalizer, float ret[ADL_WARM_START_FEATURES_MAX]);

#endif
