#include "cli/client/job_form.h"

#include "base/range.h"
#include "base/suggest.h"
#include "cli/begin.h"
#include "cli/client/dependency.h"
#include "cli/client/job_number.h"
#include "cli/client/sbatch.h"
#include "cli/client/script_file.h"
#include "cli/quantity.h"
#include "jobs/resource_limits.h"
#include "jobs/warn_signal.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CPUS_MAX 65536

extern char **environ;

struct builder {
    struct adl_job_form form; /* the command line's, then with what only the script says */
    struct adl_sbatch sbatch;
    struct adl_client *client;
    cJSON *body;
    struct adl_error *err;
};

static const char *either(const char *first, const char *second)
{
    return first ? first : second;
}

static int no_memory(struct adl_error *err)
{
    return adl_fail(err, ADL_ENOMEM, "out of memory");
}

/* ---- script ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static int add_strings(cJSON *body, const char *key, char *const *items, int count, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    cJSON *list = cJSON_AddArrayToObject(body, key);
    for (int i = 0; i < count; i++) {
        if (!adl_utf8_is_valid(items[i]))
            return adl_fail(err, ADL_EINVAL, "argument %s is not text in UTF-8", adl_quote(items[i], quoted));
        if (!cJSON_AddItemToArray(list, cJSON_CreateString(items[i])))
            return no_memory(err);
    }
    return list ? 0 : no_memory(err);
}

/* 1 and the text of the batch script from a file or standard input; 0: the operands are a command. */
static int find_script(struct builder *builder, char *const *operands, int count, bool is_command,
                       struct adl_text *ret_script, const char **ret_name)
{
    const bool here = adl_client_is_local(builder->client);
    const bool on_stdin = count == 0 || (!is_command && strcmp(operands[0], "-") == 0);
    const char *source = on_stdin ? "standard input" : operands[0];
    *ret_name = on_stdin ? "stdin" : base_name(operands[0]);
    int status = is_command && !on_stdin ? 0
                 : on_stdin              ? adl_script_stdin_read(here, ret_script, builder->err)
                                         : adl_script_file_read(source, here, ret_script, builder->err);
    if (status < 0 || (status == 0 && !on_stdin))
        return status;
    status = adl_sbatch_read(ret_script->data, ret_script->size, source, &builder->sbatch, builder->err);
    return status ? status : 1;
}

/* Adds what is run, and returns its default name. */
static int add_work(struct builder *builder, char *const *operands, int count, bool is_command, const char **ret_name)
{
    struct adl_text script = {0};
    int status = 0;
    if (builder->form.wrap) {
        if (count > 0)
            return adl_fail(builder->err, ADL_EINVAL, "--wrap and a command are two jobs; give one");
        adl_text_printf(&script, "#!/bin/sh\n# made by adlro submit --wrap\n\n%s\n", builder->form.wrap);
        *ret_name = "wrap";
    } else {
        status = find_script(builder, operands, count, is_command, &script, ret_name);
        if (status == 0)
            return add_strings(builder->body, "command", operands, count, builder->err);
        status = status > 0 ? 0 : status;
    }
    if (status == 0 && adl_text_status(&script))
        status = no_memory(builder->err);
    if (status == 0 && !adl_utf8_is_valid(script.data))
        status = adl_fail(builder->err, ADL_EINVAL, "--wrap must be text in UTF-8");
    if (status == 0 && !cJSON_AddStringToObject(builder->body, "script", script.data))
        status = no_memory(builder->err);
    if (status == 0 && count > 1)
        status = add_strings(builder->body, "args", operands + 1, count - 1, builder->err);
    adl_text_clear(&script);
    return status;
}

/* ---- values ---- */

static int add_number(struct builder *builder, const char *key, double value)
{
    return cJSON_AddNumberToObject(builder->body, key, value) ? 0 : no_memory(builder->err);
}

static int add_text(struct builder *builder, const char *key, const char *value)
{
    char quoted[ADL_QUOTE_SIZE];
    if (!value)
        return 0;
    if (!adl_utf8_is_valid(value))
        return adl_fail(builder->err, ADL_EINVAL, "%s must be text in UTF-8, got %s", key, adl_quote(value, quoted));
    return cJSON_AddStringToObject(builder->body, key, value) ? 0 : no_memory(builder->err);
}

static int add_flag(struct builder *builder, const char *key, bool value)
{
    return !value || cJSON_AddTrueToObject(builder->body, key) ? 0 : no_memory(builder->err);
}

