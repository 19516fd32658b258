/* dqn_trainer_internal: shared by dqn_trainer.c and dqn_checkpoint.c: the state of a training. */
#ifndef ADLRO_RL_DQN_TRAINER_INTERNAL_H
#define ADLRO_RL_DQN_TRAINER_INTERNAL_H

#include "rl/dqn_trainer.h"

#include "experiment/thread_pool.h"
#include "rl/learner.h"
#include "rl/rollout.h"
#include "rl/warm_start.h"

#define ADL_DQN_GROUPS (ADL_SWEEP_EPISODES / ADL_ROLLOUT_CELLS)

/* A place in the turn of scenarios: a group of parallel episodes with the same jobs. Several may have one scenario. */
struct adl_dqn_slot {
    const struct adl_scenario *scenario;
    struct adl_rollout *rollout;
    struct adl_experience experience;
    double horizon_s;
};

struct adl_dqn_trainer {
    struct adl_dqn_config config;
    struct adl_scenario longer; /* the scenario with more jobs; it owns nothing */
    struct adl_qnet net;
    struct adl_thread_pool *pool;
    struct adl_dqn_slot *slots; /* a sweep uses the next ADL_DQN_GROUPS of them */
    uint32_t slot_count;
    const struct adl_experience **experience; /* [slot] */
    struct adl_learner *learner;
    float *best;
    float rule[ADL_WARM_START_FEATURES_MAX];
    double *references; /* [validation group] return of the warm-start policy */
    uint64_t scenario_hash;
    uint64_t episodes, decisions;
    double best_return;
    struct adl_result best_validation;
    /* Of the current sweep. */
    struct adl_agent agent;
    double returns[ADL_SWEEP_EPISODES]; /* training: of each group */
    struct adl_result results[ADL_SWEEP_EPISODES];
    uint64_t group_decisions[ADL_DQN_GROUPS];
    uint64_t first_seed;
    uint32_t first_group, episode_count;
    int status[ADL_DQN_GROUPS];
    struct adl_error error[ADL_DQN_GROUPS];
};

size_t adl_dqn_params_size(const struct adl_dqn_trainer *trainer);
uint32_t adl_dqn_validation_groups(const struct adl_dqn_trainer *trainer);

#endif
