/* trace_fixture: traces from texts, what is expected of them, and a sample with a row for most reasons. */
#ifndef ADLRO_TESTS_TRACE_FIXTURE_H
#define ADLRO_TESTS_TRACE_FIXTURE_H

#include "trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define S 1000000LL

static const struct adl_trace_options by_itself = {.format = ADL_TRACE_AUTO};

static inline struct adl_trace *open_text(const char *text, struct adl_trace_options options)
{
    struct adl_trace *trace = NULL;
    struct adl_error err = {{0}};
    if (adl_trace_open_memory("t", text, strlen(text), &options, &trace, &err) < 0)
        fail_msg("%s", err.text);
    return trace;
}

static inline struct adl_trace_row next_row(struct adl_trace *trace)
{
    struct adl_trace_row row;
    struct adl_error err = {{0}};
    if (adl_trace_next(trace, &row, &err) != 1)
        fail_msg("a row was expected: %s", err.text);
    return row;
}

static inline void expect_end(struct adl_trace *trace)
{
    struct adl_trace_row row;
    struct adl_error err = {{0}};
    assert_int_equal(adl_trace_next(trace, &row, &err), 0);
    assert_int_equal(adl_trace_next(trace, &row, &err), 0);
    adl_trace_close(trace);
}

static inline void expect_counts(const struct adl_trace *trace, const uint64_t wanted[ADL_TRACE_REASON_COUNT])
{
    for (int reason = 0; reason < ADL_TRACE_REASON_COUNT; reason++)
        if (adl_trace_counts(trace)[reason] != wanted[reason])
            fail_msg("%s: %llu rows, not %llu", adl_trace_reason_name(reason),
                     (unsigned long long)adl_trace_counts(trace)[reason], (unsigned long long)wanted[reason]);
}

/* Opening has to fail with exactly this text. */
static inline void expect_failure(const char *text, struct adl_trace_options options, const char *message)
{
    struct adl_trace *trace = NULL;
    struct adl_error err = {{0}};
    assert_true(adl_trace_open_memory("t", text, strlen(text), &options, &trace, &err) < 0);
    assert_null(trace);
    assert_string_equal(err.text, message);
}

static const char philly[] = "timestamp,duration,num_gpus,gpu_time,cluster\n"
                             "2017-10-09 07:01:55,66.0,2,132.0,11cb48\n"
                             "2017-10-09 07:01:54,10.5,8,84.0,6214e9\n"
                             "2017-10-09 08:00:00,10,0,0,6214e9\n"
                             "2017-10-09 08:00:00,0.0,1,0,6214e9\n"
                             "2017-10-09 08:00:00,-3,1,0,6214e9\n"
                             ",3,1,0,6214e9\n"
                             "2017-02-29 08:00:00,3,1,0,6214e9\n"
                             "2017-10-09 08:00:00,3,1\n"
                             "2017-10-09 08:00:00,3,1.5,0,x\n";

#endif
