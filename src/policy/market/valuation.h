/* valuation: the learned part of a bid: what an agent sees of itself and of the announced job, as numbers of about 0 to
 * 1, and a small network that turns them into a factor of its hand-written bid.
 *
 * Pure functions of the agent's own memory and the message, like those of agent.h. */
#ifndef ADLRO_POLICY_MARKET_VALUATION_H
#define ADLRO_POLICY_MARKET_VALUATION_H

#include "base/error.h"
#include "base/text.h"
#include "policy/market/agent.h"

enum adl_bid_feature {
    ADL_BID_WAIT,     /* time until the job could start, relative to its run */
    ADL_BID_QUEUE,    /* jobs in the agent's queue for each GPU of the type */
    ADL_BID_BACKLOG,  /* work in that queue, as time, relative to the job's run */
    ADL_BID_BUSY,     /* share of its GPUs of the type that are not free */
    ADL_BID_WIDTH,    /* share of these GPUs that the job takes */
    ADL_BID_PRICE,    /* of the type, for all GPUs of the job */
    ADL_BID_BEHIND,   /* jobs of the queue that it would delay */
    ADL_BID_DELAY,    /* by how much in all, relative to its run */
    ADL_BID_SIZE,     /* its work relative to the mean of the queue */
    ADL_BID_CHEAPEST, /* cost on the cheapest type relative to this one */
    ADL_BID_OTHER,    /* cost on the cheapest other type relative to both */
    ADL_BID_WAITED,   /* how long it has waited, relative to its run */
    ADL_BID_FRAGMENT, /* share of the bank that stays free beside it */
    ADL_BID_MOVED,    /* how often it has moved, of the moves that it may */
    ADL_BID_LATE,     /* 1: it would miss its deadline */
    ADL_BID_NOW,      /* 1: it could start now */
    ADL_BID_FEATURES
};

extern const char *const adl_bid_feature_names[ADL_BID_FEATURES];

/* What the agent sees when it bids. The bid is possible. */
void adl_bid_observe(const struct adl_agent_view *view, const struct adl_announced *job, const struct adl_bid *bid,
                     int64_t now_us, float ret[ADL_BID_FEATURES]);

/* The network: features, one hidden layer, one output: the logarithm of the factor. Parameters: weights of the hidden
 * layer (feature by feature), its biases, weights of the output, its bias. Units are x / (1 + |x|). */
#define ADL_VALUATION_HIDDEN 8
#define ADL_VALUATION_PARAMS ((ADL_BID_FEATURES + 2) * ADL_VALUATION_HIDDEN + 1)
#define ADL_VALUATION_LIMIT  1.5F /* the factor stays within exp of it */

struct adl_valuation {
    uint64_t seed, episodes; /* how it was trained */
    float params[ADL_VALUATION_PARAMS];
};

/* The logarithm of the factor; hidden gets what the hidden layer said, for a trainer, and may be NULL. */
float adl_valuation_log(const float params[ADL_VALUATION_PARAMS], const float features[ADL_BID_FEATURES],
                        float hidden[ADL_VALUATION_HIDDEN]);

/* As a file: "ADLROBID", version, features, hidden units, seed, episodes, parameters, checksum; little-endian. Decoding
 * accepts any bytes: a complete network of finite numbers, or an error. */
bool adl_valuation_is(const void *bytes, size_t size); /* it begins like one */
void adl_valuation_encode(const struct adl_valuation *valuation, struct adl_text *ret_bytes);
int adl_valuation_decode(const void *bytes, size_t size, struct adl_valuation *ret, struct adl_error *err);

#endif
