/* test_exposition: the text format of metrics, read strictly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "telemetry/exposition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct adl_exposition page;

static int start(const char *text)
{
    adl_exposition_start(&page, text, strlen(text));
    return adl_exposition_next(&page);
}

static void samples_have_names_labels_and_values(void **state)
{
    (void)state;
    assert_int_equal(start("a_b:c {x=\"1\", y = \"two, } = words\" , } -1.5e+3 1395066363000\r\nlone 7\n"),
                     ADL_EXPOSITION_SAMPLE);
    assert_string_equal(page.name, "a_b:c");
    assert_int_equal(page.label_count, 2);
    assert_string_equal(adl_exposition_label(&page, "x"), "1");
    assert_string_equal(adl_exposition_label(&page, "y"), "two, } = words");
    assert_string_equal(adl_exposition_label(&page, "z"), "");
    assert_true(page.value == -1500.0);
    assert_int_equal(adl_exposition_next(&page), ADL_EXPOSITION_SAMPLE);
    assert_string_equal(page.name, "lone");
    assert_int_equal(page.label_count, 0);
    assert_true(page.value == 7.0);
    assert_int_equal(adl_exposition_next(&page), ADL_EXPOSITION_END);
    assert_int_equal(adl_exposition_next(&page), ADL_EXPOSITION_END);
    assert_int_equal(page.malformed_count, 0);
}

static void escapes_are_undone(void **state)
{
    (void)state;
    assert_int_equal(start("m{p=\"C:\\\\dir\\\"q\\\"\\n\"} 1\n"), ADL_EXPOSITION_SAMPLE);
    assert_string_equal(adl_exposition_label(&page, "p"), "C:\\dir\"q\"\n");
}

static void values_that_are_no_numbers_are_values(void **state)
{
    (void)state;
    assert_int_equal(start("m NaN\nm +Inf\nm -Inf\n"), ADL_EXPOSITION_SAMPLE);
    assert_true(isnan(page.value));
    adl_exposition_next(&page);
    assert_true(page.value == INFINITY);
    adl_exposition_next(&page);
    assert_true(page.value == -INFINITY);
}

static void three_kinds_of_comments_are_read_and_others_ignored(void **state)
{
    (void)state;
    assert_int_equal(start("# just words\n#HELP m Text to the end. \n# TYPE m gauge\n# UNIT m watts\n# TYPE m\n"
                           "m 1 # {trace_id=\"x\"} 0.5\n# EOF\nm 2\n"),
                     ADL_EXPOSITION_HELP);
    assert_string_equal(page.name, "m");
    assert_string_equal(page.text, "Text to the end. ");
    assert_int_equal(adl_exposition_next(&page), ADL_EXPOSITION_TYPE);
    assert_string_equal(page.text, "gauge");
    assert_int_equal(adl_exposition_next(&page), ADL_EXPOSITION_UNIT);
    assert_string_equal(page.text, "watts");
    assert_int_equal(adl_exposition_next(&page), ADL_EXPOSITION_TYPE);
    assert_string_equal(page.text, "");
    assert_int_equal(adl_exposition_next(&page), ADL_EXPOSITION_SAMPLE);
    assert_true(page.value == 1.0);
    assert_int_equal(adl_exposition_next(&page), ADL_EXPOSITION_END); /* nothing is read behind the end */
    assert_int_equal(page.malformed_count, 0);
}

static void lines_that_break_a_rule_are_counted_and_skipped(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "1m 1",
        "m",
        "m ",
        "m one",
        "m 1 2 3",
        "m{} ",
        "m{a} 1",
        "m{a=1} 1",
        "m{a=\"1} 1",
        "m{a=\"1\" 1",
        "m{=\"1\"} 1",
        "m{a=\"1\",,} 1",
        "m{a=\"\\t\"} 1",
        "m{a=\"1\",a=\"2\"} 1",
        "m{a=\"\",a=\"\"} 1",
        "m 0x10",
        "m 1e999",
        "m 1,5",
        "m{a=\"1\"}x 1",
        "# HELP",
        "# TYPE 7 gauge",
        "m nan",
        "{a=\"1\"} 1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s\ngood 1\n", bad[i]);
        if (strcmp(bad[i], "# HELP") == 0) /* a comment like any other */
            continue;
        if (start(text) != ADL_EXPOSITION_SAMPLE || strcmp(page.name, "good") != 0 || page.malformed_count != 1)
            fail_msg("not refused: %s", bad[i]);
        assert_int_equal(page.line, 2);
    }
}

static void a_page_that_is_cut_off_loses_its_last_line(void **state)
{
    (void)state;
    assert_int_equal(start("a 1\nb 12"), ADL_EXPOSITION_SAMPLE);
    assert_int_equal(adl_exposition_next(&page), ADL_EXPOSITION_END);
    assert_int_equal(page.malformed_count, 1);
    assert_int_equal(start("a 1\n# EOF"), ADL_EXPOSITION_SAMPLE);
    assert_int_equal(adl_exposition_next(&page), ADL_EXPOSITION_END);
    assert_int_equal(page.malformed_count, 0);
}

static void zeros_and_endless_lines_are_refused(void **state)
{
    (void)state;
    static const char zero[] = "a\0b 1\nc 1\n";
    adl_exposition_start(&page, zero, sizeof zero - 1);
    assert_int_equal(adl_exposition_next(&page), ADL_EXPOSITION_SAMPLE);
    assert_string_equal(page.name, "c");
    assert_int_equal(page.malformed_count, 1);
    const size_t size = ADL_EXPOSITION_LINE_MAX + 1;
    char *text = malloc(size + 6);
    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text + size, "\nc 1\n", 6);
    assert_int_equal(start(text), ADL_EXPOSITION_SAMPLE);
    assert_string_equal(page.name, "c");
    free(text);
}

static void more_labels_than_the_limit_are_refused(void **state)
{
    (void)state;
    char text[2048] = "m{";
    for (int i = 0; i < ADL_EXPOSITION_LABELS_MAX; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "l%d=\"v\",", i);
    const size_t size = strlen(text);
    snprintf(text + size, sizeof text - size, "} 1\n");
    assert_int_equal(start(text), ADL_EXPOSITION_SAMPLE);
    assert_int_equal(page.label_count, ADL_EXPOSITION_LABELS_MAX);
    snprintf(text + size, sizeof text - size, "more=\"v\"} 1\n");
    assert_int_equal(start(text), ADL_EXPOSITION_END);
    assert_int_equal(page.malformed_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_names_labels_and_values),
        cmocka_unit_test(escapes_are_undone),
        cmocka_unit_test(values_that_are_no_numbers_are_values),
        cmocka_unit_test(three_kinds_of_comments_are_read_and_others_ignored),
        cmocka_unit_test(lines_that_break_a_rule_are_counted_and_skipped),
        cmocka_unit_test(a_page_that_is_cut_off_loses_its_last_line),
        cmocka_unit_test(zeros_and_endless_lines_are_refused),
        cmocka_unit_test(more_labels_than_the_limit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
