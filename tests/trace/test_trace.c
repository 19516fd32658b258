/* test_trace: each trace format read exactly, each reason reached, and the real traces where they are at hand. */
#include "base/text.h"
#include "shared_data.h"
#include "trace_fixture.h"

#include <stdio.h>

/* ---- Philly ---- */

static void philly_rows_are_sorted_and_read_exactly(void **state)
{
    (void)state;
    struct adl_trace *trace = open_text(philly, by_itself);
    assert_int_equal(adl_trace_format(trace), ADL_TRACE_PHILLY);
    expect_counts(trace, (const uint64_t[ADL_TRACE_REASON_COUNT]){[ADL_TRACE_USED] = 2,
                                                                  [ADL_TRACE_NO_GPU] = 1,
                                                                  [ADL_TRACE_BAD_TIME] = 3,
                                                                  [ADL_TRACE_MALFORMED] = 3,
                                                                  [ADL_TRACE_OUT_OF_ORDER] = 1});
    struct adl_trace_row row = next_row(trace);
    assert_int_equal(row.line, 3);
    assert_int_equal(row.submit_us, 0);
    assert_int_equal(row.duration_us, 10500000);
    assert_int_equal(row.gpus, 8);
    assert_string_equal(row.user, "6214e9");
    assert_string_equal(row.id, "3");
    row = next_row(trace);
    assert_int_equal(row.line, 2);
    assert_int_equal(row.submit_us, 1 * S);
    assert_int_equal(row.duration_us, 66 * S);
    assert_int_equal(row.gpus, 2);
    assert_int_equal(row.gpu_milli, 1000);
    assert_true(row.priority < 0);
    expect_end(trace);
}

static void strict_readers_name_file_line_and_reason(void **state)
{
    (void)state;
    const struct adl_trace_options strict = {.strict = true};
    expect_failure(philly, strict, ":3: out_of_order: the row was submitted before the one above it");
    expect_failure("timestamp,duration,num_gpus\n2017-10-09 07:01:55,66.0,0\n", strict,
                   ":2: no_gpu: the job uses no GPU (num_gpus is 0)");
    expect_failure("timestamp,duration,num_gpus\n\n2017-10-09 07:01:55,0,1\n", strict,
                   ":3: bad_time: the run time is 0");
    expect_failure("timestamp,duration,num_gpus\n2017-10-09 07:01:55,x,1\n", strict,
                   ":2: malformed: duration has to be a number, not 'x'");
    expect_failure("id,submit,gpus,duration\n1,2,3\n", strict, ":2: malformed: 3 fields where the header has 4");
    expect_failure("id,submit,gpus,duration\n1,-2,3,4\n", strict,
                   ":2: bad_time: submit has to be from 0 to 285 years, not '-2'");
    expect_failure("id,submit,gpus,duration\n1,\"2,3,4\n", strict,
                   ":2: malformed: more than 256 fields, or a quote that does not close");
}

/* ---- openb ---- */

static const char openb[] =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p0,20000,65536,0,0,,LS,Running,10,30,12\n"
    "p1,6000,12288,1,460,V100M16|T4,LS,Running,20,50,25\n"
    "p2,6000,12288,8,1000,,LS,Pending,21,50,\n"
    "p3,6000,12288,8,1000,,LS,Running,22,,22\n"
    "p4,,,2,1000,,LS,Running,23,20,23\n"
    "p5,,,2,0,,LS,Running,23,20,23\n"
    "p6,,,2,1001,,LS,Running,23,20,23\n"
    "p7,,,2,1000,,BE,Failed,24,124,24\n";

