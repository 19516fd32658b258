/* agent: what one agent knows, and what it decides: its bids, which of its jobs start, and which one it gives away.
 *
 * The decision functions are pure. They receive the agent's own memory, through pointers to const, and a message's
 * contents; nothing else can be reached from there (tests/policy/market/test_market_agent.c fills all other memory with
 * garbage). The policy's glue (market.c) lets an agent sense its own GPUs and carries out what it decided. */
#ifndef ADLRO_POLICY_MARKET_AGENT_H
#define ADLRO_POLICY_MARKET_AGENT_H

#include "base/order.h"
#include "model/cluster.h"
#include "policy/market/message.h"

#include <assert.h>

/* A job, or a part of a gang, that an agent has accepted. It waits in the queue, or holds GPUs, or was given back, or
 * runs in one bank. */
enum adl_entry_phase { ADL_ENTRY_FREE, ADL_ENTRY_WAITS, ADL_ENTRY_HOLDS, ADL_ENTRY_RETURNED, ADL_ENTRY_RUNS };

/* Four lines of the cache: whether a running job may move is in the first two. */
struct adl_entry {
    uint8_t phase;
    bool able;        /* it has told that the part could start before its planned time */
    bool stopped;     /* RUNS: it is being stopped */
    uint8_t repeated; /* how often it has told that, or that it holds GPUs */
    uint32_t agent;
    uint64_t held; /* HOLDS, RUNS: GPUs of its bank */
    struct adl_announced job;
    uint64_t id;       /* number of the job: a slot is used again */
    uint32_t to;       /* RETURNED, RUNS: the agent that asked for it, or ADL_NONE */
    uint32_t next;     /* of the agent's entries that are not in its queue, or of the free ones */
    int64_t until_us;  /* HOLDS; RUNS: that long it is offered to that agent */
    double cost_us[2]; /* the bid that won it, and the next best; 0 = none */
    uint64_t padding[4];
};
static_assert(sizeof(struct adl_entry) % ADL_LINE == 0, "entries are whole lines");

/* What runs on a GPU. When it is believed to leave is apart, because a bid needs that alone, of all GPUs of a node: 64
 * bytes of 8 GPUs. */
struct adl_agent_gpu {
    uint32_t job;     /* slot, ADL_NONE = no job */
    uint32_t entry;   /* of that job, if the agent has started it in one bank; else ADL_NONE */
    int64_t start_us; /* of that job */
};

#define ADL_END_NEVER INT64_MAX /* the GPU is down */
#define ADL_END_IDLE  INT64_MIN /* it has no job */

/* A line of the cache. */
struct adl_agent_bank {
    uint64_t free_mask; /* GPUs that are up and have no job */
    uint64_t held;      /* GPUs that are held for gangs */
    uint64_t stale;     /* GPUs whose job, or whose state, may have changed since the agent looked */
    uint32_t gpu_first; /* its GPUs, counted from the agent's first */
    uint32_t node;      /* its node, counted likewise */
    uint16_t type;
    uint16_t gpus;    /* of the bank */
    uint16_t up_gpus; /* of these, not down */
    uint32_t waiting; /* jobs in the queue for its type, if it is the agent's first bank of that type; else 0 */
    struct adl_bank_load told; /* the last load that it sent */
};
static_assert(sizeof(struct adl_agent_bank) == ADL_LINE, "banks are lines");

struct adl_agent_node {
    int32_t free_cores, free_memory_mib;
    int32_t held_cores, held_memory_mib; /* of these, for gangs */
    int32_t cores, memory_mib;           /* when it is empty */
};

struct adl_market_agent {
    struct adl_order queue;                                 /* waiting entries by key_us */
    double queued_us;                                       /* sum of run time * GPUs in it */
    uint32_t others;                                        /* entries that hold GPUs or were returned: a chain */
    uint32_t bank_first, bank_count, node_first, gpu_first; /* its own, in the cluster */
    uint32_t life;                                          /* how often it has crashed */
    uint32_t sent, heard;                                   /* order of the last message to and from the auctioneer */
    uint64_t sensed;                                        /* decision in which it last looked at its GPUs */
    uint64_t acted;                                         /* decision in which it last started jobs */
    int64_t next_end_us;                                    /* the first end that it believes in */
    bool down;                                              /* it has crashed and not yet come back */
    bool stranger;                                          /* it is back and was not welcomed yet */
    bool dirty;                                             /* it has something to decide */
    bool changed;                                           /* jobs on its GPUs have changed since it looked */
};

