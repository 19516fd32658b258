/* Reports of comparisons that are made up here: plausible ones and extreme ones.
 * With ADL_REPORT_DIR set, the pages and tables are left in that folder to be looked at. */
#include "page_check.h"
#include "report/chart.h"
#include "report/figure.h"
#include "report/report_csv.h"
#include "report/report_html.h"
#include "report/report_json.h"
#include "report/report_table.h"
#include "report_sample.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct recipe recipes[] = {
    {"plain", 4, 30, 4, 4, 256, true, false, false, 1},       {"many", 12, 30, 4, 4, 256, true, false, false, 1},
    {"hours", 5, 10, 8, 8, 4000, true, false, false, 900},    {"large", 3, 5, 64, 8, 6000, true, false, false, 40},
    {"nasty", 4, 6, 4, 4, 100, true, true, false, 1},         {"long", 5, 30, 4, 4, 100, true, false, true, 1},
    {"one_policy", 1, 30, 4, 4, 100, true, false, false, 1},  {"one_seed", 3, 1, 4, 4, 100, true, false, false, 1},
    {"no_timeline", 3, 8, 4, 4, 100, false, false, false, 1}, {"no_jobs", 3, 4, 4, 4, 0, true, false, false, 1},
    {"no_policies", 0, 4, 4, 4, 0, true, false, false, 1},    {"huge", 3, 8, 4, 4, 40, false, false, true, 1e200},
    {"tiny", 3, 8, 4, 4, 40, true, false, false, 1e-4},
};

#define RECIPE_COUNT (sizeof recipes / sizeof *recipes)

typedef void report_function(struct adl_text *text, const struct adl_comparison *comparison);

static void report_json(struct adl_text *text, const struct adl_comparison *comparison)
{
    adl_report_json(text, comparison, true, NULL);
}

static void report_csv(struct adl_text *text, const struct adl_comparison *comparison)
{
    adl_report_csv(text, comparison, true);
}

static struct adl_text report_of(const struct recipe *recipe, report_function *report)
{
    struct report_sample *sample = sample_create(recipe);
    struct adl_text text = {0};
    report(&text, &sample->comparison);
    assert_int_equal(adl_text_status(&text), 0);
    sample_destroy(sample);
    return text;
}

static void leave_to_be_seen(const struct recipe *recipe, const char *ending, const struct adl_text *text)
{
    const char *folder = getenv("ADL_REPORT_DIR");
    char path[600];
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%s.%s", folder, recipe->label, ending);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text->data, 1, text->size, file), text->size);
    fclose(file);
}

static void the_json_has_every_metric_of_every_policy(void **state)
{
    (void)state;
    for (size_t i = 0; i < RECIPE_COUNT; i++) {
        struct adl_text text = report_of(&recipes[i], report_json);
        cJSON *root = cJSON_Parse(text.data);
        assert_non_null(root);
        const cJSON *policies = cJSON_GetObjectItemCaseSensitive(root, "policies"), *policy;
        assert_int_equal(cJSON_GetArraySize(policies), recipes[i].policies);
        cJSON_ArrayForEach(policy, policies)
        {
            const cJSON *metrics = cJSON_GetObjectItemCaseSensitive(policy, "metrics");
            assert_int_equal(cJSON_GetArraySize(metrics), ADL_METRIC_COUNT);
            for (int metric = 0; metric < ADL_METRIC_COUNT; metric++) {
                const cJSON *summary = cJSON_GetObjectItemCaseSensitive(metrics, adl_metric_table[metric].name);
                assert_true(cJSON_HasObjectItem(summary, "mean") && cJSON_HasObjectItem(summary, "sd"));
                assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(summary, "ci95")), 2);
            }
            assert_int_equal(cJSON_HasObjectItem(policy, "versus_first"), policy != policies->child);
            assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(policy, "plan_hashes")),
                             recipes[i].seeds);
        }
        cJSON_Delete(root);
        leave_to_be_seen(&recipes[i], "json", &text);
        adl_text_clear(&text);
    }
}

