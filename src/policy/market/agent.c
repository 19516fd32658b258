#include "policy/market/agent.h"

#include <string.h>

#define POOL_MAX     256  /* GPUs of a type that an agent counts */
#define RESERVED_MAX 8    /* jobs of its queue that it reserves GPUs for */
#define LONGEST_US   9e15 /* 285 years */
#define SCAN_MAX     64   /* jobs of its queue that an agent looks at, from the first on */

static uint32_t bank_free(const struct adl_agent_bank *bank)
{
    return (uint32_t)__builtin_popcountll(bank->free_mask & ~bank->held);
}

/* A part of a gang is for one bank. */
static bool is_for(const struct adl_agent_view *view, uint32_t bank, const struct adl_announced *job)
{
    return view->banks[bank].type == job->type && (job->bank == ADL_NONE || job->bank == view->self->bank_first + bank);
}

static uint32_t at_most(uint32_t gpus, int32_t have, int32_t each)
{
    return each > 0 && (int64_t)each * gpus > have ? (uint32_t)((have > 0 ? have : 0) / each) : gpus;
}

/* GPUs of a bank that the job could have now. */
static uint32_t usable_now(const struct adl_agent_view *view, uint32_t bank, const struct adl_announced *job)
{
    const struct adl_agent_node *node = &view->nodes[view->banks[bank].node];
    const uint32_t gpus = at_most(bank_free(&view->banks[bank]), node->free_cores - node->held_cores, job->cpu_cores);
    return at_most(gpus, node->free_memory_mib - node->held_memory_mib, job->memory_mib);
}

/* The same if nothing ran there. */
static uint32_t usable_empty(const struct adl_agent_view *view, uint32_t bank, const struct adl_announced *job)
{
    const struct adl_agent_node *node = &view->nodes[view->banks[bank].node];
    const uint32_t gpus = at_most(view->banks[bank].up_gpus, node->cores, job->cpu_cores);
    return at_most(gpus, node->memory_mib, job->memory_mib);
}

/* Most GPUs of the type that one of its banks could give to the job when empty. */
static uint32_t widest(const struct adl_agent_view *view, const struct adl_announced *job)
{
    uint32_t most = 0;
    for (uint32_t b = 0; b < view->self->bank_count; b++) {
        const uint32_t usable = is_for(view, b, job) ? usable_empty(view, b, job) : 0;
        most = usable > most ? usable : most;
    }
    return most;
}

uint32_t adl_agent_fit(const struct adl_agent_view *view, const struct adl_announced *job)
{
    uint32_t best = ADL_NONE;
    for (uint32_t b = 0; b < view->self->bank_count; b++)
        if (is_for(view, b, job) && usable_now(view, b, job) >= job->gpus &&
            (best == ADL_NONE || bank_free(&view->banks[b]) < bank_free(&view->banks[best])))
            best = b;
    return best;
}

/* The entry after this one in a queue, which is fetched while this one is looked at; so is its place in the order. */
__attribute__((always_inline)) static inline uint32_t next_of(const struct adl_agent_view *view, uint32_t entry)
{
    const uint32_t next = view->order[entry].next;
    if (next != ADL_NONE) {
        __builtin_prefetch(&view->order[next]);
        __builtin_prefetch(&view->entries[next]);
    }
    return next;
}

/* ---- when GPUs become free ---- */

struct ends {
    int64_t at_us[POOL_MAX]; /* ascending */
    uint32_t count;
};

static void add_end(struct ends *ends, int64_t end_us)
{
    uint32_t at = ends->count;
    if (at == POOL_MAX)
        return;
    for (; at > 0 && ends->at_us[at - 1] > end_us; at--)
        ends->at_us[at] = ends->at_us[at - 1];
    ends->at_us[at] = end_us;
    ends->count++;
}

/* GPUs that are down do not count, nor those that are held for a gang. */
static void add_bank(const struct adl_agent_view *view, uint32_t b, int64_t now_us, struct ends *ret)
{
    const struct adl_agent_bank *bank = &view->banks[b];
    for (uint32_t i = bank_free(bank); i > 0; i--)
        add_end(ret, now_us);
    for (uint32_t g = 0; g < bank->gpus; g++) {
        const int64_t end_us = view->ends_us[bank->gpu_first + g];
        if (end_us != ADL_END_IDLE && end_us != ADL_END_NEVER)
            add_end(ret, end_us > now_us ? end_us : now_us + 1);
    }
}

