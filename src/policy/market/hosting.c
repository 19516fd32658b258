/* hosting: what an agent does: it answers messages, starts jobs of its queue and tells its load.
 * What it decides comes from the pure functions of agent.h. */
#include "base/real.h"
#include "policy/market/inquiries.h"
#include "policy/market/market.h"

#define REPEATS 6 /* of what nobody acknowledges: at twice the distance each time */

struct adl_agent_view adl_market_view(const struct adl_market *market, uint32_t agent)
{
    const struct adl_market_agent *self = &market->agents[agent];
    return (struct adl_agent_view){.self = self,
                                   .banks = &market->banks[self->bank_first],
                                   .nodes = &market->nodes[self->node_first],
                                   .gpus = &market->gpus[self->gpu_first],
                                   .ends_us = &market->ends_us[self->gpu_first],
                                   .entries = market->entries,
                                   .order = market->order,
                                   .weights = &market->weights,
                                   .power = market->power};
}

void adl_market_wake_agent(struct adl_market *market, uint32_t agent)
{
    if (market->agents[agent].dirty)
        return;
    market->agents[agent].dirty = true;
    market->dirty[(market->dirty_first + market->dirty_count++) % market->agent_count] = agent;
}

void adl_market_send_up(struct adl_market *market, uint32_t agent, struct adl_message message)
{
    struct adl_market_agent *self = &market->agents[agent];
    message.from = agent;
    message.to = ADL_AUCTIONEER;
    adl_market_post(market, &message, self->life, ++self->sent);
}

void adl_market_remind_self(struct adl_market *market, uint32_t agent, uint8_t kind, const struct adl_announced *job,
                            int64_t time_us)
{
    const struct adl_message message = {
        .kind = kind, .from = agent, .to = agent, .life = market->agents[agent].life, .job = *job};
    adl_network_remind(&market->network, &message, time_us);
}

/* ---- its entries ---- */

static struct adl_agent_bank *queue_bank(struct adl_market *market, const struct adl_market_agent *self, uint32_t type)
{
    uint32_t b = self->bank_first;
    while (market->banks[b].type != type)
        b++;
    return &market->banks[b];
}

static void unqueue(struct adl_market *market, uint32_t entry)
{
    const struct adl_entry *it = &market->entries[entry];
    struct adl_market_agent *self = &market->agents[it->agent];
    adl_order_remove(market->order, &self->queue, entry);
    queue_bank(market, self, it->job.type)->waiting--;
    self->queued_us -= (double)it->job.run_us * it->job.gpus;
    if (self->queue.count == 0)
        self->queued_us = 0;
}

/* To or from the chain of entries that are not in the queue. */
static void chain(struct adl_market *market, uint32_t entry)
{
    struct adl_market_agent *self = &market->agents[market->entries[entry].agent];
    market->entries[entry].next = self->others;
    self->others = entry;
}

static void unchain(struct adl_market *market, uint32_t entry)
{
    uint32_t *at = &market->agents[market->entries[entry].agent].others;
    while (*at != entry)
        at = &market->entries[*at].next;
    *at = market->entries[entry].next;
}

/* Cores and memory that a part of a gang holds beside its GPUs: more of them, or less. */
static void hold_node(struct adl_market *market, const struct adl_announced *job, int32_t sign)
{
    struct adl_agent_node *node = &market->nodes[market->cluster->banks[job->bank].node];
    node->held_cores += sign * job->cpu_cores * (int32_t)job->gpus;
    node->held_memory_mib += sign * job->memory_mib * (int32_t)job->gpus;
}

static void let_go(struct adl_market *market, const struct adl_entry *it)
{
    if (it->phase != ADL_ENTRY_HOLDS)
        return;
    market->banks[it->job.bank].held &= ~it->held;
    hold_node(market, &it->job, -1);
}

/* The GPUs of a job know its entry, or no longer. */
static void note_runs(struct adl_market *market, const struct adl_entry *it, uint32_t entry)
{
    const uint32_t first = market->cluster->banks[it->job.bank].gpu_first;
    for (uint64_t left = it->held; left; left &= left - 1)
        market->gpus[first + (uint32_t)__builtin_ctzll(left)].entry = entry;
}

void adl_market_drop_entry(struct adl_market *market, uint32_t entry)
{
    struct adl_entry *it = &market->entries[entry];
    if (it->phase == ADL_ENTRY_WAITS)
        unqueue(market, entry);
    else if (it->phase == ADL_ENTRY_RUNS)
        note_runs(market, it, ADL_NONE);
    else
        unchain(market, entry);
    let_go(market, it);
    if (market->auctions[it->job.job].entry == entry)
        market->auctions[it->job.job].entry = ADL_NONE;
    it->phase = ADL_ENTRY_FREE;
    it->next = market->free_entry;
    market->free_entry = entry;
}

