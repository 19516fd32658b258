/* The verbs that ask the service, run as from a shell against a server that answers as it does. */
#include "cli/client/job_form.h"
#include "cli/client/jobs_table.h"
#include "cli/client/top_frame.h"
#include "cli/display.h"
#include "service_double.h"

#include <sys/resource.h>
#include <sys/stat.h>

static struct service_double *service;

static int open_service(void **state)
{
    (void)state;
    service = double_open();
    return 0;
}

static int close_service(void **state)
{
    (void)state;
    double_close(service);
    return 0;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void assert_harmless(const char *text)
{
    for (; *text; text++)
        assert_true((unsigned char)*text >= 0x20 || *text == '\n');
}

/* ---- submit ---- */

/* The document that the last submission sent. */
static cJSON *sent(void)
{
    cJSON *body = cJSON_Parse(service->body);
    assert_non_null(body);
    return body;
}

static bool has_variable(const cJSON *body, const char *entry)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(body, "environment"))
    {
        if (strcmp(one->valuestring, entry) == 0)
            return true;
    }
    return false;
}

static const char *at(const cJSON *body, const char *list, int index)
{
    const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(body, list), index));
    return text ? text : "(none)";
}

static void a_command_is_submitted_with_its_own_options_left_alone(void **state)
{
    char here[4096];
    (void)state;
    setenv("ADLRO_TOKEN", "adl_secret", 1);
    setenv("SEED", "7", 1);
    struct printed *p = RUN(submit, "--gpus", "v100:2|a100:1", "-t", "1:30:00", "--mem-per-gpu=8G", "--priority", "0.7",
                            "--share-slowdown", "1.3", "--array", "0-9", "--", "python", "t.py", "--help", "-t", "x");
    unsetenv("ADLRO_TOKEN");
    assert_int_equal(p->code, 0);
    assert_string_equal(p->out, "Submitted batch job 5\n");
    assert_string_equal(p->err, "adlro submit: warning: watch ?[1mout\n");
    cJSON *body = sent();
    assert_string_equal(at(body, "command", 0), "python");
    assert_string_equal(at(body, "command", 2), "--help");
    assert_string_equal(at(body, "command", 4), "x");
    assert_string_equal(adl_member_text(body, "gpus"), "v100:2|a100:1");
    assert_string_equal(adl_member_text(body, "name"), "python");
    assert_string_equal(adl_member_text(body, "array"), "0-9");
    assert_int_equal(adl_member_number(body, "time_limit_s", 0), 5400);
    assert_int_equal(adl_member_number(body, "memory_mib_per_gpu", 0), 8192);
    assert_true(adl_member_number(body, "priority", 0) == 0.7);
    assert_true(adl_member_number(body, "share_slowdown", 0) == 1.3);
    assert_int_equal(adl_member_flag(body, "share"), 1);
    assert_non_null(getcwd(here, sizeof here));
    assert_string_equal(adl_member_text(body, "directory"), here);
    assert_true(has_variable(body, "SEED=7"));
    assert_null(strstr(service->body, "adl_secret"));
    cJSON_Delete(body);
    free(p);
}

static void umask_and_soft_limits_of_the_caller_are_sent(void **state)
{
    (void)state;
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = 333;
    const mode_t mask = umask(037);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    struct printed *p = RUN(submit, "--", "python");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(umask(mask), 037); /* and stays as it was */
    assert_int_equal(p->code, 0);
    cJSON *body = sent();
    assert_string_equal(adl_member_text(body, "umask"), "037");
    assert_non_null(strstr(service->body, "\"nofile=333\""));
    cJSON_Delete(body);
    free(p);
}

