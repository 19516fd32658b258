/* market: agents that bid for jobs. An agent for each node, or group of nodes, sees its own GPUs, its own queue and
 * messages. A job is announced to a few agents, biased by what was heard of their loads; each bids what hosting the job
 * would cost; the best bid wins. An agent starts jobs of its queue in order of rank, with a reservation for the first
 * that does not fit. One that is idle asks others for work. docs/market.md has the protocol and what was measured. */
#include "policy/market/inquiries.h"

#include "base/copy.h"
#include "base/fetch.h"
#include "policy/adlro/rest.h"
#include "policy/market/shipped_valuation.h"
#include "policy/policy.h"
#include "predict/belief.h"

#include <stdlib.h>

#define OWN(member) offsetof(struct adl_market_options, member)

static const struct adl_policy_option options[] = {
    {.name = "agent_nodes",
     .type = ADL_POLICY_INTEGER,
     .offset = OWN(agent_nodes),
     .value = "1",
     .range = {.min = 1, .max = 64},
     .help = "nodes of one agent, in the cluster's order: 1 = an agent for each node, more = for each rack"},
    {.name = "asked",
     .type = ADL_POLICY_INTEGER,
     .offset = OWN(asked),
     .value = "6",
     .range = {.min = 1, .max = ADL_ASKED_MAX},
     .tune = {.min = 2, .max = 16},
     .help = "agents that a job is announced to; more where a gang needs several nodes"},
    {.name = "gossip",
     .type = ADL_POLICY_BOOL,
     .offset = OWN(gossip),
     .value = "true",
     .help = "agents that were heard to have suitable GPUs free are asked first; else any that have the GPU type"},
    {.name = "bids",
     .type = ADL_POLICY_BOOL,
     .offset = OWN(bids),
     .value = "true",
     .help = "agents bid what a job costs; false: the least loaded of those asked gets it"},
    {.name = "learned",
     .type = ADL_POLICY_BOOL,
     .offset = OWN(learned),
     .value = "true",
     .help = "a network that all agents share multiplies their bids; false: bids are the formula alone"},
    {.name = "moves",
     .type = ADL_POLICY_BOOL,
     .offset = OWN(moves),
     .value = "true",
     .help = "an agent with free GPUs takes running jobs of others that end earlier there; each is stopped for it"},
    {.name = "price_weight",
     .type = ADL_POLICY_REAL,
     .offset = OWN(price_weight),
     .value = "3",
     .range = {.max = 1e6},
     .tune = {.min = 0.25, .max = 16},
     .help =
         "weight in a bid of the price of a GPU type: high = jobs leave a scarce type to those that gain most there"},
    {.name = "energy_weight",
     .type = ADL_POLICY_REAL,
     .offset = OWN(energy_weight),
     .value = "0",
     .range = {.max = 10},
     .help = "weight in a bid of a type's power, relative to the mean of the types, as a share of the run time"},
    {.name = "sla_weight",
     .type = ADL_POLICY_REAL,
     .offset = OWN(sla_weight),
     .value = "0.5",
     .range = {.max = 1e6},
     .help = "weight in a bid of a missed deadline, as a share of the run time"},
    {.name = "fragment_weight",
     .type = ADL_POLICY_REAL,
     .offset = OWN(fragment_weight),
     .value = "0.1",
     .range = {.max = 1e6},
     .tune = {.min = 0.01, .max = 1},
     .help = "weight in a bid of GPUs that stay free beside the job, as a share of its run time"},
    {.name = "delay_weight",
     .type = ADL_POLICY_REAL,
     .offset = OWN(delay_weight),
     .value = "1",
     .range = {.max = 1e6},
     .tune = {.min = 0.03, .max = 3},
     .help = "weight in a bid of the delay of jobs that come after it in the agent's queue"},
    {.name = "rank_weight",
     .type = ADL_POLICY_REAL,
     .offset = OWN(rank_weight),
     .value = "4",
     .range = {.max = 1e6},
     .tune = {.min = 0.5, .max = 64},
     .help = "a job goes before one that was submitted this many times the difference of their GPU times earlier"},
    {.name = "stop_margin",
     .type = ADL_POLICY_REAL,
     .offset = OWN(stop_margin),
     .value = "2",
     .range = {.max = 1e6},
     .tune = {.min = 1, .max = 16},
     .help = "a running job moves only if it gains more than this many times what its stop costs, times its starts"},
};

