/* What one user can make the state grow by: arrays are kept once, quotas hold, and ended jobs go in time. */
#include "service_check.h"

#include "store/store.h"

#include <pthread.h>

static off_t state_bytes(void)
{
    static const char *const names[] = {"state/adlro.db", "state/adlro.db-wal"};
    off_t sum = 0;
    struct stat about;
    for (int i = 0; i < 2; i++)
        sum += stat(service_path(names[i]), &about) ? 0 : about.st_size;
    return sum;
}

/* A held job, or array, with so many bytes of environment. The HTTP status. */
static int submit_large(const char *array, size_t bytes)
{
    static char body[5 << 20];
    int at = snprintf(body, sizeof body,
                      "{\"name\":\"large\",\"directory\":\"%s\",\"command\":[\"true\"],\"hold\":true,%s%s%s"
                      "\"environment\":[\"A=",
                      service.home, array ? "\"array\":\"" : "", array ? array : "", array ? "\"," : "");
    memset(body + at, 'x', bytes);
    snprintf(body + at + bytes, sizeof body - (size_t)at - bytes, "\"]}");
    return client_ask(&http, "POST /v1/jobs", body);
}

static void expect_large(int status, const char *array, size_t bytes)
{
    const int got = submit_large(array, bytes);
    if (got != status)
        fail_msg("%d instead of %d: %.300s", got, status, got > 0 ? http.body : service_said());
}

static void an_array_of_300_jobs_with_a_megabyte_each_writes_a_few_megabytes(void **state)
{
    (void)state;
    start_service(service_slots_yaml(2, ""));
    const off_t before = state_bytes();
    expect_large(201, "0-299", 1 << 20);
    const uint64_t first = (uint64_t)client_number(&http, "id", 0);
    assert_in_range(state_bytes() - before, 1 << 20, 6 << 20);
    service_signal(SIGTERM);
    start_again(); /* and they are all there afterwards */
    for (int i = 0; i < 300; i += 299) {
        assert_string_equal(job_text(first + (uint64_t)i, "name"), "large");
        expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)first + (unsigned)i);
    }
    expect_large(400, "0-9999", 1 << 20);
    expect_text("array: 10000 jobs of 1.0 MiB come to 10");
    expect_text("and at most 1024 are possible");
}

/* A service with these settings of jobs. */
static void start_with(const char *jobs)
{
    char yaml[200];
    snprintf(yaml, sizeof yaml, "virtual: true\njobs: {grace_s: 1, %s}\n", jobs);
    start_service(yaml);
}

static void a_user_has_so_many_live_jobs_and_no_more(void **state)
{
    (void)state;
    start_with("max_per_user: 5");
    expect_large(201, "0-3", 10);
    const uint64_t first = (uint64_t)client_number(&http, "id", 0);
    expect_large(409, "0-1", 10);
    expect_text("has 4 jobs that wait or run, this submission has 2, and at most 5 are allowed (jobs.max_per_user");
    expect_large(201, NULL, 10);
    expect_large(409, NULL, 10);
    service_signal(SIGTERM);
    start_again();
    expect_large(409, NULL, 10);
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)first);
    expect_large(201, NULL, 10);
}

static void *submit_one(void *status)
{
    struct service_client client = client_make(service.socket);
    *(int *)status = service_submit(&client, "one", "0", 0, ",\"hold\":true");
    client_clear(&client);
    return NULL;
}

static void submissions_at_the_same_time_are_counted_together(void **state)
{
    (void)state;
    enum { CLIENTS = 24 };
    pthread_t threads[CLIENTS];
    int status[CLIENTS], accepted = 0;
    start_with("max_per_user: 5");
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, submit_one, &status[i]), 0);
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(status[i] == 201 || status[i] == 409);
        accepted += status[i] == 201;
    }
    assert_int_equal(accepted, 5);
}

