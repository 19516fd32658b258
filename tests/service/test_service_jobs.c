/* What becomes of jobs in the running service: conditions, types, limits, cancelling, requeueing, priorities. */
#include "service_check.h"

#include <pwd.h>

static const char two_types[] = "virtual: true\n"
                                "cluster:\n"
                                "  network_gbs: 1\n"
                                "  nodes:\n"
                                "    - {name: n, cpu_cores: 100, memory_mib: 100000, link_gbs: 16,\n"
                                "       gpus: [{type: v100, count: 2}, {type: a100, count: 1}]}\n"
                                "jobs: {root: true, grace_s: 1}\n";

static void a_job_whose_condition_failed_is_cancelled_and_says_why(void **state)
{
    (void)state;
    char more[64];
    start_service(service_slots_yaml(4, ""));
    const uint64_t first = submit("first", "0.1", 3, "");
    snprintf(more, sizeof more, ",\"after_ok\":[%llu]", (unsigned long long)first);
    const uint64_t ok = submit("ok", "0", 0, more);
    snprintf(more, sizeof more, ",\"after\":[%llu]", (unsigned long long)first);
    const uint64_t any = submit("any", "0", 0, more);
    assert_string_equal(job_text(ok, "stage"), "dependent");
    wait_for(ok, "state", "CA");
    expect_text("dependency never satisfied");
    wait_for(any, "state", "CD");
    wait_for(first, "state", "F");
    assert_string_equal(job_text(first, "exit_code"), "3");
    assert_string_equal(job_text(first, "reason"), "exit code 3");
    assert_int_equal(count_marks("ok"), 0);
    assert_true(job_number(any, "start_s") >= job_number(first, "end_s"));
}

static void who_depends_on_an_array_depends_on_all_of_it(void **state)
{
    (void)state;
    char more[64];
    start_service(service_slots_yaml(1, ""));
    const uint64_t first = submit("array", "0", 0, ",\"array\":\"0-1\",\"hold\":true");
    snprintf(more, sizeof more, ",\"after_ok\":[%llu]", (unsigned long long)first);
    const uint64_t ok = submit("ok", "0", 0, more);
    expect(200, NULL, "DELETE /v1/jobs/%llu_1", (unsigned long long)first);
    expect(409, NULL, "DELETE /v1/jobs/%llu_1", (unsigned long long)first);
    snprintf(more, sizeof more, "job %llu_1 has ended", (unsigned long long)first);
    expect_text(more);
    assert_string_equal(job_text(ok, "stage"), "dependent"); /* the other member has not ended */
    expect(200, NULL, "POST /v1/jobs/%llu_0/release", (unsigned long long)first);
    wait_for(first, "state", "CD");
    wait_for(ok, "state", "CA");
    expect_text("dependency never satisfied");
    assert_int_equal(count_marks("ok"), 0);
}

static void members_of_an_array_start_in_order_of_their_indices(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    start_service(service_slots_yaml(1, ""));
    const uint64_t blocker = submit("blocker", "30", 0, "");
    wait_for(blocker, "state", "R");
    const uint64_t first = submit("array", "0", 0, ",\"array\":\"0-19\"");
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)blocker);
    for (uint64_t i = 0; i < COUNT; i++)
        wait_for(first + i, "state", "CD");
    for (uint64_t i = 1; i < COUNT; i++)
        assert_true(job_number(first + i - 1, "start_s") < job_number(first + i, "start_s"));
}

static void a_job_takes_whichever_of_its_types_is_free(void **state)
{
    (void)state;
    start_service(two_types);
    const uint64_t small = submit("small", "0.4", 0, ",\"gpus\":\"v100:1\"");
    wait_for(small, "state", "R");
    const uint64_t either = submit("either", "0.1", 0, ",\"gpus\":\"v100:2|a100:1\"");
    wait_for(either, "state", "CD");
    expect_text("\"type\":\"a100\"");
    const uint64_t big = submit("big", "0.5", 0, ",\"gpus\":\"a100:1\"");
    wait_for(big, "state", "R");
    wait_for(small, "state", "CD");
    const uint64_t other = submit("other", "0", 0, ",\"gpus\":\"v100:2|a100:1\"");
    wait_for(other, "state", "CD");
    expect_text("\"gpus\":2");
    expect_text("\"type\":\"v100\"");
    assert_int_equal(service_submit(&http, "never", "0", 0, ",\"gpus\":\"a100:2\""), 400);
}