static void the_json_says_what_the_comparison_says(void **state)
{
    (void)state;
    struct report_sample *sample = sample_create(&recipes[0]);
    struct adl_text text = {0};
    adl_report_json(&text, &sample->comparison, true, NULL);
    cJSON *root = cJSON_Parse(text.data);
    assert_string_equal(cJSON_GetObjectItem(root, "scenario")->valuestring, "paper16");
    assert_string_equal(cJSON_GetObjectItem(root, "regime")->valuestring, "declared");
    assert_int_equal(cJSON_GetObjectItem(root, "seeds")->valueint, 30);
    assert_int_equal(cJSON_GetObjectItem(root, "first_seed")->valueint, 1);
    const cJSON *modelled = cJSON_GetObjectItem(root, "modelled");
    assert_int_equal(cJSON_GetArraySize(modelled), 1);
    assert_string_equal(modelled->child->valuestring, "MI50");
    const cJSON *policy = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "policies"), 2);
    const cJSON *jct = cJSON_GetObjectItem(cJSON_GetObjectItem(policy, "metrics"), "jct_mean_s");
    const struct adl_summary *summary = &sample->comparison.policies[2].metrics[ADL_METRIC_JCT_MEAN];
    assert_memory_equal(&cJSON_GetObjectItem(jct, "mean")->valuedouble, &summary->mean, sizeof summary->mean);
    assert_memory_equal(&cJSON_GetArrayItem(cJSON_GetObjectItem(jct, "ci95"), 1)->valuedouble, &summary->hi,
                        sizeof summary->hi);
    assert_string_equal(cJSON_GetObjectItem(policy, "name")->valuestring, "srtf");
    assert_int_equal(cJSON_GetObjectItem(policy, "jobs")->valueint, 30 * 256);
    assert_string_equal(cJSON_GetObjectItem(policy, "plan_hashes")->child->valuestring, "fedcba98765439b2");
    const cJSON *first = cJSON_GetObjectItem(root, "policies")->child;
    assert_int_equal(cJSON_GetObjectItem(first, "timeouts")->valueint, 60);
    cJSON_Delete(root);
    adl_text_clear(&text);
    sample_destroy(sample);
}

static void without_timing_runs_that_differ_in_speed_alone_give_equal_bytes(void **state)
{
    (void)state;
    struct report_sample *sample = sample_create(&recipes[0]);
    struct adl_text a = {0}, b = {0}, c = {0}, d = {0};
    adl_report_json(&a, &sample->comparison, false, NULL);
    adl_report_csv(&c, &sample->comparison, false);
    for (int metric = ADL_METRIC_FIRST_TIMING; metric < ADL_METRIC_COUNT; metric++) {
        sample->comparison.policies[1].metrics[metric].mean *= 2;
        sample->comparison.policies[1].runs[0].value[metric] *= 2;
    }
    adl_report_json(&b, &sample->comparison, false, NULL);
    adl_report_csv(&d, &sample->comparison, false);
    assert_string_equal(a.data, b.data);
    assert_string_equal(c.data, d.data);
    assert_null(strstr(a.data, "decision_us"));
    assert_null(strstr(c.data, "wall_s"));
    adl_text_clear(&a);
    adl_text_clear(&b);
    adl_text_clear(&c);
    adl_text_clear(&d);
    sample_destroy(sample);
}

/* Counts the fields of one RFC 4180 record and steps over it; -1 if it is malformed. */
static int csv_record(const char **at)
{
    const char *s = *at;
    int fields = 1;
    for (;;) {
        if (*s == '"') {
            for (s++; *s && !(s[0] == '"' && s[1] != '"'); s++)
                s += s[0] == '"';
            if (*s++ != '"')
                return -1;
        } else {
            while (*s && !strchr(",\"\r\n", *s))
                s++;
        }
        if (*s == ',') {
            fields++;
            s++;
        } else if (s[0] == '\r' && s[1] == '\n') {
            *at = s + 2;
            return fields;
        } else {
            return -1;
        }
    }
}

static void the_csv_has_a_full_row_for_every_policy_and_seed(void **state)
{
    (void)state;
    for (size_t i = 0; i < RECIPE_COUNT; i++) {
        struct adl_text text = report_of(&recipes[i], report_csv);
        const char *at = text.data;
        uint32_t rows = 0;
        for (; *at; rows++)
            assert_int_equal(csv_record(&at), 4 + ADL_METRIC_COUNT + 10);
        assert_int_equal(rows, 1 + recipes[i].policies * recipes[i].seeds);
        adl_text_clear(&text);
    }
}

