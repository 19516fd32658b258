/* The service ends, is started again, is given another configuration, or finds that it may not start: what becomes of
 * the jobs, and what it says. */
#include "service_check.h"

static void stop_service(int signal)
{
    client_hang_up(&http);
    assert_int_equal(service_signal(signal), signal == SIGTERM ? 0 : 128 + signal);
}

static void jobs_run_on_when_the_service_ends_and_are_found_again(void **state)
{
    (void)state;
    start_service(service_slots_yaml(4, ""));
    const uint64_t runs = submit("runs", "0.6", 7, ""), ends = submit("ends", "0.2", 5, "");
    const pid_t pid = marked_pid("runs"), other = marked_pid("ends");
    stop_service(SIGTERM);
    assert_true(process_lives(pid));
    while (process_lives(other)) /* it ends while nobody looks */
        nap_ms(5);
    start_again();
    assert_true(process_lives(pid));
    wait_for(runs, "state", "F");
    assert_string_equal(job_text(runs, "exit_code"), "7");
    wait_for(ends, "state", "F");
    assert_string_equal(job_text(ends, "exit_code"), "5");
    assert_string_equal(job_text(runs, "attempts"), "1");
    assert_int_equal(count_marks("runs"), 1);
    assert_int_equal(count_marks("ends"), 1);
}

static void a_cancel_that_was_acknowledged_is_carried_out_after_a_kill(void **state)
{
    (void)state;
    start_service(service_slots_yaml(4, ""));
    const uint64_t id = submit("runs", "30", 0, "");
    const pid_t pid = marked_pid("runs");
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)id);
    stop_service(SIGKILL);
    start_again();
    wait_for(id, "state", "CA");
    assert_false(process_lives(pid));
}

static void after_a_reboot_jobs_run_again_that_may_and_others_fail_with_a_reason(void **state)
{
    (void)state;
    start_service(service_slots_yaml(4, ""));
    const uint64_t may = submit("may", "0.3", 0, ",\"requeue\":true"), not = submit("not", "0.3", 0, "");
    marked_pid("may");
    marked_pid("not");
    stop_service(SIGKILL);
    service_kill_shepherds();
    start_again();
    wait_for(not, "state", "F");
    expect_text("is gone");
    wait_for(may, "state", "CD");
    assert_string_equal(job_text(may, "attempts"), "2");
    assert_int_equal(count_marks("may"), 2);
    assert_int_equal(count_marks("not"), 1);
}

static void a_job_whose_request_the_cluster_no_longer_has_is_held_once_it_has_stopped(void **state)
{
    (void)state;
    static const char yaml[] = "virtual: true\n"
                               "cluster:\n"
                               "  network_gbs: 1\n"
                               "  nodes:\n"
                               "    - {name: n, cpu_cores: 100, memory_mib: 100000, link_gbs: 16,\n"
                               "       gpus: [{type: v100, count: 1}%s]}\n"
                               "jobs: {root: true, grace_s: 1}\n";
    char both[sizeof yaml + 40], one[sizeof yaml];
    snprintf(both, sizeof both, yaml, ", {type: a100, count: 1}");
    snprintf(one, sizeof one, yaml, "");
    start_service(both);
    const uint64_t id = submit("runs", "30", 0, ",\"gpus\":\"v100|a100\",\"requeue\":true");
    const uint64_t other = submit("other", "30", 0, ",\"gpus\":\"v100|a100\",\"requeue\":true");
    const pid_t pids[] = {marked_pid("runs"), marked_pid("other")};
    stop_service(SIGTERM);
    assert_true(service_write("c.yaml", one));
    start_again();
    for (int i = 0; i < 2; i++) {
        const uint64_t job = i == 0 ? id : other;
        if (strcmp(job_text(job, "stage"), "running") == 0)
            expect(200, NULL, "POST /v1/jobs/%llu/requeue", (unsigned long long)job);
        wait_for(job, "stage", "held");
        assert_string_equal(job_text(job, "attempts"), "1");
        assert_false(process_lives(pids[i]));
    }
}

