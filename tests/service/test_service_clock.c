/* Times that the service tells: of jobs that ended while it was down, and with a clock that somebody sets. */
#include "service_clock.h"

#define YEAR_US (INT64_C(365) * 86400 * 1000000)

static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void expect_between(double value, double low, double high, const char *what)
{
    if (!(value >= low && value <= high))
        fail_msg("%s is %.3f, not between %.3f and %.3f", what, value, low, high);
}

static void a_job_that_ended_while_the_service_was_down_has_its_own_times(void **state)
{
    (void)state;
    const double before_s = wall_s();
    start_service(service_slots_yaml(1, ""));
    const uint64_t job = submit("runs", "0.3", 3, "");
    marked_pid("runs");
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGTERM), 0);
    while (service_shepherds(NULL) > 0) {
        service_reap();
        nap_ms(2);
    }
    const double gone_s = wall_s();
    nap_ms(500);
    start_again();
    wait_for(job, "state", "F");
    assert_string_equal(job_text(job, "exit_code"), "3");
    expect_between(job_number(job, "end_s"), job_number(job, "start_s") + 0.3, gone_s + 0.001, "the end");
    expect_between(job_number(job, "start_s"), before_s, gone_s - 0.3, "the start");
    expect_between(job_number(job, "run_s"), 0.3, gone_s - before_s, "the run time");
}

static void a_clock_that_is_set_back_takes_live_jobs_along_and_stops_nothing(void **state)
{
    (void)state;
    service_clock_start(service_slots_yaml(1, ""), 2 * YEAR_US);
    const double ahead_s = 2 * (double)YEAR_US * 1e-6, begin_s = wall_s();
    const uint64_t past = submit("past", "0", 0, "");
    wait_for(past, "state", "CD");
    expect_between(job_number(past, "end_s"), begin_s + ahead_s, wall_s() + ahead_s, "an end in the wrong time");
    const uint64_t runs = submit("runs", "0.6", 0, ""), waits = submit("waits", "0", 0, "");
    marked_pid("runs");
    service_clock_set(0);
    wait_for(runs, "state", "CD");
    wait_for(waits, "state", "CD");
    expect_between(job_number(runs, "start_s"), begin_s, wall_s(), "the start of a job that ran");
    expect_between(job_number(runs, "end_s"), begin_s, wall_s(), "its end");
    expect_between(job_number(runs, "run_s"), 0.6, wall_s() - begin_s, "its run time");
    expect_between(job_number(waits, "start_s"), begin_s, wall_s(), "the start of a job that waited");
    const uint64_t after = submit("after", "0", 0, "");
    wait_for(after, "state", "CD");
    expect_between(job_number(after, "submit_s"), begin_s, wall_s(), "a submission afterwards");
    expect_between(job_number(after, "end_s"), begin_s, wall_s(), "an end afterwards");
    expect(200, NULL, "GET /v1/cluster");
    expect_between(client_number(&http, "started_s", 0), begin_s - 60, wall_s(), "the service's start");
    service_clock_set(YEAR_US); /* and ahead again */
    const uint64_t later = submit("later", "0", 0, "");
    wait_for(later, "state", "CD");
    expect_between(job_number(later, "run_s"), 0, wall_s() - begin_s, "a run time over a step ahead");
}

static void a_clock_that_was_ahead_before_a_restart_is_right_after_it(void **state)
{
    (void)state;
    service_clock_start(service_slots_yaml(1, ""), 3 * YEAR_US);
    const double begin_s = wall_s();
    const uint64_t runs = submit("runs", "0.5", 0, ""), waits = submit("waits", "0", 0, "");
    marked_pid("runs");
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGTERM), 0);
    service_clock_set(0);
    start_again();
    wait_for(runs, "state", "CD");
    wait_for(waits, "state", "CD");
    expect_between(job_number(runs, "end_s"), begin_s, wall_s(), "the end of a job that ran");
    expect_between(job_number(runs, "run_s"), 0.5, wall_s() - begin_s, "its run time");
    expect_between(job_number(waits, "start_s"), begin_s, wall_s(), "the start of a job that waited");
    expect_between(job_number(waits, "end_s"), begin_s, wall_s(), "its end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLOCK_TEST(a_job_that_ended_while_the_service_was_down_has_its_own_times),
        CLOCK_TEST(a_clock_that_is_set_back_takes_live_jobs_along_and_stops_nothing),
        CLOCK_TEST(a_clock_that_was_ahead_before_a_restart_is_right_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
