/* gang: jobs that need the GPUs of several banks, by a reservation in two phases.
 *
 * Agents bid for parts. The auctioneer awards parts that together suffice; an agent that has the GPUs of its part holds
 * them and says so. When all hold theirs the job starts. An agent that has held GPUs for too long lets them go; when
 * the gang did not come together in time, the auctioneer takes all parts back and announces the job again later. */
#include "policy/market/market.h"

#define HOLD_SHARE 8   /* of the run time: 1 / this is how long parts wait for each other beyond what was planned */
#define HOLD_TRIES 100 /* they wait longer after each failure, up to so many */
#define TRIES_MAX  20  /* doublings of the number of banks that are looked at */

static void link_part(struct adl_market *market, uint32_t part)
{
    struct adl_part *it = &market->parts[part];
    uint32_t *first = &market->peers[it->agent].parts;
    it->before = ADL_NONE;
    it->after = *first;
    if (*first != ADL_NONE)
        market->parts[*first].before = part;
    *first = part;
}

static void unlink_part(struct adl_market *market, uint32_t part)
{
    const struct adl_part *it = &market->parts[part];
    if (it->after != ADL_NONE)
        market->parts[it->after].before = it->before;
    if (it->before != ADL_NONE)
        market->parts[it->before].after = it->after;
    else
        market->peers[it->agent].parts = it->after;
}

static void free_parts(struct adl_market *market, uint32_t slot)
{
    struct adl_auction *auction = &market->auctions[slot];
    while (auction->parts != ADL_NONE) {
        const uint32_t part = auction->parts;
        if (market->parts[part].chosen)
            unlink_part(market, part);
        auction->parts = market->parts[part].next;
        market->parts[part].next = market->free_part;
        market->free_part = part;
    }
}

static struct adl_message to_part(const struct adl_auction *auction, const struct adl_part *part, uint8_t kind)
{
    struct adl_message message = {.kind = kind, .job = auction->won};
    message.job.bank = part->bank;
    message.job.gpus = part->gpus;
    return message;
}

void adl_market_gang_abort(struct adl_market *market, uint32_t slot)
{
    struct adl_auction *auction = &market->auctions[slot];
    for (uint32_t p = auction->parts; p != ADL_NONE; p = market->parts[p].next)
        if (market->parts[p].chosen)
            adl_market_send_down(market, market->parts[p].agent,
                                 to_part(auction, &market->parts[p], ADL_MESSAGE_ABORT));
    free_parts(market, slot);
}

/* The cheapest type where enough GPUs were heard to be free; if there is none, or every other time that this was in
 * vain (cores or memory may be missing there), each type in turn. */
static uint32_t choose_type(const struct adl_market *market, uint32_t slot)
{
    const struct adl_job *job = &market->state->jobs[slot];
    uint32_t best = ADL_NONE, possible = 0, types[ADL_TYPES_MAX];
    double least_us = 0;
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        if (market->cluster->type_gpus[type] < job->spec.gpus)
            continue;
        types[possible++] = type;
        const struct adl_announced it = adl_market_describe(market, slot, type, true);
        const double cost_us = (double)it.run_us * (1 + market->weights.price * (double)it.price * it.gpus);
        if (market->directory.free_gpus[type] >= job->spec.gpus && (best == ADL_NONE || cost_us < least_us)) {
            best = type;
            least_us = cost_us;
        }
    }
    if (possible == 0)
        return ADL_NONE;
    const uint32_t turn = market->auctions[slot].tries / 2;
    return best != ADL_NONE && turn % 2 == 0 ? best : types[turn / 2 % possible];
}

/* Each time more banks are looked at, in the end all of the type. Those whose node could not hold a GPU's share of the
 * job are not asked: they must not take the place of others. */
void adl_market_announce_gang(struct adl_market *market, uint32_t slot)
{
    struct adl_auction *auction = &market->auctions[slot];
    const uint32_t type = choose_type(market, slot), gpus = market->state->jobs[slot].spec.gpus;
    if (type == ADL_NONE) {
        adl_market_pause(market, slot);
        return;
    }
    const uint32_t nodes = (gpus + market->directory.widest[type] - 1) / market->directory.widest[type];
    const uint64_t most = (uint64_t)(2 * nodes + (uint32_t)market->options.asked)
                          << (auction->tries < TRIES_MAX ? auction->tries : TRIES_MAX);
    auction->won = adl_market_describe(market, slot, type, true);
    auction->wanted = UINT32_C(1) << type;
    struct adl_announced least = auction->won;
    least.gpus = 1;
    for (uint32_t n = 0; n < most && auction->asked < auction->part_room; n++) {
        struct adl_message ask = {.kind = ADL_MESSAGE_ASK, .job = auction->won};
        ask.job.bank = adl_directory_emptiest(&market->directory, type, n);
        if (ask.job.bank == ADL_NONE)
            break;
        if (!adl_directory_suits(&market->directory, ask.job.bank, &least))
            continue;
        auction->asked++;
        adl_market_send_down(market, market->directory.banks[ask.job.bank].agent, ask);
    }
    const int64_t patience_us = adl_network_patience_us(&market->network);
    if (auction->asked == 0)
        adl_market_pause(market, slot);
    else if (patience_us > 0)
        adl_market_remind(market, slot, market->now_us + patience_us);
}

