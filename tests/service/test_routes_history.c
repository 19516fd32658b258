/* What happened so far, over REST: the timeline of a job, the runs on a GPU, what users used. */
#include "routes_fixture.h"

#include <inttypes.h>

/* An event this many seconds before now. */
static void happen(double ago_s, const char *kind, uint64_t job, const char *payload)
{
    const struct adl_store_event event = {
        .time_us = ROUTES_NOW_US - (int64_t)(ago_s * 1e6), .kind = kind, .job = job, .payload = payload};
    struct adl_error err = {{0}};
    assert_int_equal(adl_store_event_append(fixture->store, &event, NULL, &err), ADL_OK);
}

static void measure(double ago_s, const char *gpu, double utilization, double power_w)
{
    struct adl_store_sample sample = {.time_us = ROUTES_NOW_US - (int64_t)(ago_s * 1e6), .gpu = gpu};
    struct adl_error err = {{0}};
    sample.readings.missing = ~(1u << ADL_READ_UTILIZATION | 1u << ADL_READ_POWER);
    sample.readings.value[ADL_READ_UTILIZATION] = (float)utilization;
    sample.readings.value[ADL_READ_POWER] = (float)power_w;
    assert_int_equal(adl_store_sample_append(fixture->store, &sample, &err), ADL_OK);
}

static cJSON *get(const char *path)
{
    return routes_json(fixture, "GET", path, NULL, 200);
}

static const cJSON *item(const cJSON *json, const char *list, int index)
{
    const cJSON *it = cJSON_GetArrayItem(routes_member(json, list), index);
    assert_non_null(it);
    return it;
}

/* "waiting running ...", with the seconds that each took. */
static void assert_phases(const cJSON *timeline, const char *expected)
{
    char got[400] = "";
    for (const cJSON *phase = routes_member(timeline, "phases")->child; phase; phase = phase->next) {
        const cJSON *until = routes_member(phase, "until_s");
        const size_t at = strlen(got);
        snprintf(got + at, sizeof got - at, "%s%s", at ? " " : "", routes_string(phase, "phase"));
        if (cJSON_IsNumber(until))
            snprintf(got + strlen(got), sizeof got - strlen(got), ":%.0f",
                     until->valuedouble - routes_number(phase, "from_s"));
    }
    assert_string_equal(got, expected);
}

static void a_timeline_says_when_a_job_waited_ran_and_was_stopped_and_why(void **state)
{
    (void)state;
    happen(80, "start", 1, "{\"gpus\":\"box:v100#1\",\"why\":\"fits\",\"waited\":\"capacity: no GPU is free\"}");
    happen(60, "preempt", 1, "{\"gpus\":\"box:v100#1\",\"why\":\"makes room\"}");
    happen(50, "evict", 1, "{\"why\":\"requeued: makes room\"}");
    happen(2.5, "start", 1, "{\"gpus\":\"box:v100#0\",\"why\":\"fits again\"}");
    cJSON *timeline = get("/v1/jobs/1/timeline");
    assert_phases(timeline, "waiting:20 running:20 stopping:10 waiting:48 running");
    assert_string_equal(routes_string(item(timeline, "phases", 0), "why"), "capacity: no GPU is free");
    assert_string_equal(routes_string(item(timeline, "phases", 1), "gpus"), "box:v100#1");
    assert_string_equal(routes_string(item(timeline, "phases", 2), "why"), "makes room");
    assert_string_equal(routes_string(item(timeline, "phases", 4), "gpus"), "box:v100#0");
    cJSON_Delete(timeline);
}

