/* The running service and what its users may do beside its administrators. */
#include "service_access.h"

#include <math.h>

typedef unsigned long long number;

static void users_lower_priorities_and_only_administrators_raise_them(void **state)
{
    (void)state;
    access_start("");
    const number id = access_submit(&user, "mine", "");
    expect_user(403, "{\"priority\":0.9}", "PATCH /v1/jobs/%llu", id);
    expect_user_text("has priority 0.5: users may lower it, only administrators raise it");
    expect_user(200, "{\"priority\":0.2}", "PATCH /v1/jobs/%llu", id);
    expect_user(200, "{\"priority\":0.2}", "PATCH /v1/jobs/%llu", id);
    expect_user(403, "{\"priority\":0.5}", "PATCH /v1/jobs/%llu", id);
    expect(200, "{\"priority\":1}", "PATCH /v1/jobs/%llu", id);
    expect_user(200, "{\"priority\":0.7}", "PATCH /v1/jobs/%llu", id); /* lower than what was given */
    expect_user(403, "{\"priority\":0.71}", "PATCH /v1/jobs/%llu", id);
    assert_true(fabs(job_number(id, "priority") - 0.7) < 1e-6);
}

static void users_requeue_their_own_jobs_alone_and_these_come_back_as_they_were(void **state)
{
    (void)state;
    access_start("");
    const number held = access_submit(&user, "held", ""), other = access_submit(&http, "other", ",\"hold\":true");
    expect(200, NULL, "POST /v1/jobs/%llu/hold", held);
    expect_user(200, NULL, "DELETE /v1/jobs/%llu", held);
    expect_user(200, NULL, "POST /v1/jobs/%llu/requeue", held); /* an administrator's hold is not shaken off by that */
    expect_user_text("\"stage\":\"held\"");
    expect_user(403, NULL, "POST /v1/jobs/%llu/release", held);
    expect(200, NULL, "DELETE /v1/jobs/%llu", other);
    expect_user(403, NULL, "POST /v1/jobs/%llu/requeue", other);
    expect_user_text("is another user's");
    expect_user(200, NULL, "DELETE /v1/jobs/%llu", held);
    expect(200, NULL, "POST /v1/jobs/%llu/requeue", held); /* administrators may */
}

static void a_user_submits_with_at_most_the_priority_that_is_configured(void **state)
{
    (void)state;
    static const char urgent[] = "{\"directory\":\"/tmp\",\"command\":[\"true\"],\"priority\":0.6}";
    access_start("");
    expect_user(403, urgent, "POST /v1/jobs");
    expect_user_text("users may ask for at most 0.5 here (jobs.priority_max");
    expect_user(403, urgent, "POST /v1/jobs?dry_run=1");
    access_submit(&user, "plain", ",\"priority\":0.5");
    access_submit(&http, "administrator", ",\"priority\":1");
    assert_true(service_signal(SIGTERM) == 0);
    assert_true(service_write("c.yaml", "engine: sim\nscenario: small.yaml\njobs: {priority_max: 0.6}\n"));
    access_start_again();
    expect_user(201, urgent, "POST /v1/jobs");
}

static void an_administrators_hold_is_released_by_administrators_alone(void **state)
{
    (void)state;
    access_start("");
    const number own = access_submit(&user, "own", ",\"hold\":true"), held = access_submit(&user, "held", "");
    expect_user(200, NULL, "POST /v1/jobs/%llu/release", own);
    expect_user(200, NULL, "POST /v1/jobs/%llu/hold", own);
    expect(200, NULL, "POST /v1/jobs/%llu/hold", held);
    expect_text("\"reason\":\"held by an administrator: by ");
    for (int round = 0; round < 2; round++) { /* the second after a restart */
        expect_user(403, NULL, "POST /v1/jobs/%llu/release", held);
        expect_user_text("is held by an administrator, who alone can release it");
        expect_user(200, NULL, "POST /v1/jobs/%llu/hold", held); /* which must not make it a hold of its user's */
        expect_user_text("\"reason\":\"held by an administrator");
        if (round == 0) {
            assert_int_equal(service_signal(SIGKILL), 128 + SIGKILL);
            access_start_again();
        }
    }
    expect_user(200, NULL, "POST /v1/jobs/%llu/release", own);
    expect_user_text("\"hold\":false");
    expect(200, NULL, "POST /v1/jobs/%llu/release", held);
    expect_text("\"hold\":false");
    expect_user(200, NULL, "POST /v1/jobs/%llu/hold", held);
    expect_user(200, NULL, "POST /v1/jobs/%llu/release", held); /* what its user held, its user releases */
}

