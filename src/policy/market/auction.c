/* auction: what the auctioneer does: it announces a job to a few agents, awards it to the best bid and repeats what was
 * not answered. It knows submissions, predictions and what agents told it. */
#include "policy/adlro/rest.h"
#include "policy/market/inquiries.h"
#include "policy/market/market.h"

#define TURN_MAX    64 /* banks of a type that are looked at for a job that nobody could take */
#define TYPE_ROUNDS 3  /* draws of a bank for each question that is still to be asked */

static void count_bytes(struct adl_market *market, const struct adl_message *message)
{
    if (message->kind == ADL_MESSAGE_LOAD || message->kind == ADL_MESSAGE_PEERS || message->kind == ADL_MESSAGE_HELLO ||
        message->kind == ADL_MESSAGE_WELCOME || message->kind == ADL_MESSAGE_STEAL || message->kind == ADL_MESSAGE_MOVE)
        return;
    struct adl_auction *auction = &market->auctions[message->job.job];
    auction->bytes += adl_message_bytes(message->kind);
    if (auction->bytes > market->network.traffic.most_bytes)
        market->network.traffic.most_bytes = auction->bytes;
}

void adl_market_post(struct adl_market *market, struct adl_message *message, uint32_t life, uint32_t order)
{
    message->life = life;
    message->order = order;
    count_bytes(market, message);
    adl_network_send(&market->network, message, market->now_us);
}

void adl_market_send_across(struct adl_market *market, uint32_t from, uint32_t to, struct adl_message message)
{
    message.from = from;
    message.to = to;
    count_bytes(market, &message);
    adl_network_send(&market->network, &message, market->now_us);
}

void adl_market_send_down(struct adl_market *market, uint32_t agent, struct adl_message message)
{
    struct adl_peer *peer = &market->peers[agent];
    message.from = ADL_AUCTIONEER;
    message.to = agent;
    adl_market_post(market, &message, peer->life, ++peer->sent);
}

void adl_market_remind(struct adl_market *market, uint32_t slot, int64_t time_us)
{
    const struct adl_message message = {.kind = ADL_MESSAGE_DUE,
                                        .from = ADL_AUCTIONEER,
                                        .to = ADL_AUCTIONEER,
                                        .job = {.job = slot, .epoch = market->auctions[slot].epoch}};
    adl_network_remind(&market->network, &message, time_us);
}

/* ---- who has which job ---- */

static void link_job(struct adl_market *market, uint32_t slot, uint32_t agent)
{
    struct adl_auction *auction = &market->auctions[slot];
    const uint32_t first = market->peers[agent].jobs;
    auction->winner = agent;
    auction->previous = ADL_NONE;
    auction->next = first;
    if (first != ADL_NONE)
        market->auctions[first].previous = slot;
    market->peers[agent].jobs = slot;
}

static void unlink_job(struct adl_market *market, uint32_t slot)
{
    struct adl_auction *auction = &market->auctions[slot];
    if (auction->winner == ADL_NONE)
        return;
    if (auction->next != ADL_NONE)
        market->auctions[auction->next].previous = auction->previous;
    if (auction->previous != ADL_NONE)
        market->auctions[auction->previous].next = auction->next;
    else
        market->peers[auction->winner].jobs = auction->next;
    auction->winner = ADL_NONE;
}

void adl_market_close(struct adl_market *market, uint32_t slot)
{
    struct adl_auction *auction = &market->auctions[slot];
    if (auction->phase == ADL_AUCTION_NONE)
        return;
    if (auction->stalled)
        adl_market_unstall(market, slot);
    if (auction->phase == ADL_AUCTION_AWARDED || auction->phase == ADL_AUCTION_OWNED)
        unlink_job(market, slot);
    if (auction->entry != ADL_NONE) {
        adl_market_wake_agent(market, market->entries[auction->entry].agent);
        adl_market_drop_entry(market, auction->entry);
    }
    adl_market_gang_abort(market, slot);
    auction->phase = ADL_AUCTION_NONE;
    auction->epoch++;
}