/* ---- its life ---- */

static void destroy(void *policy)
{
    struct adl_market *self = policy;
    if (!self)
        return;
    adl_corrections_destroy(self->corrections);
    adl_directory_clear(&self->directory);
    adl_network_clear(&self->network);
    void *const owned[] = {self->agents,  self->banks,   self->nodes,    self->gpus,       self->peers,
                           self->ends_us, self->dirty,   self->auctions, self->entries,    self->order,
                           self->parts,   self->started, self->arrivals, self->node_agent, self->inquiries};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(self);
}

static int allocate(struct adl_market *self)
{
    const struct adl_cluster *cluster = self->cluster;
    const size_t agents = self->agent_count, nodes = cluster->node_count, gpus = cluster->gpu_count;
    self->agents = adl_lines(agents + 1, sizeof *self->agents);
    self->peers = adl_lines(agents + 1, sizeof *self->peers);
    self->dirty = calloc(agents + 1, sizeof *self->dirty);
    self->banks = adl_lines((size_t)cluster->bank_count + 1, sizeof *self->banks);
    self->nodes = adl_lines(nodes + 1, sizeof *self->nodes);
    self->node_agent = calloc(nodes + 1, sizeof *self->node_agent);
    self->gpus = adl_lines(gpus + 1, sizeof *self->gpus);
    self->ends_us = adl_lines(gpus + 1, sizeof *self->ends_us);
    self->started = calloc(gpus + 1, sizeof *self->started);
    const bool complete = self->agents && self->peers && self->dirty && self->banks && self->nodes &&
                          self->node_agent && self->gpus && self->ends_us && self->started;
    return complete && adl_corrections_create(cluster, ADL_ACROSS_LEAST, &self->corrections) == 0 &&
                   adl_directory_create(&self->directory, cluster) == 0 &&
                   adl_network_reserve(&self->network, 1024 + 6 * agents) == 0
               ? 0
               : ADL_ENOMEM;
}

/* A node and its banks join their agent. */
static void add_node(struct adl_market *self, uint32_t index)
{
    const struct adl_node *node = &self->cluster->nodes[index];
    struct adl_market_agent *agent = &self->agents[self->node_agent[index]];
    if (agent->bank_count == 0) {
        adl_order_init(&agent->queue);
        agent->others = ADL_NONE;
        agent->bank_first = node->bank_first;
        agent->node_first = index;
        agent->gpu_first = node->gpu_first;
        agent->changed = true;
    }
    agent->bank_count += node->bank_count;
    self->nodes[index] = (struct adl_agent_node){.cores = node->cpu_cores, .memory_mib = node->memory_mib};
    for (uint32_t b = node->bank_first; b < node->bank_first + node->bank_count; b++) {
        const struct adl_bank *bank = &self->cluster->banks[b];
        self->directory.banks[b].agent = self->node_agent[index];
        self->banks[b] = (struct adl_agent_bank){.gpu_first = bank->gpu_first - agent->gpu_first,
                                                 .node = index - agent->node_first,
                                                 .type = bank->type,
                                                 .gpus = bank->gpu_count,
                                                 .stale = UINT64_MAX >> (ADL_BANK_GPUS_MAX - bank->gpu_count),
                                                 .told = {.bank = b, .free_gpus = bank->gpu_count}};
        for (uint32_t g = bank->gpu_first; g < bank->gpu_first + bank->gpu_count; g++)
            self->gpus[g] = (struct adl_agent_gpu){ADL_NONE, ADL_NONE, 0};
    }
}

static void set_power(struct adl_market *self)
{
    double sum_w = 0;
    for (uint32_t t = 0; t < self->cluster->type_count; t++)
        sum_w += self->cluster->types[t].max_w * self->cluster->type_gpus[t];
    for (uint32_t t = 0; t < self->cluster->type_count; t++)
        self->power[t] = sum_w > 0 ? (float)(self->cluster->types[t].max_w * self->cluster->gpu_count / sum_w) : 1;
}