static void a_script_is_sent_as_text_and_its_lines_count_less_than_the_command_line(void **state)
{
    char path[200];
    (void)state;
    snprintf(path, sizeof path, "%s/train.sh", service->fixture->folder);
    fixture_write(path,
                  "#!/bin/sh\n#SBATCH -J fromfile -t 10 --gres=gpu:v100:2 -c 8 --mem=8G -p gpu\n"
                  "#SBATCH -d afterok:10_7:1\nexec true\n",
                  0600);
    struct printed *p = RUN(submit, "--name", "mine", "--parsable", path, "--lr", "1");
    assert_int_equal(p->code, 0);
    assert_string_equal(p->out, "5\n");
    assert_has(p->err, "warning: ");
    assert_has(p->err, "train.sh:2: #SBATCH --partition means nothing here");
    cJSON *body = sent();
    assert_has(adl_member_text(body, "script"), "exec true\n");
    assert_string_equal(at(body, "args", 0), "--lr");
    assert_string_equal(at(body, "args", 1), "1");
    assert_string_equal(adl_member_text(body, "name"), "mine");
    assert_string_equal(adl_member_text(body, "gpus"), "v100:2");
    assert_int_equal(adl_member_number(body, "time_limit_s", 0), 600);
    assert_int_equal(adl_member_number(body, "cpus_per_gpu", 0), 4);
    assert_int_equal(adl_member_number(body, "memory_mib_per_gpu", 0), 4096);
    const cJSON *after = cJSON_GetObjectItemCaseSensitive(body, "after_ok");
    assert_int_equal(cJSON_GetArraySize(after), 2);
    assert_int_equal(cJSON_GetArrayItem(after, 0)->valuedouble, 13);
    cJSON_Delete(body);
    free(p);

    p = RUN(submit, "--", path, "x"); /* after the dashes it is a command like any other */
    assert_int_equal(p->code, 0);
    body = sent();
    assert_string_equal(at(body, "command", 0), path);
    assert_string_equal(adl_member_text(body, "script"), "");
    cJSON_Delete(body);
    free(p);
    unlink(path);
}

static void dependencies_begin_and_signal_are_sent_as_the_service_takes_them(void **state)
{
    char path[200];
    (void)state;
    struct printed *p = RUN(submit, "-d", "afterok:1:10_7,afternotok:2,after:3,singleton", "--begin", "now+1hour",
                            "--signal", "B:USR1@120", "--array", "0-9%4", "true");
    assert_int_equal(p->code, 0);
    cJSON *body = sent();
    static const struct {
        const char *key;
        int count, first;
    } lists[] = {{"after_ok", 2, 1}, {"after_not_ok", 1, 2}, {"after_start", 1, 3}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, lists[i].key);
        assert_int_equal(cJSON_GetArraySize(list), lists[i].count);
        assert_int_equal(list->child->valuedouble, lists[i].first);
    }
    assert_int_equal(adl_member_flag(body, "singleton"), 1);
    assert_int_equal(adl_member_flag(body, "dependency_any"), 0);
    assert_true(adl_member_number(body, "begin_s", 0) == 1700003823 + 3600); /* by the time of the double */
    assert_string_equal(adl_member_text(body, "warn_signal"), "B:USR1@120");
    assert_string_equal(adl_member_text(body, "array"), "0-9%4");
    cJSON_Delete(body);
    free(p);
    snprintf(path, sizeof path, "%s/dep.sh", service->fixture->folder);
    fixture_write(path, "#!/bin/sh\n#SBATCH -d afterok:1,afterany:2\ntrue\n", 0600);
    p = RUN(submit, "--dependency", "afterany:4?afterok:3", path); /* the command line's, and nothing of the script's */
    assert_int_equal(p->code, 0);
    body = sent();
    assert_int_equal(adl_member_flag(body, "dependency_any"), 1);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(body, "after")), 1);
    assert_int_equal(cJSON_GetObjectItemCaseSensitive(body, "after_ok")->child->valuedouble, 3);
    cJSON_Delete(body);
    free(p);
    unlink(path);
}

static void only_wrap_makes_a_shell_script_of_words(void **state)
{
    (void)state;
    struct printed *p = RUN(submit, "--wrap", "echo $HOME | wc", "--chdir", "sub", "--hold", "--export", "NONE,A=b");
    assert_int_equal(p->code, 0);
    cJSON *body = sent();
    assert_has(adl_member_text(body, "script"), "#!/bin/sh\n");
    assert_has(adl_member_text(body, "script"), "\necho $HOME | wc\n");
    assert_string_equal(adl_member_text(body, "name"), "wrap");
    assert_int_equal(adl_member_flag(body, "hold"), 1);
    assert_has(adl_member_text(body, "directory"), "/sub");
    assert_true(adl_member_text(body, "directory")[0] == '/');
    assert_true(has_variable(body, "A=b"));
    assert_false(has_variable(body, "SEED=7"));
    cJSON_Delete(body);
    free(p);
    p = RUN(submit, "--wrap", "x", "echo");
    assert_int_equal(p->code, 2);
    free(p);
}

