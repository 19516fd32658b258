/* moving: jobs that go from one agent to another. An agent with free GPUs asks others for a job that waits there, or
 * runs there and would be done sooner here. Who has a running job that gains by more than its stop costs offers it; the
 * other holds GPUs for it, says so, and only then is it stopped. It is announced again as any job that was stopped, to
 * these two first. What is lost on the way costs nothing: GPUs are held for a limited time, and the job goes on. */
#include "policy/adlro/rest.h"
#include "policy/market/market.h"

/* ---- the agent that has free GPUs ---- */

static uint32_t bank_free(const struct adl_agent_bank *bank)
{
    return (uint32_t)__builtin_popcountll(bank->free_mask & ~bank->held);
}

/* Asks agents whose jobs wait for one that it could run now. */
static void ask_for_waiting(struct adl_market *market, uint32_t agent, const struct adl_message *peers)
{
    const struct adl_market_agent *self = &market->agents[agent];
    struct adl_message message = {.kind = ADL_MESSAGE_STEAL};
    for (uint32_t b = self->bank_first; b < self->bank_first + self->bank_count; b++) {
        const uint32_t free_gpus = bank_free(&market->banks[b]);
        message.peers[0] |= (uint32_t)(free_gpus > 0) << market->banks[b].type;
        message.job.gpus = free_gpus > message.job.gpus ? (uint16_t)free_gpus : message.job.gpus;
    }
    for (int i = 0; i < 2 && message.job.gpus > 0; i++)
        if (peers->peers[i] != ADL_NONE)
            adl_market_send_across(market, agent, peers->peers[i], message);
}

/* Asks for a job that runs in a bank of another type. */
static void ask_for_running(struct adl_market *market, uint32_t agent, const struct adl_message *peers)
{
    const struct adl_market_agent *self = &market->agents[agent];
    struct adl_message message = {.kind = ADL_MESSAGE_MOVE, .job = {.type = peers->job.type}, .bank = peers->bank};
    for (uint32_t b = self->bank_first; b < self->bank_first + self->bank_count; b++) {
        const uint32_t free_gpus = market->banks[b].type == peers->job.type ? bank_free(&market->banks[b]) : 0;
        message.job.gpus = free_gpus > message.job.gpus ? (uint16_t)free_gpus : message.job.gpus;
    }
    message.prices[0] = peers->prices[0];
    message.prices[1] = peers->prices[1];
    if (message.job.gpus > 0 && self->queue.count == 0)
        adl_market_send_across(market, agent, peers->runner, message);
}

void adl_market_look_for_work(struct adl_market *market, uint32_t agent, const struct adl_message *peers)
{
    adl_market_sense(market, agent);
    ask_for_waiting(market, agent, peers);
    if (peers->runner != ADL_NONE)
        ask_for_running(market, agent, peers);
}

/* The entry with which it holds GPUs for a job that is to come, or ADL_NONE. */
static uint32_t find_hold(const struct adl_market *market, uint32_t agent, uint32_t slot)
{
    uint32_t e = market->agents[agent].others;
    while (e != ADL_NONE && (market->entries[e].phase != ADL_ENTRY_HOLDS || market->entries[e].job.part ||
                             market->entries[e].job.job != slot))
        e = market->entries[e].next;
    return e;
}

void adl_market_end_hold(struct adl_market *market, uint32_t agent, uint32_t slot)
{
    const uint32_t entry = find_hold(market, agent, slot);
    if (entry == ADL_NONE)
        return;
    adl_market_drop_entry(market, entry);
    adl_market_wake_agent(market, agent);
}

/* Holds GPUs for a job that another agent will stop; jobs of its own come first. */
static void hear_offer(struct adl_market *market, uint32_t agent, const struct adl_message *offer)
{
    struct adl_announced job = offer->job;
    adl_market_sense(market, agent);
    const struct adl_agent_view view = adl_market_view(market, agent);
    const uint32_t bank = adl_agent_fit(&view, &job);
    if (view.self->stranger || view.self->queue.count > 0 || bank == ADL_NONE ||
        find_hold(market, agent, job.job) != ADL_NONE)
        return;
    job.bank = view.self->bank_first + bank;
    if (adl_market_hold(market, agent, &job) == ADL_NONE)
        return;
    adl_market_wake_agent(market, agent);
    adl_market_send_across(
        market, agent, offer->from,
        (struct adl_message){
            .kind = ADL_MESSAGE_TAKE, .job = offer->job, .cost_us = offer->cost_us, .next_us = offer->next_us});
}

/* ---- the agent that has the job ---- */

static void hear_thief(struct adl_market *market, uint32_t agent, const struct adl_message *message)
{
    adl_market_fetch_queue(market, agent);
    adl_market_sense(market, agent);
    const struct adl_agent_view view = adl_market_view(market, agent);
    const uint32_t entry = adl_agent_spare(&view, message->peers[0], message->job.gpus, market->now_us);
    if (entry == ADL_NONE)
        return;
    if (adl_market_is_pending(market, &market->entries[entry]))
        adl_market_give_back(market, entry, message->from);
    else
        adl_market_drop_entry(market, entry);
    adl_market_wake_agent(market, agent);
}

/* Its job runs, by the engine, and not since this moment. */
static bool is_running(const struct adl_market *market, const struct adl_entry *it)
{
    const struct adl_job *job = &market->state->jobs[it->job.job];
    return job->spec.id == it->id && job->phase == ADL_PHASE_RUNNING && job->start_us < market->now_us;
}