static void schedule_crashes(struct adl_market *self)
{
    for (uint32_t a = 0; a < self->agent_count && self->network.model.crash_mtbf_h > 0; a++) {
        const struct adl_message crash = {.kind = ADL_MESSAGE_CRASH, .from = a, .to = a};
        adl_network_remind(&self->network, &crash, adl_network_draw_crash_us(&self->network, true));
    }
}

/* A model of another policy is not for this one. */
static int read_network(const struct adl_policy_config *config, struct adl_valuation *ret, struct adl_error *err)
{
    const bool own = config->model && adl_valuation_is(config->model, config->model_size);
    return own ? adl_valuation_decode(config->model, config->model_size, ret, err)
               : adl_valuation_decode(adl_shipped_valuation, adl_shipped_valuation_size, ret, err);
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    struct adl_market *self = calloc(1, sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy market");
    self->options = *(const struct adl_market_options *)config->options;
    const struct adl_market_options *own = &self->options;
    self->cluster = cluster;
    self->agent_count = (uint32_t)((cluster->node_count + own->agent_nodes - 1) / own->agent_nodes);
    adl_network_create(&self->network, &config->network, seed);
    if (allocate(self)) {
        destroy(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy market");
    }
    self->weights = (struct adl_bid_weights){.price = own->price_weight,
                                             .energy = own->energy_weight,
                                             .sla = own->sla_weight,
                                             .fragment = own->fragment_weight,
                                             .delay = own->delay_weight,
                                             .stop = own->stop_margin,
                                             .stop_us = config->preemption_us};
    const int status = own->learned ? read_network(config, &self->valuation, err) : 0;
    if (status) {
        destroy(self);
        return status;
    }
    self->switch_us = config->preemption_us;
    self->wake_us = INT64_MIN;
    self->free_entry = self->free_part = self->stalled = ADL_NONE;
    adl_rng_seed(&self->rng, seed, "market");
    for (uint32_t a = 0; a < self->agent_count; a++)
        self->peers[a].jobs = self->peers[a].parts = ADL_NONE;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        self->node_agent[n] = n / (uint32_t)own->agent_nodes;
        add_node(self, n);
    }
    set_power(self);
    schedule_crashes(self);
    *ret_policy = self;
    return 0;
}

/* ---- room for jobs ---- */

static int make_auctions(struct adl_market *self, uint32_t slot)
{
    if (adl_grow((void **)&self->auctions, &self->auction_capacity, (size_t)slot + 1, sizeof *self->auctions))
        return ADL_ENOMEM;
    for (; self->auction_count <= slot; self->auction_count++)
        self->auctions[self->auction_count] =
            (struct adl_auction){.winner = ADL_NONE, .hint = ADL_NONE, .entry = ADL_NONE, .parts = ADL_NONE};
    return 0;
}

/* Most jobs never have more than one of the entries that there is room for: memory is touched when one is made. */
static int reserve_entries(struct adl_market *self, uint64_t count)
{
    if (count <= self->entry_room)
        return 0;
    count = count > (uint64_t)2 * self->entry_room ? count : (uint64_t)2 * self->entry_room;
    if (adl_grow_from((void **)&self->entries, &self->entry_capacity, self->entry_count, count,
                      sizeof *self->entries) ||
        adl_grow_from((void **)&self->order, &self->order_capacity, self->entry_count, count, sizeof *self->order))
        return ADL_ENOMEM;
    self->entry_room = (uint32_t)count;
    return 0;
}

static int make_parts(struct adl_market *self, uint64_t count)
{
    if (count <= self->part_count)
        return 0;
    count = count > (uint64_t)2 * self->part_count ? count : (uint64_t)2 * self->part_count;
    if (adl_grow((void **)&self->parts, &self->part_capacity, count, sizeof *self->parts))
        return ADL_ENOMEM;
    for (; self->part_count < count; self->part_count++) {
        self->parts[self->part_count] = (struct adl_part){.next = self->free_part};
        self->free_part = self->part_count;
    }
    return 0;
}

/* Messages that may be under way at one time. On a perfect network one job is announced at a time. */
static uint64_t message_room(const struct adl_market *self)
{
    const uint64_t each = adl_network_perfect(&self->network.model) ? 4 : 4 * (uint64_t)self->options.asked + 16;
    return 1024 + (uint64_t)6 * self->agent_count + self->live * each + 4 * self->live_parts;
}

static int reserve(struct adl_market *self, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    if (make_auctions(self, slot))
        return ADL_ENOMEM;
    struct adl_auction *auction = &self->auctions[slot];
    if (!auction->live) {
        const uint32_t most = 2 * (uint32_t)spec->gpus + (uint32_t)self->options.asked;
        auction->live = true;
        auction->part_room = (spec->flags & ADL_JOB_SPAN) ? most : 0;
        auction->bytes = 0;
        auction->hint = ADL_NONE;
        auction->leaves = false;
        self->jobs++;
        self->live++;
        self->live_parts += auction->part_room;
    }
    return reserve_entries(self, 4 * self->live + 2 * self->live_parts) || make_parts(self, self->live_parts) ||
                   adl_network_reserve(&self->network, message_room(self)) ||
                   adl_grow((void **)&self->arrivals, &self->arrival_capacity, (size_t)self->arrival_count + 1,
                            sizeof *self->arrivals)
               ? ADL_ENOMEM
               : 0;
}

/* Of a job that joins: its auction, and the entry that it will have. */
__attribute__((always_inline)) static inline void fetch_auction(const struct adl_market *self, uint32_t slot)
{
    adl_fetch(&self->auctions[slot], sizeof *self->auctions);
    if (self->free_entry == ADL_NONE)
        return;
    adl_fetch(&self->entries[self->free_entry], sizeof *self->entries);
    adl_fetch(&self->order[self->free_entry], sizeof *self->order);
}

static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    struct adl_market *self = policy;
    self->now_us = state->now_us;
    self->state = state;
    if (reserve(self, state, slot)) {
        self->failed = true;
        return state->jobs[slot].submit_us;
    }
    fetch_auction(self, slot);
    adl_market_close(self, slot);
    struct adl_auction *auction = &self->auctions[slot];
    auction->id = state->jobs[slot].spec.id;
    auction->phase = ADL_AUCTION_NEW;
    auction->tries = 0;
    auction->vain = auction->looked = auction->refused = 0;
    if (!auction->leaves) {
        auction->moved = 0;
        auction->hint = ADL_NONE;
    }
    auction->rest_us = adl_rest_us(state, slot);
    auction->need_us = adl_rest_cost_us(state, slot);
    self->arrivals[self->arrival_count++] = slot;
    return state->jobs[slot].submit_us;
}

