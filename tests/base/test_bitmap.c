/* Tests of base/bitmap: by hand at the edges of words and levels, and against a plain array of flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bitmap.h"
#include "base/rng.h"

static uint32_t naive_next(const bool *flags, uint32_t size, uint32_t from)
{
    for (uint32_t i = from; i < size; i++)
        if (flags[i])
            return i;
    return ADL_NONE;
}

static void a_new_bitmap_has_no_member(void **state)
{
    (void)state;
    const uint32_t sizes[] = {0, 1, 63, 64, 65, 4096, 4097, 262145};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct adl_bitmap map = {0};
        assert_int_equal(adl_bitmap_create(&map, sizes[i]), 0);
        assert_int_equal(map.size, sizes[i]);
        assert_int_equal(adl_bitmap_next(&map, 0), ADL_NONE);
        adl_bitmap_clear(&map);
    }
}

static void a_lone_member_is_found_from_every_place_at_or_before_it(void **state)
{
    (void)state;
    const uint32_t members[] = {0, 63, 64, 127, 4095, 4096, 262143, 262144, 299999};
    const uint32_t size = 300000;
    struct adl_bitmap map = {0};
    assert_int_equal(adl_bitmap_create(&map, size), 0);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const uint32_t member = members[i];
        adl_bitmap_add(&map, member);
        assert_int_equal(adl_bitmap_next(&map, 0), member);
        assert_int_equal(adl_bitmap_next(&map, member / 2), member);
        assert_int_equal(adl_bitmap_next(&map, member), member);
        assert_int_equal(adl_bitmap_next(&map, member + 1), ADL_NONE);
        adl_bitmap_remove(&map, member);
        assert_int_equal(adl_bitmap_next(&map, 0), ADL_NONE);
    }
    adl_bitmap_clear(&map);
}

static void nothing_is_found_from_beyond_the_end(void **state)
{
    (void)state;
    struct adl_bitmap map = {0};
    assert_int_equal(adl_bitmap_create(&map, 65), 0);
    adl_bitmap_add(&map, 64);
    assert_int_equal(adl_bitmap_next(&map, 64), 64);
    assert_int_equal(adl_bitmap_next(&map, 65), ADL_NONE);
    assert_int_equal(adl_bitmap_next(&map, UINT32_MAX), ADL_NONE);
    adl_bitmap_clear(&map);
}

static void adding_and_removing_twice_is_the_same_as_once(void **state)
{
    (void)state;
    struct adl_bitmap map = {0};
    assert_int_equal(adl_bitmap_create(&map, 5000), 0);
    adl_bitmap_add(&map, 4321);
    adl_bitmap_add(&map, 4321);
    adl_bitmap_remove(&map, 4321);
    assert_int_equal(adl_bitmap_next(&map, 0), ADL_NONE);
    adl_bitmap_remove(&map, 4321);
    adl_bitmap_add(&map, 4300);
    adl_bitmap_remove(&map, 4321);
    assert_int_equal(adl_bitmap_next(&map, 0), 4300);
    adl_bitmap_clear(&map);
}

/* Sparse and dense by turns, so that words and whole levels empty and fill again. */
static void check_against_flags(uint32_t size, uint64_t seed)
{
    struct adl_rng rng;
    struct adl_bitmap map = {0};
    bool *flags = calloc(size, sizeof *flags);
    assert_non_null(flags);
    assert_int_equal(adl_bitmap_create(&map, size), 0);
    adl_rng_seed(&rng, seed, "bitmap");
    for (int step = 0; step < 4000; step++) {
        const uint32_t index = adl_rng_below(&rng, size), from = adl_rng_below(&rng, size + 2);
        const bool add = adl_rng_below(&rng, 8) < (step / 500 % 2 ? 1u : 6u);
        flags[index] = add;
        if (add)
            adl_bitmap_add(&map, index);
        else
            adl_bitmap_remove(&map, index);
        assert_int_equal(adl_bitmap_next(&map, from), naive_next(flags, size, from));
    }
    for (uint32_t at = 0, member = 0; member != ADL_NONE; at = member + 1) {
        member = adl_bitmap_next(&map, at);
        assert_int_equal(member, naive_next(flags, size, at));
    }
    adl_bitmap_clear(&map);
    free(flags);
}

static void next_agrees_with_a_plain_array_of_flags(void **state)
{
    (void)state;
    const uint32_t sizes[] = {1, 2, 63, 64, 65, 128, 1000, 4096, 4097, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_against_flags(sizes[i], i + 1);
}

static void equal_sets_are_equal_whatever_their_history(void **state)
{
    (void)state;
    struct adl_bitmap a = {0}, b = {0};
    assert_int_equal(adl_bitmap_create(&a, 9000), 0);
    assert_int_equal(adl_bitmap_create(&b, 9000), 0);
    for (uint32_t i = 0; i < 9000; i++)
        adl_bitmap_add(&b, i);
    for (uint32_t i = 9000; i-- > 0;)
        if (i % 701)
            adl_bitmap_remove(&b, i);
    for (uint32_t i = 0; i < 9000; i += 701)
        adl_bitmap_add(&a, i);
    assert_int_equal(a.levels, b.levels);
    for (uint32_t l = 0, words = (9000 + 63) / 64; l < a.levels; l++, words = (words + 63) / 64)
        assert_memory_equal(a.level[l], b.level[l], words * sizeof *a.level[l]);
    adl_bitmap_clear(&a);
    adl_bitmap_clear(&b);
}

static void a_zeroed_bitmap_can_be_cleared(void **state)
{
    (void)state;
    struct adl_bitmap map = {0};
    adl_bitmap_clear(&map);
    assert_int_equal(adl_bitmap_create(&map, 10), 0);
    adl_bitmap_clear(&map);
    adl_bitmap_clear(&map);
    assert_int_equal(map.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_bitmap_has_no_member),
        cmocka_unit_test(a_lone_member_is_found_from_every_place_at_or_before_it),
        cmocka_unit_test(nothing_is_found_from_beyond_the_end),
        cmocka_unit_test(adding_and_removing_twice_is_the_same_as_once),
        cmocka_unit_test(next_agrees_with_a_plain_array_of_flags),
        cmocka_unit_test(equal_sets_are_equal_whatever_their_history),
        cmocka_unit_test(a_zeroed_bitmap_can_be_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