static int add_real(struct builder *builder, const char *key, const char *option, const char *text, double least,
                    double most)
{
    const struct adl_range range = {.min = least, .max = most};
    char reason[ADL_REFUSAL_SIZE];
    double value;
    if (!text)
        return 0;
    if (!adl_range_read_real(text, &range, &value, reason))
        return adl_fail(builder->err, ADL_EINVAL, "%s %s", option, reason);
    return add_number(builder, key, value);
}

static int add_duration(struct builder *builder, const char *key, const char *option, const char *text,
                        int64_t otherwise_s)
{
    int64_t seconds = otherwise_s;
    const int status = text ? adl_duration_read(text, option, &seconds, builder->err) : 0;
    return status || seconds <= 0 ? status : add_number(builder, key, (double)seconds);
}

static int64_t share_of(int64_t whole, int64_t parts)
{
    return (whole + parts - 1) / parts;
}

/* Slurm's demands are per job, the service's per GPU. With alternatives they are divided by the least number of GPUs,
 * so that the job has enough whichever it gets. */
static int add_demands(struct builder *builder)
{
    const struct adl_job_form *form = &builder->form;
    const struct adl_sbatch *sbatch = &builder->sbatch;
    const int64_t least = adl_gpu_request_least(either(form->gpus, "1"));
    int64_t cpus = sbatch->cpus_per_gpu ? sbatch->cpus_per_gpu : share_of(sbatch->cpus, least);
    int64_t memory_mib = sbatch->mem_per_gpu_mib;
    int status = add_text(builder, "gpus", form->gpus);
    if (form->cpus_per_gpu && status == 0) {
        const struct adl_range range = {.min = 0, .max = CPUS_MAX};
        char reason[ADL_REFUSAL_SIZE];
        if (!adl_range_read_int(form->cpus_per_gpu, &range, &cpus, reason))
            return adl_fail(builder->err, ADL_EINVAL, "--cpus-per-gpu %s", reason);
    }
    if (sbatch->mem_mib)
        memory_mib = share_of(sbatch->mem_mib, least);
    if (sbatch->mem_per_cpu_mib)
        memory_mib = sbatch->mem_per_cpu_mib * (cpus ? cpus : 1);
    if (form->mem_per_gpu && status == 0)
        status = adl_memory_read(form->mem_per_gpu, "--mem-per-gpu", &memory_mib, builder->err);
    if (status == 0 && (cpus || form->cpus_per_gpu))
        status = add_number(builder, "cpus_per_gpu", (double)cpus);
    if (status == 0 && memory_mib)
        status = add_number(builder, "memory_mib_per_gpu", (double)memory_mib);
    if (status == 0 && form->gpu_mem) {
        status = adl_memory_read(form->gpu_mem, "--gpu-mem", &memory_mib, builder->err);
        if (status == 0)
            status = add_number(builder, "gpu_memory_mib", (double)memory_mib);
    }
    return status;
}

/* Adds a job under the key of its kind of dependency. For the service an array's number stands for all of its jobs. */
static int add_dependency(void *context, const char *key, const char *job, struct adl_error *err)
{
    struct builder *builder = context;
    cJSON *list = cJSON_GetObjectItemCaseSensitive(builder->body, key);
    uint64_t id;
    if (!job)
        return list || cJSON_AddTrueToObject(builder->body, key) ? 0 : no_memory(err);
    const int status = adl_job_number_find(builder->client, job, &id, NULL, err);
    if (status)
        return status;
    if (!list)
        list = cJSON_AddArrayToObject(builder->body, key);
    return list && cJSON_AddItemToArray(list, cJSON_CreateNumber((double)id)) ? 0 : no_memory(err);
}

/* "3,12_4" */
static int add_after(struct builder *builder, const char *key, const char *list)
{
    char one[64], quoted[ADL_QUOTE_SIZE];
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        if (length >= sizeof one)
            return adl_fail(builder->err, ADL_EINVAL,
                            "the jobs to wait for must be numbers separated by commas, got %s",
                            adl_quote(list, quoted));
        memcpy(one, at, length);
        one[length] = '\0';
        const int status = add_dependency(builder, key, one, builder->err);
        if (status)
            return status;
    }
    return 0;
}

static int add_dependencies(struct builder *builder)
{
    const struct adl_job_form *form = &builder->form;
    bool any = false;
    int status =
        form->dependency ? adl_dependency_read(form->dependency, add_dependency, builder, &any, builder->err) : 0;
    status = status ? status : add_after(builder, "after", form->after);
    status = status ? status : add_after(builder, "after_ok", form->after_ok);
    return status ? status : add_flag(builder, "dependency_any", any);
}

static int add_signal(struct builder *builder)
{
    const char *text = builder->form.signal;
    struct adl_warn_signal warn;
    const int status = text ? adl_warn_signal_read(text, "--signal", &warn, builder->err) : 0;
    return status ? status : add_text(builder, "warn_signal", text);
}

