/* The REST interface of jobs as a client sees it: lists, single jobs, submissions, changes, and whose they are. */
#include "routes_fixture.h"

/* The numbers of the jobs in a page, as "1 2 3", and what next is, -1 for null. */
static void assert_page(const char *query, const char *ids, int next)
{
    char path[128], got[128] = "";
    snprintf(path, sizeof path, "/v1/jobs%s", query);
    cJSON *json = routes_json(fixture, "GET", path, NULL, 200);
    const cJSON *job, *following = routes_member(json, "next");
    for (job = routes_member(json, "jobs")->child; job; job = job->next)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", got[0] ? " " : "", (int)routes_number(job, "id"));
    assert_string_equal(got, ids);
    assert_int_equal(cJSON_IsNull(following) ? -1 : following->valueint, next);
    assert_int_equal((int)routes_number(routes_member(json, "counts"), "pending"), 3);
    assert_int_equal((int)routes_number(routes_member(json, "counts"), "running"), 1);
    cJSON_Delete(json);
}

static void lists_come_in_pages(void **state)
{
    char mine[80];
    (void)state;
    assert_page("", "1 2 3 4", -1);
    assert_page("?limit=2", "1 2", 2);
    assert_page("?limit=2&after=2", "3 4", -1);
    assert_page("?after=99", "", -1);
    assert_page("?state=R", "1", -1);
    assert_page("?state=PD&limit=1", "2", 2);
    assert_page("?state=all", "6 5 4 3 2 1", -1);
    assert_page("?state=all&limit=3", "6 5 4", 4);
    assert_page("?state=all&limit=3&after=4", "3 2 1", -1);
    assert_page("?state=ended&limit=1", "6", 6);
    assert_page("?state=ended&order=number", "6 5", -1);
    assert_page("?state=ended&order=end", "5 6", -1); /* job 6 ended first */
    assert_page("?state=ended&order=end&limit=1", "5", 5);
    assert_page("?state=ended&order=end&limit=1&after=5", "6", -1);
    assert_page("?state=ended&order=end&after=1", "", -1); /* it has not ended */
    assert_page("?state=F&order=end", "6", -1);
    assert_page("?state=CD", "5", -1);
    assert_page("?state=TO", "", -1);
    assert_page("?user=nobody", "", -1);
    assert_page("?user=nobody&state=all", "", -1);
    assert_page("?user=no-such-user-here&state=all", "", -1);
    snprintf(mine, sizeof mine, "?state=F&user=%s", fixture_user());
    assert_page(mine, "6", -1);
    snprintf(mine, sizeof mine, "?state=ended&order=end&user=%s", fixture_user());
    assert_page(mine, "5 6", -1);
    snprintf(mine, sizeof mine, "?user=%s&limit=1", fixture_user());
    assert_page(mine, "1", 1);
}

static void queries_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    routes_assert_problem(fixture, "GET", "/v1/jobs?limit=0", NULL, 400, "bad_query", "from 1 to 1000");
    routes_assert_problem(fixture, "GET", "/v1/jobs?limit=1001", NULL, 400, "bad_query", "from 1 to 1000");
    routes_assert_problem(fixture, "GET", "/v1/jobs?after=-1", NULL, 400, "bad_query", "after");
    routes_assert_problem(fixture, "GET", "/v1/jobs?state=XX", NULL, 400, "bad_query", "must be live, ended, all, PD");
    routes_assert_problem(fixture, "GET", "/v1/jobs?order=end", NULL, 400, "bad_query", "state=ended, CD, F, CA or TO");
    routes_assert_problem(fixture, "GET", "/v1/jobs?order=up", NULL, 400, "bad_query", "must be number, or end");
    routes_assert_problem(fixture, "GET", "/v1/jobs?stat=R", NULL, 400, "bad_query", "did you mean 'state'?");
    routes_assert_problem(fixture, "GET", "/v1/jobs/1?x=1", NULL, 400, "bad_query", "no query parameter 'x'");
    routes_assert_problem(fixture, "GET", "/v1/history?minutes=1441", NULL, 400, "bad_query", "from 1 to 1440");
    routes_assert_problem(fixture, "GET", "/v1/decisions?limit=257", NULL, 400, "bad_query", "from 1 to 256");
    routes_assert_problem(fixture, "POST", "/v1/jobs?dry_run=yes", "{}", 400, "bad_query", "from 0 to 1");
}

