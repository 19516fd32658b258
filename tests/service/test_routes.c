/* The REST interface as a client sees it, but for jobs (test_routes_jobs.c): what is answered, to whom, and what is
 * refused with which status. */
#include "routes_fixture.h"

#include "http/sha256.h"
#include "service/assets.h"

static void methods_and_bodies_are_held_to_the_table(void **state)
{
    struct adl_text answer = {0};
    (void)state;
    assert_int_equal(routes_ask(fixture, "PUT", "/v1/jobs", "{}", NULL), 405);
    assert_int_equal(routes_ask(fixture, "POST", "/v1/cluster", "{}", NULL), 405);
    assert_int_equal(routes_ask(fixture, "GET", "/v2/jobs", NULL, NULL), 404);
    assert_int_equal(routes_ask(fixture, "POST", "/v1/jobs/4/hold", "{}", NULL), 413);
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture->http),
                                 "POST /v1/jobs HTTP/1.1\r\nContent-Type: text/plain", "{}", NULL),
                     415);
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture->http), "HEAD /v1/jobs HTTP/1.1", NULL, &answer), 200);
    assert_non_null(strstr(answer.data, "Content-Length: "));
    assert_string_equal(strstr(answer.data, "\r\n\r\n"), "\r\n\r\n");
    adl_text_clear(&answer);
}

static void huge_bodies_are_refused_before_they_are_read(void **state)
{
    (void)state;
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture->http),
                                 "POST /v1/jobs HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 8388609",
                                 NULL, NULL),
                     413);
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture->http),
                                 "PATCH /v1/jobs/4 HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 4097",
                                 NULL, NULL),
                     413);
}

static void gpus_are_drained_by_number_by_id_and_by_node(void **state)
{
    struct routes_fixture *f = routes_open(true);
    cJSON *cluster = routes_json(f, "POST", "/v1/gpus/0/drain", "{\"reason\":\"fan\"}", 200);
    const cJSON *gpus = routes_member(cJSON_GetArrayItem(routes_member(cluster, "nodes"), 0), "gpus");
    (void)state;
    assert_string_equal(routes_string(cJSON_GetArrayItem(gpus, 0), "state"), "draining"); /* job 1 is on it */
    assert_string_equal(routes_string(cJSON_GetArrayItem(gpus, 0), "reason"), "fan");
    cJSON_Delete(cluster);
    cluster = routes_json(f, "POST", "/v1/gpus/GPU-1/drain", NULL, 200);
    assert_true(routes_number(routes_member(cluster, "counts"), "drained") == 1);
    cJSON_Delete(cluster);
    cluster = routes_json(f, "POST", "/v1/nodes/box/resume", NULL, 200);
    assert_true(routes_number(routes_member(cluster, "counts"), "idle") == 2);
    assert_true(routes_number(routes_member(cluster, "counts"), "busy") == 1);
    cJSON_Delete(cluster);
    routes_close(f);
}

static void the_cluster_shows_who_runs_where(void **state)
{
    cJSON *cluster = routes_json(fixture, "GET", "/v1/cluster", NULL, 200);
    const cJSON *node = cJSON_GetArrayItem(routes_member(cluster, "nodes"), 0);
    const cJSON *gpu = cJSON_GetArrayItem(routes_member(node, "gpus"), 0);
    (void)state;
    assert_true(cJSON_IsTrue(routes_member(cluster, "virtual")));
    assert_string_equal(routes_string(routes_member(cluster, "policy"), "name"), "easy");
    assert_true(cJSON_IsNull(routes_member(cluster, "trouble")));
    assert_true(routes_number(cluster, "power_w") == 200);
    assert_true(routes_number(cluster, "now_s") == 1700000100.5);
    assert_string_equal(routes_string(gpu, "state"), "busy");
    assert_true(routes_number(gpu, "utilization") == 0.75);
    assert_true(cJSON_IsNull(routes_member(gpu, "temperature_c")));
    assert_true(routes_number(gpu, "memory_used_mib") == 1000);
    assert_int_equal(cJSON_GetArraySize(routes_member(gpu, "jobs")), 1);
    assert_true(routes_number(cJSON_GetArrayItem(routes_member(gpu, "jobs"), 0), "id") == 1);
    gpu = cJSON_GetArrayItem(routes_member(node, "gpus"), 2);
    assert_string_equal(routes_string(gpu, "state"), "idle");
    assert_true(cJSON_IsNull(routes_member(gpu, "utilization")) && cJSON_IsNull(routes_member(gpu, "sample_s")));
    cJSON_Delete(cluster);
}