static bool is_same(const struct adl_announced *a, const struct adl_announced *b)
{
    return a->job == b->job && a->epoch == b->epoch && a->bank == b->bank;
}

/* The agent's entry of such an award, or ADL_NONE. */
static uint32_t find_entry(const struct adl_market *market, uint32_t agent, const struct adl_announced *job)
{
    const struct adl_market_agent *self = &market->agents[agent];
    for (uint32_t e = self->others; e != ADL_NONE; e = market->entries[e].next)
        if (is_same(&market->entries[e].job, job))
            return e;
    for (uint32_t e = self->queue.first; e != ADL_NONE; e = market->order[e].next)
        if (is_same(&market->entries[e].job, job))
            return e;
    return ADL_NONE;
}

/* ADL_NONE: there is no room. */
static uint32_t make_entry(struct adl_market *market, uint32_t agent, const struct adl_announced *job)
{
    const bool is_new = market->free_entry == ADL_NONE;
    if (is_new && market->entry_count == market->entry_room)
        return ADL_NONE;
    const uint32_t entry = is_new ? market->entry_count++ : market->free_entry;
    struct adl_entry *it = &market->entries[entry];
    if (!is_new)
        market->free_entry = it->next;
    *it = (struct adl_entry){.job = *job,
                             .id = market->state->jobs[job->job].spec.id,
                             .phase = ADL_ENTRY_WAITS,
                             .agent = agent,
                             .to = ADL_NONE,
                             .next = ADL_NONE};
    return entry;
}

/* False if there is no room: the award is not acknowledged and comes again. */
static bool enqueue(struct adl_market *market, uint32_t agent, const struct adl_message *award)
{
    struct adl_market_agent *self = &market->agents[agent];
    const uint32_t entry = make_entry(market, agent, &award->job);
    if (entry == ADL_NONE)
        return false;
    struct adl_entry *it = &market->entries[entry];
    it->cost_us[0] = award->cost_us;
    it->cost_us[1] = award->next_us;
    const int64_t key_us = it->job.part ? INT64_MIN + it->job.planned_us : it->job.key_us; /* parts come first */
    adl_order_insert(market->order, &self->queue, entry, key_us, market->entry_sequence++, it->job.gpus);
    if (it->job.planned_us > market->now_us)
        adl_market_remind_self(market, agent, ADL_MESSAGE_LOOK, &it->job, it->job.planned_us);
    queue_bank(market, self, it->job.type)->waiting++;
    self->queued_us += (double)it->job.run_us * it->job.gpus;
    if (!it->job.part)
        market->auctions[it->job.job].entry = entry;
    return true;
}

/* ---- starts ---- */

/* The engine has the truth: a job that was cancelled, or that its guard started, is none of the agent's. */
bool adl_market_is_pending(const struct adl_market *market, const struct adl_entry *it)
{
    const struct adl_state *state = market->state;
    return it->job.job < state->job_capacity && state->jobs[it->job.job].phase == ADL_PHASE_PENDING &&
           state->jobs[it->job.job].spec.id == it->id;
}

static uint64_t lowest(uint64_t mask, uint32_t count)
{
    uint64_t taken = 0;
    for (uint32_t i = 0; i < count; i++, mask &= mask - 1)
        taken |= mask & -mask;
    return taken;
}

static void take_gpus(struct adl_market *market, uint32_t bank, uint64_t mask, const struct adl_announced *job)
{
    struct adl_agent_bank *own = &market->banks[bank];
    struct adl_agent_node *node = &market->nodes[market->cluster->banks[bank].node];
    const uint32_t first = market->cluster->banks[bank].gpu_first;
    own->free_mask &= ~mask;
    for (uint64_t left = mask; left; left &= left - 1) {
        const uint32_t gpu = first + (uint32_t)__builtin_ctzll(left);
        market->gpus[gpu] = (struct adl_agent_gpu){job->job, ADL_NONE, market->now_us};
        market->ends_us[gpu] = market->now_us + job->run_us;
    }
    node->free_cores -= job->cpu_cores * (int32_t)job->gpus;
    node->free_memory_mib -= job->memory_mib * (int32_t)job->gpus;
}