static void list_ends(const struct adl_agent_view *view, const struct adl_announced *job, int64_t now_us,
                      struct ends *ret)
{
    ret->count = 0;
    for (uint32_t b = 0; b < view->self->bank_count; b++)
        if (is_for(view, b, job))
            add_bank(view, b, now_us, ret);
}

/* A job takes the GPUs that are free first; when it starts. */
static int64_t take_ends(struct ends *ends, uint32_t gpus, int64_t run_us)
{
    const int64_t start_us = ends->at_us[gpus - 1], end_us = start_us + run_us;
    uint32_t to = 0, from = gpus;
    while (from < ends->count && ends->at_us[from] < end_us)
        ends->at_us[to++] = ends->at_us[from++];
    for (; to < from; to++)
        ends->at_us[to] = end_us;
    return start_us;
}

/* Work that all GPUs share, as time; it must not overflow. */
static int64_t shared_us(double work_us, uint32_t gpus)
{
    const double each_us = work_us / gpus;
    return (int64_t)(each_us < LONGEST_US ? each_us : LONGEST_US);
}

/* ---- the bid ---- */

/* Plans the jobs that come before the announced one; returns how many come after it, as far as it looks. What it does
 * not look at counts as work that all GPUs share. */
static uint32_t plan_queue(const struct adl_agent_view *view, const struct adl_announced *job, struct ends *ends)
{
    uint32_t behind = 0, seen = 0;
    double left_us = view->self->queued_us;
    for (uint32_t e = view->self->queue.first, next; e != ADL_NONE && seen < SCAN_MAX; e = next, seen++) {
        next = next_of(view, e);
        const struct adl_announced *other = &view->entries[e].job;
        left_us -= (double)other->run_us * other->gpus;
        if (other->type != job->type)
            continue;
        if (other->key_us > job->key_us)
            behind++;
        else if (other->gpus <= ends->count)
            take_ends(ends, other->gpus, other->run_us);
    }
    if (seen == SCAN_MAX && behind == 0 && left_us > 0) {
        const int64_t more_us = shared_us(left_us, ends->count);
        for (uint32_t i = 0; i < ends->count; i++)
            ends->at_us[i] += more_us;
    }
    return behind;
}

/* Some share of the bank stays free beside the job: a larger job could have used it. */
static float fragment(const struct adl_agent_bank *bank, const struct adl_announced *job)
{
    return (float)(bank_free(bank) - job->gpus) / bank->gpus;
}

static double cost_of(const struct adl_agent_view *view, const struct adl_announced *job, const struct adl_bid *bid,
                      int64_t now_us)
{
    const struct adl_bid_weights *weights = view->weights;
    const double run_us = (double)job->run_us;
    double shares = weights->price * (double)job->price * job->gpus;
    shares += weights->energy * (double)(view->power[job->type] - 1);
    if (bid->start_us + job->run_us > job->due_us)
        shares += weights->sla;
    shares += weights->fragment * (double)bid->fragment;
    const double delay_us = bid->behind * run_us * job->gpus / bid->pool_gpus;
    return (double)(bid->start_us - now_us) + run_us * (1 + shares) + weights->delay * delay_us;
}

static struct adl_bid no_bid(const struct adl_agent_view *view, const struct adl_announced *job)
{
    uint64_t held = 0;
    for (uint32_t b = 0; b < view->self->bank_count; b++)
        held |= is_for(view, b, job) ? view->banks[b].held : 0;
    return (struct adl_bid){.possible = false, .cost_us = held ? ADL_COST_HELD : ADL_COST_NEVER};
}

