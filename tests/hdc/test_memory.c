/* Tests of the memory of hypervectors: it finds what a search by brute force finds, and forgets the oldest first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hdc/memory.h"
#include "random_records.h"

enum { STORED = 700, NEAREST = 40 };

static struct adl_memory *create(uint32_t capacity, const struct adl_hyper_ops *ops)
{
    struct adl_memory *memory = NULL;
    struct adl_error err = {.text = ""};
    if (adl_memory_create(capacity, ops, &memory, &err))
        fail_msg("%s", err.text);
    return memory;
}

static struct adl_hypervector *draw_records(uint32_t count)
{
    struct adl_hypervector *records = calloc(count, sizeof *records);
    struct adl_encoder *encoder = NULL;
    struct adl_rng rng;
    struct adl_value values[RECORD_FIELDS];
    assert_non_null(records);
    assert_int_equal(adl_encoder_create(record_fields, RECORD_FIELDS, 3, NULL, &encoder, NULL), 0);
    adl_rng_seed(&rng, 3, "records");
    for (uint32_t r = 0; r < count; r++) {
        draw_record(&rng, values);
        adl_encoder_encode(encoder, values, &records[r]);
    }
    adl_encoder_destroy(encoder);
    return records;
}

/* 700 records go into a ring of 512: a place holds the last record that is equal to it modulo 512. */
static void the_nearest_are_those_of_a_search_by_brute_force(void **unused)
{
    (void)unused;
    struct adl_hypervector *records = draw_records(STORED + 20);
    struct adl_memory *memories[] = {create(512, NULL), create(512, adl_hyper_ops_plain())};
    for (uint32_t r = 0; r < STORED; r++)
        for (int m = 0; m < 2; m++)
            assert_int_equal(adl_memory_add(memories[m], &records[r]), r % 512);
    for (int m = 0; m < 2; m++)
        for (uint32_t query = STORED; query < STORED + 20; query++) {
            struct adl_neighbour found[NEAREST];
            assert_int_equal(adl_memory_nearest(memories[m], &records[query], NEAREST, found), NEAREST);
            for (uint32_t i = 0; i < NEAREST; i++) {
                const uint32_t index = found[i].place + (found[i].place + 512 < STORED ? 512 : 0);
                uint32_t nearer = 0;
                for (uint32_t r = STORED - 512; r < STORED; r++) {
                    const uint32_t there =
                        adl_hypervector_distance(adl_hyper_ops_plain(), &records[r], &records[query]);
                    nearer += there < found[i].distance || (there == found[i].distance && r > index);
                }
                assert_int_equal(nearer, i);
            }
        }
    for (int m = 0; m < 2; m++)
        adl_memory_destroy(memories[m]);
    free(records);
}

static void a_full_memory_forgets_the_oldest_first(void **unused)
{
    (void)unused;
    struct adl_hypervector *records = draw_records(5);
    struct adl_memory *memory = create(3, NULL);
    struct adl_neighbour found[8];
    assert_int_equal(adl_memory_nearest(memory, &records[0], 8, found), 0);
    for (uint32_t r = 0; r < 5; r++) {
        assert_int_equal(adl_memory_add(memory, &records[r]), r % 3);
        assert_int_equal(adl_memory_count(memory), r < 3 ? r + 1 : 3);
    }
    for (uint32_t r = 0; r < 5; r++) {
        assert_int_equal(adl_memory_nearest(memory, &records[r], 8, found), 3);
        assert_true((found[0].distance == 0) == (r >= 2));
    }
    adl_memory_destroy(memory);
    free(records);
}

static void of_equal_ones_the_newest_comes_first(void **unused)
{
    (void)unused;
    struct adl_hypervector *records = draw_records(1);
    struct adl_memory *memory = create(4, NULL);
    struct adl_neighbour found[4], two[2];
    for (int i = 0; i < 6; i++)
        adl_memory_add(memory, &records[0]);
    assert_int_equal(adl_memory_nearest(memory, &records[0], 4, found), 4);
    static const uint32_t expected[] = {1, 0, 3, 2}; /* the sixth went to place 1 */
    for (int i = 0; i < 4; i++)
        assert_int_equal(found[i].place, expected[i]);
    assert_int_equal(adl_memory_nearest_quickly(memory, &records[0], 2, 2, two), 2);
    assert_int_equal(two[0].place, 1);
    assert_int_equal(two[1].place, 0);
    adl_memory_destroy(memory);
    free(records);
}

static void the_quick_search_is_exact_in_order_and_misses_few(void **unused)
{
    (void)unused;
    struct adl_hypervector *records = draw_records(STORED + 20);
    struct adl_memory *memory = create(STORED, NULL);
    uint32_t both = 0;
    for (uint32_t r = 0; r < STORED; r++)
        adl_memory_add(memory, &records[r]);
    for (uint32_t query = STORED; query < STORED + 20; query++) {
        struct adl_neighbour exact[NEAREST], quick[NEAREST];
        adl_memory_nearest(memory, &records[query], NEAREST, exact);
        assert_int_equal(adl_memory_nearest_quickly(memory, &records[query], 4 * NEAREST, NEAREST, quick), NEAREST);
        for (int i = 0; i < NEAREST; i++)
            for (int j = 0; j < NEAREST; j++)
                both += exact[i].place == quick[j].place && exact[i].distance == quick[j].distance;
        for (int i = 1; i < NEAREST; i++)
            assert_true(quick[i - 1].distance <= quick[i].distance);
        adl_memory_nearest_quickly(memory, &records[query], STORED, NEAREST, quick); /* all are candidates */
        assert_memory_equal(exact, quick, sizeof exact);
    }
    assert_true(both * 100 >= 20 * NEAREST * 70);
    adl_memory_destroy(memory);
    free(records);
}

static void a_memory_of_nothing_is_refused(void **unused)
{
    (void)unused;
    struct adl_memory *memory = NULL;
    struct adl_error err;
    assert_int_equal(adl_memory_create(0, NULL, &memory, &err), ADL_EINVAL);
    assert_null(memory);
    adl_memory_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_are_those_of_a_search_by_brute_force),
        cmocka_unit_test(a_full_memory_forgets_the_oldest_first),
        cmocka_unit_test(of_equal_ones_the_newest_comes_first),
        cmocka_unit_test(the_quick_search_is_exact_in_order_and_misses_few),
        cmocka_unit_test(a_memory_of_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
