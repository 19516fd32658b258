/* network: messages on their way. Time comes from the caller.
 *
 * A perfect network delivers at once, in the order of sending. Else a message takes its time and may be lost, doubled
 * or overtaken, by the scenario's group `network` and a stream of random numbers of its own. Timers are messages to
 * oneself: they come in time and are not counted. */
#ifndef ADLRO_POLICY_MARKET_NETWORK_H
#define ADLRO_POLICY_MARKET_NETWORK_H

#include "base/heap.h"
#include "base/rng.h"
#include "model/scenario.h"
#include "policy/market/message.h"

struct adl_traffic {
    uint64_t messages, bytes; /* sent */
    uint64_t lost, doubled;   /* of these; a partition loses messages, too */
    uint64_t most_bytes;      /* sent about one job */
};

struct adl_network {
    struct adl_network_model model;
    struct adl_rng rng;
    struct adl_heap heap;          /* (time, sequence and index) */
    struct adl_heap_item *in_turn; /* sent and due after all others here, in order: not sorted among timers. On a
                                      perfect network all messages */
    uint32_t turn_first, turn_count;
    struct adl_message *messages;
    uint32_t *vacant; /* indices of unused messages */
    uint32_t vacant_count;
    uint32_t received; /* the message that the receiver reads, 1 + its index; 0: none */
    size_t capacity, vacant_capacity, turn_capacity;
    uint64_t sequence;
    struct adl_traffic traffic;
};

void adl_network_create(struct adl_network *ret, const struct adl_network_model *model, uint64_t seed);
void adl_network_clear(struct adl_network *network);                          /* frees; accepts a zeroed one */
int adl_network_reserve(struct adl_network *network, size_t messages);        /* 0 or ADL_ENOMEM */
int adl_network_copy(struct adl_network *to, const struct adl_network *from); /* 0 or ADL_ENOMEM */

/* True if no message is late or lost and no agent crashes. */
bool adl_network_perfect(const struct adl_network_model *model);

/* How long an answer may take; 0 on a perfect network. */
int64_t adl_network_patience_us(const struct adl_network *network);

/* Sends a message; if there is no room it is lost. Allocates nothing. */
void adl_network_send(struct adl_network *network, const struct adl_message *message, int64_t now_us);

/* The same of a timer, which comes at that time. */
void adl_network_remind(struct adl_network *network, const struct adl_message *message, int64_t time_us);

/* The next message that is due, until the next call; NULL: none is. */
const struct adl_message *adl_network_receive(struct adl_network *network, int64_t now_us);

/* When the next message is due; INT64_MAX: there is none. */
int64_t adl_network_next_us(const struct adl_network *network);

/* True if the partition separates the agent from the auctioneer at that time. */
bool adl_network_cut(const struct adl_network *network, uint32_t agent, int64_t time_us);

/* How long an agent stays up, or is down. */
int64_t adl_network_draw_crash_us(struct adl_network *network, bool up);

#endif
