/* Texts and the JSON written into them. */
#include "base/error.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_text_grows_and_stays_terminated(void **state)
{
    (void)state;
    struct adl_text text = {0};
    for (int i = 0; i < 5000; i++)
        adl_text_printf(&text, "%d,", i % 10);
    assert_int_equal(adl_text_status(&text), ADL_OK);
    assert_int_equal(text.size, 10000);
    assert_int_equal(strlen(text.data), text.size);
    adl_text_truncate(&text, 4);
    adl_text_repeat(&text, '.', 3);
    assert_string_equal(text.data, "0,1,...");
    adl_text_clear(&text);
    assert_null(text.data);
    adl_text_clear(&text);
    adl_text_clear(NULL);
}

static void a_text_that_failed_stays_failed_and_unchanged(void **state)
{
    (void)state;
    struct adl_text text = {0};
    adl_text_put(&text, "kept");
    text.failed = true;
    adl_text_put(&text, " lost");
    adl_text_repeat(&text, 'x', 10);
    adl_text_printf(&text, "%d", 7);
    assert_int_equal(adl_text_status(&text), ADL_ENOMEM);
    assert_string_equal(text.data, "kept");
    adl_text_clear(&text);
}

static void a_request_beyond_all_memory_fails_the_text(void **state)
{
    (void)state;
    struct adl_text text = {0};
    adl_text_repeat(&text, 'x', SIZE_MAX - 1);
    assert_int_equal(adl_text_status(&text), ADL_ENOMEM);
    adl_text_clear(&text);
}

static void numbers_read_back_as_the_same_double(void **state)
{
    (void)state;
    const double values[] = {0.0,        0.1,
                             1.0 / 3,    1e21,
                             -2.5e-9,    DBL_MAX,
                             DBL_MIN,    5e-324,
                             123456.789, 25.800000000000001,
                             1e15 + 0.5, 4503599627370497.5,
                             -0.0,       3.0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct adl_text text = {0};
        adl_text_real(&text, values[i]);
        const double back = strtod(text.data, NULL);
        assert_memory_equal(&back, &values[i], sizeof back);
        adl_text_clear(&text);
    }
    struct adl_text text = {0};
    adl_text_real(&text, 0.1);
    adl_text_char(&text, ' ');
    adl_text_real(&text, 3);
    assert_string_equal(text.data, "0.1 3");
    adl_text_clear(&text);
}

static void numbers_have_a_point_in_every_locale(void **state)
{
    (void)state;
    const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8", "C"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!setlocale(LC_NUMERIC, names[i]))
            continue; /* not on this machine; "C" always is */
        struct adl_text text = {0};
        adl_text_real(&text, 1.5);
        adl_text_char(&text, ' ');
        adl_text_fixed(&text, -2.25, 2);
        adl_text_char(&text, ' ');
        adl_text_real(&text, 1e-7);
        assert_string_equal(text.data, "1.5 -2.25 1e-07");
        adl_text_clear(&text);
    }
    setlocale(LC_NUMERIC, "C");
}

static void utf8_is_told_from_other_bytes(void **state)
{
    (void)state;
    assert_int_equal(adl_utf8_length("a"), 1);
    assert_int_equal(adl_utf8_length("\u00b1"), 2);
    assert_int_equal(adl_utf8_length("\u2026"), 3);
    assert_int_equal(adl_utf8_length("\xf0\x9f\x98\x80"), 4);
    assert_int_equal(adl_utf8_length(""), 0);
    assert_int_equal(adl_utf8_length("\x80"), 0);
    assert_int_equal(adl_utf8_length("\xc0\xaf"), 0);         /* overlong */
    assert_int_equal(adl_utf8_length("\xe0\x80\xaf"), 0);     /* overlong */
    assert_int_equal(adl_utf8_length("\xed\xa0\x80"), 0);     /* surrogate */
    assert_int_equal(adl_utf8_length("\xf4\x90\x80\x80"), 0); /* beyond U+10FFFF */
    assert_int_equal(adl_utf8_length("\xe2\x80"), 0);         /* cut off */
    assert_int_equal(adl_utf8_count("25 \u00b1 3 \xff"), 8);
}

