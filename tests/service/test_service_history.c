/* What charts are drawn from, /v1/history: what steps count, and what of them outlives a restart. */
#include "service_clock.h"

#define MINUTE_US INT64_C(60000000)

/* The points of the last day. The caller deletes them. */
static cJSON *points_of_day(void)
{
    expect(200, NULL, "GET /v1/history?minutes=1440");
    cJSON *json = client_json(&http), *points = cJSON_DetachItemFromObjectCaseSensitive(json, "points");
    assert_non_null(points);
    cJSON_Delete(json);
    return points;
}

static int count_points(void)
{
    cJSON *points = points_of_day();
    const int count = cJSON_GetArraySize(points);
    cJSON_Delete(points);
    return count;
}

static double member(const cJSON *point, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(point, name);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

/* Lets a minute pass and waits until its six steps are counted. */
static void pass_minute(void)
{
    const int before = count_points();
    const int64_t until_us = service_now_us() + INT64_C(30000000);
    service_clock_pass(MINUTE_US);
    while (count_points() < before + 6) {
        assert_true(service_now_us() < until_us);
        expect(404, NULL, "POST /v1/jobs/999999/hold"); /* has the service look at its clock */
        nap_ms(1);
    }
}

static void steps_count_what_ran_waited_and_ended(void **state)
{
    (void)state;
    service_clock_start(service_slots_yaml(2, ""), 0);
    const uint64_t ends = submit("ends", "0", 0, "");
    wait_for(ends, "state", "CD");
    const uint64_t runs = submit("runs", "60", 0, ",\"gpus\":2");
    submit("waits", "60", 0, "");
    wait_for(runs, "state", "R");
    pass_minute();
    cJSON *points = points_of_day();
    const int count = cJSON_GetArraySize(points);
    const cJSON *first = cJSON_GetArrayItem(points, 0), *last = cJSON_GetArrayItem(points, count - 1);
    assert_true(count >= 6);
    assert_true(member(first, "ended") == 1);
    assert_true(member(first, "jct_mean_s") >= 0 && member(first, "jct_mean_s") < 30);
    assert_true(member(last, "ended") == 0);
    assert_true(member(last, "busy_gpus") == 2);
    assert_true(member(last, "running") == 1);
    assert_true(member(last, "pending") == 1);
    assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(last, "power_w"))); /* nobody measured it */
    assert_true(member(last, "time_s") - member(first, "time_s") > 49.9);
    cJSON_Delete(points);
}

static void charts_go_on_after_a_restart_with_one_step_in_six(void **state)
{
    (void)state;
    service_clock_start(service_slots_yaml(2, ""), 0);
    const uint64_t runs = submit("runs", "60", 0, "");
    wait_for(runs, "state", "R");
    for (int i = 0; i < 5; i++)
        pass_minute();
    cJSON *points = points_of_day();
    const int all = cJSON_GetArraySize(points);
    const double first_s = member(cJSON_GetArrayItem(points, 0), "time_s");
    const double last_s = member(cJSON_GetArrayItem(points, all - 1), "time_s");
    assert_true(all >= 30);
    cJSON_Delete(points);
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGTERM), 0);
    start_again();
    points = points_of_day();
    const int kept = cJSON_GetArraySize(points);
    if (kept < 4 || kept > all / 6)
        fail_msg("%d steps of %d outlived the restart", kept, all);
    const cJSON *point;
    cJSON_ArrayForEach(point, points)
    {
        assert_true(member(point, "time_s") > first_s && member(point, "time_s") < last_s + 30);
        assert_true(member(point, "busy_gpus") == 1);
        assert_true(member(point, "running") == 1);
        assert_true(member(point, "pending") == 0);
    }
    cJSON_Delete(points);
}

static void steps_of_a_clock_that_was_ahead_are_not_shown_after_a_restart(void **state)
{
    (void)state;
    service_clock_start(service_slots_yaml(1, ""), 10 * MINUTE_US);
    pass_minute();
    pass_minute();
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGTERM), 0);
    service_clock_set(0);
    start_again();
    assert_int_equal(count_points(), 0);
}

/* Points of it would be as many as those of the day before, and say nothing. */
static void a_machine_that_slept_for_days_has_no_points_of_them(void **state)
{
    (void)state;
    service_clock_start(service_slots_yaml(1, ""), 0);
    pass_minute();
    service_clock_pass(3 * 1440 * MINUTE_US);
    const uint64_t after = submit("after", "0", 0, "");
    wait_for(after, "state", "CD");
    pass_minute();
    cJSON *points = points_of_day();
    const int count = cJSON_GetArraySize(points);
    if (count > 100)
        fail_msg("%d points", count);
    const double now_s = member(cJSON_GetArrayItem(points, count - 1), "time_s");
    assert_true(now_s - member(cJSON_GetArrayItem(points, count - 6), "time_s") < 61);
    cJSON_Delete(points);
}

/* The start of a job says why it had waited. */
static void a_job_that_was_started_knows_why_it_had_to_wait(void **state)
{
    (void)state;
    service_clock_start(service_slots_yaml(1, ""), 0);
    const uint64_t first = submit("first", "60", 0, "");
    wait_for(first, "state", "R");
    const uint64_t second = submit("second", "0", 0, "");
    wait_for(second, "state", "PD");
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)first);
    wait_for(second, "state", "CD");
    expect(200, NULL, "GET /v1/jobs/%llu/timeline", (unsigned long long)second);
    cJSON *json = client_json(&http);
    const cJSON *phases = cJSON_GetObjectItemCaseSensitive(json, "phases");
    const cJSON *waited = cJSON_GetArrayItem(phases, 0);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(waited, "phase")), "waiting");
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(waited, "why"));
    if (!why || !strstr(why, "GPUs: it needs 1"))
        fail_msg("it waited because: %s", why ? why : "nothing");
    assert_int_equal(cJSON_GetArraySize(phases), 3);
    cJSON_Delete(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLOCK_TEST(steps_count_what_ran_waited_and_ended),
        CLOCK_TEST(charts_go_on_after_a_restart_with_one_step_in_six),
        CLOCK_TEST(steps_of_a_clock_that_was_ahead_are_not_shown_after_a_restart),
        CLOCK_TEST(a_job_that_was_started_knows_why_it_had_to_wait),
        CLOCK_TEST(a_machine_that_slept_for_days_has_no_points_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