int adl_market_propose(struct adl_market *market, uint32_t slot, double cost_us, double next_us)
{
    struct adl_auction *auction = &market->auctions[slot];
    if (adl_plan_start(market->plan, slot, market->state->jobs[slot].spec.gpus))
        return ADL_EREFUSED;
    adl_plan_because(market->plan, adl_reason_make(ADL_RULE_BID, ADL_NONE, cost_us * 1e-6, next_us * 1e-6));
    if (auction->phase == ADL_AUCTION_AWARDED || auction->phase == ADL_AUCTION_OWNED)
        unlink_job(market, slot);
    auction->phase = ADL_AUCTION_STARTED;
    market->started[market->started_count++] = slot;
    return 0;
}

/* ---- the announcement ---- */

/* As in what is announced. */
static int64_t checkpoint_us(const struct adl_job_spec *spec)
{
    if (spec->stop_loss == ADL_LOSS_SINCE_CHECKPOINT && spec->checkpoint_us > 0)
        return spec->checkpoint_us;
    return spec->stop_loss == ADL_LOSS_NOTHING ? 0 : INT64_MAX;
}

struct adl_announced adl_market_describe(const struct adl_market *market, uint32_t slot, uint32_t type, bool part)
{
    const struct adl_state *state = market->state;
    const struct adl_job *job = &state->jobs[slot];
    const struct adl_auction *auction = &market->auctions[slot];
    const double run_us = auction->rest_us * adl_rest_factor(market->corrections, state, slot, type, part);
    const double rank_us = market->options.rank_weight * auction->need_us * job->spec.gpus;
    return (struct adl_announced){
        .job = slot,
        .epoch = auction->epoch,
        .types = job->eligible,
        .type = (uint16_t)type,
        .gpus = job->spec.gpus,
        .moved = auction->moved,
        .part = part,
        .bank = ADL_NONE,
        .attempts = job->attempts < UINT8_MAX ? (uint8_t)job->attempts : UINT8_MAX,
        .preemptible = (job->spec.flags & ADL_JOB_PREEMPTIBLE) != 0,
        .checkpoint_us = checkpoint_us(&job->spec),
        .cpu_cores = job->spec.cpu_cores,
        .memory_mib = job->spec.memory_mib,
        .run_us = run_us < ADL_REMAINING_MAX_US ? (int64_t)run_us + 1 : (int64_t)ADL_REMAINING_MAX_US,
        .key_us = job->submit_us + (int64_t)(rank_us < ADL_REMAINING_MAX_US ? rank_us : ADL_REMAINING_MAX_US),
        .since_us = market->now_us - adl_state_waited_us(state, slot),
        .due_us = job->spec.deadline_us > 0 ? job->submit_us + job->spec.deadline_us : INT64_MAX,
        .price = (float)market->directory.price[type]};
}

/* Whom a job is announced to: no agent twice. */
struct sample {
    struct adl_announced jobs[ADL_TYPES_MAX]; /* by cost without a wait, least first */
    double cost_us[ADL_TYPES_MAX];
    uint32_t types, count;
    uint32_t agents[ADL_ASKED_MAX];
};

static void list_types(const struct adl_market *market, uint32_t slot, struct sample *ret)
{
    const uint32_t gpus = market->state->jobs[slot].spec.gpus;
    for (uint32_t left = market->state->jobs[slot].eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        if (market->directory.widest[type] < gpus)
            continue;
        const struct adl_announced job = adl_market_describe(market, slot, type, false);
        const double cost_us = (double)job.run_us * (1 + market->weights.price * (double)job.price * gpus);
        uint32_t at = ret->types++;
        for (; at > 0 && ret->cost_us[at - 1] > cost_us; at--) {
            ret->cost_us[at] = ret->cost_us[at - 1];
            ret->jobs[at] = ret->jobs[at - 1];
        }
        ret->cost_us[at] = cost_us;
        ret->jobs[at] = job;
    }
    for (uint32_t i = 0; i < ret->types; i++)
        for (uint32_t k = 0; k < ADL_TOLD_TYPES; k++) {
            ret->jobs[i].others[k].type = k < ret->types ? ret->jobs[k].type : ADL_NONE;
            ret->jobs[i].others[k].run_us = k < ret->types ? (float)ret->jobs[k].run_us : 0;
            ret->jobs[i].others[k].cost_us = k < ret->types ? (float)ret->cost_us[k] : 0;
        }
}

