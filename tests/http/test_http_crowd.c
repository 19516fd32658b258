/* The HTTP server when many come at once, and stay: nobody keeps the others out. */
#include "http_fixture.h"

#include <grp.h>
#include <sys/wait.h>

#define STREAM "GET /v1/events HTTP/1.1\r\nHost: test\r\n"
#define WHO    "GET /v1/whoami HTTP/1.1"

static const char *const others[] = {"nobody", "daemon", "bin", "sys", "games"};
enum { OTHERS = sizeof others / sizeof *others };

/* A connection on which the head was sent; it is left open. Its status, 0 if it was closed. */
static int ask_and_stay(int fd, const char *head, const char *token, int *ret_fd)
{
    struct adl_text text = {0}, answer = {0};
    int status = 0;
    adl_text_put(&text, head);
    if (token)
        adl_text_printf(&text, "Authorization: Bearer %s\r\n", token);
    adl_text_put(&text, "\r\n");
    fixture_send(fd, text.data, text.size);
    if (fixture_read_until(fd, &answer, "\r\n\r\n", 5000))
        sscanf(answer.data, "HTTP/1.1 %d", &status);
    adl_text_clear(&text);
    adl_text_clear(&answer);
    *ret_fd = fd;
    return status;
}

/* Asks with a token on this connection, which is closed. */
static int ask_with(int fd, const char *token)
{
    char request[200];
    snprintf(request, sizeof request, WHO "\r\nAuthorization: Bearer %s", token);
    return fixture_ask(fd, request, NULL, NULL);
}

/* Tokens of other users join the fixture's own, which is that of an administrator. */
static void add_tokens(struct http_fixture *fixture, char tokens[OTHERS][ADL_TOKEN_SIZE])
{
    char lines[(OTHERS + 1) * (ADL_TOKEN_LINE_SIZE + 1)] = "", line[ADL_TOKEN_LINE_SIZE];
    struct adl_error err = {{0}};
    assert_int_equal(adl_token_create(fixture_user(), 0, fixture->token, line, &err), ADL_OK);
    strcat(strcat(lines, line), "\n");
    for (int i = 0; i < OTHERS; i++) {
        assert_int_equal(adl_token_create(others[i], 0, tokens[i], line, &err), ADL_OK);
        strcat(strcat(lines, line), "\n");
    }
    fixture_write(fixture->tokens, lines, 0600);
    assert_int_equal(adl_auth_reload(fixture->auth, &err), ADL_OK);
}

static bool is_closed(int fd)
{
    char byte;
    const ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN);
}

static void a_user_at_the_limit_of_event_streams_still_gets_answers(void **state)
{
    struct adl_http_limits limits = adl_http_limits_default();
    int fds[4], one;
    (void)state;
    limits.client.streams_per_client = 3;
    struct http_fixture *fixture = fixture_open(&limits);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ask_and_stay(fixture_connect_unix(fixture), STREAM, NULL, &fds[i]), i < 3 ? 200 : 503);
    assert_int_equal(fixture_get(fixture, "/v1/whoami", NULL), 200);
    /* Over TCP the same user counts on. */
    assert_int_equal(ask_and_stay(fixture_connect_tcp(fixture), STREAM, fixture->token, &one), 503);
    close(one);
    close(fds[0]);
    adl_events_publish(fixture->events, "job", "{}", NULL, NULL); /* a stream that has news notices that it was left */
    int status = 0;
    for (int i = 0; i < 200 && status != 200; i++) {
        status = ask_and_stay(fixture_connect_unix(fixture), STREAM, NULL, &fds[0]);
        if (status != 200)
            close(fds[0]);
        fixture_sleep_ms(status == 200 ? 0 : 10);
    }
    assert_int_equal(status, 200);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    fixture_close(fixture);
}

static void streams_and_idle_connections_of_users_lock_nobody_out(void **state)
{
    struct adl_http_limits limits = adl_http_limits_default();
    enum { EACH = 10 };
    char tokens[OTHERS][ADL_TOKEN_SIZE];
    int fds[2 * OTHERS * EACH], count = 0, streams = 0;
    (void)state;
    limits.connections = 20;
    limits.streams = 8;
    limits.client.streams_per_client = 6;
    struct http_fixture *fixture = fixture_open(&limits);
    add_tokens(fixture, tokens);
    for (int i = 0; i < OTHERS * EACH; i++, count++)
        streams += ask_and_stay(fixture_connect_tcp(fixture), STREAM, tokens[i % OTHERS], &fds[count]) == 200;
    assert_int_equal(streams, 8);
    for (int i = 0; i < OTHERS * EACH; i++, count++) /* answered, and kept open */
        assert_int_equal(
            ask_and_stay(fixture_connect_tcp(fixture), WHO "\r\nHost: test\r\n", tokens[i % OTHERS], &fds[count]), 200);
    assert_int_equal(ask_with(fixture_connect_tcp(fixture), fixture->token), 200);
    assert_int_equal(fixture_get(fixture, "/v1/whoami", NULL), 200);
    assert_true(adl_http_counts(fixture->http).open <= 22);
    assert_int_equal(adl_http_counts(fixture->http).streams, 8); /* those are not what makes room */
    for (int i = 0; i < count; i++)
        close(fds[i]);
    fixture_close(fixture);
}