/* ---- events ---- */

static void gpu_changed(struct adl_market *self, uint32_t gpu)
{
    const uint32_t agent = adl_market_stale(self, gpu);
    self->agents[agent].changed = self->changed = true;
    adl_market_wake_agent(self, agent);
}

static void job_left(struct adl_market *self, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    if (job->phase == ADL_PHASE_RUNNING || job->phase == ADL_PHASE_STOPPING)
        for (uint32_t gpu = job->first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, event->job, gpu))
            gpu_changed(self, gpu);
    if (event->job >= self->auction_count)
        return;
    adl_market_close(self, event->job);
    if (event->kind == ADL_EVENT_FINISH && self->auctions[event->job].live) {
        self->auctions[event->job].live = false;
        self->live--;
        self->live_parts -= self->auctions[event->job].part_room;
    }
}

/* Of a job that leaves its GPUs: its auction, and the agent that will look at them. */
__attribute__((always_inline)) static inline void fetch_job(const struct adl_market *self, uint32_t slot,
                                                            const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[slot];
    if (slot >= self->auction_count || job->phase < ADL_PHASE_RUNNING)
        return;
    __builtin_prefetch(&self->auctions[slot], 1);
    __builtin_prefetch(&self->gpus[job->first_gpu], 1);
    __builtin_prefetch(&self->directory.banks[job->bank], 1);
    adl_market_fetch(self, self->node_agent[self->cluster->banks[job->bank].node], job->bank);
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_market *self = policy;
    self->now_us = event->time_us;
    self->state = state;
    if (event->kind == ADL_EVENT_PROGRESS && state->belief && event->steps_per_s > 0)
        adl_corrections_measured(self->corrections, &state->jobs[event->job].spec);
    else if (event->kind == ADL_EVENT_GPU_DOWN || event->kind == ADL_EVENT_GPU_UP)
        gpu_changed(self, event->gpu);
    if ((event->kind != ADL_EVENT_FINISH && event->kind != ADL_EVENT_EVICT) || event->job >= state->job_capacity)
        return;
    fetch_job(self, event->job, state);
    if (event->kind == ADL_EVENT_FINISH)
        adl_rest_learn(self->corrections, event, state, 0);
    job_left(self, event, state);
}

