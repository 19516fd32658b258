/* Times and sizes as people write them for Slurm, and words of others made harmless. */
#include "cli/begin.h"
#include "cli/display.h"
#include "cli/quantity.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void every_form_of_a_time_is_read(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } forms[] = {
        {"90", 5400},     {"1:30", 90},      {"1:30:00", 5400},     {"0:00:01", 1}, {"2-0", 172800},
        {"2-12", 216000}, {"1-2:03", 93780}, {"1-02:03:04", 93784}, {"45s", 45},    {"30m", 1800},
        {"2h", 7200},     {"1d", 86400},     {"100:00:00", 360000}, {"0-0:0:1", 1}, {"36500-0", 3153600000},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(forms); i++) {
        int64_t seconds = 0;
        struct adl_error err;
        if (adl_duration_read(forms[i].text, "--time", &seconds, &err))
            fail_msg("%s: %s", forms[i].text, err.text);
        assert_int_equal(seconds, forms[i].seconds);
    }
}

static void an_invalid_time_is_refused_with_valid_forms(void **state)
{
    static const char *const bad[] = {"",     "x",    "1:",     ":1",   "1:2:3:4", "-1",          "1-",
                                      "1--2", "1.5h", "1-2:3:", " 1",   "1 ",      "99999999999", "1-1:1:1:1",
                                      "1w",   "s",    "1h30",   "1-5s", "0",       "0:00",        "99999-0"};
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t seconds = -7;
        struct adl_error err;
        if (adl_duration_read(bad[i], "--time", &seconds, &err) != ADL_EINVAL)
            fail_msg("'%s' is read as a time", bad[i]);
        assert_int_equal(seconds, -7);
        assert_non_null(strstr(err.text, "--time must be"));
    }
}

static void sizes_are_read_in_mebibytes(void **state)
{
    static const struct {
        const char *text;
        int64_t mib;
    } good[] = {{"512", 512}, {"8G", 8192}, {"8g", 8192},  {"1T", 1048576},
                {"1K", 1},    {"1025K", 2}, {"2GB", 2048}, {"2GiB", 2048}};
    static const char *const bad[] = {"", "G", "0", "-1", "1.5G", "8 G", "8X", "8GG", "999999999T", "8B"};
    struct adl_error err;
    int64_t mib;
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(adl_memory_read(good[i].text, "--mem", &mib, &err), 0);
        assert_int_equal(mib, good[i].mib);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        if (adl_memory_read(bad[i], "--mem", &mib, &err) != ADL_EINVAL)
            fail_msg("'%s' is read as a size", bad[i]);
}

static void run_times_are_shown_as_squeue_does(void **state)
{
    char buffer[ADL_DURATION_SIZE];
    (void)state;
    assert_string_equal(adl_duration_print(0, buffer), "0:00");
    assert_string_equal(adl_duration_print(7.9, buffer), "0:07");
    assert_string_equal(adl_duration_print(723, buffer), "12:03");
    assert_string_equal(adl_duration_print(3723, buffer), "1:02:03");
    assert_string_equal(adl_duration_print(176523, buffer), "2-01:02:03");
    assert_string_equal(adl_duration_print(-1, buffer), "0:00");
    assert_string_equal(adl_duration_print(1e300, buffer), "0:00");
}

static void shown(const char *string, size_t columns, const char *expected)
{
    struct adl_text text = {0};
    adl_text_put(&text, "");
    adl_display_put(&text, string, columns);
    assert_string_equal(text.data, expected);
    adl_text_clear(&text);
}

