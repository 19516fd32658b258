/* The service on a disk that fills up, or that becomes read-only: a small tmpfs of its own. Mounting takes privileges;
 * without them the tests are skipped, and say so. */
#include "service_check.h"
#include "small_disk.h"

static int remove_mounted_service(void **state)
{
    if (service.pid > 0)
        service_signal(SIGKILL);
    service_kill_shepherds();
    small_disk_unmount();
    return remove_service(state);
}

/* A service whose state is a disk of its own. */
static void start_on_small_disk(void)
{
    assert_true(service_make(service_slots_yaml(4, "")));
    if (!small_disk_mount(service_path("state")))
        skip();
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

/* The service shows that it is well, or that it is not. */
static void wait_for_health(int status)
{
    for (int i = 0; client_ask(&http, "GET /healthz", NULL) != status; i++) {
        if (i > 3000)
            fail_msg("health is not %d: %.200s", status, http.body);
        nap_ms(5);
    }
}

static void expect_name_count(const char *name, int count)
{
    char quoted[64];
    int found = 0;
    snprintf(quoted, sizeof quoted, "\"name\":\"%s\"", name);
    expect(200, NULL, "GET /v1/jobs?state=all&limit=1000");
    for (const char *at = http.body; (at = strstr(at, quoted)); at++)
        found++;
    if (found != count)
        fail_msg("%d jobs %s, not %d", found, name, count);
}

static void on_a_full_disk_nothing_is_lost_and_nothing_half_done(void **state)
{
    (void)state;
    char name[16];
    int accepted = 0, refused = 0;
    start_on_small_disk();
    const uint64_t runs = submit("runs", "0.3", 5, ",\"time_limit_s\":60");
    marked_pid("runs");
    small_disk_fill();
    for (int i = 0; i < 400 && refused < 3; i++) {
        snprintf(name, sizeof name, "j%d", i);
        const int status = service_submit(&http, name, "0", 0, ",\"array\":\"0-4\"");
        assert_true(status == 201 || status == 507 || status == 503);
        if (status == 201)
            accepted = i + 1;
        else
            refused++;
        small_disk_fill();
    }
    assert_int_equal(refused, 3);
    expect_text("full");
    wait_for_health(503);
    nap_ms(400); /* the job has ended by now */
    expect(200, NULL, "GET /v1/jobs?limit=1");
    small_disk_clear();
    wait_for_health(200);
    wait_for(runs, "state", "F");
    assert_string_equal(job_text(runs, "exit_code"), "5");
    for (int i = 0; i < accepted + 3; i++) {
        snprintf(name, sizeof name, "j%d", i);
        for (int k = 0; i < accepted && count_marks(name) < 5; k++) {
            assert_true(k < 5000);
            nap_ms(5);
        }
        assert_int_equal(count_marks(name), i < accepted ? 5 : 0);
        expect_name_count(name, i < accepted ? 5 : 0);
    }
    assert_int_equal(count_marks("runs"), 1);
    const uint64_t after = submit("after", "0", 0, "");
    wait_for(after, "state", "CD");
}

/* The disk stays full until every shepherd has left its result and is gone. */
static void a_job_that_ends_on_a_full_disk_has_ended_and_does_not_run_again(void **state)
{
    (void)state;
    start_on_small_disk();
    const uint64_t good = submit("good", "0.3", 0, ",\"requeue\":true");
    const uint64_t bad = submit("bad", "0.3", 7, ",\"requeue\":true");
    char after[60];
    snprintf(after, sizeof after, ",\"after_ok\":[%llu]", (unsigned long long)good);
    const uint64_t next = submit("next", "0", 0, after);
    marked_pid("good");
    marked_pid("bad");
    small_disk_fill();
    for (int i = 0; service_shepherds(NULL) > 0; i++) {
        if (i > 4000)
            fail_msg("a shepherd still waits for room on the disk");
        small_disk_fill();
        nap_ms(5);
    }
    small_disk_clear();
    wait_for_health(200);
    wait_for(good, "state", "CD");
    wait_for(bad, "state", "F");
    assert_string_equal(job_text(bad, "exit_code"), "7");
    wait_for(next, "state", "CD");
    assert_int_equal(count_marks("good"), 1);
    assert_int_equal(count_marks("bad"), 1);
}

static void fill_until_submissions_are_refused(void)
{
    int status = 201;
    for (int i = 0; status == 201; i++) {
        assert_true(i < 400);
        small_disk_fill();
        status = service_submit(&http, "more", "0", 0, ",\"hold\":true");
    }
    assert_int_equal(status, 507);
    expect_text("full");
    small_disk_fill(); /* what the refusal left */
}

static void expect_cancelled_held_and_drained(uint64_t runs, uint64_t waits, uint64_t held)
{
    wait_for(runs, "state", "CA");
    assert_string_equal(job_text(waits, "stage"), "held");
    wait_for(held, "state", "CA");
    expect(200, NULL, "GET /v1/cluster");
    expect_text("broken fan");
}

static void on_a_full_disk_jobs_are_cancelled_and_held_and_gpus_drained_for_good(void **state)
{
    (void)state;
    start_on_small_disk();
    const uint64_t runs = submit("runs", "30", 0, "");
    const pid_t pid = marked_pid("runs");
    const uint64_t held = submit("held", "0", 0, ",\"hold\":true");
    const uint64_t waits = submit("waits", "0", 0, ",\"after\":[1]");
    fill_until_submissions_are_refused();
    expect(200, NULL, "POST /v1/jobs/%llu/hold", (unsigned long long)waits);
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)runs);
    expect(200, NULL, "POST /v1/jobs/%llu/release", (unsigned long long)held);
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)held);
    expect(200, "{\"reason\":\"broken fan\"}", "POST /v1/gpus/3/drain");
    expect_cancelled_held_and_drained(runs, waits, held);
    assert_false(process_lives(pid));
    assert_int_equal(service_submit(&http, "more", "0", 0, ""), 507);
    expect(503, NULL, "GET /healthz");
    service_signal(SIGKILL);
    start_again(); /* with a disk that is as full as before */
    expect_cancelled_held_and_drained(runs, waits, held);
    assert_int_equal(service_submit(&http, "more", "0", 0, ""), 507);
    small_disk_clear();
    wait_for_health(200);
    const uint64_t after = submit("after", "0", 0, "");
    wait_for(after, "state", "CD");
}