static void a_dry_run_says_what_would_happen(void **state)
{
    (void)state;
    struct printed *p = RUN(submit, "--dry-run", "--wait", "true");
    assert_int_equal(p->code, 0);
    assert_string_equal(p->out, "It would be accepted: would start at once\n");
    free(p);
}

static void wait_lasts_until_the_job_has_ended(void **state)
{
    (void)state;
    service->asked = 0;
    service->ends_after = 2;
    struct printed *p = RUN(submit, "--wait", "true");
    assert_int_equal(p->code, 0);
    assert_int_equal(service->asked, 3);
    free(p);
}

static void bad_submissions_are_refused_before_anything_is_sent(void **state)
{
    static const char *const lines[][4] = {
        {"--time", "soon", "true"},     {"--priority", "2", "true"},
        {"--mem-per-gpu", "x", "true"}, {"--cpus-per-gpu", "-1", "true"},
        {"--after", "x", "true"},       {"--share-slowdown", "0.5", "true"},
        {"--name", "\xff", "true"},     {"\xff"},
        {"--begin", "soon", "true"},    {"--signal", "USR1@x", "true"},
        {"-d", "afterok", "true"},      {"-d", "afterok:1,singleton?afterok:2", "true"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        service->body[0] = '\0';
        struct printed *p = double_run(&adl_verb_submit, lines[i]);
        if (p->code != 2 || p->out[0] || strncmp(p->err, "adlro submit: ", 14) != 0)
            fail_msg("%s: %d %s", lines[i][0], p->code, p->err);
        assert_string_equal(service->body, "");
        free(p);
    }
    struct printed *p = double_run(&adl_verb_submit, (const char *const[]){NULL});
    assert_int_equal(p->code, 2);
    assert_has(p->err, "needs a command, a script, or --wrap");
    free(p);
}

static void exported_variables_are_chosen_by_name(void **state)
{
    char *environment[] = {"PATH=/bin", "A=1", "B=2", "ADLRO_TOKEN=t", "BAD=\xff", NULL};
    struct adl_text warnings = {0};
    (void)state;
    cJSON *list = adl_environment_export("A,C=3,GONE", environment, &warnings);
    assert_int_equal(cJSON_GetArraySize(list), 3);
    assert_string_equal(cJSON_GetArrayItem(list, 0)->valuestring, "PATH=/bin");
    assert_string_equal(cJSON_GetArrayItem(list, 1)->valuestring, "A=1");
    assert_string_equal(cJSON_GetArrayItem(list, 2)->valuestring, "C=3");
    assert_has(warnings.data, "there is no variable 'GONE'");
    cJSON_Delete(list);
    list = adl_environment_export("ALL,B=9", environment, &warnings);
    assert_int_equal(cJSON_GetArraySize(list), 4);
    assert_string_equal(cJSON_GetArrayItem(list, 3)->valuestring, "B=9");
    assert_has(warnings.data, "variable 'BAD' is not text");
    cJSON_Delete(list);
    adl_text_clear(&warnings);
}

/* ---- reading ---- */

static void the_queue_gives_a_reason_for_every_job_that_waits(void **state)
{
    (void)state;
    service->ends_after = 1000000;
    struct printed *p = double_run(&adl_verb_queue, (const char *const[]){NULL});
    int pending = 0;
    assert_int_equal(p->code, 0);
    assert_harmless(p->out);
    assert_has(p->out, "JOBID NAME");
    assert_has(p->out, "NODELIST(REASON)\n");
    assert_has(p->out, "    1 train");
    assert_has(p->out, "R  1:02:03 11-");
    assert_has(p->out, " v100:2        box\n");
    assert_has(p->out, " 10_7 train");
    assert_has(p->out, "evil?[2J?31m");
    for (char *line = strtok(p->out, "\n"); line; line = strtok(NULL, "\n"))
        if (strstr(line, " PD ")) {
            assert_has(line, "(2 GPUs of type v100 are not free)");
            pending++;
        }
    assert_int_equal(pending, 35);
    free(p);
    p = RUN(queue, "--me", "--json", "--state", "R");
    cJSON *json = cJSON_Parse(p->out);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "jobs")), 2);
    cJSON_Delete(json);
    free(p);
    p = RUN(queue, "--all", "--state", "R");
    assert_int_equal(p->code, 2);
    free(p);
}

