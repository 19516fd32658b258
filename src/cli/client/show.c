/* show: all about a job, or, without one, the cluster with its GPUs. */
#include "cli/client/ask.h"
#include "cli/client/gpus_table.h"
#include "cli/client/job_number.h"
#include "cli/client/jobs_table.h"
#include "cli/client/start_time.h"
#include "cli/display.h"
#include "cli/quantity.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

static const struct adl_option table[] = {ADL_ASK_ROWS("print JSON, as the service returns it")};

static const struct adl_verb verb = {
    .name = "show",
    .summary = "Shows a job in detail; without one, the cluster: its GPUs, their state and who runs there.",
    .operands = "[JOB]",
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro show\nadlro show 12",
};

#define KEY_COLUMNS 15

static void key(struct adl_text *text, const char *name)
{
    adl_text_printf(text, "%s:", name);
    adl_text_repeat(text, ' ', KEY_COLUMNS - strlen(name));
}

static void line(struct adl_text *text, const char *name, const char *value)
{
    if (*value == '\0')
        return;
    key(text, name);
    adl_display_put(text, value, ADL_DISPLAY_ALL);
    adl_text_char(text, '\n');
}

static void moment_line(struct adl_text *text, const char *name, const cJSON *job, const char *member)
{
    char buffer[ADL_DURATION_SIZE];
    const double seconds = adl_member_number(job, member, -1);
    if (seconds > 0)
        line(text, name, adl_moment_print(seconds, buffer));
}

static void duration_line(struct adl_text *text, const char *name, const cJSON *job, const char *member)
{
    char buffer[ADL_DURATION_SIZE];
    const double seconds = adl_member_number(job, member, -1);
    if (seconds >= 0)
        line(text, name, adl_duration_print(seconds, buffer));
}

/* Only if it was requested. */
static void measure_line(struct adl_text *text, const char *name, const cJSON *job, const char *member,
                         const char *unit)
{
    const double value = adl_member_number(job, member, 0);
    if (value <= 0)
        return;
    key(text, name);
    adl_text_printf(text, "%.0f %s\n", value, unit);
}

static void state_line(struct adl_text *text, const cJSON *job)
{
    const char *state = adl_member_text(job, "state"), *stage = adl_member_text(job, "stage");
    key(text, "State");
    adl_display_put(text, state, ADL_DISPLAY_ALL);
    adl_text_put(text, " (");
    adl_display_put(text, strcmp(stage, "stopping") == 0 ? "stopping" : adl_job_state_word(state), ADL_DISPLAY_ALL);
    adl_text_put(text, adl_member_flag(job, "hold") ? ", held)\n" : ")\n");
}

static const char *requeue_text(const cJSON *job)
{
    const char *loses = adl_member_text(job, "stop_loses");
    if (!adl_member_flag(job, "requeue"))
        return "";
    if (strcmp(loses, "nothing") == 0)
        return "yes, it saves its work when it is stopped";
    return strcmp(loses, "since_checkpoint") == 0 ? "yes, from its last checkpoint" : "yes, from its beginning";
}

static void demand_lines(struct adl_text *text, const cJSON *job)
{
    const double slowest = adl_member_number(job, "min_steps_per_s", 0);
    line(text, "Request", adl_member_text(job, "request"));
    measure_line(text, "Cores", job, "cpus_per_gpu", "for each GPU");
    measure_line(text, "Memory", job, "memory_mib_per_gpu", "MiB for each GPU");
    measure_line(text, "GPU memory", job, "gpu_memory_mib", "MiB on each GPU");
    line(text, "Share", adl_member_flag(job, "share") ? "yes, it may run beside one other job" : "");
    duration_line(text, "Time limit", job, "time_limit_s");
    line(text, "Signal at", adl_member_text(job, "warn_signal"));
    duration_line(text, "Deadline", job, "deadline_s");
    if (slowest > 0) {
        key(text, "Least speed");
        adl_text_real(text, slowest);
        adl_text_put(text, " steps/s\n");
    }
    line(text, "Requeue", requeue_text(job));
    duration_line(text, "Checkpoint", job, "checkpoint_every_s");
}

static void allocation_lines(struct adl_text *text, const cJSON *job)
{
    const cJSON *gpu;
    cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(job, "allocation"))
    {
        key(text, "GPU");
        adl_text_printf(text, "%.0f ", adl_member_number(gpu, "gpu", 0));
        adl_display_put(text, adl_member_text(gpu, "type"), ADL_DISPLAY_ALL);
        adl_text_put(text, " on ");
        adl_display_put(text, adl_member_text(gpu, "node"), ADL_DISPLAY_ALL);
        adl_text_put(text, " (");
        adl_display_put(text, adl_member_text(gpu, "id"), ADL_DISPLAY_ALL);
        adl_text_put(text, ")\n");
    }
}

static void after_line(struct adl_text *text, const cJSON *job)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(job, "after"), *one;
    const bool singleton = adl_member_flag(job, "singleton");
    const char *between = adl_member_flag(job, "dependency_any") ? " or " : ", ";
    bool first = true;
    if ((!list || !list->child) && !singleton)
        return;
    key(text, "After");
    cJSON_ArrayForEach(one, list)
    {
        const char *kind = adl_member_text(one, "kind");
        adl_text_printf(text, "%s%.0f%s", first ? "" : between, adl_member_number(one, "job", 0),
                        adl_member_flag(one, "ok")        ? " (completed)"
                        : strcmp(kind, "afternotok") == 0 ? " (not completed)"
                        : strcmp(kind, "after") == 0      ? " (started)"
                                                          : "");
        first = false;
    }
    if (singleton)
        adl_text_printf(text, "%sall earlier jobs of its name (singleton)", first ? "" : between);
    adl_text_char(text, '\n');
}