static void no_line_of_the_table_is_wider_than_120_columns(void **state)
{
    (void)state;
    for (size_t i = 0; i < RECIPE_COUNT; i++) {
        struct adl_text text = report_of(&recipes[i], adl_report_table);
        leave_to_be_seen(&recipes[i], "txt", &text);
        char *line = strtok(text.data, "\n");
        for (; line; line = strtok(NULL, "\n")) {
            assert_true(adl_utf8_count(line) <= ADL_TABLE_COLUMNS);
            assert_true(line[strlen(line) - 1] != ' ');
        }
        adl_text_clear(&text);
    }
}

static void the_table_names_what_a_reader_must_know(void **state)
{
    (void)state;
    struct adl_text text = report_of(&recipes[0], adl_report_table);
    const char *const needed[] = {"fcfs",     "adlro",    "vs fcfs",  "***",
                                  "\u00b1",   "30 seeds", "declared", "knows the future",
                                  "R\u00b2",  "MI50",     "refused",  "at their time limit",
                                  "Wilcoxon", "MJ",       "\u00b5s"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!strstr(text.data, needed[i]))
            fail_msg("the table lacks \"%s\"", needed[i]);
    assert_null(strstr(text.data, "unfinished"));
    adl_text_clear(&text);
}

static void check_columns(const struct adl_comparison *comparison, bool shown)
{
    struct adl_text table = {0}, page = {0}, json = {0};
    adl_report_table(&table, comparison);
    adl_report_html(&page, comparison);
    adl_report_json(&json, comparison, true, NULL);
    const char *const in_table[] = {"SLA met", "alloc.eff", "  lost", "energy", "R\u00b2"};
    const char *const on_page[] = {">SLA", ">allocation", ">GPU time lost", ">energy<", "R\u00b2"};
    for (size_t i = 0; i < sizeof in_table / sizeof *in_table; i++) {
        if (!strstr(table.data, in_table[i]) == shown)
            fail_msg("the table %s \"%s\"", shown ? "lacks" : "has", in_table[i]);
        if (!strstr(page.data, on_page[i]) == shown)
            fail_msg("the page %s \"%s\"", shown ? "lacks" : "has", on_page[i]);
    }
    assert_non_null(strstr(table.data, "evictions"));
    assert_non_null(strstr(page.data, ">evictions"));
    assert_non_null(strstr(json.data, "sla_attainment"));
    assert_non_null(strstr(json.data, "lost_gpu_s"));
    adl_text_clear(&table);
    adl_text_clear(&page);
    adl_text_clear(&json);
}

static void tables_leave_out_what_says_nothing_about_the_runs(void **state)
{
    (void)state;
    struct report_sample *sample = sample_create(&recipes[0]);
    struct adl_comparison *comparison = &sample->comparison;
    check_columns(comparison, true);
    for (uint32_t p = 0; p < comparison->policy_count; p++) {
        comparison->policies[p].metrics[ADL_METRIC_ENERGY] = (struct adl_summary){0};
        for (uint32_t i = 0; i < comparison->seed_count; i++) {
            struct adl_result *run = &comparison->policies[p].runs[i];
            run->sla_jobs = run->evictions = run->lost_gpu_s = 0;
        }
    }
    sample->scenario.cluster.type_gpus[1] = sample->scenario.cluster.type_gpus[2] = 0;
    comparison->jct_on_utilization.count = ADL_REGRESSION_POINTS_MIN - 1;
    check_columns(comparison, false);
    sample_destroy(sample);
}

/* The sample's policies get better from the first to the last, but for the fifth. */
static void the_headline_compares_the_last_policy_with_the_best_of_the_others(void **state)
{
    (void)state;
    struct report_sample *sample = sample_create(&recipes[0]);
    struct adl_comparison *comparison = &sample->comparison;
    struct adl_text text = {0};
    adl_report_table(&text, comparison);
    assert_non_null(strstr(text.data, "adlro finishes jobs 9."));
    assert_non_null(strstr(text.data, " % sooner than srtf, the best of the others: mean JCT "));
    assert_non_null(strstr(text.data, "9.0 against 6.0 a run"));
    assert_non_null(strstr(text.data, "210 against 140 GPU-s"));
    adl_text_clear(&text);
    const struct adl_policy_result last = comparison->policies[3];
    comparison->policies[3] = comparison->policies[0];
    comparison->policies[0] = last;
    adl_report_table(&text, comparison);
    assert_non_null(strstr(text.data, " % later than adlro, the best of the others: mean JCT "));
    adl_text_clear(&text);
    adl_report_html(&text, comparison);
    assert_non_null(strstr(text.data, " % later than adlro, the best of the others</p>"));
    assert_non_null(strstr(text.data, "95 % interval +"));
    assert_non_null(strstr(text.data, "p &lt; 0.001"));
    adl_text_clear(&text);
    sample_destroy(sample);
}

