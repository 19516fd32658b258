/* Tests of state/queue: heads, lanes and walks against one naive sorted list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "state/queue.h"

#define SLOTS 300

struct waiting {
    uint32_t slot;
    uint32_t shape;
    int64_t rank;
    int64_t weight;
};

struct bench {
    struct adl_queue queue;
    struct adl_order_node nodes[SLOTS];
    uint32_t lane[SLOTS];       /* ADL_NONE = not in the queue */
    struct waiting list[SLOTS]; /* what should be in it, in rank order */
    uint32_t count;
};

/* Shapes differ in one field after the other, so that each field counts. */
static struct adl_job_spec spec_of(uint32_t shape)
{
    struct adl_job_spec spec = {.gpus = 1, .types = 1};
    const uint32_t amount = shape / 8;
    switch (shape % 8) {
    case 0:
        spec.class_index = (uint16_t)amount;
        break;
    case 1:
        spec.gpus = (uint16_t)(amount + 2);
        break;
    case 2:
        spec.types = amount + 2;
        break;
    case 3:
        spec.kind = (uint8_t)(amount % 3 + 1);
        spec.class_index = (uint16_t)amount;
        break;
    case 4:
        spec.flags = (uint8_t)(amount % 7 + 1);
        spec.class_index = (uint16_t)amount;
        break;
    case 5:
        spec.cpu_cores = (int32_t)amount + 1;
        break;
    case 6:
        spec.memory_mib = (int32_t)amount + 1;
        break;
    default:
        spec.gpu_memory_mib = (int32_t)amount + 1;
    }
    return spec;
}

static void bench_start(struct bench *bench)
{
    memset(bench, 0, sizeof *bench);
    assert_int_equal(adl_queue_create(&bench->queue), 0);
    bench->queue.nodes = bench->nodes;
    for (uint32_t i = 0; i < SLOTS; i++)
        bench->lane[i] = ADL_NONE;
}

static void bench_push(struct bench *bench, uint32_t slot, uint32_t shape, int64_t rank, int64_t weight)
{
    struct adl_job_spec spec = spec_of(shape);
    spec.id = slot; /* what a job says of itself alone does not make it another demand */
    spec.priority = (float)slot;
    spec.limit_us = rank;
    bench->lane[slot] = adl_queue_lane(&bench->queue, &spec);
    assert_int_not_equal(bench->lane[slot], ADL_NONE);
    adl_queue_push(&bench->queue, slot, bench->lane[slot], rank, weight);
    uint32_t at = bench->count++;
    for (; at > 0 && bench->list[at - 1].rank > rank; at--)
        bench->list[at] = bench->list[at - 1];
    bench->list[at] = (struct waiting){slot, shape, rank, weight};
}

static void bench_remove(struct bench *bench, uint32_t slot)
{
    adl_queue_remove(&bench->queue, slot, bench->lane[slot]);
    bench->lane[slot] = ADL_NONE;
    uint32_t at = 0;
    while (bench->list[at].slot != slot)
        at++;
    bench->count--;
    memmove(&bench->list[at], &bench->list[at + 1], (bench->count - at) * sizeof *bench->list);
}