static void a_job_that_waits_says_why_in_its_timeline_and_one_that_ended_how(void **state)
{
    (void)state;
    cJSON *timeline = get("/v1/jobs/2/timeline");
    cJSON *job = get("/v1/jobs/2");
    assert_phases(timeline, "waiting");
    assert_string_equal(routes_string(item(timeline, "phases", 0), "why"), routes_string(job, "reason"));
    cJSON_Delete(timeline);
    cJSON_Delete(job);
    happen(90, "hold", 5, "{\"by\":\"ann\"}");
    happen(70, "release", 5, "{\"by\":\"ann\"}");
    happen(50, "start", 5, "{\"gpus\":\"box:a100#2\"}");
    happen(20, "end", 5, "{\"state\":\"F\",\"why\":\"exit code 3\"}");
    timeline = get("/v1/jobs/5/timeline");
    assert_phases(timeline, "waiting:10 held:20 waiting:20 running:30 ended:0");
    assert_string_equal(routes_string(item(timeline, "phases", 4), "state"), "F");
    assert_string_equal(routes_string(item(timeline, "phases", 4), "why"), "exit code 3");
    cJSON_Delete(timeline);
}

static void a_job_that_failed_on_a_lost_gpu_and_one_that_a_cluster_starts_later_have_their_phases(void **state)
{
    (void)state;
    happen(90, "start", 5, "{\"gpus\":\"box:v100#0\"}");
    happen(80, "begin", 5, "{}");
    happen(70, "evict", 5, "{\"why\":\"its GPU is lost\"}");
    happen(60, "cancel", 5, "{\"by\":\"ann\",\"why\":\"not needed\"}");
    cJSON *timeline = get("/v1/jobs/5/timeline");
    assert_phases(timeline, "waiting:10 placed:10 running:10 stopping:0 waiting:10 ended:0");
    assert_string_equal(routes_string(item(timeline, "phases", 3), "why"), "its GPU is lost");
    cJSON_Delete(timeline);
}

static void a_timeline_keeps_the_last_phases_of_a_job_that_was_stopped_often(void **state)
{
    (void)state;
    struct adl_error err = {{0}};
    assert_int_equal(adl_store_begin(fixture->store, &err), ADL_OK);
    for (int i = 0; i < 600; i++) {
        happen(99 - i * 0.1, "start", 1, "{\"gpus\":\"box:v100#0\"}");
        happen(99 - i * 0.1 - 0.05, "evict", 1, "{\"why\":\"lost\"}");
    }
    assert_int_equal(adl_store_commit(fixture->store, &err), ADL_OK);
    cJSON *timeline = get("/v1/jobs/1/timeline");
    assert_int_equal(cJSON_GetArraySize(routes_member(timeline, "phases")), 200);
    assert_true(routes_number(timeline, "left_out") == 1 + 3 * 600 - 200);
    cJSON_Delete(timeline);
    cJSON *events = get("/v1/jobs/1/events?limit=1000"); /* of which there are more than a page has */
    char path[64];
    snprintf(path, sizeof path, "/v1/jobs/1/events?after=%.0f", routes_number(events, "next"));
    cJSON_Delete(events);
    events = get(path);
    assert_int_equal(cJSON_GetArraySize(routes_member(events, "events")), 1 + 2 * 600 - 1000);
    assert_true(cJSON_IsNull(routes_member(events, "next")));
    cJSON_Delete(events);
}

static void a_timeline_has_the_readings_of_the_gpus_of_the_last_attempt(void **state)
{
    (void)state;
    measure(60, "GPU-2", 0.1, 100); /* before the start of job 5, which ran there from 50 s to 20 s ago */
    measure(40, "GPU-2", 0.5, 200);
    measure(40, "GPU-1", 0.9, 300);
    measure(30, "GPU-2", 0.7, 220);
    cJSON *timeline = get("/v1/jobs/5/timeline");
    assert_int_equal(cJSON_GetArraySize(routes_member(timeline, "points")), 2);
    assert_true(routes_number(item(timeline, "points", 0), "utilization") == 0.5);
    assert_true(routes_number(item(timeline, "points", 1), "power_w") == 220);
    assert_true(cJSON_IsNull(routes_member(item(timeline, "points", 1), "temperature_c")));
    cJSON_Delete(timeline);
}

