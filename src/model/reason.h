/* reason: why a policy gives a command: by which rule, compared with which other job, and with which figures.
 *
 * It is part of the command, for those who execute, record or show it. It is not part of the decision: hashes of plans
 * leave it out. policy/mechanism/reason.h turns it into text. */
#ifndef ADLRO_MODEL_REASON_H
#define ADLRO_MODEL_REASON_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

/* The rule, and the meaning of value and against. Times are in seconds, service and work in GPU-seconds. `other` is the
 * job that the rule compared with or, of a stop, the job that gets the GPUs. */
enum adl_rule {
    ADL_RULE_NONE, /* no policy gives a command without a rule */

    /* why a job starts */
    ADL_RULE_FIRST,      /* first in the queue: time since submission, with what priority adds; that of other */
    ADL_RULE_SHORTEST,   /* least time left: its own; that of other */
    ADL_RULE_LEAST_WORK, /* the same with predicted time * GPUs */
    ADL_RULE_LEAST_HAD,  /* least service received so far: its own; that of other */
    ADL_RULE_TURN,       /* next of those in its class of service: service it received; service that other received */
    ADL_RULE_OVERDUE,    /* it waited longer than it should: time since submission; the most it should be */
    ADL_RULE_BACKFILL,   /* before other, which has a reservation: time it will run; time until the reservation */
    ADL_RULE_RESERVED,   /* the time that was reserved for it has come */
    ADL_RULE_GANG,       /* takes GPUs that shorter jobs of one GPU leave: time it has left; unused */
    ADL_RULE_MATCHING,   /* least sum of completion times: its run time on this type; on the fastest other, 0 = none */
    ADL_RULE_SHARE,      /* its share of this round: share of time it is due; share it received, each 0 .. 1 */
    ADL_RULE_LEFTOVER,   /* no share yet: it takes GPUs that the round leaves */
    ADL_RULE_OWED,       /* GPU time that it is owed on this type until the round ends; unused */
    ADL_RULE_SPREAD,     /* in order of the queue, on the node with most GPUs free: share free; unused */
    ADL_RULE_FRAGMENTS,  /* in order of the queue, where fewest GPUs become useless to others: here; next best */
    ADL_RULE_COST,       /* serving it costs less than letting it wait: W, W; other: the job it shares a GPU with */
    ADL_RULE_VALUE,      /* value that a network gives this start; that of the next best, of other or itself */
    ADL_RULE_SCORE,      /* highest score: its own; that of other */
    ADL_RULE_PLANNED,    /* cheapest of its places: wait + run + price here; on the next best type, 0 = none */
    ADL_RULE_DELAYS,     /* the same, although other is planned there and is delayed by delay_s */
    ADL_RULE_DUE,        /* FCFS would have started it: work started beyond its turn; what is allowed */
    ADL_RULE_ONLY,       /* nothing else could be started without delaying other: time it runs; until then */
    ADL_RULE_CLEARED,    /* jobs were preempted for it and have left: its wait; unused */
    ADL_RULE_GUARD,      /* the policy's plan was refused: first in the queue that fits, before other */
    ADL_RULE_AGENT,      /* chosen by the agent in the environment, or by a plugin */
    ADL_RULE_RUNS,       /* it ran already when the service learned of it */
    ADL_RULE_BID,        /* its agent bid least for it: cost; of the next best bid, 0 = none */

    /* why a job is stopped */
    ADL_RULE_FOR_SHORTER,   /* time it has left; time that other has left */
    ADL_RULE_FOR_LESS_WORK, /* the same with time * GPUs */
    ADL_RULE_FOR_LESS_HAD,  /* service it received; service that other received */
    ADL_RULE_FOR_TURN,      /* the same figures, within one class of service */
    ADL_RULE_FOR_OLDER,     /* other was submitted earlier: time since submission; that of other */
    ADL_RULE_FOR_SHARE,     /* the round's GPUs go to other: shares due to it; to other */
    ADL_RULE_FOR_OWED,      /* the same by owed time */
    ADL_RULE_FOR_COST,      /* other on these GPUs costs less: W with it there; W with other there */
    ADL_RULE_MOVES,         /* it starts again elsewhere (other = itself): W here; W there */
    ADL_RULE_MOVES_SHARE,   /* it is due GPUs of another type (other = itself): shares here; there */
    ADL_RULE_MOVES_OWED,    /* the same by owed time */
    ADL_RULE_MOVES_PLANNED, /* the same by cost of run and price, s: here; there with the move */
    ADL_RULE_MOVES_FOR,     /* it moves because other gains more here, s: what other saves; what the move costs */
    ADL_RULE_SAVING,        /* its progress is not worth its power (other = itself): W it draws; unused */
    ADL_RULE_FOR_PLUGIN,    /* chosen by a plugin (other = itself) */

    ADL_RULE_COUNT
};

struct adl_reason {
    uint8_t rule;      /* enum adl_rule */
    bool passed;       /* of a start: other comes before it by this rule, but does not fit now */
    uint32_t other;    /* slot of the other job when this was decided, or ADL_NONE */
    uint64_t other_id; /* its number (spec.id); 0 = none. The engine writes it */
    int64_t waited_us; /* of a start: how long the job has waited, without the time it ran. The engine writes it */
    double value, against;
    double delay_s;  /* of a start: by how much it delays other, which is planned there; 0 = it does not */
    uint32_t rank;   /* of a start: the job's place in the policy's order of this decision, from 1 on; 0 = not told */
    uint32_t ranked; /* how many jobs that order had */
};

static inline struct adl_reason adl_reason_make(enum adl_rule rule, uint32_t other, double value, double against)
{
    return (struct adl_reason){.rule = (uint8_t)rule, .other = other, .value = value, .against = against};
}

static inline bool adl_rule_stops(uint8_t rule)
{
    return rule >= ADL_RULE_FOR_SHORTER && rule < ADL_RULE_COUNT;
}

const char *adl_rule_name(uint8_t rule); /* "shortest"; "none" if there is no such rule */

/* Over every field; the bits of the figures count. */
static inline uint64_t adl_reason_hash(uint64_t hash, const struct adl_reason *reason)
{
    hash = adl_hash_u64(hash, (uint64_t)reason->passed << 40 | (uint64_t)reason->rule << 32 | reason->other);
    hash = adl_hash_u64(hash, reason->other_id);
    hash = adl_hash_u64(hash, (uint64_t)reason->waited_us);
    hash = adl_hash_bytes(hash, &reason->value, sizeof reason->value);
    hash = adl_hash_bytes(hash, &reason->against, sizeof reason->against);
    if (reason->rank == 0) /* as it was before reasons had ranks */
        return hash;
    hash = adl_hash_u64(hash, (uint64_t)reason->rank << 32 | reason->ranked);
    return adl_hash_bytes(hash, &reason->delay_s, sizeof reason->delay_s);
}

#endif