/* What hosting a job costs beside its completion time, as shares of its run time. */
struct adl_bid_weights {
    double price;    /* times the price of the type, for each GPU of the job */
    double energy;   /* times power relative to the mean of the types, less 1 */
    double sla;      /* if it ends after its deadline */
    double fragment; /* times the share of the bank that stays free beside it */
    double delay;    /* of the delay of jobs behind it in the queue; 1 = like its own */
    double stop;     /* a running job moves if it gains this many times what its stop costs, times its starts */
    int64_t stop_us; /* to stop a job and start it again */
};

/* An agent's own memory. */
struct adl_agent_view {
    const struct adl_market_agent *self;
    const struct adl_agent_bank *banks; /* [bank_count] */
    const struct adl_agent_node *nodes;
    const struct adl_agent_gpu *gpus;
    const int64_t *ends_us;             /* [GPU] when its job is believed to leave */
    const struct adl_entry *entries;    /* of these, those in its queue and its chain */
    const struct adl_order_node *order; /* likewise */
    const struct adl_bid_weights *weights;
    const float *power; /* [type] relative to the mean of the types */
};

struct adl_bid {
    bool possible;
    double cost_us; /* if it is not possible: ADL_COST_NEVER or ADL_COST_HELD */
    int64_t start_us;
    uint16_t gpus;                 /* of a part: how many at start_us */
    uint16_t now_gpus;             /* of a part: how many now */
    uint16_t pool_gpus, free_gpus; /* of its type: that the agent counts on, and of these not in use */
    uint32_t behind;               /* jobs of the queue that come after it, as far as it looked */
    float fragment;                /* share of the bank that stays free beside it */
};

/* What hosting the job would cost: time until it is done, the delay of jobs behind it, energy, deadline, fragments. */
struct adl_bid adl_agent_bid(const struct adl_agent_view *view, const struct adl_announced *job, int64_t now_us);

/* How busy it is, relative to its size: what an agent without a value function says. */
double adl_agent_load(const struct adl_agent_view *view, uint32_t type);

/* The next waiting entry that starts now, and in which of its banks; entry = ADL_NONE: none. The first of a type that
 * does not fit gets a reservation, which those behind it must not delay. hopeless: an entry that no bank of the agent
 * can run while GPUs are down; else ADL_NONE. */
struct adl_agent_choice {
    uint32_t entry, bank, hopeless;
};
struct adl_agent_choice adl_agent_choose(const struct adl_agent_view *view, int64_t now_us);

/* The fullest of its banks where the job, or part of a gang, fits now, whatever waits; or ADL_NONE. */
uint32_t adl_agent_fit(const struct adl_agent_view *view, const struct adl_announced *job);

/* A job moves from agent to agent at most this often: what is sent about it is bounded. */
#define ADL_MARKET_MOVES_MAX 8

/* The waiting entry to give to an agent that has that many GPUs of one of these types free: of those that would be done
 * sooner there, by price and run, the one that gains most for the GPU time that it takes; or ADL_NONE. */
uint32_t adl_agent_spare(const struct adl_agent_view *view, uint32_t types, uint32_t gpus, int64_t now_us);

/* GPUs that are free elsewhere, for a job that runs in one of the agent's banks. */
struct adl_wanted {
    uint32_t bank; /* counted from the agent's first */
    uint32_t type, gpus;
    double price, own_price; /* of that type, and of the bank's */
};

/* What moving the job of an entry there would save after the price of its stop, in time. */
struct adl_relief {
    uint32_t entry;           /* ADL_NONE: none gains */
    double here_us, there_us; /* cost of the rest of its run as it is, and there with the move */
    double gain_us;
    int64_t run_us; /* there */
};

/* True if the rest of its run, however long, would cost less there. */
bool adl_agent_may_move(const struct adl_agent_view *view, uint32_t entry, const struct adl_wanted *wanted);

/* The running job of that bank that gains most there. */
struct adl_relief adl_agent_relieve(const struct adl_agent_view *view, const struct adl_wanted *wanted, int64_t now_us);

/* How busy one of its banks is. */
struct adl_bank_load adl_agent_tell(const struct adl_agent_view *view, uint32_t bank, int64_t now_us);

#endif