static void pods_have_shares_and_types(void **state)
{
    (void)state;
    struct adl_trace *trace = open_text(openb, by_itself);
    assert_int_equal(adl_trace_format(trace), ADL_TRACE_OPENB);
    expect_counts(trace, (const uint64_t[ADL_TRACE_REASON_COUNT]){[ADL_TRACE_USED] = 2,
                                                                  [ADL_TRACE_NO_GPU] = 2,
                                                                  [ADL_TRACE_BAD_TIME] = 1,
                                                                  [ADL_TRACE_NOT_STARTED] = 2,
                                                                  [ADL_TRACE_MALFORMED] = 1});
    struct adl_trace_row row = next_row(trace);
    assert_string_equal(row.id, "p1");
    assert_string_equal(row.types, "V100M16|T4");
    assert_int_equal(row.gpus, 1);
    assert_int_equal(row.gpu_milli, 460);
    assert_int_equal(row.cpu_milli, 6000);
    assert_int_equal(row.memory_mib, 12288);
    assert_int_equal(row.submit_us, 0);
    assert_int_equal(row.duration_us, 25 * S);
    row = next_row(trace);
    assert_string_equal(row.id, "p7");
    assert_string_equal(row.types, "");
    assert_int_equal(row.cpu_milli, 0);
    assert_int_equal(row.submit_us, 4 * S);
    assert_int_equal(row.duration_us, 100 * S);
    expect_end(trace);
}

/* ---- Gavel ---- */

static const char gavel[] = "ResNet (batch size 32)\tcd a\t-n\t1\t1000\t5.500000\t4\n"
                            "LM (batch size 5)\tcd a\tdir\t--steps\t1\t2000\t1\t1\t-1.000000\t7\n"
                            "LM (batch size 5)\tcd a\tdir\t--steps\t1\t3000\t2\tstatic\t1\t1.5\t600\t8\n"
                            "LM\tcd a\tdir\t--steps\t1\t3000\t2\tstatic\t1\t1.5\t600\n"
                            "LM\tcd a\t-n\t1\t0\t9\t1\n"
                            "LM\tcd a\t-n\t1\t10\t9\t0\n"
                            "LM\tcd a\t-n\t1\t10\t-9\t1\n";

static void gavel_has_three_forms_and_steps(void **state)
{
    (void)state;
    struct adl_trace *trace = open_text(gavel, by_itself);
    assert_int_equal(adl_trace_format(trace), ADL_TRACE_GAVEL);
    expect_counts(
        trace, (const uint64_t[ADL_TRACE_REASON_COUNT]){
                   [ADL_TRACE_USED] = 3, [ADL_TRACE_NO_GPU] = 1, [ADL_TRACE_BAD_TIME] = 2, [ADL_TRACE_MALFORMED] = 1});
    struct adl_trace_row row = next_row(trace);
    assert_string_equal(row.name, "ResNet (batch size 32)");
    assert_int_equal(row.gpus, 4);
    assert_true(row.steps == 1000);
    assert_int_equal(row.duration_us, 0);
    assert_int_equal(row.submit_us, 0);
    row = next_row(trace);
    assert_int_equal(row.gpus, 1);
    assert_true(row.steps == 2000);
    assert_int_equal(row.submit_us, 1500000);
    assert_int_equal(row.deadline_us, 0);
    row = next_row(trace);
    assert_int_equal(row.gpus, 2);
    assert_true(row.steps == 3000);
    assert_int_equal(row.duration_us, 600 * S);
    assert_int_equal(row.deadline_us, 900 * S);
    assert_int_equal(row.submit_us, 2500000);
    expect_end(trace);
}

/* ---- Helios and Acme ---- */

