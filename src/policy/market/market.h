/* market: the private header of policy market: hosting.c, sensing.c, moving.c and crash.c (an agent's side), auction.c
 * and pause.c (the auctioneer's), gang.c (gangs across nodes), market.c (the policy). */
#ifndef ADLRO_POLICY_MARKET_MARKET_H
#define ADLRO_POLICY_MARKET_MARKET_H

#include "model/plan.h"
#include "policy/adlro/corrections.h"
#include "policy/market/agent.h"
#include "policy/market/directory.h"
#include "policy/market/network.h"
#include "policy/market/valuation.h"
#include "state/state.h"

#define ADL_ASKED_MAX 64 /* agents that a job can be announced to */
#define ADL_VAIN_MAX  32 /* announcements in vain at random before all agents are asked in order */

enum adl_auction_phase {
    ADL_AUCTION_NONE,
    ADL_AUCTION_NEW,     /* to be announced */
    ADL_AUCTION_OPEN,    /* announced */
    ADL_AUCTION_AWARDED, /* its winner has not answered yet */
    ADL_AUCTION_OWNED,   /* an agent has it */
    ADL_AUCTION_PARTS,   /* agents have parts of it */
    ADL_AUCTION_PAUSED,  /* nobody could take it: it is announced again later */
    ADL_AUCTION_STARTED,
};

#define ADL_TOLD_BIDS 8 /* bids that a job's explanation names */

struct adl_told_bid {
    uint32_t agent;
    float cost_s; /* negative: it could not host the job */
};

/* What the auctioneer knows of a job: whole lines of the cache, and what its start and its end change in the first. */
struct adl_auction {
    uint8_t phase;  /* enum adl_auction_phase */
    bool live;      /* its job is */
    bool stalled;   /* it waits for a change */
    bool leaves;    /* it is being stopped, and hint holds GPUs for it */
    uint8_t moved;  /* as in what is announced */
    uint8_t resent; /* awards without an answer */
    uint8_t bid_count;
    bool held; /* an agent that was asked may be able to host it when it no longer holds GPUs for others */
    uint32_t epoch;
    uint16_t asked, answered;
    uint32_t winner;                         /* agent */
    uint32_t hint;                           /* agent that asked for it while it waited, or ADL_NONE */
    uint32_t giver;                          /* agent that returned it */
    uint32_t entry;                          /* of the agent that has it, or ADL_NONE */
    uint32_t parts;                          /* chain of bids for parts, then of the parts */
    uint32_t part_room;                      /* parts that it may have */
    uint32_t previous, next;                 /* jobs of one agent */
    uint64_t bytes;                          /* sent about it */
    uint64_t id;                             /* number of the job */
    double rest_us, need_us;                 /* by the belief, when it joined */
    double cost_us[2];                       /* of the best and the next best bid; 0 = none */
    struct adl_announced won;                /* what was announced to the winner */
    struct adl_told_bid bids[ADL_TOLD_BIDS]; /* as they came, for the job's explanation */
    uint32_t tries;                          /* announcements in vain, or gangs that did not come together */
    uint32_t vain;                           /* announcements to which all have said no since the cluster changed ... */
    uint32_t seen;                           /* ... for that time */
    uint32_t looked, reached;                /* places (ask_in_order) that said no since; with the last announcement */
    uint32_t refused, wanted;                /* masks of types of which no gang came together since; of the last one */
    uint64_t padding[3];
};
static_assert(sizeof(struct adl_auction) % ADL_LINE == 0, "auctions are whole lines");

/* A bid for a part of a gang; then, if chosen, the part. */
struct adl_part {
    uint32_t agent, bank, next, life;
    uint16_t gpus, now_gpus;
    bool chosen, heard, able, ready; /* heard: its agent has answered the award */
    uint32_t job;                    /* slot */
    uint32_t after, before;          /* chosen parts of one agent */
    int64_t start_us, until_us;
    uint64_t held;
};

/* What the auctioneer knows of an agent. */
struct adl_peer {
    uint32_t life, sent, heard;
    uint32_t jobs;  /* chain of the auctions it has won */
    uint32_t parts; /* chain of the parts that it was awarded */
};

struct adl_market_options {
    int64_t agent_nodes, asked;
    bool bids, gossip, learned, moves;
    double price_weight, energy_weight, sla_weight, fragment_weight, delay_weight, rank_weight, stop_margin;
};

struct adl_inquiries;