/* ---- a state that goes away ---- */

static void a_state_that_was_moved_away_is_noticed_and_nothing_is_acknowledged(void **state)
{
    (void)state;
    start_service(service_slots_yaml(2, ""));
    wait_for(submit("before", "0", 0, ""), "state", "CD");
    assert_int_equal(rename(service_path("state"), service_path("away")), 0);
    assert_int_equal(service_submit(&http, "lost", "0", 0, ""), 503);
    expect_text("the directory was moved, replaced or deleted");
    expect(503, NULL, "GET /healthz");
    assert_int_equal(mkdir(service_path("state"), 0700), 0); /* another one in its place is not it */
    assert_int_equal(service_submit(&http, "lost", "0", 0, ""), 503);
    assert_int_equal(rmdir(service_path("state")), 0);
    assert_int_equal(rename(service_path("away"), service_path("state")), 0);
    wait_for_health(200);
    wait_for(submit("after", "0", 0, ""), "state", "CD");
    expect_name_count("lost", 0);
}

static void a_database_that_was_deleted_is_noticed_though_nobody_submits(void **state)
{
    (void)state;
    static const char *const names[] = {"state/adlro.db", "state/adlro.db-wal"};
    for (int i = 0; i < 2; i++) {
        start_service(service_slots_yaml(2, ""));
        submit("before", "0", 0, ",\"hold\":true");
        assert_int_equal(rename(service_path(names[i]), service_path("kept")), 0);
        wait_for_health(503);
        expect_text("was moved, replaced or deleted");
        assert_int_equal(service_submit(&http, "lost", "0", 0, ""), 503);
        assert_int_equal(rename(service_path("kept"), service_path(names[i])), 0);
        wait_for_health(200);
        remove_service(NULL);
    }
}

static void a_disk_that_becomes_read_only_refuses_and_comes_back(void **state)
{
    (void)state;
    start_on_small_disk();
    const uint64_t before = submit("before", "0", 0, "");
    wait_for(before, "state", "CD");
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGTERM), 0);
    small_disk_set_read_only(true);
    service_launch();
    assert_int_equal(service_exit_status(20000), 1);
    assert_non_null(strstr(service_said(), "must be able to write"));
    small_disk_set_read_only(false);
    start_again();
    assert_string_equal(job_text(before, "state"), "CD");
    const uint64_t after = submit("after", "0", 0, "");
    wait_for(after, "state", "CD");
}

#define MOUNTED_TEST(f) cmocka_unit_test_teardown(f, remove_mounted_service)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOUNTED_TEST(on_a_full_disk_nothing_is_lost_and_nothing_half_done),
        MOUNTED_TEST(a_job_that_ends_on_a_full_disk_has_ended_and_does_not_run_again),
        MOUNTED_TEST(on_a_full_disk_jobs_are_cancelled_and_held_and_gpus_drained_for_good),
        MOUNTED_TEST(a_disk_that_becomes_read_only_refuses_and_comes_back),
        SERVICE_TEST(a_state_that_was_moved_away_is_noticed_and_nothing_is_acknowledged),
        SERVICE_TEST(a_database_that_was_deleted_is_noticed_though_nobody_submits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