static void helios_and_acme_columns_are_found_by_name(void **state)
{
    (void)state;
    struct adl_trace *trace =
        open_text("job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
                  "7,uA,vcB,1,4,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:11,2020-06-09 18:42:11,60,10\n"
                  "8,uA,vcB,0,4,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:11,2020-06-09 18:42:11,60,10\n"
                  "9,uA,vcB,1,4,1,CANCELLED,2020-06-09 18:41:01,2020-06-09 18:41:11,2020-06-09 18:41:11,0,10\n"
                  "10,uA,vcB,1,4,1,FAILED,2020-06-09 18:41:01,2020-06-09 18:41:11,2020-06-09 18:41:11,0,10\n"
                  "11,uA,vcB,1,4,1,CANCELLED,2020-06-09 18:41:01,,2020-06-09 18:41:11,0,10\n"
                  "12,uA,vcB,1,4,1,RUNNING,2020-06-09 18:41:01,2020-06-09 18:41:01,,0,10\n"
                  "13,uA,vcB,1,4,1,COMPLETED,2020-06-09 18:41:02,2020-06-09 18:41:11,,33,10\n",
                  by_itself);
    assert_int_equal(adl_trace_format(trace), ADL_TRACE_HELIOS);
    expect_counts(
        trace,
        (const uint64_t[ADL_TRACE_REASON_COUNT]){
            [ADL_TRACE_USED] = 2, [ADL_TRACE_NO_GPU] = 1, [ADL_TRACE_BAD_TIME] = 1, [ADL_TRACE_NOT_STARTED] = 3});
    struct adl_trace_row row = next_row(trace);
    assert_string_equal(row.id, "7");
    assert_string_equal(row.user, "uA");
    assert_int_equal(row.cpu_milli, 4000);
    assert_int_equal(row.duration_us, 60 * S);
    row = next_row(trace);
    assert_string_equal(row.id, "13");
    assert_int_equal(row.submit_us, 1 * S);
    assert_int_equal(row.duration_us, 33 * S);
    expect_end(trace);

    /* Kalos: the column says 18, which counts the wait; the times say 8. The zones differ too. */
    trace = open_text("job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue\n"
                      "dlc1,u1,8,64,960,Other,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,"
                      "2023-05-17 11:01:16+00:00,18,10.0\n"
                      "dlc2,u1,8,64.0,960,\"a,\"\"b\"\"\",FAILED,2023-05-17 19:00:59+08:00,"
                      "2023-05-17 19:01:08+0800,2023-05-17T11:01:09.5Z,18,10.0\n",
                      by_itself);
    row = next_row(trace);
    assert_int_equal(row.gpus, 64);
    assert_string_equal(row.name, "Other");
    assert_int_equal(row.duration_us, 8 * S);
    row = next_row(trace);
    assert_int_equal(row.submit_us, 1 * S);
    assert_int_equal(row.duration_us, 1500000);
    assert_string_equal(row.name, "a,\"b\"");
    expect_end(trace);

    trace = open_text("job_id,jobname,type,gpu_num,state,submit_time,duration\n"
                      "1,train_a,Other,1,COMPLETED,0,5\n"
                      "2,,Other,1,COMPLETED,0,5\n",
                      by_itself);
    assert_string_equal(next_row(trace).name, "train_a");
    assert_string_equal(next_row(trace).name, "Other");
    expect_end(trace);
}

/* ---- SWF ---- */

static const char swf[] = "; Version: 2.2\n"
                          ";   Note: none\n"
                          "  1    5  -1   83  1  -1 -1  -1  1200  -1 -1  3  1  9 -1  1  -1  -1\n"
                          "  2    6  10   90.5  4  -1 -1  8  -1  -1 1  -1  1  -1 -1  1  -1  -1\n"
                          "  3    7  10   0  4  -1 -1  8  -1  -1 1  -1  1  -1 -1  1  -1  -1\n"
                          "  4    7  10   -1  4  -1 -1  8  -1  -1 5  -1  1  -1 -1  1  -1  -1\n"
                          "  5    7  10   -1  4  -1 -1  8  -1  -1 0  -1  1  -1 -1  1  -1  -1\n"
                          "  6    7  10   10  0  -1 -1  0  -1  -1 1  -1  1  -1 -1  1  -1  -1\n"
                          "  7    7  10   10  -1  -1 -1  -1  -1  -1 1  -1  1  -1 -1  1  -1  -1\n"
                          "  8    7  10   10  1  -1 -1  1  -1  -1 3  -1  1  -1 -1  1  -1  -1\n"
                          "  9    7  10   10  1\n"
                          "\n";

