/* Tests of records as hypervectors: what went in comes back, what did not is not found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "random_records.h"

static struct adl_encoder *create(const struct adl_field *fields, uint32_t count)
{
    struct adl_encoder *encoder = NULL;
    struct adl_error err = {.text = ""};
    if (adl_encoder_create(fields, count, 11, NULL, &encoder, &err))
        fail_msg("%s", err.text);
    return encoder;
}

static uint32_t distance(const struct adl_hypervector *a, const struct adl_hypervector *b)
{
    return adl_hypervector_distance(adl_hyper_ops_plain(), a, b);
}

/* The bar is 99 of 100, for both. */
static void twelve_fields_are_read_back_from_one_record(void **unused)
{
    (void)unused;
    struct adl_encoder *encoder = create(record_fields, RECORD_FIELDS);
    struct adl_value values[RECORD_FIELDS];
    struct adl_hypervector record;
    struct recovery sum = {0};
    struct adl_rng rng;
    adl_rng_seed(&rng, 5, "records");
    for (int r = 0; r < 300; r++) {
        draw_record(&rng, values);
        adl_encoder_encode(encoder, values, &record);
        recover_record(encoder, values, &record, &sum);
    }
    assert_int_equal(sum.symbols, 1800);
    assert_true(sum.symbols_right * 100 >= sum.symbols * 99);
    assert_true(sum.numbers_right * 100 >= sum.numbers * 99);
    adl_encoder_destroy(encoder);
}

static void a_field_that_is_not_known_is_not_found_and_not_zero(void **unused)
{
    (void)unused;
    struct adl_encoder *encoder = create(record_fields, RECORD_FIELDS);
    struct adl_value values[RECORD_FIELDS];
    struct adl_hypervector with, without;
    struct adl_rng rng;
    const uint64_t symbols[] = {0, 1, 2, 3};
    adl_rng_seed(&rng, 6, "records");
    draw_record(&rng, values);
    values[0].symbol = 0;
    values[6].number = 0;
    adl_encoder_encode(encoder, values, &with);
    assert_int_equal(adl_encoder_find_symbol(encoder, &with, 0, symbols, 4), 0);
    assert_true(adl_encoder_find_level(encoder, &with, 6) <= 1);
    values[0].known = values[6].known = false;
    adl_encoder_encode(encoder, values, &without);
    assert_int_equal(adl_encoder_find_symbol(encoder, &without, 0, symbols, 4), ADL_FIELD_UNKNOWN);
    assert_int_equal(adl_encoder_find_level(encoder, &without, 6), ADL_FIELD_UNKNOWN);
    values[0].symbol = 3; /* of no account while it is not known */
    adl_encoder_encode(encoder, values, &with);
    assert_memory_equal(&with, &without, sizeof with);
    memset(values, 0, sizeof values);
    adl_encoder_encode(encoder, values, &without);
    assert_int_equal(adl_encoder_find_symbol(encoder, &without, 0, symbols, 4), ADL_FIELD_UNKNOWN);
    adl_encoder_destroy(encoder);
}

static void numbers_are_the_farther_apart_the_more_they_differ(void **unused)
{
    (void)unused;
    const struct adl_field field = {"load", ADL_FIELD_NUMBER, 1, 0, 32};
    struct adl_encoder *encoder = create(&field, 1);
    struct adl_hypervector first, at;
    struct adl_value value = {.known = true};
    uint32_t last = 0;
    adl_encoder_encode(encoder, &value, &first);
    for (int level = 1; level < 32; level++) {
        value.number = level + 0.5;
        adl_encoder_encode(encoder, &value, &at);
        assert_true(distance(&first, &at) > last);
        last = distance(&first, &at);
        assert_int_equal(adl_encoder_find_level(encoder, &at, 0), level);
    }
    assert_in_range(last, 3900, 4096);
    value.number = 1e9; /* as high as it goes */
    adl_encoder_encode(encoder, &value, &first);
    assert_memory_equal(&first, &at, sizeof at);
    adl_encoder_destroy(encoder);
}

