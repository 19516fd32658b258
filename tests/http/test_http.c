/* The HTTP server as its clients see it, over real sockets. */
#include "http_fixture.h"

#include <sys/wait.h>

static void expect(struct adl_text *answer, const char *text)
{
    if (!strstr(answer->data, text))
        fail_msg("not in the answer: %s\n%s", text, answer->data);
}

static void a_route_gets_its_parameters_and_its_query(void **state)
{
    struct http_fixture *fixture = *state;
    struct adl_text answer = {0};
    assert_int_equal(fixture_get(fixture, "/v1/jobs/a%20b?limit=42", &answer), 200);
    expect(&answer, "\r\n\r\njob a b limit 42");
    adl_text_clear(&answer);
    assert_int_equal(fixture_get(fixture, "/v1/jobs/12", &answer), 200);
    expect(&answer, "job 12 limit 7");
    adl_text_clear(&answer);
    assert_int_equal(fixture_get(fixture, "/v1/jobs/12?limit=101", &answer), 400);
    expect(&answer, "{\"error\":{\"code\":\"bad_query\",\"message\":\"query parameter limit: must be a whole number "
                    "from 1 to 100\"");
    adl_text_clear(&answer);
}

static void a_missing_address_is_answered_in_json(void **state)
{
    struct http_fixture *fixture = *state;
    struct adl_text answer = {0};
    assert_int_equal(fixture_get(fixture, "/v1/nothing", &answer), 404);
    expect(&answer, "{\"error\":{\"code\":\"not_found\"");
    expect(&answer, "Content-Type: application/json");
    adl_text_clear(&answer);
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture), "PUT /v1/jobs/1 HTTP/1.1", "", &answer), 405);
    expect(&answer, "\r\nAllow: GET, HEAD, DELETE\r\n");
    adl_text_clear(&answer);
    assert_int_equal(fixture_get(fixture, "/v1/../etc/passwd", NULL), 400);
    assert_int_equal(fixture_get(fixture, "/v1/jobs/%2e%2e", NULL), 400);
    assert_int_equal(fixture_get(fixture, "/v1/jobs/a%00b", NULL), 400);
    assert_int_equal(fixture_get(fixture, "/v1/jobs/a%2fb", NULL), 400);
    assert_int_equal(fixture_get(fixture, "/v1/forget", NULL), 500);
}

static void every_answer_has_the_security_headers(void **state)
{
    struct http_fixture *fixture = *state;
    static const char *const paths[] = {"/", "/healthz", "/v1/nothing"};
    for (size_t i = 0; i < 3; i++) {
        struct adl_text answer = {0};
        fixture_get(fixture, paths[i], &answer);
        expect(&answer, "\r\nContent-Security-Policy: default-src 'self';");
        expect(&answer, "\r\nX-Content-Type-Options: nosniff\r\n");
        adl_text_clear(&answer);
    }
}

static void an_asset_the_client_has_is_not_sent_again(void **state)
{
    struct http_fixture *fixture = *state;
    struct adl_text answer = {0};
    char request[128];
    assert_int_equal(fixture_get(fixture, "/", &answer), 200);
    expect(&answer, fixture->asset.etag);
    expect(&answer, "\r\nCache-Control: no-cache\r\n");
    expect(&answer, "<title>adlro</title>");
    adl_text_clear(&answer);
    snprintf(request, sizeof request, "GET / HTTP/1.1\r\nIf-None-Match: %s", fixture->asset.etag);
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture), request, NULL, &answer), 304);
    assert_null(strstr(answer.data, "<title>"));
    adl_text_clear(&answer);
    assert_int_equal(
        fixture_ask(fixture_connect_unix(fixture), "GET / HTTP/1.1\r\nIf-None-Match: \"other\"", NULL, NULL), 200);
}

static void head_answers_as_get_without_a_body(void **state)
{
    struct http_fixture *fixture = *state;
    struct adl_text answer = {0};
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture), "HEAD /healthz HTTP/1.1", NULL, &answer), 200);
    expect(&answer, "Content-Length: 6");
    assert_null(strstr(answer.data, "hello"));
    adl_text_clear(&answer);
}

static void a_body_must_be_json_and_say_so(void **state)
{
    struct http_fixture *fixture = *state;
    struct adl_text answer = {0};
    const char *typed = "POST /v1/jobs HTTP/1.1\r\nContent-Type: application/json; charset=utf-8";
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture), typed, "{\"gpus\": 2}", &answer), 201);
    expect(&answer, "\r\nLocation: /v1/jobs/17\r\n");
    expect(&answer, "{\"gpus\": 2}");
    adl_text_clear(&answer);
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture), "POST /v1/jobs HTTP/1.1", "{}", NULL), 415);
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture), typed, "{\"gpus\": }", NULL), 400);
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture), typed, "", NULL), 400);
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture), "GET /healthz HTTP/1.1", "body", NULL), 413);
}

