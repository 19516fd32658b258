/* test_trace_edges: what traces of all formats share: units, order, bounds, and files that are packed, cut or gone. */
#include "base/text.h"
#include "trace_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

/* ---- units, names, order ---- */

static const char swf_line[] = "1 5 -1 83 1 -1 -1 -1 1200 -1 -1 3 1 9 -1 1 -1 -1\n";

static void units_are_stated_never_guessed(void **state)
{
    (void)state;
    struct adl_trace *trace =
        open_text("id,submit,gpus,duration,limit\n0,0,1,1.5,2\n1,2,1,1,\n", (struct adl_trace_options){.unit_s = 60});
    struct adl_trace_row row = next_row(trace);
    assert_int_equal(row.duration_us, 90 * S);
    assert_int_equal(row.limit_us, 120 * S);
    row = next_row(trace);
    assert_int_equal(row.submit_us, 120 * S);
    expect_end(trace);
    trace = open_text("job_id,gpu_num,state,submit_time,duration\n0,1,COMPLETED,500,1500\n",
                      (struct adl_trace_options){.unit_s = 0.001});
    row = next_row(trace);
    assert_int_equal(row.duration_us, 1500000);
    expect_end(trace);
    expect_failure(swf_line, (struct adl_trace_options){.unit_s = 60},
                   ": times in swf are in seconds; another unit is for csv and helios");
    expect_failure(swf_line, (struct adl_trace_options){.unit_s = -1},
                   ": a unit of time has to be from 0.000001 s to a week");
    adl_trace_close(open_text(swf_line, (struct adl_trace_options){.unit_s = 1}));
}

