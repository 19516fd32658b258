/* Reports of a training: rows, baselines, the best model. */
#include "report/training_report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

static const struct adl_scenario scenario = {.name = "<b>&", .workload = {.jobs = 64}};

static struct adl_training_row round_at(double episodes, bool validated, bool best)
{
    struct adl_training_row row = {{[ADL_TRAINING_EPISODES] = episodes,
                                    [ADL_TRAINING_RETURN] = -episodes,
                                    [ADL_TRAINING_LOSS] = 1 / episodes,
                                    [ADL_TRAINING_BEST] = best}};
    for (int c = ADL_TRAINING_HELD_RETURN; c < ADL_TRAINING_COLUMNS; c++)
        row.value[c] = validated ? 10.0 + c : (double)NAN;
    return row;
}

/* Rounds of 64; every fourth is validated; the best is the one that ends with the given episode. */
static struct adl_training_log make_log(size_t rounds, double best)
{
    struct adl_training_log log = {
        .scenario = &scenario, .policy = "dqn", .network = "shared", .seed = 7, .episodes = 64 * rounds};
    log.baselines[log.baseline_count++] = (struct adl_training_baseline){.name = "fcfs", .result = {.value = {25, 50}}};
    log.baselines[log.baseline_count++] = (struct adl_training_baseline){.name = "sjf", .result = {.value = {15, 70}}};
    for (size_t i = 1; i <= rounds; i++) {
        const double episodes = 64 * (double)i;
        const struct adl_training_row row = round_at(episodes, i % 4 == 0, fabs(episodes - best) < 1);
        assert_int_equal(adl_training_log_add(&log, &row, 1), 0);
    }
    return log;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

static void a_row_without_validation_has_empty_fields(void **state)
{
    (void)state;
    struct adl_training_log log = make_log(4, 256);
    struct adl_text text = {0};
    adl_training_csv(&text, &log);
    assert_non_null(strstr(text.data, "\r\n64,0,0,-64,0.015625,0,,,,,\r\n"));
    assert_non_null(strstr(text.data, "\r\n256,0,0,-256,0.00390625,1,16,17,18,19,20\r\n"));
    assert_int_equal(count_of(text.data, "\r\n"), 5);
    adl_text_clear(&text);
    adl_training_log_clear(&log);
}

static void the_best_model_is_that_of_the_last_best_row(void **state)
{
    (void)state;
    struct adl_training_log log = make_log(4, 0);
    assert_null(adl_training_log_best(&log));
    const struct adl_training_row rows[] = {round_at(320, true, true), round_at(384, true, false)};
    assert_int_equal(adl_training_log_add(&log, rows, 2), 0);
    assert_ptr_equal(adl_training_log_best(&log), &log.rows[4]);
    assert_true(!isnan(log.rows[5].value[ADL_TRAINING_HELD_RETURN]));
    assert_true(isnan(log.rows[0].value[ADL_TRAINING_HELD_RETURN]));
    adl_training_log_clear(&log);
}

static void json_has_baselines_and_rounds_and_null_for_what_is_not_known(void **state)
{
    (void)state;
    struct adl_training_log log = make_log(4, 256);
    struct adl_text text = {0};
    adl_training_json(&text, &log);
    cJSON *json = cJSON_ParseWithOpts(text.data, NULL, 1);
    assert_non_null(json);
    const cJSON *held = cJSON_GetObjectItem(json, "validation"), *rounds = cJSON_GetObjectItem(json, "rounds");
    assert_int_equal(cJSON_GetArraySize(held), 3);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(held, 0), "name")->valuestring, "dqn");
    assert_float_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(held, 2), "jct_p99_s")->valuedouble, 70, 0);
    assert_int_equal(cJSON_GetArraySize(rounds), 4);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(rounds, 0), "validation_return")));
    cJSON_Delete(json);
    adl_text_clear(&text);
    adl_training_log_clear(&log);
}

static void the_summary_says_how_much_less_or_more_it_takes(void **state)
{
    (void)state;
    struct adl_training_log log = make_log(4, 256);
    struct adl_text text = {0};
    adl_training_summary(&text, &log); /* 17 s against 25 and 15 */
    assert_non_null(strstr(text.data, "dqn takes 32.0 % less"));
    assert_non_null(strstr(text.data, "dqn takes 13.3 % more"));
    adl_text_clear(&text);
    adl_training_log_clear(&log);
}

/* However many rounds there were, curves stay small; names are escaped; nothing is drawn from nothing. */
static void the_page_is_whole_for_no_round_and_for_very_many(void **state)
{
    (void)state;
    static const size_t rounds[] = {0, 1, 4, 20000};
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        struct adl_training_log log = make_log(rounds[i], 256);
        struct adl_text text = {0};
        adl_training_html(&text, &log);
        assert_int_equal(adl_text_status(&text), 0);
        assert_non_null(strstr(text.data, "&lt;b&gt;&amp;"));
        assert_null(strstr(text.data, "<b>&"));
        assert_null(strstr(text.data, "nan"));
        assert_non_null(strstr(text.data, "</html>"));
        assert_int_equal(count_of(text.data, "<svg"), rounds[i] == 0 ? 0 : rounds[i] == 1 ? 1 : 6);
        assert_true(text.size < 100000);
        adl_text_clear(&text);
        adl_training_log_clear(&log);
    }
}

/* The best peer is the one with the shortest mean, and the curve is drawn relative to it: 17 s against 15. */
static void the_page_shows_the_gap_to_the_best_peer(void **state)
{
    (void)state;
    struct adl_training_log log = make_log(4, 256);
    struct adl_text text = {0};
    adl_training_html(&text, &log);
    assert_non_null(strstr(text.data, "against sjf, the best of its peers"));
    const char *gap = strstr(text.data, "Mean completion time against sjf, the best peer, %");
    assert_non_null(gap);
    assert_true(gap < strstr(text.data, "Mean job completion time"));
    assert_non_null(strstr(text.data, "+13.3 %</span> <span class=\"dim\">against sjf"));
    adl_text_clear(&text);
    adl_training_log_clear(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_without_validation_has_empty_fields),
        cmocka_unit_test(the_best_model_is_that_of_the_last_best_row),
        cmocka_unit_test(json_has_baselines_and_rounds_and_null_for_what_is_not_known),
        cmocka_unit_test(the_summary_says_how_much_less_or_more_it_takes),
        cmocka_unit_test(the_page_is_whole_for_no_round_and_for_very_many),
        cmocka_unit_test(the_page_shows_the_gap_to_the_best_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