static int add_begin(struct builder *builder)
{
    const char *text = builder->form.begin;
    int64_t now_s = 0, begin_s = 0;
    int status = text ? adl_client_now(builder->client, &now_s, builder->err) : 0;
    if (status == 0 && text)
        status = adl_begin_read(text, "--begin", now_s, &begin_s, builder->err);
    return status || !text ? status : add_number(builder, "begin_s", (double)begin_s);
}

/* The working folder, absolute. */
static int add_directory(struct builder *builder)
{
    char here[4096], path[8300];
    const char *wanted = builder->form.chdir;
    if (!getcwd(here, sizeof here))
        return adl_fail(builder->err, ADL_EIO, "the path of the current folder cannot be read: %s", strerror(errno));
    if (!wanted)
        snprintf(path, sizeof path, "%s", here);
    else if (snprintf(path, sizeof path, "%s%s%s", wanted[0] == '/' ? "" : here, wanted[0] == '/' ? "" : "/", wanted) >=
             (int)sizeof path)
        return adl_fail(builder->err, ADL_EINVAL, "the working folder's name is too long");
    return add_text(builder, "directory", path);
}

/* Adds the caller's umask and soft limits, as sbatch does. */
static int add_process(struct builder *builder)
{
    char text[40];
    cJSON *limits = cJSON_AddArrayToObject(builder->body, "limits");
    const mode_t mask = umask(0);
    umask(mask);
    for (int i = 0; limits && i < ADL_RESOURCE_COUNT; i++) {
        adl_resource_print_own((enum adl_resource)i, text, sizeof text);
        if (text[0] != '\0' && !cJSON_AddItemToArray(limits, cJSON_CreateString(text)))
            return no_memory(builder->err);
    }
    snprintf(text, sizeof text, "%03o", (unsigned)mask);
    return limits ? add_text(builder, "umask", text) : no_memory(builder->err);
}

/* Whether it may be stopped, and what that loses. */
static int add_stops(struct builder *builder)
{
    const struct adl_job_form *form = &builder->form;
    int status = add_flag(builder, "requeue", form->requeue);
    status = status ? status
                    : add_duration(builder, "checkpoint_every_s", "--checkpoint-every", form->checkpoint_every,
                                   builder->sbatch.checkpoint_s);
    return status ? status : add_flag(builder, "checkpoint_on_stop", form->checkpoint_on_stop);
}

/* What the command line does not say the script says. Any dependency on the command line replaces all of the script's,
 * and any checkpoint option all of those; a script's --no-requeue overrides its own checkpoints. */
static void merge_script(struct adl_job_form *form, struct adl_sbatch *sbatch)
{
    const struct adl_job_form *script = &sbatch->form;
    const bool checkpoints = form->checkpoint_every || form->checkpoint_on_stop;
    form->name = either(form->name, script->name);
    form->output = either(form->output, script->output);
    form->error = either(form->error, script->error);
    form->chdir = either(form->chdir, script->chdir);
    form->array = either(form->array, script->array);
    form->exported = either(form->exported, script->exported);
    form->gpus = either(form->gpus, script->gpus);
    form->begin = either(form->begin, script->begin);
    form->signal = either(form->signal, script->signal);
    if (!form->after && !form->after_ok)
        form->dependency = either(form->dependency, script->dependency);
    form->hold = form->hold || script->hold;
    form->requeue = form->requeue || script->requeue;
    if (checkpoints || sbatch->no_requeue)
        sbatch->checkpoint_s = 0;
    else
        form->checkpoint_on_stop = script->checkpoint_on_stop;
}

static int add_values(struct builder *builder, const char *own_name)
{
    const struct adl_job_form *form = &builder->form;
    const struct adl_sbatch *sbatch = &builder->sbatch;
    int status = add_text(builder, "name", either(form->name, own_name));
    status = status ? status : add_demands(builder);
    status = status ? status : add_text(builder, "kind", form->kind);
    status = status ? status : add_text(builder, "class", form->class_name);
    status = status ? status : add_duration(builder, "time_limit_s", "--time", form->time, sbatch->time_s);
    status = status ? status : add_duration(builder, "deadline_s", "--deadline", form->deadline, 0);
    status = status ? status : add_real(builder, "priority", "--priority", form->priority, 0, 1);
    status = status ? status : add_real(builder, "min_steps_per_s", "--min-steps", form->min_steps, 0, 1e9);
    status = status ? status : add_real(builder, "share_slowdown", "--share-slowdown", form->share_slowdown, 1, 100);
    status = status ? status : add_flag(builder, "share", form->share || form->share_slowdown);
    status = status ? status : add_stops(builder);
    status = status ? status : add_flag(builder, "hold", form->hold);
    status = status ? status : add_text(builder, "array", form->array);
    status = status ? status : add_text(builder, "stdout", form->output);
    status = status ? status : add_text(builder, "stderr", form->error);
    status = status ? status : add_signal(builder);
    status = status ? status : add_begin(builder);
    status = status ? status : add_dependencies(builder);
    status = status ? status : add_process(builder);
    return status ? status : add_directory(builder);
}