static void formats_and_reasons_have_names(void **state)
{
    (void)state;
    for (int format = 0; format < ADL_TRACE_FORMAT_COUNT; format++)
        assert_int_equal(adl_trace_format_find(adl_trace_format_name(format)), format);
    assert_int_equal(adl_trace_format_find("nothing"), -1);
    for (int a = 0; a < ADL_TRACE_REASON_COUNT; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(adl_trace_reason_name(a), adl_trace_reason_name(b));
}

static void files_of_no_format_are_refused_with_a_reason(void **state)
{
    (void)state;
    expect_failure("", by_itself, ":1: the trace is empty");
    expect_failure("\n \n", by_itself, ":3: the trace is empty");
    expect_failure("job_id,num_gpu,submit_time,duration\n1,2,3,4\n", by_itself,
                   ":1: the line does not begin any known format (csv, philly, openb, gavel, helios, swf, "
                   "sacct): 'job_id,num_gpu,submit_time,duration'");
#define NO_FORMAT ":1: the line does not begin any known format (csv, philly, openb, gavel, helios, swf, sacct): "
    expect_failure("       JobID    JobName\n", by_itself,
                   NO_FORMAT "'       JobID    JobName'; sacct needs the option --parsable2");
    expect_failure("JobID|State\n", by_itself,
                   NO_FORMAT
                   "'JobID|State'; of sacct's columns JobID, State, Submit, ElapsedRaw, AllocTRES and ReqTRES "
                   "are needed");
    expect_failure("12|COMPLETED\n", by_itself,
                   NO_FORMAT "'12|COMPLETED'; sacct has to print its line of column names: without --noheader");
#undef NO_FORMAT
    expect_failure("id,submit,gpus\n", (struct adl_trace_options){.format = ADL_TRACE_CSV},
                   ":1: csv needs the column 'duration' or 'steps'; the line of column names is 'id,submit,gpus'");
    expect_failure("id,submit,duration\n", (struct adl_trace_options){.format = ADL_TRACE_CSV},
                   ":1: csv needs the column 'gpus'; the line of column names is 'id,submit,duration'");
    expect_failure("id\n", (struct adl_trace_options){.format = 99}, ": there is no trace format 99");
}

static void a_format_that_is_named_is_not_detected(void **state)
{
    (void)state;
    struct adl_trace *trace = open_text(philly, (struct adl_trace_options){.format = ADL_TRACE_SWF});
    assert_int_equal(adl_trace_format(trace), ADL_TRACE_SWF);
    assert_int_equal(adl_trace_counts(trace)[ADL_TRACE_MALFORMED], 10);
    expect_end(trace);
}

static void rows_of_one_instant_keep_the_order_of_the_file(void **state)
{
    (void)state;
    struct adl_text text = {0};
    adl_text_put(&text, "id,submit,gpus,duration\n");
    for (int i = 0; i < 3000; i++)
        adl_text_printf(&text, "%d,%d,1,%d\n", i, (i * 7919) % 100, i + 1);
    struct adl_trace *trace = open_text(text.data, by_itself);
    struct adl_trace_row above = next_row(trace);
    for (int i = 1; i < 3000; i++) {
        const struct adl_trace_row row = next_row(trace);
        assert_true(above.submit_us < row.submit_us || (above.submit_us == row.submit_us && above.line < row.line));
        assert_int_equal(row.duration_us, (atoi(row.id) + 1) * S);
        assert_int_equal(row.line, atoi(row.id) + 2);
        above = row;
    }
    expect_end(trace);
    adl_text_clear(&text);
}

static void rejected_rows_move_to_their_reason(void **state)
{
    (void)state;
    struct adl_error err = {{0}};
    struct adl_trace *trace = open_text("id,submit,gpus,duration\n0,0,1,1\n1,1,1,1\n", by_itself);
    const struct adl_trace_row row = next_row(trace);
    assert_int_equal(adl_trace_reject(trace, &row, ADL_TRACE_UNKNOWN_TYPE, &err), 0);
    expect_counts(trace, (const uint64_t[ADL_TRACE_REASON_COUNT]){[ADL_TRACE_USED] = 1, [ADL_TRACE_UNKNOWN_TYPE] = 1});
    assert_true(adl_trace_reject(trace, &row, ADL_TRACE_USED, &err) < 0);
    adl_trace_close(trace);
    trace = open_text("id,submit,gpus,duration\n0,0,1,1\n", (struct adl_trace_options){.strict = true});
    const struct adl_trace_row only = next_row(trace);
    assert_true(adl_trace_reject(trace, &only, ADL_TRACE_NEVER_FITS, &err) < 0);
    assert_non_null(strstr(err.text, ":2: never_fits: the job asks for more than the whole cluster has"));
    expect_end(trace);
    adl_trace_close(NULL);
}

/* ---- bounds ---- */

static void absurd_numbers_are_counted_not_computed_with(void **state)
{
    (void)state;
    struct adl_trace *trace = open_text("id,submit,gpus,duration\n"
                                        "a,9007199254,1,9007199254\n" /* the most: 285 years */
                                        "b,9223372036854775807,1,1\n"
                                        "c,1e300,1,1\n"
                                        "d,1,4294967297,1\n"
                                        "e,1,1,1e999\n"
                                        "f,nan,1,1\n"
                                        "g,1,inf,1\n"
                                        "h,0x10,1,1\n"
                                        "i,1,1,1e-9\n"
                                        ",1,1,1\n"
                                        "k,,1,1\n"
                                        "l,9007199255,1,9007199254740993000000000000000000000\n",
                                        by_itself);
    expect_counts(trace, (const uint64_t[ADL_TRACE_REASON_COUNT]){
                             [ADL_TRACE_USED] = 1, [ADL_TRACE_BAD_TIME] = 6, [ADL_TRACE_MALFORMED] = 5});
    const struct adl_trace_row row = next_row(trace);
    assert_int_equal(row.submit_us, 0);
    assert_int_equal(row.duration_us, 9007199254 * S);
    expect_end(trace);
}

static void times_that_are_none_are_malformed(void **state)
{
    (void)state;
    static const char *const stamps[] = {
        "2017-10-09",          "2017-10-09 7:01:55",        "2017-10-09 07:01",           "2017-13-09 07:01:55",
        "2017-00-09 07:01:55", "2017-04-31 07:01:55",       "1969-04-30 07:01:55",        "9999-04-30 07:01:55",
        "2017-10-09 24:01:55", "2017-10-09 07:60:55",       "2017-10-09 07:01:61",        "2017-10-09 07:01:55.",
        "2017-10-09 07:01:5x", "2017-10-09 07:01:55+8",     "2017-10-09 07:01:55+08:0",   "2017-10-09 07:01:55+16:00",
        "1507532515",          "2017-10-09 07:01:55 08:00", "2017-10-09 07:01:55+08:00x", "2017/10/09 07:01:55"};
    static const char *const spans[] = {"30",        "1-",       "-1:00",  "1:2:3:4",
                                        "00:00:30.", "00:00:3x", "1:00 x", "1234567:00"};
    for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++) {
        char text[200];
        snprintf(text, sizeof text, "timestamp,duration,num_gpus\n%s,1,1\n", stamps[i]);
        struct adl_trace *trace = open_text(text, by_itself);
        if (adl_trace_counts(trace)[ADL_TRACE_MALFORMED] != 1)
            fail_msg("%s was taken for a time", stamps[i]);
        expect_end(trace);
    }
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        char text[300];
        snprintf(text, sizeof text, "JobID|State|Submit|Elapsed|ReqTRES\n1|FAILED|2024-01-01T10:00:00|%s|gres/gpu=1\n",
                 spans[i]);
        struct adl_trace *trace = open_text(text, by_itself);
        if (adl_trace_counts(trace)[ADL_TRACE_MALFORMED] != 1)
            fail_msg("%s was taken for a span of time", spans[i]);
        expect_end(trace);
    }
}

