/* Submissions: what is read, what is refused and with which words, and the small languages inside them. */
#include "http/body.h"
#include "jobs/script.h"
#include "jobs/submission.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct adl_account ann = {.uid = 1001, .gid = 1002, .name = "ann"};

static int submission_parse(const char *text, struct adl_submission **ret, struct adl_error *err)
{
    cJSON *document = NULL;
    if (adl_body_parse(text, strlen(text), &document, err) < 0)
        fail_msg("%s: %s", text, err->text);
    const int status = adl_submission_read(document, &ann, 42, ret, err);
    cJSON_Delete(document); /* nothing of it may be needed any more */
    return status;
}

static struct adl_submission *submission_of(const char *text)
{
    struct adl_submission *submission = NULL;
    struct adl_error err = {{0}};
    if (submission_parse(text, &submission, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return submission;
}

/* members: what is added to a body that is fine without. */
static void assert_refused(const char *members, const char *words)
{
    static const struct adl_submission untouched;
    const struct adl_submission *kept = &untouched;
    struct adl_submission *submission = (struct adl_submission *)(uintptr_t)kept;
    struct adl_error err = {{0}};
    char text[4096];
    snprintf(text, sizeof text, "{%s}", members);
    const int status = submission_parse(text, &submission, &err);
    if (status != ADL_EINVAL)
        fail_msg("%s: status %d", text, status);
    if (!strstr(err.text, words))
        fail_msg("%s: '%s' is not in '%s'", text, words, err.text);
    assert_ptr_equal(submission, kept);
}

#define FINE "\"command\":[\"true\"],\"directory\":\"/\""

static void the_least_that_can_be_sent_gets_defaults(void **state)
{
    struct adl_submission *submission = submission_of("{" FINE "}");
    const struct adl_store_job *job = &submission->job;
    (void)state;
    assert_int_equal(job->uid, 1001);
    assert_int_equal(job->gid, 1002);
    assert_string_equal(job->user, "ann");
    assert_string_equal(job->name, "true");
    assert_string_equal(job->request, "1");
    assert_string_equal(job->argv[0], "true");
    assert_null(job->argv[1]);
    assert_string_equal(job->script, "");
    assert_null(job->environment[0]);
    assert_string_equal(job->stdout_path, "adlro-%j.out");
    assert_string_equal(job->stderr_path, "adlro-%j.out");
    assert_int_equal(job->dependency_count, 0);
    assert_int_equal(job->array_index, -1);
    assert_null(submission->array);
    assert_int_equal(job->submit_us, 42);
    assert_int_equal(job->spec.kind, ADL_KIND_TRAINING);
    assert_int_equal(job->spec.flags, 0);
    assert_int_equal(job->spec.cpu_cores, 0);
    assert_int_equal(job->spec.limit_us, 0);
    assert_int_equal(job->spec.name_id, 0);
    assert_true(job->spec.priority == 0.5f && job->status.priority == 0.5f);
    assert_int_equal(job->status.state, ADL_STORE_PENDING);
    assert_string_equal(submission->class_name, "");
    assert_false(submission->hold);
    adl_submission_destroy(submission);
}

static void what_a_stop_loses_follows_from_how_the_work_is_saved(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        uint8_t flags;
        int loss;
        int64_t checkpoint_us;
    } cases[] = {
        {"", 0, ADL_LOSS_NOTHING, 0},
        {",\"requeue\":true", ADL_JOB_PREEMPTIBLE, ADL_LOSS_ALL, 0},
        {",\"checkpoint_every_s\":600", ADL_JOB_PREEMPTIBLE, ADL_LOSS_SINCE_CHECKPOINT, 600000000},
        {",\"requeue\":true,\"checkpoint_every_s\":1.5", ADL_JOB_PREEMPTIBLE, ADL_LOSS_SINCE_CHECKPOINT, 1500000},
        {",\"checkpoint_on_stop\":true", ADL_JOB_PREEMPTIBLE, ADL_LOSS_NOTHING, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"command\":[\"true\"],\"directory\":\"/\"%s}", cases[i].keys);
        struct adl_submission *submission = submission_of(text);
        const struct adl_job_spec *spec = &submission->job.spec;
        assert_int_equal(spec->flags, cases[i].flags);
        assert_int_equal(spec->stop_loss, cases[i].loss);
        assert_int_equal(spec->checkpoint_us, cases[i].checkpoint_us);
        adl_submission_destroy(submission);
    }
}

static void everything_that_is_said_is_kept(void **state)
{
    struct adl_submission *submission = submission_of(
        "{\"script\":\"#!/bin/sh\\necho $1\\n\",\"args\":[\"a "
        "b\",\"\"],\"gpus\":\"v100:2|a100:1\",\"name\":\"tr\\u00e4in\","
        "\"kind\":\"inference\",\"class\":\"resnet50-b64\",\"priority\":1,\"cpus_per_gpu\":4,\"memory_mib_per_gpu\":"
        "2048,"
        "\"gpu_memory_mib\":8000,\"time_limit_s\":90.5,\"deadline_s\":7200,\"min_steps_per_s\":2.5,\"share\":true,"
        "\"share_slowdown\":1.5,\"requeue\":true,\"hold\":true,\"after\":[3],\"after_ok\":[4,9007199254740992],"
        "\"after_not_ok\":[5],\"after_start\":[6],\"singleton\":true,\"dependency_any\":true,"
        "\"begin_s\":1800000000.5,\"warn_signal\":\"B:USR1@90\",\"array\":\"7,0-9:4,1-2%3\",\"directory\":\"/home/"
        "ann\",\"environment\":[\"A=1\",\"B==\"],\"umask\":\"027\",\"limits\":[\"core=0\"],\"stdout\":\"o-%A_%a\","
        "\"stderr\":\"/tmp/%x.err\"}");
    const struct adl_store_job *job = &submission->job;
    const int32_t indices[] = {0, 1, 2, 4, 7, 8};
    (void)state;
    assert_string_equal(job->script, "#!/bin/sh\necho $1\n");
    assert_string_equal(job->argv[0], "a b");
    assert_string_equal(job->argv[1], "");
    assert_null(job->argv[2]);
    assert_string_equal(job->request, "v100:2|a100:1");
    assert_string_equal(job->name, "tr\xc3\xa4in");
    assert_int_equal(job->spec.name_id, adl_job_name_id("tr\xc3\xa4in"));
    assert_int_equal(job->spec.kind, ADL_KIND_INFERENCE);
    assert_string_equal(submission->class_name, "resnet50-b64");
    assert_true(job->spec.priority == 1.0f);
    assert_int_equal(job->spec.cpu_cores, 4);
    assert_int_equal(job->spec.memory_mib, 2048);
    assert_int_equal(job->spec.gpu_memory_mib, 8000);
    assert_int_equal(job->spec.limit_us, 90500000);
    assert_int_equal(job->spec.deadline_us, INT64_C(7200000000));
    assert_true(job->spec.min_steps_per_s == 2.5f && job->spec.share_slowdown == 1.5f);
    assert_int_equal(job->spec.flags, ADL_JOB_SHARE | ADL_JOB_PREEMPTIBLE);
    assert_true(submission->hold && job->status.hold);
    assert_int_equal(job->dependency_count, 6);
    assert_int_equal(job->dependencies[0].job, 3);
    assert_int_equal(job->dependencies[0].after, ADL_AFTER_ANY);
    assert_int_equal(job->dependencies[2].job, UINT64_C(9007199254740992));
    assert_int_equal(job->dependencies[2].after, ADL_AFTER_OK);
    assert_int_equal(job->dependencies[3].after, ADL_AFTER_NOT_OK);
    assert_int_equal(job->dependencies[4].after, ADL_AFTER_START);
    assert_int_equal(job->dependencies[5].after, ADL_AFTER_SINGLETON);
    assert_true(job->dependency_any);
    assert_int_equal(job->begin_us, 1800000000500000);
    assert_string_equal(job->warn_signal, "B:USR1@90");
    assert_int_equal(job->array.count, 6);
    assert_int_equal(job->array.limit, 3);
    assert_int_equal(job->array.min, 0);
    assert_int_equal(job->array.max, 8);
    assert_int_equal(job->array.step, 1);
    assert_int_equal(submission->array_count, 6);
    assert_memory_equal(submission->array, indices, sizeof indices);
    assert_int_equal(job->array_index, 0);
    assert_string_equal(job->environment[1], "B==");
    assert_null(job->environment[2]);
    assert_string_equal(job->mask, "027");
    assert_string_equal(job->limits[0], "core=0");
    assert_null(job->limits[1]);
    assert_string_equal(job->directory, "/home/ann");
    assert_string_equal(job->stdout_path, "o-%A_%a");
    assert_string_equal(job->stderr_path, "/tmp/%x.err");
    adl_submission_destroy(submission);
}

static void a_name_comes_from_the_program_and_null_is_nothing(void **state)
{
    struct adl_submission *submission = submission_of(
        "{\"command\":[\"/usr/bin/env\",\"x\"],\"directory\":\"/\",\"gpus\":4,\"name\":null,\"array\":\"3\","
        "\"stdout\":null}");
    (void)state;
    assert_string_equal(submission->job.name, "env");
    assert_string_equal(submission->job.request, "4");
    assert_string_equal(submission->job.stdout_path, "adlro-%A_%a.out");
    assert_int_equal(submission->job.array_index, 3);
    adl_submission_destroy(submission);
}

static void a_key_that_is_not_known_is_refused_with_the_one_meant(void **state)
{
    (void)state;
    assert_refused(FINE ",\"time_limt_s\":3", "did you mean 'time_limit_s'?");
    assert_refused(FINE ",\"memory_mib\":3", "did you mean 'memory_mib_per_gpu'?");
    assert_refused(FINE ",\"uid\":0", "'uid' is not a key of a submission");
    assert_refused(FINE ",\"user\":\"root\"", "'user' is not a key");
    assert_refused(FINE ",\"\\n\\u001b[2J\":1", "'??[2J' is not a key");
}

static void every_value_is_held_to_its_type_and_range(void **state)
{
    static const char *const cases[][2] = {
        {"\"priority\":1.5", "priority: must be a number between 0 and 1, got 1.5"},
        {"\"priority\":\"high\"", "priority: must be a number between 0 and 1"},
        {"\"priority\":-0.1", "priority: must be"},
        {"\"cpus_per_gpu\":-1", "cpus_per_gpu: must be a whole number between 0 and 4096, got -1"},
        {"\"cpus_per_gpu\":1.5", "cpus_per_gpu: must be a whole number"},
        {"\"memory_mib_per_gpu\":1e300", "memory_mib_per_gpu: must be"},
        {"\"gpu_memory_mib\":[]", "gpu_memory_mib: must be a whole number"},
        {"\"time_limit_s\":0", "time_limit_s: must be"},
        {"\"time_limit_s\":1e999", "time_limit_s: must be"},
        {"\"deadline_s\":0", "deadline_s: must be"},
        {"\"min_steps_per_s\":0", "min_steps_per_s: must be"},
        {"\"share\":1", "share: must be true or false"},
        {"\"share\":true,\"share_slowdown\":0.5", "share_slowdown: must be a number between 1 and 100"},
        {"\"share_slowdown\":2", "share_slowdown: has no meaning unless"},
        {"\"checkpoint_every_s\":0", "checkpoint_every_s: must be a number between 1 and 3.16224e8, got 0"},
        {"\"checkpoint_every_s\":60,\"checkpoint_on_stop\":true",
         "checkpoint_every_s: a job with \"checkpoint_on_stop\" loses nothing when it is stopped; give one of the two"},
        {"\"requeue\":\"yes\"", "requeue: must be true or false"},
        {"\"hold\":{}", "hold: must be true or false"},
        {"\"kind\":\"mining\"", "kind: must be training, inference, simulation or data, got 'mining'"},
        {"\"name\":\"\"", "name: must not be empty"},
        {"\"name\":\"a\\u001bb\"", "name: holds a control character"},
        {"\"name\":7", "name: must be a string"},
        {"\"class\":\"0123456789012345678901234567890123456789012345678\"", "class: has 49 bytes; at most 47"},
        {"\"gpus\":0", "gpus: must be a whole number between 1 and 4096, got 0"},
        {"\"gpus\":\"\"", "gpus: empty"},
        {"\"gpus\":\"v100:\"", "gpus: the number in 'v100:' must be between 1 and 4096"},
        {"\"gpus\":\"a:1|b:2|c:3|d:4|e:5\"", "gpus: at most 4 different numbers"},
        {"\"gpus\":true", "gpus: must be a whole number"},
        {"\"after\":3", "after: must be an array of numbers of jobs"},
        {"\"after\":[0]", "after: must hold numbers of jobs"},
        {"\"after_ok\":[1.5]", "after_ok: must hold numbers of jobs"},
        {"\"after_ok\":[9007199254740994]", "after_ok: must hold"},
        {"\"environment\":{\"A\":\"1\"}", "environment: must be an array of strings"},
        {"\"environment\":[1]", "environment: must be an array of strings alone"},
        {"\"environment\":[\"A\"]", "environment: 'A' must be NAME=value"},
        {"\"environment\":[\"=A\"]", "environment: '=A' must be NAME=value"},
        {"\"umask\":18", "umask: must be a string"},
        {"\"umask\":\"088\"", "umask: '088' must be an octal number from 000 to 777"},
        {"\"umask\":\"1777\"", "umask: '1777' must be an octal number"},
        {"\"limits\":{}", "limits: must be an array of strings"},
        {"\"limits\":[\"files=3\"]", "limits: 'files=3' must be as nofile=1024"},
        {"\"limits\":[\"nofile\"]", "limits: 'nofile' must be as"},
        {"\"limits\":[\"nofile=-1\"]", "limits: 'nofile=-1' must be as"},
        {"\"limits\":[\"nofile=1x\"]", "limits: 'nofile=1x' must be as"},
        {"\"limits\":[\"nofile=99999999999999999999\"]", "limits: 'nofile=99999999999999999999' must be as"},
        {"\"stdout\":\"x%s\"", "stdout: after '%' there must be"},
        {"\"stderr\":\"x%\"", "stderr: after '%' there must be"},
        {"\"args\":[]", "args: are a script's"},
        {"\"script\":\"x\"", "not both"},
        {"\"array\":\"\"", "array: must not be empty"},
        {"\"array\":\"1-\"", "array: must be indices"},
        {"\"array\":\"3-1\"", "array: must be indices"},
        {"\"array\":\"0-9:0\"", "array: must be indices"},
        {"\"array\":\"0-9%0\"", "array: must be indices"},
        {"\"array\":\"0-9%\"", "with %4 behind them at most 4 of its jobs run at once"},
        {"\"array\":\"0-9%4,12\"", "array: must be indices"},
        {"\"array\":\"%4\"", "array: must be indices"},
        {"\"after_not_ok\":[0]", "after_not_ok: must hold numbers of jobs"},
        {"\"after_start\":7", "after_start: must be an array of numbers of jobs"},
        {"\"singleton\":\"yes\"", "singleton: must be true or false"},
        {"\"begin_s\":-1", "begin_s: must be a number between 0 and"},
        {"\"begin_s\":\"noon\"", "begin_s: must be a number"},
        {"\"warn_signal\":\"NONE@60\"", "warn_signal: must be a signal and how many seconds"},
        {"\"warn_signal\":\"USR1@soon\"", "warn_signal: must be a signal"},
        {"\"warn_signal\":\"B:\"", "got 'B:'"},
        {"\"warn_signal\":\"USR1@70000\"", "up to 65535"},
        {"\"array\":\"1,\"", "array: must be indices"},
        {"\"array\":\"99999999999999999999\"", "array: must be indices"},
        {"\"array\":\"0-10000\"", "array: has 10001 jobs; at most 10000"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[300];
        snprintf(members, sizeof members, FINE ",%s", cases[i][0]);
        assert_refused(members, cases[i][1]);
    }
}

static void a_command_and_a_directory_are_needed(void **state)
{
    (void)state;
    assert_refused("\"directory\":\"/\"", "command: either");
    assert_refused("\"directory\":\"/\",\"command\":[]", "command: must begin with the name of a program");
    assert_refused("\"directory\":\"/\",\"command\":[\"\"]", "command: must begin");
    assert_refused("\"directory\":\"/\",\"command\":\"ls\"", "command: must be an array of strings");
    assert_refused("\"command\":[\"true\"]", "directory: must be given, as an absolute path");
    assert_refused("\"command\":[\"true\"],\"directory\":\"home\"", "got 'home'");
    struct adl_submission *submission = NULL;
    struct adl_error err = {{0}};
    assert_int_equal(submission_parse("[]", &submission, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "must be a JSON object"));
    adl_submission_destroy(NULL);
}

static void a_script_that_could_not_run_is_refused_with_the_remedy(void **state)
{
    static const char *const cases[][2] = {
        {"", "script: a batch script must begin with #! and the path of its interpreter"},
        {"echo hello\\n", "make #!/bin/sh, or #!/bin/bash, its first line"},
        {"\\n#!/bin/sh\\n", "must begin with #!"},
        {"#!", "its first line must be #! and the path of an interpreter"},
        {"#! \\necho\\n", "its first line must be #!"},
        {"#!/bin/sh\\r\\necho hello\\r\\n", "script: line 1 ends in CR LF, as on Windows"},
        {"#!/bin/sh\\necho\\necho hello\\r\\n", "line 3 ends in CR LF"},
        {"#!/bin/sh\\r\\n", "sed -i 's/\\r$//' FILE, or dos2unix FILE"},
        {"\\ufeff#!/bin/sh\\n", "has a byte order mark before its #!"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[300];
        snprintf(members, sizeof members, "\"directory\":\"/\",\"script\":\"%s\"", cases[i][0]);
        assert_refused(members, cases[i][1]);
    }
    adl_submission_destroy(submission_of("{\"directory\":\"/\",\"script\":\"#!/bin/sh\\nprintf 'a\\rb'\\n\"}"));
}

static void an_interpreter_that_is_not_there_is_found_before_the_job_runs(void **state)
{
    struct adl_error err = {{0}};
    (void)state;
    assert_int_equal(adl_script_interpreter_check("#!/bin/sh\n", "s", ADL_SCRIPT_SYSTEM, &err), 0);
    assert_int_equal(adl_script_interpreter_check("#! /usr/bin/env python\n", "s", ADL_SCRIPT_SYSTEM, &err), 0);
    assert_int_equal(adl_script_interpreter_check("#!/bin/no-such-shell -e\n", "s", ADL_SCRIPT_SYSTEM, &err),
                     ADL_EINVAL);
    assert_non_null(strstr(err.text, "s: its first line names the interpreter '/bin/no-such-shell', which does not"));
    assert_int_equal(adl_script_interpreter_check("#!/usr/bin\n", "s", ADL_SCRIPT_SYSTEM, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "is not a program that can be executed"));
    /* A path that might be on a file server is not asked for by the service. */
    assert_int_equal(adl_script_interpreter_check("#!/nowhere/sh\n", "s", ADL_SCRIPT_SYSTEM, &err), 0);
    assert_int_equal(adl_script_interpreter_check("#!/usr/../nowhere/sh\n", "s", ADL_SCRIPT_SYSTEM, &err), 0);
    assert_int_equal(adl_script_interpreter_check("#!/nowhere/sh\n", "s", ADL_SCRIPT_ANYWHERE, &err), ADL_EINVAL);
    assert_int_equal(adl_script_interpreter_check("#!env/bin/python\n", "s", ADL_SCRIPT_ANYWHERE, &err), 0);
}

/* A body of one key whose value is a string of size letters. */
static char *long_body(const char *key, size_t size)
{
    char *text = malloc(size + 200);
    assert_non_null(text);
    const int start =
        sprintf(text, "{%s\"%s\":\"/", strcmp(key, "directory") == 0 ? "\"command\":[\"a\"]," : FINE ",", key);
    memset(text + start, 'x', size - 1);
    strcpy(text + (size_t)start + size - 1, "\"}");
    return text;
}

static void what_is_too_long_is_refused_at_the_byte(void **state)
{
    static const struct {
        const char *key;
        size_t most;
    } cases[] = {{"name", 255}, {"directory", 4096 - 1 - 1 - 9 - 1 - 19}, {"stdout", 4095}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t beyond = 0; beyond < 2; beyond++) {
            /* A directory has to leave room for "/adlro-9223372036854775807.out". */
            char *text = long_body(cases[i].key, cases[i].most + beyond);
            struct adl_submission *submission = NULL;
            struct adl_error err = {{0}};
            const int status = submission_parse(text, &submission, &err);
            if (status != (beyond ? ADL_EINVAL : ADL_OK))
                fail_msg("%s of %zu bytes: %d %s", cases[i].key, cases[i].most + beyond, status, err.text);
            adl_submission_destroy(submission);
            free(text);
        }
}

/* ---- GPUs asked for ---- */

static struct adl_cluster cluster_of(void)
{
    static const char *const names[] = {"v100", "a100", "mi250", "gone"};
    struct adl_cluster cluster = {0};
    struct adl_error err;
    for (size_t i = 0; i < 4; i++) {
        struct adl_gpu_type type = {.memory_mib = 16384, .bandwidth_gbs = 1, .fp32_tflops = 1, .max_w = 300};
        snprintf(type.name, sizeof type.name, "%s", names[i]);
        assert_int_equal(adl_cluster_add_type(&cluster, &type, &err), ADL_OK);
    }
    const struct adl_node node = {.name = "box", .cpu_cores = 8, .memory_mib = 1000, .link_gbs = 1};
    const struct adl_bank_spec banks[] = {{0, 2}, {1, 1}, {2, 4}};
    assert_int_equal(adl_cluster_add_node(&cluster, &node, banks, 3, &err), ADL_OK);
    return cluster;
}

static void requests_name_numbers_and_types(void **state)
{
    static const struct {
        const char *text;
        uint32_t count;
        struct {
            uint16_t gpus;
            uint32_t types;
        } alternatives[3];
    } cases[] = {
        {"2", 1, {{2, 7}}},         {":2", 1, {{2, 7}}},
        {"v100", 1, {{1, 1}}},      {"v100:2|a100:1", 2, {{2, 1}, {1, 2}}},
        {"v100|a100", 1, {{1, 3}}}, {"v100:2|1|mi250:2", 2, {{2, 5}, {1, 7}}},
        {"4096", 1, {{4096, 7}}},   {"v100:02", 1, {{2, 1}}},
    };
    struct adl_cluster cluster = cluster_of();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adl_alternative found[ADL_ALTERNATIVES_MAX];
        struct adl_error err = {{0}};
        uint32_t count = 0;
        if (adl_gpu_request_read(cases[i].text, &cluster, found, &count, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.text);
        assert_int_equal(count, cases[i].count);
        for (uint32_t k = 0; k < count; k++) {
            assert_int_equal(found[k].gpus, cases[i].alternatives[k].gpus);
            assert_int_equal(found[k].types, cases[i].alternatives[k].types);
            assert_int_equal(found[k].slot, ADL_NONE);
        }
    }
    adl_cluster_clear(&cluster);
}

static void requests_that_make_no_sense_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"", "empty"},
        {"|", "empty"},
        {"v100|", "empty"},
        {"0", "between 1 and 4096"},
        {"v100:0", "between 1 and 4096"},
        {"4097", "between 1 and 4096"},
        {"9999999999999999999999", "between 1 and 4096"},
        {"v100:-1", "between 1 and 4096"},
        {"v100:1:1", "between 1 and 4096"},
        {"v10", "there is no GPU of type 'v10' here; did you mean 'v100'?; there are v100, a100, mi250"},
        {"gone", "there is no GPU of type 'gone' here; there are v100, a100, mi250"},
        {"v100 :2", "no GPU of type 'v100 '"},
        {"1|2|3|4|5", "at most 4 different numbers"},
        {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffff:1", "too long for a type"},
    };
    struct adl_cluster cluster = cluster_of();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adl_alternative found[ADL_ALTERNATIVES_MAX] = {{.gpus = 77}};
        struct adl_error err = {{0}};
        uint32_t count = 99;
        assert_int_equal(adl_gpu_request_read(cases[i][0], &cluster, found, &count, &err), ADL_EINVAL);
        if (!strstr(err.text, cases[i][1]))
            fail_msg("'%s': '%s' is not in '%s'", cases[i][0], cases[i][1], err.text);
        assert_int_equal(count, 99);
        assert_int_equal(found[0].gpus, 77);
    }
    adl_cluster_clear(&cluster);
}