static void a_token_of_a_deleted_account_does_not_keep_the_service_from_starting(void **state)
{
    (void)state;
    access_start("");
    char tokens[2000];
    snprintf(tokens, sizeof tokens, "%.900s0123abcd deleted-user %032d %064d\n", service_read("tokens"), 0, 0);
    assert_int_equal(service_signal(SIGTERM), 0);
    assert_true(service_write("tokens", tokens));
    access_start_again();
    if (!strstr(service_read("err"), "token 0123abcd is refused: its user 'deleted-user' is not known"))
        fail_msg("it says %s", service_read("err"));
    expect_user(200, NULL, "GET /v1/whoami");
    snprintf(user.token, sizeof user.token, "adl_0123abcd_%064d", 0);
    expect_user(401, NULL, "GET /v1/whoami");
}

static void a_token_is_listed_without_its_secret_and_revoked_while_the_service_runs(void **state)
{
    (void)state;
    char id[9], tokens[128];
    access_start("");
    snprintf(id, sizeof id, "%.8s", user.token + 4);
    snprintf(tokens, sizeof tokens, "%s", service_path("tokens"));
    const char *const create[] = {"adlro", "token", "nobody", "--file", tokens, "--expires", "90d", NULL};
    const char *const list[] = {"adlro", "token", "list", "--file", tokens, NULL};
    const char *const revoke[] = {"adlro", "token", "revoke", id, "--file", tokens, NULL};
    assert_int_equal(access_run(create), 0);
    struct service_client second = user;
    second.bytes = NULL;
    second.fd = -1;
    snprintf(second.token, sizeof second.token, "%.77s", service_read("out"));
    assert_int_equal(client_ask(&second, "GET /v1/whoami", NULL), 200); /* it is known at once */
    assert_int_equal(access_run(list), 0);
    assert_non_null(strstr(service_read("out"), id));
    assert_non_null(strstr(service_read("out"), "never"));
    assert_null(strstr(service_read("out"), user.token + 13));
    assert_null(strstr(service_read("out"), second.token + 13));
    struct service_client stream = user;
    stream.bytes = NULL;
    stream.fd = client_dial_tcp(user.port);
    char head[300];
    const int size = snprintf(head, sizeof head,
                              "GET /v1/events HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer %s\r\n\r\n", user.token);
    assert_true(client_send(stream.fd, head, (size_t)size) && client_more(&stream));
    expect_user(200, NULL, "GET /v1/whoami");
    assert_int_equal(access_run(revoke), 0);
    expect_user(401, NULL, "GET /v1/whoami"); /* on the connection that was open, too */
    access_submit(&http, "news", "");
    while (!strstr(stream.bytes, "\r\n0\r\n\r\n")) /* the stream ends before its next event */
        assert_true(client_more(&stream));
    assert_null(strstr(stream.bytes, "news"));
    assert_int_equal(client_ask(&second, "GET /v1/whoami", NULL), 200);
    assert_int_equal(access_run(revoke), 1); /* it is gone */
    client_clear(&second);
    client_clear(&stream);
}

/* The user's last answer tells nothing of the administrator's job. */
static void expect_no_trace(void)
{
    if (strstr(user.body, "hush") || strstr(user.body, "user0"))
        fail_msg("it is told: %.600s", user.body);
}

/* Asks the same of a job of another user and of one that never was: the answers differ in the number alone. */
static void expect_same_as_absent(const char *method, const char *suffix, const char *body, number hidden)
{
    char what[80], texts[2][400];
    for (int i = 0; i < 2; i++) {
        const number id = i == 0 ? hidden : 987654;
        char digits[24];
        snprintf(what, sizeof what, "%s /v1/jobs/%llu%s", method, id, suffix);
        const int status = client_ask(&user, what, body);
        if (status != 404)
            fail_msg("%d for %s: %.300s", status, what, status > 0 ? user.body : "");
        snprintf(digits, sizeof digits, "%llu", id);
        const char *at = strstr(user.body, digits);
        assert_non_null(at);
        snprintf(texts[i], sizeof texts[i], "%.*s#%s", (int)(at - user.body), user.body, at + strlen(digits));
    }
    assert_string_equal(texts[0], texts[1]);
}

