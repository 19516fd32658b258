/* Tests of base/order: against a sorted array, with the inner structure checked after every step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/order.h"
#include "base/rng.h"

#define ENTRIES 200
#define ORDERS  3

/* What the order should hold, sorted by insertion. */
struct model {
    uint32_t entry[ENTRIES];
    uint32_t count;
};

struct world {
    struct adl_order_node nodes[ENTRIES];
    struct adl_order orders[ORDERS];
    struct model models[ORDERS];
    uint32_t home[ENTRIES]; /* the order an entry is in, or ADL_NONE */
    uint64_t sequence;
};

static void world_init(struct world *world)
{
    memset(world, 0, sizeof *world);
    for (uint32_t i = 0; i < ORDERS; i++)
        adl_order_init(&world->orders[i]);
    for (uint32_t i = 0; i < ENTRIES; i++)
        world->home[i] = ADL_NONE;
}

static void model_insert(struct world *world, uint32_t order, uint32_t entry)
{
    struct model *model = &world->models[order];
    uint32_t at = model->count++;
    for (; at > 0 && adl_order_before(&world->nodes[entry], &world->nodes[model->entry[at - 1]]); at--)
        model->entry[at] = model->entry[at - 1];
    model->entry[at] = entry;
}

static void model_remove(struct model *model, uint32_t entry)
{
    uint32_t at = 0;
    while (model->entry[at] != entry)
        at++;
    model->count--;
    memmove(&model->entry[at], &model->entry[at + 1], (model->count - at) * sizeof *model->entry);
}

static void world_insert(struct world *world, uint32_t order, uint32_t entry, int64_t key, int64_t weight)
{
    adl_order_insert(world->nodes, &world->orders[order], entry, key, world->sequence++, weight);
    world->home[entry] = order;
    model_insert(world, order, entry);
}

static void world_remove(struct world *world, uint32_t entry)
{
    const uint32_t order = world->home[entry];
    adl_order_remove(world->nodes, &world->orders[order], entry);
    world->home[entry] = ADL_NONE;
    model_remove(&world->models[order], entry);
}

static uint32_t naive_next_light(const struct world *world, uint32_t order, uint32_t after, int64_t limit)
{
    const struct model *model = &world->models[order];
    uint32_t at = 0;
    if (after != ADL_NONE)
        while (model->entry[at++] != after)
            ;
    for (; at < model->count; at++)
        if (world->nodes[model->entry[at]].weight <= limit)
            return model->entry[at];
    return ADL_NONE;
}

/* Depth of the subtree; checks that it is ordered, a heap by height, and knows its least weight. */
static uint32_t check_subtree(const struct world *world, uint32_t at, uint32_t parent)
{
    if (at == ADL_NONE)
        return 0;
    const struct adl_order_node *node = &world->nodes[at];
    assert_int_equal(node->parent, parent);
    if (parent != ADL_NONE)
        assert_true(node->height <= world->nodes[parent].height);
    int64_t least = node->weight;
    if (node->left != ADL_NONE) {
        assert_true(adl_order_before(&world->nodes[node->left], node));
        least = world->nodes[node->left].least < least ? world->nodes[node->left].least : least;
    }
    if (node->right != ADL_NONE) {
        assert_true(adl_order_before(node, &world->nodes[node->right]));
        least = world->nodes[node->right].least < least ? world->nodes[node->right].least : least;
    }
    assert_int_equal(node->least, least);
    const uint32_t left = check_subtree(world, node->left, at), right = check_subtree(world, node->right, at);
    return 1 + (left > right ? left : right);
}

static void check_order(const struct world *world, uint32_t index)
{
    const struct adl_order *order = &world->orders[index];
    const struct model *model = &world->models[index];
    assert_int_equal(order->count, model->count);
    uint32_t at = order->first, previous = ADL_NONE;
    for (uint32_t i = 0; i < model->count; i++) {
        assert_int_equal(at, model->entry[i]);
        assert_int_equal(world->nodes[at].previous, previous);
        previous = at;
        at = world->nodes[at].next;
    }
    assert_int_equal(at, ADL_NONE);
    assert_int_equal(order->last, previous);
    check_subtree(world, order->root, ADL_NONE);
}

static void an_empty_order_has_no_first_and_no_light_entry(void **state)
{
    (void)state;
    struct adl_order order;
    adl_order_init(&order);
    assert_int_equal(order.count, 0);
    assert_int_equal(order.first, ADL_NONE);
    assert_int_equal(order.last, ADL_NONE);
    assert_int_equal(adl_order_next_light(NULL, &order, ADL_NONE, INT64_MAX), ADL_NONE);
}

static void equal_keys_keep_the_order_they_came_in(void **state)
{
    (void)state;
    static struct world world;
    world_init(&world);
    for (uint32_t i = 0; i < 50; i++)
        world_insert(&world, 0, (i * 17) % 50, 7, 0);
    uint32_t at = world.orders[0].first;
    for (uint32_t i = 0; i < 50; i++, at = world.nodes[at].next)
        assert_int_equal(at, (i * 17) % 50);
}

