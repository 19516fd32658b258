/* order: table entries kept sorted by (key, sequence), as many separate orders over one table as wanted.
 *
 * A treap whose nodes lie in one array indexed like the table, so an entry is in at most one order at a time and
 * nothing is allocated to insert it. Appending and taking the first are constant time on average, everything else
 * logarithmic. Each entry has a weight; the next entry whose weight is at most w is found without visiting those
 * between. */
#ifndef ADLRO_BASE_ORDER_H
#define ADLRO_BASE_ORDER_H

#include "base/index.h"

#include <stdbool.h>
#include <stdint.h>

/* A line of the cache. */
struct adl_order_node {
    int64_t key;
    uint64_t sequence; /* decides between equal keys; unique within an order */
    uint32_t left, right, parent;
    uint32_t height; /* random; a parent's is at least its children's */
    int64_t weight;
    int64_t least; /* least weight in the subtree */
    uint32_t next, previous;
    uint64_t unused;
};

struct adl_order {
    uint32_t root, first, last;
    uint32_t count;
    uint32_t later; /* a list of entries that are still to be inserted, the last first */
    bool weighted;  /* some entry had a weight other than 0: else all least weights are 0 and stay so */
};

void adl_order_init(struct adl_order *order);
void adl_order_insert(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry, int64_t key,
                      uint64_t sequence, int64_t weight);
void adl_order_remove(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry);

/* Puts off the insertion until adl_order_settle(). Until then nobody finds the entry, but it can be removed: an order
 * that is seldom read need not be kept. */
void adl_order_insert_later(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry, int64_t key,
                            uint64_t sequence, int64_t weight);
void adl_order_settle(struct adl_order_node *nodes, struct adl_order *order);

/* The first entry after the given one (ADL_NONE: from the start) whose weight is at most limit, or ADL_NONE. */
uint32_t adl_order_next_light(const struct adl_order_node *nodes, const struct adl_order *order, uint32_t after,
                              int64_t limit);

static inline int adl_order_before(const struct adl_order_node *a, const struct adl_order_node *b)
{
    return a->key < b->key || (a->key == b->key && a->sequence < b->sequence);
}

#endif
