/* The service with a Slurm cluster underneath, as users see it through REST: the adapter is a script that says what a
 * test wants and keeps what it is told. Real daemons: tests/slurm/check_slurm. */
#include "service_check.h"
#include "slurm_fixture.h"

#define JOB(id, state, rest)                                                                                           \
    "{\"ev\":\"job\",\"id\":" id ",\"slurm_id\":" id ",\"user\":\"ann\",\"uid\":1000,\"gid\":1000,\"name\":\"train\"," \
    "\"ours\":true,\"placed\":false,\"submit_s\":1700000000,\"state\":\"" state "\"," rest "}"
#define ASKS_VOLTA  "\"request\":\"volta:1\",\"nodes_min\":1"
#define PENDING(id) JOB(id, "PD", "\"eligible\":true,\"why\":\"\"," ASKS_VOLTA)
#define BARRED(id)  JOB(id, "PD", "\"eligible\":false,\"why\":\"its dependency\"," ASKS_VOLTA)
#define RUNNING(id, node)                                                                                              \
    JOB(id, "R",                                                                                                       \
        "\"eligible\":false,\"why\":\"\"," ASKS_VOLTA ",\"gpus\":[{\"node\":\"" node                                   \
        "\",\"type\":\"volta\",\"count\":1}]")
#define ENDED(id, state, code) JOB(id, state, "\"eligible\":false,\"why\":\"\"," ASKS_VOLTA ",\"exit_code\":" code)

static void say(const char *line)
{
    FILE *file = fopen(service_path("lines"), "a");
    assert_non_null(file);
    fprintf(file, "%s\n", line);
    fclose(file);
}

/* Waits until the adapter was told these words; returns what follows them, valid until the next call. */
static const char *wait_told(const char *words)
{
    const int64_t until_us = service_now_us() + INT64_C(30000000);
    for (;;) {
        const char *found = strstr(service_read("told"), words);
        if (found && strchr(found, '\n'))
            return found + strlen(words);
        if (service_now_us() > until_us)
            fail_msg("the adapter was not told %s but: %s", words, service_read("told"));
        nap_ms(2);
    }
}

/* Answers the order with these words; every order has a number of its own. */
static void answer(const char *words, bool good)
{
    char line[200];
    const int seq = (int)strtol(wait_told(words), NULL, 10);
    assert_true(seq > 0);
    snprintf(line, sizeof line, "{\"ev\":\"done\",\"seq\":%d,\"ok\":%s,\"error\":\"no\"}", seq,
             good ? "true" : "false");
    say(line);
}