static void history_is_thinned_and_says_what_it_does_not_know(void **state)
{
    struct adl_service_state *shared = &fixture->shared;
    (void)state;
    cJSON *json = routes_json(fixture, "GET", "/v1/history", NULL, 200);
    assert_int_equal(cJSON_GetArraySize(routes_member(json, "points")), 0);
    cJSON_Delete(json);
    adl_service_state_lock(shared);
    for (shared->point_count = 0; shared->point_count < ADL_POINTS_MAX + 10; shared->point_count++)
        shared->points[shared->point_count % ADL_POINTS_MAX] =
            (struct adl_point){.time_us = ROUTES_NOW_US + (int64_t)shared->point_count * ADL_POINT_STEP_US,
                               .busy_gpus = shared->point_count % 2 ? 3 : 1,
                               .utilization = -1,
                               .power_w = 100,
                               .ended = 1,
                               .completed = shared->point_count % 2,
                               .jct_sum_s = shared->point_count % 2 ? 60 : 0,
                               .energy_j = 1000};
    adl_service_state_unlock(shared);
    json = routes_json(fixture, "GET", "/v1/history?minutes=120", NULL, 200);
    const cJSON *points = routes_member(json, "points");
    assert_int_equal(cJSON_GetArraySize(points), 360);
    assert_true(routes_number(json, "step_s") == 20);
    const cJSON *last = cJSON_GetArrayItem(points, 359);
    assert_true(routes_number(last, "busy_gpus") == 2);
    assert_true(cJSON_IsNull(routes_member(last, "utilization")));
    assert_true(routes_number(last, "ended") == 2);
    assert_true(routes_number(last, "jct_mean_s") == 60);
    assert_true(routes_number(last, "energy_j") == 2000);
    assert_true(routes_number(last, "time_s") ==
                (double)(ROUTES_NOW_US + (ADL_POINTS_MAX + 9) * ADL_POINT_STEP_US) / 1e6);
    cJSON_Delete(json);
    json = routes_json(fixture, "GET", "/v1/history?minutes=1", NULL, 200);
    assert_int_equal(cJSON_GetArraySize(routes_member(json, "points")), 6);
    cJSON_Delete(json);
}

static void decisions_come_newest_first(void **state)
{
    struct adl_service_state *shared = &fixture->shared;
    (void)state;
    adl_service_state_lock(shared);
    for (shared->decision_count = 0; shared->decision_count < ADL_DECISIONS_MAX + 3; shared->decision_count++)
        shared->decisions[shared->decision_count % ADL_DECISIONS_MAX] =
            (struct adl_decision){.sequence = shared->decision_count,
                                  .time_us = ROUTES_NOW_US,
                                  .job = 1,
                                  .label = "3_0",
                                  .what = "start",
                                  .why = "first in line"};
    adl_service_state_unlock(shared);
    cJSON *json = routes_json(fixture, "GET", "/v1/decisions?limit=256", NULL, 200);
    const cJSON *decisions = routes_member(json, "decisions");
    assert_int_equal(cJSON_GetArraySize(decisions), 256);
    assert_true(routes_number(cJSON_GetArrayItem(decisions, 0), "sequence") == 258);
    assert_true(routes_number(cJSON_GetArrayItem(decisions, 255), "sequence") == 3);
    assert_string_equal(routes_string(cJSON_GetArrayItem(decisions, 0), "label"), "3_0");
    cJSON_Delete(json);
}

static void policies_and_reload_say_which_is_in_force(void **state)
{
    cJSON *json = routes_json(fixture, "GET", "/v1/policies", NULL, 200);
    (void)state;
    assert_string_equal(routes_string(json, "current"), "easy");
    assert_int_equal(cJSON_GetArraySize(routes_member(json, "policies")), adl_policy_count());
    cJSON_Delete(json);
    json = routes_json(fixture, "POST", "/v1/reload", NULL, 200);
    assert_string_equal(routes_string(json, "policy"), "easy");
    assert_string_equal(cJSON_GetArrayItem(routes_member(json, "changed"), 1)->valuestring, "model: none");
    cJSON_Delete(json);
}

static void what_the_service_refuses_has_its_own_status(void **state)
{
    static const struct {
        int status, http;
        const char *text, *code;
    } cases[] = {
        {ADL_EINVAL, 400, "no", "bad_request"},
        {ADL_EABSENT, 404, "no", "not_found"},
        {ADL_EREFUSED, 409, "no", "conflict"},
        {ADL_EDENIED, 403, "no", "forbidden"},
        {ADL_EIO, 503, "the store failed", "not_stored"},
        {ADL_EIO, 507, "database or disk is full", "disk_full"},
        {ADL_ENOMEM, 503, "no memory", "no_memory"},
    };
    struct routes_fixture *f = routes_open(true);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f->fail_text = cases[i].text;
        atomic_store(&f->fail, cases[i].status);
        cJSON *json = routes_json(f, "DELETE", "/v1/jobs/1", NULL, cases[i].http);
        assert_string_equal(routes_string(routes_member(json, "error"), "code"), cases[i].code);
        assert_string_equal(routes_string(routes_member(json, "error"), "message"), cases[i].text);
        cJSON_Delete(json);
        cJSON_Delete(routes_json(f, "POST", "/v1/jobs", "{\"command\":[\"a\"],\"directory\":\"/\"}", cases[i].http));
    }
    routes_close(f);
}