static void a_running_job_shows_where_it_runs(void **state)
{
    cJSON *job = routes_json(fixture, "GET", "/v1/jobs/1", NULL, 200);
    (void)state;
    assert_string_equal(routes_string(job, "state"), "R");
    assert_string_equal(routes_string(job, "stage"), "running");
    assert_string_equal(routes_string(job, "user"), fixture_user());
    assert_string_equal(routes_string(job, "class"), "resnet50-b64");
    assert_string_equal(routes_string(job, "command"), "python train.py 'a b'");
    assert_true(routes_number(job, "run_s") == 2.5);
    assert_true(routes_number(job, "submit_s") == 1700000000.5);
    assert_true(routes_number(job, "priority") == 0.7);
    assert_int_equal(cJSON_GetArraySize(routes_member(job, "allocation")), 1);
    const cJSON *gpu = cJSON_GetArrayItem(routes_member(job, "allocation"), 0);
    assert_string_equal(routes_string(gpu, "id"), "GPU-0");
    assert_string_equal(routes_string(gpu, "type"), "v100");
    assert_string_equal(routes_string(gpu, "node"), "box");
    assert_true(cJSON_IsNull(routes_member(job, "end_s")));
    assert_true(cJSON_IsNull(routes_member(job, "exit_code")));
    cJSON_Delete(job);
}

static void a_waiting_job_always_has_a_reason(void **state)
{
    static const char *const stages[] = {"queued", "dependent", "held"};
    (void)state;
    for (int id = 2; id <= 4; id++) {
        char path[32];
        snprintf(path, sizeof path, "/v1/jobs/%d", id);
        cJSON *job = routes_json(fixture, "GET", path, NULL, 200);
        assert_string_equal(routes_string(job, "state"), "PD");
        assert_string_equal(routes_string(job, "stage"), stages[id - 2]);
        assert_true(strlen(routes_string(job, "reason")) > 5);
        assert_int_equal(cJSON_GetArraySize(routes_member(job, "after")), id == 3 ? 1 : 0);
        assert_int_equal(cJSON_IsNull(routes_member(job, "eligible_s")), id != 2);
        assert_int_equal(cJSON_IsNull(routes_member(job, "array_index")), id != 4);
        cJSON_Delete(job);
    }
}

static void ended_jobs_come_from_the_store_without_their_secrets(void **state)
{
    struct adl_text text;
    cJSON *job = routes_json(fixture, "GET", "/v1/jobs/5", NULL, 200);
    (void)state;
    assert_string_equal(routes_string(job, "state"), "CD");
    assert_string_equal(routes_string(job, "stage"), "ended");
    assert_true(routes_number(job, "exit_code") == 0);
    assert_true(cJSON_IsNull(routes_member(job, "signal")));
    assert_true(routes_number(job, "run_s") == 30);
    assert_true(routes_number(job, "energy_j") == 1234.5);
    assert_string_equal(routes_string(job, "stdout"), "/home/ann/adlro-5.out");
    assert_true(routes_number(cJSON_GetArrayItem(routes_member(job, "allocation"), 0), "gpu") == 2);
    cJSON_Delete(job);
    job = routes_json(fixture, "GET", "/v1/jobs/6", NULL, 200);
    assert_true(cJSON_IsNull(routes_member(job, "energy_j"))); /* nothing was measured */
    assert_true(routes_number(job, "signal") == 9);
    assert_true(cJSON_IsNull(routes_member(job, "exit_code")));
    const cJSON *gpu = cJSON_GetArrayItem(routes_member(job, "allocation"), 0);
    assert_true(cJSON_IsNull(routes_member(gpu, "gpu")) && cJSON_IsNull(routes_member(gpu, "type")));
    assert_string_equal(routes_string(gpu, "id"), "GPU-gone");
    assert_string_equal(routes_string(job, "command"),
                        "echo hunter2"); /* the line itself, nothing more of the script */
    cJSON_Delete(job);
    assert_int_equal(routes_ask(fixture, "GET", "/v1/jobs?state=all", NULL, &text), 200);
    assert_null(strstr(text.data, "SECRET"));
    assert_null(strstr(text.data, "#!/bin/sh"));
    adl_text_clear(&text);
}

