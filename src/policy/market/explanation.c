/* explanation: why a job waits, in words: who bid for it, what, and its place in the queue of the agent that has it. */
#include "policy/market/market.h"
#include "policy/mechanism/reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The job's place in its agent's queue, from 1 on. */
static uint32_t place_in_queue(const struct adl_market *self, uint32_t entry)
{
    uint32_t place = 1;
    for (uint32_t e = self->agents[self->entries[entry].agent].queue.first; e != ADL_NONE && e != entry;
         e = self->order[e].next)
        place++;
    return place;
}

/* Adds to a text of that size, as far as there is room. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *fmt, ...)
{
    const size_t length = strlen(text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + length, size - length, fmt, args);
    va_end(args);
}

/* The bids of the agents that did not get the job, least first. */
static void append_others(const struct adl_market *self, const struct adl_auction *auction, char *ret, size_t size)
{
    char cost[ADL_REASON_FIGURE_SIZE];
    bool named[ADL_TOLD_BIDS] = {false};
    uint32_t shown = 0;
    for (uint32_t n = 0; n < auction->bid_count; n++) {
        uint32_t next = ADL_NONE;
        for (uint32_t i = 0; i < auction->bid_count; i++)
            if (!named[i] && (next == ADL_NONE || auction->bids[i].cost_s < auction->bids[next].cost_s))
                next = i;
        if (next == ADL_NONE)
            break;
        const struct adl_told_bid *bid = &auction->bids[next];
        named[next] = true;
        if (bid->agent != auction->winner)
            append(ret, size, "%s %s %s",
                   shown++ ? "," : "; others:", self->cluster->nodes[self->agents[bid->agent].node_first].name,
                   bid->cost_s < 0 ? "cannot" : adl_reason_time((double)bid->cost_s, cost));
    }
    if (auction->answered > auction->bid_count)
        append(ret, size, ", and %d more", auction->answered - auction->bid_count);
}

void adl_market_explain(void *policy, const struct adl_state *state, uint32_t slot, char *ret, size_t size)
{
    const struct adl_market *self = policy;
    const struct adl_auction *auction = slot < self->auction_count ? &self->auctions[slot] : NULL;
    char cost[ADL_REASON_FIGURE_SIZE];
    if (!auction || auction->entry == ADL_NONE) {
        adl_reason_waiting(state, slot, ret, size);
        return;
    }
    const struct adl_entry *entry = &self->entries[auction->entry];
    const struct adl_market_agent *agent = &self->agents[entry->agent];
    snprintf(ret, size,
             "place %u of %u in the queue of %s, whose bid was least of %u asked: %s of waiting, running and price",
             entry->phase == ADL_ENTRY_WAITS ? place_in_queue(self, auction->entry) : 0, agent->queue.count,
             self->cluster->nodes[agent->node_first].name, auction->asked,
             adl_reason_time(auction->cost_us[0] * 1e-6, cost));
    append_others(self, auction, ret, size);
}
