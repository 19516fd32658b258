/* fuzz_submission: the first byte chooses the reader: a submission's body, the GPUs asked for, or a job whose name,
 * command and output pattern are shown to people and become paths. */
#include "http/body.h"
#include "jobs/job_array.h"
#include "jobs/script.h"
#include "jobs/submission.h"
#include "jobs/warn_signal.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct adl_gpu_type types[] = {{.name = "v100"}, {.name = "a100"}, {.name = "none"}};
static const struct adl_cluster cluster = {.types = types, .type_count = 3, .type_gpus = {2, 1, 0}};

static void check_request(const char *text, const struct adl_cluster *in)
{
    struct adl_alternative found[ADL_ALTERNATIVES_MAX];
    struct adl_error err = {{0}};
    uint32_t count = 0;
    if (adl_gpu_request_read(text, in, found, &count, &err) < 0) {
        must(err.text[0] != '\0');
        return;
    }
    must(count >= 1 && count <= ADL_ALTERNATIVES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        must(found[i].gpus >= 1 && found[i].gpus <= ADL_JOB_GPUS_MAX);
        must(in ? found[i].types > 0 && found[i].types < 4 : found[i].types == 0);
        for (uint32_t k = 0; k < i; k++)
            must(found[k].gpus != found[i].gpus);
    }
}

static void check_words(const struct adl_store_job *job, const char *pattern)
{
    char text[40];
    char *path = adl_path_expand(pattern, job, 17, "box");
    must(path != NULL && strlen(path) <= ADL_STORE_PATH_MAX);
    free(path);
    adl_command_text(job, text, sizeof text);
    must(memchr(text, '\0', sizeof text) != NULL);
    for (const char *c = text; *c; c++)
        must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static void check_submission(const struct adl_submission *submission)
{
    const struct adl_store_job *job = &submission->job;
    struct adl_warn_signal warn;
    must(strcmp(job->user, "ann") == 0 && job->uid == 1000 && job->directory[0] == '/');
    must((job->script[0] != '\0') || (job->argv[0] && job->argv[0][0]));
    must(job->spec.priority >= 0 && job->spec.priority <= 1 && job->spec.kind < ADL_KIND_COUNT);
    must(job->spec.limit_us >= 0 && job->spec.deadline_us >= 0 && job->spec.cpu_cores >= 0);
    must(job->name[0] != '\0' && strlen(job->name) <= ADL_STORE_WORD_MAX);
    must(submission->array_count <= ADL_ARRAY_MAX && !submission->array == !submission->array_count);
    must(job->array.count == submission->array_count && job->array.limit <= ADL_ARRAY_INDEX_MAX);
    must(job->array.count == 0 || (job->array.min == submission->array[0] && job->array.step >= 1 &&
                                   job->array.max == submission->array[job->array.count - 1]));
    must(job->begin_us >= 0 && (job->script[0] == '\0' || adl_script_check(job->script, "script", NULL) == 0));
    must(job->warn_signal[0] == '\0' || adl_warn_signal_read(job->warn_signal, "", &warn, NULL) == 0);
    for (uint32_t i = 1; i < submission->array_count; i++)
        must(submission->array[i] > submission->array[i - 1]);
    for (const char *const *entry = job->environment; *entry; entry++)
        must(strchr(*entry, '=') > *entry);
    check_request(job->request, NULL);
    check_request(job->request, &cluster);
    check_words(job, job->stdout_path);
    check_words(job, job->stderr_path);
}

static void try_body(const char *text, size_t size)
{
    const struct adl_account ann = {.uid = 1000, .gid = 1000, .name = "ann"};
    struct adl_submission *submission = NULL;
    struct adl_error err = {{0}};
    cJSON *document = NULL;
    if (adl_body_parse(text, size, &document, &err) < 0)
        return;
    const int status = adl_submission_read(document, &ann, 1, &submission, &err);
    cJSON_Delete(document);
    must((status == 0) == (submission != NULL) && (status == 0 || err.text[0] != '\0'));
    if (submission)
        check_submission(submission);
    adl_submission_destroy(submission);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = malloc(size);
    must(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] % 3 == 0) {
        try_body(text, size - 1);
    } else if (data[0] % 3 == 1) {
        check_request(text, NULL);
        check_request(text, &cluster);
    } else {
        const char *const argv[] = {text, text, NULL};
        check_words(&(struct adl_store_job){.name = text, .user = text, .directory = "/tmp", .argv = argv}, text);
        check_words(&(struct adl_store_job){.name = "n", .directory = "/", .script = text, .array_index = -1}, text);
    }
    free(text);
    return 0;
}