/* ---- paths and commands in words ---- */

static void patterns_are_filled_in_and_lead_nowhere_else(void **state)
{
    const struct adl_store_job single = {
        .name = "../../etc/x", .user = ".ann", .directory = "/home/ann", .array_index = -1};
    const struct adl_store_job member = {
        .name = "tr%jain", .user = "ann", .directory = "/", .array_id = 40, .array_index = 3};
    static const struct {
        const char *pattern, *node, *path;
        bool array;
    } cases[] = {
        {"adlro-%j.out", NULL, "/home/ann/adlro-42.out", false},
        {"%x/%u", NULL, "/home/ann/_._.._etc_x/_ann", false},
        {"/var/%A_%a_%N%%%", "box", "/var/42_0_box%%", false},
        {"%N", NULL, "/home/ann/%N", false},
        {"%q%", "box", "/home/ann/%q%", false},
        {"", NULL, "", false}, /* the cluster underneath knows where */
        {"a/%A_%a-%x", "..", "/a/40_3-tr%jain", true},
        {"%N/%j", "..", "/_./42", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = adl_path_expand(cases[i].pattern, cases[i].array ? &member : &single, 42, cases[i].node);
        assert_non_null(path);
        assert_string_equal(path, cases[i].path);
        free(path);
    }
}

static void a_path_never_outgrows_what_the_store_takes(void **state)
{
    char name[256], pattern[4000];
    const struct adl_store_job job = {.name = name, .user = "ann", .directory = "/", .array_index = -1};
    (void)state;
    memset(name, 'n', 255);
    name[255] = '\0';
    for (size_t i = 0; i + 2 < sizeof pattern; i += 2)
        memcpy(pattern + i, "%x", 3);
    char *path = adl_path_expand(pattern, &job, 1, NULL);
    assert_non_null(path);
    assert_int_equal(strlen(path), ADL_STORE_PATH_MAX);
    free(path);
}

static void commands_are_shown_as_a_shell_would_take_them(void **state)
{
    const char *const words[] = {"python", "train.py", "--lr=1", "a b", "", "it's", "x\n\x1b[2J\xc2\x9b", NULL};
    const char *const umlauts[] = {"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", NULL};
    struct adl_store_job job = {.argv = words};
    char text[200], small[9];
    (void)state;
    adl_command_text(&job, text, sizeof text);
    assert_string_equal(text, "python train.py --lr=1 'a b' '' 'it'\\''s' 'x??[2J?'");
    adl_command_text(&job, small, sizeof small);
    assert_string_equal(small, "pytho...");
    job.argv = umlauts;
    adl_command_text(&job, small, sizeof small);
    assert_string_equal(small, "'\xc3\xa4\xc3\xa4...");
    adl_command_text(&job, small, 1);
    assert_string_equal(small, "");
    job.argv = NULL;
    adl_command_text(&job, text, sizeof text);
    assert_string_equal(text, "");
    job.script = "#!/bin/bash\n#SBATCH --gpus 1\n\n  # why\n\tsrun python x.py  \r\necho done\n";
    adl_command_text(&job, text, sizeof text);
    assert_string_equal(text, "srun python x.py");
    job.script = "#!/bin/sh\n# nothing";
    adl_command_text(&job, text, sizeof text);
    assert_string_equal(text, "(empty script)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_that_can_be_sent_gets_defaults),
        cmocka_unit_test(what_a_stop_loses_follows_from_how_the_work_is_saved),
        cmocka_unit_test(everything_that_is_said_is_kept),
        cmocka_unit_test(a_name_comes_from_the_program_and_null_is_nothing),
        cmocka_unit_test(a_key_that_is_not_known_is_refused_with_the_one_meant),
        cmocka_unit_test(every_value_is_held_to_its_type_and_range),
        cmocka_unit_test(a_command_and_a_directory_are_needed),
        cmocka_unit_test(a_script_that_could_not_run_is_refused_with_the_remedy),
        cmocka_unit_test(an_interpreter_that_is_not_there_is_found_before_the_job_runs),
        cmocka_unit_test(what_is_too_long_is_refused_at_the_byte),
        cmocka_unit_test(requests_name_numbers_and_types),
        cmocka_unit_test(requests_that_make_no_sense_are_refused),
        cmocka_unit_test(patterns_are_filled_in_and_lead_nowhere_else),
        cmocka_unit_test(a_path_never_outgrows_what_the_store_takes),
        cmocka_unit_test(commands_are_shown_as_a_shell_would_take_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