static void a_job_ends_at_its_time_limit(void **state)
{
    (void)state;
    start_service(service_slots_yaml(4, ""));
    const uint64_t id = submit("long", "30", 0, ",\"time_limit_s\":1");
    wait_for(id, "state", "TO");
    assert_true(job_number(id, "end_s") - job_number(id, "start_s") < 10);
}

static void cancelling_ends_what_waits_at_once_and_what_runs_soon(void **state)
{
    (void)state;
    start_service(service_slots_yaml(1, ""));
    const uint64_t runs = submit("runs", "30", 0, ""), waits = submit("waits", "0", 0, "");
    const pid_t pid = marked_pid("runs");
    assert_string_equal(job_text(waits, "state"), "PD");
    assert_true(job_text(waits, "reason")[0] != '\0');
    expect(200, NULL, "DELETE /v1/jobs/%llu?reason=enough", (unsigned long long)waits);
    expect_text("\"state\":\"CA\"");
    expect_text("enough");
    expect(409, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)waits);
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)runs);
    wait_for(runs, "state", "CA");
    assert_false(process_lives(pid));
    expect(404, NULL, "DELETE /v1/jobs/999");
    assert_int_equal(count_marks("waits"), 0);
}

static void a_job_that_is_requeued_runs_again_from_its_start(void **state)
{
    (void)state;
    start_service(service_slots_yaml(1, ""));
    const uint64_t id = submit("again", "0.3", 0, "");
    const pid_t pid = marked_pid("again");
    expect(200, NULL, "POST /v1/jobs/%llu/requeue", (unsigned long long)id);
    wait_for(id, "state", "CD");
    assert_string_equal(job_text(id, "attempts"), "2");
    assert_int_equal(count_marks("again"), 2);
    assert_false(process_lives(pid));
}

static void a_job_that_has_ended_is_requeued_under_its_number_and_nobody_waits_for_it_again(void **state)
{
    (void)state;
    char more[100];
    start_service(service_slots_yaml(2, ""));
    const uint64_t id = submit("ended", "0", 3, "");
    snprintf(more, sizeof more, ",\"after\":[%llu],\"hold\":true", (unsigned long long)id);
    const uint64_t before = submit("before", "0", 0, more);
    wait_for(id, "state", "F");
    const uint64_t blocker = submit("blocker", "30", 0, ",\"gpus\":2");
    wait_for(blocker, "state", "R");
    expect(200, NULL, "POST /v1/jobs/%llu/requeue", (unsigned long long)id);
    expect_text("\"state\":\"PD\"");
    expect_text("\"end_s\":null");
    expect(409, NULL, "POST /v1/jobs/%llu/requeue", (unsigned long long)id);
    expect_text("does not run: it waits already");
    snprintf(more, sizeof more, ",\"after\":[%llu]", (unsigned long long)id);
    const uint64_t after = submit("after", "0", 0, more);
    assert_string_equal(job_text(after, "stage"), "dependent"); /* it came after the requeue */
    assert_int_equal(service_signal(SIGKILL), 128 + SIGKILL);
    start_again();
    assert_string_equal(job_text(id, "state"), "PD");
    expect(200, NULL, "POST /v1/jobs/%llu/release", (unsigned long long)before);
    assert_string_equal(job_text(before, "stage"), "queued"); /* what it waited for had ended before */
    assert_string_equal(job_text(after, "stage"), "dependent");
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)blocker);
    wait_for(id, "state", "F");
    wait_for(before, "state", "CD");
    wait_for(after, "state", "CD");
    assert_string_equal(job_text(id, "attempts"), "2");
    assert_int_equal(count_marks("ended"), 2);
    expect(404, NULL, "POST /v1/jobs/4711/requeue");
}

static void tasks_of_an_array_are_requeued_in_their_place_and_within_its_bound(void **state)
{
    (void)state;
    start_service(service_slots_yaml(4, ""));
    const uint64_t id = submit("array", "0.1", 0, ",\"array\":\"0-3%1\"");
    wait_for(id + 3, "state", "CD");
    for (uint64_t i = 0; i < 3; i++)
        expect(200, NULL, "POST /v1/jobs/%llu_%llu/requeue", (unsigned long long)id, (unsigned long long)i);
    expect(200, NULL, "GET /v1/jobs");
    const char *first = strstr(http.body, "\"label\":\"1_"), *queued = http.body;
    int in_queue = 0;
    while ((queued = strstr(queued, "array throttle"))) {
        in_queue++;
        queued++;
    }
    assert_true(first && in_queue >= 1 && in_queue <= 2); /* one is let in, or has run already */
    for (uint64_t i = 0; i < 3; i++) {
        wait_for(id + i, "state", "CD");
        assert_string_equal(job_text(id + i, "attempts"), "2");
    }
    assert_string_equal(job_text(id + 3, "attempts"), "1");
    assert_int_equal(count_marks("array"), 7);
}