void adl_market_gang_bid(struct adl_market *market, const struct adl_message *bid)
{
    struct adl_auction *auction = &market->auctions[bid->job.job];
    const uint32_t part = market->free_part;
    if (bid->job.gpus > 0 && part != ADL_NONE) {
        market->free_part = market->parts[part].next;
        market->parts[part] = (struct adl_part){.agent = bid->from,
                                                .bank = bid->job.bank,
                                                .next = auction->parts,
                                                .life = bid->life,
                                                .job = bid->job.job,
                                                .gpus = bid->job.gpus,
                                                .now_gpus = bid->now_gpus,
                                                .start_us = bid->start_us};
        auction->parts = part;
    }
    if (auction->answered == auction->asked)
        adl_market_gang_choose(market, bid->job.job);
}

/* The next part to choose: with most GPUs now, or else the first that could start; ADL_NONE: all are chosen. */
static uint32_t next_part(const struct adl_market *market, const struct adl_auction *auction, bool now)
{
    uint32_t best = ADL_NONE;
    for (uint32_t p = auction->parts; p != ADL_NONE; p = market->parts[p].next) {
        const struct adl_part *part = &market->parts[p], *first = &market->parts[best == ADL_NONE ? p : best];
        if (part->chosen || (now && part->now_gpus == 0))
            continue;
        if (best == ADL_NONE || (now ? part->now_gpus > first->now_gpus : part->start_us < first->start_us))
            best = p;
    }
    return best;
}

/* True if the parts chosen suffice; *ret_us is when the last of them can start. */
static bool choose_parts(struct adl_market *market, uint32_t slot, bool now, int64_t *ret_us)
{
    struct adl_auction *auction = &market->auctions[slot];
    uint32_t missing = market->state->jobs[slot].spec.gpus;
    *ret_us = market->now_us;
    for (uint32_t p; missing > 0 && (p = next_part(market, auction, now)) != ADL_NONE;) {
        struct adl_part *part = &market->parts[p];
        const uint32_t offered = now ? part->now_gpus : part->gpus;
        part->chosen = true;
        link_part(market, p);
        part->gpus = (uint16_t)(offered < missing ? offered : missing);
        part->start_us = now ? market->now_us : part->start_us;
        missing -= part->gpus;
        *ret_us = part->start_us > *ret_us ? part->start_us : *ret_us;
    }
    return missing == 0;
}

static bool enough_now(const struct adl_market *market, uint32_t slot)
{
    uint32_t gpus = 0;
    for (uint32_t p = market->auctions[slot].parts; p != ADL_NONE; p = market->parts[p].next)
        gpus += market->parts[p].now_gpus;
    return gpus >= market->state->jobs[slot].spec.gpus;
}

static void send_part(struct adl_market *market, const struct adl_part *part)
{
    const struct adl_auction *auction = &market->auctions[part->job];
    struct adl_message award = to_part(auction, part, ADL_MESSAGE_AWARD);
    award.cost_us = auction->cost_us[0];
    adl_market_send_down(market, part->agent, award);
}

/* Sends the awards that were not answered; true if there are any. */
static bool send_parts(struct adl_market *market, const struct adl_auction *auction)
{
    bool missing = false;
    for (uint32_t p = auction->parts; p != ADL_NONE; p = market->parts[p].next)
        if (market->parts[p].chosen && !market->parts[p].heard) {
            send_part(market, &market->parts[p]);
            missing = true;
        }
    return missing;
}

/* On a network that loses messages awards are sent again, each time after twice as long. */
static void send_and_wait(struct adl_market *market, uint32_t slot)
{
    struct adl_auction *auction = &market->auctions[slot];
    const int64_t patience_us = adl_network_patience_us(&market->network);
    const int64_t end_us = auction->won.planned_us + auction->won.hold_us + 2 * patience_us;
    const int64_t next_us = market->now_us + (patience_us << (auction->resent < 6 ? auction->resent : 6));
    const bool again = send_parts(market, auction) && patience_us > 0 && next_us < end_us;
    auction->resent = (uint8_t)(auction->resent + (auction->resent < 100));
    adl_market_remind(market, slot, again ? next_us : end_us);
}

/* Each agent is told its part, and when the gang is to start. */
static void award_parts(struct adl_market *market, uint32_t slot, int64_t planned_us)
{
    struct adl_auction *auction = &market->auctions[slot];
    auction->phase = ADL_AUCTION_PARTS;
    auction->resent = 0;
    auction->cost_us[0] = (double)(planned_us - market->now_us + auction->won.run_us);
    auction->won.planned_us = planned_us;
    auction->won.hold_us =
        (auction->tries < HOLD_TRIES ? auction->tries + 1 : HOLD_TRIES + 1) * (auction->won.run_us / HOLD_SHARE) +
        2 * adl_network_patience_us(&market->network) + 1;
    for (uint32_t p = auction->parts; p != ADL_NONE; p = market->parts[p].next)
        market->parts[p].heard = false;
    send_and_wait(market, slot);
}