static void expected_starts_are_said_wherever_a_waiting_job_is_shown(void **state)
{
    (void)state;
    struct printed *p = RUN(queue, "--start");
    assert_has(p->out, "ST START_TIME          START_P90           GPUS");
    assert_has(p->out, " PD 2023-11-1");
    assert_null(strstr(p->out, " R "));
    free(p);
    p = RUN(show, "2");
    assert_has(p->out, "Starts:         expected 2023-11-1");
    assert_has(p->out, " in 9 of 10 cases (as of 2023-11-1");
    free(p);
}

static void show_describes_a_job_or_the_cluster(void **state)
{
    (void)state;
    struct printed *p = RUN(show, "1");
    assert_int_equal(p->code, 0);
    assert_has(p->out, "Job:            1\n");
    assert_has(p->out, "State:          R (running)\n");
    assert_has(p->out, "GPU:            1 v100 on box (GPU-1)\n");
    assert_has(p->out, "Time limit:     1:00:00\n");
    assert_has(p->out, "After:          3 (completed)\n");
    free(p);
    p = RUN(show, "10_7");
    assert_has(p->out, "Job:            10_7 (number 13)\n");
    assert_has(p->out, "Reason:         2 GPUs of type v100 are not free\n");
    free(p);
    p = double_run(&adl_verb_show, (const char *const[]){NULL});
    assert_has(p->out, "easy, 2 of 40 GPUs busy, 2 running, 36 pending, 412 W\n");
    assert_has(p->out, "box    0 v100 busy     53% 8000/16384  91C  206W 1 ann train\n");
    assert_has(p->out, " 206W 70_0 ann task\n");
    assert_has(p->out, "box    2 v100 drained    -    -/16384    -     - (fan)\n");
    free(p);
    p = RUN(show, "99");
    assert_int_equal(p->code, 1);
    free(p);
    p = RUN(show, "x");
    assert_int_equal(p->code, 2);
    free(p);
}

static void explain_lists_events_with_their_reasons(void **state)
{
    (void)state;
    struct printed *p = RUN(explain, "4");
    assert_int_equal(p->code, 0);
    assert_has(p->out, "Job 4 (train of ann) waits: 2 GPUs of type v100 are not free; its start is expected 2023-");
    assert_has(p->out, "  submitted\n");
    assert_has(p->out, "  started on GPU-0,GPU-1: first in the queue (speed 1.5)\n");
    free(p);
    p = RUN(explain, "1");
    assert_has(p->out, "Job 1 (train of ann) runs on box with v100:2\n");
    free(p);
}

static void a_log_is_followed_until_the_job_has_ended(void **state)
{
    (void)state;
    fixture_write(service->output, "first\nlast\n", 0600);
    service->asked = 0;
    service->ends_after = 1; /* found running once, then asked again */
    struct printed *p = RUN(log, "-f", "5");
    assert_int_equal(p->code, 0);
    assert_string_equal(p->out, "first\nlast\n");
    free(p);
    p = RUN(log, "4"); /* it waits: the file is not its own */
    assert_int_equal(p->code, 1);
    assert_string_equal(p->out, "");
    assert_has(p->err, "job 4 has not started: 2 GPUs");
    free(p);
    unlink(service->output);
    p = RUN(log, "3");
    assert_int_equal(p->code, 1);
    assert_has(p->err, "job 3 has no output at /tmp/");
    free(p);
}

/* ---- changing ---- */

static void several_jobs_are_all_tried_and_one_failure_is_the_exit_code(void **state)
{
    (void)state;
    struct printed *p = RUN(cancel, "1", "3", "99", "4", "--reason", "a & b");
    assert_int_equal(p->code, 1);
    assert_string_equal(p->out, "job 1 cancelled\njob 4 cancelled\n");
    assert_has(p->err, "adlro cancel: job 3: it has ended. Nothing is left to do.\n");
    assert_has(p->err, "there is no job with this number");
    assert_string_equal(service->last, "cancel 4 a & b");
    free(p);
    p = RUN(hold, "10");
    assert_int_equal(p->code, 0);
    assert_string_equal(p->out, "job 10_2 held\njob 10_4 held\njob 10_7 held\n");
    free(p);
    service->last[0] = '\0';
    p = RUN(release, "4", "--dry-run");
    assert_string_equal(p->out, "job 4 would be released\n");
    assert_string_equal(service->last, "");
    free(p);
    p = RUN(priority, "4", "0.25");
    assert_string_equal(service->last, "patch 4 {\"priority\":0.25}");
    free(p);
    p = RUN(priority, "4", "7");
    assert_int_equal(p->code, 2);
    free(p);
}