static void jobs_that_are_not_there_give_404(void **state)
{
    (void)state;
    routes_assert_problem(fixture, "GET", "/v1/jobs/99", NULL, 404, "not_found", "there is no job 99");
    routes_assert_problem(fixture, "GET", "/v1/jobs/abc", NULL, 404, "not_found", "jobs have numbers");
    routes_assert_problem(fixture, "GET", "/v1/jobs/4_8", NULL, 404, "not_found", "there is no job 4_8");
    routes_assert_problem(fixture, "GET", "/v1/jobs/1_0", NULL, 404, "not_found", "there is no job 1_0");
    routes_assert_problem(fixture, "POST", "/v1/jobs/4_/hold", NULL, 404, "not_found", "12_3 in an array");
    routes_assert_problem(fixture, "GET", "/v1/jobs/-1", NULL, 404, "not_found", "there is no job '-1'");
    routes_assert_problem(fixture, "GET", "/v1/jobs/99999999999999999999", NULL, 404, "not_found", "there is no job");
    routes_assert_problem(fixture, "GET", "/v1/jobs/99/events", NULL, 404, "not_found", "there is no job 99");
    routes_assert_problem(fixture, "DELETE", "/v1/jobs/99", NULL, 404, "not_found", "there is no job 99");
    routes_assert_problem(fixture, "POST", "/v1/gpus/3/drain", NULL, 404, "not_found", "they are 0 to 2");
    routes_assert_problem(fixture, "POST", "/v1/gpus/GPU-9/resume", NULL, 404, "not_found", "no GPU 'GPU-9'");
    routes_assert_problem(fixture, "POST", "/v1/nodes/bix/drain", NULL, 404, "not_found", "did you mean 'box'?");
    routes_assert_problem(fixture, "GET", "/assets/passwd", NULL, 404, "not_found", "no such file");
}

static void submissions_are_checked_before_anybody_is_bothered(void **state)
{
    (void)state;
    routes_assert_problem(fixture, "POST", "/v1/jobs", "{\"command\":", 400, "bad_request", "");
    routes_assert_problem(fixture, "POST", "/v1/jobs", "[]", 400, "bad_request", "must be a JSON object");
    routes_assert_problem(fixture, "POST", "/v1/jobs", "{\"comand\":[]}", 400, "bad_request",
                          "did you mean 'command'?");
    routes_assert_problem(fixture, "POST", "/v1/jobs", "{\"command\":[\"a\"],\"directory\":\"x\"}", 400, "bad_request",
                          "absolute");
    routes_assert_problem(fixture, "POST", "/v1/jobs", "{\"command\":[\"a\"],\"directory\":\"/\",\"gpus\":\"h100\"}",
                          400, "bad_request", "there are v100, a100");
}

static void a_dry_run_changes_nothing(void **state)
{
    (void)state;
    cJSON *json = routes_json(fixture, "POST", "/v1/jobs?dry_run=1",
                              "{\"command\":[\"a\"],\"directory\":\"/\",\"array\":\"0-2\"}", 200);
    assert_true(cJSON_IsNull(routes_member(json, "id")));
    assert_true(routes_number(json, "count") == 3);
    assert_string_equal(routes_string(json, "reason"), "would wait: others wait already");
    cJSON_Delete(json);
    assert_page("", "1 2 3 4", -1);
    struct routes_fixture *f = routes_open(true);
    cJSON_Delete(routes_json(f, "DELETE", "/v1/jobs/2", NULL, 200));
    json = routes_json(f, "POST", "/v1/jobs?dry_run=1",
                       "{\"command\":[\"a\"],\"directory\":\"/\",\"gpus\":\"v100:2|a100\"}", 200);
    assert_string_equal(routes_string(json, "reason"), "would start: 1 idle GPU is of a type it takes");
    cJSON_Delete(json);
    json = routes_json(f, "POST", "/v1/jobs?dry_run=1", "{\"command\":[\"a\"],\"directory\":\"/\",\"gpus\":\"v100:2\"}",
                       200);
    assert_string_equal(routes_string(json, "reason"), "would wait: 1 of 2 GPUs of a type it takes is idle");
    cJSON_Delete(json);
    routes_close(f);
}