static void swf_takes_requested_processors_or_else_allocated_ones(void **state)
{
    (void)state;
    struct adl_trace *trace = open_text(swf, by_itself);
    assert_int_equal(adl_trace_format(trace), ADL_TRACE_SWF);
    expect_counts(trace, (const uint64_t[ADL_TRACE_REASON_COUNT]){[ADL_TRACE_USED] = 2,
                                                                  [ADL_TRACE_NO_GPU] = 1,
                                                                  [ADL_TRACE_BAD_TIME] = 2,
                                                                  [ADL_TRACE_NOT_STARTED] = 1,
                                                                  [ADL_TRACE_MALFORMED] = 2});
    struct adl_trace_row row = next_row(trace);
    assert_string_equal(row.id, "1");
    assert_string_equal(row.user, "3");
    assert_string_equal(row.name, "9");
    assert_int_equal(row.gpus, 1);
    assert_int_equal(row.limit_us, 1200 * S);
    assert_int_equal(row.duration_us, 83 * S);
    row = next_row(trace);
    assert_int_equal(row.gpus, 8);
    assert_int_equal(row.submit_us, 1 * S);
    assert_int_equal(row.limit_us, 0);
    assert_int_equal(row.duration_us, 90500000);
    assert_string_equal(row.user, "");
    expect_end(trace);
}

/* ---- sacct ---- */

static void sacct_jobs_are_read_and_steps_skipped(void **state)
{
    (void)state;
    struct adl_trace *trace = open_text(
        "JobID|JobName|User|State|Submit|Start|End|Elapsed|Timelimit|AllocTRES|ReqTRES\n"
        "100|train|ann|COMPLETED|2024-01-01T10:00:00|2024-01-01T10:01:00|2024-01-02T11:01:01|1-01:00:01|2-00:00:00|"
        "billing=8,cpu=16,gres/gpu:a100=4,gres/gpu=4,mem=62.50G,node=1|cpu=16,gres/gpu=4,mem=62.50G\n"
        "100.batch|batch||COMPLETED|2024-01-01T10:01:00|2024-01-01T10:01:00|2024-01-02T11:01:01|1-01:00:01||cpu=16|\n"
        "100.0|python||COMPLETED|2024-01-01T10:01:00|2024-01-01T10:01:00|2024-01-02T11:01:01|1-01:00:01||cpu=16|\n"
        "101_7|sweep|bob|CANCELLED by 7|2024-01-01T10:00:01|2024-01-01T10:01:00|2024-01-01T10:01:30|00:00:30|"
        "UNLIMITED|cpu=2,gres/gpu=1,mem=512M|cpu=2,gres/gpu:v100=1,gres/gpu:a40=1\n"
        "102|x|bob|CANCELLED by 7|2024-01-01T10:00:01|None|2024-01-01T10:01:30|00:00:00|UNLIMITED||gres/gpu=1\n"
        "103|x|bob|PENDING|2024-01-01T10:00:01|Unknown|Unknown|00:00:00|Partition_Limit||gres/gpu=1\n"
        "104|x|bob|CANCELLED|2024-01-01T10:00:01|2024-01-01T10:00:01|2024-01-01T10:00:01|00:00:00|01:00||gres/gpu=1\n"
        "105|x|bob|RUNNING|2024-01-01T10:00:01|2024-01-01T10:00:01|Unknown|00:10:00|01:00|gres/gpu=1|gres/gpu=1\n"
        "106|x|bob|FAILED|2024-01-01T10:00:01|2024-01-01T10:00:01|2024-01-01T10:00:01|00:00:00|01:00|gres/gpu=1|\n"
        "107|x|bob|COMPLETED|2024-01-01T10:00:01|2024-01-01T10:00:01|2024-01-01T10:00:09|00:00:08|01:00|cpu=1|\n"
        "108|x|bob|COMPLETED|2024-01-01T10:00:01|2024-01-01T10:00:01|2024-01-01T10:00:09|00:00:08|01:00|gres/gpu=?|\n"
        "109|a|b|bob|COMPLETED|2024-01-01T10:00:01|2024-01-01T10:00:01|2024-01-01T10:00:09|00:00:08|01:00|gres/gpu=1|"
        "\n",
        by_itself);
    assert_int_equal(adl_trace_format(trace), ADL_TRACE_SACCT);
    expect_counts(trace, (const uint64_t[ADL_TRACE_REASON_COUNT]){[ADL_TRACE_USED] = 2,
                                                                  [ADL_TRACE_NO_GPU] = 1,
                                                                  [ADL_TRACE_BAD_TIME] = 1,
                                                                  [ADL_TRACE_NOT_STARTED] = 4,
                                                                  [ADL_TRACE_MALFORMED] = 2});
    struct adl_trace_row row = next_row(trace);
    assert_string_equal(row.id, "100");
    assert_string_equal(row.name, "train");
    assert_string_equal(row.user, "ann");
    assert_string_equal(row.types, ""); /* given an A100, but asked for any */
    assert_int_equal(row.gpus, 4);
    assert_int_equal(row.cpu_milli, 16000);
    assert_int_equal(row.memory_mib, 64000);
    assert_int_equal(row.duration_us, 90001 * S);
    assert_int_equal(row.limit_us, 2 * 86400 * S);
    row = next_row(trace);
    assert_string_equal(row.id, "101_7");
    assert_string_equal(row.types, "v100|a40");
    assert_int_equal(row.gpus, 1);
    assert_int_equal(row.memory_mib, 512);
    assert_int_equal(row.limit_us, 0);
    assert_int_equal(row.submit_us, 1 * S);
    assert_int_equal(row.duration_us, 30 * S);
    expect_end(trace);
}

