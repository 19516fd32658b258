/* submit: submits a job: a command, a batch script or a line of shell. */
#include "cli/cli.h"
#include "cli/client/client.h"
#include "cli/client/job_form.h"
#include "cli/client/jobs_table.h"
#include "cli/client/start_time.h"
#include "cli/display.h"
#include "cli/whatif/advice.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define START_LOOKS   20 /* for a forecast, after a submission */
#define START_LOOK_NS 150000000

struct options {
    struct adl_client_options client;
    struct adl_job_form form;
    bool parsable;
    bool wait;
    bool start;
    bool dry_run;
    bool json;
    bool advise, yes;
};

#define TEXT(name, letter, member, value, help) ADL_ROW_TEXT(struct options, member, name, letter, value, help)
#define FLAG(name, letter, member, help)        ADL_ROW_FLAG(struct options, member, name, letter, help)

static const struct adl_option table[] = {
    TEXT("gpus", 'G', form.gpus, "REQUEST", "2, v100:2, or any of several: 'v100:2|a100:1' (one, unless given)"),
    TEXT("time", 't', form.time, "TIME", "limit: 90 minutes as 90, 1:30:00 or 90m; 2-12:00:00; 45s"),
    TEXT("name", 'J', form.name, "NAME", "what to call it (the command's name, unless given)"),
    TEXT("job-name", 0, form.name, "NAME", "the same"),
    TEXT("kind", 0, form.kind, "KIND", "training, inference, simulation or data"),
    TEXT("class", 0, form.class_name, "CLASS", "its known class of work, such as resnet50-b64"),
    TEXT("cpus-per-gpu", 0, form.cpus_per_gpu, "N", "processor cores for each GPU"),
    TEXT("mem-per-gpu", 0, form.mem_per_gpu, "SIZE", "host memory for each GPU: 8G, 512M"),
    TEXT("gpu-mem", 0, form.gpu_mem, "SIZE", "memory it needs on each GPU"),
    TEXT("priority", 0, form.priority, "P",
         "0 to 1, higher is more urgent (0.5); only administrators may set more than 0.5"),
    TEXT("deadline", 0, form.deadline, "TIME", "it should end this long after submission"),
    TEXT("min-steps", 0, form.min_steps, "RATE", "minimum steps per second while it runs"),
    FLAG("share", 0, form.share, "it may share its GPU with one other job"),
    TEXT("share-slowdown", 0, form.share_slowdown, "X", "share, and be at most this many times slower (1.3)"),
    FLAG("requeue", 0, form.requeue, "it may be stopped and run again from its beginning"),
    TEXT("checkpoint-every", 0, form.checkpoint_every, "TIME",
         "it may be stopped; it saves its work this often and resumes from there when run again"),
    FLAG("checkpoint-on-stop", 0, form.checkpoint_on_stop,
         "it may be stopped: on SIGTERM it saves its work within the grace time and resumes from there"),
    FLAG("hold", 'H', form.hold, "it waits until `adlro release`"),
    TEXT("after", 0, form.after, "JOBS", "not before these have ended: 3,4"),
    TEXT("after-ok", 0, form.after_ok, "JOBS", "not before these have completed; if one fails, never"),
    TEXT("dependency", 'd', form.dependency, "LIST", "as in Slurm: afterok:3:4,afternotok:5, afterany:6, singleton"),
    TEXT("begin", 'b', form.begin, "TIME", "not before: 16:00, 2026-11-20T16:00, now+1hour, tomorrow, noon"),
    TEXT("signal", 0, form.signal, "SIGNAL",
         "send it before the time limit: USR1@120 (s); B:USR1@120 only to the script"),
    TEXT("array", 'a', form.array, "INDICES",
         "one job for each index: 0-9, 1,3,5, 0-100:10; append %4 to run 4 at once"),
    TEXT("output", 'o', form.output, "FILE", "standard output; %j number, %A_%a in an array, %x name (adlro-%j.out)"),
    TEXT("error", 'e', form.error, "FILE", "standard error (with the output, unless given)"),
    TEXT("chdir", 'D', form.chdir, "DIR", "run there (the current folder, unless given)"),
    TEXT("export", 0, form.exported, "WHAT", "environment to pass on: ALL, NONE, A,B=x, ALL,B=x (ALL)"),
    TEXT("wrap", 0, form.wrap, "TEXT", "run this text with /bin/sh; nothing else is ever passed to a shell"),
    FLAG("wait", 'W', wait, "wait until it has ended; exit 1 unless it completed"),
    FLAG("start", 0, start,
         "say when it is expected to start, on standard error; without this option only to a terminal"),
    FLAG("parsable", 0, parsable, "print only the number"),
    FLAG("dry-run", 0, dry_run, "check the job and print what would happen to it"),
    FLAG("advise", 0, advise, "print when it would start with other types, GPUs or limits, and ask"),
    FLAG("yes", 'y', yes,
         "with --advise: do not ask; take the cheapest change if it is another GPU type, else submit it as it is"),
    FLAG("json", 0, json, "print the service's answer as JSON"),
    ADL_CLIENT_ROWS(struct options),
};

