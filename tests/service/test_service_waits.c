/* What jobs wait for in the running service, as Slurm's users ask for it: room in their array, other jobs, a time; and
 * the signal before the time limit. */
#include "service_check.h"

#define ID(id) ((unsigned long long)(id))

/* Submits a script; more: further keys, with a comma in front. */
static uint64_t submit_script(const char *script, const char *more)
{
    char body[3000];
    snprintf(body, sizeof body, "{\"directory\":\"%s\",\"script\":\"#!/bin/sh\\n%s\\n\"%s}", service.home, script,
             more);
    expect(201, body, "POST /v1/jobs");
    return (uint64_t)client_number(&http, "id", 0);
}

/* The most '+' lines without their '-' that a log has had at a time; *ret_total: all of them. */
static int most_at_once(const char *name, int *ret_total)
{
    int now = 0, most = 0;
    *ret_total = 0;
    for (const char *at = service_read(name); *at; at++) {
        now += (*at == '+') - (*at == '-');
        *ret_total += *at == '+';
        most = now > most ? now : most;
    }
    return most;
}

static void of_a_throttled_array_no_more_run_than_it_says_and_the_others_say_why(void **state)
{
    (void)state;
    int total = 0;
    start_service(service_slots_yaml(8, ""));
    const uint64_t id = submit_script("echo + >> log; sleep 0.1; echo - >> log", ",\"array\":\"0-9%2\"");
    expect(200, NULL, "GET /v1/jobs/%llu_9", ID(id));
    expect_text("array throttle: at most 2 of the jobs of array 1 run at once");
    expect_text("\"array_count\":10,\"array_limit\":2");
    const uint64_t other = submit("other", "0", 0, ""); /* the array holds nobody else up */
    wait_for(other, "state", "CD");
    expect(200, NULL, "GET /v1/jobs/%llu_9", ID(id));
    expect_text("\"state\":\"PD\"");
    wait_for(id + 9, "state", "CD");
    for (uint64_t i = 0; i < 10; i++)
        wait_for(id + i, "state", "CD");
    assert_int_equal(most_at_once("log", &total), 2);
    assert_int_equal(total, 10);
}

static void a_throttled_array_keeps_its_bound_when_jobs_are_held_cancelled_and_the_service_restarts(void **state)
{
    (void)state;
    start_service(service_slots_yaml(8, ""));
    const uint64_t id = submit("held", "30", 0, ",\"array\":\"0-4%1\"");
    wait_for(id, "state", "R");
    expect(200, NULL, "POST /v1/jobs/%llu/hold", ID(id + 1));
    assert_int_equal(service_signal(SIGTERM), 0);
    start_again();
    wait_for(id, "state", "R");
    assert_string_equal(job_text(id + 2, "stage"), "dependent");
    expect(200, NULL, "DELETE /v1/jobs/%llu", ID(id));
    wait_for(id + 2, "state", "R"); /* not the one that is held */
    assert_string_equal(job_text(id + 1, "stage"), "held");
    assert_string_equal(job_text(id + 3, "stage"), "dependent");
    expect(200, NULL, "POST /v1/jobs/%llu/release", ID(id + 1));
    assert_string_equal(job_text(id + 1, "stage"), "dependent");
    expect(200, NULL, "POST /v1/jobs/%llu/requeue", ID(id + 2)); /* it keeps its place */
    wait_for(id + 2, "attempts", "2");
    assert_string_equal(job_text(id + 1, "stage"), "dependent");
    expect(200, NULL, "DELETE /v1/jobs/%llu", ID(id + 2));
    wait_for(id + 1, "state", "R");
    for (uint64_t i = 1; i < 5; i++)
        client_askf(&http, NULL, "DELETE /v1/jobs/%llu", ID(id + i));
}

static uint64_t submit_after(const char *name, const char *key, uint64_t on)
{
    char more[80];
    snprintf(more, sizeof more, ",\"%s\":[%llu]", key, ID(on));
    return submit(name, "0", 0, more);
}

static void jobs_come_after_failure_success_end_or_start_as_they_ask(void **state)
{
    (void)state;
    char more[100];
    start_service(service_slots_yaml(4, ""));
    const uint64_t bad = submit("bad", "0.4", 3, ""), good = submit("good", "0.4", 0, "");
    const uint64_t fell = submit_after("fell", "after_not_ok", bad);
    const uint64_t any = submit_after("any", "after", bad);
    const uint64_t never = submit_after("never", "after_not_ok", good);
    expect(200, NULL, "GET /v1/jobs/%llu", ID(fell));
    expect_text("dependency: waits for job 1 to fail");
    expect_text("\"kind\":\"afternotok\"");
    wait_for(fell, "state", "CD");
    wait_for(any, "state", "CD");
    wait_for(never, "state", "CA");
    expect_text("dependency never satisfied: job 2 completed");
    const uint64_t first = submit("first", "30", 0, ",\"hold\":true");
    const uint64_t started = submit_after("started", "after_start", first);
    snprintf(more, sizeof more, ",\"after_ok\":[%llu,%llu],\"dependency_any\":true", ID(first), ID(good));
    const uint64_t either = submit("either", "0", 0, more);
    wait_for(either, "state", "CD"); /* one of the two is enough */
    assert_string_equal(job_text(started, "stage"), "dependent");
    expect_text("dependency: waits for job 6 to start");
    expect(200, NULL, "POST /v1/jobs/%llu/release", ID(first));
    wait_for(started, "state", "CD");
    assert_string_equal(job_text(first, "state"), "R");
    assert_int_equal(service_submit(&http, "x", "0", 0, ",\"after_not_ok\":[4711]"), 400);
    expect_text("there is no job 4711");
}