static void a_difference_that_may_be_chance_is_called_so(void **state)
{
    (void)state;
    struct report_sample *sample = sample_create(&recipes[0]);
    struct adl_comparison *comparison = &sample->comparison;
    struct adl_policy_result *last = &comparison->policies[3], *peer = &comparison->policies[2];
    double values[30];
    for (uint32_t i = 0; i < 30; i++) /* better on one seed, worse on the next */
        values[i] = last->runs[i].value[ADL_METRIC_JCT_MEAN] =
            peer->runs[i].value[ADL_METRIC_JCT_MEAN] * (i % 2 ? 1.1 : 0.9) + 0.001 * i;
    last->metrics[ADL_METRIC_JCT_MEAN] = adl_summarize(values, 30);
    struct adl_text text = {0};
    adl_report_table(&text, comparison);
    assert_non_null(strstr(text.data, "adlro and srtf, the best of the others, differ by "));
    assert_non_null(strstr(text.data, " % in mean JCT, which may be chance: "));
    adl_text_clear(&text);
    sample_destroy(sample);
}

static void every_page_is_balanced_small_and_fetches_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < RECIPE_COUNT; i++) {
        struct adl_text text = report_of(&recipes[i], adl_report_html);
        leave_to_be_seen(&recipes[i], "html", &text);
        page_check_balance(text.data);
        assert_true(text.size < 2000000);
        page_check_self_contained(text.data, recipes[i].label);
        assert_int_equal(count_of(text.data, "<svg "), count_of(text.data, " role=\"img\" aria-label="));
        adl_text_clear(&text);
    }
}

static void a_page_has_the_charts_its_data_allow(void **state)
{
    (void)state;
    static const struct {
        const char *label;
        size_t charts;
    } expected[] = {{"plain", 10},    {"large", 10},      {"one_policy", 8},
                    {"one_seed", 10}, {"no_timeline", 4}, {"no_policies", 0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        size_t recipe = 0;
        while (strcmp(recipes[recipe].label, expected[i].label) != 0)
            recipe++;
        struct adl_text text = report_of(&recipes[recipe], adl_report_html);
        assert_int_equal(count_of(text.data, "<svg "), expected[i].charts);
        adl_text_clear(&text);
    }
}

static void names_are_escaped_in_pages(void **state)
{
    (void)state;
    struct adl_text text = report_of(&recipes[4], adl_report_html);
    assert_null(strstr(text.data, "<b>\"x\""));
    assert_null(strstr(text.data, "\xff"));
    assert_non_null(strstr(text.data, "&lt;b&gt;&quot;x&quot; &amp; &#39;y&#39;&lt;/b&gt;, \ufffd \u00b5"));
    adl_text_clear(&text);
}

static void a_schedule_of_very_many_short_jobs_is_thinned(void **state)
{
    (void)state;
    const struct recipe busy = {"busy", 2, 2, 16, 4, 120000, true, false, false, 1};
    struct report_sample *sample = sample_create(&busy);
    struct adl_text text = {0};
    assert_true(adl_chart_gantt(&text, &sample->comparison, 1));
    assert_true(count_of(text.data, "<rect class=\"g") <= ADL_CHART_RECTS_MAX);
    assert_true(count_of(text.data, "<rect class=\"g") > ADL_CHART_RECTS_MAX / 8);
    adl_text_clear(&text);
    sample_destroy(sample);
}

static void jobs_that_share_a_gpu_are_both_drawn(void **state)
{
    (void)state;
    struct report_sample *sample = sample_create(&recipes[8]);
    struct adl_segment segments[] = {
        {.start_us = 0, .end_us = 60000000, .job_id = 7, .gpu = 3},
        {.start_us = 20000000, .end_us = 90000000, .job_id = 8, .gpu = 3, .kind = ADL_KIND_DATA, .cut = 1},
    };
    struct adl_timeline timeline = {.segments = segments, .segment_count = 2, .gpu_count = 16, .end_us = 100000000};
    struct adl_text text = {0};
    sample->comparison.policies[0].timeline = &timeline;
    assert_true(adl_chart_gantt(&text, &sample->comparison, 0));
    assert_non_null(strstr(text.data, "data-j=\"7\""));
    assert_non_null(strstr(text.data, "<rect class=\"g3 x\""));
    assert_int_equal(count_of(text.data, "<rect class=\"g"), 2);
    sample->comparison.policies[0].timeline = NULL;
    adl_text_clear(&text);
    sample_destroy(sample);
}

static void equal_comparisons_give_equal_bytes(void **state)
{
    (void)state;
    report_function *const reports[] = {report_json, report_csv, adl_report_table, adl_report_html};
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        struct adl_text a = report_of(&recipes[0], reports[i]), b = report_of(&recipes[0], reports[i]);
        assert_int_equal(a.size, b.size);
        assert_memory_equal(a.data, b.data, a.size);
        adl_text_clear(&a);
        adl_text_clear(&b);
    }
}

