#include "base/order.h"

#include "base/hash.h"

#include <assert.h>

void adl_order_init(struct adl_order *order)
{
    *order = (struct adl_order){.root = ADL_NONE, .first = ADL_NONE, .last = ADL_NONE};
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

static void replace_child(struct adl_order_node *nodes, struct adl_order *order, uint32_t parent, uint32_t old,
                          uint32_t new)
{
    if (parent == ADL_NONE)
        order->root = new;
    else if (nodes[parent].left == old)
        nodes[parent].left = new;
    else
        nodes[parent].right = new;
    if (new != ADL_NONE)
        nodes[new].parent = parent;
}

/* Lifts a child over its parent. */
static void rotate(struct adl_order_node *nodes, struct adl_order *order, uint32_t child)
{
    const uint32_t parent = nodes[child].parent;
    replace_child(nodes, order, nodes[parent].parent, parent, child);
    uint32_t moved;
    if (nodes[parent].left == child) {
        moved = nodes[child].right;
        nodes[parent].left = moved;
        nodes[child].right = parent;
    } else {
        moved = nodes[child].left;
        nodes[parent].right = moved;
        nodes[child].left = parent;
    }
    if (moved != ADL_NONE)
        nodes[moved].parent = parent;
    nodes[parent].parent = child;
    refresh(nodes, parent);
    refresh(nodes, child);
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

void adl_order_insert(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry, int64_t key,
                      uint64_t sequence, int64_t weight)
{
    nodes[entry] = (struct adl_order_node){.key = key,
                                           .sequence = sequence,
                                           .weight = weight,
                                           .least = weight,
                                           .left = ADL_NONE,
                                           .right = ADL_NONE,
                                           .parent = ADL_NONE,
                                           .height = (uint32_t)(adl_hash_u64(sequence, 0x6f72646572u) >> 32)};
    order->count++;
    if (order->root == ADL_NONE) {
        order->root = entry;
        link_between(nodes, order, entry, ADL_NONE, ADL_NONE);
        return;
    }
    /* The last entry has no right child, so appending hangs the new one there without a search. */
    uint32_t parent = order->last;
    if (adl_order_before(&nodes[parent], &nodes[entry])) {
        nodes[parent].right = entry;
        link_between(nodes, order, entry, parent, ADL_NONE);
    } else {
        for (uint32_t at = order->root; at != ADL_NONE;) {
            parent = at;
            at = adl_order_before(&nodes[entry], &nodes[at]) ? nodes[at].left : nodes[at].right;
        }
        if (adl_order_before(&nodes[entry], &nodes[parent])) {
            nodes[parent].left = entry;
            link_between(nodes, order, entry, nodes[parent].previous, parent);
        } else {
            nodes[parent].right = entry;
            link_between(nodes, order, entry, parent, nodes[parent].next);
        }
    }
    nodes[entry].parent = parent;
    while (nodes[entry].parent != ADL_NONE && nodes[nodes[entry].parent].height < nodes[entry].height)
        rotate(nodes, order, entry);
    const int64_t least = nodes[entry].least;
    for (uint32_t at = nodes[entry].parent; at != ADL_NONE && nodes[at].least > least; at = nodes[at].parent)
        nodes[at].least = least;
}

void adl_order_remove(struct adl_order_node *nodes, struct adl_order *order, uint32_t entry)
{
    assert(order->count > 0);
    struct adl_order_node *node = &nodes[entry];
    while (node->left != ADL_NONE && node->right != ADL_NONE)
        rotate(nodes, order, nodes[node->left].height > nodes[node->right].height ? node->left : node->right);
    const uint32_t child = node->left != ADL_NONE ? node->left : node->right;
    uint32_t at = node->parent;
    replace_child(nodes, order, at, entry, child);
    for (; at != ADL_NONE; at = nodes[at].parent) {
        const int64_t old = nodes[at].least;
        refresh(nodes, at);
        if (nodes[at].least == old)
            break;
    }
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

/* The first entry of a subtree that is light enough; the caller knows there is one. */
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
