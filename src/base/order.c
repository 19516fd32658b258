#include "base/order.h"

#include "base/hash.h"

#include <assert.h>

void adl_order_init(struct adl_order *order)
{
    *order = (struct adl_order){.root = ADL_NONE, .first = ADL_NONE, .last = ADL_NONE, .later = ADL_NONE};
}

static void refresh(struct adl_order_node *nodes, uint32_t at)
{
    struct adl_order_node *node = &nodes[at];
    int64_t least = node->weight;
    if (node->left != ADL_NONE && nodes[node->left].least < least)
        least = nodes[node->left].least;
    if (node->right != ADL_NONE && nodes[node->right].least < least)
        least = nodes[node->right].least;
    node->least = least;
}

static void link_between(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry, uint32_t previous,
                         uint32_t next)
{
    nodes[entry].previous = previous;
    nodes[entry].next = next;
    if (previous == ADL_NONE)
        order->first = entry;
    else
        nodes[previous].next = entry;
    if (next == ADL_NONE)
        order->last = entry;
    else
        nodes[next].previous = entry;
}

/* Appends without a search: the lower end of the right spine becomes the new entry's left subtree. */
static void append(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry)
{
    struct adl_order_node *node = &nodes[entry];
    uint32_t below = ADL_NONE, above = order->last;
    for (; above != ADL_NONE && nodes[above].height < node->height; above = nodes[above].parent)
        below = above;
    node->left = below;
    node->parent = above;
    if (below != ADL_NONE)
        nodes[below].parent = entry;
    if (above == ADL_NONE)
        order->root = entry;
    else
        nodes[above].right = entry;
    if (below != ADL_NONE && nodes[below].least < node->least)
        node->least = nodes[below].least;
    for (; above != ADL_NONE && nodes[above].least > node->weight; above = nodes[above].parent)
        nodes[above].least = node->weight;
    link_between(nodes, order, entry, order->last, ADL_NONE);
}

/* Splits the subtree at the new entry's place into its two children. previous and next are its neighbours above that
 * place, and become those in the whole order. */
static void split(struct adl_order_node *nodes, bool weighted, uint32_t at, uint32_t entry, uint32_t *previous,
                  uint32_t *next)
{
    uint32_t *left = &nodes[entry].left, *right = &nodes[entry].right;
    uint32_t left_end = entry, right_end = entry;
    while (at != ADL_NONE) {
        struct adl_order_node *node = &nodes[at];
        if (adl_order_before(&nodes[entry], node)) {
            *right = *next = at;
            node->parent = right_end;
            right_end = at;
            right = &node->left;
            at = node->left;
        } else {
            *left = *previous = at;
            node->parent = left_end;
            left_end = at;
            left = &node->right;
            at = node->right;
        }
    }
    *left = *right = ADL_NONE;
    if (!weighted)
        return;
    for (; left_end != entry; left_end = nodes[left_end].parent)
        refresh(nodes, left_end);
    for (; right_end != entry; right_end = nodes[right_end].parent)
        refresh(nodes, right_end);
    refresh(nodes, entry);
}

void adl_order_insert(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry, int64_t key,
                      uint64_t sequence, int64_t weight)
{
    struct adl_order_node *node = &nodes[entry];
    *node = (struct adl_order_node){.key = key,
                                    .sequence = sequence,
                                    .weight = weight,
                                    .least = weight,
                                    .left = ADL_NONE,
                                    .right = ADL_NONE,
                                    .height = (uint32_t)(adl_hash_u64(sequence, 0x6f72646572u) >> 32)};
    order->count++;
    order->weighted |= weight != 0;
    if (order->last == ADL_NONE || adl_order_before(&nodes[order->last], node)) {
        append(nodes, order, entry);
        return;
    }
    uint32_t parent = ADL_NONE, at = order->root, previous = ADL_NONE, next = ADL_NONE;
    bool left = false;
    while (at != ADL_NONE && nodes[at].height >= node->height) {
        parent = at;
        if (nodes[at].least > weight)
            nodes[at].least = weight;
        left = adl_order_before(node, &nodes[at]);
        if (left)
            next = at;
        else
            previous = at;
        at = left ? nodes[at].left : nodes[at].right;
    }
    node->parent = parent;
    if (parent == ADL_NONE)
        order->root = entry;
    else if (left)
        nodes[parent].left = entry;
    else
        nodes[parent].right = entry;
    split(nodes, order->weighted, at, entry, &previous, &next);
    link_between(nodes, order, entry, previous, next);
}