/* Its first run waits for SIGTERM, saves and exits 0; the second finds what was saved. */
static void a_job_that_saves_its_work_on_sigterm_goes_on_from_there(void **state)
{
    (void)state;
    char body[1200];
    start_service(service_slots_yaml(1, ""));
    snprintf(
        body, sizeof body,
        "{\"name\":\"saves\",\"directory\":\"%s\",\"stdout\":\"/dev/null\",\"checkpoint_on_stop\":true,"
        "\"command\":[\"/bin/sh\",\"-c\",\"if [ -f saved ]; then exit 0; fi; trap 'echo half >saved; exit 0' TERM; "
        "echo up >up; while :; do sleep 0.05; done\"]}",
        service.home);
    assert_int_equal(client_ask(&http, "POST /v1/jobs", body), 201);
    const uint64_t id = (uint64_t)client_number(&http, "id", 0);
    assert_string_equal(job_text(id, "stop_loses"), "nothing");
    for (int i = 0; i < 1000 && access(service_path("up"), F_OK); i++)
        nap_ms(10);
    expect(200, NULL, "POST /v1/jobs/%llu/requeue", (unsigned long long)id);
    wait_for(id, "state", "CD");
    assert_string_equal(job_text(id, "attempts"), "2");
    assert_string_equal(service_read("saved"), "half\n");
}

static void what_a_stop_loses_is_kept_over_a_restart(void **state)
{
    (void)state;
    start_service(service_slots_yaml(1, ""));
    const uint64_t all = submit("all", "0", 0, ",\"hold\":true,\"requeue\":true"),
                   some = submit("some", "0", 0, ",\"hold\":true,\"checkpoint_every_s\":90"),
                   never = submit("never", "0", 0, ",\"hold\":true");
    assert_int_equal(service_signal(SIGTERM), 0);
    start_again();
    assert_string_equal(job_text(all, "stop_loses"), "all");
    assert_string_equal(job_text(some, "stop_loses"), "since_checkpoint");
    assert_string_equal(job_text(some, "checkpoint_every_s"), "90");
    assert_string_equal(job_text(never, "stop_loses"), "-1"); /* null: it is never stopped */
}

static void the_higher_priority_goes_first_and_what_is_held_does_not_go(void **state)
{
    (void)state;
    start_service(service_slots_yaml(1, ""));
    const uint64_t blocker = submit("blocker", "0.3", 0, ""), held = submit("held", "0", 0, ",\"hold\":true");
    const uint64_t low = submit("low", "0", 0, ",\"priority\":0.2");
    const uint64_t high = submit("high", "0", 0, ",\"priority\":0.2");
    wait_for(blocker, "state", "R");
    expect(200, "{\"priority\":0.9}", "PATCH /v1/jobs/%llu", (unsigned long long)high);
    wait_for(low, "state", "CD");
    wait_for(high, "state", "CD");
    assert_true(job_number(high, "start_s") < job_number(low, "start_s"));
    assert_string_equal(job_text(held, "stage"), "held");
    expect(409, NULL, "POST /v1/jobs/%llu/release", (unsigned long long)low);
    expect(200, NULL, "POST /v1/jobs/%llu/release", (unsigned long long)held);
    wait_for(held, "state", "CD");
}

/* One end lets a job into the queue in the same group of writes in which another ends: neither may be mistaken for the
 * other. */
static void many_ends_at_once_let_in_many_others_and_all_run_once(void **state)
{
    (void)state;
    enum { COUNT = 24 };
    uint64_t ids[COUNT][2];
    char name[16], more[64];
    start_service(service_slots_yaml(COUNT, ""));
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "a%d", i);
        ids[i][0] = submit(name, "0.25", 0, "");
        snprintf(name, sizeof name, "b%d", i);
        snprintf(more, sizeof more, ",\"after_ok\":[%llu]", (unsigned long long)ids[i][0]);
        ids[i][1] = submit(name, "0", 0, more);
    }
    for (int i = 0; i < COUNT; i++) {
        wait_for(ids[i][0], "state", "CD");
        wait_for(ids[i][1], "state", "CD");
        snprintf(name, sizeof name, "a%d", i);
        assert_int_equal(count_marks(name), 1);
        snprintf(name, sizeof name, "b%d", i);
        assert_int_equal(count_marks(name), 1);
    }
}

