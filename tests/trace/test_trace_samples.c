/* Each trace format on a sample of a few hundred rows that ships with the project, tests/data: real ones where their
 * licence allows it. The figures were computed from the files' columns by other means than the reader. */
#include "trace_fixture.h"

#include <stdio.h>

struct sample {
    const char *file;
    int format;
    uint64_t used, no_gpu, not_started, bad_time;
    uint64_t gpus;
    double duration_s, steps;
    int64_t last_s; /* submission of the last row, from that of the first */
    bool sorted;
};

static const struct sample samples[] = {
    {"philly.csv", ADL_TRACE_PHILLY, 300, 0, 0, 0, 320, 2732767, 0, 860603, false},
    {"openb.csv", ADL_TRACE_OPENB, 240, 40, 20, 0, 254, 141572816, 0, 10110888, true},
    {"gavel.trace", ADL_TRACE_GAVEL, 96, 0, 0, 0, 169, 0, 18166806, 46317, true},
    {"gavel_msr.trace", ADL_TRACE_GAVEL, 150, 0, 0, 0, 273, 0, 540879928, 3569853, true},
    {"swf.swf", ADL_TRACE_SWF, 280, 0, 0, 20, 280, 805588, 0, 1293, true},
    {"helios.csv", ADL_TRACE_HELIOS, 171, 24, 5, 0, 763, 211785, 0, 38413, true},
    {"acme.csv", ADL_TRACE_HELIOS, 161, 17, 22, 0, 7670, 154222, 0, 29020, false},
    {"sacct.txt", ADL_TRACE_SACCT, 100, 33, 17, 0, 165, 46813, 0, 15742, true},
};

static void read_sample(const struct sample *sample)
{
    char path[512];
    struct adl_trace *trace = NULL;
    struct adl_trace_row row;
    struct adl_error err = {{0}};
    uint64_t rows = 0, gpus = 0;
    double duration_s = 0, steps = 0;
    int64_t last_us = 0;
    int status;
    snprintf(path, sizeof path, ADL_SOURCE_DIR "/tests/data/%s", sample->file);
    if (adl_trace_open(path, &by_itself, &trace, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(adl_trace_format(trace), sample->format);
    while ((status = adl_trace_next(trace, &row, &err)) == 1) {
        assert_true(row.submit_us >= last_us);
        rows++;
        gpus += row.gpus;
        duration_s += (double)row.duration_us / 1e6;
        steps += row.steps;
        last_us = row.submit_us;
    }
    if (status)
        fail_msg("%s", err.text);
    const uint64_t *counts = adl_trace_counts(trace);
    print_message("%s: %llu rows\n", sample->file, (unsigned long long)rows);
    assert_int_equal(rows, sample->used);
    assert_int_equal(counts[ADL_TRACE_USED], sample->used);
    assert_int_equal(counts[ADL_TRACE_NO_GPU], sample->no_gpu);
    assert_int_equal(counts[ADL_TRACE_NOT_STARTED], sample->not_started);
    assert_int_equal(counts[ADL_TRACE_BAD_TIME], sample->bad_time);
    assert_int_equal(counts[ADL_TRACE_MALFORMED], 0);
    assert_int_equal(counts[ADL_TRACE_OUT_OF_ORDER] == 0, sample->sorted);
    assert_int_equal(gpus, sample->gpus);
    assert_true(duration_s == sample->duration_s && steps == sample->steps);
    assert_int_equal(last_us, sample->last_s * S);
    adl_trace_close(trace);
}

static void a_sample_of_each_format_has_the_rows_gpus_and_run_times_that_its_columns_say(void **state)
{
    (void)state;
    bool seen[ADL_TRACE_FORMAT_COUNT] = {
        [ADL_TRACE_AUTO] = true, [ADL_TRACE_CSV] = true}; /* ours: tests/cli/check_replay */
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        read_sample(&samples[i]);
        seen[samples[i].format] = true;
    }
    for (int i = 0; i < ADL_TRACE_FORMAT_COUNT; i++)
        if (!seen[i])
            fail_msg("tests/data has no sample of %s", adl_trace_format_name(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_of_each_format_has_the_rows_gpus_and_run_times_that_its_columns_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