static void long_words_are_cut_and_long_ids_refused(void **state)
{
    (void)state;
    char text[600];
    /* 62 letters, then a character of two bytes that would be split. */
    snprintf(text, sizeof text, "id,submit,gpus,duration,name\n1,0,1,1,%.*s\303\244\n%.*s,0,1,1,x\n3,0,1,1,a\033[1mb\n",
             62, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 64,
             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    struct adl_trace *trace = open_text(text, by_itself);
    assert_int_equal(strlen(next_row(trace).name), 62);
    assert_string_equal(next_row(trace).name, "a?[1mb");
    assert_int_equal(adl_trace_counts(trace)[ADL_TRACE_MALFORMED], 1);
    expect_end(trace);
}

static void huge_lines_and_zero_bytes_are_one_malformed_row_each(void **state)
{
    (void)state;
    struct adl_text text = {0};
    adl_text_put(&text, "id,submit,gpus,duration\n0,0,1,1\n");
    adl_text_repeat(&text, 'x', 3 << 20);
    adl_text_put(&text, "\n1,1,1,1\n");
    adl_text_bytes(&text, "2,1\0,1,1\n", 9);
    adl_text_repeat(&text, ',', 1000);
    adl_text_put(&text, "\n0");
    adl_text_repeat(&text, ' ', (1 << 20) - 7); /* a line of exactly the most bytes */
    adl_text_put(&text, ",2,1,1\n3,3,1,1\n");
    adl_text_repeat(&text, 'x', (1 << 20) + 1);
    struct adl_trace *trace = open_bytes(text.data, text.size, by_itself);
    expect_counts(trace, (const uint64_t[ADL_TRACE_REASON_COUNT]){[ADL_TRACE_USED] = 4, [ADL_TRACE_MALFORMED] = 4});
    static const uint64_t lines[] = {2, 4, 7, 8};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(next_row(trace).line, lines[i]);
    expect_end(trace);
    adl_text_clear(&text);
}

/* ---- files ---- */

static void make_file(char path[32], const char *data, size_t size)
{
    strcpy(path, "/tmp/adl_trace_XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), size);
    close(fd);
}

/* The text as gz, whole or cut by some bytes. */
static void make_packed_file(char path[32], const char *text, size_t cut)
{
    make_file(path, "", 0);
    gzFile packed = gzopen(path, "wb");
    assert_non_null(packed);
    assert_int_equal(gzwrite(packed, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(packed), Z_OK);
    FILE *file = fopen(path, "rb");
    char bytes[4096];
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_true(size > cut && size < sizeof bytes);
    fclose(file);
    assert_int_equal(truncate(path, (off_t)(size - cut)), 0);
}

static void packed_and_plain_files_give_the_same_rows(void **state)
{
    (void)state;
    char plain[32];
    char packed[32];
    make_file(plain, philly, strlen(philly));
    make_packed_file(packed, philly, 0);
    struct adl_trace *a = NULL;
    struct adl_trace *b = NULL;
    struct adl_error err = {{0}};
    assert_int_equal(adl_trace_open(plain, &by_itself, &a, &err), 0);
    assert_int_equal(adl_trace_open(packed, &by_itself, &b, &err), 0);
    expect_counts(a, adl_trace_counts(b));
    for (int i = 0; i < 2; i++) {
        const struct adl_trace_row x = next_row(a);
        const struct adl_trace_row y = next_row(b);
        assert_int_equal(x.line, y.line);
        assert_int_equal(x.duration_us, y.duration_us);
    }
    expect_end(a);
    expect_end(b);
    unlink(plain);
    unlink(packed);
}

static void a_packed_file_that_was_cut_off_is_an_error(void **state)
{
    (void)state;
    static const size_t cuts[] = {1, 8, 20, 60};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        char path[32];
        struct adl_trace *trace = NULL;
        struct adl_error err = {{0}};
        make_packed_file(path, philly, cuts[i]);
        assert_int_equal(adl_trace_open(path, &by_itself, &trace, &err), ADL_EIO);
        assert_non_null(strstr(err.text, "cut off"));
        assert_memory_equal(err.text, path, strlen(path));
        unlink(path);
    }
}

static void a_pipe_gives_the_same_rows_as_a_file(void **state)
{
    (void)state;
    int ends[2];
    char path[32];
    struct adl_trace *trace = NULL;
    struct adl_error err = {{0}};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], philly, strlen(philly)), strlen(philly));
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(adl_trace_open(path, &by_itself, &trace, &err), 0);
    close(ends[0]);
    assert_int_equal(next_row(trace).line, 3);
    assert_int_equal(next_row(trace).line, 2);
    expect_end(trace);
}

