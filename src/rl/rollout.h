/* rollout: plays episodes in a few environments side by side, by a network or by a linear rule, and keeps what happened
 * if asked to. */
#ifndef ADLRO_RL_ROLLOUT_H
#define ADLRO_RL_ROLLOUT_H

#include "nn/qnet.h"
#include "rl/environment.h"
#include "rl/experience.h"

#define ADL_ROLLOUT_CELLS 8 /* environments side by side: one forward pass serves all */

/* Who decides. Either a network or, where params is NULL, a linear rule: the action with the greatest sum of weights
 * times features. */
struct adl_agent {
    const float *params;
    const float *target; /* a slower network that says what the chosen action is worth; NULL = params does */
    const float *rule;   /* [action_features] */
    double explore;      /* share of actions drawn at random */
    double value_offset; /* a network's output times scale plus offset is a worth */
    double value_scale;
};

struct adl_rollout {
    const struct adl_qnet *net;
    struct adlro_environment *env;
    struct adlro_shape shape;
    struct adlro_buffers buffers;
    struct adl_qnet_workspace *workspace;
    /* The batch of one step, and what comes of it. */
    float *gpus, *state, *actions, *q;
    int *gpu_offset, *action_offset, *member_offset, *members;
    uint32_t cells[ADL_ROLLOUT_CELLS]; /* that are still playing */
    int32_t chosen[ADL_ROLLOUT_CELLS]; /* [place in cells] */
    int32_t own[ADL_ROLLOUT_CELLS];    /* the agent's own choice: chosen, unless it explores */
    double value[ADL_ROLLOUT_CELLS];
    uint32_t cell_count;
    double time_s[ADL_ROLLOUT_CELLS]; /* [cell] since its episode began */
};

/* scenario and net outlive the player. */
int adl_rollout_create(const struct adl_scenario *scenario, const struct adlro_config *config,
                       const struct adl_qnet *net, struct adl_rollout **ret, struct adl_error *err);
void adl_rollout_destroy(struct adl_rollout *player); /* accepts NULL */

/* Plays `count` episodes, at most ADL_ROLLOUT_CELLS, of these seeds to their ends. Adds to experience if it is not
 * NULL; ret_results: [count], may be NULL. returns: [count] sums of rewards, may be NULL. */
int adl_rollout_play(struct adl_rollout *player, const struct adl_agent *agent, const uint64_t *seeds, uint32_t count,
                     struct adl_rng *rng, struct adl_experience *experience, struct adl_result *ret_results,
                     double *ret_returns, struct adl_error *err);

#endif