static void sacct_does_with_the_columns_it_is_given(void **state)
{
    (void)state;
    struct adl_trace *trace = open_text("JobID|State|Submit|ElapsedRaw|TimelimitRaw|AllocTRES|\n"
                                        "5|COMPLETED|2024-01-01T10:00:00|77|90|gres/gpu:h100=2|\n",
                                        by_itself);
    struct adl_trace_row row = next_row(trace);
    assert_string_equal(row.types, "h100");
    assert_int_equal(row.gpus, 2);
    assert_int_equal(row.duration_us, 77 * S);
    assert_int_equal(row.limit_us, 5400 * S);
    expect_end(trace);
    trace = open_text("JobID|State|Submit|Start|End|ReqTRES\n"
                      "5|COMPLETED|2024-02-28T23:59:59|2024-02-28T23:59:59|2024-03-01T00:00:00|gres/gpu=2\n",
                      by_itself);
    row = next_row(trace);
    assert_int_equal(row.duration_us, 86401 * S); /* 2024 has a February 29 */
    expect_end(trace);
    expect_failure("JobID|State|Submit|ReqTRES\n", (struct adl_trace_options){.format = ADL_TRACE_SACCT},
                   ":1: sacct needs the column 'Elapsed' or 'ElapsedRaw', or 'Start' and 'End'; the line of column "
                   "names is 'JobID|State|Submit|ReqTRES'");
}