static void ask(struct adl_market *market, struct sample *sample, uint32_t bank, const struct adl_announced *job)
{
    const uint32_t agent = market->directory.banks[bank].agent;
    if (sample->count == (uint32_t)market->options.asked || !adl_directory_suits(&market->directory, bank, job))
        return; /* or its node is too small, when empty */
    for (uint32_t i = 0; i < sample->count; i++)
        if (sample->agents[i] == agent)
            return;
    sample->agents[sample->count++] = agent;
    market->auctions[job->job].asked++;
    adl_market_send_down(market, agent, (struct adl_message){.kind = ADL_MESSAGE_ASK, .job = *job});
}

/* Asks an agent for a bid on the cheapest type of which it was heard to have that many GPUs free. */
static void ask_agent(struct adl_market *market, struct sample *sample, uint32_t agent, uint32_t free_gpus)
{
    const struct adl_market_agent *self = &market->agents[agent];
    for (uint32_t i = 0; i < sample->types; i++)
        for (uint32_t b = self->bank_first; b < self->bank_first + self->bank_count; b++)
            if (market->directory.banks[b].type == sample->jobs[i].type &&
                market->directory.banks[b].load.free_gpus >= free_gpus) {
                ask(market, sample, b, &sample->jobs[i]);
                return;
            }
}

/* The agent that asked for the job, or holds GPUs for it, bids, and the one that has returned it. */
static void ask_two(struct adl_market *market, struct sample *sample, const struct adl_auction *auction)
{
    ask_agent(market, sample, auction->hint, auction->leaves ? 0 : market->state->jobs[sample->jobs[0].job].spec.gpus);
    if (sample->count > 0)
        ask_agent(market, sample, auction->giver, 0);
}

/* Banks of all types in turn, those heard to suit first. The first are drawn together, so that what is known of them,
 * and then their agents' memory, is fetched together. */
static void ask_by_gossip(struct adl_market *market, struct sample *sample)
{
    const struct adl_directory *directory = &market->directory;
    const uint32_t asked = (uint32_t)market->options.asked, rounds = TYPE_ROUNDS * asked;
    uint32_t banks[ADL_ASKED_MAX] = {0};
    for (uint32_t round = 0; round < asked; round++) {
        const struct adl_announced *job = &sample->jobs[round % sample->types];
        banks[round] = adl_directory_draw(directory, job->type, job->gpus, &market->rng);
        __builtin_prefetch(&directory->banks[banks[round]], 1);
        __builtin_prefetch(&market->cluster->banks[banks[round]]);
    }
    for (uint32_t round = 0; round < asked; round++)
        adl_market_fetch(market, directory->banks[banks[round]].agent, banks[round]);
    for (uint32_t round = 0; round < rounds && sample->count < asked; round++) {
        const struct adl_announced *job = &sample->jobs[round % sample->types];
        const uint32_t bank =
            round < asked ? banks[round] : adl_directory_draw(directory, job->type, job->gpus, &market->rng);
        ask(market, sample, bank, job);
    }
}

static void ask_at_random(struct adl_market *market, struct sample *sample)
{
    const struct adl_directory *directory = &market->directory;
    const uint32_t rounds = TYPE_ROUNDS * (uint32_t)market->options.asked;
    uint32_t banks = 0;
    for (uint32_t i = 0; i < sample->types; i++)
        banks += directory->first[sample->jobs[i].type + 1] - directory->first[sample->jobs[i].type];
    for (uint32_t round = 0; round < rounds && sample->count < (uint32_t)market->options.asked; round++) {
        uint32_t at = adl_rng_below(&market->rng, banks), i = 0;
        for (;; i++) {
            const uint32_t type = sample->jobs[i].type, count = directory->first[type + 1] - directory->first[type];
            if (at < count)
                break;
            at -= count;
        }
        ask(market, sample, directory->members[directory->first[sample->jobs[i].type] + at], &sample->jobs[i]);
    }
}

