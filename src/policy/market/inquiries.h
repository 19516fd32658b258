/* inquiries: announcements that the caller of an environment answers in place of the agents (rl/agents.c). Each holds
 * the agent's hand-written bid, which the answer multiplies.
 *
 * The market stops when answers are due: before a message that is not an announcement, before a second announcement to
 * one agent, and when no more messages are due. So on a perfect network one step has the agents of one auction. */
#ifndef ADLRO_POLICY_MARKET_INQUIRIES_H
#define ADLRO_POLICY_MARKET_INQUIRIES_H

#include "policy/market/market.h"
#include "policy/market/valuation.h"
#include "policy/policy.h"

struct adl_inquiry {
    struct adl_message bid; /* as the agent would send it */
    float features[ADL_BID_FEATURES];
};

/* A bid of the last answers. */
struct adl_answered {
    uint32_t agent, job, epoch;
    bool won; /* its agent got the job */
};

struct adl_inquiries {
    struct adl_inquiry items[ADL_ASKED_MAX];
    uint32_t count;
    struct adl_answered answered[ADL_ASKED_MAX];
    uint32_t answered_count;
    bool has_kept; /* the message that is to be delivered after the answers */
    struct adl_message kept;
};

/* Policy market that asks its caller. config->model is a struct adl_market **, which gets the market; decide() is not
 * for it: the caller begins and continues. */
extern const struct adl_policy_ops adl_market_asking;

/* From now on the market asks its caller; 0 or ADL_ENOMEM. */
int adl_inquiries_open(struct adl_market *market);
void adl_inquiries_copy(struct adl_inquiries *to, const struct adl_inquiries *from);

/* The market's side. Hold: a message has come; true if answers are due before it, and then it is kept. Release: the
 * kept message, until the next Hold, or NULL. Award: the agent got that job. */
bool adl_inquiries_hold(struct adl_inquiries *inquiries, const struct adl_message *message);
const struct adl_message *adl_inquiries_release(struct adl_inquiries *inquiries);
void adl_inquiries_add(struct adl_inquiries *inquiries, uint32_t agent, const struct adl_message *bid,
                       const float features[ADL_BID_FEATURES]);
void adl_inquiries_award(struct adl_inquiries *inquiries, uint32_t slot, uint32_t epoch, uint32_t agent);

/* The caller's side: multiplies the bids that are due, and sends them. */
void adl_inquiries_answer(struct adl_market *market, const double *factors);

#endif