static void no_verb_shows_the_number_of_a_task_of_slurm(void **state)
{
    struct printed *shown[7];
    (void)state;
    shown[0] = double_run(&adl_verb_queue, (const char *const[]){NULL});
    assert_has(shown[0]->out, " 70_1 train");
    shown[1] = double_run(&adl_verb_show, (const char *const[]){NULL});
    shown[2] = RUN(show, "70_0");
    assert_has(shown[2]->out, "Job:            70_0\n");
    shown[3] = RUN(explain, "70_0");
    assert_has(shown[3]->out, "Job 70_0 (train of ann) waits: 2 GPUs");
    shown[4] = RUN(log, "70_0");
    assert_has(shown[4]->err, "job 70_0 has not started: 2 GPUs");
    shown[5] = RUN(hold, "70");
    assert_string_equal(shown[5]->out, "job 70_0 held\njob 70_1 held\n");
    assert_string_equal(service->last, "hold 40 "); /* whatever the service calls it inside */
    shown[6] = RUN(top, "--once");
    assert_has(shown[6]->out, " 70_0 ann task\n");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        assert_null(strstr(shown[i]->out, "4294967366"));
        assert_null(strstr(shown[i]->err, "4294967366"));
        free(shown[i]);
    }
    service->refuses = "it is not the time for that";
    struct printed *p = RUN(cancel, "70_1");
    assert_string_equal(p->err, "adlro cancel: job 70_1: it is not the time for that\n");
    free(p);
}

static void a_label_is_digits_whatever_the_service_says(void **state)
{
    char label[ADL_JOB_LABEL_SIZE];
    cJSON *job = cJSON_Parse("{\"label\":\"12_3\\u001b[2J\"}");
    (void)state;
    assert_string_equal(adl_job_label(job, label), "12_3");
    cJSON_Delete(job);
}

static void gpus_and_nodes_are_drained_by_number_and_name(void **state)
{
    (void)state;
    struct printed *p = RUN(drain, "3", "--reason", "fan");
    assert_int_equal(p->code, 0);
    assert_string_equal(service->last, "drain 3 {\"reason\":\"fan\"}");
    free(p);
    p = RUN(drain, "box");
    assert_string_equal(service->last, "drain box {\"reason\":\"\"}");
    free(p);
    p = RUN(drain, "3", "--resume");
    assert_string_equal(service->last, "resume 3");
    free(p);
    p = RUN(drain, "77", "2", "--dry-run");
    assert_int_equal(p->code, 1);
    assert_has(p->err, "there is no GPU or node '77'");
    assert_string_equal(p->out, "GPU 2 would be drained\n");
    free(p);
}

static void a_token_goes_into_a_file_that_only_its_owner_can_read(void **state)
{
    char path[200], line[400] = "";
    struct stat info;
    (void)state;
    snprintf(path, sizeof path, "%s/new", service->fixture->folder);
    struct printed *p = RUN(token, fixture_user(), "--file", path);
    assert_int_equal(p->code, 0);
    assert_int_equal(strlen(p->out), ADL_TOKEN_SIZE);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    FILE *file = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    p->out[12] = '\0'; /* its id is in both, its secret is not */
    assert_int_equal(strncmp(line, p->out + 4, 8), 0);
    assert_null(strstr(line, p->out + 13));
    free(p);
    assert_int_equal(chmod(path, 0644), 0);
    p = RUN(token, fixture_user(), "--file", path);
    assert_int_equal(p->code, 1);
    assert_string_equal(p->out, "");
    free(p);
    unlink(path);
}

/* ---- top ---- */