static void of_singletons_of_one_name_and_user_one_runs_at_a_time(void **state)
{
    (void)state;
    int total = 0;
    static const char script[] = "echo + >> log; sleep 0.15; echo - >> log";
    start_service(service_slots_yaml(8, ""));
    uint64_t ids[4];
    for (int i = 0; i < 4; i++)
        ids[i] = submit_script(script, ",\"name\":\"solo\",\"singleton\":true");
    const uint64_t other = submit("other", "0", 0, ",\"singleton\":true");
    wait_for(other, "state", "CD"); /* of another name */
    expect(200, NULL, "GET /v1/jobs/%llu", ID(ids[3]));
    expect_text("\"singleton\":true");
    expect_text("dependency: singleton, waits for other jobs of the name solo");
    for (int i = 0; i < 4; i++)
        wait_for(ids[i], "state", "CD");
    assert_int_equal(most_at_once("log", &total), 1);
    assert_int_equal(total, 4);
}

static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void a_job_does_not_begin_before_its_time_even_if_the_service_restarts(void **state)
{
    (void)state;
    char more[80];
    start_service(service_slots_yaml(4, ""));
    const double soon_s = wall_s() + 1.5;
    snprintf(more, sizeof more, ",\"begin_s\":%.3f", soon_s);
    const uint64_t soon = submit("soon", "0", 0, more);
    const uint64_t later = submit("later", "0", 0, ",\"begin_s\":4000000000");
    const uint64_t past = submit("past", "0", 0, ",\"begin_s\":1000000000");
    wait_for(past, "state", "CD");
    expect(200, NULL, "GET /v1/jobs/%llu", ID(later));
    expect_text("\"reason\":\"begins at 2096-10-02 ");
    expect_text("\"begin_s\":4000000000");
    expect_text("\"eligible_s\":null");
    assert_int_equal(service_signal(SIGTERM), 0);
    start_again();
    wait_for(soon, "state", "CD");
    assert_true(job_number(soon, "start_s") >= soon_s - 0.001);
    assert_string_equal(job_text(later, "stage"), "dependent");
    expect(200, NULL, "DELETE /v1/jobs/%llu", ID(later));
}

/* A script that says in the log who got the signal: the script itself, or the process that it started. */
static uint64_t submit_heedful(const char *log, const char *more)
{
    char script[400];
    snprintf(script, sizeof script,
             "sh -c 'trap \\\"echo child >> %s; exit 0\\\" USR1; echo ready >> %s; while :; do sleep 0.02; done' & "
             "trap 'echo script >> %s; kill $!; exit 0' USR1; wait; exit 0",
             log, log, log);
    return submit_script(script, more);
}

static void a_signal_is_sent_before_the_time_limit_to_whom_it_is_for(void **state)
{
    (void)state;
    start_service(service_slots_yaml(4, ""));
    const uint64_t child = submit_heedful("child", ",\"time_limit_s\":32,\"warn_signal\":\"USR1@30\"");
    const uint64_t script = submit_heedful("script", ",\"time_limit_s\":32,\"warn_signal\":\"B:SIGUSR1@30\"");
    /* A command that is no script is meant itself; and the limit counts as it did. */
    const uint64_t plain = submit("plain", "30", 0, ",\"time_limit_s\":30,\"warn_signal\":\"TERM@29\"");
    const uint64_t deaf = submit("deaf", "30", 0, ",\"time_limit_s\":2,\"warn_signal\":\"CONT@1\"");
    wait_for(child, "state", "CD");
    expect_text("\"warn_signal\":\"USR1@30\"");
    wait_for(script, "state", "CD");
    assert_string_equal(service_read("child"), "ready\nchild\n");
    assert_string_equal(service_read("script"), "ready\nscript\n");
    wait_for(plain, "state", "F");
    assert_string_equal(job_text(plain, "signal"), "15");
    wait_for(deaf, "state", "TO");
    assert_int_equal(service_submit(&http, "x", "0", 0, ",\"time_limit_s\":60,\"warn_signal\":\"USR1\""), 400);
    expect_text("warn_signal: 60 s before its time limit of 60 s would be before it starts");
}

static void a_task_of_an_array_finds_in_its_environment_what_the_array_is(void **state)
{
    (void)state;
    start_service(service_slots_yaml(4, ""));
    const uint64_t id = submit_script("echo $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MIN $SLURM_ARRAY_TASK_MAX "
                                      "$SLURM_ARRAY_TASK_STEP $SLURM_JOB_NAME $SLURM_GPUS $SLURM_JOB_UID > env",
                                      ",\"array\":\"3-9:3\",\"name\":\"arr\"");
    char expected[80];
    for (uint64_t i = 0; i < 3; i++)
        wait_for(id + i, "state", "CD");
    snprintf(expected, sizeof expected, "3 3 9 3 arr 1 %u\n", (unsigned)getuid());
    assert_string_equal(service_read("env"), expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(of_a_throttled_array_no_more_run_than_it_says_and_the_others_say_why),
        SERVICE_TEST(a_throttled_array_keeps_its_bound_when_jobs_are_held_cancelled_and_the_service_restarts),
        SERVICE_TEST(jobs_come_after_failure_success_end_or_start_as_they_ask),
        SERVICE_TEST(of_singletons_of_one_name_and_user_one_runs_at_a_time),
        SERVICE_TEST(a_job_does_not_begin_before_its_time_even_if_the_service_restarts),
        SERVICE_TEST(a_signal_is_sent_before_the_time_limit_to_whom_it_is_for),
        SERVICE_TEST(a_task_of_an_array_finds_in_its_environment_what_the_array_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
