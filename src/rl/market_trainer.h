/* market_trainer: trains the network that all agents of policy market share: centrally, on episodes of several
 * scenarios, in rounds. An agent executes it with what it knows itself (policy/market/valuation.h).
 *
 * A round depends only on the configuration, its number and the state before it: training resumed from a checkpoint
 * ends in the same bits, and the number of threads does not matter. Seeds are those of dqn_trainer.h. */
#ifndef ADLRO_RL_MARKET_TRAINER_H
#define ADLRO_RL_MARKET_TRAINER_H

#include "rl/market_rollout.h"

#include <stdbool.h>

struct adl_market_training {
    const struct adl_scenario *scenario; /* outlives the trainer, as the others do */
    const struct adl_scenario *others;   /* more to learn from, in turn with it; figures are of the first */
    uint32_t other_count;
    enum adl_market_method method;
    uint64_t seed;
    uint64_t episodes; /* in all */
    uint32_t threads;  /* at least 1 */
    double learning_rate;
    double noise;                 /* of bids' logarithms, or of weights */
    uint32_t groups, trials;      /* of a round: workloads, and plays of each */
    uint32_t validate_rounds;     /* rounds between two validations */
    uint32_t validation_episodes; /* of each scenario */
};

struct adl_market_training adl_market_training_defaults(enum adl_market_method method);

struct adl_market_report {
    uint64_t episodes, decisions, updates; /* so far */
    double mean_jct_s;                     /* of this round's plays of the first scenario */
    double loss;
    bool validated;                 /* the members below are set */
    bool best;                      /* the best so far on the validation seeds, and better than without learning */
    double relative;                /* cost relative to bids without learning, mean over the scenarios */
    double own_relative;            /* of the first scenario alone */
    struct adlro_result validation; /* means of the first scenario over the validation seeds */
};

struct adl_market_trainer;

int adl_market_trainer_create(const struct adl_market_training *config, struct adl_market_trainer **ret,
                              struct adl_error *err);
void adl_market_trainer_destroy(struct adl_market_trainer *trainer); /* accepts NULL */

/* Before the first round, and after resume: bids without learning on the validation seeds. */
int adl_market_trainer_prepare(struct adl_market_trainer *trainer, struct adlro_result *ret, struct adl_error *err);

/* One round: 1 and its report, 0 if all episodes are done, negative on failure. */
int adl_market_trainer_round(struct adl_market_trainer *trainer, struct adl_market_report *ret, struct adl_error *err);

/* The best network so far (without learning, if none was better), and all that resume needs, as bytes. */
void adl_market_trainer_model(const struct adl_market_trainer *trainer, struct adl_valuation *ret);
void adl_market_trainer_checkpoint(const struct adl_market_trainer *trainer, struct adl_text *ret);
int adl_market_trainer_resume(struct adl_market_trainer *trainer, const void *bytes, size_t size,
                              struct adl_error *err);

#endif