static void a_submission_is_answered_with_its_place(void **state)
{
    struct routes_fixture *f = routes_open(true);
    static const char request[] = "POST /v1/jobs HTTP/1.1\r\nContent-Type: application/json";
    struct adl_text answer = {0};
    (void)state;
    assert_int_equal(fixture_ask(fixture_connect_unix(f->http), request,
                                 "{\"command\":[\"sleep\",\"1\"],\"directory\":\"/tmp\",\"gpus\":\"v100\"}", &answer),
                     201);
    assert_non_null(strstr(answer.data, "\r\nLocation: /v1/jobs/7\r\n"));
    assert_non_null(strstr(answer.data, "{\"id\":7,\"count\":1,\"warnings\":[]}"));
    adl_text_clear(&answer);
    cJSON *job = routes_json(f, "GET", "/v1/jobs/7", NULL, 200);
    assert_string_equal(routes_string(job, "name"), "sleep");
    assert_true(cJSON_IsNull(routes_member(job, "class")));
    cJSON_Delete(job);
    job = routes_json(f, "POST", "/v1/jobs", "{\"script\":\"#!/bin/sh\\ntrue\",\"directory\":\"/\",\"array\":\"1-3\"}",
                      201);
    assert_true(routes_number(job, "id") == 8 && routes_number(job, "count") == 3);
    cJSON_Delete(job);
    static const char *const lame[] = {"#!/bin/no-such-shell\\n", "true", "#!/bin/sh\\r\\ntrue\\r\\n"};
    for (size_t i = 0; i < sizeof lame / sizeof *lame; i++) { /* scripts that could not run */
        char body[200];
        snprintf(body, sizeof body, "{\"script\":\"%s\",\"directory\":\"/\"}", lame[i]);
        cJSON_Delete(routes_json(f, "POST", "/v1/jobs", body, 400));
    }
    job = routes_json(f, "GET", "/v1/jobs/10", NULL, 200);
    assert_true(routes_number(job, "array_id") == 8 && routes_number(job, "array_index") == 3);
    assert_string_equal(routes_string(job, "label"), "8_3");
    cJSON_Delete(job);
    job = routes_json(f, "GET", "/v1/jobs/8_3", NULL, 200);
    assert_true(routes_number(job, "id") == 10);
    cJSON_Delete(job);
    job = routes_json(f, "DELETE", "/v1/jobs/8_2", NULL, 200);
    assert_true(routes_number(job, "id") == 9);
    assert_string_equal(routes_string(job, "state"), "CA");
    assert_string_equal(routes_string(job, "label"), "8_2"); /* from the store */
    cJSON_Delete(job);
    routes_close(f);
}

static void jobs_are_changed_and_what_cannot_be_is_409(void **state)
{
    struct routes_fixture *f = routes_open(true);
    cJSON *job = routes_json(f, "PATCH", "/v1/jobs/2", "{\"priority\":0.25}", 200);
    (void)state;
    assert_true(routes_number(job, "priority") == 0.25);
    cJSON_Delete(job);
    job = routes_json(f, "POST", "/v1/jobs/2/hold", NULL, 200);
    assert_string_equal(routes_string(job, "stage"), "held");
    cJSON_Delete(job);
    job = routes_json(f, "POST", "/v1/jobs/2/release", NULL, 200);
    assert_string_equal(routes_string(job, "stage"), "queued");
    cJSON_Delete(job);
    cJSON_Delete(routes_json(f, "POST", "/v1/jobs/1/hold", NULL, 409));
    cJSON_Delete(routes_json(f, "POST", "/v1/jobs/2/requeue", NULL, 409));
    cJSON_Delete(routes_json(f, "DELETE", "/v1/jobs/5", NULL, 409));
    /* One that waits ends at once and is then the store's. */
    job = routes_json(f, "DELETE", "/v1/jobs/2", NULL, 200);
    assert_string_equal(routes_string(job, "state"), "CA");
    assert_string_equal(routes_string(job, "reason"), "cancelled by a test");
    cJSON_Delete(job);
    job = routes_json(f, "DELETE", "/v1/jobs/1?reason=too%20slow", NULL, 200);
    assert_string_equal(routes_string(job, "stage"), "stopping");
    assert_string_equal(routes_string(job, "reason"), "too slow");
    cJSON_Delete(job);
    routes_close(f);
}

