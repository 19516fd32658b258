/* The running service and those who mean it harm, or know no better: malformed, huge, slow, unauthorised. */
#include "service_check.h"

/* Sends bytes as they are; the status of what comes back, 0 if the connection ends without an answer. */
static int say(int fd, const char *bytes, size_t size)
{
    struct service_client client = {.fd = fd};
    assert_true(fd >= 0);
    client_send(fd, bytes, size);
    shutdown(fd, SHUT_WR);
    const int status = client_read(&client);
    client_clear(&client);
    return status < 0 ? 0 : status;
}

static int say_text(const char *text)
{
    return say(client_dial(service.socket), text, strlen(text));
}

static void malformed_requests_are_refused_and_others_are_served(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET /v1/jobs HTTP/1.1\r\n\r\n", /* no host */
        "GET /v1/jobs HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Type: text/x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /v1/jobs?limit=1&limit=2 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /v1/jobs?limit=0 HTTP/1.1\r\nHost: a\r\n\r\n",
    };
    start_service(service_slots_yaml(2, ""));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int status = say_text(bad[i]);
        if (status != 0 && (status < 400 || status >= 500) && status != 505)
            fail_msg("%d for %s", status, bad[i]);
    }
    expect(405, NULL, "PUT /v1/jobs");
    expect(405, NULL, "DELETE /v1/jobs");
    expect(404, NULL, "GET /v1/nothing");
    expect(404, NULL, "GET /v1/jobs/x");
    const uint64_t id = submit("fine", "0", 0, "");
    wait_for(id, "state", "CD");
}

static void bodies_that_are_no_submission_are_refused_and_nothing_is_stored(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "null",
        "{\"command\":[]}",
        "{\"command\":[\"a\"]}", /* no directory */
        "{\"command\":[\"a\"],\"directory\":\"relative\"}",
        "{\"command\":[\"a\"],\"directory\":\"/\",\"gpus\":0}",
        "{\"command\":[\"a\"],\"directory\":\"/\",\"gpus\":1e9}",
        "{\"command\":[\"a\"],\"directory\":\"/\",\"gpus\":\"nonsense:1\"}",
        "{\"command\":[\"a\"],\"directory\":\"/\",\"array\":\"0-99999999\"}",
        "{\"command\":[\"a\"],\"directory\":\"/\",\"after\":[77]}",
        "{\"command\":[\"a\"],\"directory\":\"/\",\"environment\":[\"no equals\"]}",
        "{\"command\":[\"a\\u0000b\"],\"directory\":\"/\"}",
        "{\"command\":[\"a\"],\"directory\":\"/\",\"directory\":\"/\"}",
        "{\"command\":[\"a\"],\"directory\":\"/\",\"unknown\":1}",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    };
    start_service(service_slots_yaml(2, ""));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int status = client_ask(&http, "POST /v1/jobs", bad[i]);
        if (status != 400)
            fail_msg("%d for %s: %.200s", status, bad[i], http.body);
    }
    expect(200, NULL, "GET /v1/jobs?state=all");
    expect_text("\"jobs\":[]");
}

static void a_body_that_is_too_large_is_refused_before_it_is_sent(void **state)
{
    (void)state;
    start_service(service_slots_yaml(2, ""));
    assert_int_equal(say_text("POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                              "Content-Length: 100000000\r\n\r\n{"),
                     413);
    const size_t size = 4u << 20;
    char *body = malloc(size);
    assert_non_null(body);
    memset(body, '[', size);
    body[size - 1] = '\0';
    assert_int_equal(client_ask(&http, "POST /v1/jobs", body), 400);
    free(body);
    expect(200, NULL, "GET /healthz");
}

static int dial_tcp(void)
{
    return client_dial_tcp(tcp_port());
}

static void who_comes_by_tcp_without_a_token_changes_and_reads_nothing(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "GET /v1/jobs HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        "DELETE /v1/jobs/1 HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /v1/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "GET /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer adl_x_0000\r\n\r\n",
        "GET /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Basic cm9vdDpyb290\r\n\r\n",
    };
    char tokens[128];
    assert_true(service_make(service_slots_yaml(2, "")));
    assert_true(service_write("tokens", "") && chmod(service_path("tokens"), 0600) == 0);
    snprintf(tokens, sizeof tokens, "%s", service_path("tokens"));
    const char *const args[] = {"--tcp", "127.0.0.1:0", "--tokens", tokens};
    memcpy(service.args, args, sizeof args);
    http = client_make(service.socket);
    start_again();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int status = say(dial_tcp(), bad[i], strlen(bad[i]));
        if (status != 401)
            fail_msg("%d for %s", status, bad[i]);
    }
    const char *health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_int_equal(say(dial_tcp(), health, strlen(health)), 200);
}

/* Half a request, and then nothing: others are served meanwhile, and in the end the connection is closed. */
static void clients_that_do_not_go_on_are_closed_and_hold_up_nobody(void **state)
{
    (void)state;
    enum { SLOW = 40 };
    static const char *const halves[] = {
        "GET /v1/jo", "\r\n\r\n\r\n", "\x01\x02\x03",
        "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"comm"};
    int fds[SLOW];
    start_service(service_slots_yaml(2, ""));
    for (int i = 0; i < SLOW; i++) {
        fds[i] = client_dial(service.socket);
        assert_true(fds[i] >= 0 && client_send(fds[i], halves[i % 4], strlen(halves[i % 4])));
    }
    const uint64_t id = submit("fine", "0", 0, "");
    wait_for(id, "state", "CD");
    for (int i = 0; i < SLOW; i++) {
        struct service_client client = {.fd = fds[i]};
        const int64_t start_us = service_now_us();
        while (client_more(&client)) /* 408, or nothing, and then its end */
            ;
        assert_true(service_now_us() - start_us < 30000000);
        client_clear(&client);
    }
    expect(200, NULL, "GET /healthz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(malformed_requests_are_refused_and_others_are_served),
        SERVICE_TEST(bodies_that_are_no_submission_are_refused_and_nothing_is_stored),
        SERVICE_TEST(a_body_that_is_too_large_is_refused_before_it_is_sent),
        SERVICE_TEST(who_comes_by_tcp_without_a_token_changes_and_reads_nothing),
        SERVICE_TEST(clients_that_do_not_go_on_are_closed_and_hold_up_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