static void a_gpu_has_the_jobs_that_ran_on_it_newest_first(void **state)
{
    (void)state;
    happen(90, "start", 5, "{\"gpus\":\"box:v100#0 box:v100#1\"}");
    happen(80, "end", 5, "{\"state\":\"CD\"}");
    happen(70, "start", 6, "{\"gpus\":\"box:v100#10\"}"); /* another GPU, whose name begins like this one's */
    happen(60, "start", 6, "{\"gpus\":\"box:v100#1\"}");
    happen(40, "evict", 6, "{\"why\":\"requeued: makes room for job 1\"}");
    happen(2.5, "start", 1, "{\"gpus\":\"box:v100#1\"}");
    cJSON *history = get("/v1/gpus/1/history");
    assert_int_equal(cJSON_GetArraySize(routes_member(history, "runs")), 3);
    assert_true(routes_number(item(history, "runs", 0), "job") == 1);
    assert_string_equal(routes_string(item(history, "runs", 0), "how"), "running");
    assert_string_equal(routes_string(item(history, "runs", 1), "how"), "stopped");
    assert_string_equal(routes_string(item(history, "runs", 2), "how"), "CD");
    assert_string_equal(routes_string(item(history, "runs", 2), "user"), fixture_user());
    assert_true(cJSON_IsNull(routes_member(history, "next")));
    cJSON_Delete(history);
    history = get("/v1/gpus/1/history?limit=2");
    assert_int_equal(cJSON_GetArraySize(routes_member(history, "runs")), 2);
    char path[64];
    snprintf(path, sizeof path, "/v1/gpus/1/history?limit=2&before=%.0f", routes_number(history, "next"));
    cJSON_Delete(history);
    history = get(path);
    assert_int_equal(cJSON_GetArraySize(routes_member(history, "runs")), 1);
    assert_true(routes_number(item(history, "runs", 0), "job") == 5);
    cJSON_Delete(history);
    history = get("/v1/gpus/1/history?minutes=1"); /* what ended before it is left out */
    assert_int_equal(cJSON_GetArraySize(routes_member(history, "runs")), 2);
    cJSON_Delete(history);
}

static void a_gpu_has_its_events_and_readings(void **state)
{
    (void)state;
    happen(50, "drain", 0, "{\"by\":\"root\",\"why\":\"fan\",\"gpu\":1}");
    happen(45, "drain", 0, "{\"by\":\"root\",\"why\":\"other fan\",\"gpu\":2}");
    happen(40, "resume", 0, "{\"by\":\"root\",\"gpu\":\"box\"}");
    happen(30, "gpu_down", 0, "{\"gpu\":\"GPU-1\",\"why\":\"it is gone\"}");
    measure(50, "GPU-1", 0.25, 100);
    measure(50, "GPU-0", 0.75, 300);
    cJSON *history = get("/v1/gpus/GPU-1/history");
    assert_int_equal(cJSON_GetArraySize(routes_member(history, "events")), 3);
    assert_string_equal(routes_string(item(history, "events", 0), "why"), "it is gone");
    assert_string_equal(routes_string(item(history, "events", 2), "why"), "fan");
    assert_int_equal(cJSON_GetArraySize(routes_member(history, "points")), 1);
    assert_true(routes_number(item(history, "points", 0), "utilization") == 0.25);
    cJSON_Delete(history);
}

static void near(double value, double expected)
{
    if (value < expected - 1e-6 || value > expected + 1e-6)
        fail_msg("%g is not %g", value, expected);
}

static void users_have_what_they_run_wait_for_and_used(void **state)
{
    (void)state;
    cJSON *users = get("/v1/users");
    const cJSON *me = item(users, "users", 0);
    assert_int_equal(cJSON_GetArraySize(routes_member(users, "users")), 1);
    assert_true(cJSON_IsTrue(routes_member(users, "complete")));
    assert_string_equal(routes_string(me, "user"), fixture_user());
    near(routes_number(me, "running"), 1);
    near(routes_number(me, "waiting"), 3);
    near(routes_number(me, "gpus"), 1);
    near(routes_number(me, "ended"), 2);
    near(routes_number(me, "completed"), 1);
    near(routes_number(me, "gpu_hours"), (2.5 + 30 + 10) / 3600); /* jobs 1, 5 and 6 */
    near(routes_number(me, "wait_mean_s"), (97.5 + 50 + 60) / 3); /* since the submission 100 s ago */
    cJSON_Delete(users);
}