static void changes_that_make_no_sense_are_refused(void **state)
{
    char path[400] = "/v1/jobs/1?reason=";
    (void)state;
    routes_assert_problem(fixture, "PATCH", "/v1/jobs/2", "{\"priority\":2}", 400, "bad_request", "between 0 and 1");
    routes_assert_problem(fixture, "PATCH", "/v1/jobs/2", "{}", 400, "bad_request", "priority: must be given");
    routes_assert_problem(fixture, "PATCH", "/v1/jobs/2", "{\"prio\":1}", 400, "bad_request",
                          "'prio' is not a key here");
    routes_assert_problem(fixture, "PATCH", "/v1/jobs/2", "7", 400, "bad_request", "must be a JSON object");
    routes_assert_problem(fixture, "PATCH", "/v1/jobs/2", "", 400, "bad_json", "");
    routes_assert_problem(fixture, "POST", "/v1/gpus/0/drain", "{\"reason\":1}", 400, "bad_request",
                          "must be a string");
    routes_assert_problem(fixture, "POST", "/v1/gpus/0/drain", "{\"reason\":\"a\\nb\"}", 400, "bad_request",
                          "control character");
    memset(path + strlen(path), 'x', 200);
    routes_assert_problem(fixture, "DELETE", path, NULL, 400, "bad_request", "at most 199 bytes");
}

static void users_touch_their_own_jobs_alone(void **state)
{
    struct routes_fixture *f = routes_open(true);
    static const char *const admin_only[] = {"/v1/gpus/0/drain",     "/v1/gpus/0/resume", "/v1/nodes/box/drain",
                                             "/v1/nodes/box/resume", "/v1/reload",        "/v1/belief"};
    struct adl_text text;
    (void)state;
    for (size_t i = 0; i < sizeof admin_only / sizeof *admin_only; i++)
        assert_int_equal(routes_ask_as(f, f->stranger, "POST", admin_only[i], NULL, NULL), 403);
    assert_int_equal(routes_ask_as(f, f->stranger, "DELETE", "/v1/jobs/1", NULL, &text), 403);
    assert_non_null(strstr(text.data, "another user's"));
    adl_text_clear(&text);
    assert_int_equal(routes_ask_as(f, f->stranger, "PATCH", "/v1/jobs/2", "{\"priority\":1}", NULL), 403);
    assert_int_equal(routes_ask_as(f, f->stranger, "GET", "/v1/jobs/1", NULL, NULL), 200);
    assert_int_equal(routes_ask_as(f, f->stranger, "GET", "/v1/whoami", NULL, &text), 200);
    assert_non_null(strstr(text.data, "\"user\":\"nobody\""));
    assert_non_null(strstr(text.data, "\"admin\":false"));
    adl_text_clear(&text);
    assert_int_equal(routes_ask_as(f, "adl_00000000_0", "GET", "/v1/jobs", NULL, NULL), 401);
    assert_int_equal(routes_ask_as(f, "", "GET", "/metrics", NULL, NULL), 401);
    assert_int_equal(routes_ask_as(f, "", "GET", "/healthz", NULL, NULL), 200);
    assert_int_equal(routes_ask_as(f, "", "GET", "/v1/openapi.json", NULL, NULL), 200);
    /* Their own they may: as whom they submit is not theirs to say. */
    assert_int_equal(
        routes_ask_as(f, f->stranger, "POST", "/v1/jobs", "{\"command\":[\"a\"],\"directory\":\"/\"}", NULL), 201);
    cJSON *job = routes_json(f, "GET", "/v1/jobs/7", NULL, 200);
    assert_string_equal(routes_string(job, "user"), "nobody");
    cJSON_Delete(job);
    assert_int_equal(routes_ask_as(f, f->stranger, "DELETE", "/v1/jobs/7", NULL, NULL), 200);
    routes_close(f);
}

