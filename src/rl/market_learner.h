/* market_learner: how the network of policy market changes by what groups of episodes have shown. */
#ifndef ADLRO_RL_MARKET_LEARNER_H
#define ADLRO_RL_MARKET_LEARNER_H

#include "nn/adam.h"
#include "rl/market_rollout.h"

struct adl_market_learner {
    float params[ADL_VALUATION_PARAMS];
    float average[ADL_VALUATION_PARAMS]; /* of the parameters over the last rounds: what is validated and kept */
    float critic[ADL_VALUATION_PARAMS];  /* DECOMPOSITION, INDEPENDENT: the value of raising a bid's logarithm */
    struct adl_adam *adam, *critic_adam;
    uint64_t seed, updates;
    double learning_rate, noise;
};

/* Random hidden units and an output of 0: bids as without learning. 0 or ADL_ENOMEM. */
int adl_market_learner_create(uint64_t seed, double learning_rate, double noise, struct adl_market_learner *ret,
                              struct adl_error *err);
void adl_market_learner_clear(struct adl_market_learner *learner); /* accepts a zeroed one */

/* EVOLUTION: the weights of a trial in the round with that number of updates; room has space for them. */
const float *adl_market_learner_disturb(const void *learner, uint32_t trial, float *room);

/* One round; returns the loss. */
double adl_market_learner_update(struct adl_market_learner *learner, const struct adl_market_group *groups,
                                 uint32_t count);

#endif