void adl_market_gang_due(struct adl_market *market, uint32_t slot)
{
    const struct adl_auction *auction = &market->auctions[slot];
    if (market->now_us < auction->won.planned_us + auction->won.hold_us) {
        send_and_wait(market, slot);
        return;
    }
    adl_market_gang_abort(market, slot);
    adl_market_pause(market, slot);
}

void adl_market_gang_hello(struct adl_market *market, uint32_t agent)
{
    for (uint32_t p = market->peers[agent].parts; p != ADL_NONE; p = market->parts[p].after) {
        market->parts[p].heard = market->parts[p].able = market->parts[p].ready = false;
        send_part(market, &market->parts[p]);
        adl_market_remind(market, market->parts[p].job, market->now_us + adl_network_patience_us(&market->network));
    }
}

void adl_market_gang_choose(struct adl_market *market, uint32_t slot)
{
    int64_t planned_us;
    if (choose_parts(market, slot, enough_now(market, slot), &planned_us)) {
        award_parts(market, slot, planned_us);
        return;
    }
    free_parts(market, slot);
    adl_market_pause(market, slot);
}

static struct adl_part *find_part(struct adl_market *market, const struct adl_message *message)
{
    const struct adl_auction *auction = &market->auctions[message->job.job];
    if (auction->epoch != message->job.epoch || auction->phase != ADL_AUCTION_PARTS)
        return NULL;
    for (uint32_t p = auction->parts; p != ADL_NONE; p = market->parts[p].next)
        if (market->parts[p].bank == message->job.bank && market->parts[p].chosen)
            return &market->parts[p];
    return NULL;
}

void adl_market_gang_ack(struct adl_market *market, const struct adl_message *message)
{
    struct adl_part *part = find_part(market, message);
    if (part)
        part->heard = true;
}

/* When all could start now the gang is planned for now. */
void adl_market_gang_able(struct adl_market *market, const struct adl_message *message)
{
    const uint32_t slot = message->job.job;
    const struct adl_auction *auction = &market->auctions[slot];
    struct adl_part *part = find_part(market, message);
    if (!part)
        return;
    part->able = message->now_gpus > 0;
    for (uint32_t p = auction->parts; p != ADL_NONE; p = market->parts[p].next)
        if (market->parts[p].chosen && !market->parts[p].able)
            return;
    if (auction->won.planned_us > market->now_us)
        award_parts(market, slot, market->now_us);
}

/* ---- the second phase ---- */

static bool all_ready(const struct adl_market *market, const struct adl_auction *auction)
{
    for (uint32_t p = auction->parts; p != ADL_NONE; p = market->parts[p].next)
        if (market->parts[p].chosen && !market->parts[p].ready)
            return false;
    return true;
}

/* No agent has let its GPUs go, or crashed since it held them, and none of the GPUs has failed: then the start fails.
 */
static bool all_hold(const struct adl_market *market, const struct adl_auction *auction)
{
    for (uint32_t p = auction->parts; p != ADL_NONE; p = market->parts[p].next) {
        const struct adl_part *part = &market->parts[p];
        if (part->chosen && (part->until_us <= market->now_us || part->life != market->peers[part->agent].life ||
                             (part->held & ~market->state->pool.free_mask[part->bank])))
            return false;
    }
    return true;
}

static bool start_gang(struct adl_market *market, uint32_t slot)
{
    const struct adl_auction *auction = &market->auctions[slot];
    uint32_t *gpus = adl_plan_gpus(market->plan, market->state->jobs[slot].spec.gpus), count = 0;
    if (!gpus || !all_hold(market, auction))
        return false;
    for (uint32_t p = auction->parts; p != ADL_NONE; p = market->parts[p].next)
        for (uint64_t left = market->parts[p].chosen ? market->parts[p].held : 0; left; left &= left - 1)
            gpus[count++] = market->cluster->banks[market->parts[p].bank].gpu_first + (uint32_t)__builtin_ctzll(left);
    return adl_market_propose(market, slot, auction->cost_us[0], 0) == 0;
}

void adl_market_gang_ready(struct adl_market *market, const struct adl_message *message)
{
    const uint32_t slot = message->job.job;
    const struct adl_auction *auction = &market->auctions[slot];
    struct adl_part *part = find_part(market, message);
    if (!part) {
        adl_market_send_down(market, message->from,
                             (struct adl_message){.kind = ADL_MESSAGE_ABORT, .job = message->job});
        return;
    }
    part->ready = part->able = true;
    part->until_us = message->start_us;
    part->held = message->held;
    part->life = message->life;
    if (!all_ready(market, auction))
        return;
    if (!start_gang(market, slot)) {
        adl_market_gang_abort(market, slot);
        adl_market_pause(market, slot);
        return;
    }
    for (uint32_t p = auction->parts; p != ADL_NONE; p = market->parts[p].next)
        if (market->parts[p].chosen)
            adl_market_send_down(market, market->parts[p].agent,
                                 to_part(auction, &market->parts[p], ADL_MESSAGE_COMMIT));
    free_parts(market, slot);
}
