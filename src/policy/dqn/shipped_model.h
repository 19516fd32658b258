/* shipped_model: the bytes of models/dqn.model, built into the program. */
#ifndef ADLRO_POLICY_DQN_SHIPPED_MODEL_H
#define ADLRO_POLICY_DQN_SHIPPED_MODEL_H

#include <stddef.h>

extern const unsigned char adl_shipped_model[];
extern const size_t adl_shipped_model_size;

#endif
