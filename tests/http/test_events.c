/* The ring of events behind the streams. */
#include "http/events.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct adl_events *create(uint32_t capacity, uint64_t first_id)
{
    struct adl_events *events = NULL;
    struct adl_error err;
    assert_int_equal(adl_events_create(capacity, first_id, &events, &err), ADL_OK);
    return events;
}

static void publish(struct adl_events *events, const char *kind, const char *data)
{
    struct adl_error err;
    assert_int_equal(adl_events_publish(events, kind, data, NULL, &err), ADL_OK);
}

static bool is_readable(const struct adl_events *events)
{
    struct pollfd one = {.fd = adl_events_fd(events), .events = POLLIN};
    return poll(&one, 1, 0) == 1;
}

static void events_are_numbered_and_framed(void **state)
{
    struct adl_events *events = create(4, 10);
    struct adl_events_cursor cursor = {.id = 10};
    char buffer[256] = {0};
    (void)state;
    assert_int_equal(adl_events_read(events, &cursor, buffer, sizeof buffer), 0);
    publish(events, "job", "{\"id\":1}");
    publish(events, "note", "two\nlines\r\nand\rmore");
    const ssize_t size = adl_events_read(events, &cursor, buffer, sizeof buffer - 1);
    assert_true(size > 0);
    buffer[size] = '\0';
    assert_string_equal(buffer, "id: 10\nevent: job\ndata: {\"id\":1}\n\n"
                                "id: 11\nevent: note\ndata: two\ndata: lines\ndata: and\ndata: more\n\n");
    assert_int_equal(adl_events_read(events, &cursor, buffer, sizeof buffer), 0);
    assert_int_equal(adl_events_next_id(events), 12);
    adl_events_destroy(events);
    adl_events_destroy(NULL);
}

static void a_small_buffer_gets_the_same_bytes_piece_by_piece(void **state)
{
    struct adl_events *events = create(8, 1);
    char whole[1024], pieces[1024];
    (void)state;
    for (int i = 0; i < 8; i++)
        publish(events, "job", "some data");
    struct adl_events_cursor cursor = {.id = 1};
    const ssize_t size = adl_events_read(events, &cursor, whole, sizeof whole);
    cursor = (struct adl_events_cursor){.id = 1};
    size_t got = 0;
    for (ssize_t piece; (piece = adl_events_read(events, &cursor, pieces + got, 7)) > 0;)
        got += (size_t)piece;
    assert_int_equal(got, size);
    assert_memory_equal(whole, pieces, got);
    adl_events_destroy(events);
}

static void a_reader_that_resumes_misses_nothing_or_is_told(void **state)
{
    struct adl_events *events = create(4, 1);
    struct adl_events_cursor cursor = {0};
    (void)state;
    assert_true(adl_events_resume(events, 0, &cursor));
    assert_int_equal(cursor.id, 1);
    assert_false(adl_events_resume(events, 1, &cursor)); /* never published */
    for (int i = 0; i < 10; i++)
        publish(events, "job", "x"); /* 1..10, of which 7..10 are kept */
    assert_true(adl_events_resume(events, 10, &cursor));
    assert_int_equal(cursor.id, 11);
    assert_true(adl_events_resume(events, 6, &cursor));
    assert_int_equal(cursor.id, 7);
    assert_false(adl_events_resume(events, 5, &cursor));
    assert_int_equal(cursor.id, 7);
    assert_false(adl_events_resume(events, 11, &cursor));
    assert_false(adl_events_resume(events, UINT64_MAX, &cursor));
    adl_events_destroy(events);
}

static void a_reader_that_falls_behind_is_detected(void **state)
{
    struct adl_events *events = create(4, 1);
    struct adl_events_cursor cursor = {.id = 1};
    char buffer[8];
    (void)state;
    assert_int_equal(adl_events_poll(events, &cursor), 0);
    publish(events, "job", "a longer text than the buffer");
    assert_int_equal(adl_events_poll(events, &cursor), 1);
    assert_int_equal(adl_events_read(events, &cursor, buffer, sizeof buffer), sizeof buffer); /* in the middle of it */
    for (int i = 0; i < 4; i++)
        publish(events, "job", "x");
    assert_int_equal(adl_events_poll(events, &cursor), -1);
    assert_int_equal(adl_events_read(events, &cursor, buffer, sizeof buffer), -1);
    adl_events_destroy(events);
}

static void a_malformed_event_is_refused(void **state)
{
    struct adl_events *events = create(4, 1);
    struct adl_error err;
    char *large = malloc(ADL_EVENT_SIZE_MAX + 1);
    uint64_t id = 77;
    (void)state;
    assert_int_equal(adl_events_publish(events, "two words", "x", &id, &err), ADL_EINVAL);
    assert_int_equal(adl_events_publish(events, "a\nid: 5", "x", &id, &err), ADL_EINVAL);
    assert_int_equal(adl_events_publish(events, "", "x", &id, &err), ADL_EINVAL);
    assert_non_null(large);
    memset(large, 'x', ADL_EVENT_SIZE_MAX);
    large[ADL_EVENT_SIZE_MAX] = '\0';
    assert_int_equal(adl_events_publish(events, "job", large, &id, &err), ADL_EINVAL);
    assert_int_equal(id, 77);
    assert_int_equal(adl_events_next_id(events), 1);
    free(large);
    assert_int_equal(adl_events_create(0, 1, &events, &err), ADL_EINVAL);
    assert_int_equal(adl_events_create(1, 0, &events, &err), ADL_EINVAL);
    adl_events_destroy(events);
}

static void *publish_many(void *arg)
{
    struct adl_events *events = arg;
    for (int i = 0; i < 1000; i++)
        adl_events_publish(events, "job", "x", NULL, NULL);
    return NULL;
}

static void many_threads_publish_and_the_listener_is_woken(void **state)
{
    struct adl_events *events = create(16, 1);
    pthread_t threads[4];
    (void)state;
    assert_false(is_readable(events));
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, publish_many, events), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(adl_events_next_id(events), 4001);
    assert_true(is_readable(events));
    adl_events_acknowledge(events);
    assert_false(is_readable(events));
    publish(events, "job", "x");
    assert_true(is_readable(events));
    adl_events_destroy(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_numbered_and_framed),
        cmocka_unit_test(a_small_buffer_gets_the_same_bytes_piece_by_piece),
        cmocka_unit_test(a_reader_that_resumes_misses_nothing_or_is_told),
        cmocka_unit_test(a_reader_that_falls_behind_is_detected),
        cmocka_unit_test(a_malformed_event_is_refused),
        cmocka_unit_test(many_threads_publish_and_the_listener_is_woken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
