#include "cli/client/jobs_act.h"

#include "cli/client/job_number.h"
#include "cli/client/jobs_table.h"
#include "cli/display.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct batch {
    const struct adl_jobs_act *act;
    const struct adl_jobs_act_options *options;
    struct adl_client *client;
    struct adl_text text;
    cJSON *list; /* of documents, for --json */
    int code;    /* worst so far */
};

static void fail(struct batch *batch, int status, const struct adl_error *err)
{
    const int code = adl_cli_fail(batch->act->verb, status, err);
    batch->code = code > batch->code ? code : batch->code;
}

static void print_done(struct batch *batch, cJSON *job)
{
    char label[ADL_JOB_LABEL_SIZE];
    const bool stopping = strcmp(adl_member_text(job, "stage"), "stopping") == 0;
    if (batch->options->json) {
        cJSON_AddItemToArray(batch->list, job);
        return;
    }
    adl_text_printf(&batch->text, "job %s %s%s%s\n", adl_job_label(job, label),
                    batch->options->dry_run ? "would be " : "", batch->act->done,
                    stopping && !batch->options->dry_run ? ", once it has ended" : "");
    cJSON_Delete(job);
}

/* Prefixes the client's own messages with the job. */
static void fail_job(struct batch *batch, const char *label, int status, const struct adl_error *err)
{
    struct adl_error whole;
    if (strstr(err->text, label))
        fail(batch, status, err);
    else
        fail(batch, adl_fail(&whole, status, "job %s: %.350s", label, err->text), &whole);
}

static void act_on(struct batch *batch, const struct adl_job_name *name)
{
    const struct adl_jobs_act *act = batch->act;
    struct adl_text path = {0};
    struct adl_error err;
    cJSON *job = NULL;
    const bool dry = batch->options->dry_run;
    adl_text_printf(&path, "/v1/jobs/%llu%s", (unsigned long long)name->id, dry ? "" : act->suffix);
    if (batch->options->reason && !dry) {
        adl_text_put(&path, "?reason=");
        adl_client_escape(&path, batch->options->reason);
    }
    int status = adl_text_status(&path) ? adl_fail(&err, ADL_ENOMEM, "out of memory")
                                        : adl_client_call(batch->client, dry ? "GET" : act->method, path.data,
                                                          dry ? NULL : act->body, &job, &err);
    adl_text_clear(&path);
    if (status == 0 && dry &&
        (act->ended ? strcmp(adl_member_text(job, "state"), "PD") == 0 : adl_job_has_ended(job))) {
        status = adl_fail(&err, ADL_EREFUSED, act->ended ? "it waits already" : "it has ended");
        cJSON_Delete(job);
    }
    if (status)
        fail_job(batch, name->label, status, &err);
    else
        print_done(batch, job);
}

int adl_jobs_act(const struct adl_jobs_act *act, const struct adl_jobs_act_options *options,
                 const struct adl_operands *jobs)
{
    struct batch batch = {.act = act, .options = options};
    struct adl_error err;
    int status = adl_client_create(&options->client, &batch.client, &err);
    if (status)
        return adl_cli_fail(act->verb, status, &err);
    batch.list = cJSON_CreateArray();
    for (int i = 0; i < jobs->count; i++) {
        struct adl_job_name *names = NULL;
        size_t count = 0;
        status = adl_job_numbers_find(batch.client, jobs->items[i], act->ended, &names, &count, &err);
        if (status)
            fail(&batch, status, &err);
        for (size_t k = 0; status == 0 && k < count; k++)
            act_on(&batch, &names[k]);
        free(names);
    }
    if (options->json)
        adl_display_json(&batch.text, batch.list);
    status = adl_output_write("-", &batch.text, &err);
    if (status)
        fail(&batch, status, &err);
    adl_text_clear(&batch.text);
    cJSON_Delete(batch.list);
    adl_client_destroy(batch.client);
    return batch.code;
}
