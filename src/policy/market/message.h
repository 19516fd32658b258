/* message: what agents and the auctioneer tell each other. docs/market.md has the protocol.
 *
 * A message says nothing that its sender does not know; the auctioneer knows submissions and what it was told. */
#ifndef ADLRO_POLICY_MARKET_MESSAGE_H
#define ADLRO_POLICY_MARKET_MESSAGE_H

#include "base/index.h"

#include <stdbool.h>
#include <stdint.h>

#define ADL_AUCTIONEER ADL_NONE /* as sender or receiver: not an agent */

/* Costs that are none: an agent cannot host the job; or not while it holds GPUs for others. */
#define ADL_COST_NEVER (-1.0)
#define ADL_COST_HELD  (-2.0)

enum adl_message_kind {
    /* auctioneer to agent */
    ADL_MESSAGE_ASK,     /* what would hosting this job cost? */
    ADL_MESSAGE_AWARD,   /* the job, or a part of a gang, is the agent's */
    ADL_MESSAGE_SETTLED, /* its RETURN has arrived */
    ADL_MESSAGE_WELCOME, /* its HELLO has arrived */
    ADL_MESSAGE_COMMIT,  /* the gang starts on the GPUs that it holds */
    ADL_MESSAGE_ABORT,   /* that part of a gang is no longer the agent's */
    ADL_MESSAGE_PEERS,   /* agents whose jobs wait, and a bank where jobs run, because it said that it is idle */
    /* agent to auctioneer */
    ADL_MESSAGE_BID,
    ADL_MESSAGE_ACK,    /* of an AWARD */
    ADL_MESSAGE_RETURN, /* it gives a waiting job back */
    ADL_MESSAGE_HELLO,  /* it has crashed and forgot what was awarded to it */
    ADL_MESSAGE_ABLE,   /* it could hold the GPUs of its part now, before the planned time; or no longer */
    ADL_MESSAGE_READY,  /* it holds the GPUs of its part of a gang */
    ADL_MESSAGE_LOAD,   /* its load has changed */
    ADL_MESSAGE_LEAVES, /* it stops a job that will run on GPUs that another agent holds for it */
    /* agent to agent */
    ADL_MESSAGE_STEAL, /* it is idle: return a job that it could run */
    ADL_MESSAGE_MOVE,  /* it is idle: would a job that runs in this bank be done sooner here? */
    ADL_MESSAGE_OFFER, /* this one would: hold GPUs for it */
    ADL_MESSAGE_TAKE,  /* it holds them */
    /* to itself: these are timers, and no network loses them */
    ADL_MESSAGE_DUE,   /* an auction: nobody has answered for too long */
    ADL_MESSAGE_AGAIN, /* an agent: send RETURN or HELLO again if they were not answered */
    ADL_MESSAGE_LOOK,  /* an agent: a gang is planned for now */
    ADL_MESSAGE_FREE,  /* an agent: it has held GPUs for a gang for too long */
    ADL_MESSAGE_CRASH, /* an agent crashes; or, after that, comes back */
    ADL_MESSAGE_KIND_COUNT,
};

/* Types of which an announcement tells what running there costs. */
#define ADL_TOLD_TYPES 6