static struct adl_bid bid_for(const struct adl_agent_view *view, const struct adl_announced *job, int64_t now_us)
{
    struct ends ends;
    list_ends(view, job, now_us, &ends);
    if (job->gpus == 0 || ends.count < job->gpus)
        return no_bid(view, job);
    struct adl_bid bid = {.possible = true, .gpus = job->gpus, .pool_gpus = (uint16_t)ends.count};
    while (bid.free_gpus < ends.count && ends.at_us[bid.free_gpus] <= now_us)
        bid.free_gpus++;
    bid.behind = plan_queue(view, job, &ends);
    bid.start_us = ends.at_us[job->gpus - 1];
    const uint32_t bank = bid.start_us == now_us ? adl_agent_fit(view, job) : ADL_NONE;
    if (bank != ADL_NONE && !job->part)
        bid.fragment = fragment(&view->banks[bank], job);
    if (bid.start_us == now_us && bank == ADL_NONE)
        bid.start_us = ends.at_us[ends.count - 1]; /* cores or memory are missing, or the GPUs are not in one node */
    bid.cost_us = cost_of(view, job, &bid, now_us);
    return bid;
}

struct adl_bid adl_agent_bid(const struct adl_agent_view *view, const struct adl_announced *job, int64_t now_us)
{
    const uint32_t most = widest(view, job);
    if (!job->part && most < job->gpus)
        return no_bid(view, job);
    if (!job->part)
        return bid_for(view, job, now_us);
    struct adl_announced own = *job;
    uint16_t now_gpus = 0;
    own.gpus = (uint16_t)(job->gpus < most ? job->gpus : most);
    for (uint32_t b = 0; b < view->self->bank_count && view->self->queue.count == 0; b++) {
        const uint32_t usable = is_for(view, b, job) ? usable_now(view, b, job) : 0;
        now_gpus = usable > now_gpus ? (uint16_t)usable : now_gpus;
    }
    struct adl_bid bid = bid_for(view, &own, now_us);
    bid.now_gpus = now_gpus < job->gpus ? now_gpus : job->gpus;
    return bid;
}

double adl_agent_load(const struct adl_agent_view *view, uint32_t type)
{
    uint32_t gpus = 0, busy = 0;
    for (uint32_t b = 0; b < view->self->bank_count; b++)
        if (view->banks[b].type == type) {
            gpus += view->banks[b].up_gpus;
            busy += view->banks[b].gpus - bank_free(&view->banks[b]);
        }
    return gpus > 0 ? (double)(busy + view->self->queue.count) / gpus : 1e9;
}

/* ---- the queue ---- */

/* GPUs of a bank that a job which does not start now will need. */
struct reserved {
    uint32_t bank;
    uint32_t spare; /* GPUs of the bank that are free then beside those reserved */
    int64_t start_us;
};

struct reservations {
    struct reserved items[RESERVED_MAX];
    uint32_t count;
    uint32_t types; /* mask: a job of the type has one that is no part of a gang */
};

/* When a bank has the GPUs for the job, not before its planned time; false: it never has. */
static bool reserve_bank(const struct adl_agent_view *view, uint32_t bank, const struct adl_announced *job,
                         int64_t now_us, struct reserved *ret)
{
    struct ends ends = {.count = 0};
    if (!is_for(view, bank, job) || usable_empty(view, bank, job) < job->gpus)
        return false;
    add_bank(view, bank, now_us, &ends);
    if (ends.count < job->gpus)
        return false;
    const int64_t free_us = ends.at_us[job->gpus - 1];
    *ret = (struct reserved){.bank = bank, .start_us = free_us > job->planned_us ? free_us : job->planned_us};
    while (job->gpus + ret->spare < ends.count && ends.at_us[job->gpus + ret->spare] <= ret->start_us)
        ret->spare++;
    return true;
}

/* Where it can start first. */
static void reserve(const struct adl_agent_view *view, const struct adl_announced *job, int64_t now_us,
                    struct reservations *to)
{
    struct reserved best = {.start_us = INT64_MAX}, it;
    if (to->count == RESERVED_MAX || (!job->part && (to->types >> job->type & 1)))
        return;
    for (uint32_t b = 0; b < view->self->bank_count; b++)
        if (reserve_bank(view, b, job, now_us, &it) && it.start_us < best.start_us)
            best = it;
    if (best.start_us == INT64_MAX)
        return;
    to->items[to->count++] = best;
    to->types |= (uint32_t)!job->part << job->type;
}

