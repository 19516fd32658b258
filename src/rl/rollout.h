/* rollout: runs episodes in a few parallel environments, by a network or a linear rule: to validate it, or to compare
 * actions. Those of one decision are compared by playing each to the end: all other chance is the same, so that the
 * difference of two returns is due to the action, and to what follows from it, alone. */
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
    const float *rule; /* [action_features] */
    double prior;      /* targets of comparisons: weight of the rule beside what was gained */
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
    uint32_t cell_count;
    double returns[ADL_ROLLOUT_CELLS]; /* [cell] discounted, if that was asked for */
    double time_s[ADL_ROLLOUT_CELLS];  /* [cell] since returns are summed */
};

/* scenario and net outlive the rollout. */
int adl_rollout_create(const struct adl_scenario *scenario, const struct adlro_config *config,
                       const struct adl_qnet *net, struct adl_rollout **ret, struct adl_error *err);
void adl_rollout_destroy(struct adl_rollout *rollout); /* accepts NULL */

/* Runs `count` episodes, at most ADL_ROLLOUT_CELLS, with these seeds to their ends. ret_results: [count]. ret_returns:
 * [count] sums of rewards. */
int adl_rollout_run(struct adl_rollout *rollout, const struct adl_agent *agent, const uint64_t *seeds, uint32_t count,
                    struct adl_result *ret_results, double *ret_returns, struct adl_error *err);

/* Runs an episode, draws one of its decisions, and plays it again from there with up to ADL_ROLLOUT_CELLS - 1 other
 * actions; after them the agent decides. Adds the decision to experience. The target of an action is what it gained, in
 * units of the horizon, and, so that the network leaves the rule only where that is worth it, prior times what the rule
 * says of it, both less those of the agent's own choice. Rewards are discounted by exp(-t / horizon_s). *ret_return:
 * the episode's; ret_decisions: its decisions and those after other actions. */
int adl_rollout_compare(struct adl_rollout *rollout, const struct adl_agent *agent, uint64_t seed, double horizon_s,
                        struct adl_rng *rng, struct adl_experience *experience, double *ret_return,
                        uint64_t *ret_decisions, struct adl_error *err);

#endif