struct adl_market {
    struct adl_market_options options;
    struct adl_bid_weights weights;
    struct adl_valuation valuation; /* learned */
    const struct adl_cluster *cluster;
    struct adl_corrections *corrections;
    struct adl_directory directory;
    struct adl_network network;
    struct adl_rng rng; /* whom to ask */
    float power[ADL_TYPES_MAX];
    int64_t switch_us;
    /* agents */
    struct adl_market_agent *agents;
    struct adl_agent_bank *banks;
    struct adl_agent_node *nodes;
    struct adl_agent_gpu *gpus;
    int64_t *ends_us; /* [GPU] */
    struct adl_peer *peers;
    uint32_t *node_agent; /* [node] */
    uint32_t agent_count;
    uint32_t *dirty; /* ring of agents that have something to decide */
    uint32_t dirty_first, dirty_count;
    /* jobs */
    struct adl_auction *auctions; /* [slot] */
    struct adl_entry *entries;
    struct adl_order_node *order; /* [entry] */
    struct adl_part *parts;
    uint32_t *arrivals; /* slots to be announced */
    uint32_t *started;  /* slots that the last plan started */
    size_t auction_capacity, entry_capacity, order_capacity, part_capacity, arrival_capacity;
    uint32_t auction_count, entry_count, part_count; /* that were made: an equal copy may have room for more */
    uint32_t entry_room;                             /* entries that may be made */
    uint32_t free_entry, free_part, arrival_first, arrival_count, started_count;
    uint64_t entry_sequence;
    uint64_t live, live_parts; /* jobs, and parts that they may have */
    uint64_t jobs;             /* that were submitted */
    uint32_t stalled;          /* chain of jobs that nobody could take: they are announced again after a change */
    bool changed;              /* a job has left, or a GPU has failed or returned, since the last decision */
    uint32_t changes;          /* decisions before which that was so */
    bool failed;
    uint64_t decision;
    int64_t wake_us;
    struct adl_inquiries *inquiries; /* the caller bids for the agents; NULL: they do */
    /* of one decision */
    const struct adl_state *state;
    struct adl_plan *plan;
    int64_t now_us;
};

/* The agent of the GPU will look at it again, once it looks; returns that agent. */
static inline uint32_t adl_market_stale(struct adl_market *market, uint32_t gpu)
{
    const uint32_t index = market->cluster->gpu_bank[gpu];
    const struct adl_bank *bank = &market->cluster->banks[index];
    market->banks[index].stale |= UINT64_C(1) << (gpu - bank->gpu_first);
    return market->node_agent[bank->node];
}

/* An agent's memory is spread over the cluster's: the processor fetches it while others act. Always inline, because gcc
 * drops calls of functions that do nothing but this. */
__attribute__((always_inline)) static inline void adl_market_fetch(const struct adl_market *market, uint32_t agent,
                                                                   uint32_t bank)
{
    const struct adl_bank *it = &market->cluster->banks[bank];
    const struct adl_market_agent *self = &market->agents[agent];
    __builtin_prefetch(self, 1);
    __builtin_prefetch(&self->changed, 1);
    __builtin_prefetch(&market->peers[agent], 1);
    __builtin_prefetch(&market->banks[bank], 1);
    __builtin_prefetch(&market->nodes[it->node], 1);
    __builtin_prefetch(&market->ends_us[it->gpu_first]);
    __builtin_prefetch(&market->ends_us[it->gpu_first + it->gpu_count - 1]);
    __builtin_prefetch(&market->state->nodes_use[it->node]);
    __builtin_prefetch(&market->state->pool.free_mask[bank]);
}

__attribute__((always_inline)) static inline void adl_market_fetch_gpus(const struct adl_market *market, uint32_t bank)
{
    const struct adl_bank *it = &market->cluster->banks[bank];
    for (uint32_t g = 0; g < it->gpu_count; g += ADL_LINE / sizeof *market->gpus)
        __builtin_prefetch(&market->gpus[it->gpu_first + g]);
}

/* The first job of an agent's queue, before the queue is looked at. */
__attribute__((always_inline)) static inline void adl_market_fetch_queue(const struct adl_market *market,
                                                                         uint32_t agent)
{
    const uint32_t first = market->agents[agent].queue.first;
    if (first == ADL_NONE)
        return;
    __builtin_prefetch(&market->order[first]);
    __builtin_prefetch(&market->entries[first]);
}

/* market.c: a decision in parts. Continue: 1 if bids of the caller are due (inquiries.h), 0 if the plan is complete;
 * negative on failure. */