/* ---- decisions ---- */

static void announce_again(struct adl_market *self, uint32_t slot)
{
    if (self->auctions[slot].entry != ADL_NONE)
        adl_market_drop_entry(self, self->auctions[slot].entry);
    adl_market_announce(self, slot);
}

/* A start of the last plan that was not carried out: the guard decided. */
static void check_started(struct adl_market *self)
{
    for (uint32_t i = 0; i < self->started_count; i++) {
        const uint32_t slot = self->started[i];
        adl_market_check_start(self, slot);
        if (self->auctions[slot].phase == ADL_AUCTION_STARTED && self->state->jobs[slot].phase == ADL_PHASE_PENDING)
            announce_again(self, slot);
    }
    self->started_count = 0;
}

static void deliver(struct adl_market *self, const struct adl_message *message)
{
    if (message->to == ADL_AUCTIONEER)
        adl_market_auctioneer_hears(self, message);
    else
        adl_market_agent_hears(self, message);
}

/* One agent acts; false: none can. Who has started jobs waits until they run. */
static bool act_next(struct adl_market *self)
{
    for (uint32_t left = self->dirty_count; left > 0; left--) {
        const uint32_t agent = self->dirty[self->dirty_first];
        self->dirty_first = (self->dirty_first + 1) % self->agent_count;
        self->dirty_count--;
        self->agents[agent].dirty = false;
        if (self->agents[agent].acted == self->decision) {
            adl_market_wake_agent(self, agent);
            continue;
        }
        adl_market_act(self, agent);
        return true;
    }
    return false;
}

void adl_market_begin(struct adl_market *self, const struct adl_state *state, struct adl_plan *plan)
{
    self->decision++;
    self->now_us = state->now_us;
    self->state = state;
    self->plan = plan;
    check_started(self);
    self->changes += self->changed;
    if (self->changed)
        adl_market_announce_stalled(self);
    self->changed = false;
}

static const struct adl_message *receive(struct adl_market *self)
{
    const struct adl_message *kept = self->inquiries ? adl_inquiries_release(self->inquiries) : NULL;
    return kept ? kept : adl_network_receive(&self->network, self->now_us);
}

/* A job that has joined is announced; false: there is none. */
static bool announce_next(struct adl_market *self)
{
    if (self->arrival_first == self->arrival_count)
        return false;
    const uint32_t slot = self->arrivals[self->arrival_first++];
    if (self->auctions[slot].phase == ADL_AUCTION_NEW)
        adl_market_announce(self, slot);
    return true;
}

int adl_market_continue(struct adl_market *self, const struct adl_state *state, struct adl_plan *plan)
{
    if (self->failed)
        return ADL_ENOMEM;
    self->state = state;
    self->plan = plan;
    for (;;) {
        const struct adl_message *message = receive(self);
        if (message) {
            if (self->inquiries && adl_inquiries_hold(self->inquiries, message))
                return 1;
            deliver(self, message);
        } else if (self->inquiries && self->inquiries->count > 0) {
            return 1;
        } else if (!announce_next(self) && !act_next(self)) {
            break;
        }
    }
    self->arrival_first = self->arrival_count = 0;
    const int64_t next_us = adl_network_next_us(&self->network);
    if (next_us == INT64_MAX || next_us == self->wake_us || self->live == 0)
        return 0;
    self->wake_us = next_us;
    return adl_plan_wake(plan, next_us);
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct adl_market *self = policy;
    if (self->failed)
        return ADL_ENOMEM;
    adl_market_begin(self, state, plan);
    return adl_market_continue(self, state, plan);
}