static void sacct_says_what_a_job_asked_for_that_adlro_has_placed(void **state)
{
    (void)state;
    static const struct {
        const char *comment, *types;
    } cases[] = {{"", "volta"},
                 {"by hand", "volta"},
                 {"adlro:*:2", ""},
                 {"adlro:volta:2|turing:1;nodes=v0", "volta"},
                 {"adlro:volta:2|turing:2", "volta|turing"},
                 {"adlro-given:turing:1|volta:2|*:2", ""},
                 {"adlro:turing:1", "volta"}, /* not what it got: then Slurm's word counts */
                 {"adlro:", "volta"},
                 {"adlro:volta", "volta"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "JobID|State|Submit|ElapsedRaw|AllocTRES|ReqTRES|AdminComment\n"
                 "5|COMPLETED|2024-01-01T10:00:00|77|cpu=2,gres/gpu:volta=4,gres/gpu=4,node=2|"
                 "gres/gpu:volta=4,gres/gpu=4,node=2|%s\n",
                 cases[i].comment);
        struct adl_trace *trace = open_text(text, by_itself);
        const struct adl_trace_row row = next_row(trace);
        assert_string_equal(row.types, cases[i].types);
        assert_int_equal(row.gpus, 4);
        expect_end(trace);
    }
}

/* ---- our CSV ---- */

static void csv_has_a_least_form_and_a_full_one(void **state)
{
    (void)state;
    struct adl_trace *trace = open_text("id,submit,gpus,duration\r\n0,60,1,278\r\n1,63.25,4,0.000001", by_itself);
    assert_int_equal(adl_trace_format(trace), ADL_TRACE_CSV);
    struct adl_trace_row row = next_row(trace);
    assert_int_equal(row.duration_us, 278 * S);
    row = next_row(trace);
    assert_int_equal(row.submit_us, 3250000);
    assert_int_equal(row.gpus, 4);
    assert_int_equal(row.duration_us, 1);
    expect_end(trace);

    trace = open_text("\xef\xbb\xbf# made by hand\n"
                      "gpus,id,types,name,user,steps,priority,memory_mib,cpu_milli,gpu_milli,deadline,limit,submit,"
                      "duration\n"
                      "# another\n"
                      "2, a b ,\"A|B\",\"x, \"\"y\"\"\",me,1e3,0.25,1024,500,250,90,60,1,30\n"
                      "1,c,,,,,,,,,,,2,\n"
                      "1,d,,,,5,,,,,,,2,\n"
                      "1,e,,,,,1.5,,,,,,2,3\n",
                      by_itself);
    row = next_row(trace);
    assert_string_equal(row.id, "a b");
    assert_string_equal(row.types, "A|B");
    assert_string_equal(row.name, "x, \"y\"");
    assert_string_equal(row.user, "me");
    assert_int_equal(row.gpu_milli, 250);
    assert_int_equal(row.cpu_milli, 500);
    assert_int_equal(row.memory_mib, 1024);
    assert_int_equal(row.deadline_us, 90 * S);
    assert_int_equal(row.limit_us, 60 * S);
    assert_true(row.priority == 0.25 && row.steps == 1000);
    row = next_row(trace);
    assert_string_equal(row.id, "d");
    assert_int_equal(row.duration_us, 0);
    assert_true(row.steps == 5);
    expect_counts(trace, (const uint64_t[ADL_TRACE_REASON_COUNT]){
                             [ADL_TRACE_USED] = 2, [ADL_TRACE_BAD_TIME] = 1, [ADL_TRACE_MALFORMED] = 1});
    expect_end(trace);
}