/* The engine may do otherwise: the agent looks at those GPUs again. */
void adl_market_check_start(struct adl_market *market, uint32_t slot)
{
    const struct adl_job *job = &market->state->jobs[slot];
    const uint32_t entry = market->auctions[slot].entry;
    if (entry == ADL_NONE || market->entries[entry].phase != ADL_ENTRY_RUNS)
        return;
    const struct adl_entry *it = &market->entries[entry];
    const uint32_t first = market->cluster->banks[it->job.bank].gpu_first + (uint32_t)__builtin_ctzll(it->held);
    if (job->phase != ADL_PHASE_RUNNING || job->bank != it->job.bank || job->first_gpu != first ||
        job->start_us != market->gpus[first].start_us)
        market->banks[it->job.bank].stale |= it->held;
}

static void start(struct adl_market *market, uint32_t entry, uint32_t bank)
{
    struct adl_entry *it = &market->entries[entry];
    struct adl_agent_bank *own = &market->banks[bank];
    uint32_t *gpus = adl_plan_gpus(market->plan, it->job.gpus);
    const uint64_t mask = lowest(own->free_mask & ~own->held, it->job.gpus);
    uint32_t count = 0;
    for (uint64_t left = gpus ? mask : 0; left; left &= left - 1)
        gpus[count++] = market->cluster->banks[bank].gpu_first + (uint32_t)__builtin_ctzll(left);
    market->agents[it->agent].acted = market->decision;
    market->agents[it->agent].changed = true;
    if (!gpus || adl_market_propose(market, it->job.job, it->cost_us[0], it->cost_us[1])) {
        adl_market_drop_entry(market, entry);
        return;
    }
    take_gpus(market, bank, mask, &it->job);
    unqueue(market, entry);
    it->phase = ADL_ENTRY_RUNS;
    it->job.bank = bank;
    it->held = mask;
    note_runs(market, it, entry);
}

/* What the agent can do for its part of a gang. On a network that loses messages it says so several times. */
static void tell_part(struct adl_market *market, uint32_t entry)
{
    struct adl_entry *it = &market->entries[entry];
    const bool holds = it->phase == ADL_ENTRY_HOLDS;
    const int64_t patience_us = adl_network_patience_us(&market->network);
    adl_market_send_up(market, it->agent,
                       (struct adl_message){.kind = holds ? ADL_MESSAGE_READY : ADL_MESSAGE_ABLE,
                                            .job = it->job,
                                            .now_gpus = it->able || holds ? it->job.gpus : 0,
                                            .start_us = it->until_us,
                                            .held = it->held});
    if (patience_us > 0 && it->repeated < REPEATS)
        adl_market_remind_self(market, it->agent, ADL_MESSAGE_AGAIN, &it->job,
                               market->now_us + (patience_us << it->repeated++));
}

/* Holds free GPUs of the entry's bank; they are let go when that has taken too long. */
static void hold_gpus(struct adl_market *market, uint32_t entry)
{
    struct adl_entry *it = &market->entries[entry];
    struct adl_agent_bank *own = &market->banks[it->job.bank];
    it->phase = ADL_ENTRY_HOLDS;
    it->held = lowest(own->free_mask & ~own->held, it->job.gpus);
    own->held |= it->held;
    hold_node(market, &it->job, 1);
    chain(market, entry);
    it->until_us = market->now_us + it->job.hold_us;
    adl_market_remind_self(market, it->agent, ADL_MESSAGE_FREE, &it->job, it->until_us);
}

/* The first phase of a gang: its part waits with its GPUs until all others do, or for too long. */
static void hold(struct adl_market *market, uint32_t entry)
{
    unqueue(market, entry);
    hold_gpus(market, entry);
    market->entries[entry].repeated = 0;
    tell_part(market, entry);
}

uint32_t adl_market_hold(struct adl_market *market, uint32_t agent, const struct adl_announced *job)
{
    const uint32_t entry = make_entry(market, agent, job);
    if (entry != ADL_NONE)
        hold_gpus(market, entry);
    return entry;
}

static void send_return(struct adl_market *market, uint32_t entry)
{
    const struct adl_entry *it = &market->entries[entry];
    const int64_t patience_us = adl_network_patience_us(&market->network);
    if (patience_us > 0)
        adl_market_remind_self(market, it->agent, ADL_MESSAGE_AGAIN, &it->job, market->now_us + 2 * patience_us);
    adl_market_send_up(market, it->agent,
                       (struct adl_message){.kind = ADL_MESSAGE_RETURN, .job = it->job, .peers = {it->to, ADL_NONE}});
}

/* The agent no longer has the job; it repeats that until the auctioneer has heard it. */
void adl_market_give_back(struct adl_market *market, uint32_t entry, uint32_t to)
{
    struct adl_entry *it = &market->entries[entry];
    unqueue(market, entry);
    it->phase = ADL_ENTRY_RETURNED;
    it->to = to;
    chain(market, entry);
    send_return(market, entry);
}