/* ---- copies and words ---- */

static int copy(void *policy, const void *from)
{
    struct adl_market *self = policy;
    const struct adl_market *other = from;
    if (adl_network_copy(&self->network, &other->network) ||
        adl_grow((void **)&self->auctions, &self->auction_capacity, other->auction_count, sizeof *self->auctions) ||
        adl_grow_from((void **)&self->entries, &self->entry_capacity, 0, other->entry_room, sizeof *self->entries) ||
        adl_grow_from((void **)&self->order, &self->order_capacity, 0, other->entry_room, sizeof *self->order) ||
        adl_grow((void **)&self->parts, &self->part_capacity, other->part_count, sizeof *self->parts) ||
        adl_grow((void **)&self->arrivals, &self->arrival_capacity, other->arrival_count, sizeof *self->arrivals))
        return ADL_ENOMEM;
    adl_corrections_copy(self->corrections, other->corrections);
    adl_directory_copy(&self->directory, &other->directory);
    const struct adl_market own = *self;
    *self = *other;
    self->corrections = own.corrections;
    self->directory = own.directory;
    self->network = own.network;
    self->cluster = own.cluster;
    self->auction_capacity = own.auction_capacity;
    self->entry_capacity = own.entry_capacity;
    self->order_capacity = own.order_capacity;
    self->part_capacity = own.part_capacity;
    self->arrival_capacity = own.arrival_capacity;
    ADL_COPY_ARRAY(self, own, other, agents, other->agent_count);
    ADL_COPY_ARRAY(self, own, other, peers, other->agent_count);
    ADL_COPY_ARRAY(self, own, other, dirty, other->agent_count);
    ADL_COPY_ARRAY(self, own, other, node_agent, other->cluster->node_count);
    ADL_COPY_ARRAY(self, own, other, ends_us, other->cluster->gpu_count);
    ADL_COPY_ARRAY(self, own, other, nodes, other->cluster->node_count);
    ADL_COPY_ARRAY(self, own, other, banks, other->cluster->bank_count);
    ADL_COPY_ARRAY(self, own, other, gpus, other->cluster->gpu_count);
    ADL_COPY_ARRAY(self, own, other, started, other->started_count);
    ADL_COPY_ARRAY(self, own, other, auctions, other->auction_count);
    ADL_COPY_ARRAY(self, own, other, entries, other->entry_count);
    ADL_COPY_ARRAY(self, own, other, order, other->entry_count);
    ADL_COPY_ARRAY(self, own, other, parts, other->part_count);
    ADL_COPY_ARRAY(self, own, other, arrivals, other->arrival_count);
    self->inquiries = own.inquiries;
    if (self->inquiries && other->inquiries)
        adl_inquiries_copy(self->inquiries, other->inquiries);
    self->state = NULL;
    self->plan = NULL;
    return 0;
}

static void inherit(void *policy, void *from)
{
    struct adl_market *self = policy;
    const struct adl_market *other = from;
    adl_corrections_copy(self->corrections, other->corrections);
}

#define MARKET_OPS                                                                                                     \
    .name = "market",                                                                                                  \
    .summary =                                                                                                         \
        "an agent for each node bids for jobs that are announced to a few; decisions cost the same at any size",       \
    .track_running = false, .takes_reported = true, ADL_POLICY_OPTIONS(options, struct adl_market_options),            \
    .destroy = destroy, .copy = copy, .rank = rank, .decide = decide, .observe = observe, .inherit = inherit,          \
    .explain = adl_market_explain

const struct adl_policy_ops adl_policy_market = {MARKET_OPS, .create = create};

static int create_asking(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                         void **ret_policy, struct adl_error *err)
{
    struct adl_market **caller = (struct adl_market **)config->model;
    struct adl_policy_config own = *config;
    own.model = NULL;
    void *policy = NULL;
    const int status = create(&own, cluster, seed, &policy, err);
    if (status)
        return status;
    if (adl_inquiries_open(policy)) {
        destroy(policy);
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy market");
    }
    *ret_policy = *caller = policy;
    return 0;
}

const struct adl_policy_ops adl_market_asking = {MARKET_OPS, .create = create_asking};