static void a_row_written_reads_back_the_same(void **state)
{
    (void)state;
    const struct adl_trace_row rows[] = {
        {.submit_us = 0, .duration_us = 1, .gpus = 1, .gpu_milli = 1000, .priority = -1, .id = "#1"},
        {.submit_us = 1000001,
         .duration_us = 36000000000,
         .limit_us = 50,
         .deadline_us = 123456789012,
         .gpus = 64,
         .gpu_milli = 10,
         .cpu_milli = 1500,
         .memory_mib = 77,
         .priority = 1.0 / 3,
         .steps = 12345.678901234567,
         .id = "a,\"b\"",
         .user = " u",
         .name = "Größe",
         .types = "A|B"},
    };
    struct adl_text text = {0};
    adl_trace_write_head(&text);
    for (size_t i = 0; i < 2; i++)
        adl_trace_write_row(&text, &rows[i]);
    assert_int_equal(adl_text_status(&text), 0);
    struct adl_trace *trace = open_text(text.data, (struct adl_trace_options){.strict = true});
    for (size_t i = 0; i < 2; i++) {
        const struct adl_trace_row row = next_row(trace);
        assert_int_equal(row.submit_us, rows[i].submit_us);
        assert_int_equal(row.duration_us, rows[i].duration_us);
        assert_int_equal(row.limit_us, rows[i].limit_us);
        assert_int_equal(row.deadline_us, rows[i].deadline_us);
        assert_int_equal(row.gpus, rows[i].gpus);
        assert_int_equal(row.gpu_milli, rows[i].gpu_milli);
        assert_int_equal(row.cpu_milli, rows[i].cpu_milli);
        assert_int_equal(row.memory_mib, rows[i].memory_mib);
        assert_true(row.priority == rows[i].priority && row.steps == rows[i].steps);
        assert_string_equal(row.id, rows[i].id);
        assert_string_equal(row.user, rows[i].user);
        assert_string_equal(row.name, rows[i].name);
        assert_string_equal(row.types, rows[i].types);
    }
    expect_end(trace);
    adl_text_clear(&text);
}

/* ---- the real ones ---- */

struct totals {
    uint64_t rows;
    uint64_t gpus;
    double duration_s;
    double steps;
    int64_t last_us;
};

