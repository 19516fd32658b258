/* pause: jobs that nobody could take: when they are announced again, and which of them wait for a change of the
 * cluster. */
#include "policy/market/market.h"

static void stall(struct adl_market *market, uint32_t slot)
{
    market->auctions[slot].stalled = true;
    market->auctions[slot].next = market->stalled;
    market->stalled = slot;
}

void adl_market_unstall(struct adl_market *market, uint32_t slot)
{
    uint32_t *at = &market->stalled;
    while (*at != slot)
        at = &market->auctions[*at].next;
    *at = market->auctions[slot].next;
    market->auctions[slot].stalled = false;
}

void adl_market_recount(const struct adl_market *market, struct adl_auction *auction)
{
    if (auction->seen == market->changes)
        return;
    auction->seen = market->changes;
    auction->vain = auction->looked = auction->reached = auction->refused = auction->wanted = 0;
}

uint32_t adl_market_places(const struct adl_market *market)
{
    return market->cluster->type_count * market->cluster->bank_count;
}

/* Types that have GPUs enough for the job across nodes. */
static uint32_t gang_types(const struct adl_market *market, uint32_t slot)
{
    const struct adl_job *job = &market->state->jobs[slot];
    uint32_t types = 0;
    for (uint32_t left = (job->spec.flags & ADL_JOB_SPAN) ? job->eligible : 0; left; left &= left - 1)
        if (market->cluster->type_gpus[__builtin_ctz(left)] >= job->spec.gpus)
            types |= left & -left;
    return types;
}

/* Since the last change every agent has said that it cannot host the job, and for each type those that were asked for
 * parts of it that they have too few GPUs. */
static bool is_hopeless(const struct adl_market *market, uint32_t slot)
{
    const struct adl_auction *auction = &market->auctions[slot];
    return auction->vain > ADL_VAIN_MAX && auction->looked == adl_market_places(market) &&
           (gang_types(market, slot) & ~auction->refused) == 0;
}

/* An announcement was in vain. If all that were asked have said no that counts, until something changes; but not if an
 * answer is missing, if GPUs are held for others, or if a gang did not come together: the next time it may. */
static void count_vain(const struct adl_market *market, struct adl_auction *auction)
{
    auction->tries++;
    adl_market_recount(market, auction);
    if (auction->phase != ADL_AUCTION_OPEN || auction->answered < auction->asked || auction->held)
        return;
    auction->vain++;
    auction->looked = auction->reached;
    auction->refused |= auction->wanted;
}

/* Another time other agents are asked. Only a job that is hopeless waits for a change: one that can no longer run must
 * not keep a run from its end. */
void adl_market_pause(struct adl_market *market, uint32_t slot)
{
    struct adl_auction *auction = &market->auctions[slot];
    const double waited_us = (double)adl_state_waited_us(market->state, slot) / 8;
    const double least_us = auction->rest_us / 1024, most_us = auction->rest_us / 64;
    const double pause_us = waited_us < least_us ? least_us : waited_us < most_us ? waited_us : most_us;
    count_vain(market, auction);
    auction->phase = ADL_AUCTION_PAUSED;
    if (!is_hopeless(market, slot))
        adl_market_remind(market, slot,
                          market->now_us + 1000 + (int64_t)pause_us + adl_network_patience_us(&market->network));
    else
        stall(market, slot);
}

void adl_market_announce_stalled(struct adl_market *market)
{
    uint32_t slot = market->stalled;
    market->stalled = ADL_NONE;
    while (slot != ADL_NONE) {
        const uint32_t next = market->auctions[slot].next;
        market->auctions[slot].stalled = false;
        adl_market_announce(market, slot);
        slot = next;
    }
}
