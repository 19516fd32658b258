/* Streams of server-sent events over real sockets. */
#include "http_fixture.h"

static void publish(struct http_fixture *fixture, const char *data)
{
    struct adl_error err;
    assert_int_equal(adl_events_publish(fixture->events, "job", data, NULL, &err), ADL_OK);
}

/* more: further header lines, each with its end. */
static int listen_to(struct http_fixture *fixture, const char *path, const char *more)
{
    char request[256];
    const int fd = fixture_connect_unix(fixture);
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: test\r\n%s\r\n", path, more);
    fixture_send(fd, request, strlen(request));
    return fd;
}

static void expect_next(int fd, struct adl_text *answer, const char *text)
{
    if (!fixture_read_until(fd, answer, text, 5000))
        fail_msg("did not come: %s\n%s", text, answer->data ? answer->data : "");
}

/* The client may have the last bytes before the server has put the stream away. */
static uint64_t streams_within_5_s(struct http_fixture *fixture, uint64_t wanted)
{
    uint64_t streams = adl_http_counts(fixture->http).streams;
    for (int i = 0; i < 500 && streams != wanted; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        streams = adl_http_counts(fixture->http).streams;
    }
    return streams;
}

static void events_arrive_as_they_are_published(void **state)
{
    struct http_fixture *fixture = fixture_open(NULL);
    struct adl_text answer = {0};
    (void)state;
    publish(fixture, "before");
    const int fd = listen_to(fixture, "/v1/events", "");
    expect_next(fd, &answer, "retry: 2000\n\n");
    assert_non_null(strstr(answer.data, "Content-Type: text/event-stream"));
    assert_non_null(strstr(answer.data, "Cache-Control: no-store"));
    for (int i = 0; i < 30; i++) {
        char data[32], wanted[64];
        snprintf(data, sizeof data, "number %d", i);
        snprintf(wanted, sizeof wanted, "id: %d\nevent: job\ndata: number %d\n\n", 101 + i, i);
        publish(fixture, data);
        expect_next(fd, &answer, wanted);
    }
    assert_null(strstr(answer.data, "before"));
    assert_int_equal(adl_http_counts(fixture->http).streams, 1);
    close(fd);
    adl_text_clear(&answer);
    fixture_close(fixture);
}

static void a_client_that_reconnects_gets_the_events_it_missed(void **state)
{
    struct http_fixture *fixture = fixture_open(NULL);
    struct adl_text answer = {0};
    (void)state;
    publish(fixture, "one");
    publish(fixture, "two");
    publish(fixture, "three");
    int fd = listen_to(fixture, "/v1/events", "Last-Event-ID: 100\r\n");
    expect_next(fd, &answer, "data: three\n\n");
    assert_non_null(strstr(answer.data, "id: 101\nevent: job\ndata: two\n\n"));
    assert_null(strstr(answer.data, "data: one"));
    assert_null(strstr(answer.data, "event: gap"));
    close(fd);
    adl_text_clear(&answer);
    fd = listen_to(fixture, "/v1/events?after=101", "");
    expect_next(fd, &answer, "data: three\n\n");
    assert_null(strstr(answer.data, "data: two"));
    close(fd);
    adl_text_clear(&answer);
    static const char *const ahead[] = {"Last-Event-ID: 500\r\n", "Last-Event-ID: 3\r\n"};
    for (int i = 0; i < 2; i++) { /* ids of another life of the service */
        fd = listen_to(fixture, "/v1/events", ahead[i]);
        expect_next(fd, &answer, "event: gap\ndata: {\"next\":100}\n\n");
        expect_next(fd, &answer, "data: three\n\n");
        close(fd);
        adl_text_clear(&answer);
    }
    assert_int_equal(fixture_get(fixture, "/v1/events?after=x", NULL), 400);
    assert_int_equal(fixture_get(fixture, "/v1/events?after=-1", NULL), 400);
    fixture_close(fixture);
}

