/* Tests of base/heap: against sorting, with and without pops in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/heap.h"
#include "base/rng.h"

static int compare(const void *a, const void *b)
{
    const struct adl_heap_item *x = a, *y = b;
    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return (x->tag > y->tag) - (x->tag < y->tag);
}

static void a_zeroed_heap_is_empty_and_can_be_cleared(void **state)
{
    (void)state;
    struct adl_heap heap = {0};
    assert_null(adl_heap_top(&heap));
    adl_heap_clear(&heap);
    assert_int_equal(adl_heap_push(&heap, (struct adl_heap_item){5, 1}), 0);
    assert_int_equal(adl_heap_top(&heap)->time_us, 5);
    assert_int_equal(adl_heap_pop(&heap).tag, 1);
    assert_null(adl_heap_top(&heap));
    adl_heap_clear(&heap);
    adl_heap_clear(&heap);
}

static void items_come_out_sorted_by_time_and_then_tag(void **state)
{
    (void)state;
    enum { COUNT = 1500 };
    static struct adl_heap_item items[COUNT];
    struct adl_rng rng;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct adl_heap heap = {0};
        adl_rng_seed(&rng, seed, "heap");
        const uint32_t count = 1 + adl_rng_below(&rng, COUNT), times = 1 + adl_rng_below(&rng, 300);
        for (uint32_t i = 0; i < count; i++) {
            items[i] = (struct adl_heap_item){(int64_t)adl_rng_below(&rng, times) - 100, adl_rng_below(&rng, 5)};
            assert_int_equal(adl_heap_push(&heap, items[i]), 0);
        }
        qsort(items, count, sizeof *items, compare);
        for (uint32_t i = 0; i < count; i++) {
            assert_memory_equal(adl_heap_top(&heap), &items[i], sizeof *items);
            const struct adl_heap_item popped = adl_heap_pop(&heap);
            assert_memory_equal(&popped, &items[i], sizeof popped);
        }
        assert_int_equal(heap.count, 0);
        adl_heap_clear(&heap);
    }
}

static void what_is_left_after_items_were_dropped_comes_out_sorted(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "heap");
    for (uint32_t count = 0; count < 70; count++) {
        struct adl_heap heap = {0};
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(adl_heap_push(&heap, (struct adl_heap_item){adl_rng_below(&rng, 30), i}), 0);
        size_t kept = 0;
        for (size_t i = 0; i < heap.count; i++)
            if (heap.items[i].tag % 3 == 0)
                heap.items[kept++] = heap.items[i];
        heap.count = kept;
        adl_heap_order(&heap);
        assert_int_equal(heap.count, (count + 2) / 3);
        struct adl_heap_item last = {INT64_MIN, 0};
        while (heap.count > 0) {
            const struct adl_heap_item popped = adl_heap_pop(&heap);
            assert_true(popped.tag % 3 == 0 && compare(&last, &popped) < 0);
            last = popped;
        }
        adl_heap_clear(&heap);
    }
}

static void the_tag_decides_as_an_unsigned_number_between_equal_times(void **state)
{
    (void)state;
    struct adl_heap heap = {0};
    const uint64_t tags[] = {UINT64_MAX, 0, UINT64_C(1) << 63, 1, UINT64_C(1) << 60};
    const uint64_t sorted[] = {0, 1, UINT64_C(1) << 60, UINT64_C(1) << 63, UINT64_MAX};
    for (int i = 0; i < 5; i++)
        assert_int_equal(adl_heap_push(&heap, (struct adl_heap_item){INT64_MAX, tags[i]}), 0);
    assert_int_equal(adl_heap_push(&heap, (struct adl_heap_item){INT64_MIN, 9}), 0);
    assert_int_equal(adl_heap_pop(&heap).tag, 9);
    for (int i = 0; i < 5; i++)
        assert_true(adl_heap_pop(&heap).tag == sorted[i]);
    adl_heap_clear(&heap);
}

/* As an event loop uses it: what is pushed lies after what was popped, so the pops never go back in time. */
static void pushes_between_pops_keep_the_least_on_top(void **state)
{
    (void)state;
    enum { MODEL = 400 };
    static struct adl_heap_item model[MODEL];
    struct adl_heap heap = {0};
    struct adl_rng rng;
    uint32_t count = 0;
    int64_t now_us = 0;
    adl_rng_seed(&rng, 3, "heap");
    for (int step = 0; step < 6000; step++) {
        if (count < MODEL && (count == 0 || adl_rng_below(&rng, 2))) {
            const struct adl_heap_item item = {now_us + adl_rng_below(&rng, 50), adl_rng_next(&rng)};
            assert_int_equal(adl_heap_push(&heap, item), 0);
            model[count++] = item;
            continue;
        }
        uint32_t least = 0;
        for (uint32_t i = 1; i < count; i++)
            least = compare(&model[i], &model[least]) < 0 ? i : least;
        const struct adl_heap_item popped = adl_heap_pop(&heap);
        assert_memory_equal(&popped, &model[least], sizeof popped);
        assert_true(popped.time_us >= now_us);
        now_us = popped.time_us;
        model[least] = model[--count];
        assert_int_equal(heap.count, count);
    }
    adl_heap_clear(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zeroed_heap_is_empty_and_can_be_cleared),
        cmocka_unit_test(items_come_out_sorted_by_time_and_then_tag),
        cmocka_unit_test(what_is_left_after_items_were_dropped_comes_out_sorted),
        cmocka_unit_test(the_tag_decides_as_an_unsigned_number_between_equal_times),
        cmocka_unit_test(pushes_between_pops_keep_the_least_on_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