/* Banks of all types in turn, wherever they are: nobody who was asked before could take the job. */
static void ask_in_turn(struct adl_market *market, struct sample *sample)
{
    for (uint32_t i = 0; i < sample->types; i++) {
        const uint32_t first = market->directory.first[sample->jobs[i].type];
        const uint32_t count = market->directory.first[sample->jobs[i].type + 1] - first;
        const uint32_t from = adl_rng_below(&market->rng, count), most = count < TURN_MAX ? count : TURN_MAX;
        for (uint32_t k = 0; k < most; k++)
            ask(market, sample, market->directory.members[first + (from + k) % count], &sample->jobs[i]);
    }
}

/* All places, type by type and each in the cluster's order, from where the last announcement ended. An agent is asked
 * for one type at a time. */
static void ask_in_order(struct adl_market *market, struct sample *sample, uint32_t *reached)
{
    const uint32_t banks = market->cluster->bank_count, end = adl_market_places(market);
    for (; *reached < end && sample->count < (uint32_t)market->options.asked; ++*reached) {
        const uint32_t type = *reached / banks, bank = *reached % banks;
        if (bank == 0 && sample->count > 0)
            return;
        for (uint32_t i = 0; i < sample->types && market->cluster->banks[bank].type == type; i++)
            if (sample->jobs[i].type == type)
                ask(market, sample, bank, &sample->jobs[i]);
    }
}

static void open_auction(struct adl_market *market, uint32_t slot)
{
    struct adl_auction *auction = &market->auctions[slot];
    adl_market_recount(market, auction);
    auction->reached = auction->looked;
    auction->wanted = 0;
    auction->epoch++;
    auction->phase = ADL_AUCTION_OPEN;
    auction->asked = auction->answered = 0;
    auction->bid_count = 0;
    auction->held = false;
    auction->cost_us[0] = auction->cost_us[1] = 0;
    auction->winner = auction->entry = ADL_NONE;
    auction->resent = 0;
    adl_directory_reprice(&market->directory);
}

void adl_market_announce(struct adl_market *market, uint32_t slot)
{
    struct adl_auction *auction = &market->auctions[slot];
    struct sample sample = {.count = 0};
    if (auction->stalled)
        adl_market_unstall(market, slot);
    if (market->state->jobs[slot].phase != ADL_PHASE_PENDING)
        return;
    open_auction(market, slot);
    list_types(market, slot, &sample);
    if (sample.types == 0)
        auction->reached = adl_market_places(market);
    if ((market->state->jobs[slot].spec.flags & ADL_JOB_SPAN) && (sample.types == 0 || auction->tries % 2 == 1)) {
        adl_market_announce_gang(market, slot);
        return;
    }
    if (auction->hint != ADL_NONE && sample.types > 0)
        ask_two(market, &sample, auction);
    auction->hint = ADL_NONE;
    auction->leaves = false;
    if (sample.count == 0 && sample.types > 0) {
        if (auction->tries == 0 && market->options.gossip)
            ask_by_gossip(market, &sample);
        else if (auction->tries == 0)
            ask_at_random(market, &sample);
        if (sample.count == 0 && auction->vain < ADL_VAIN_MAX)
            ask_in_turn(market, &sample);
        else if (sample.count == 0)
            ask_in_order(market, &sample, &auction->reached);
    }
    const int64_t patience_us = adl_network_patience_us(&market->network);
    if (sample.count == 0)
        adl_market_pause(market, slot);
    else if (patience_us > 0)
        adl_market_remind(market, slot, market->now_us + patience_us);
}

/* ---- bids and awards ---- */

static void send_award(struct adl_market *market, uint32_t slot)
{
    struct adl_auction *auction = &market->auctions[slot];
    const int64_t patience_us = adl_network_patience_us(&market->network);
    adl_market_send_down(market, auction->winner,
                         (struct adl_message){.kind = ADL_MESSAGE_AWARD,
                                              .job = auction->won,
                                              .cost_us = auction->cost_us[0],
                                              .next_us = auction->cost_us[1]});
    if (patience_us > 0)
        adl_market_remind(market, slot, market->now_us + (patience_us << (auction->resent < 6 ? auction->resent : 6)));
    auction->resent = (uint8_t)(auction->resent + (auction->resent < 100));
}

