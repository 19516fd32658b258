/* observation: what a Q-network sees of one decision: rows of normalized features for the GPUs, the state and the
 * choices. */
#ifndef ADLRO_POLICY_DQN_OBSERVATION_H
#define ADLRO_POLICY_DQN_OBSERVATION_H

#include "policy/dqn/actions.h"
#include "policy/dqn/normalize.h"
#include "state/state.h"

/* Which network looks. */
enum adl_observation_kind {
    ADL_OBSERVATION_SHARED, /* every feature of the schema; the weights are shared among GPUs */
    ADL_OBSERVATION_PAPER,  /* the ADLRO paper's: utilization of each GPU; queue length, priority and type of the job at
                             * hand
                             */
};

#define ADL_PAPER_GPU_FEATURES   1
#define ADL_PAPER_STATE_FEATURES (2 + ADL_KIND_COUNT)

struct adl_observation_shape {
    uint32_t gpus;
    uint32_t gpu_features, state_features, choice_features;
};

struct adl_observation_shape adl_observation_shape(enum adl_observation_kind kind, const struct adl_cluster *cluster);

/* Buffers of the caller, as large as the shape says: gpus (gpus, gpu_features), state (state_features), choices
 * (ADL_ACTIONS_MAX, choice_features). */
struct adl_observation {
    float *gpus, *state, *choices;
};

/* Fills the rows with raw values, NAN where there is none, in the units of the schema. The paper's observation has no
 * raw form of its own: it is taken from these by adl_observation_paper. */
void adl_observation_raw(const struct adl_state *state, const struct adl_actions *choices, struct adl_observation *ret);

/* Learns the spread of raw values. */
void adl_observation_learn(struct adl_normalizer *normalizer, const struct adl_observation *raw, uint32_t gpus,
                           uint32_t choices);

/* Raw rows become normalized ones, in place. */
void adl_observation_normalize(const struct adl_normalizer *normalizer, struct adl_observation *rows, uint32_t gpus,
                               uint32_t choices);

/* Both at once, and sooner: what raw and normalize come to. */
void adl_observation_see(const struct adl_normalizer *normalizer, const struct adl_state *state,
                         const struct adl_actions *choices, struct adl_observation *ret);

/* Normalized rows as the paper's network sees them; the job at hand is that of the first choice. */
void adl_observation_paper(const struct adl_observation *rows, uint32_t gpus, struct adl_observation *ret);

#endif
