/* crash: an agent crashes and comes back. It forgets its queue, what it holds and what was announced of jobs that run
 * on its GPUs; the jobs run on. */
#include "policy/market/market.h"

/* What was announced of jobs that run here. */
static void forget_running(struct adl_market *market, const struct adl_market_agent *self)
{
    for (uint32_t b = self->bank_first; b < self->bank_first + self->bank_count; b++)
        for (uint32_t g = 0; g < market->banks[b].gpus; g++) {
            const uint32_t entry = market->gpus[self->gpu_first + market->banks[b].gpu_first + g].entry;
            if (entry != ADL_NONE)
                adl_market_drop_entry(market, entry);
        }
}

void adl_market_crash(struct adl_market *market, uint32_t agent)
{
    struct adl_market_agent *self = &market->agents[agent];
    self->down = !self->down;
    const struct adl_message next = {.kind = ADL_MESSAGE_CRASH, .from = agent, .to = agent};
    adl_network_remind(&market->network, &next,
                       market->now_us + adl_network_draw_crash_us(&market->network, !self->down));
    if (!self->down) {
        const struct adl_announced nothing = {.job = ADL_NONE};
        adl_market_remind_self(market, agent, ADL_MESSAGE_AGAIN, &nothing, market->now_us);
        return;
    }
    while (self->queue.first != ADL_NONE)
        adl_market_drop_entry(market, self->queue.first);
    while (self->others != ADL_NONE)
        adl_market_drop_entry(market, self->others);
    forget_running(market, self);
    self->life++;
    self->sent = self->heard = 0;
    self->stranger = self->changed = true;
}
