/* observation: the input of a Q-network for one decision: rows of normalized features for the GPUs, the state and the
 * actions. */
#ifndef ADLRO_POLICY_DQN_OBSERVATION_H
#define ADLRO_POLICY_DQN_OBSERVATION_H

#include "policy/dqn/actions.h"
#include "policy/dqn/normalize.h"
#include "state/state.h"

/* For which network. */
enum adl_observation_kind {
    ADL_OBSERVATION_ALL,     /* every feature of the schema */
    ADL_OBSERVATION_ACTIONS, /* without rows for GPUs: for the network whose weights are shared by all actions */
    ADL_OBSERVATION_PAPER, /* of the ADLRO paper: utilization of each GPU; queue length, priority and kind of one job */
    ADL_OBSERVATION_PLAIN, /* what needs no plan (policy/dqn/plain_observation.h), without rows for GPUs */
};

#define ADL_PAPER_GPU_FEATURES   1
#define ADL_PAPER_STATE_FEATURES (2 + ADL_KIND_COUNT)

struct adl_observation_shape {
    uint32_t gpus;
    uint32_t gpu_features, state_features, action_features;
};

struct adl_observation_shape adl_observation_shape(enum adl_observation_kind kind, const struct adl_cluster *cluster);

/* Buffers of the caller, of these shapes: gpus (gpus, gpu_features), state (state_features), actions (ADL_ACTIONS_MAX,
 * action_features). gpus may be NULL: then rows for GPUs are not filled. */
struct adl_observation {
    float *gpus, *state, *actions;
};

/* Fills the rows with raw values, NAN where there is none, in the units of the schema. The paper's observation has no
 * raw form: adl_observation_paper derives it from normalized rows. */
void adl_observation_raw(const struct adl_state *state, const struct adl_actions *actions, struct adl_observation *ret);

/* Learns the spread of raw values. */
void adl_observation_learn(struct adl_normalizer *normalizer, const struct adl_observation *raw, uint32_t gpus,
                           uint32_t actions);

/* Normalizes raw rows in place. */
void adl_observation_normalize(const struct adl_normalizer *normalizer, struct adl_observation *rows, uint32_t gpus,
                               uint32_t actions);

/* Raw and normalize in one step, faster. */
void adl_observation_fill(const struct adl_normalizer *normalizer, const struct adl_state *state,
                          const struct adl_actions *actions, struct adl_observation *ret);

/* Normalized rows as the paper's network takes them; the job is that of the first action. */
void adl_observation_paper(const struct adl_observation *rows, uint32_t gpus, struct adl_observation *ret);

#endif