/* ---- what it tells ---- */

static void tell_load(struct adl_market *market, uint32_t agent)
{
    const struct adl_market_agent *self = &market->agents[agent];
    const struct adl_agent_view view = adl_market_view(market, agent);
    for (uint32_t b = 0; b < self->bank_count; b++) {
        struct adl_agent_bank *own = &market->banks[self->bank_first + b];
        const uint32_t free_gpus = (uint32_t)__builtin_popcountll(own->free_mask & ~own->held);
        if (free_gpus == own->told.free_gpus && own->waiting == own->told.waiting)
            continue;
        own->told = adl_agent_tell(&view, b, market->now_us);
        adl_market_send_up(market, agent, (struct adl_message){.kind = ADL_MESSAGE_LOAD, .load = own->told});
    }
}

/* Parts of gangs, which come first in the queue, may be able to start before they are planned. */
static void tell_parts(struct adl_market *market, uint32_t agent)
{
    const struct adl_agent_view view = adl_market_view(market, agent);
    for (uint32_t e = view.self->queue.first; e != ADL_NONE && market->entries[e].job.part; e = market->order[e].next) {
        struct adl_entry *it = &market->entries[e];
        const bool able = adl_agent_fit(&view, &it->job) != ADL_NONE;
        if (able == it->able)
            continue;
        it->able = able;
        it->repeated = 0;
        tell_part(market, e);
    }
}

void adl_market_act(struct adl_market *market, uint32_t agent)
{
    struct adl_market_agent *self = &market->agents[agent];
    if (self->down || self->stranger)
        return;
    adl_market_sense(market, agent);
    for (;;) {
        const struct adl_agent_view view = adl_market_view(market, agent);
        const struct adl_agent_choice choice = adl_agent_choose(&view, market->now_us);
        const uint32_t entry = choice.entry != ADL_NONE ? choice.entry : choice.hopeless;
        if (entry == ADL_NONE)
            break;
        if (!adl_market_is_pending(market, &market->entries[entry]))
            adl_market_drop_entry(market, entry);
        else if (choice.entry == ADL_NONE)
            adl_market_give_back(market, entry, ADL_NONE);
        else if (market->entries[entry].job.part)
            hold(market, entry);
        else
            start(market, entry, self->bank_first + choice.bank);
    }
    tell_parts(market, agent);
    tell_load(market, agent);
}

/* ---- what it hears ---- */

static uint32_t bank_of(const struct adl_market *market, const struct adl_market_agent *self,
                        const struct adl_announced *job)
{
    uint32_t b = self->bank_first;
    while (job->bank != ADL_NONE ? b != job->bank : market->banks[b].type != job->type)
        b++;
    return b;
}

static void answer(struct adl_market *market, uint32_t agent, const struct adl_message *ask)
{
    adl_market_fetch_queue(market, agent);
    adl_market_sense(market, agent);
    adl_market_end_hold(market, agent, ask->job.job);
    const struct adl_agent_view view = adl_market_view(market, agent);
    struct adl_bid bid = adl_agent_bid(&view, &ask->job, market->now_us);
    if (!market->options.bids && !ask->job.part && bid.possible)
        bid.cost_us = adl_agent_load(&view, ask->job.type);
    float features[ADL_BID_FEATURES];
    const bool learns = bid.possible && !ask->job.part && (market->inquiries || market->options.learned);
    if (learns)
        adl_bid_observe(&view, &ask->job, &bid, market->now_us, features);
    if (learns && !market->inquiries)
        bid.cost_us *= adl_exp((double)adl_valuation_log(market->valuation.params, features, NULL));
    const uint32_t bank = bank_of(market, view.self, &ask->job);
    market->banks[bank].told = adl_agent_tell(&view, bank - view.self->bank_first, market->now_us);
    struct adl_message message = {.kind = ADL_MESSAGE_BID,
                                  .job = ask->job,
                                  .load = market->banks[bank].told,
                                  .cost_us = bid.cost_us,
                                  .start_us = bid.start_us,
                                  .now_gpus = bid.now_gpus};
    message.job.gpus = bid.possible ? bid.gpus : 0;
    if (learns && market->inquiries)
        adl_inquiries_add(market->inquiries, agent, &message, features);
    else
        adl_market_send_up(market, agent, message);
}

static bool runs_here(const struct adl_market *market, const struct adl_market_agent *self, uint32_t job)
{
    for (uint32_t b = self->bank_first; b < self->bank_first + self->bank_count; b++)
        for (uint32_t g = 0; g < market->banks[b].gpus; g++)
            if (market->gpus[self->gpu_first + market->banks[b].gpu_first + g].job == job)
                return true;
    return false;
}