/* What an announcement says of a job, for one GPU type; first what plans of a queue read, then what moves do. */
struct adl_announced {
    uint32_t job;     /* slot */
    uint32_t epoch;   /* of the auction: grows when the job is announced again */
    uint16_t type;    /* the type that is asked for */
    uint16_t gpus;    /* of a part: how many are still missing, in an AWARD how many it has */
    uint8_t moved;    /* how often an agent has given it to another */
    uint8_t attempts; /* how often it has started */
    bool preemptible; /* it may be stopped */
    bool part;        /* GPUs of a gang that no bank can hold ... */
    uint32_t bank;    /* ... in this bank, or ADL_NONE */
    float price;      /* of the type: jobs that wait for it, for each of its GPUs, as heard of late */
    int64_t run_us;   /* expected on that type */
    int64_t key_us;   /* its place in every queue, least first */
    struct {
        uint32_t type;             /* ADL_NONE = no more */
        float run_us;              /* expected there */
        float cost_us;             /* run and price there, without a wait */
    } others[ADL_TOLD_TYPES];      /* of the types that it may run on, the asked one included, least cost first */
    int64_t checkpoint_us;         /* a stop loses its work since the last one; 0: none, INT64_MAX: all of this run */
    int64_t since_us;              /* it could have started at this time, had it never waited */
    int64_t due_us;                /* its deadline; INT64_MAX = none */
    int64_t planned_us;            /* AWARD of a part: when the gang is to start; else 0 */
    int64_t hold_us;               /* AWARD of a part: how long to hold GPUs for the others from then on */
    int32_t cpu_cores, memory_mib; /* per GPU */
    uint32_t types;                /* mask of types that the job may run on */
};

/* How busy a bank of the sender is. */
struct adl_bank_load {
    uint32_t bank;
    uint16_t free_gpus; /* that are free and not held */
    uint16_t waiting;   /* jobs in the agent's queue for GPUs of the type; told of its first such bank alone */
    int64_t open_us;    /* when a job of one GPU could start behind the queue */
};

struct adl_message {
    uint8_t kind; /* enum adl_message_kind */
    uint32_t from, to;
    uint32_t life;  /* how often the agent, sender or receiver, has crashed */
    uint32_t order; /* between the auctioneer and the agent: grows with each; one that is not larger comes late */
    struct adl_announced job;
    struct adl_bank_load load;
    double cost_us;    /* BID, or why there is none; AWARD: of the bid that won */
    double next_us;    /* AWARD: of the next best bid; 0 = there was none */
    int64_t start_us;  /* BID: when it would start; READY: until when GPUs are held */
    uint64_t held;     /* READY: these GPUs of the bank */
    uint16_t now_gpus; /* BID for a part, ABLE: GPUs that it could hold now */
    uint32_t peers[2]; /* PEERS; STEAL: peers[0] has the mask of types that are free; LEAVES: peers[0] gets the job */
    uint32_t runner;   /* PEERS: the agent of a bank where jobs run, or ADL_NONE */
    uint32_t bank;     /* PEERS, MOVE: that bank */
    float prices[2];   /* PEERS, MOVE: of its type, and of the idle agent's */
};

/* Bytes that a message of the kind takes on a wire: what its fields need. */
static inline uint32_t adl_message_bytes(uint8_t kind)
{
    enum { HEAD_BYTES = 17, ID_BYTES = 8, JOB_BYTES = 89 + 9 * ADL_TOLD_TYPES, LOAD_BYTES = 16 };
    switch (kind) {
    case ADL_MESSAGE_ASK:
    case ADL_MESSAGE_OFFER:
        return HEAD_BYTES + JOB_BYTES;
    case ADL_MESSAGE_AWARD:
        return HEAD_BYTES + JOB_BYTES + 16;
    case ADL_MESSAGE_BID:
        return HEAD_BYTES + ID_BYTES + 18 + LOAD_BYTES;
    case ADL_MESSAGE_LOAD:
        return HEAD_BYTES + LOAD_BYTES;
    case ADL_MESSAGE_PEERS:
        return HEAD_BYTES + 24;
    case ADL_MESSAGE_MOVE:
        return HEAD_BYTES + 16;
    case ADL_MESSAGE_STEAL:
        return HEAD_BYTES + 8;
    case ADL_MESSAGE_READY:
        return HEAD_BYTES + ID_BYTES + 20;
    case ADL_MESSAGE_ACK:
        return HEAD_BYTES + ID_BYTES + LOAD_BYTES;
    default:
        return HEAD_BYTES + ID_BYTES + 4;
    }
}

static inline bool adl_message_is_timer(uint8_t kind)
{
    return kind >= ADL_MESSAGE_DUE;
}

#endif