static bool delays(const struct reservations *reservations, uint32_t bank, const struct adl_announced *job,
                   int64_t now_us)
{
    for (uint32_t i = 0; i < reservations->count; i++) {
        const struct reserved *it = &reservations->items[i];
        if (it->bank == bank && now_us + job->run_us > it->start_us && it->spare < job->gpus)
            return true;
    }
    return false;
}

/* The fullest bank where the job fits now and delays no reservation, or ADL_NONE. */
static uint32_t fit_beside(const struct adl_agent_view *view, const struct adl_announced *job,
                           const struct reservations *reservations, int64_t now_us)
{
    uint32_t best = ADL_NONE;
    for (uint32_t b = 0; b < view->self->bank_count && job->planned_us <= now_us; b++)
        if (is_for(view, b, job) && usable_now(view, b, job) >= job->gpus && !delays(reservations, b, job, now_us) &&
            (best == ADL_NONE || bank_free(&view->banks[b]) < bank_free(&view->banks[best])))
            best = b;
    return best;
}

/* Parts of gangs get a reservation, and the first job of each type that has waited long for what it needs. */
static bool may_reserve(const struct adl_announced *job, int64_t now_us)
{
    return job->part || now_us - job->since_us >= job->run_us;
}

struct adl_agent_choice adl_agent_choose(const struct adl_agent_view *view, int64_t now_us)
{
    struct adl_agent_choice choice = {ADL_NONE, ADL_NONE, ADL_NONE};
    struct reservations reservations = {.count = 0};
    uint32_t seen = 0;
    for (uint32_t e = view->self->queue.first, next; e != ADL_NONE && seen < SCAN_MAX; e = next, seen++) {
        next = next_of(view, e);
        const struct adl_announced *job = &view->entries[e].job;
        choice.bank = fit_beside(view, job, &reservations, now_us);
        if (choice.bank != ADL_NONE) {
            choice.entry = e;
            return choice;
        }
        if (widest(view, job) < job->gpus)
            choice.hopeless = e;
        else if (may_reserve(job, now_us))
            reserve(view, job, now_us, &reservations);
    }
    return choice;
}

/* What running the job on the cheapest of these types costs; 0 = it was not told. */
static double cost_on(const struct adl_announced *job, uint32_t types)
{
    for (uint32_t i = 0; i < ADL_TOLD_TYPES && job->others[i].type != ADL_NONE; i++)
        if (types >> job->others[i].type & 1)
            return (double)job->others[i].cost_us;
    return 0;
}

/* What it gains elsewhere, for the GPU time that it takes there; 0: nothing. */
static double gain_on(const struct adl_announced *job, uint32_t types, int64_t wait_us)
{
    const double there_us = cost_on(job, types), here_us = cost_on(job, UINT32_C(1) << job->type);
    const double gain_us = (double)wait_us + here_us - there_us;
    return there_us > 0 && here_us > 0 && gain_us > 0 ? gain_us / (there_us * job->gpus) : 0;
}

uint32_t adl_agent_spare(const struct adl_agent_view *view, uint32_t types, uint32_t gpus, int64_t now_us)
{
    uint32_t seen = 0, best = ADL_NONE, type = ADL_NONE;
    double most = 0;
    struct ends ends = {.count = 0};
    for (uint32_t e = view->self->queue.first, next; e != ADL_NONE && seen < SCAN_MAX; e = next, seen++) {
        next = next_of(view, e);
        const struct adl_announced *job = &view->entries[e].job;
        if (type != job->type) /* an agent with GPUs of several types plans each from its beginning */
            list_ends(view, &(struct adl_announced){.type = job->type, .bank = ADL_NONE}, now_us, &ends);
        type = job->type;
        if (job->gpus > ends.count)
            continue;
        const int64_t start_us = take_ends(&ends, job->gpus, job->run_us);
        const bool may = !job->part && job->moved < ADL_MARKET_MOVES_MAX && job->gpus <= gpus;
        const double gain = may ? gain_on(job, types, start_us - now_us) : 0;
        if (gain > most) {
            most = gain;
            best = e;
        }
    }
    return best;
}

/* ---- running jobs that move ---- */

#define LEAST_GAIN 0.05 /* of what the rest of the run costs where it is */