static void start_cluster_in(const char *mode, const char *more)
{
    char yaml[300];
    assert_true(service_make(""));
    snprintf(yaml, sizeof yaml,
             "engine: slurm\npolicy: {name: fcfs}\nslurm: {partitions: [gpu], mode: %s, adapter: %s, wait_s: 60}\n",
             mode, service_path("adapter"));
    assert_true(service_write("c.yaml", yaml));
    assert_true(service_write("adapter", "#!/bin/sh\n"
                                         "cd \"$(dirname \"$0\")\"\n"
                                         "exec 3<&0\n"
                                         "cat <&3 >>told &\n"
                                         "exec tail -n +1 -s 0.01 --pid=$PPID -f lines\n"));
    assert_int_equal(chmod(service_path("adapter"), 0755), 0);
    assert_true(service_write("told", ""));
    say("{\"ev\":\"up\",\"version\":\"24.11\",\"cluster\":\"test\"}");
    for (size_t i = 0; i < sizeof fixture_nodes / sizeof *fixture_nodes; i++)
        say(fixture_nodes[i]);
    if (more)
        say(more);
    say("{\"ev\":\"synced\",\"seq\":1}");
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

static void start_cluster(const char *more)
{
    start_cluster_in("act", more);
}

static void the_comment_of_a_job_that_waits_has_its_expected_start(void **state)
{
    (void)state;
    start_cluster_in("advise", NULL);
    for (int i = 1; i <= 5; i++) { /* all GPUs of that type */
        char line[600];
        snprintf(line, sizeof line, RUNNING("%d", "%s"), i, i, i < 3 ? "v0" : i < 5 ? "v1" : "m0");
        say(line);
    }
    wait_known(5);
    wait_for(5, "state", "R");
    say(PENDING("7"));
    wait_told("\"op\":\"comment\"");
    wait_told("\"job\":7,\"text\":\"adlro: expected to start 20");
}

static void a_job_of_the_cluster_is_placed_runs_and_ends_with_its_code(void **state)
{
    (void)state;
    start_cluster(NULL);
    say(PENDING("7"));
    answer("\"op\":\"place\",\"seq\":", true);
    wait_told("\"job\":7,\"nodes\":[{\"node\":\"m0\",\"gpus\":1}],\"type\":\"volta\""); /* the fullest */
    say(RUNNING("7", "m0"));
    wait_for(7, "stage", "running");
    assert_string_equal(job_text(7, "state"), "R");
    assert_string_equal(job_text(7, "user"), "ann");
    assert_string_equal(job_text(7, "name"), "train");
    assert_true(job_number(7, "start_s") > 0);
    expect_text("\"node\":\"m0\"");
    say(ENDED("7", "F", "3"));
    wait_for(7, "state", "F");
    assert_string_equal(job_text(7, "exit_code"), "3");
    expect(200, NULL, "GET /v1/jobs/7/events");
    expect_text("\"kind\":\"end\"");
    expect_text("\"kind\":\"start\"");
    expect_text("\"kind\":\"begin\"");
}

static void a_job_that_was_placed_waits_until_slurm_has_started_it(void **state)
{
    (void)state;
    start_cluster(NULL);
    say(PENDING("7"));
    answer("\"op\":\"place\",\"seq\":", true);
    wait_for(7, "stage", "placed");
    assert_string_equal(job_text(7, "state"), "PD");
    say(RUNNING("7", "v0"));
    wait_for(7, "stage", "running");
    assert_string_equal(job_text(7, "state"), "R");
}

static void a_job_that_slurm_bars_waits_for_slurms_reason_until_it_may_start(void **state)
{
    (void)state;
    start_cluster(BARRED("7"));
    say(PENDING("8"));
    answer("\"op\":\"place\",\"seq\":", true);
    wait_told("\"job\":8,");
    say(RUNNING("8", "v0"));
    wait_for(8, "state", "R");
    say(PENDING("9"));
    wait_told("\"job\":9,"); /* it was decided about since */
    wait_known(7);
    assert_string_equal(job_text(7, "reason"), "its dependency");
    assert_null(strstr(service_read("told"), "\"job\":7,"));
    say(PENDING("7"));
    wait_told("\"job\":7,");
    wait_for(7, "stage", "placed");
}

static void a_job_whose_request_is_held_back_later_is_barred_too(void **state)
{
    (void)state;
    start_cluster(NULL);
    for (int i = 1; i <= 6; i++) { /* all GPUs of that type */
        char line[600];
        snprintf(line, sizeof line, PENDING("%d"), i, i);
        say(line);
    }
    wait_known(6);
    wait_for(6, "state", "PD");
    say(BARRED("6"));
    wait_for(6, "reason", "its dependency");
    say(PENDING("6"));
    const int64_t until_us = service_now_us() + INT64_C(30000000);
    while (strcmp(job_text(6, "reason"), "its dependency") == 0) {
        assert_true(service_now_us() < until_us);
        nap_ms(3);
    }
}

static void a_job_that_slurm_starts_by_itself_is_shown_where_it_runs(void **state)
{
    (void)state;
    start_cluster(BARRED("7"));
    wait_known(7);
    say(RUNNING("7", "v1"));
    wait_for(7, "state", "R");
    assert_string_equal(job_text(7, "state"), "R");
    expect_text("\"node\":\"v1\"");
    expect(200, NULL, "GET /v1/jobs/7/events");
    expect_text("\"kind\":\"start\"");
    assert_null(strstr(service_read("told"), "\"op\":\"place\""));
    for (int i = 8; i <= 12; i++) { /* as many as GPUs of the type are left, and one */
        char line[600];
        snprintf(line, sizeof line, PENDING("%d"), i, i);
        say(line);
    }
    wait_told("\"job\":11,");
    wait_known(12);
    assert_null(strstr(service_read("told"), "\"job\":12,"));
}

static void a_job_that_runs_elsewhere_than_it_was_placed_is_moved(void **state)
{
    (void)state;
    start_cluster(NULL);
    say(PENDING("7"));
    answer("\"op\":\"place\",\"seq\":", true);
    wait_told("\"node\":\"m0\"");
    say(RUNNING("7", "v1"));
    wait_for(7, "state", "R");
    const int64_t until_us = service_now_us() + INT64_C(30000000);
    while (job_text(7, "id"), !strstr(http.body, "\"node\":\"v1\"")) {
        assert_true(service_now_us() < until_us);
        nap_ms(3);
    }
    expect(200, NULL, "GET /v1/jobs/7/events");
    expect_text("\"kind\":\"move\"");
}

static void a_waiting_job_that_its_user_cancels_in_slurm_ends(void **state)
{
    (void)state;
    start_cluster(BARRED("7"));
    wait_known(7);
    say(ENDED("7", "CA", "0"));
    wait_for(7, "state", "CA");
}

static void a_job_that_asks_for_something_else_is_queued_anew(void **state)
{
    (void)state;
    start_cluster(BARRED("7"));
    wait_known(7);
    say(JOB("7", "PD", "\"eligible\":true,\"why\":\"\",\"request\":\"turing:1\",\"nodes_min\":1"));
    wait_told("\"job\":7,\"nodes\":[{\"node\":\"t0\",\"gpus\":1}],\"type\":\"turing\"");
}

static void a_job_that_ran_before_the_service_began_is_taken_up(void **state)
{
    (void)state;
    start_cluster(RUNNING("7", "v1"));
    wait_known(7);
    wait_for(7, "state", "R");
    expect_text("\"node\":\"v1\"");
    say(ENDED("7", "CD", "0"));
    wait_for(7, "state", "CD");
}

static void a_cancellation_goes_to_slurm_and_the_job_ends_when_slurm_says_so(void **state)
{
    (void)state;
    start_cluster(NULL);
    say(PENDING("7"));
    answer("\"op\":\"place\",\"seq\":", true);
    say(RUNNING("7", "v0"));
    wait_for(7, "stage", "running");
    expect(200, NULL, "DELETE /v1/jobs/7");
    answer("\"op\":\"cancel\",\"seq\":", true);
    assert_string_equal(job_text(7, "state"), "R");
    say(ENDED("7", "CA", "0"));
    wait_for(7, "state", "CA");
}

#define METERED(joules)                                                                                                \
    "{\"ev\":\"node\",\"name\":\"v0\",\"usable\":true,\"why\":\"\",\"cpus\":8,\"memory_mib\":16000,\"meter\":"         \
    "\"gpus\","                                                                                                        \
    "\"joules\":" joules                                                                                               \
    ",\"watts\":200,\"read_s\":1700000010,\"gpus\":[{\"type\":\"volta\",\"count\":2,\"used\":0}]}"

static void what_the_meter_of_a_node_says_is_the_power_of_its_gpus(void **state)
{
    (void)state;
    start_cluster(METERED("1000"));
    say(METERED("3000"));
    const int64_t until_us = service_now_us() + INT64_C(30000000);
    double power_w = 0;
    while (power_w <= 0) {
        expect(200, NULL, "GET /v1/cluster");
        power_w = client_number(&http, "power_w", 0);
        assert_true(service_now_us() < until_us);
        nap_ms(3);
    }
    assert_true(power_w > 199.9 && power_w < 200.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(the_comment_of_a_job_that_waits_has_its_expected_start),
        SERVICE_TEST(a_job_of_the_cluster_is_placed_runs_and_ends_with_its_code),
        SERVICE_TEST(a_job_that_was_placed_waits_until_slurm_has_started_it),
        SERVICE_TEST(a_job_that_slurm_bars_waits_for_slurms_reason_until_it_may_start),
        SERVICE_TEST(a_job_whose_request_is_held_back_later_is_barred_too),
        SERVICE_TEST(a_job_that_slurm_starts_by_itself_is_shown_where_it_runs),
        SERVICE_TEST(a_job_that_runs_elsewhere_than_it_was_placed_is_moved),
        SERVICE_TEST(a_waiting_job_that_its_user_cancels_in_slurm_ends),
        SERVICE_TEST(a_job_that_asks_for_something_else_is_queued_anew),
        SERVICE_TEST(a_job_that_ran_before_the_service_began_is_taken_up),
        SERVICE_TEST(a_cancellation_goes_to_slurm_and_the_job_ends_when_slurm_says_so),
        SERVICE_TEST(what_the_meter_of_a_node_says_is_the_power_of_its_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