/* Reads a whole trace that others recorded. */
static struct totals read_real(const char *path, int format, uint64_t counts[ADL_TRACE_REASON_COUNT])
{
    struct adl_trace *trace = NULL;
    struct adl_error err = {{0}};
    struct adl_trace_row row;
    struct totals totals = {0};
    if (adl_trace_open(path, &by_itself, &trace, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(adl_trace_format(trace), format);
    int status;
    while ((status = adl_trace_next(trace, &row, &err)) == 1) {
        assert_true(row.submit_us >= totals.last_us);
        totals.rows++;
        totals.gpus += row.gpus;
        totals.duration_s += (double)row.duration_us / 1e6;
        totals.steps += row.steps;
        totals.last_us = row.submit_us;
    }
    assert_int_equal(status, 0);
    memcpy(counts, adl_trace_counts(trace), ADL_TRACE_REASON_COUNT * sizeof *counts);
    assert_int_equal(totals.rows, counts[ADL_TRACE_USED]);
    adl_trace_close(trace);
    return totals;
}

static void philly_has_52849_jobs(void **state)
{
    (void)state;
    uint64_t counts[ADL_TRACE_REASON_COUNT];
    const struct totals totals = read_real(SHARED_DATA "data/philly/philly_2017_sep_oct.csv", ADL_TRACE_PHILLY, counts);
    assert_int_equal(totals.rows, 52849);
    assert_int_equal(totals.gpus, 63436);
    assert_true(totals.duration_s == 722412566);
    assert_true(counts[ADL_TRACE_OUT_OF_ORDER] > 0);
    assert_int_equal(counts[ADL_TRACE_MALFORMED] + counts[ADL_TRACE_BAD_TIME] + counts[ADL_TRACE_NO_GPU], 0);
}

static void openb_has_8152_pods_of_which_some_have_no_gpu_or_wait(void **state)
{
    (void)state;
    uint64_t counts[ADL_TRACE_REASON_COUNT];
    struct totals totals = read_real(SHARED_DATA "data/openb/openb_pod_list_gpuspec33.csv", ADL_TRACE_OPENB, counts);
    assert_int_equal(totals.rows, 6203);
    assert_int_equal(counts[ADL_TRACE_NO_GPU], 1088);
    assert_int_equal(counts[ADL_TRACE_NOT_STARTED], 861);
    assert_int_equal(counts[ADL_TRACE_OUT_OF_ORDER], 0);
    totals = read_real(SHARED_DATA "data/openb/openb_pod_list_gpushare40.csv", ADL_TRACE_OPENB, counts);
    assert_int_equal(totals.rows, 6119);
    assert_int_equal(counts[ADL_TRACE_NO_GPU], 1088);
    assert_int_equal(counts[ADL_TRACE_NOT_STARTED], 945);
    assert_true(counts[ADL_TRACE_OUT_OF_ORDER] > 0);
}

static void gavel_traces_give_all_their_jobs(void **state)
{
    (void)state;
    uint64_t counts[ADL_TRACE_REASON_COUNT];
    struct totals totals = read_real(SHARED_DATA "data/gavel/traces/msr/11cb48.trace", ADL_TRACE_GAVEL, counts);
    assert_int_equal(totals.rows, 2000);
    assert_int_equal(totals.gpus, 4405);
    assert_int_equal(totals.last_us, 8799232 * S);
    totals =
        read_real(SHARED_DATA "data/gavel/traces/physical_cluster/max_min_fairness.trace", ADL_TRACE_GAVEL, counts);
    assert_int_equal(totals.rows, 96);
    assert_int_equal(totals.gpus, 169);
    assert_true(totals.steps == 18166806);
    assert_int_equal(totals.last_us, 46317 * S);
}

static void lcg_2005_has_188041_jobs(void **state)
{
    (void)state;
    uint64_t counts[ADL_TRACE_REASON_COUNT];
    const struct totals totals = read_real(SHARED_DATA "data/swf/LCG-2005-1.swf.gz", ADL_TRACE_SWF, counts);
    assert_int_equal(totals.rows, 188041 - 521);
    assert_int_equal(counts[ADL_TRACE_BAD_TIME], 521); /* ran for less than half a second: written as 0 */
    assert_int_equal(totals.gpus, totals.rows);
    assert_true(totals.duration_s == 1502530759);
    assert_int_equal(counts[ADL_TRACE_OUT_OF_ORDER], 0);
}

static void peers_traces_are_our_csv(void **state)
{
    (void)state;
    uint64_t counts[ADL_TRACE_REASON_COUNT];
    const struct totals csv = read_real(SHARED_DATA "peers/synth1k.csv", ADL_TRACE_CSV, counts);
    assert_int_equal(csv.rows, 1000);
    const struct totals same = read_real(SHARED_DATA "peers/synth1k.swf", ADL_TRACE_SWF, counts);
    assert_int_equal(same.gpus, csv.gpus);
    assert_true(same.duration_s == csv.duration_s);
    assert_int_equal(same.last_us, csv.last_us);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philly_rows_are_sorted_and_read_exactly),
        cmocka_unit_test(strict_readers_name_file_line_and_reason),
        cmocka_unit_test(pods_have_shares_and_types),
        cmocka_unit_test(gavel_has_three_forms_and_steps),
        cmocka_unit_test(helios_and_acme_columns_are_found_by_name),
        cmocka_unit_test(swf_takes_requested_processors_or_else_allocated_ones),
        cmocka_unit_test(sacct_jobs_are_read_and_steps_skipped),
        cmocka_unit_test(sacct_does_with_the_columns_it_is_given),
        cmocka_unit_test(sacct_says_what_a_job_asked_for_that_adlro_has_placed),
        cmocka_unit_test(csv_has_a_least_form_and_a_full_one),
        cmocka_unit_test(a_row_written_reads_back_the_same),
    };
    const struct CMUnitTest shared[] = {
        cmocka_unit_test(philly_has_52849_jobs),
        cmocka_unit_test(openb_has_8152_pods_of_which_some_have_no_gpu_or_wait),
        cmocka_unit_test(gavel_traces_give_all_their_jobs),
        cmocka_unit_test(lcg_2005_has_188041_jobs),
        cmocka_unit_test(peers_traces_are_our_csv),
    };
    return RUN_PLAIN_OR_SHARED(argc, argv, tests, shared);
}