static void write_sample(struct adl_json *json)
{
    adl_json_object(json);
    adl_json_key(json, "a \"key\"\\");
    adl_json_string(json, "line\nbreak\ttab \x01 </script> \u00b5 \xff!");
    adl_json_key(json, "empty");
    adl_json_object(json);
    adl_json_end(json);
    adl_json_key(json, "list");
    adl_json_array(json);
    adl_json_int(json, INT64_MIN);
    adl_json_uint(json, UINT64_MAX);
    adl_json_real(json, 0.25);
    adl_json_real(json, NAN);
    adl_json_real(json, -INFINITY);
    adl_json_bool(json, true);
    adl_json_null(json);
    adl_json_string(json, NULL);
    adl_json_array(json);
    adl_json_end(json);
    adl_json_end(json);
    adl_json_key(json, "flat");
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_key(json, "x");
    adl_json_bool(json, false);
    adl_json_key(json, "y");
    adl_json_array(json);
    adl_json_int(json, 1);
    adl_json_int(json, 2);
    adl_json_end(json);
    adl_json_end(json);
    adl_json_end(json);
}

static void compact_json_is_exactly_this(void **state)
{
    (void)state;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    write_sample(&json);
    assert_int_equal(json.depth, 0);
    assert_string_equal(text.data,
                        "{\"a \\\"key\\\"\\\\\":\"line\\nbreak\\ttab \\u0001 </script> \u00b5 \ufffd!\","
                        "\"empty\":{},\"list\":[-9223372036854775808,18446744073709551615,0.25,null,null,true,"
                        "null,null,[]],\"flat\":{\"x\":false,\"y\":[1,2]}}");
    adl_text_clear(&text);
}

static void pretty_json_says_the_same_as_compact_json(void **state)
{
    (void)state;
    struct adl_text compact = {0}, pretty = {0};
    struct adl_json one = adl_json_start(&compact, false), two = adl_json_start(&pretty, true);
    write_sample(&one);
    write_sample(&two);
    cJSON *a = cJSON_Parse(compact.data), *b = cJSON_Parse(pretty.data);
    assert_non_null(a);
    assert_non_null(b);
    assert_true(cJSON_Compare(a, b, true));
    assert_non_null(strstr(pretty.data, "\n  \"flat\": {\"x\": false, \"y\": [1, 2]}\n}"));
    cJSON_Delete(a);
    cJSON_Delete(b);
    adl_text_clear(&compact);
    adl_text_clear(&pretty);
}

/* However a number is printed, it is what printf gives with the fewest digits that read back as the same. */
static void numbers_are_printed_in_their_shortest_form(void **state)
{
    static const double scales[] = {1, 10, 1e3, 1e6, 1e7, 3, 1e-3, 1e-9};
    struct adl_rng rng;
    (void)state;
    adl_rng_seed(&rng, 1, "json");
    for (int i = 0; i < 40000; i++) {
        const double whole = (double)(adl_rng_next(&rng) >> (i % 50 + 11)), scale = scales[i % 8];
        const double value = (i % 3 ? 1 : -1) * whole / scale;
        struct adl_text text = {0};
        char expected[40];
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(expected, sizeof expected, "%.*g", digits, value);
            if (strtod(expected, NULL) == value)
                break;
        }
        adl_text_real(&text, value);
        assert_string_equal(text.data, expected);
        adl_text_clear(&text);
    }
}

static void whole_numbers_are_printed_to_their_ends(void **state)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    (void)state;
    adl_json_array(&json);
    adl_json_int(&json, INT64_MIN);
    adl_json_int(&json, INT64_MAX);
    adl_json_int(&json, 0);
    adl_json_uint(&json, UINT64_MAX);
    adl_json_raw(&json, "{\"a\":1}");
    adl_json_end(&json);
    assert_string_equal(text.data, "[-9223372036854775808,9223372036854775807,0,18446744073709551615,{\"a\":1}]");
    adl_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_printed_in_their_shortest_form),
        cmocka_unit_test(whole_numbers_are_printed_to_their_ends),
        cmocka_unit_test(a_text_grows_and_stays_terminated),
        cmocka_unit_test(a_text_that_failed_stays_failed_and_unchanged),
        cmocka_unit_test(a_request_beyond_all_memory_fails_the_text),
        cmocka_unit_test(numbers_read_back_as_the_same_double),
        cmocka_unit_test(numbers_have_a_point_in_every_locale),
        cmocka_unit_test(utf8_is_told_from_other_bytes),
        cmocka_unit_test(compact_json_is_exactly_this),
        cmocka_unit_test(pretty_json_says_the_same_as_compact_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
