/* Pages of metrics, as text and under the eyes of promtool. */
#include "http/openmetrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct adl_text write_page(bool openmetrics)
{
    static const double bounds[] = {0.001, 0.01, 1};
    static const uint64_t counts[] = {3, 2, 0, 1};
    struct adl_text text = {0};
    struct adl_metrics_page page = {.text = &text, .openmetrics = openmetrics};
    const struct adl_metric_label gpu[] = {{"node", "n\"1\\\n\xff"}, {"gpu", "0"}};
    struct adl_error err = {{0}};
    adl_metrics_family(&page, "adlro_jobs_started", ADL_METRIC_COUNTER, NULL, "Jobs started, a \"count\"\nand a \\.");
    adl_metrics_value(&page, NULL, 0, 42);
    adl_metrics_family(&page, "adlro_gpu_temperature_celsius", ADL_METRIC_GAUGE, "celsius", "Temperature of a GPU.");
    adl_metrics_value(&page, gpu, 2, 61.5);
    adl_metrics_value(&page, &(struct adl_metric_label){"node", "n2"}, 1, NAN);
    adl_metrics_family(&page, "adlro_decision_seconds", ADL_METRIC_HISTOGRAM, "seconds", "Time of decisions.");
    adl_metrics_histogram(&page, NULL, 0, bounds, counts, 3, 4.25);
    if (adl_metrics_end(&page, &err) < 0)
        fail_msg("%s", err.text);
    return text;
}

static void a_page_of_openmetrics_is_exactly_this(void **state)
{
    struct adl_text text = write_page(true);
    (void)state;
    assert_string_equal(text.data, "# HELP adlro_jobs_started Jobs started, a \\\"count\\\"\\nand a \\\\.\n"
                                   "# TYPE adlro_jobs_started counter\n"
                                   "adlro_jobs_started_total 42\n"
                                   "# HELP adlro_gpu_temperature_celsius Temperature of a GPU.\n"
                                   "# TYPE adlro_gpu_temperature_celsius gauge\n"
                                   "# UNIT adlro_gpu_temperature_celsius celsius\n"
                                   "adlro_gpu_temperature_celsius{node=\"n\\\"1\\\\\\n\xef\xbf\xbd\",gpu=\"0\"} 61.5\n"
                                   "adlro_gpu_temperature_celsius{node=\"n2\"} NaN\n"
                                   "# HELP adlro_decision_seconds Time of decisions.\n"
                                   "# TYPE adlro_decision_seconds histogram\n"
                                   "# UNIT adlro_decision_seconds seconds\n"
                                   "adlro_decision_seconds_bucket{le=\"0.001\"} 3\n"
                                   "adlro_decision_seconds_bucket{le=\"0.01\"} 5\n"
                                   "adlro_decision_seconds_bucket{le=\"1.0\"} 5\n"
                                   "adlro_decision_seconds_bucket{le=\"+Inf\"} 6\n"
                                   "adlro_decision_seconds_count 6\n"
                                   "adlro_decision_seconds_sum 4.25\n"
                                   "# EOF\n");
    adl_text_clear(&text);
}

static void the_older_format_names_counters_by_their_samples(void **state)
{
    struct adl_text text = write_page(false);
    (void)state;
    assert_non_null(strstr(text.data, "# TYPE adlro_jobs_started_total counter\nadlro_jobs_started_total 42\n"));
    assert_null(strstr(text.data, "# UNIT"));
    assert_null(strstr(text.data, "# EOF"));
    adl_text_clear(&text);
    assert_true(adl_metrics_accepts("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"));
    assert_false(adl_metrics_accepts("*/*"));
    assert_false(adl_metrics_accepts(NULL));
}

static void mistakes_fail_the_page(void **state)
{
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        static const double bounds[] = {2, 1};
        static const uint64_t counts[] = {0, 0, 0};
        struct adl_text text = {0};
        struct adl_metrics_page page = {.text = &text, .openmetrics = true};
        struct adl_error err = {{0}};
        adl_metrics_family(&page,
                           kind == 0   ? "9jobs"
                           : kind == 1 ? "jobs_total"
                                       : "jobs_seconds",
                           kind == 2   ? ADL_METRIC_COUNTER
                           : kind == 3 ? ADL_METRIC_HISTOGRAM
                                       : ADL_METRIC_GAUGE,
                           kind == 4 ? "joules" : NULL, "Help.");
        if (kind == 3)
            adl_metrics_histogram(&page, NULL, 0, bounds, counts, 2, 0);
        else if (kind == 7)
            adl_metrics_histogram(&page, NULL, 0, bounds, counts, 0, 0);
        else
            adl_metrics_value(&page, &(struct adl_metric_label){kind == 5 ? "a-b" : "a", "x"}, 1, -1);
        if (kind == 6)
            adl_metrics_family(&page, "jobs_seconds", ADL_METRIC_GAUGE, NULL, "Again.");
        assert_int_equal(adl_metrics_end(&page, &err), ADL_EINVAL);
        assert_ptr_equal(strstr(err.text, "metric "), err.text);
        adl_text_clear(&text);
    }
}

/* Runs the shell command with the text as its input; its exit status, -1 if it did not run. */
static int run_with(const char *command, const struct adl_text *text)
{
    FILE *pipe = popen(command, "w");
    if (!pipe)
        return -1;
    fwrite(text->data, 1, text->size, pipe);
    const int status = pclose(pipe);
    return status < 0 ? -1 : status >> 8;
}

static void promtool_accepts_the_page(void **state)
{
    (void)state;
    if (system("command -v promtool >/dev/null 2>&1") != 0) {
        print_message("skipped: there is no promtool (package prometheus)\n");
        skip();
    }
    struct adl_text text = write_page(false);
    assert_int_equal(run_with("promtool check metrics", &text), 0);
    adl_text_clear(&text);
    text = (struct adl_text){0};
    adl_text_put(&text, "jobs_total{a=b} 1\n");
    assert_true(run_with("promtool check metrics 2>/dev/null", &text) > 0);
    adl_text_clear(&text);
}

/* promtool checks only the older format; its reader of OpenMetrics is the one that imports, which wants times. */
static void prometheus_reads_our_openmetrics(void **state)
{
    static const char import[] =
        "set -e; d=$(mktemp -d); trap 'rm -rf \"$d\"' EXIT; "
        "sed '/^#/!s/$/ 1600000000/' >\"$d/in\"; "
        "promtool tsdb create-blocks-from openmetrics -q \"$d/in\" \"$d/out\" >/dev/null 2>\"$d/err\" "
        "|| { cat \"$d/err\"; exit 9; }";
    (void)state;
    if (system("command -v promtool >/dev/null 2>&1") != 0) {
        print_message("skipped: there is no promtool (package prometheus)\n");
        skip();
    }
    struct adl_text text = write_page(true);
    assert_int_equal(run_with(import, &text), 0);
    adl_text_truncate(&text, text.size - strlen("# EOF\n"));
    assert_true(run_with(import, &text) > 0);
    adl_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_of_openmetrics_is_exactly_this),
        cmocka_unit_test(the_older_format_names_counters_by_their_samples),
        cmocka_unit_test(mistakes_fail_the_page),
        cmocka_unit_test(promtool_accepts_the_page),
        cmocka_unit_test(prometheus_reads_our_openmetrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
