/* Spans of indices: what is read, where reading stops, and what is refused. */
#include "base/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_span_is_read_up_to_what_follows_it(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct adl_span span;
        const char *rest;
    } cases[] = {
        {"7", {7, 7, 1, 1}, ""},
        {"0-9,12", {0, 9, 1, 1}, ",12"},
        {"0-99:10%4", {0, 99, 10, 1}, "%4"},
        {"003-015]n", {3, 15, 1, 3}, "]n"},
        {"5-5", {5, 5, 1, 1}, ""},
        {"7:2", {7, 7, 1, 1}, ":2"}, /* one index has no step */
        {"999999999", {999999999, 999999999, 1, 9}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = cases[i].text;
        struct adl_span span;
        assert_null(adl_span_read(&at, &span));
        assert_int_equal(span.first, cases[i].span.first);
        assert_int_equal(span.last, cases[i].span.last);
        assert_int_equal(span.step, cases[i].span.step);
        assert_int_equal(span.width, cases[i].span.width);
        assert_string_equal(at, cases[i].rest);
    }
}

static void a_span_that_means_nothing_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "is none"},
        {"a", "is none"},
        {"-3", "is none"},
        {"3-", "lacks its end"},
        {"3-x", "lacks its end"},
        {"9-3", "goes down"},
        {"0-9:", "lacks its step"},
        {"0-9:0", "lacks its step"},
        {"1234567890", "more than 9 digits"},
        {"1-1234567890", "more than 9 digits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = cases[i][0];
        struct adl_span span;
        const char *fault = adl_span_read(&at, &span);
        assert_non_null(fault);
        assert_non_null(strstr(fault, cases[i][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_is_read_up_to_what_follows_it),
        cmocka_unit_test(a_span_that_means_nothing_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