static const struct adl_verb verb = {
    .name = "submit",
    .summary =
        "Submits a job: a command, run without a shell, or a batch script, whose #SBATCH lines count as "
        "options that those given here override. A file that begins with #! is a script, unless -- precedes it; - or "
        "nothing means a script on standard input.",
    .operands = "[--] COMMAND [ARGUMENTS] | SCRIPT [ARGUMENTS] | < SCRIPT",
    .operands_max = INT_MAX,
    .options_first = true,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro submit --gpus 1 --time 1:00:00 -- python train.py --lr 0.1\n"
               "adlro submit --gpus 'v100:2|a100:1' --array 0-9 train.sh\n"
               "adlro submit --after-ok 12 --wrap 'tar cf out.tar results && rm -r results'",
};

static void print_warnings(const char *lines)
{
    while (lines && *lines) {
        const size_t length = strcspn(lines, "\n");
        fprintf(stderr, "adlro submit: warning: %.*s\n", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

static void print_service_warnings(const cJSON *answer)
{
    const cJSON *warning;
    cJSON_ArrayForEach(warning, cJSON_GetObjectItemCaseSensitive(answer, "warnings"))
    {
        struct adl_text text = {0};
        if (cJSON_IsString(warning))
            adl_display_put(&text, warning->valuestring, ADL_DISPLAY_ALL);
        if (text.data)
            fprintf(stderr, "adlro submit: warning: %s\n", text.data);
        adl_text_clear(&text);
    }
}

static void print_answer(const struct options *o, const cJSON *answer, struct adl_text *text)
{
    const double id = adl_member_number(answer, "id", 0);
    if (o->json) {
        adl_display_json(text, answer);
    } else if (o->dry_run) {
        const char *reason = adl_member_text(answer, "reason");
        adl_text_put(text, *reason ? "It would be accepted: " : "It would be accepted");
        adl_display_put(text, reason, ADL_DISPLAY_ALL);
        adl_text_char(text, '\n');
    } else {
        adl_text_printf(text, "%s%.0f\n", o->parsable ? "" : "Submitted batch job ", id);
    }
}

/* Polls with growing pauses until the job has ended; returns its document. */
static int wait_for(struct adl_client *client, uint64_t id, cJSON **ret, struct adl_error *err)
{
    char path[64];
    long pause_ms = 50;
    snprintf(path, sizeof path, "/v1/jobs/%llu", (unsigned long long)id);
    for (;;) {
        cJSON *job = NULL;
        const int status = adl_client_get_patiently(client, path, &job, err);
        if (status)
            return status;
        if (adl_job_has_ended(job)) {
            *ret = job;
            return 0;
        }
        cJSON_Delete(job);
        const struct timespec pause = {.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000L};
        nanosleep(&pause, NULL);
        pause_ms = pause_ms < 1000 ? pause_ms * 5 / 4 : 1000;
    }
}

static int wait_for_all(struct adl_client *client, const cJSON *answer)
{
    const uint64_t first = (uint64_t)adl_member_number(answer, "id", 0);
    const uint64_t count = (uint64_t)adl_member_number(answer, "count", 1);
    struct adl_error err;
    int code = ADL_EXIT_DONE;
    for (uint64_t id = first; id < first + count; id++) {
        cJSON *job = NULL;
        char label[ADL_JOB_LABEL_SIZE];
        const int status = wait_for(client, id, &job, &err);
        if (status)
            return adl_cli_fail(&verb, status, &err);
        const char *state = adl_member_text(job, "state"), *reason = adl_member_text(job, "reason");
        if (strcmp(state, "CD") != 0) {
            struct adl_text text = {0};
            adl_display_put(&text, reason, ADL_DISPLAY_ALL);
            fprintf(stderr, "adlro submit: job %s: %s%s%s\n", adl_job_label(job, label), adl_job_state_word(state),
                    *reason ? ": " : "", text.data ? text.data : "");
            adl_text_clear(&text);
            code = ADL_EXIT_FAILED;
        }
        cJSON_Delete(job);
    }
    return code;
}

/* Its expected start, if the service has a forecast soon. */
static void say_start(struct adl_client *client, uint64_t id)
{
    char path[64];
    struct adl_text text = {0};
    struct adl_error err;
    bool known = false;
    snprintf(path, sizeof path, "/v1/jobs/%llu", (unsigned long long)id);
    for (int i = 0; i < START_LOOKS && !known; i++) {
        cJSON *job = NULL;
        if (adl_client_get(client, path, &job, &err))
            return;
        const bool queued = strcmp(adl_member_text(job, "stage"), "queued") == 0;
        adl_start_say(&text, job);
        known = !queued || text.size > 0;
        if (!queued && strcmp(adl_member_text(job, "state"), "R") == 0)
            adl_text_put(&text, "it has started");
        cJSON_Delete(job);
        if (!known)
            nanosleep(&(struct timespec){.tv_nsec = START_LOOK_NS}, NULL);
    }
    if (!known)
        adl_text_put(&text, "no forecast of its start yet: `adlro queue --start` has it in a few seconds");
    if (text.data)
        fprintf(stderr, "%s\n", text.data);
    adl_text_clear(&text);
}

static int submit(const struct options *o, struct adl_client *client, const cJSON *body, struct adl_error *err)
{
    cJSON *answer = NULL;
    struct adl_text text = {0};
    int status = adl_client_call(client, "POST", o->dry_run ? "/v1/jobs?dry_run=1" : "/v1/jobs", body, &answer, err);
    if (status)
        return adl_cli_fail(&verb, status, err);
    print_service_warnings(answer);
    print_answer(o, answer, &text);
    status = adl_output_write("-", &text, err);
    adl_text_clear(&text);
    int code = status ? adl_cli_fail(&verb, status, err) : ADL_EXIT_DONE;
    if (code == ADL_EXIT_DONE && !o->dry_run && (o->start || (isatty(STDOUT_FILENO) && isatty(STDERR_FILENO))))
        say_start(client, (uint64_t)adl_member_number(answer, "id", 0));
    if (code == ADL_EXIT_DONE && o->wait && !o->dry_run)
        code = wait_for_all(client, answer);
    cJSON_Delete(answer);
    return code;
}

static int run(int argc, char **argv)
{
    struct options o = {.parsable = false};
    struct adl_operands operands;
    struct adl_client *client = NULL;
    struct adl_text warnings = {0};
    struct adl_error err;
    cJSON *body = NULL;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    /* The parser moves everything else behind the operands, in order, so that "--" can only be the last argument. */
    const bool dashed = operands.count < argc && strcmp(argv[argc - 1], "--") == 0;
    int status = adl_client_create(&o.client, &client, &err);
    if (status == 0)
        status = adl_job_form_build(&o.form, operands.items, operands.count, dashed, client, &body, &warnings, &err);
    print_warnings(warnings.data);
    if (status == 0 && o.advise)
        status = adl_advice_take(client, body, o.yes, &err);
    const bool wanted = !o.advise || status > 0;
    code = status < 0 ? adl_cli_fail(&verb, status, &err) : wanted ? submit(&o, client, body, &err) : ADL_EXIT_FAILED;
    adl_text_clear(&warnings);
    cJSON_Delete(body);
    adl_client_destroy(client);
    return code;
}

const struct adl_command_verb adl_verb_submit = {&verb, run};