static void see_ends(struct adl_market *market, const struct adl_entry *it, int64_t end_us)
{
    for (uint64_t left = it->held; left; left &= left - 1)
        adl_market_see_end(market, market->cluster->banks[it->job.bank].gpu_first + (uint32_t)__builtin_ctzll(left),
                           end_us);
}

/* Entries of a bank, and their jobs, are fetched together: one by one each would be waited for. */
__attribute__((always_inline)) static inline void fetch_running(const struct adl_market *market, uint32_t bank)
{
    const struct adl_agent_gpu *gpus = &market->gpus[market->cluster->banks[bank].gpu_first];
    for (uint32_t g = 0; g < market->cluster->banks[bank].gpu_count; g++)
        if (gpus[g].entry != ADL_NONE) {
            __builtin_prefetch(&market->entries[gpus[g].entry]);
            __builtin_prefetch(&market->entries[gpus[g].entry].job.others[1]);
            __builtin_prefetch(&market->state->jobs[gpus[g].job]);
        }
}

/* When jobs that may gain will end, as they have run so far. */
static void look_at_ends(struct adl_market *market, uint32_t agent, const struct adl_wanted *wanted)
{
    const struct adl_agent_view view = adl_market_view(market, agent);
    const struct adl_agent_bank *bank = &view.banks[wanted->bank];
    for (uint32_t g = 0; g < bank->gpus; g++) {
        const uint32_t entry = view.gpus[bank->gpu_first + g].entry;
        if (entry == ADL_NONE || (uint32_t)__builtin_ctzll(view.entries[entry].held) != g ||
            !adl_agent_may_move(&view, entry, wanted) || !is_running(market, &view.entries[entry]))
            continue;
        see_ends(market, &view.entries[entry],
                 adl_rest_end_us(market->corrections, market->state, view.entries[entry].job.job, market->switch_us));
    }
}

/* Offers the job that gains most to the agent with free GPUs. */
static void hear_move(struct adl_market *market, uint32_t agent, const struct adl_message *message)
{
    const struct adl_wanted wanted = {.bank = message->bank - market->agents[agent].bank_first,
                                      .type = message->job.type,
                                      .gpus = message->job.gpus,
                                      .price = (double)message->prices[1],
                                      .own_price = (double)message->prices[0]};
    const int64_t patience_us = adl_network_patience_us(&market->network);
    fetch_running(market, message->bank);
    adl_market_sense(market, agent);
    look_at_ends(market, agent, &wanted);
    const struct adl_agent_view view = adl_market_view(market, agent);
    const struct adl_relief relief = adl_agent_relieve(&view, &wanted, market->now_us);
    if (relief.entry == ADL_NONE || !is_running(market, &market->entries[relief.entry]))
        return;
    struct adl_entry *it = &market->entries[relief.entry];
    it->to = message->from;
    it->until_us = market->now_us + patience_us;
    it->job.moved++;
    struct adl_message offer = {
        .kind = ADL_MESSAGE_OFFER, .job = it->job, .cost_us = relief.here_us, .next_us = relief.there_us};
    offer.job.type = (uint16_t)wanted.type;
    offer.job.bank = ADL_NONE;
    offer.job.run_us = relief.run_us;
    offer.job.hold_us = 2 * (market->switch_us + patience_us) + 1;
    adl_market_send_across(market, agent, message->from, offer);
}

/* The entry of a running job that it has offered to that agent, or ADL_NONE. */
static uint32_t find_offered(const struct adl_market *market, uint32_t agent, const struct adl_message *take)
{
    const struct adl_market_agent *self = &market->agents[agent];
    for (uint32_t b = self->bank_first; b < self->bank_first + self->bank_count; b++)
        for (uint32_t g = 0; g < market->banks[b].gpus; g++) {
            const uint32_t entry = market->gpus[self->gpu_first + market->banks[b].gpu_first + g].entry;
            if (entry != ADL_NONE && market->entries[entry].job.job == take->job.job &&
                market->entries[entry].job.epoch == take->job.epoch && market->entries[entry].to == take->from)
                return entry;
        }
    return ADL_NONE;
}

/* GPUs are held for a job that it has offered: the job is stopped. */
static void hear_take(struct adl_market *market, uint32_t agent, const struct adl_message *take)
{
    const uint32_t entry = find_offered(market, agent, take);
    struct adl_entry *it = entry == ADL_NONE ? NULL : &market->entries[entry];
    if (!it || it->stopped || it->until_us < market->now_us || !is_running(market, it) ||
        adl_plan_preempt(market->plan, it->job.job))
        return;
    adl_plan_because(market->plan,
                     adl_reason_make(ADL_RULE_MOVES_PLANNED, it->job.job, take->cost_us * 1e-6, take->next_us * 1e-6));
    it->stopped = true;
    see_ends(market, it, market->now_us + market->switch_us);
    adl_market_send_up(market, agent,
                       (struct adl_message){.kind = ADL_MESSAGE_LEAVES, .job = it->job, .peers = {it->to, ADL_NONE}});
}

void adl_market_peer_hears(struct adl_market *market, const struct adl_message *message)
{
    const uint32_t agent = message->to;
    if (message->kind == ADL_MESSAGE_STEAL)
        hear_thief(market, agent, message);
    else if (message->kind == ADL_MESSAGE_MOVE)
        hear_move(market, agent, message);
    else if (message->kind == ADL_MESSAGE_OFFER)
        hear_offer(market, agent, message);
    else if (message->kind == ADL_MESSAGE_TAKE)
        hear_take(market, agent, message);
}