static void insertions_that_were_put_off_are_those_that_were_not_removed_meanwhile(void **state)
{
    (void)state;
    static struct world world;
    struct adl_rng rng;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        bool later[ENTRIES] = {false};
        adl_rng_seed(&rng, seed, "later");
        world_init(&world);
        for (int step = 0; step < 600; step++) {
            const uint32_t entry = adl_rng_below(&rng, ENTRIES);
            if (later[entry]) {
                adl_order_remove(world.nodes, &world.orders[0], entry);
                later[entry] = false;
            } else if (world.home[entry] != ADL_NONE) {
                world_remove(&world, entry);
            } else {
                adl_order_insert_later(world.nodes, &world.orders[0], entry, (int64_t)adl_rng_below(&rng, 20),
                                       world.sequence++, (int64_t)adl_rng_below(&rng, 20));
                later[entry] = true;
            }
            check_order(&world, 0); /* nobody finds those that are put off */
            if (adl_rng_below(&rng, 20) > 0)
                continue;
            adl_order_settle(world.nodes, &world.orders[0]);
            for (uint32_t i = 0; i < ENTRIES; i++)
                if (later[i]) {
                    later[i] = false;
                    world.home[i] = 0;
                    model_insert(&world, 0, i);
                }
            check_order(&world, 0);
        }
    }
}

static void orders_over_one_table_agree_with_sorted_arrays(void **state)
{
    (void)state;
    static struct world world;
    struct adl_rng rng;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        adl_rng_seed(&rng, seed, "order");
        world_init(&world);
        const uint32_t keys = 1 + adl_rng_below(&rng, 60), weights = 1 + adl_rng_below(&rng, 30);
        for (int step = 0; step < 600; step++) {
            const uint32_t entry = adl_rng_below(&rng, ENTRIES);
            const uint32_t order = world.home[entry] != ADL_NONE ? world.home[entry] : adl_rng_below(&rng, ORDERS);
            if (world.home[entry] != ADL_NONE)
                world_remove(&world, entry);
            else
                world_insert(&world, order, entry, (int64_t)adl_rng_below(&rng, keys) - 10,
                             (int64_t)adl_rng_below(&rng, weights) - 5);
            check_order(&world, order);
        }
        for (uint32_t entry = 0; entry < ENTRIES; entry++)
            if (world.home[entry] != ADL_NONE)
                world_remove(&world, entry);
        for (uint32_t i = 0; i < ORDERS; i++) {
            check_order(&world, i);
            assert_int_equal(world.orders[i].root, ADL_NONE);
        }
    }
}

static void next_light_finds_what_a_scan_of_the_sorted_array_finds(void **state)
{
    (void)state;
    static struct world world;
    struct adl_rng rng;
    adl_rng_seed(&rng, 11, "order");
    world_init(&world);
    for (int round = 0; round < 40; round++) {
        for (int change = 0; change < 40; change++) {
            const uint32_t entry = adl_rng_below(&rng, ENTRIES);
            if (world.home[entry] != ADL_NONE)
                world_remove(&world, entry);
            else
                world_insert(&world, 0, entry, adl_rng_below(&rng, 20), adl_rng_below(&rng, 50));
        }
        for (int64_t limit = -1; limit <= 50; limit += 3) {
            assert_int_equal(adl_order_next_light(world.nodes, &world.orders[0], ADL_NONE, limit),
                             naive_next_light(&world, 0, ADL_NONE, limit));
            for (uint32_t i = 0; i < world.models[0].count; i += 1 + (uint32_t)round % 5) {
                const uint32_t after = world.models[0].entry[i];
                assert_int_equal(adl_order_next_light(world.nodes, &world.orders[0], after, limit),
                                 naive_next_light(&world, 0, after, limit));
            }
        }
    }
}

/* A treap of n entries is a few times log2 n deep; a list would be n. */
static void entries_that_come_sorted_do_not_make_a_deep_tree(void **state)
{
    (void)state;
    static struct world world;
    for (int64_t direction = -1; direction <= 1; direction += 2) {
        world_init(&world);
        for (uint32_t i = 0; i < ENTRIES; i++)
            world_insert(&world, 0, i, direction * (int64_t)i, 0);
        check_order(&world, 0);
        assert_true(check_subtree(&world, world.orders[0].root, ADL_NONE) <= 30);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_order_has_no_first_and_no_light_entry),
        cmocka_unit_test(equal_keys_keep_the_order_they_came_in),
        cmocka_unit_test(insertions_that_were_put_off_are_those_that_were_not_removed_meanwhile),
        cmocka_unit_test(orders_over_one_table_agree_with_sorted_arrays),
        cmocka_unit_test(next_light_finds_what_a_scan_of_the_sorted_array_finds),
        cmocka_unit_test(entries_that_come_sorted_do_not_make_a_deep_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
