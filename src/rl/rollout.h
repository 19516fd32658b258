/* rollout: runs episodes in a few parallel environments, by a network or a linear rule, and optionally stores the
 * experience. */
#ifndef ADLRO_RL_ROLLOUT_H
#define ADLRO_RL_ROLLOUT_H

#include "nn/qnet.h"
#include "rl/environment.h"
#include "rl/experience.h"

#define ADL_ROLLOUT_CELLS 8 /* parallel environments: one forward pass serves all */

/* The acting policy: a network, or, if params is NULL, a linear rule: the action with the greatest weighted sum of
 * features. */
struct adl_agent {
    const float *params;
    const float *target; /* the target network, which values the greedy action; NULL = params does */
    const float *rule;   /* [action_features] */
    double explore;      /* fraction of random actions (epsilon) */
    double value_offset; /* a network's output times scale plus offset is a value */
    double value_scale;
};

struct adl_rollout {
    const struct adl_qnet *net;
    struct adlro_environment *env;
    struct adlro_shape shape;
    struct adlro_buffers buffers;
    struct adl_qnet_workspace *workspace;
    /* The batch of one step and its results. */
    float *gpus, *state, *actions, *q;
    int *gpu_offset, *action_offset, *member_offset, *members;
    uint32_t cells[ADL_ROLLOUT_CELLS]; /* still running */
    int32_t chosen[ADL_ROLLOUT_CELLS]; /* [index in cells] */
    int32_t greedy[ADL_ROLLOUT_CELLS]; /* the greedy action: chosen, unless it explores */
    double value[ADL_ROLLOUT_CELLS];
    uint32_t cell_count;
    double time_s[ADL_ROLLOUT_CELLS]; /* [cell] since its episode began */
};

/* scenario and net outlive the rollout. */
int adl_rollout_create(const struct adl_scenario *scenario, const struct adlro_config *config,
                       const struct adl_qnet *net, struct adl_rollout **ret, struct adl_error *err);
void adl_rollout_destroy(struct adl_rollout *rollout); /* accepts NULL */

/* Runs `count` episodes, at most ADL_ROLLOUT_CELLS, with these seeds to their ends. Adds to experience if it is not
 * NULL. ret_results: [count], may be NULL. ret_returns: [count] sums of rewards, may be NULL. */
int adl_rollout_run(struct adl_rollout *rollout, const struct adl_agent *agent, const uint64_t *seeds, uint32_t count,
                    struct adl_rng *rng, struct adl_experience *experience, struct adl_result *ret_results,
                    double *ret_returns, struct adl_error *err);

#endif
