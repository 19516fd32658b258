/* dqn_trainer: trains a Q-network to schedule, in rounds: play the current network and compare some of its actions with
 * others (rl/rollout.h), then learn from all comparisons. This is policy iteration by rollouts (Tesauro and Galperin
 * 1996).
 *
 * A round depends only on the configuration, its number and the state before it. So training resumed from a checkpoint
 * ends in the same bits, and the number of threads does not matter.
 *
 * Seeds of workloads come from three disjoint ranges: training from 2^62, validation from 2^61, and those of `compare`
 * below 2^53. */
#ifndef ADLRO_RL_DQN_TRAINER_H
#define ADLRO_RL_DQN_TRAINER_H

#include "base/text.h"
#include "metrics/metrics.h"
#include "model/scenario.h"
#include "nn/qnet.h"

#include <stdbool.h>
#include <stdint.h>

#define ADL_SEED_TRAINING   (UINT64_C(1) << 62)
#define ADL_SEED_VALIDATION (UINT64_C(1) << 61)

#define ADL_SWEEP_EPISODES 64   /* played at once; a round has several sweeps */
#define ADL_VALIDATION_MAX 4096 /* episodes of a validation, at most */

struct adl_dqn_config {
    const struct adl_scenario *scenario; /* outlives the trainer, as the others do */
    const struct adl_scenario *others;   /* more to learn from, in turn with it; figures are of the first */
    uint32_t other_count;
    enum adl_qnet_kind network;
    uint64_t seed;
    uint64_t episodes;  /* in all; the learning rate is scheduled over them */
    uint32_t sweeps;    /* of ADL_SWEEP_EPISODES each, in a round; fewer in a short training, for it to have 8 rounds */
    uint32_t threads;   /* at least 1 */
    uint32_t gpu_width; /* of the shared network; multiples of 16 */
    uint32_t head_width;
    double learning_rate, learning_rate_end;
    double prior;             /* weight of the warm-start policy: initially the network has nothing else */
    double horizon;           /* rewards are discounted by exp(-t / (horizon * mean run time of the scenario)) */
    double tail;              /* weight of long completion times in the reward */
    uint32_t batch;           /* decisions per optimizer step */
    uint32_t passes;          /* over a round's experience */
    uint32_t validate_rounds; /* rounds between two validations */
    uint32_t validation_episodes;
};

struct adl_dqn_config adl_dqn_defaults(enum adl_qnet_kind network);

/* Result of a round. */
struct adl_dqn_report {
    uint64_t episodes;  /* so far */
    uint64_t decisions; /* so far in this process */
    uint64_t updates;
    double mean_return; /* of this round's episodes as the network plays them */
    double loss;
    bool validated;               /* the members below are set */
    bool best;                    /* the best so far on the validation seeds */
    double validation_return;     /* relative to that of the warm-start policy, which has -1 */
    struct adl_result validation; /* means over the validation seeds */
};

struct adl_dqn_trainer;

int adl_dqn_trainer_create(const struct adl_dqn_config *config, struct adl_dqn_trainer **ret, struct adl_error *err);
void adl_dqn_trainer_destroy(struct adl_dqn_trainer *trainer); /* accepts NULL */

/* Before the first round: fits the normalizer, initializes the network with the warm-start policy (rl/warm_start.h) and
 * evaluates that. *ret_warm_start: its means over the validation seeds. */
int adl_dqn_trainer_prepare(struct adl_dqn_trainer *trainer, struct adl_result *ret_warm_start, struct adl_error *err);

/* One round: 1 and its report, 0 if all episodes are done, negative on failure. */
int adl_dqn_trainer_round(struct adl_dqn_trainer *trainer, struct adl_dqn_report *ret, struct adl_error *err);

/* The best model so far as bytes; and a checkpoint with everything that resume needs. */
int adl_dqn_trainer_model(const struct adl_dqn_trainer *trainer, struct adl_text *ret, struct adl_error *err);
int adl_dqn_trainer_checkpoint(const struct adl_dqn_trainer *trainer, struct adl_text *ret, struct adl_error *err);
int adl_dqn_trainer_resume(struct adl_dqn_trainer *trainer, const void *bytes, size_t size, struct adl_error *err);

/* A policy's mean figures on the validation seeds, as a baseline for the network. */
int adl_dqn_trainer_baseline(const struct adl_dqn_trainer *trainer, const char *policy, struct adl_result *ret,
                             struct adl_error *err);

#endif