static double told_run_us(const struct adl_announced *job, uint32_t type)
{
    for (uint32_t i = 0; i < ADL_TOLD_TYPES && job->others[i].type != ADL_NONE; i++)
        if (job->others[i].type == type)
            return (double)job->others[i].run_us;
    return 0;
}

/* What a unit of run time costs on a type. */
static double rate_on(const struct adl_agent_view *view, const struct adl_announced *job, uint32_t type, double price)
{
    return 1 + view->weights->price * price * job->gpus + view->weights->energy * (double)(view->power[type] - 1);
}

bool adl_agent_may_move(const struct adl_agent_view *view, uint32_t entry, const struct adl_wanted *wanted)
{
    const struct adl_entry *it = &view->entries[entry];
    const struct adl_announced *job = &it->job;
    if (it->phase != ADL_ENTRY_RUNS || it->stopped || !job->preemptible || job->gpus > wanted->gpus ||
        job->moved >= ADL_MARKET_MOVES_MAX)
        return false;
    const double there_us = told_run_us(job, wanted->type), here_us = told_run_us(job, job->type);
    return there_us > 0 && there_us * rate_on(view, job, wanted->type, wanted->price) <
                               (1 - LEAST_GAIN) * here_us * rate_on(view, job, job->type, wanted->own_price);
}

/* Run time that a stop now would have the job repeat. */
static int64_t lost_us(const struct adl_announced *job, int64_t ran_us)
{
    return job->checkpoint_us > 0 ? ran_us % job->checkpoint_us : 0;
}

static struct adl_relief relieve(const struct adl_agent_view *view, uint32_t gpu, const struct adl_wanted *wanted,
                                 int64_t now_us)
{
    const uint32_t entry = view->gpus[gpu].entry;
    const struct adl_announced *job = &view->entries[entry].job;
    const int64_t ran_us = now_us - view->gpus[gpu].start_us;
    const double rest_us = (double)(view->ends_us[gpu] - now_us), lost = (double)lost_us(job, ran_us);
    const double stop_us = (double)view->weights->stop_us;
    const double run_us = (rest_us + lost) * told_run_us(job, wanted->type) / told_run_us(job, job->type);
    struct adl_relief it = {.entry = entry, .run_us = 1 + (int64_t)run_us};
    it.here_us = rest_us * rate_on(view, job, job->type, wanted->own_price);
    it.there_us = run_us * rate_on(view, job, wanted->type, wanted->price) + stop_us;
    it.gain_us = (1 - LEAST_GAIN) * it.here_us - it.there_us -
                 view->weights->stop * (lost + stop_us) * (1 + (double)job->attempts);
    return it;
}

struct adl_relief adl_agent_relieve(const struct adl_agent_view *view, const struct adl_wanted *wanted, int64_t now_us)
{
    const struct adl_agent_bank *bank = &view->banks[wanted->bank];
    struct adl_relief best = {.entry = ADL_NONE};
    for (uint32_t g = 0; g < bank->gpus; g++) {
        const uint32_t gpu = bank->gpu_first + g, entry = view->gpus[gpu].entry;
        if (entry == ADL_NONE || (uint32_t)__builtin_ctzll(view->entries[entry].held) != g ||
            view->gpus[gpu].start_us >= now_us || !adl_agent_may_move(view, entry, wanted))
            continue;
        const struct adl_relief it = relieve(view, gpu, wanted, now_us);
        if (it.gain_us > best.gain_us)
            best = it;
    }
    return best;
}

struct adl_bank_load adl_agent_tell(const struct adl_agent_view *view, uint32_t bank, int64_t now_us)
{
    struct adl_bank_load load = {.bank = view->self->bank_first + bank, .open_us = now_us};
    struct ends ends;
    list_ends(view, &(struct adl_announced){.type = view->banks[bank].type, .bank = ADL_NONE}, now_us, &ends);
    load.free_gpus = (uint16_t)bank_free(&view->banks[bank]);
    load.waiting = view->banks[bank].waiting < UINT16_MAX ? (uint16_t)view->banks[bank].waiting : UINT16_MAX;
    load.open_us = ends.count > 0 ? ends.at_us[0] + shared_us(view->self->queued_us, ends.count) : INT64_MAX;
    return load;
}