static void check_frame(struct adl_top_view *view, int rows, int columns)
{
    struct adl_frame frame;
    int lines = 0;
    view->rows = rows;
    view->columns = columns;
    adl_top_frame(view, &frame);
    assert_int_equal(frame.rows, rows);
    for (const char *line = frame.text.data; *line; line = strchr(line, '\n') + 1) {
        char one[600];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
        assert_true(adl_utf8_count(one) <= (size_t)columns);
        lines++;
    }
    assert_int_equal(lines, rows);
    for (int i = 0; i < frame.span_count; i++)
        assert_true(frame.spans[i].row < rows && frame.spans[i].column >= 0);
    assert_harmless(frame.text.data);
    adl_frame_clear(&frame);
}

static void a_frame_fits_every_screen_and_shows_where_the_cursor_is(void **state)
{
    struct adl_top_view view = {.pane = ADL_PANE_JOBS, .cursor = {1000, 1000}};
    struct adl_error err;
    cJSON *cluster = NULL, *jobs = NULL;
    (void)state;
    assert_int_equal(adl_client_get(service->client, "/v1/cluster", &cluster, &err), 0);
    assert_int_equal(adl_client_jobs(service->client, "state=live", &jobs, &err), 0);
    check_frame(&view, 24, 80); /* nothing is known yet */
    view.cursor[0] = view.cursor[1] = 1000;
    view.cluster = cluster;
    view.jobs = cJSON_GetObjectItemCaseSensitive(jobs, "jobs");
    view.trouble = "reconnecting: no service";
    check_frame(&view, 24, 80);
    assert_int_equal(view.cursor[ADL_PANE_GPUS], 39);
    assert_int_equal(view.cursor[ADL_PANE_JOBS], cJSON_GetArraySize(view.jobs) - 1);
    check_frame(&view, 9, 40);
    check_frame(&view, 60, 200);
    view.prompt = "cancel job 1? y/n";
    check_frame(&view, 24, 80);
    cJSON_Delete(cluster);
    cJSON_Delete(jobs);
}

static void top_prints_one_frame_as_text(void **state)
{
    (void)state;
    service->ends_after = 1000000;
    struct printed *p = RUN(top, "--once");
    assert_int_equal(p->code, 0);
    assert_harmless(p->out);
    assert_has(p->out, "  easy\n");
    assert_has(p->out, "] 2/40 busy   jobs 2 running, 36 pending   power 412 W   energy 2.000 kWh\n");
    assert_has(p->out, "  0 box  v100 busy     [|||||||||||         ]  53%  206/300W   91C    8/16    1 ann train");
    assert_has(p->out, " 39 box  v100 idle     [                    ]    -    -/300W     -");
    assert_has(p->out, "(2 GPUs of type v100 are not free)");
    free(p);
    p = double_run(&adl_verb_top, (const char *const[]){NULL}); /* what it prints to is no terminal */
    assert_int_equal(p->code, 1);
    free(p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_service, close_service)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_command_is_submitted_with_its_own_options_left_alone),
        TEST(umask_and_soft_limits_of_the_caller_are_sent),
        TEST(a_script_is_sent_as_text_and_its_lines_count_less_than_the_command_line),
        TEST(dependencies_begin_and_signal_are_sent_as_the_service_takes_them),
        TEST(only_wrap_makes_a_shell_script_of_words),
        TEST(a_dry_run_says_what_would_happen),
        TEST(wait_lasts_until_the_job_has_ended),
        TEST(bad_submissions_are_refused_before_anything_is_sent),
        TEST(exported_variables_are_chosen_by_name),
        TEST(the_queue_gives_a_reason_for_every_job_that_waits),
        TEST(expected_starts_are_said_wherever_a_waiting_job_is_shown),
        TEST(show_describes_a_job_or_the_cluster),
        TEST(explain_lists_events_with_their_reasons),
        TEST(a_log_is_followed_until_the_job_has_ended),
        TEST(several_jobs_are_all_tried_and_one_failure_is_the_exit_code),
        TEST(no_verb_shows_the_number_of_a_task_of_slurm),
        cmocka_unit_test(a_label_is_digits_whatever_the_service_says),
        TEST(gpus_and_nodes_are_drained_by_number_and_name),
        TEST(a_token_goes_into_a_file_that_only_its_owner_can_read),
        TEST(a_frame_fits_every_screen_and_shows_where_the_cursor_is),
        TEST(top_prints_one_frame_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