static void a_drained_gpu_stays_so_over_a_restart(void **state)
{
    (void)state;
    start_service(service_slots_yaml(1, ""));
    expect(200, "{\"reason\":\"fan broken\"}", "POST /v1/gpus/0/drain");
    stop_service(SIGKILL);
    start_again();
    expect(200, NULL, "GET /v1/cluster");
    expect_text("\"state\":\"drained\"");
    expect_text("fan broken");
    const uint64_t id = submit("waits", "0", 0, "");
    nap_ms(100);
    assert_string_equal(job_text(id, "state"), "PD");
    expect(200, NULL, "POST /v1/gpus/0/resume");
    wait_for(id, "state", "CD");
}

/* Until the last reload is in force, or was refused, and said so. */
static void reload_and_wait(const char *said)
{
    assert_true(service_write("err", "")); /* what was said before does not count */
    kill(service.pid, SIGHUP);
    for (int i = 0; !strstr(service_said(), said); i++) {
        if (i > 5000)
            fail_msg("'%s' was not said, but: %s", said, service_said());
        nap_ms(2);
    }
}

static void another_policy_takes_over_jobs_that_run_and_wait(void **state)
{
    (void)state;
    start_service(service_slots_yaml(1, "policy: {name: easy}\n"));
    const uint64_t runs = submit("runs", "0.4", 4, ""), waits = submit("waits", "0", 0, "");
    const pid_t pid = marked_pid("runs");
    assert_true(service_write("c.yaml", service_slots_yaml(1, "policy: {name: sjf}\n")));
    reload_and_wait("read again: policy sjf");
    expect(200, NULL, "GET /v1/policies");
    expect_text("\"current\":\"sjf\"");
    assert_true(process_lives(pid));
    assert_string_equal(job_text(runs, "state"), "R");
    wait_for(waits, "state", "CD");
    assert_string_equal(job_text(runs, "exit_code"), "4");
    assert_int_equal(count_marks("runs"), 1);
}

/* Shortest first, by what is believed: "brisk" has the longer limit and takes less time. */
static const char *who_goes_first(void)
{
    submit("holder", "0.3", 0, ",\"time_limit_s\":5000");
    marked_pid("holder");
    const uint64_t slow = submit("tardy", "0.1", 0, ",\"time_limit_s\":100");
    const uint64_t fast = submit("brisk", "0", 0, ",\"time_limit_s\":3000");
    wait_for(slow, "state", "CD");
    wait_for(fast, "state", "CD");
    unlink(service_path("marks/holder"));
    return job_number(fast, "start_s") < job_number(slow, "start_s") ? "brisk" : "tardy";
}

static void what_was_learned_of_run_times_outlives_a_reload_a_stop_and_a_kill(void **state)
{
    (void)state;
    start_service(service_slots_yaml(1, "policy: {name: sjf}\n"));
    assert_string_equal(who_goes_first(), "tardy"); /* nothing was learned: by the limits */
    for (int i = 0; i < 4; i++) {
        wait_for(submit("tardy", "0.1", 0, ",\"time_limit_s\":100"), "state", "CD");
        wait_for(submit("brisk", "0", 0, ",\"time_limit_s\":3000"), "state", "CD");
    }
    assert_string_equal(who_goes_first(), "brisk");
    reload_and_wait("read again: policy sjf");
    assert_string_equal(who_goes_first(), "brisk");
    assert_true(service_write("c.yaml", service_slots_yaml(1, "policy: {name: easy}\n")));
    reload_and_wait("read again: policy easy");
    assert_true(service_write("c.yaml", service_slots_yaml(1, "policy: {name: sjf}\n")));
    reload_and_wait("read again: policy sjf");
    assert_string_equal(who_goes_first(), "brisk");
    for (int i = 0; i < 2; i++) {
        stop_service(i == 0 ? SIGTERM : SIGKILL);
        start_again();
        assert_string_equal(who_goes_first(), "brisk");
    }
}