static void a_silent_stream_has_a_heartbeat_and_an_end(void **state)
{
    struct adl_http_limits limits = adl_http_limits_default();
    struct adl_text answer = {0};
    (void)state;
    limits.heartbeat_us = 50000;
    limits.stream_us = 500000;
    struct http_fixture *fixture = fixture_open(&limits);
    const int fd = listen_to(fixture, "/v1/events", "");
    expect_next(fd, &answer, ": still here\n\n");
    expect_next(fd, &answer, "\r\n0\r\n\r\n");
    assert_int_equal(streams_within_5_s(fixture, 0), 0);
    close(fd);
    adl_text_clear(&answer);
    fixture_close(fixture);
}

static void a_client_that_does_not_read_is_dropped_and_delays_no_other(void **state)
{
    struct http_fixture *fixture = fixture_open(NULL);
    struct adl_text answer = {0}, large = {0};
    (void)state;
    adl_text_repeat(&large, 'x', 30000);
    const int slow = listen_to(fixture, "/v1/events", ""), good = listen_to(fixture, "/v1/events", "");
    expect_next(slow, &answer, "retry:");
    adl_text_clear(&answer);
    expect_next(good, &answer, "retry:");
    for (int i = 0; i < 500 && adl_http_counts(fixture->http).dropped == 0; i++) {
        char end[32];
        publish(fixture, large.data);
        publish(fixture, "end");
        snprintf(end, sizeof end, "id: %d\nevent: job\ndata: end\n\n", 101 + 2 * i);
        adl_text_truncate(&answer, 0);
        expect_next(good, &answer, end);
    }
    assert_int_equal(adl_http_counts(fixture->http).dropped, 1);
    assert_true(fixture_ends(slow, 2000));
    publish(fixture, "still with us");
    expect_next(good, &answer, "still with us");
    close(slow);
    close(good);
    adl_text_clear(&answer);
    adl_text_clear(&large);
    fixture_close(fixture);
}

static void a_burst_beyond_the_ring_ends_the_stream(void **state)
{
    struct http_fixture *fixture = fixture_open(NULL);
    struct adl_text answer = {0};
    (void)state;
    const int fd = listen_to(fixture, "/v1/events?after=99", "");
    expect_next(fd, &answer, "retry:");
    for (int i = 0; i < 20000 && adl_http_counts(fixture->http).dropped == 0; i++)
        publish(fixture, "flood");
    /* Either the thread kept up with all of it, or the stream ended; it never skips. */
    publish(fixture, "last");
    const bool came = fixture_read_until(fd, &answer, "data: last", 1000);
    assert_true(came || adl_http_counts(fixture->http).dropped > 0);
    int64_t wanted = 100;
    for (const char *at = answer.data; (at = strstr(at, "id: ")); at += 4)
        assert_int_equal(strtoll(at + 4, NULL, 10), wanted++);
    close(fd);
    adl_text_clear(&answer);
    fixture_close(fixture);
}

static void many_streams_get_the_same_events(void **state)
{
    struct http_fixture *fixture = fixture_open(NULL);
    int fds[60];
    (void)state;
    for (int i = 0; i < 60; i++)
        fds[i] = listen_to(fixture, "/v1/events?after=99", "");
    publish(fixture, "to all");
    for (int i = 0; i < 60; i++) {
        struct adl_text answer = {0};
        expect_next(fds[i], &answer, "id: 100\nevent: job\ndata: to all\n\n");
        adl_text_clear(&answer);
        close(fds[i]);
    }
    /* Listeners that left are noticed when there is something to tell them. */
    for (int i = 0; i < 200 && adl_http_counts(fixture->http).streams > 0; i++) {
        publish(fixture, "anybody?");
        fixture_sleep_ms(10);
    }
    assert_int_equal(streams_within_5_s(fixture, 0), 0);
    fixture_close(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_arrive_as_they_are_published),
        cmocka_unit_test(a_client_that_reconnects_gets_the_events_it_missed),
        cmocka_unit_test(a_silent_stream_has_a_heartbeat_and_an_end),
        cmocka_unit_test(a_client_that_does_not_read_is_dropped_and_delays_no_other),
        cmocka_unit_test(a_burst_beyond_the_ring_ends_the_stream),
        cmocka_unit_test(many_streams_get_the_same_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