static void tasks_of_slurms_arrays_are_called_as_slurm_does(void **state)
{
    const int64_t number = 3 + (INT64_C(1) << 32); /* of 3_0 */
    struct routes_fixture *f = routes_open(true);
    struct adl_store_job row = routes_store_job(7);
    struct adl_error err = {{0}};
    uint64_t id = 0;
    (void)state;
    row.external = number;
    row.array_id = 3;
    row.array_index = 0;
    adl_service_state_lock(&f->shared);
    f->shared.engine_name = "slurm";
    assert_int_equal(adl_store_job_add(f->store, &row, &id, &err), ADL_OK);
    assert_int_equal(adl_store_event_append(
                         f->store, &(struct adl_store_event){.kind = "hold", .job = id, .payload = "{}"}, NULL, &err),
                     ADL_OK);
    struct adl_job_entry *runs = adl_job_table_find(&f->shared.job_table, 1);
    runs->external = number + (INT64_C(1) << 32);
    runs->array_id = 3;
    runs->array_index = 1;
    adl_service_state_unlock(&f->shared);
    cJSON *json = routes_json(f, "GET", "/v1/jobs/3_0", NULL, 200);
    assert_true(routes_number(json, "id") == (double)number);
    assert_string_equal(routes_string(json, "label"), "3_0");
    cJSON_Delete(json);
    json = routes_json(f, "GET", "/v1/jobs/4294967299/events", NULL, 200);
    assert_true(routes_number(cJSON_GetArrayItem(routes_member(json, "events"), 0), "job") == (double)number);
    cJSON_Delete(json);
    cJSON_Delete(routes_json(f, "GET", "/v1/jobs/3", NULL, 404));
    json = routes_json(f, "GET", "/v1/cluster", NULL, 200);
    const cJSON *gpu =
        cJSON_GetArrayItem(routes_member(cJSON_GetArrayItem(routes_member(json, "nodes"), 0), "gpus"), 0);
    assert_string_equal(routes_string(cJSON_GetArrayItem(routes_member(gpu, "jobs"), 0), "label"), "3_1");
    cJSON_Delete(json);
    routes_close(f);
}

static void a_jobs_events_are_told(void **state)
{
    cJSON *json = routes_json(fixture, "GET", "/v1/jobs/5/events", NULL, 200);
    (void)state;
    assert_int_equal(cJSON_GetArraySize(routes_member(json, "events")), 1);
    const cJSON *event = cJSON_GetArrayItem(routes_member(json, "events"), 0);
    assert_string_equal(routes_string(event, "kind"), "submit");
    assert_string_equal(routes_string(routes_member(event, "data"), "user"), "ann");
    cJSON_Delete(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_come_in_pages),
        cmocka_unit_test(queries_that_make_no_sense_are_refused),
        cmocka_unit_test(a_running_job_shows_where_it_runs),
        cmocka_unit_test(a_waiting_job_always_has_a_reason),
        cmocka_unit_test(ended_jobs_come_from_the_store_without_their_secrets),
        cmocka_unit_test(jobs_that_are_not_there_give_404),
        cmocka_unit_test(submissions_are_checked_before_anybody_is_bothered),
        cmocka_unit_test(a_dry_run_changes_nothing),
        cmocka_unit_test(a_submission_is_answered_with_its_place),
        cmocka_unit_test(jobs_are_changed_and_what_cannot_be_is_409),
        cmocka_unit_test(changes_that_make_no_sense_are_refused),
        cmocka_unit_test(users_touch_their_own_jobs_alone),
        cmocka_unit_test(tasks_of_slurms_arrays_are_called_as_slurm_does),
        cmocka_unit_test(a_jobs_events_are_told),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