static void accept_award(struct adl_market *market, uint32_t agent, const struct adl_message *award)
{
    const bool perfect = adl_network_patience_us(&market->network) == 0;
    const uint32_t had = perfect && !award->job.part ? ADL_NONE : find_entry(market, agent, &award->job);
    if (had != ADL_NONE && market->entries[had].phase == ADL_ENTRY_WAITS &&
        market->entries[had].job.planned_us != award->job.planned_us) {
        adl_market_drop_entry(market, had); /* a gang is planned for another time */
        enqueue(market, agent, award);
    }
    if (had != ADL_NONE && market->entries[had].phase == ADL_ENTRY_RETURNED) {
        send_return(market, had);
        return;
    }
    if (had == ADL_NONE && (perfect || !runs_here(market, &market->agents[agent], award->job.job)) &&
        !enqueue(market, agent, award))
        return;
    adl_market_wake_agent(market, agent);
    adl_market_send_up(market, agent, (struct adl_message){.kind = ADL_MESSAGE_ACK, .job = award->job});
}

/* An entry that is settled, committed, aborted or was held for too long. */
static void end_entry(struct adl_market *market, uint32_t agent, const struct adl_message *message)
{
    const uint32_t entry = find_entry(market, agent, &message->job);
    if (entry == ADL_NONE)
        return;
    const struct adl_entry it = market->entries[entry];
    if (message->kind == ADL_MESSAGE_FREE && it.phase != ADL_ENTRY_HOLDS)
        return;
    adl_market_drop_entry(market, entry);
    if (message->kind == ADL_MESSAGE_COMMIT && it.phase == ADL_ENTRY_HOLDS) {
        take_gpus(market, it.job.bank, it.held, &it.job);
        market->banks[it.job.bank].stale |= it.held; /* whether the gang starts is not the agent's to say */
        market->agents[agent].acted = market->decision;
        market->agents[agent].changed = true;
    }
    adl_market_wake_agent(market, agent);
}

static void hear_timer(struct adl_market *market, uint32_t agent, const struct adl_message *message)
{
    struct adl_market_agent *self = &market->agents[agent];
    if (message->life != self->life)
        return;
    if (message->kind == ADL_MESSAGE_LOOK) {
        adl_market_wake_agent(market, agent);
        return;
    }
    if (message->kind == ADL_MESSAGE_FREE) {
        end_entry(market, agent, message);
        return;
    }
    if (self->stranger) {
        adl_market_remind_self(market, agent, ADL_MESSAGE_AGAIN, &message->job,
                               market->now_us + 2 * adl_network_patience_us(&market->network));
        adl_market_send_up(market, agent, (struct adl_message){.kind = ADL_MESSAGE_HELLO});
        return;
    }
    const uint32_t entry = find_entry(market, agent, &message->job);
    if (entry == ADL_NONE)
        return;
    if (market->entries[entry].phase == ADL_ENTRY_RETURNED)
        send_return(market, entry);
    else if (market->entries[entry].job.part)
        tell_part(market, entry);
}

/* Messages of the auctioneer that come late or twice, or for an earlier life of the agent, do not count. */
static bool is_news(struct adl_market_agent *self, const struct adl_message *message)
{
    if (message->life != self->life || message->order <= self->heard)
        return false;
    self->heard = message->order;
    return true;
}

static void hear_auctioneer(struct adl_market *market, uint32_t agent, const struct adl_message *message)
{
    if (message->kind == ADL_MESSAGE_ASK)
        answer(market, agent, message);
    else if (message->kind == ADL_MESSAGE_AWARD)
        accept_award(market, agent, message);
    else if (message->kind == ADL_MESSAGE_PEERS)
        adl_market_look_for_work(market, agent, message);
    else if (message->kind != ADL_MESSAGE_WELCOME)
        end_entry(market, agent, message);
    else {
        market->agents[agent].stranger = false;
        adl_market_wake_agent(market, agent);
    }
}

void adl_market_agent_hears(struct adl_market *market, const struct adl_message *message)
{
    const uint32_t agent = message->to;
    struct adl_market_agent *self = &market->agents[agent];
    if (message->kind == ADL_MESSAGE_CRASH)
        adl_market_crash(market, agent);
    if (message->kind == ADL_MESSAGE_CRASH || self->down)
        return;
    if (adl_message_is_timer(message->kind))
        hear_timer(market, agent, message);
    else if (message->from != ADL_AUCTIONEER)
        adl_market_peer_hears(market, message);
    else if (is_news(self, message))
        hear_auctioneer(market, agent, message);
}
