/* valuation: the learned part of a bid: what an agent sees of itself and of the announced job, as numbers of about 0 to
 * 1, and a small network that turns them into a factor of its hand-written bid.
 *
 * Pure functions of the agent's own memory and the message, like those of agent.h. */
#ifndef ADLRO_POLICY_MARKET_VALUATION_H
#define ADLRO_POLICY_MARKET_VALUATION_H

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

#endif