static void moments_are_alike_within_a_span_and_unrelated_beyond(void **unused)
{
    (void)unused;
    const struct adl_field fields[] = {{"when", ADL_FIELD_MOMENT, 1, 0, 10}, {"of day", ADL_FIELD_MOMENT, 1, 6, 4}};
    struct adl_encoder *encoder = create(fields, 2);
    struct adl_hypervector first, at;
    struct adl_value values[2] = {{.known = true, .number = 1003}};
    adl_encoder_encode(encoder, values, &first);
    for (int later = 1; later < 40; later++) {
        values[0].number = 1003 + later;
        adl_encoder_encode(encoder, values, &at);
        const double expected = later < 10 ? 409.6 * later : 4096;
        assert_true((double)distance(&first, &at) > expected - 350 && (double)distance(&first, &at) < expected + 350);
    }
    values[0].known = false;
    values[1] = (struct adl_value){.known = true, .number = 23}; /* six spans of four hours: 23 h is near to 0 h */
    adl_encoder_encode(encoder, values, &first);
    values[1].number = 24 * 5;
    adl_encoder_encode(encoder, values, &at);
    assert_true(distance(&first, &at) < 1500);
    values[1].number = 24 * 7 + 23;
    adl_encoder_encode(encoder, values, &at);
    assert_int_equal(distance(&first, &at), 0);
    values[1].number = 12;
    adl_encoder_encode(encoder, values, &at);
    assert_true(distance(&first, &at) > 3800);
    adl_encoder_destroy(encoder);
}

static void a_field_counts_by_its_weight(void **unused)
{
    (void)unused;
    const struct adl_field fields[] = {{"heavy", ADL_FIELD_SYMBOL, 3, 0, 0},
                                       {"light", ADL_FIELD_SYMBOL, 1, 0, 0},
                                       {"rest", ADL_FIELD_SYMBOL, 2, 0, 0},
                                       {"more", ADL_FIELD_SYMBOL, 2, 0, 0}};
    struct adl_encoder *encoder = create(fields, 4);
    struct adl_value values[4] = {{true, 1, 0}, {true, 1, 0}, {true, 1, 0}, {true, 1, 0}};
    struct adl_hypervector all, other_heavy, other_light;
    adl_encoder_encode(encoder, values, &all);
    values[0].symbol = 2;
    adl_encoder_encode(encoder, values, &other_heavy);
    values[0].symbol = 1;
    values[1].symbol = 2;
    adl_encoder_encode(encoder, values, &other_light);
    assert_true(distance(&all, &other_light) + 400 < distance(&all, &other_heavy));
    adl_encoder_destroy(encoder);
}

static void a_value_is_encoded_alike_after_many_others(void **unused)
{
    (void)unused;
    const struct adl_field fields[] = {{"symbol", ADL_FIELD_SYMBOL, 1, 0, 0},
                                       {"number", ADL_FIELD_NUMBER, 1, 0, 32},
                                       {"moment", ADL_FIELD_MOMENT, 1, 6, 4}};
    struct adl_encoder *used = create(fields, 3), *fresh = NULL;
    struct adl_hypervector here, there;
    for (uint64_t i = 0; i < 200; i++) {
        const double number = (double)(i * 7 % 32);
        const struct adl_value values[3] = {{true, i % 40, 0}, {true, 0, number}, {true, 0, (double)i * 0.7}};
        fresh = create(fields, 3);
        adl_encoder_encode(used, values, &here);
        adl_encoder_encode(fresh, values, &there);
        assert_memory_equal(&here, &there, sizeof here);
        adl_encoder_destroy(fresh);
    }
    adl_encoder_destroy(used);
}

static void fields_that_make_no_sense_are_refused_by_name(void **unused)
{
    (void)unused;
    const struct adl_field bad[] = {{"flat", ADL_FIELD_NUMBER, 1, 2, 2},
                                    {"weightless", ADL_FIELD_SYMBOL, 0, 0, 0},
                                    {"spanless", ADL_FIELD_MOMENT, 1, 0, 0}};
    const struct adl_field heavy[] = {{"a", ADL_FIELD_SYMBOL, 200, 0, 0}, {"b", ADL_FIELD_SYMBOL, 55, 0, 0}};
    struct adl_encoder *encoder = NULL;
    struct adl_error err;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(adl_encoder_create(&bad[i], 1, 1, NULL, &encoder, &err), ADL_EINVAL);
        assert_non_null(strstr(err.text, bad[i].name));
    }
    assert_int_equal(adl_encoder_create(heavy, 2, 1, NULL, &encoder, &err), ADL_EINVAL);
    assert_int_equal(adl_encoder_create(heavy, 0, 1, NULL, &encoder, &err), ADL_EINVAL);
    assert_int_equal(adl_encoder_create(heavy, ADL_FIELDS_MAX + 1, 1, NULL, &encoder, &err), ADL_EINVAL);
    assert_null(encoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twelve_fields_are_read_back_from_one_record),
        cmocka_unit_test(a_field_that_is_not_known_is_not_found_and_not_zero),
        cmocka_unit_test(numbers_are_the_farther_apart_the_more_they_differ),
        cmocka_unit_test(moments_are_alike_within_a_span_and_unrelated_beyond),
        cmocka_unit_test(a_field_counts_by_its_weight),
        cmocka_unit_test(a_value_is_encoded_alike_after_many_others),
        cmocka_unit_test(fields_that_make_no_sense_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
