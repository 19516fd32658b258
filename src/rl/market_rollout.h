/* market_rollout: episodes from which the agents of policy market learn: one workload, played several times. What
 * differs between the plays depends on the method; the jobs are the same, so plays are each other's baseline. */
#ifndef ADLRO_RL_MARKET_ROLLOUT_H
#define ADLRO_RL_MARKET_ROLLOUT_H

#include "model/scenario.h"
#include "policy/market/valuation.h"
#include "rl/agents.h"

enum adl_market_method {
    ADL_MARKET_DIFFERENCE,    /* what would the total have been without the winner's bid: played to the end */
    ADL_MARKET_DECOMPOSITION, /* the shared return is a sum of values of the agents that bid */
    ADL_MARKET_INDEPENDENT,   /* each agent learns from its own return */
    ADL_MARKET_EVOLUTION,     /* weights are disturbed, not bids */
    ADL_MARKET_METHODS
};

extern const char *const adl_market_method_names[ADL_MARKET_METHODS + 1]; /* ends with NULL */

/* DIFFERENCE: two bids for a job, and what the first one's victory has cost all jobs in all, relative to the second's;
 * in mean completion times. */
struct adl_bid_pair {
    float first[ADL_BID_FEATURES], second[ADL_BID_FEATURES];
    double log_gap; /* hand-written bids: logarithm of the second less that of the first */
    double difference;
};

/* DECOMPOSITION, INDEPENDENT: a bid that was disturbed, and the return that followed, less that of the other plays. */
struct adl_bid_trial {
    float features[ADL_BID_FEATURES];
    float noise;         /* added to the logarithm of the bid */
    uint32_t play, step; /* bids of one step share the shared return */
    uint32_t agent, arrival;
    double advantage;
};

struct adl_market_group {
    /* what to play */
    const struct adl_scenario *scenario;
    uint64_t seed;
    enum adl_market_method method;
    uint32_t trials;
    double noise;
    const float *params;                                                      /* of the network */
    const float *(*disturbed)(const void *self, uint32_t trial, float *room); /* EVOLUTION: weights of a trial */
    const void *self;
    /* what came out */
    struct adl_bid_pair *pairs;
    struct adl_bid_trial *bids;
    size_t pair_count, bid_count, bid_capacity;
    double *costs; /* [trials + 1] of all jobs, in seconds; the last is that of the network itself */
    uint64_t decisions;
    struct adlro_result result; /* of the network itself */
    int status;
    struct adl_error err;
};

void adl_market_group_play(struct adl_market_group *group);
void adl_market_group_clear(struct adl_market_group *group); /* frees what came out; accepts a zeroed one */

/* One run of the network without noise: cost and figures. */
int adl_market_evaluate(const struct adl_scenario *scenario, uint64_t seed, const float *params, double *ret_cost_s,
                        struct adlro_result *ret, struct adl_error *err);

#endif
