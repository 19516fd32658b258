/* dqn_trainer: teaches a Q-network to schedule, in rounds: play some episodes with the network as it is, then learn
 * from all of them.
 *
 * Everything a round does follows from the configuration, the round's number and what was learned before it, so a
 * training that is taken up again from a checkpoint ends in the same bits, and the number of threads does not matter.
 *
 * Seeds of workloads come from three ranges that do not meet: training from 2^62, validation from 2^61, and whatever
 * `compare` may be asked for from below 2^53. */
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

#define ADL_ROUND_EPISODES 64

struct adl_dqn_config {
    const struct adl_scenario *scenario; /* outlives the trainer */
    enum adl_qnet_kind network;
    uint64_t seed;
    uint64_t episodes;  /* in all: what schedules go by */
    uint32_t threads;   /* at least 1 */
    uint32_t gpu_width; /* of the shared network; multiples of 16 */
    uint32_t head_width;
    double learning_rate, learning_rate_end;
    double explore, explore_end; /* share of random actions */
    double guided;               /* share of the episodes in which the guide leads, at the start */
    double prior;                /* how much the guide's rule counts in the network to begin with */
    double horizon_s;            /* rewards fade as exp(-t / horizon) */
    double trace;                /* lambda of Q(lambda) */
    double tail;                 /* weight of long completion times in the reward */
    uint32_t batch;              /* decisions to a step of the optimizer */
    uint32_t passes;             /* over a round's experience */
    uint32_t target_rounds;      /* rounds between two copies into the target network */
    uint32_t validate_rounds;    /* rounds between two validations */
    uint32_t validation_episodes;
    uint32_t guide_generations;
};

struct adl_dqn_config adl_dqn_defaults(enum adl_qnet_kind network);

/* What a round brought. */
struct adl_dqn_report {
    uint64_t episodes;  /* so far */
    uint64_t decisions; /* so far in this process */
    uint64_t updates;
    double mean_return; /* of this round's episodes */
    double loss;
    double explore;
    bool guided;
    bool validated; /* what follows is set */
    bool best;      /* the best so far on the validation seeds */
    double validation_return;
    struct adl_result validation; /* means over the validation seeds */
};

struct adl_dqn_trainer;

int adl_dqn_trainer_create(const struct adl_dqn_config *config, struct adl_dqn_trainer **ret, struct adl_error *err);
void adl_dqn_trainer_destroy(struct adl_dqn_trainer *trainer); /* accepts NULL */

/* Fits the normalizer and finds the guide: what comes before the first round. progress as in rl/warm_start.h. */
int adl_dqn_trainer_prepare(struct adl_dqn_trainer *trainer, int (*progress)(void *, uint32_t, double), void *self,
                            struct adl_error *err);

/* One round: 1 and its report, 0 if all episodes were played, negative on failure. */
int adl_dqn_trainer_round(struct adl_dqn_trainer *trainer, struct adl_dqn_report *ret, struct adl_error *err);

/* The best model so far as bytes: to be used, and with everything that resume needs: to be gone on with. */
int adl_dqn_trainer_model(const struct adl_dqn_trainer *trainer, struct adl_text *ret, struct adl_error *err);
int adl_dqn_trainer_checkpoint(const struct adl_dqn_trainer *trainer, struct adl_text *ret, struct adl_error *err);
int adl_dqn_trainer_resume(struct adl_dqn_trainer *trainer, const void *bytes, size_t size, struct adl_error *err);

/* A policy's mean figures on the validation seeds, to hold the network against. */
int adl_dqn_trainer_baseline(const struct adl_dqn_trainer *trainer, const char *policy, struct adl_result *ret,
                             struct adl_error *err);

#endif