/* Nobody takes requests: the request queue fills, and who comes then is told so at once. */
static void a_full_inbox_gives_503(void **state)
{
    struct routes_fixture *f = routes_open(false);
    static const char request[] = "DELETE /v1/jobs/1 HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
    struct adl_text answer = {0};
    int fds[ROUTES_INBOX];
    (void)state;
    for (int i = 0; i < ROUTES_INBOX; i++) {
        fds[i] = fixture_connect_unix(f->http);
        fixture_send(fds[i], request, sizeof request - 1);
    }
    while (adl_http_counts(f->http->http).requests < ROUTES_INBOX)
        fixture_sleep_ms(1);
    /* The server has one thread: it has posted those before it reads this one. */
    assert_int_equal(fixture_ask(fixture_connect_unix(f->http), "DELETE /v1/jobs/1 HTTP/1.1", NULL, &answer), 503);
    assert_non_null(strstr(answer.data, "Retry-After: 1\r\n"));
    assert_non_null(strstr(answer.data, "\"code\":\"busy\""));
    adl_text_clear(&answer);
    for (int i = 0; i < ROUTES_INBOX; i++)
        close(fds[i]);
    routes_close(f);
}

static void health_tells_of_trouble(void **state)
{
    cJSON *json = routes_json(fixture, "GET", "/healthz", NULL, 200);
    (void)state;
    assert_string_equal(routes_string(json, "status"), "ok");
    cJSON_Delete(json);
    adl_service_state_lock(&fixture->shared);
    strcpy(fixture->shared.trouble, "the disk is full");
    adl_service_state_unlock(&fixture->shared);
    json = routes_json(fixture, "GET", "/healthz", NULL, 503);
    assert_string_equal(routes_string(json, "trouble"), "the disk is full");
    cJSON_Delete(json);
    adl_service_state_lock(&fixture->shared);
    fixture->shared.trouble[0] = '\0';
    adl_service_state_unlock(&fixture->shared);
}

static void events_are_streamed(void **state)
{
    static const char request[] = "GET /v1/events?after=99 HTTP/1.1\r\nHost: test\r\n\r\n";
    struct adl_text answer = {0};
    struct adl_error err;
    (void)state;
    assert_int_equal(adl_events_publish(fixture->http->events, "job", "{\"id\":1}", NULL, &err), ADL_OK);
    const int fd = fixture_connect_unix(fixture->http);
    fixture_send(fd, request, sizeof request - 1);
    assert_true(fixture_read_until(fd, &answer, "event: job\ndata: {\"id\":1}\n", 5000));
    close(fd);
    adl_text_clear(&answer);
    routes_assert_problem(fixture, "GET", "/v1/events?from=1", NULL, 400, "bad_query", "no query parameter 'from'");
}

static void assets_have_the_tag_of_their_content(void **state)
{
    bool chart = false;
    (void)state;
    for (size_t i = 0; i < adl_web_asset_count; i++) {
        const struct adl_asset *asset = &adl_web_assets[i].asset;
        struct adl_sha256 hash;
        uint8_t digest[ADL_SHA256_SIZE];
        char etag[sizeof asset->etag] = "\"";
        adl_sha256_start(&hash);
        adl_sha256_add(&hash, asset->data, asset->size);
        adl_sha256_end(&hash, digest);
        for (size_t b = 0; b < 16; b++)
            snprintf(etag + 1 + 2 * b, 4, "%02x\"", (unsigned)digest[b]);
        assert_string_equal(asset->etag, etag);
        chart |= strcmp(adl_web_assets[i].name, "chart.js") == 0;
    }
    assert_true(chart);
    struct adl_text answer = {0};
    assert_int_equal(fixture_get(fixture->http, "/assets/chart.js", &answer), 200);
    assert_non_null(strstr(answer.data, "Content-Type: text/javascript; charset=utf-8\r\n"));
    assert_non_null(strstr(answer.data, "Content-Security-Policy: default-src 'self';"));
    assert_non_null(strstr(answer.data, "X-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(answer.data, "X-Frame-Options: DENY\r\n"));
    adl_text_clear(&answer);
    assert_int_equal(routes_ask(fixture, "GET", "/v1/openapi.json", NULL, NULL), 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_and_bodies_are_held_to_the_table),
        cmocka_unit_test(huge_bodies_are_refused_before_they_are_read),
        cmocka_unit_test(the_cluster_shows_who_runs_where),
        cmocka_unit_test(history_is_thinned_and_says_what_it_does_not_know),
        cmocka_unit_test(decisions_come_newest_first),
        cmocka_unit_test(policies_and_reload_say_which_is_in_force),
        cmocka_unit_test(health_tells_of_trouble),
        cmocka_unit_test(events_are_streamed),
        cmocka_unit_test(assets_have_the_tag_of_their_content),
        cmocka_unit_test(gpus_are_drained_by_number_by_id_and_by_node),
        cmocka_unit_test(what_the_service_refuses_has_its_own_status),
        cmocka_unit_test(a_full_inbox_gives_503),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