/* Cancelling and holding a job about when its condition is met: in the same group of writes, if we are lucky. */
static void a_job_can_be_taken_out_of_the_queue_while_it_is_let_in(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    uint64_t ids[COUNT];
    char more[64];
    start_service(service_slots_yaml(8, ""));
    for (int i = 0; i < COUNT; i++) {
        const uint64_t first = submit("first", "0", 0, "");
        snprintf(more, sizeof more, ",\"after\":[%llu]", (unsigned long long)first);
        ids[i] = submit("second", "0", 0, more);
        nap_ms(i % 7);
        client_askf(&http, NULL, i % 2 ? "DELETE /v1/jobs/%llu" : "POST /v1/jobs/%llu/hold",
                    (unsigned long long)ids[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        client_askf(&http, NULL, "POST /v1/jobs/%llu/release", (unsigned long long)ids[i]);
        wait_for(ids[i], "stage", "ended");
    }
    const uint64_t last = submit("last", "0", 0, "");
    wait_for(last, "state", "CD");
}

/* Runs `env` in the job and leaves what it prints in home/NAME. environment: a key of the submission, or "". */
static const char *environment_of(const char *name, const char *environment)
{
    char body[600];
    snprintf(body, sizeof body, "{\"command\":[\"env\"],\"directory\":\"%s\",\"stdout\":\"%s\"%s}", service.home, name,
             environment);
    expect(201, body, "POST /v1/jobs");
    wait_for((uint64_t)client_number(&http, "id", 0), "state", "CD");
    return service_read(name);
}

static void expect_variable(const char *printed, const char *name, const char *value)
{
    char line[1200];
    snprintf(line, sizeof line, "\n%s=%s\n", name, value);
    if (!strstr(printed, line))
        fail_msg("no %s=%s in %s", name, value, printed);
}

static void a_job_submitted_without_an_environment_gets_that_of_its_account(void **state)
{
    (void)state;
    const struct passwd *account = getpwuid(geteuid());
    start_service(service_slots_yaml(2, ""));
    assert_non_null(account);
    const char *printed = environment_of("plain", "");
    expect_variable(printed, "HOME", account->pw_dir);
    expect_variable(printed, "LOGNAME", account->pw_name);
    expect_variable(printed, "SHELL", account->pw_shell[0] ? account->pw_shell : "/bin/sh");
    assert_non_null(strstr(printed, "PATH=/usr/local/"));
    assert_non_null(strstr(printed, "USER="));
    printed = environment_of("given", ",\"environment\":[\"FIRST=1\",\"HOME=/elsewhere\",\"PATH=/usr/bin:/bin\"]");
    expect_variable(printed, "HOME", "/elsewhere");
    expect_variable(printed, "PATH", "/usr/bin:/bin");
    expect_variable(printed, "LOGNAME", account->pw_name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(a_job_whose_condition_failed_is_cancelled_and_says_why),
        SERVICE_TEST(who_depends_on_an_array_depends_on_all_of_it),
        SERVICE_TEST(members_of_an_array_start_in_order_of_their_indices),
        SERVICE_TEST(a_job_takes_whichever_of_its_types_is_free),
        SERVICE_TEST(a_job_ends_at_its_time_limit),
        SERVICE_TEST(cancelling_ends_what_waits_at_once_and_what_runs_soon),
        SERVICE_TEST(a_job_that_is_requeued_runs_again_from_its_start),
        SERVICE_TEST(a_job_that_has_ended_is_requeued_under_its_number_and_nobody_waits_for_it_again),
        SERVICE_TEST(tasks_of_an_array_are_requeued_in_their_place_and_within_its_bound),
        SERVICE_TEST(a_job_that_saves_its_work_on_sigterm_goes_on_from_there),
        SERVICE_TEST(what_a_stop_loses_is_kept_over_a_restart),
        SERVICE_TEST(the_higher_priority_goes_first_and_what_is_held_does_not_go),
        SERVICE_TEST(many_ends_at_once_let_in_many_others_and_all_run_once),
        SERVICE_TEST(a_job_can_be_taken_out_of_the_queue_while_it_is_let_in),
        SERVICE_TEST(a_job_submitted_without_an_environment_gets_that_of_its_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