static void a_report_into_a_text_without_memory_fails_and_writes_nothing(void **state)
{
    (void)state;
    report_function *const reports[] = {report_json, report_csv, adl_report_table, adl_report_html};
    struct report_sample *sample = sample_create(&recipes[0]);
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        struct adl_text text = {.failed = true};
        reports[i](&text, &sample->comparison);
        assert_int_equal(adl_text_status(&text), ADL_ENOMEM);
        assert_int_equal(text.size, 0);
        adl_text_clear(&text);
    }
    sample_destroy(sample);
}

static void figures_have_few_characters_and_fitting_units(void **state)
{
    (void)state;
    char number[ADL_FIGURE_SIZE];
    const double extremes[] = {0, -1e-300, 1e300, -1e300, 9999.49, 999999.4, -999999.4, 123.456, NAN, INFINITY};
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
        assert_true(strlen(adl_figure_print(number, extremes[i], adl_scale_time(extremes[i]))) <= 9);
        assert_true(strlen(adl_figure_print_change(number, extremes[i])) <= 9);
    }
    assert_string_equal(adl_scale_energy(4.1e5).unit, "kJ");
    assert_string_equal(adl_scale_energy(4.1e7).unit, "MJ");
    assert_string_equal(adl_scale_energy(4.1e10).unit, "GJ");
    assert_string_equal(adl_scale_time(0.02).unit, "ms");
    assert_string_equal(adl_figure_print_duration(number, 25.8), "25.8 s");
    assert_string_equal(adl_figure_print_duration(number, 5400), "1.5 h");
    assert_string_equal(adl_figure_print_change(number, -24.42), "-24.4");
    assert_string_equal(adl_figure_print_change(number, -0.01), "0.0");
    assert_string_equal(adl_significance(0.0099), "**");
    assert_string_equal(adl_significance(0.05), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_json_has_every_metric_of_every_policy),
        cmocka_unit_test(the_json_says_what_the_comparison_says),
        cmocka_unit_test(without_timing_runs_that_differ_in_speed_alone_give_equal_bytes),
        cmocka_unit_test(the_csv_has_a_full_row_for_every_policy_and_seed),
        cmocka_unit_test(no_line_of_the_table_is_wider_than_120_columns),
        cmocka_unit_test(the_table_names_what_a_reader_must_know),
        cmocka_unit_test(tables_leave_out_what_says_nothing_about_the_runs),
        cmocka_unit_test(the_headline_compares_the_last_policy_with_the_best_of_the_others),
        cmocka_unit_test(a_difference_that_may_be_chance_is_called_so),
        cmocka_unit_test(every_page_is_balanced_small_and_fetches_nothing),
        cmocka_unit_test(a_page_has_the_charts_its_data_allow),
        cmocka_unit_test(names_are_escaped_in_pages),
        cmocka_unit_test(a_schedule_of_very_many_short_jobs_is_thinned),
        cmocka_unit_test(jobs_that_share_a_gpu_are_both_drawn),
        cmocka_unit_test(equal_comparisons_give_equal_bytes),
        cmocka_unit_test(a_report_into_a_text_without_memory_fails_and_writes_nothing),
        cmocka_unit_test(figures_have_few_characters_and_fitting_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