/* All have answered, or those who have not are late. */
static void decide_auction(struct adl_market *market, uint32_t slot)
{
    struct adl_auction *auction = &market->auctions[slot];
    if (auction->winner == ADL_NONE) {
        adl_market_pause(market, slot);
        return;
    }
    const uint32_t winner = auction->winner;
    auction->vain = auction->looked = auction->refused = 0;
    auction->phase = ADL_AUCTION_AWARDED;
    link_job(market, slot, winner);
    if (market->inquiries)
        adl_inquiries_award(market->inquiries, slot, auction->epoch, winner);
    send_award(market, slot);
}

static void hear_bid(struct adl_market *market, const struct adl_message *bid)
{
    const uint32_t slot = bid->job.job;
    struct adl_auction *auction = &market->auctions[slot];
    adl_directory_hear(&market->directory, &bid->load);
    if (auction->epoch != bid->job.epoch || auction->phase != ADL_AUCTION_OPEN)
        return;
    auction->answered++;
    auction->held |= bid->job.gpus == 0 && bid->cost_us == ADL_COST_HELD;
    if (auction->bid_count < ADL_TOLD_BIDS)
        auction->bids[auction->bid_count++] =
            (struct adl_told_bid){bid->from, bid->job.gpus > 0 ? (float)(bid->cost_us * 1e-6) : -1};
    if (bid->job.part) {
        adl_market_gang_bid(market, bid);
        return;
    }
    if (bid->job.gpus > 0 && (auction->winner == ADL_NONE || bid->cost_us < auction->cost_us[0])) {
        auction->cost_us[1] = auction->cost_us[0];
        auction->cost_us[0] = bid->cost_us;
        auction->winner = bid->from;
        auction->won = bid->job;
    } else if (bid->job.gpus > 0 && (auction->cost_us[1] == 0 || bid->cost_us < auction->cost_us[1])) {
        auction->cost_us[1] = bid->cost_us;
    }
    if (auction->answered == auction->asked)
        decide_auction(market, slot);
}

static bool has(const struct adl_auction *auction, const struct adl_message *message)
{
    return auction->epoch == message->job.epoch && auction->winner == message->from &&
           (auction->phase == ADL_AUCTION_AWARDED || auction->phase == ADL_AUCTION_OWNED);
}

static void hear_return(struct adl_market *market, const struct adl_message *message)
{
    const uint32_t slot = message->job.job;
    struct adl_auction *auction = &market->auctions[slot];
    adl_market_send_down(market, message->from, (struct adl_message){.kind = ADL_MESSAGE_SETTLED, .job = message->job});
    if (message->job.part && auction->epoch == message->job.epoch && auction->phase == ADL_AUCTION_PARTS) {
        adl_market_gang_abort(market, slot);
        adl_market_pause(market, slot);
    } else if (has(auction, message)) {
        unlink_job(market, slot);
        auction->hint = message->peers[0];
        auction->giver = message->from;
        auction->moved = (uint8_t)(auction->moved + (auction->hint != ADL_NONE));
        adl_market_announce(market, slot);
    }
}

static void name_waiting(struct adl_market *market, uint32_t to, struct adl_message *ret)
{
    for (int i = 0; i < 2 && market->directory.busy_count > 0; i++) {
        const uint32_t bank = adl_directory_busy(&market->directory, &market->rng);
        const uint32_t agent = market->directory.banks[bank].agent;
        ret->peers[i] = agent == to || agent == ret->peers[0] ? ADL_NONE : agent;
        if (ret->peers[i] != ADL_NONE)
            adl_market_fetch(market, agent, bank);
    }
}

static void name_running(struct adl_market *market, uint32_t to, uint32_t bank, struct adl_message *ret)
{
    const struct adl_directory *directory = &market->directory;
    const uint32_t type = directory->banks[bank].type, other = adl_directory_runs(directory, type, &market->rng);
    if (other == ADL_NONE || directory->banks[other].agent == to)
        return;
    ret->runner = directory->banks[other].agent;
    ret->bank = other;
    adl_market_fetch(market, ret->runner, other);
    adl_market_fetch_gpus(market, other);
    ret->prices[0] = (float)directory->price[directory->banks[other].type];
    ret->prices[1] = (float)directory->price[type];
}

/* An agent that is idle learns of two agents whose jobs wait, and of a bank of another type where jobs run, as far as
 * was heard. */