static void files_that_cannot_be_read_say_why(void **state)
{
    (void)state;
    struct adl_trace *trace = NULL;
    struct adl_error err = {{0}};
    assert_int_equal(adl_trace_open("/nowhere/x.csv", &by_itself, &trace, &err), ADL_EIO);
    assert_string_equal(err.text, "/nowhere/x.csv: cannot open it: No such file or directory");
    assert_int_equal(adl_trace_open("/", &by_itself, &trace, &err), ADL_EIO);
    assert_string_equal(err.text, "/: is a directory, not a trace");
    char path[32];
    make_file(path, "\x1f\x8b\x08garbage that is no gz", 24);
    assert_int_equal(adl_trace_open(path, &by_itself, &trace, &err), ADL_EIO);
    assert_non_null(strstr(err.text, "cannot be unpacked"));
    unlink(path);
    assert_null(trace);
}

static void a_file_that_changes_between_passes_is_noticed(void **state)
{
    (void)state;
    char path[32];
    struct adl_trace *trace = NULL;
    struct adl_trace_row row;
    struct adl_error err = {{0}};
    make_file(path, philly, strlen(philly));
    assert_int_equal(adl_trace_open(path, &by_itself, &trace, &err), 0);
    assert_int_equal(truncate(path, 60), 0);
    assert_int_equal(adl_trace_next(trace, &row, &err), ADL_EIO);
    assert_non_null(strstr(err.text, ":3: the file changed while it was read"));
    adl_trace_close(trace);
    unlink(path);

    static const char sorted[] = "id,submit,gpus,duration\n0,0,1,1\n1,1,1,1\n";
    make_file(path, sorted, strlen(sorted));
    assert_int_equal(adl_trace_open(path, &by_itself, &trace, &err), 0);
    assert_int_equal(truncate(path, 32), 0);
    next_row(trace);
    assert_int_equal(adl_trace_next(trace, &row, &err), ADL_EIO);
    assert_non_null(strstr(err.text, "the file changed while it was read"));
    adl_trace_close(trace);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_stated_never_guessed),
        cmocka_unit_test(formats_and_reasons_have_names),
        cmocka_unit_test(files_of_no_format_are_refused_with_a_reason),
        cmocka_unit_test(a_format_that_is_named_is_not_detected),
        cmocka_unit_test(rows_of_one_instant_keep_the_order_of_the_file),
        cmocka_unit_test(rejected_rows_move_to_their_reason),
        cmocka_unit_test(absurd_numbers_are_counted_not_computed_with),
        cmocka_unit_test(times_that_are_none_are_malformed),
        cmocka_unit_test(long_words_are_cut_and_long_ids_refused),
        cmocka_unit_test(huge_lines_and_zero_bytes_are_one_malformed_row_each),
        cmocka_unit_test(packed_and_plain_files_give_the_same_rows),
        cmocka_unit_test(a_packed_file_that_was_cut_off_is_an_error),
        cmocka_unit_test(a_pipe_gives_the_same_rows_as_a_file),
        cmocka_unit_test(files_that_cannot_be_read_say_why),
        cmocka_unit_test(a_file_that_changes_between_passes_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