static void where_listings_are_private_users_see_their_own_jobs_alone(void **state)
{
    (void)state;
    char body[200], own[40], admin_name[80];
    access_start("jobs: {private: true}\n");
    const number hidden = access_submit(&http, "hush", ""), mine = access_submit(&user, "mine", "");
    const number ended = access_submit(&http, "hush-ended", "");
    expect(200, NULL, "DELETE /v1/jobs/%llu", ended);
    static const char *const lists[] = {"",          "?state=all",  "?state=PD",         "?state=R", "?state=ended",
                                        "?state=CA", "?user=user0", "?limit=1&state=all"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        expect_user(200, NULL, "GET /v1/jobs%s", lists[i]);
        expect_no_trace();
        const bool one = i < 3 || i == 7;
        if ((strstr(user.body, "\"name\":\"mine\"") != NULL) != one)
            fail_msg("%s: %.300s", lists[i], user.body);
        expect_user_text("\"counts\":{\"pending\":1,\"running\":0}");
    }
    expect(200, NULL, "GET /v1/whoami");
    client_string(&http, "user", admin_name, sizeof admin_name);
    expect_user(200, NULL, "GET /v1/jobs?user=%s&state=all", admin_name);
    expect_no_trace();
    for (int i = 0; i < 2; i++) {
        const number id = i == 0 ? hidden : ended;
        expect_same_as_absent("GET", "", NULL, id);
        expect_same_as_absent("GET", "/events", NULL, id);
        expect_same_as_absent("DELETE", "", NULL, id);
        expect_same_as_absent("PATCH", "", "{\"priority\":0.1}", id);
        expect_same_as_absent("POST", "/hold", NULL, id);
        expect_same_as_absent("POST", "/release", NULL, id);
        expect_same_as_absent("POST", "/requeue", NULL, id);
        snprintf(body, sizeof body, "{\"directory\":\"/tmp\",\"command\":[\"true\"],\"after\":[%llu]}", id);
        expect_user(400, body, "POST /v1/jobs");
        snprintf(own, sizeof own, "after: there is no job %llu", id);
        expect_user_text(own);
    }
    expect_user(200, NULL, "GET /v1/cluster");
    expect_user_text("\"state\":\"busy\"");
    expect_no_trace();
    expect_user(200, NULL, "GET /v1/decisions");
    expect_user_text("\"decisions\":[]");
    expect_user(200, NULL, "GET /metrics");
    expect_no_trace();
    expect_user(200, NULL, "GET /v1/jobs/%llu", mine);
    if (strstr(user.body, "job 1"))
        fail_msg("its reason names another's: %.900s", user.body);
    expect_user(200, NULL, "GET /v1/jobs/%llu/events", mine);
    /* Administrators see everything, and users do where it is not private. */
    expect(200, NULL, "GET /v1/jobs?state=all");
    expect_text("\"name\":\"hush-ended\"");
    expect_text("\"name\":\"mine\"");
    expect(200, NULL, "GET /v1/cluster");
    expect_text("user0");
    assert_int_equal(service_signal(SIGTERM), 0);
    assert_true(service_write("c.yaml", "engine: sim\nscenario: small.yaml\n"));
    access_start_again();
    expect_user(200, NULL, "GET /v1/jobs/%llu", hidden);
}

static void where_listings_are_private_streams_carry_no_jobs_of_others(void **state)
{
    (void)state;
    struct service_client stream;
    char head[300];
    access_start("jobs: {private: true}\n");
    stream = user;
    stream.bytes = NULL;
    stream.fd = client_dial_tcp(user.port);
    const int size =
        snprintf(head, sizeof head, "GET /v1/events?after=1 HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer %s\r\n\r\n",
                 user.token);
    assert_true(client_send(stream.fd, head, (size_t)size) && client_more(&stream));
    const number hidden = access_submit(&http, "hush", "");
    expect(200, NULL, "DELETE /v1/jobs/%llu", hidden);
    access_submit(&user, "mine", "");
    while (!strstr(stream.bytes, "\"name\":\"mine\""))
        assert_true(client_more(&stream));
    if (strstr(stream.bytes, "hush") || strstr(stream.bytes, "user0"))
        fail_msg("it is told: %.900s", stream.bytes);
    client_clear(&stream);
}

static int remove_access(void **state)
{
    client_clear(&user);
    return remove_service(state);
}

#define ACCESS_TEST(f) cmocka_unit_test_teardown(f, remove_access)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ACCESS_TEST(users_lower_priorities_and_only_administrators_raise_them),
        ACCESS_TEST(users_requeue_their_own_jobs_alone_and_these_come_back_as_they_were),
        ACCESS_TEST(a_user_submits_with_at_most_the_priority_that_is_configured),
        ACCESS_TEST(an_administrators_hold_is_released_by_administrators_alone),
        ACCESS_TEST(where_listings_are_private_users_see_their_own_jobs_alone),
        ACCESS_TEST(where_listings_are_private_streams_carry_no_jobs_of_others),
        ACCESS_TEST(a_token_of_a_deleted_account_does_not_keep_the_service_from_starting),
        ACCESS_TEST(a_token_is_listed_without_its_secret_and_revoked_while_the_service_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