void adl_order_insert_later(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry, int64_t key,
                            uint64_t sequence, int64_t weight)
{
    struct adl_order_node *node = &nodes[entry];
    node->key = key;
    node->sequence = sequence;
    node->weight = weight;
    node->parent = entry; /* no entry of a tree is its own parent */
    node->previous = ADL_NONE;
    node->next = order->later;
    if (order->later != ADL_NONE)
        nodes[order->later].previous = entry;
    order->later = entry;
}

void adl_order_settle(struct adl_order_node *nodes, struct adl_order *order)
{
    while (order->later != ADL_NONE) {
        const uint32_t entry = order->later;
        const struct adl_order_node *node = &nodes[entry];
        order->later = node->next; /* whose previous is not read again before it is inserted */
        adl_order_insert(nodes, order, entry, node->key, node->sequence, node->weight);
    }
}

/* Removes an entry that is still to be inserted. */
static void forget_later(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry)
{
    const struct adl_order_node *node = &nodes[entry];
    if (node->previous == ADL_NONE)
        order->later = node->next;
    else
        nodes[node->previous].next = node->next;
    if (node->next != ADL_NONE)
        nodes[node->next].previous = node->previous;
}

/* The link to an entry: in its parent, or the root. */
static uint32_t *place_of(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry)
{
    const uint32_t parent = nodes[entry].parent;
    if (parent == ADL_NONE)
        return &order->root;
    return nodes[parent].left == entry ? &nodes[parent].left : &nodes[parent].right;
}

/* Replaces an entry by its merged subtrees. Returns the lowest node with a changed child, or ADL_NONE. */
static uint32_t join(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry)
{
    uint32_t a = nodes[entry].left, b = nodes[entry].right, above = nodes[entry].parent;
    uint32_t *place = place_of(nodes, order, entry);
    while (a != ADL_NONE && b != ADL_NONE) {
        const uint32_t higher = nodes[a].height > nodes[b].height ? a : b;
        *place = higher;
        nodes[higher].parent = above;
        above = higher;
        if (higher == a) {
            place = &nodes[a].right;
            a = *place;
        } else {
            place = &nodes[b].left;
            b = *place;
        }
    }
    *place = a != ADL_NONE ? a : b;
    if (*place != ADL_NONE)
        nodes[*place].parent = above;
    return above;
}

/* Updates the least weights after an entry was replaced; at: the lowest node with a changed child. */
static void refresh_above(struct adl_order_node *nodes, uint32_t at, uint32_t parent)
{
    for (; at != parent; at = nodes[at].parent)
        refresh(nodes, at);
    for (; at != ADL_NONE; at = nodes[at].parent) {
        const int64_t old = nodes[at].least;
        refresh(nodes, at);
        if (nodes[at].least == old)
            break;
    }
}

void adl_order_remove(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry)
{
    const struct adl_order_node *node = &nodes[entry];
    if (node->parent == entry) {
        forget_later(nodes, order, entry);
        return;
    }
    assert(order->count > 0);
    const uint32_t changed = join(nodes, order, entry);
    if (order->weighted)
        refresh_above(nodes, changed, node->parent);
    if (node->previous == ADL_NONE)
        order->first = node->next;
    else
        nodes[node->previous].next = node->next;
    if (node->next == ADL_NONE)
        order->last = node->previous;
    else
        nodes[node->next].previous = node->previous;
    order->count--;
}

/* The first entry of a subtree whose weight is within the limit; there must be one. */
static uint32_t first_light(const struct adl_order_node *nodes, uint32_t at, int64_t limit)
{
    for (;;) {
        const uint32_t left = nodes[at].left;
        if (left != ADL_NONE && nodes[left].least <= limit)
            at = left;
        else if (nodes[at].weight <= limit)
            return at;
        else
            at = nodes[at].right;
    }
}

uint32_t adl_order_next_light(const struct adl_order_node *nodes, const struct adl_order *order, uint32_t after,
                              int64_t limit)
{
    if (after == ADL_NONE)
        return order->root != ADL_NONE && nodes[order->root].least <= limit ? first_light(nodes, order->root, limit)
                                                                            : ADL_NONE;
    for (uint32_t at = after;;) {
        const uint32_t right = nodes[at].right;
        if (right != ADL_NONE && nodes[right].least <= limit)
            return first_light(nodes, right, limit);
        while (nodes[at].parent != ADL_NONE && nodes[nodes[at].parent].right == at)
            at = nodes[at].parent;
        at = nodes[at].parent;
        if (at == ADL_NONE)
            return ADL_NONE;
        if (nodes[at].weight <= limit)
            return at;
    }
}
