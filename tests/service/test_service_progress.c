/* Progress that running jobs report: what it says of their ends, who may report it, and what is not believed. Time is
 * the test's. */
#include "service_access.h"
#include "service_clock.h"

#define SECOND_US INT64_C(1000000)

static uint64_t start_job(void)
{
    const uint64_t job = submit("train", "60", 0, ",\"time_limit_s\":36000");
    wait_for(job, "state", "R");
    return job;
}

static void report(uint64_t job, int status, const char *body)
{
    expect(status, body, "POST /v1/jobs/%llu/progress", (unsigned long long)job);
}

/* Of the job as it is now. */
static double progress_number(uint64_t job, const char *key)
{
    expect(200, NULL, "GET /v1/jobs/%llu", (unsigned long long)job);
    cJSON *json = client_json(&http);
    const double value = json_number(cJSON_GetObjectItemCaseSensitive(json, "progress"), key, -1);
    cJSON_Delete(json);
    return value;
}

/* Two reports of ten steps each, a minute apart. */
static void report_twice(uint64_t job)
{
    report(job, 200, "{\"step\":10,\"steps\":100}");
    service_clock_pass(60 * SECOND_US);
    report(job, 200, "{\"step\":20}");
}

static void a_job_ends_when_the_steps_that_it_reports_say(void **state)
{
    (void)state;
    service_clock_start(service_slots_yaml(2, ""), 0);
    const uint64_t job = start_job();
    assert_string_equal(job_text(job, "end_basis"), "time_limit");
    report_twice(job);
    wait_for(job, "end_basis", "steps");
    const double now_s = progress_number(job, "time_s"), speed = progress_number(job, "steps_per_s");
    assert_true(speed > 0.1 && speed < 0.2);
    const double median_s = job_number(job, "end_p50") - now_s, late_s = job_number(job, "end_p90") - now_s;
    assert_true(median_s > 200 && median_s < 900); /* 80 steps of 6 s */
    assert_true(late_s > median_s && late_s < 3600);
    service_clock_pass(60 * SECOND_US);
    report(job, 200, "{\"step\":90}");
    for (int i = 0; job_number(job, "end_p50") - now_s > 0.7 * median_s; i++) { /* the engine has heard of it */
        assert_true(i < 5000);
        nap_ms(2);
    }
}

static void reports_in_a_burst_count_once(void **state)
{
    (void)state;
    char body[64];
    service_clock_start(service_slots_yaml(2, ""), 0);
    const uint64_t job = start_job();
    for (int step = 1; step <= 100; step++) {
        snprintf(body, sizeof body, "{\"step\":%d,\"steps\":1000000}", step);
        report(job, 200, body);
    }
    assert_true(progress_number(job, "step") < 100);
    service_clock_pass(2 * SECOND_US);
    report(job, 200, "{\"step\":100}");
    assert_true(progress_number(job, "step") == 100);
}

static void steps_that_go_back_or_jump_give_no_speed(void **state)
{
    (void)state;
    service_clock_start(service_slots_yaml(2, ""), 0);
    const uint64_t job = start_job();
    report_twice(job);
    service_clock_pass(60 * SECOND_US);
    report(job, 200, "{\"step\":15}");
    expect_text("step went back from 20");
    assert_true(progress_number(job, "steps_per_s") == -1);
    service_clock_pass(60 * SECOND_US);
    report(job, 200, "{\"step\":16}");
    service_clock_pass(60 * SECOND_US);
    report(job, 200, "{\"step\":99}");
    expect_text("is a jump");
    assert_true(progress_number(job, "step") == 99);
    assert_true(progress_number(job, "steps_per_s") == -1);
}

static void wrong_reports_are_refused_with_the_reason(void **state)
{
    (void)state;
    service_clock_start(service_slots_yaml(1, ""), 0);
    const uint64_t job = start_job(), waits = submit("waits", "60", 0, "");
    report(job, 400, "{\"step\":101,\"steps\":100}");
    expect_text("step: 101 is more than steps, 100");
    report(job, 400, "{\"steps\":100}");
    expect_text("step: must be a whole number of at least 0");
    report(job, 400, "{\"step\":1.5}");
    report(job, 400, "{\"step\":-1}");
    report(job, 400, "{\"step\":1,\"steps\":0}");
    report(job, 400, "{\"step\":1e300}");
    report(job, 400, "{\"step\":1,\"of\":3}");
    report(job, 200, "{\"step\":1,\"steps\":100}");
    service_clock_pass(60 * SECOND_US);
    report(job, 400, "{\"step\":101}");
    expect_text("has said that it has 100 steps, and now reports step 101");
    report(waits, 409, "{\"step\":1}");
    expect_text("does not run");
    report(999, 404, "{\"step\":1}");
}

static void another_users_job_cannot_be_reported(void **state)
{
    (void)state;
    access_start("");
    const uint64_t job = access_submit(&http, "mine", "");
    expect_user(403, "{\"step\":1}", "POST /v1/jobs/%llu/progress", (unsigned long long)job);
    expect_user_text("is another user's");
    const uint64_t theirs = access_submit(&user, "theirs", "");
    expect(409, "{\"step\":1}", "POST /v1/jobs/%llu/progress", (unsigned long long)theirs); /* an administrator may */
    expect_text("is simulated");
}

static void a_job_goes_on_reporting_after_the_service_was_killed(void **state)
{
    (void)state;
    service_clock_start(service_slots_yaml(2, ""), 0);
    const uint64_t job = start_job();
    report_twice(job);
    wait_for(job, "end_basis", "steps");
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGKILL), 128 + SIGKILL);
    start_again();
    wait_for(job, "state", "R");
    assert_true(progress_number(job, "step") == -1); /* reports are not stored */
    report(job, 200, "{\"step\":30,\"steps\":100}");
    service_clock_pass(60 * SECOND_US);
    report(job, 200, "{\"step\":40}");
    wait_for(job, "end_basis", "steps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLOCK_TEST(a_job_ends_when_the_steps_that_it_reports_say),
        CLOCK_TEST(reports_in_a_burst_count_once),
        CLOCK_TEST(steps_that_go_back_or_jump_give_no_speed),
        CLOCK_TEST(wrong_reports_are_refused_with_the_reason),
        SERVICE_TEST(another_users_job_cannot_be_reported),
        CLOCK_TEST(a_job_goes_on_reporting_after_the_service_was_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
