/* plain_actions: the actions possible now, listed without a plan: the oldest and the shortest job of each lane, on
 * every type where they fit. If there are too many, those with the least predicted GPU time; they are listed in this
 * order.
 *
 * The rest is as in policy/dqn/actions.h: no job starves, and waiting is listed while some job runs. */
#ifndef ADLRO_POLICY_DQN_PLAIN_ACTIONS_H
#define ADLRO_POLICY_DQN_PLAIN_ACTIONS_H

#include "policy/dqn/actions.h"

/* Rebuilds the list. Needs a queue in order of submission and state->running. rest_us of an action is the predicted run
 * time; what the outlook gives, rates and costs, is not set. */
void adl_plain_actions_find(struct adl_actions *actions, const struct adl_state *state, double typical_us);

#endif