/* Rows of other users, and of time that lies before the range. */
static void users_come_in_pages_most_gpu_time_first(void **state)
{
    (void)state;
    static const char *const gpus[] = {"a", "b", NULL};
    struct adl_error err = {{0}};
    uint64_t id;
    struct adl_store_job job = routes_store_job(7);
    job.uid = 4242;
    job.user = "ben";
    job.status = (struct adl_store_status){.state = ADL_STORE_CANCELLED,
                                           .reason = "",
                                           .start_us = ROUTES_NOW_US - 90000000,
                                           .end_us = ROUTES_NOW_US - 30000000,
                                           .gpus = gpus};
    assert_int_equal(adl_store_job_add(fixture->store, &job, &id, &err), ADL_OK);
    cJSON *users = get("/v1/users?limit=1&minutes=1");
    near(routes_number(item(users, "users", 0), "gpu_hours"), 2 * 30 / 3600.0); /* the last 30 of its 60 s */
    assert_string_equal(routes_string(users, "next"), "ben");
    cJSON_Delete(users);
    users = get("/v1/users?limit=1&minutes=1&after=ben");
    assert_string_equal(routes_string(item(users, "users", 0), "user"), fixture_user());
    assert_true(cJSON_IsNull(routes_member(users, "next")));
    cJSON_Delete(users);
}

static void in_a_twin_a_range_is_of_its_own_time_and_users_go_by_name(void **state)
{
    (void)state;
    char path[100];
    fixture->shared.speed = 60;
    fixture->shared.engine_name = "sim";
    cJSON *users = get("/v1/users?minutes=10");
    near(routes_number(users, "until_s") - routes_number(users, "from_s"), 60 * 600);
    cJSON_Delete(users);
    snprintf(path, sizeof path, "/v1/jobs?state=ended&order=end&user=%s", fixture_user());
    cJSON *jobs = get(path);
    assert_int_equal(cJSON_GetArraySize(routes_member(jobs, "jobs")), 2);
    cJSON_Delete(jobs);
    jobs = get("/v1/jobs?state=all&user=user6");
    assert_int_equal(cJSON_GetArraySize(routes_member(jobs, "jobs")), 0);
    cJSON_Delete(jobs);
}

static void what_is_private_stays_private(void **state)
{
    struct adl_text text = {0};
    (void)state;
    happen(2.5, "start", 1, "{\"gpus\":\"box:v100#0\"}");
    fixture->shared.private_jobs = true;
    assert_int_equal(routes_ask_as(fixture, fixture->stranger, "GET", "/v1/users", NULL, &text), 200);
    assert_non_null(strstr(text.data, "\"users\":[]"));
    adl_text_clear(&text);
    assert_int_equal(routes_ask_as(fixture, fixture->stranger, "GET", "/v1/gpus/0/history", NULL, &text), 200);
    assert_non_null(strstr(text.data, "\"job\":null,\"label\":null,\"name\":null,\"user\":null"));
    adl_text_clear(&text);
    assert_int_equal(routes_ask_as(fixture, fixture->stranger, "GET", "/v1/jobs/1/timeline", NULL, &text), 404);
    adl_text_clear(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_timeline_says_when_a_job_waited_ran_and_was_stopped_and_why),
        TEST(a_job_that_waits_says_why_in_its_timeline_and_one_that_ended_how),
        TEST(a_job_that_failed_on_a_lost_gpu_and_one_that_a_cluster_starts_later_have_their_phases),
        TEST(a_timeline_keeps_the_last_phases_of_a_job_that_was_stopped_often),
        TEST(a_timeline_has_the_readings_of_the_gpus_of_the_last_attempt),
        TEST(a_gpu_has_the_jobs_that_ran_on_it_newest_first),
        TEST(a_gpu_has_its_events_and_readings),
        TEST(users_have_what_they_run_wait_for_and_used),
        TEST(users_come_in_pages_most_gpu_time_first),
        TEST(in_a_twin_a_range_is_of_its_own_time_and_users_go_by_name),
        TEST(what_is_private_stays_private),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