static void hear_load(struct adl_market *market, const struct adl_message *message)
{
    struct adl_message answer = {.kind = ADL_MESSAGE_PEERS,
                                 .job = {.type = market->directory.banks[message->load.bank].type},
                                 .peers = {ADL_NONE, ADL_NONE},
                                 .runner = ADL_NONE};
    adl_directory_hear(&market->directory, &message->load);
    if (message->load.free_gpus == 0)
        return;
    name_waiting(market, message->from, &answer);
    if (market->options.moves)
        name_running(market, message->from, message->load.bank, &answer);
    if (answer.peers[0] != ADL_NONE || answer.peers[1] != ADL_NONE || answer.runner != ADL_NONE)
        adl_market_send_down(market, message->from, answer);
}

/* Another agent holds GPUs for a job that is being stopped: that agent is asked first. */
static void hear_leaves(struct adl_market *market, const struct adl_message *message)
{
    struct adl_auction *auction = &market->auctions[message->job.job];
    if (auction->phase != ADL_AUCTION_STARTED || auction->epoch != message->job.epoch)
        return;
    auction->hint = message->peers[0];
    auction->giver = message->from;
    auction->moved = message->job.moved;
    auction->leaves = true;
}

/* What was awarded to its earlier life is lost, unless it runs: the jobs are announced again. */
static void hear_hello(struct adl_market *market, const struct adl_message *message)
{
    struct adl_peer *peer = &market->peers[message->from];
    const bool is_back = message->life > peer->life;
    if (is_back) {
        peer->life = message->life;
        while (peer->jobs != ADL_NONE) {
            const uint32_t slot = peer->jobs;
            unlink_job(market, slot);
            adl_market_announce(market, slot);
        }
    }
    adl_market_send_down(market, message->from, (struct adl_message){.kind = ADL_MESSAGE_WELCOME});
    if (is_back)
        adl_market_gang_hello(market, message->from);
}

static void hear_due(struct adl_market *market, const struct adl_message *message)
{
    const uint32_t slot = message->job.job;
    struct adl_auction *auction = &market->auctions[slot];
    if (auction->epoch != message->job.epoch)
        return;
    if (auction->phase == ADL_AUCTION_OPEN && auction->parts != ADL_NONE)
        adl_market_gang_choose(market, slot);
    else if (auction->phase == ADL_AUCTION_OPEN)
        decide_auction(market, slot);
    else if (auction->phase == ADL_AUCTION_AWARDED)
        send_award(market, slot);
    else if (auction->phase == ADL_AUCTION_PARTS)
        adl_market_gang_due(market, slot);
    else if (auction->phase == ADL_AUCTION_PAUSED)
        adl_market_announce(market, slot);
}

/* Messages that come late or twice, or from an earlier life of the agent, do not count. */
static bool is_news(struct adl_peer *peer, const struct adl_message *message)
{
    if (message->kind == ADL_MESSAGE_HELLO ? message->life < peer->life : message->life != peer->life)
        return false;
    if (message->life == peer->life && message->order <= peer->heard)
        return false;
    peer->heard = message->order;
    return true;
}

void adl_market_auctioneer_hears(struct adl_market *market, const struct adl_message *message)
{
    if (message->kind == ADL_MESSAGE_DUE) {
        hear_due(market, message);
        return;
    }
    if (!is_news(&market->peers[message->from], message))
        return;
    if (message->kind == ADL_MESSAGE_BID)
        hear_bid(market, message);
    else if (message->kind == ADL_MESSAGE_RETURN)
        hear_return(market, message);
    else if (message->kind == ADL_MESSAGE_HELLO)
        hear_hello(market, message);
    else if (message->kind == ADL_MESSAGE_LOAD)
        hear_load(market, message);
    else if (message->kind == ADL_MESSAGE_LEAVES)
        hear_leaves(market, message);
    else if (message->kind == ADL_MESSAGE_READY)
        adl_market_gang_ready(market, message);
    else if (message->kind == ADL_MESSAGE_ABLE)
        adl_market_gang_able(market, message);
    else if (message->job.part)
        adl_market_gang_ack(market, message);
    else if (message->kind == ADL_MESSAGE_ACK && has(&market->auctions[message->job.job], message))
        market->auctions[message->job.job].phase = ADL_AUCTION_OWNED;
}