static void control_characters_are_not_sent_to_a_terminal(void **state)
{
    (void)state;
    shown("plain", ADL_DISPLAY_ALL, "plain");
    shown("\033[2J\033]0;x\a", ADL_DISPLAY_ALL, "?[2J?]0;x?");
    shown("a\xc2\x9b"
          "31m",
          ADL_DISPLAY_ALL, "a?31m"); /* C1: CSI */
    shown("a\xe2\x80\xae"
          "b\xe2\x81\xa6"
          "c",
          ADL_DISPLAY_ALL, "a?b?c"); /* direction */
    shown("a\nb\tc\rd", ADL_DISPLAY_ALL, "a b c?d");
    shown("\xff\xc3\xa9", ADL_DISPLAY_ALL, "?\xc3\xa9");
    shown("abcdef", 6, "abcdef");
    shown("abcdef", 5, "abc..");
    shown("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 3, "\xc3\xa9..");
    shown("abc", 1, ".");
    shown("abc", 0, "");
}

static void escaped_json_is_the_same_document(void **state)
{
    struct adl_text text = {0};
    cJSON *json = cJSON_CreateObject();
    (void)state;
    cJSON_AddStringToObject(json, "x", "\033a\x7f\xc2\x9b\xe2\x80\xae\xc3\xa9");
    adl_display_json(&text, json);
    for (size_t i = 0; i < text.size; i++)
        assert_true((unsigned char)text.data[i] >= 0x20 || text.data[i] == '\n');
    assert_null(strstr(text.data, "\x7f"));
    assert_null(strstr(text.data, "\xc2\x9b"));
    cJSON *again = cJSON_Parse(text.data);
    assert_non_null(again);
    assert_string_equal(adl_member_text(again, "x"), adl_member_text(json, "x"));
    cJSON_Delete(again);
    cJSON_Delete(json);
    adl_text_clear(&text);
}

static void a_table_is_cut_to_the_width_where_that_is_allowed(void **state)
{
    static const struct adl_table_column columns[] = {
        {.title = "ID", .right = 1}, {.title = "NAME", .least = 4}, {.title = "REASON", .least = 6}};
    static const char *const cells[] = {"1", "a-long-name", "because of this", "1234", "b", ""};
    struct adl_text text = {0};
    (void)state;
    adl_table_print(&text, columns, 3, cells, 2, ADL_DISPLAY_ALL);
    assert_string_equal(text.data, "  ID NAME        REASON\n   1 a-long-name because of this\n1234 b\n");
    adl_text_clear(&text);
    adl_table_print(&text, columns, 3, cells, 2, 22);
    for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 22);
    assert_non_null(strstr(text.data, "1234 b"));
    adl_text_clear(&text);
}

static void the_time_to_begin_is_read_as_slurm_does(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds; /* after 2026-11-17 10:30:00, a Tuesday, or before it */
    } forms[] = {
        {"now", 0},
        {"now+90", 90},
        {"now+90seconds", 90},
        {"now+1minute", 60},
        {"now+1hour", 3600},
        {"NOW+2days", 172800},
        {"now+1week", 604800},
        {"10:30", 0},
        {"16:00", 19800},
        {"16:00:30", 19830},
        {"9:00", 81000}, /* tomorrow */
        {"4:00pm", 19800},
        {"12:00AM", 48600},
        {"noon", 5400},
        {"midnight", 48600},
        {"teatime", 19800},
        {"today", 0},
        {"tomorrow", 48600},
        {"2026-11-18", 48600},
        {"2026-11-17T10:30:01", 1},
        {"2027-01-01T00:00", 44 * 86400 + 48600},
    };
    static const char *const bad[] = {
        "",           "soon",       "25:00",      "10:60",       "now+",       "now-1",
        "now+1moon",  "2026-13-01", "2026-02-30", "2026-1-1",    "13:00pm",    "10",
        "2026-11-16", "10:30 ",     "now+1 hour", "2026-11-17T", "tomorrow+1", "now+99999999999999999999"};
    struct tm parts = {.tm_year = 126, .tm_mon = 10, .tm_mday = 17, .tm_hour = 10, .tm_min = 30, .tm_isdst = -1};
    struct adl_error err;
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    const int64_t now_s = (int64_t)mktime(&parts);
    for (size_t i = 0; i < COUNT(forms); i++) {
        int64_t begin_s = -1;
        if (adl_begin_read(forms[i].text, "--begin", now_s, &begin_s, &err))
            fail_msg("%s: %s", forms[i].text, err.text);
        if (begin_s - now_s != forms[i].seconds)
            fail_msg("%s: %lld", forms[i].text, (long long)(begin_s - now_s));
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t begin_s = -1;
        if (adl_begin_read(bad[i], "--begin", now_s, &begin_s, &err) != ADL_EINVAL || begin_s != -1)
            fail_msg("%s is taken as %lld", bad[i], (long long)(begin_s - now_s));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_to_begin_is_read_as_slurm_does),
        cmocka_unit_test(every_form_of_a_time_is_read),
        cmocka_unit_test(an_invalid_time_is_refused_with_valid_forms),
        cmocka_unit_test(sizes_are_read_in_mebibytes),
        cmocka_unit_test(run_times_are_shown_as_squeue_does),
        cmocka_unit_test(control_characters_are_not_sent_to_a_terminal),
        cmocka_unit_test(escaped_json_is_the_same_document),
        cmocka_unit_test(a_table_is_cut_to_the_width_where_that_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
