#include "policy/market/inquiries.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

int adl_inquiries_open(struct adl_market *market)
{
    market->inquiries = calloc(1, sizeof *market->inquiries);
    return market->inquiries ? 0 : ADL_ENOMEM;
}

void adl_inquiries_copy(struct adl_inquiries *to, const struct adl_inquiries *from)
{
    memcpy(to->items, from->items, from->count * sizeof *to->items);
    memcpy(to->answered, from->answered, from->answered_count * sizeof *to->answered);
    to->count = from->count;
    to->answered_count = from->answered_count;
    to->has_kept = from->has_kept;
    to->kept = from->kept;
}

static bool is_asked(const struct adl_inquiries *inquiries, uint32_t agent)
{
    for (uint32_t i = 0; i < inquiries->count; i++)
        if (inquiries->items[i].bid.from == agent)
            return true;
    return false;
}

bool adl_inquiries_hold(struct adl_inquiries *inquiries, const struct adl_message *message)
{
    const bool joins =
        message->kind == ADL_MESSAGE_ASK && inquiries->count < ADL_ASKED_MAX && !is_asked(inquiries, message->to);
    if (inquiries->count == 0 || joins)
        return false;
    inquiries->kept = *message;
    inquiries->has_kept = true;
    return true;
}

const struct adl_message *adl_inquiries_release(struct adl_inquiries *inquiries)
{
    if (!inquiries->has_kept)
        return NULL;
    inquiries->has_kept = false;
    return &inquiries->kept;
}

void adl_inquiries_add(struct adl_inquiries *inquiries, uint32_t agent, const struct adl_message *bid,
                       const float features[ADL_BID_FEATURES])
{
    struct adl_inquiry *it = &inquiries->items[inquiries->count++];
    it->bid = *bid;
    it->bid.from = agent;
    memcpy(it->features, features, sizeof it->features);
}

void adl_inquiries_award(struct adl_inquiries *inquiries, uint32_t slot, uint32_t epoch, uint32_t agent)
{
    for (uint32_t i = 0; i < inquiries->answered_count; i++) {
        struct adl_answered *it = &inquiries->answered[i];
        it->won |= it->job == slot && it->epoch == epoch && it->agent == agent;
    }
}

void adl_inquiries_answer(struct adl_market *market, const double *factors)
{
    struct adl_inquiries *inquiries = market->inquiries;
    inquiries->answered_count = inquiries->count;
    inquiries->count = 0;
    for (uint32_t i = 0; i < inquiries->answered_count; i++) {
        struct adl_message bid = inquiries->items[i].bid;
        inquiries->answered[i] = (struct adl_answered){bid.from, bid.job.job, bid.job.epoch, false};
        bid.cost_us *= factors[i];
        adl_market_send_up(market, bid.from, bid);
    }
}