static void connections_without_a_token_displace_only_each_other(void **state)
{
    struct adl_http_limits limits = adl_http_limits_default();
    enum { MANY = 60 };
    int fds[MANY], kept, closed = 0;
    (void)state;
    limits.connections = 40;
    limits.unauthenticated = 8;
    struct http_fixture *fixture = fixture_open(&limits);
    assert_int_equal(ask_and_stay(fixture_connect_tcp(fixture), WHO "\r\nHost: test\r\n", fixture->token, &kept), 200);
    for (int i = 0; i < MANY; i++)
        fds[i] = fixture_connect_tcp(fixture);
    assert_int_equal(ask_with(fixture_connect_tcp(fixture), fixture->token), 200);
    for (int tries = 0; tries < 500 && closed < MANY - 8; tries++) {
        closed = 0;
        for (int i = 0; i < MANY; i++)
            closed += is_closed(fds[i]);
        fixture_sleep_ms(closed < MANY - 8 ? 10 : 0);
    }
    assert_true(closed >= MANY - 8);
    assert_false(is_closed(kept)); /* who has shown a token stays */
    assert_int_equal(ask_with(kept, fixture->token), 200);
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    fixture_close(fixture);
}

static void a_client_without_a_token_has_less_time(void **state)
{
    struct adl_http_limits limits = adl_http_limits_default();
    int known, stranger, served;
    (void)state;
    limits.receive_us = 60000000;
    limits.unauthenticated_us = 200000;
    struct http_fixture *fixture = fixture_open(&limits);
    assert_int_equal(ask_and_stay(fixture_connect_tcp(fixture), WHO "\r\nHost: test\r\n", fixture->token, &known), 200);
    assert_int_equal(
        ask_and_stay(fixture_connect_tcp(fixture), "GET /healthz HTTP/1.1\r\nHost: test\r\n", NULL, &served), 200);
    stranger = fixture_connect_tcp(fixture);
    assert_true(fixture_ends(stranger, 5000));
    assert_true(fixture_ends(served, 5000));
    assert_false(is_closed(known));
    close(stranger);
    close(served);
    close(known);
    fixture_close(fixture);
}

/* In a process of its own, as this user: opens streams until none is given, and holds them until it is killed. */
static _Noreturn void hold_streams(const struct http_fixture *fixture, uid_t uid, int count, int ready)
{
    int fd;
    if (setgroups(0, NULL) != 0 || setgid(uid) != 0 || setuid(uid) != 0)
        _exit(1);
    for (int i = 0; i < count; i++)
        ask_and_stay(fixture_connect_unix(fixture), STREAM, NULL, &fd);
    for (int i = 0; i < count; i++) /* and connections that ask for nothing */
        fixture_connect_unix(fixture);
    if (write(ready, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void five_users_with_128_streams_each_do_not_lock_the_administrator_out(void **state)
{
    struct http_fixture *fixture;
    pid_t children[5];
    int ready[2];
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can ask as five users\n");
        skip();
    }
    fixture = fixture_open(NULL);
    assert_int_equal(chmod(fixture->folder, 0755), 0);
    assert_int_equal(pipe(ready), 0);
    for (int i = 0; i < 5; i++) {
        children[i] = fork();
        if (children[i] == 0)
            hold_streams(fixture, (uid_t)(61000 + i), 128, ready[1]);
    }
    for (int i = 0; i < 5; i++) {
        char byte;
        assert_true(fixture_readable(ready[0], 30000) && read(ready[0], &byte, 1) == 1);
    }
    assert_true(adl_http_counts(fixture->http).streams > 100);
    for (int i = 0; i < 20; i++)
        assert_int_equal(fixture_get(fixture, "/v1/whoami", NULL), 200);
    for (int i = 0; i < 5; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    close(ready[0]);
    close(ready[1]);
    fixture_close(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_at_the_limit_of_event_streams_still_gets_answers),
        cmocka_unit_test(streams_and_idle_connections_of_users_lock_nobody_out),
        cmocka_unit_test(connections_without_a_token_displace_only_each_other),
        cmocka_unit_test(a_client_without_a_token_has_less_time),
        cmocka_unit_test(five_users_with_128_streams_each_do_not_lock_the_administrator_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
