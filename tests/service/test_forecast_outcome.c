/* How forecasts turn out calibrates the next ones: when jobs start, while they still wait, and first forecasts apart
 * from later ones. */
#include "service/forecast_outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MINUTE_US INT64_C(60000000)
#define FUTURES   4

static struct adl_outcomes *outcomes;

static int begin(void **unused)
{
    (void)unused;
    return adl_outcomes_create(&outcomes);
}

static int end(void **unused)
{
    (void)unused;
    adl_outcomes_destroy(outcomes);
    return 0;
}

/* A round with the same forecast for some jobs: starts 10 to 40 minutes from now. */
static void forecast(uint64_t first, uint64_t last, int64_t now_us)
{
    int64_t starts_us[FUTURES];
    for (int i = 0; i < FUTURES; i++)
        starts_us[i] = now_us + 10 * (i + 1) * MINUTE_US;
    adl_outcomes_judge(outcomes, now_us);
    adl_outcomes_begin(outcomes, (uint32_t)(last - first + 1), FUTURES);
    for (uint64_t id = first; id <= last; id++) {
        const struct adl_start_issue issue = adl_outcomes_issue(outcomes, id);
        const struct adl_start_forecast row = {
            .id = id, .made_us = now_us, .start_p50_us = starts_us[1], .start_p90_us = starts_us[FUTURES - 1]};
        adl_outcomes_expect(outcomes, &row, &issue, &(struct adl_start_times){starts_us, FUTURES, row.made_us, 60e6});
    }
    adl_outcomes_end(outcomes);
}

static void start(uint64_t id, int64_t now_us)
{
    struct adl_job job = {.spec = {.id = id}};
    const struct adl_state state = {.now_us = now_us, .jobs = &job, .job_capacity = 1};
    const struct adl_command command = {.kind = ADL_COMMAND_START};
    const struct adl_observer observer = adl_outcomes_observer(outcomes);
    observer.command(observer.self, &command, NULL, &state);
}

static double level(uint64_t id, double q)
{
    return (double)adl_outcomes_issue(outcomes, id).level[adl_start_level_index(q)];
}

static void levels_rise_when_jobs_start_late_and_fall_when_they_start_early(void **unused)
{
    (void)unused;
    forecast(1, 20, MINUTE_US);
    for (uint64_t id = 1; id <= 10; id++)
        start(id, 100 * MINUTE_US);
    adl_outcomes_judge(outcomes, MINUTE_US);
    const double late50 = level(100, 0.5), late90 = level(100, 0.9);
    assert_true(late50 > 0.6 && late90 > 1);
    for (uint64_t id = 11; id <= 20; id++)
        start(id, 2 * MINUTE_US);
    adl_outcomes_judge(outcomes, MINUTE_US);
    assert_true(level(100, 0.5) < late50);
    assert_int_equal(adl_outcomes_counts(outcomes).started, 20);
    assert_int_equal(adl_outcomes_counts(outcomes).in_p90, 10);
    forecast(21, 120, MINUTE_US); /* p90 falls when nine of ten came within it */
    for (uint64_t id = 21; id <= 120; id++)
        start(id, 2 * MINUTE_US);
    adl_outcomes_judge(outcomes, MINUTE_US);
    assert_true(level(200, 0.9) < late90);
}

static void a_forecast_counts_as_too_early_once_while_its_job_still_waits(void **unused)
{
    (void)unused;
    forecast(1, 5, MINUTE_US);
    adl_outcomes_judge(outcomes, 5 * MINUTE_US);
    assert_true(level(100, 0.5) < 0.51 && level(100, 0.9) < 0.91); /* nothing is known yet */
    adl_outcomes_judge(outcomes, 35 * MINUTE_US);
    const double level50 = level(100, 0.5);
    assert_true(level50 > 0.6);
    adl_outcomes_judge(outcomes, 36 * MINUTE_US);
    assert_true(level(100, 0.5) == level50);
}

static void forecasts_of_an_hour_later_have_levels_of_their_own(void **unused)
{
    (void)unused;
    forecast(1, 5, MINUTE_US);
    forecast(1, 5, 30 * MINUTE_US);
    forecast(1, 5, 90 * MINUTE_US); /* from now on one more forecast of each is kept */
    assert_true(level(100, 0.5) > 0.6);
    assert_true(level(1, 0.5) < 0.51);
    for (uint64_t id = 1; id <= 5; id++)
        start(id, 91 * MINUTE_US);
    adl_outcomes_judge(outcomes, 91 * MINUTE_US);
    forecast(7, 7, 92 * MINUTE_US);
    assert_true(level(100, 0.5) > 0.6);
    assert_true(level(7, 0.5) < 0.4); /* they started sooner than the later forecasts said */
    assert_int_equal(adl_outcomes_counts(outcomes).started, 5);
}

static void what_was_learned_comes_back_from_its_bytes_and_not_from_others(void **unused)
{
    (void)unused;
    struct adl_text text = {0};
    struct adl_error err;
    struct adl_outcome_levels again = {.kinds = {{.starts = 0}}};
    forecast(1, 5, MINUTE_US);
    adl_outcomes_judge(outcomes, 100 * MINUTE_US);
    const struct adl_outcome_levels *levels = adl_outcomes_levels(outcomes);
    adl_outcome_levels_encode(levels, &text);
    for (size_t i = 0; i < text.size; i++) {
        text.data[i] ^= 4;
        err.text[0] = '\0';
        assert_true(adl_outcome_levels_decode(&again, text.data, text.size, &err) < 0 && err.text[0] != '\0');
        assert_true(adl_outcome_levels_decode(&again, text.data, i, &err) < 0);
        text.data[i] ^= 4;
    }
    assert_true(again.kinds[0].owed[0] == 0);
    assert_int_equal(adl_outcome_levels_decode(&again, text.data, text.size, &err), 0);
    assert_true(again.kinds[0].owed[0] > 0);
    assert_memory_equal(&again, levels, sizeof again);
    adl_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(levels_rise_when_jobs_start_late_and_fall_when_they_start_early, begin, end),
        cmocka_unit_test_setup_teardown(a_forecast_counts_as_too_early_once_while_its_job_still_waits, begin, end),
        cmocka_unit_test_setup_teardown(forecasts_of_an_hour_later_have_levels_of_their_own, begin, end),
        cmocka_unit_test_setup_teardown(what_was_learned_comes_back_from_its_bytes_and_not_from_others, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
