/* plain_observation: the rows of a decision without what only a plan knows: features of the queue, the GPUs and the
 * jobs that take little time to compute. They are columns of the same table (policy/dqn/normalize.h), and fewer; run
 * times are the engine's predictions. */
#ifndef ADLRO_POLICY_DQN_PLAIN_OBSERVATION_H
#define ADLRO_POLICY_DQN_PLAIN_OBSERVATION_H

#include "policy/dqn/observation.h"

/* What a column of ADL_OBSERVATION_PLAIN is; ADL_FEATURE_COUNT where the row has no such column. */
enum adl_feature adl_plain_feature(enum adl_feature_row row, uint32_t column);
uint32_t adl_plain_columns(enum adl_feature_row row);

/* Rows of these actions (policy/dqn/plain_actions.h), as raw values or normalized. There are none for GPUs. */
void adl_plain_observation_raw(const struct adl_state *state, const struct adl_actions *actions,
                               struct adl_observation *ret);
void adl_plain_observation_learn(struct adl_normalizer *normalizer, const struct adl_observation *raw,
                                 uint32_t actions);
void adl_plain_observation_normalize(const struct adl_normalizer *normalizer, struct adl_observation *rows,
                                     uint32_t actions);

#endif