static void the_unix_socket_identifies_the_user(void **state)
{
    struct http_fixture *fixture = *state;
    struct adl_text answer = {0};
    char uid[32], pid[32];
    assert_int_equal(fixture_get(fixture, "/v1/whoami", &answer), 200);
    snprintf(uid, sizeof uid, "{\"uid\":%lu,", (unsigned long)geteuid());
    snprintf(pid, sizeof pid, "\"pid\":%ld,", (long)getpid());
    expect(&answer, uid);
    expect(&answer, pid);
    expect(&answer, fixture_user());
    expect(&answer, "\"admin\":true");
    adl_text_clear(&answer);
    struct stat about;
    assert_int_equal(stat(fixture->socket, &about), 0);
    assert_int_equal(about.st_mode & 07777, geteuid() == 0 ? 0666 : 0660);
}

/* As nobody, which takes root to become. The exit status of the child is the verdict. */
static void another_user_is_not_an_administrator(void **state)
{
    struct http_fixture *fixture = *state;
    const struct passwd *nobody = getpwnam("nobody");
    if (geteuid() != 0 || !nobody) {
        print_message("skipped: another user takes root\n");
        skip();
    }
    assert_int_equal(chmod(fixture->folder, 0755), 0);
    assert_int_equal(chmod(fixture->socket, 0666), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct adl_text answer = {0};
        char uid[32];
        snprintf(uid, sizeof uid, "{\"uid\":%lu,", (unsigned long)nobody->pw_uid);
        if (setgid(nobody->pw_gid) < 0 || setuid(nobody->pw_uid) < 0)
            _exit(1);
        if (fixture_get(fixture, "/v1/whoami", &answer) != 200 || !strstr(answer.data, uid) ||
            !strstr(answer.data, "\"name\":\"nobody\",\"admin\":false"))
            _exit(2);
        _exit(fixture_ask(fixture_connect_unix(fixture), "POST /v1/drain HTTP/1.1", NULL, NULL) == 403 ? 0 : 3);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture), "POST /v1/drain HTTP/1.1", NULL, NULL), 200);
}

static void a_cross_site_request_changes_nothing(void **state)
{
    struct http_fixture *fixture = *state;
    static const struct {
        const char *request;
        int status;
    } cases[] = {{"POST /v1/drain HTTP/1.1\r\nSec-Fetch-Site: cross-site", 403},
                 {"POST /v1/drain HTTP/1.1\r\nSec-Fetch-Site: same-site", 403},
                 {"POST /v1/drain HTTP/1.1\r\nSec-Fetch-Site: same-origin", 200},
                 {"POST /v1/drain HTTP/1.1\r\nSec-Fetch-Site: none", 200},
                 {"GET /v1/whoami HTTP/1.1\r\nSec-Fetch-Site: cross-site", 200}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(fixture_ask(fixture_connect_unix(fixture), cases[i].request, NULL, NULL), cases[i].status);
}

static int ask_with_token(struct http_fixture *fixture, const char *token, struct adl_text *ret_answer)
{
    char request[256];
    snprintf(request, sizeof request, "GET /v1/whoami HTTP/1.1\r\nAuthorization: Bearer %s", token);
    return fixture_ask(fixture_connect_tcp(fixture), request, NULL, ret_answer);
}

static void tcp_requires_a_valid_token(void **state)
{
    struct http_fixture *fixture = *state;
    struct adl_text answer = {0};
    char wrong[ADL_TOKEN_SIZE];
    assert_int_equal(fixture_ask(fixture_connect_tcp(fixture), "GET /healthz HTTP/1.1", NULL, NULL), 200);
    assert_int_equal(fixture_ask(fixture_connect_tcp(fixture), "GET /v1/whoami HTTP/1.1", NULL, &answer), 401);
    expect(&answer, "\r\nWWW-Authenticate: Bearer\r\n");
    adl_text_clear(&answer);
    assert_int_equal(ask_with_token(fixture, fixture->token, &answer), 200);
    expect(&answer, fixture_user());
    expect(&answer, "\"pid\":0");
    adl_text_clear(&answer);
    for (size_t i = 0; i < ADL_TOKEN_SIZE - 1; i += 7) {
        snprintf(wrong, sizeof wrong, "%s", fixture->token);
        wrong[i] = wrong[i] == '0' ? '1' : '0';
        assert_int_equal(ask_with_token(fixture, wrong, NULL), 401);
    }
    assert_int_equal(ask_with_token(fixture, "", NULL), 401);
    assert_int_equal(ask_with_token(fixture, "adl_", NULL), 401);
}

struct answerer {
    struct http_fixture *fixture;
    int wait_ms;
};

static void *answer_later(void *arg)
{
    const struct answerer *answerer = arg;
    struct adl_text text = {0};
    struct adl_http_request *request = fixture_take_deferred(answerer->fixture);
    fixture_sleep_ms(answerer->wait_ms);
    adl_text_put(&text, "{\"late\":true}");
    adl_http_request_answer_json(request, 202, &text);
    return NULL;
}

static void a_deferred_answer_comes_from_another_thread(void **state)
{
    struct http_fixture *fixture = *state;
    for (int i = 0; i < 20; i++) {
        struct answerer answerer = {.fixture = fixture, .wait_ms = i % 4};
        struct adl_text answer = {0};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, answer_later, &answerer), 0);
        assert_int_equal(fixture_get(fixture, "/v1/defer", &answer), 202);
        expect(&answer, "{\"late\":true}");
        adl_text_clear(&answer);
        pthread_join(thread, NULL);
    }
}