int adl_job_form_build(const struct adl_job_form *form, char *const *operands, int operand_count, bool is_command,
                       struct adl_client *client, struct cJSON **ret, struct adl_text *warnings, struct adl_error *err)
{
    struct builder builder = {.form = *form, .client = client, .err = err, .body = cJSON_CreateObject()};
    const char *name = NULL;
    int status = builder.body ? 0 : no_memory(err);
    status = status ? status : add_work(&builder, operands, operand_count, is_command, &name);
    merge_script(&builder.form, &builder.sbatch);
    status = status ? status : add_values(&builder, name);
    if (status == 0) {
        cJSON *environment = adl_environment_export(either(builder.form.exported, "ALL"), environ, warnings);
        if (!cJSON_AddItemToObject(builder.body, "environment", environment))
            status = no_memory(err);
    }
    if (status == 0 && builder.sbatch.warnings.size)
        adl_text_bytes(warnings, builder.sbatch.warnings.data, builder.sbatch.warnings.size);
    adl_sbatch_clear(&builder.sbatch);
    if (status)
        cJSON_Delete(builder.body);
    else
        *ret = builder.body;
    return status;
}

/* ---- environment ---- */

/* Whether entry is NAME=... with the name of this length. */
static bool has_name(const char *entry, const char *name, size_t length)
{
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static void add_entry(cJSON *list, const char *entry, struct adl_text *warnings)
{
    char quoted[ADL_QUOTE_SIZE], name[64];
    if (has_name(entry, "ADLRO_TOKEN", 11))
        return;
    if (entry[0] == '=' || !strchr(entry, '='))
        return; /* some shells leave entries that are not variables */
    if (adl_utf8_is_valid(entry)) {
        cJSON_AddItemToArray(list, cJSON_CreateString(entry));
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(entry, "="), entry);
    adl_text_printf(warnings, "variable %s is not text in UTF-8 and is not exported\n", adl_quote(name, quoted));
}

static const char *find_entry(char *const *environment, const char *name, size_t length)
{
    for (; *environment; environment++)
        if (has_name(*environment, name, length))
            return *environment;
    return NULL;
}

static void add_named(cJSON *list, char *const *environment, const char *name, size_t length, struct adl_text *warnings)
{
    char quoted[ADL_QUOTE_SIZE], copy[64];
    const char *entry = find_entry(environment, name, length);
    if (entry) {
        add_entry(list, entry, warnings);
        return;
    }
    snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy - 1), name);
    adl_text_printf(warnings, "there is no variable %s to export\n", adl_quote(copy, quoted));
}

static void add_assigned(cJSON *list, const char *word, size_t length, struct adl_text *warnings)
{
    struct adl_text entry = {0};
    adl_text_bytes(&entry, word, length);
    if (adl_text_status(&entry) == 0)
        add_entry(list, entry.data, warnings);
    adl_text_clear(&entry);
}

struct cJSON *adl_environment_export(const char *what, char *const *environment, struct adl_text *warnings)
{
    static const char *const basic[] = {"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG"};
    cJSON *list = cJSON_CreateArray();
    const size_t first = strcspn(what, ",");
    const bool all = strncmp(what, "ALL", first) == 0 && first == 3;
    const bool none = (strncmp(what, "NONE", first) == 0 || strncmp(what, "NIL", first) == 0) && first >= 3;
    if (all)
        for (char *const *entry = environment; *entry; entry++)
            add_entry(list, *entry, warnings);
    else /* without these hardly any command can be found */
        for (size_t i = 0; i < sizeof basic / sizeof *basic; i++) {
            const char *entry = find_entry(environment, basic[i], strlen(basic[i]));
            if (entry)
                add_entry(list, entry, warnings);
        }
    const char *at = all || none ? (what[first] ? what + first + 1 : NULL) : what;
    for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        if (memchr(at, '=', length))
            add_assigned(list, at, length, warnings); /* after the inherited ones, so it overrides them */
        else if (length > 0)
            add_named(list, environment, at, length, warnings);
    }
    return list;
}
