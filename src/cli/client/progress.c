/* progress: a running job says how far it has come. */
#include "base/range.h"
#include "cli/client/ask.h"
#include "cli/client/jobs_table.h"
#include "cli/display.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct adl_option table[] = {ADL_ASK_ROWS("print the job as JSON, as the service returns it")};

static const struct adl_verb verb = {
    .name = "progress",
    .summary = "Reports how far a running job has come, so that its end is known better; inside a job, of that job.",
    .operands = "[JOB] STEP[/STEPS]",
    .operands_min = 1,
    .operands_max = 2,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro progress 40/100\nadlro progress 12 40/100",
};

/* The label of the job that this process is in; false: it is in none. */
static bool own_label(char *ret, size_t size)
{
    const char *job = getenv("SLURM_JOB_ID"), *array = getenv("SLURM_ARRAY_JOB_ID");
    const char *index = getenv("SLURM_ARRAY_TASK_ID");
    *ret = '\0';
    if (array && index)
        snprintf(ret, size, "%s_%s", array, index);
    else if (job)
        snprintf(ret, size, "%s", job);
    return *ret != '\0';
}

/* "40/100" or "40". */
static int read_steps(const char *text, cJSON *body, struct adl_error *err)
{
    static const struct adl_range steps = {.min = 0, .max = 9007199254740992.0};
    const char *slash = strchr(text, '/');
    char first[32], reason[ADL_REFUSAL_SIZE];
    int64_t value;
    snprintf(first, sizeof first, "%.*s", (int)(slash ? slash - text : (long)strlen(text)), text);
    if (!adl_range_read_int(first, &steps, &value, reason))
        return adl_fail(err, ADL_EINVAL, "the step, as 40 in 40/100, %s", reason);
    cJSON_AddNumberToObject(body, "step", (double)value);
    if (slash && !adl_range_read_int(slash + 1, &steps, &value, reason))
        return adl_fail(err, ADL_EINVAL, "the number of steps, as 100 in 40/100, %s", reason);
    if (slash)
        cJSON_AddNumberToObject(body, "steps", (double)value);
    return 0;
}

static void print(struct adl_text *text, const cJSON *job)
{
    char label[ADL_JOB_LABEL_SIZE];
    adl_text_printf(text, "job %s: ", adl_job_label(job, label));
    adl_job_say_progress(text, cJSON_GetObjectItemCaseSensitive(job, "progress"));
    if (adl_member_number(job, "end_p50", 0) > 0) {
        adl_text_put(text, "; ends ");
        adl_job_say_end(text, job);
    }
    adl_text_char(text, '\n');
}

static int report(struct adl_client *client, const struct adl_ask_options *o, const struct adl_operands *operands,
                  struct adl_text *text, struct adl_error *err)
{
    struct adl_text path = {0};
    char own[ADL_JOB_LABEL_SIZE];
    cJSON *body = cJSON_CreateObject(), *job = NULL;
    const char *label = operands->count > 1 ? operands->items[0] : own;
    int status = read_steps(operands->items[operands->count - 1], body, err);
    if (status == 0 && operands->count < 2 && !own_label(own, sizeof own))
        status = adl_fail(err, ADL_EINVAL, "which job? Name it (adlro progress 12 40/100): this is not inside a job");
    if (status == 0) {
        adl_text_put(&path, "/v1/jobs/");
        adl_client_escape(&path, label);
        adl_text_put(&path, "/progress");
        status = adl_text_status(&path) ? adl_fail(err, ADL_ENOMEM, "out of memory")
                                        : adl_client_call(client, "POST", path.data, body, &job, err);
    }
    if (status == 0 && o->json)
        adl_display_json(text, job);
    else if (status == 0)
        print(text, job);
    adl_text_clear(&path);
    cJSON_Delete(body);
    cJSON_Delete(job);
    return status;
}

static int run(int argc, char **argv)
{
    return adl_ask_run(&verb, argc, argv, report);
}

const struct adl_command_verb adl_verb_progress = {&verb, run};