void adl_market_begin(struct adl_market *market, const struct adl_state *state, struct adl_plan *plan);
int adl_market_continue(struct adl_market *market, const struct adl_state *state, struct adl_plan *plan);

/* explanation.c */
void adl_market_explain(void *policy, const struct adl_state *state, uint32_t slot, char *ret, size_t size);

/* hosting.c: an agent's side */
struct adl_agent_view adl_market_view(const struct adl_market *market, uint32_t agent);
void adl_market_wake_agent(struct adl_market *market, uint32_t agent); /* it has something to decide */
void adl_market_act(struct adl_market *market, uint32_t agent);
void adl_market_check_start(struct adl_market *market, uint32_t slot); /* of a job that the last plan started */
void adl_market_agent_hears(struct adl_market *market, const struct adl_message *message);
void adl_market_drop_entry(struct adl_market *market, uint32_t entry);
void adl_market_send_up(struct adl_market *market, uint32_t agent, struct adl_message message);
void adl_market_remind_self(struct adl_market *market, uint32_t agent, uint8_t kind, const struct adl_announced *job,
                            int64_t time_us);
void adl_market_give_back(struct adl_market *market, uint32_t entry, uint32_t to);
bool adl_market_is_pending(const struct adl_market *market, const struct adl_entry *it);
/* An entry that holds GPUs of its bank, or ADL_NONE: there is no room for it. */
uint32_t adl_market_hold(struct adl_market *market, uint32_t agent, const struct adl_announced *job);

/* sensing.c */
void adl_market_sense(struct adl_market *market, uint32_t agent);                 /* it looks at its own GPUs */
void adl_market_see_end(struct adl_market *market, uint32_t gpu, int64_t end_us); /* when its job will leave */

/* crash.c */
void adl_market_crash(struct adl_market *market, uint32_t agent); /* or, if it is down, its return */

/* moving.c: jobs that go from one agent to another, waiting or running */
void adl_market_look_for_work(struct adl_market *market, uint32_t agent, const struct adl_message *peers);
void adl_market_peer_hears(struct adl_market *market, const struct adl_message *message);
void adl_market_end_hold(struct adl_market *market, uint32_t agent, uint32_t slot); /* it bids for the job itself */

/* pause.c: jobs that nobody could take */
void adl_market_pause(struct adl_market *market, uint32_t slot); /* it is announced again later */
void adl_market_announce_stalled(struct adl_market *market);     /* those that wait for a change */
void adl_market_unstall(struct adl_market *market, uint32_t slot);
void adl_market_recount(const struct adl_market *market, struct adl_auction *auction); /* after a change, from 0 on */
uint32_t adl_market_places(const struct adl_market *market); /* pairs of a GPU type and a bank */

/* auction.c: the auctioneer's side */
void adl_market_announce(struct adl_market *market, uint32_t slot);
void adl_market_auctioneer_hears(struct adl_market *market, const struct adl_message *message);
void adl_market_close(struct adl_market *market, uint32_t slot); /* the job is gone, or starts again from the queue */
void adl_market_send_down(struct adl_market *market, uint32_t agent, struct adl_message message);
void adl_market_send_across(struct adl_market *market, uint32_t from, uint32_t to, struct adl_message message);
struct adl_announced adl_market_describe(const struct adl_market *market, uint32_t slot, uint32_t type, bool part);
void adl_market_remind(struct adl_market *market, uint32_t slot, int64_t time_us);
/* Sends a message that has its ends, and counts its bytes for its job. */
void adl_market_post(struct adl_market *market, struct adl_message *message, uint32_t life, uint32_t order);

/* Starts a job on GPUs that the caller has written into the plan. 0 or ADL_EREFUSED. */
int adl_market_propose(struct adl_market *market, uint32_t slot, double cost_us, double next_us);

/* gang.c: gangs that no bank can hold */
void adl_market_announce_gang(struct adl_market *market, uint32_t slot);
void adl_market_gang_bid(struct adl_market *market, const struct adl_message *message);
void adl_market_gang_choose(struct adl_market *market, uint32_t slot);
void adl_market_gang_able(struct adl_market *market, const struct adl_message *message);
void adl_market_gang_ready(struct adl_market *market, const struct adl_message *message);
void adl_market_gang_abort(struct adl_market *market, uint32_t slot); /* its parts are no longer theirs */
void adl_market_gang_due(struct adl_market *market, uint32_t slot);
void adl_market_gang_ack(struct adl_market *market, const struct adl_message *message);
void adl_market_gang_hello(struct adl_market *market, uint32_t agent); /* it has forgotten its parts */

#endif