/* The state is in memory, if that is possible: each change is synced. */
static void a_job_is_changed_a_thousand_times_and_then_only_cancelled(void **state)
{
    (void)state;
    char memory[] = "/dev/shm/adlro-quota-XXXXXX";
    assert_true(service_make(service_slots_yaml(2, "")));
    const bool fast = mkdtemp(memory) && symlink(memory, service_path("memory")) == 0;
    service.state = fast ? "memory/state" : NULL;
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
    const uint64_t id = submit("held", "0", 0, ",\"hold\":true");
    int status = 200, changes = -1;
    for (; status == 200 && changes < 1100; changes++)
        status = client_askf(&http, changes % 2 ? "{\"priority\":0.1}" : "{\"priority\":0.2}", "PATCH /v1/jobs/%llu",
                             (unsigned long long)id);
    assert_int_equal(status, 409);
    expect_text("was changed a thousand times already");
    assert_int_equal(changes, 1000);
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)id);
    service_remove();
    if (fast)
        remove_tree(memory);
}

static void live_jobs_take_so_many_bytes_and_ended_ones_give_way(void **state)
{
    (void)state;
    start_with("mib_per_user: 2");
    expect_large(201, "0-9", 900 << 10);
    const uint64_t array = (uint64_t)client_number(&http, "id", 0);
    expect_large(201, NULL, 900 << 10);
    const uint64_t alone = (uint64_t)client_number(&http, "id", 0);
    expect_large(409, NULL, 900 << 10);
    expect_text(
        "take 1.8 MiB of the state, this submission takes 0.9, and at most 2 MiB are allowed (jobs.mib_per_user");
    for (uint64_t id = array; id < array + 9; id++)
        expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)id);
    expect_large(409, NULL, 900 << 10); /* one of the array is left and has all of it */
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)array + 9);
    for (int i = 0; i < 8; i++) {
        expect_large(201, NULL, 900 << 10);
        const uint64_t id = (uint64_t)client_number(&http, "id", 0);
        expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)id);
    }
    expect(404, NULL, "GET /v1/jobs/%llu", (unsigned long long)array);
    assert_string_equal(job_text(alone, "state"), "PD");
    assert_true(state_bytes() < 12 << 20);
}

/* Retention is a tenth of a second here, and looked at once a minute: at each start as well. */
static void ended_jobs_are_deleted_after_their_time_and_those_that_wait_for_them_are_not_harmed(void **state)
{
    (void)state;
    char after[80];
    start_with("retention_days: 1.2e-6");
    const uint64_t ended = submit("ended", "0", 0, ""), lasts = submit("lasts", "60", 0, "");
    snprintf(after, sizeof after, ",\"after_ok\":[%llu,%llu]", (unsigned long long)ended, (unsigned long long)lasts);
    const uint64_t waits = submit("waits", "0", 0, after);
    for (int i = 0; client_askf(&http, NULL, "GET /v1/jobs/%llu", (unsigned long long)ended) != 404; i++) {
        assert_true(i < 40);
        nap_ms(150);
        service_signal(SIGTERM);
        start_again();
    }
    assert_string_equal(job_text(waits, "stage"), "dependent");
    assert_string_equal(job_text(lasts, "state"), "R");
    assert_int_equal(service_submit(&http, "late", "0", 0, ",\"after\":[1]"), 400);
    expect_text("after: job 1 ended so long ago that it was deleted (jobs.retention_days");
    expect(404, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)ended);
    expect_text("was deleted");
    assert_int_equal(service_submit(&http, "never", "0", 0, ",\"after\":[99]"), 400);
    expect_text("there is no job 99");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(an_array_of_300_jobs_with_a_megabyte_each_writes_a_few_megabytes),
        SERVICE_TEST(a_user_has_so_many_live_jobs_and_no_more),
        SERVICE_TEST(submissions_at_the_same_time_are_counted_together),
        SERVICE_TEST(a_job_is_changed_a_thousand_times_and_then_only_cancelled),
        SERVICE_TEST(live_jobs_take_so_many_bytes_and_ended_ones_give_way),
        SERVICE_TEST(ended_jobs_are_deleted_after_their_time_and_those_that_wait_for_them_are_not_harmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