static void others_are_served_while_one_waits(void **state)
{
    struct http_fixture *fixture = *state;
    struct adl_text answer = {0}, text = {0};
    static const char request[] = "GET /v1/defer HTTP/1.1\r\nHost: test\r\n\r\n";
    const int fd = fixture_connect_unix(fixture);
    fixture_send(fd, request, sizeof request - 1);
    struct adl_http_request *deferred = fixture_take_deferred(fixture);
    for (int i = 0; i < 10; i++)
        assert_int_equal(fixture_get(fixture, "/healthz", NULL), 200);
    assert_false(fixture_readable(fd, 0));
    adl_text_put(&text, "done");
    adl_http_request_answer_text(deferred, 200, "text/plain", &text);
    assert_true(fixture_read_until(fd, &answer, "\r\n\r\ndone", 2000));
    close(fd);
    adl_text_clear(&answer);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct http_fixture *fixture = *state;
    struct adl_text requests = {0};
    for (int i = 0; i < 50; i++)
        adl_text_printf(&requests, "GET /v1/jobs/%d HTTP/1.1\r\nHost: test\r\n%s\r\n", i,
                        i == 49 ? "Connection: close\r\n" : "");
    struct adl_text answer = fixture_exchange(fixture_connect_unix(fixture), requests.data, requests.size);
    const char *at = answer.data;
    for (int i = 0; i < 50; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "\r\n\r\njob %d limit", i);
        at = strstr(at, wanted);
        assert_non_null(at);
    }
    adl_text_clear(&requests);
    adl_text_clear(&answer);
}

#define CLIENT_COUNT 64

static void *ask_often(void *arg)
{
    struct http_fixture *fixture = arg;
    static const char request[] = "GET /v1/jobs/5 HTTP/1.1\r\nHost: test\r\n\r\n";
    const int fd = fixture_connect_unix(fixture);
    intptr_t good = 0;
    for (int i = 0; i < 20; i++) {
        struct adl_text answer = {0};
        fixture_send(fd, request, sizeof request - 1);
        good += fixture_read_until(fd, &answer, "\r\n\r\njob 5 limit 7", 10000);
        adl_text_clear(&answer);
    }
    close(fd);
    return (void *)good;
}

static void sixty_four_connections_at_once_are_all_served(void **state)
{
    struct http_fixture *fixture = *state;
    pthread_t threads[CLIENT_COUNT];
    for (int i = 0; i < CLIENT_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, fixture), 0);
    for (int i = 0; i < CLIENT_COUNT; i++) {
        void *good = NULL;
        pthread_join(threads[i], &good);
        assert_int_equal((intptr_t)good, 20);
    }
    const struct adl_http_counts counts = adl_http_counts(fixture->http);
    assert_true(counts.answers[2] >= 20 * CLIENT_COUNT);
    assert_int_equal(counts.answers[5], 0);
}

static int open_server(void **state)
{
    *state = fixture_open(NULL);
    return 0;
}

static int close_server(void **state)
{
    fixture_close(*state);
    return 0;
}

#define served(test) cmocka_unit_test_setup_teardown(test, open_server, close_server)

int main(void)
{
    const struct CMUnitTest tests[] = {
        served(a_route_gets_its_parameters_and_its_query),   served(a_missing_address_is_answered_in_json),
        served(every_answer_has_the_security_headers),       served(an_asset_the_client_has_is_not_sent_again),
        served(head_answers_as_get_without_a_body),          served(a_body_must_be_json_and_say_so),
        served(the_unix_socket_identifies_the_user),         served(another_user_is_not_an_administrator),
        served(a_cross_site_request_changes_nothing),        served(tcp_requires_a_valid_token),
        served(a_deferred_answer_comes_from_another_thread), served(others_are_served_while_one_waits),
        served(pipelined_requests_are_answered_in_order),    served(sixty_four_connections_at_once_are_all_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