static void a_configuration_that_is_wrong_changes_nothing_and_is_told(void **state)
{
    (void)state;
    start_service(service_slots_yaml(1, "policy: {name: easy}\n"));
    const uint64_t runs = submit("runs", "0.4", 0, "");
    assert_true(service_write("c.yaml", "policy: {name: nonsense}\n"));
    reload_and_wait("the configuration stays as it was");
    assert_non_null(strstr(service_said(), "nonsense"));
    assert_true(service_write("c.yaml", service_slots_yaml(2, "")));
    reload_and_wait("needs a restart");
    expect(400, NULL, "POST /v1/reload?x=1");
    expect(409, NULL, "POST /v1/reload");
    expect(200, NULL, "GET /v1/policies");
    expect_text("\"current\":\"easy\"");
    wait_for(runs, "state", "CD");
}

/* A second service of the same configuration, as another process: its exit status, and what it said in home/err. */
static void expect_refusal(const char *said)
{
    const struct service first = service;
    service_write("err", "");
    service_launch();
    assert_int_equal(service_exit_status(20000), 1);
    if (!strstr(service_read("err"), said))
        fail_msg("'%s' was not said, but: %s", said, service_said());
    service = first;
}

static void a_second_service_on_the_same_state_or_socket_is_refused(void **state)
{
    (void)state;
    char pid[32];
    start_service(service_slots_yaml(1, ""));
    snprintf(pid, sizeof pid, "%d", (int)service.pid);
    expect_refusal(pid);
    service.state = "other"; /* the same socket, with a state of its own */
    expect_refusal(service.socket);
    expect(200, NULL, "GET /healthz");
    const uint64_t id = submit("runs", "0", 0, "");
    wait_for(id, "state", "CD");
}

static void a_state_that_is_damaged_or_cannot_be_written_is_said_at_the_start(void **state)
{
    (void)state;
    start_service(service_slots_yaml(1, ""));
    const uint64_t id = submit("runs", "0", 0, "");
    wait_for(id, "state", "CD");
    stop_service(SIGTERM);
    const int fd = open(service_path("state/adlro.db"), O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    char junk[4096];
    memset(junk, 0x5a, sizeof junk);
    for (int page = 1; page < 4; page++)
        assert_int_equal(pwrite(fd, junk, sizeof junk, page * 4096L), sizeof junk);
    close(fd);
    expect_refusal("damaged");
    assert_int_equal(truncate(service_path("state/adlro.db"), 0), 0);
    assert_true(service_write("state/adlro.db", "this is no database at all, whoever wrote it into this file here..."));
    expect_refusal("adlro.db");
    remove_tree(service_path("state"));
    assert_true(service_write("state", "a file where the folder should be"));
    expect_refusal("state");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(jobs_run_on_when_the_service_ends_and_are_found_again),
        SERVICE_TEST(a_cancel_that_was_acknowledged_is_carried_out_after_a_kill),
        SERVICE_TEST(after_a_reboot_jobs_run_again_that_may_and_others_fail_with_a_reason),
        SERVICE_TEST(a_job_whose_request_the_cluster_no_longer_has_is_held_once_it_has_stopped),
        SERVICE_TEST(a_drained_gpu_stays_so_over_a_restart),
        SERVICE_TEST(another_policy_takes_over_jobs_that_run_and_wait),
        SERVICE_TEST(what_was_learned_of_run_times_outlives_a_reload_a_stop_and_a_kill),
        SERVICE_TEST(a_configuration_that_is_wrong_changes_nothing_and_is_told),
        SERVICE_TEST(a_second_service_on_the_same_state_or_socket_is_refused),
        SERVICE_TEST(a_state_that_is_damaged_or_cannot_be_written_is_said_at_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
