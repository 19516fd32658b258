/* What a waiting job is told (`adlro explain`, GET /v1/jobs/{id}/blockers), played out on a running service: each
 * sentence is followed by what it promises. */
#include "service_check.h"

#include <cjson/cJSON.h>
#include <string.h>

/* Two v100 and one a100, which do not exist: jobs sleep on them. */
static void start(const char *policy)
{
    char text[600];
    snprintf(text, sizeof text,
             "virtual: true\npolicy: {name: %s}\n"
             "cluster:\n  network_gbs: 1\n  nodes:\n"
             "    - {name: n, cpu_cores: 100, memory_mib: 100000, link_gbs: 16, gpus: [{type: v100, count: 2}]}\n"
             "    - {name: m, cpu_cores: 100, memory_mib: 100000, link_gbs: 16, gpus: [{type: a100, count: 1}]}\n"
             "jobs: {root: true, grace_s: 1}\nforecast: {futures: 0}\n",
             policy);
    start_service(text);
}

static uint64_t sleeps(const char *name, const char *gpus, int limit_s)
{
    char more[100];
    snprintf(more, sizeof more, ",\"gpus\":\"%s\",\"time_limit_s\":%d", gpus, limit_s);
    return submit(name, "60", 0, more);
}

static uint64_t runs(const char *name, const char *gpus, int limit_s)
{
    const uint64_t id = sleeps(name, gpus, limit_s);
    wait_for(id, "state", "R");
    return id;
}

static void cancel(uint64_t id)
{
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)id);
    wait_for(id, "state", "CA");
}

/* Waits until the answer about the job has the words, with its number in place of %llu. */
static void wait_blockers(uint64_t id, const char *words)
{
    char path[64];
    snprintf(path, sizeof path, "/v1/jobs/%llu/blockers", (unsigned long long)id);
    wait_text(path, words);
}

/* The labels of the jobs that have to end first, as "1 2". */
static void assert_blocked_by(uint64_t id, const char *labels)
{
    char got[100] = "";
    expect(200, NULL, "GET /v1/jobs/%llu/blockers", (unsigned long long)id);
    cJSON *json = client_json(&http);
    const cJSON *other, *room = cJSON_GetObjectItemCaseSensitive(json, "room");
    cJSON_ArrayForEach(other, cJSON_GetObjectItemCaseSensitive(room, "jobs"))
    {
        const char *label = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(other, "label"));
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", got[0] ? " " : "", label ? label : "?");
    }
    assert_string_equal(got, labels);
    cJSON_Delete(json);
}

static void the_jobs_named_have_to_end_and_then_it_starts(void **state)
{
    (void)state;
    start("easy");
    const uint64_t first = runs("first", "v100", 600), second = runs("second", "v100", 900);
    const uint64_t waits = sleeps("waits", "v100:2", 600);
    wait_blockers(waits, "\"queued\":true");
    assert_blocked_by(waits, "2 1"); /* the last end first */
    cancel(first);                   /* of two that are named, one is not enough */
    wait_blockers(waits, "\"job_count\":1,\"jobs\":[{\"label\":\"2\"");
    assert_string_equal(job_text(waits, "state"), "PD");
    cancel(second);
    wait_for(waits, "state", "R");
}

static void room_that_the_policy_leaves_is_taken_when_its_reason_is_gone(void **state)
{
    (void)state;
    start("fcfs");
    runs("first", "v100", 600);
    const uint64_t ahead = sleeps("ahead", "v100:2", 600), waits = sleeps("waits", "v100", 600);
    wait_blockers(waits, "\"room\":{\"type\":\"v100\",\"node\":\"n\",\"gpus\":1,\"now\":true");
    expect(200, NULL, "GET /v1/jobs/%llu", (unsigned long long)waits);
    expect_text("1 job is before it");
    cancel(ahead);
    wait_for(waits, "state", "R");
}

static void where_there_is_no_room_no_end_of_a_job_makes_any(void **state)
{
    (void)state;
    start("easy");
    const uint64_t first = runs("first", "v100", 600);
    const uint64_t waits = sleeps("waits", "v100:2", 600);
    expect(200, "{\"reason\":\"fan\"}", "POST /v1/nodes/n/drain");
    wait_blockers(waits, "\"queued\":true,\"room\":null");
    cancel(first);
    wait_blockers(waits, "\"queued\":true,\"room\":null");
    assert_string_equal(job_text(waits, "state"), "PD");
    expect(200, NULL, "POST /v1/nodes/n/resume");
    wait_for(waits, "state", "R");
}

static void a_request_that_would_find_room_now_does(void **state)
{
    (void)state;
    start("easy");
    runs("first", "v100", 600);
    const uint64_t waits = sleeps("waits", "v100:2", 600);
    wait_blockers(waits, "{\"change\":\"gpus\",\"type\":\"v100\",\"node\":\"n\",\"gpus\":1,\"now\":true");
    runs("half", "v100", 60); /* by backfill: it ends before the first does */
    const uint64_t other = sleeps("other", "v100", 600);
    wait_blockers(other, "{\"change\":\"type\",\"type\":\"a100\",\"node\":\"m\",\"gpus\":1,\"now\":true");
    runs("a100", "a100", 600);
    assert_string_equal(job_text(waits, "state"), "PD");
    assert_string_equal(job_text(other, "state"), "PD");
}

static void what_runs_instead_came_later_and_says_why_it_was_preferred(void **state)
{
    char instead[60];
    (void)state;
    start("easy");
    const uint64_t first = runs("first", "v100", 600);
    const uint64_t waits = sleeps("waits", "v100:2", 600), later = runs("later", "v100", 60);
    snprintf(instead, sizeof instead, "\"instead\":[{\"label\":\"%llu\"", (unsigned long long)later);
    wait_blockers(waits, instead);
    wait_blockers(waits, "does not delay job 2"); /* known when the decision is written */
    cancel(first);                                /* without the one that runs instead it would start now */
    wait_blockers(waits, "\"job_count\":1,\"jobs\":[{\"label\":\"3\"");
    assert_string_equal(job_text(waits, "state"), "PD");
    cancel(later);
    wait_for(waits, "state", "R");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(the_jobs_named_have_to_end_and_then_it_starts),
        SERVICE_TEST(room_that_the_policy_leaves_is_taken_when_its_reason_is_gone),
        SERVICE_TEST(where_there_is_no_room_no_end_of_a_job_makes_any),
        SERVICE_TEST(a_request_that_would_find_room_now_does),
        SERVICE_TEST(what_runs_instead_came_later_and_says_why_it_was_preferred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