/* Jobs are in one lane if and only if they ask for the same. */
static void check_lanes(const struct bench *bench)
{
    for (uint32_t i = 0; i < bench->count; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_int_equal(bench->lane[bench->list[i].slot] == bench->lane[bench->list[j].slot],
                             bench->list[i].shape == bench->list[j].shape);
}

static void check_head_and_walk(const struct bench *bench)
{
    assert_int_equal(bench->queue.count, bench->count);
    assert_int_equal(adl_queue_head(&bench->queue), bench->count ? bench->list[0].slot : ADL_NONE);
    adl_walk_begin(&bench->queue);
    for (uint32_t i = 0; i < bench->count; i++, adl_walk_next(&bench->queue))
        assert_int_equal(adl_walk_job(&bench->queue), bench->list[i].slot);
    assert_int_equal(adl_walk_job(&bench->queue), ADL_NONE);
}

/* A walk that goes on, narrows or leaves at random, held against a scan of the list with the same rules. */
static void check_choosy_walk(const struct bench *bench, struct adl_rng *rng)
{
    static int64_t limit[10000];
    for (uint32_t i = 0; i < bench->count; i++)
        limit[bench->list[i].shape] = INT64_MAX;
    adl_walk_begin(&bench->queue);
    for (uint32_t i = 0; i < bench->count; i++) {
        const struct waiting *it = &bench->list[i];
        if (it->weight > limit[it->shape])
            continue;
        assert_int_equal(adl_walk_job(&bench->queue), it->slot);
        const uint32_t choice = adl_rng_below(rng, 4);
        if (choice == 0) {
            limit[it->shape] = INT64_MIN;
            adl_walk_leave(&bench->queue);
        } else if (choice == 1) {
            const int64_t narrower = (int64_t)adl_rng_below(rng, 40);
            limit[it->shape] = narrower < limit[it->shape] ? narrower : limit[it->shape];
            adl_walk_narrow(&bench->queue, narrower);
        } else {
            adl_walk_next(&bench->queue);
        }
    }
    assert_int_equal(adl_walk_job(&bench->queue), ADL_NONE);
}

static void an_empty_queue_has_no_head_and_nothing_to_walk(void **state)
{
    (void)state;
    static struct bench bench;
    bench_start(&bench);
    check_head_and_walk(&bench);
    bench_push(&bench, 3, 0, 1, 1);
    bench_remove(&bench, 3);
    check_head_and_walk(&bench);
    adl_queue_clear(&bench.queue);
}

static void each_field_of_a_demand_makes_a_lane_of_its_own(void **state)
{
    (void)state;
    static struct bench bench;
    bench_start(&bench);
    for (uint32_t i = 0; i < 160; i++)
        bench_push(&bench, i, i % 80, 0, 0);
    check_lanes(&bench);
    adl_queue_clear(&bench.queue);
}

static void equal_ranks_keep_the_order_they_came_in_across_lanes(void **state)
{
    (void)state;
    static struct bench bench;
    bench_start(&bench);
    for (uint32_t i = 0; i < 100; i++)
        bench_push(&bench, (i * 37) % 100, i % 7, 5, 0);
    check_head_and_walk(&bench);
    adl_queue_clear(&bench.queue);
}

static void heads_and_walks_agree_with_a_sorted_list(void **state)
{
    (void)state;
    static struct bench bench;
    struct adl_rng rng;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        adl_rng_seed(&rng, seed, "queue");
        bench_start(&bench);
        const uint32_t shapes = 1 + adl_rng_below(&rng, 30), ranks = 1 + adl_rng_below(&rng, 100);
        for (int step = 0; step < 500; step++) {
            const uint32_t slot = adl_rng_below(&rng, SLOTS);
            if (bench.lane[slot] != ADL_NONE)
                bench_remove(&bench, slot);
            else
                bench_push(&bench, slot, adl_rng_below(&rng, shapes), adl_rng_below(&rng, ranks),
                           adl_rng_below(&rng, 40));
            if (step % 5 == 0)
                check_head_and_walk(&bench);
            check_choosy_walk(&bench, &rng);
        }
        check_lanes(&bench);
        adl_queue_clear(&bench.queue);
    }
}

/* Thousands of different demands pass through while few wait: lanes must come back. */
static void lanes_stay_few_while_demands_come_and_go(void **state)
{
    (void)state;
    static struct bench bench;
    struct adl_rng rng;
    adl_rng_seed(&rng, 5, "queue");
    bench_start(&bench);
    uint32_t most = 0;
    for (uint32_t step = 0; step < 8000; step++) {
        while (bench.count > 20)
            bench_remove(&bench, bench.list[adl_rng_below(&rng, bench.count)].slot);
        uint32_t slot = adl_rng_below(&rng, SLOTS);
        while (bench.lane[slot] != ADL_NONE)
            slot = (slot + 1) % SLOTS;
        bench_push(&bench, slot, step, (int64_t)adl_rng_below(&rng, 1000), 0);
        most = bench.queue.lane_count > most ? bench.queue.lane_count : most;
        assert_int_equal(adl_queue_head(&bench.queue), bench.list[0].slot);
        if (step % 100 == 0) {
            check_head_and_walk(&bench);
            check_lanes(&bench);
        }
    }
    assert_true(most <= 64);
    adl_queue_clear(&bench.queue);
}

/* Few and many by turns: lanes are given up, the table grows, and what waits is never mixed up. */
static void lanes_given_up_and_made_anew_keep_their_jobs_apart(void **state)
{
    (void)state;
    static struct bench bench;
    struct adl_rng rng;
    adl_rng_seed(&rng, 6, "queue");
    bench_start(&bench);
    for (uint32_t round = 0; round < 60; round++) {
        const uint32_t goal = round % 2 ? 5 + adl_rng_below(&rng, 10) : 50 + adl_rng_below(&rng, SLOTS - 60);
        while (bench.count > goal)
            bench_remove(&bench, bench.list[adl_rng_below(&rng, bench.count)].slot);
        for (uint32_t slot = 0; slot < SLOTS && bench.count < goal; slot++)
            if (bench.lane[slot] == ADL_NONE)
                bench_push(&bench, slot, adl_rng_below(&rng, 2000), (int64_t)adl_rng_below(&rng, 50),
                           (int64_t)adl_rng_below(&rng, 40));
        check_lanes(&bench);
        check_head_and_walk(&bench);
        check_choosy_walk(&bench, &rng);
    }
    adl_queue_clear(&bench.queue);
}

static void a_zeroed_queue_can_be_cleared(void **state)
{
    (void)state;
    struct adl_queue queue = {0};
    adl_queue_clear(&queue);
    assert_null(queue.lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_queue_has_no_head_and_nothing_to_walk),
        cmocka_unit_test(each_field_of_a_demand_makes_a_lane_of_its_own),
        cmocka_unit_test(equal_ranks_keep_the_order_they_came_in_across_lanes),
        cmocka_unit_test(heads_and_walks_agree_with_a_sorted_list),
        cmocka_unit_test(lanes_stay_few_while_demands_come_and_go),
        cmocka_unit_test(lanes_given_up_and_made_anew_keep_their_jobs_apart),
        cmocka_unit_test(a_zeroed_queue_can_be_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