static void progress_line(struct adl_text *text, const cJSON *job)
{
    const cJSON *progress = cJSON_GetObjectItemCaseSensitive(job, "progress");
    if (!cJSON_IsObject(progress))
        return;
    key(text, "Progress");
    adl_job_say_progress(text, progress);
    adl_text_char(text, '\n');
}

static void start_line(struct adl_text *text, const cJSON *job)
{
    char made[ADL_DURATION_SIZE];
    if (adl_member_number(job, "start_p50", 0) <= 0)
        return;
    key(text, "Starts");
    adl_start_say(text, job);
    adl_text_printf(text, " (as of %s)\n", adl_moment_print(adl_member_number(job, "forecast_at", 0), made));
}

static void expected_line(struct adl_text *text, const cJSON *job)
{
    if (adl_member_number(job, "end_p50", 0) <= 0)
        return;
    key(text, "Ends");
    adl_job_say_end(text, job);
    adl_text_char(text, '\n');
}

static void end_lines(struct adl_text *text, const cJSON *job)
{
    const double exit_code = adl_member_number(job, "exit_code", -1), signal = adl_member_number(job, "signal", 0);
    const double energy_j = adl_member_number(job, "energy_j", 0);
    const double idle_hours = adl_member_number(job, "idle_gpu_hours", 0);
    if (signal > 0) {
        key(text, "Signal");
        adl_text_printf(text, "%.0f\n", signal);
    } else if (exit_code >= 0) {
        key(text, "Exit code");
        adl_text_printf(text, "%.0f\n", exit_code);
    }
    if (energy_j > 0) {
        key(text, "Energy");
        adl_text_fixed(text, energy_j / 3.6e6, energy_j < 3.6e5 ? 6 : 3);
        adl_text_put(text, " kWh\n");
    }
    if (idle_hours > 0) {
        key(text, "Idle");
        adl_text_fixed(text, idle_hours, 2);
        adl_text_put(text, " GPU hours held and not used\n");
    }
    moment_line(text, "Stopped at", job, "idle_stop_s");
}

static void show_job(struct adl_text *text, const cJSON *job)
{
    char label[ADL_JOB_LABEL_SIZE];
    const double attempts = adl_member_number(job, "attempts", 0), id = adl_member_number(job, "id", 0);
    const double array_limit = adl_member_number(job, "array_limit", 0);
    const char *output = adl_member_text(job, "stdout"), *errors = adl_member_text(job, "stderr");
    key(text, "Job");
    adl_text_printf(text, "%s", adl_job_label(job, label));
    if (adl_member_number(job, "array_id", 0) > 0 &&
        id <= UINT32_MAX) /* the id of a Slurm task means nothing to users */
        adl_text_printf(text, " (number %.0f)", id);
    adl_text_char(text, '\n');
    line(text, "Name", adl_member_text(job, "name"));
    line(text, "User", adl_member_text(job, "user"));
    state_line(text, job);
    line(text, "Reason", adl_member_text(job, "reason"));
    allocation_lines(text, job);
    demand_lines(text, job);
    key(text, "Priority");
    adl_text_real(text, adl_member_number(job, "priority", 0));
    adl_text_char(text, '\n');
    line(text, "Kind", adl_member_text(job, "kind"));
    line(text, "Class", adl_member_text(job, "class"));
    after_line(text, job);
    moment_line(text, "Begin", job, "begin_s");
    if (array_limit > 0) {
        key(text, "Array");
        adl_text_printf(text, "%.0f jobs, at most %.0f at once\n", adl_member_number(job, "array_count", 0),
                        array_limit);
    }
    moment_line(text, "Submitted", job, "submit_s");
    moment_line(text, "Eligible", job, "eligible_s");
    start_line(text, job);
    moment_line(text, "Started", job, "start_s");
    moment_line(text, "Ended", job, "end_s");
    expected_line(text, job);
    progress_line(text, job);
    duration_line(text, "Run time", job, "run_s");
    if (attempts > 1) {
        key(text, "Attempts");
        adl_text_printf(text, "%.0f\n", attempts);
    }
    end_lines(text, job);
    line(text, "Command", adl_member_text(job, "command"));
    line(text, "Folder", adl_member_text(job, "directory"));
    line(text, "Output", output);
    line(text, "Errors", strcmp(output, errors) == 0 ? "" : errors);
}

static int show(struct adl_client *client, const struct adl_ask_options *o, const struct adl_operands *operands,
                struct adl_text *text, struct adl_error *err)
{
    cJSON *answer = NULL;
    uint64_t id;
    const int status = operands->count ? adl_job_number_find(client, operands->items[0], &id, &answer, err)
                                       : adl_client_get(client, "/v1/cluster", &answer, err);
    if (status)
        return status;
    if (o->json)
        adl_display_json(text, answer);
    else if (operands->count)
        show_job(text, answer);
    else
        adl_gpus_table(text, answer, adl_display_columns());
    cJSON_Delete(answer);
    return 0;
}

static int run(int argc, char **argv)
{
    return adl_ask_run(&verb, argc, argv, show);
}

const struct adl_command_verb adl_verb_show = {&verb, run};
