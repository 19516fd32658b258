/* submission: a job as a client sent it. One table has the keys and their ranges. The values are read into a draft that
 * points into the document, and then copied into one block of memory. */
#include "jobs/submission.h"

#include "base/range.h"
#include "base/suggest.h"
#include "jobs/job_array.h"
#include "jobs/resource_limits.h"
#include "jobs/script.h"
#include "jobs/warn_signal.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX_S  (10 * 366 * 86400.0)
#define BEGIN_MAX_S 1e11               /* some three thousand years */
#define JOB_ID_MAX  9007199254740992.0 /* 2^53: doubles do not have all larger integers */

/* The values of the document, each checked. NULL and NaN: not given. */
struct draft {
    const cJSON *command, *args, *environment, *limits, *gpus, *after, *after_ok, *after_not_ok, *after_start;
    const char *script, *name, *kind, *class_name, *array, *directory, *stdout_path, *stderr_path, *mask, *warn_signal;
    double priority, cpus, memory_mib, gpu_memory_mib, limit_s, deadline_s, min_steps_per_s, share_slowdown, begin_s,
        checkpoint_every_s;
    bool share, requeue, checkpoint_on_stop, hold, singleton, dependency_any;
};

/* ---- the keys ---- */

enum form {
    REAL,    /* min..max */
    WHOLE,   /* the same, without a fraction */
    FLAG,    /* true or false */
    TEXT,    /* at most max bytes */
    WORD,    /* the same, not empty, without control characters */
    STRINGS, /* at most max bytes, a zero after each counted */
    JOBS,    /* numbers of jobs */
    GPUS,    /* a number, or a word as adl_gpu_request_read takes it */
};

struct key {
    const char *name;
    enum form form;
    size_t offset; /* in struct draft */
    double min, max;
};

#define AT(member) offsetof(struct draft, member)

static const struct key keys[] = {
    {"after", JOBS, AT(after), 0, 0},
    {"after_not_ok", JOBS, AT(after_not_ok), 0, 0},
    {"after_ok", JOBS, AT(after_ok), 0, 0},
    {"after_start", JOBS, AT(after_start), 0, 0},
    {"args", STRINGS, AT(args), 0, ADL_STORE_LIST_MAX},
    {"array", WORD, AT(array), 0, ADL_STORE_REASON_MAX},
    {"begin_s", REAL, AT(begin_s), 0, BEGIN_MAX_S},
    {"checkpoint_every_s", REAL, AT(checkpoint_every_s), 1, TIME_MAX_S},
    {"checkpoint_on_stop", FLAG, AT(checkpoint_on_stop), 0, 0},
    {"class", WORD, AT(class_name), 0, ADL_NAME_SIZE - 1},
    {"command", STRINGS, AT(command), 0, ADL_STORE_LIST_MAX},
    {"cpus_per_gpu", WHOLE, AT(cpus), 0, 4096},
    {"deadline_s", REAL, AT(deadline_s), 1, TIME_MAX_S},
    {"dependency_any", FLAG, AT(dependency_any), 0, 0},
    {"directory", TEXT, AT(directory), 0, ADL_STORE_PATH_MAX - 1},
    {"environment", STRINGS, AT(environment), 0, ADL_STORE_LIST_MAX},
    {"gpu_memory_mib", WHOLE, AT(gpu_memory_mib), 0, 1 << 24},
    {"gpus", GPUS, AT(gpus), 1, ADL_JOB_GPUS_MAX},
    {"hold", FLAG, AT(hold), 0, 0},
    {"kind", WORD, AT(kind), 0, ADL_NAME_SIZE},
    {"limits", STRINGS, AT(limits), 0, ADL_STORE_REASON_MAX},
    {"memory_mib_per_gpu", WHOLE, AT(memory_mib), 0, 1 << 30},
    {"min_steps_per_s", REAL, AT(min_steps_per_s), 1e-9, 1e9},
    {"name", WORD, AT(name), 0, ADL_STORE_WORD_MAX},
    {"priority", REAL, AT(priority), 0, 1},
    {"requeue", FLAG, AT(requeue), 0, 0},
    {"script", TEXT, AT(script), 0, ADL_STORE_SCRIPT_MAX},
    {"share", FLAG, AT(share), 0, 0},
    {"share_slowdown", REAL, AT(share_slowdown), 1, 100},
    {"singleton", FLAG, AT(singleton), 0, 0},
    {"stderr", WORD, AT(stderr_path), 0, ADL_STORE_PATH_MAX - 1},
    {"stdout", WORD, AT(stdout_path), 0, ADL_STORE_PATH_MAX - 1},
    {"time_limit_s", REAL, AT(limit_s), 1, TIME_MAX_S},
    {"umask", WORD, AT(mask), 0, ADL_STORE_WORD_MAX},
    {"warn_signal", WORD, AT(warn_signal), 0, ADL_STORE_WORD_MAX},
};

enum { KEY_COUNT = sizeof keys / sizeof *keys };

static int fail_key(const char *name, struct adl_error *err)
{
    struct adl_suggest suggest = {.word = name};
    char phrase[ADL_PHRASE_SIZE], quoted[ADL_QUOTE_SIZE];
    for (size_t i = 0; i < KEY_COUNT; i++)
        adl_suggest_offer(&suggest, keys[i].name);
    return adl_fail(err, ADL_EINVAL, "%s is not a key of a submission%s", adl_quote(name, quoted),
                    adl_suggest_phrase(&suggest, phrase));
}

static int number_read(const struct key *key, const cJSON *value, double *ret, struct adl_error *err)
{
    const struct adl_range range = {.min = key->min, .max = key->max};
    char bounds[ADL_REFUSAL_SIZE], got[ADL_BOUND_SIZE];
    const bool whole = key->form != REAL;
    const double number = cJSON_IsNumber(value) ? value->valuedouble : NAN;
    if (number >= key->min && number <= key->max && (!whole || number == floor(number))) {
        *ret = number;
        return ADL_OK;
    }
    return adl_fail(err, ADL_EINVAL, "%s: must be a %snumber %s%s%s", key->name, whole ? "whole " : "",
                    adl_range_print(&range, bounds), isnan(number) ? "" : ", got ",
                    isnan(number) ? "" : adl_bound_print(number, got));
}

static int text_read(const struct key *key, const cJSON *value, const char **ret, struct adl_error *err)
{
    if (!cJSON_IsString(value))
        return adl_fail(err, ADL_EINVAL, "%s: must be a string", key->name);
    const char *text = value->valuestring;
    const size_t size = strlen(text);
    if (size > (size_t)key->max)
        return adl_fail(err, ADL_EINVAL, "%s: has %zu bytes; at most %.0f are possible", key->name, size, key->max);
    if (key->form == WORD && size == 0)
        return adl_fail(err, ADL_EINVAL, "%s: must not be empty; leave it out instead", key->name);
    for (const char *c = text; key->form == WORD && *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return adl_fail(err, ADL_EINVAL, "%s: holds a control character; use printable ones only", key->name);
    *ret = text;
    return ADL_OK;
}

static int strings_check(const struct key *key, const cJSON *value, struct adl_error *err)
{
    double size = 0;
    const cJSON *item;
    if (!cJSON_IsArray(value))
        return adl_fail(err, ADL_EINVAL, "%s: must be an array of strings", key->name);
    cJSON_ArrayForEach(item, value)
    {
        if (!cJSON_IsString(item))
            return adl_fail(err, ADL_EINVAL, "%s: must be an array of strings alone", key->name);
        size += (double)strlen(item->valuestring) + 1;
    }
    if (size > key->max)
        return adl_fail(err, ADL_EINVAL, "%s: has %.0f bytes; at most %.0f are possible", key->name, size, key->max);
    return ADL_OK;
}

static int jobs_check(const struct key *key, const cJSON *value, struct adl_error *err)
{
    const cJSON *item;
    if (!cJSON_IsArray(value))
        return adl_fail(err, ADL_EINVAL, "%s: must be an array of numbers of jobs", key->name);
    cJSON_ArrayForEach(item, value)
    {
        const double id = cJSON_IsNumber(item) ? item->valuedouble : 0;
        if (!(id >= 1 && id <= JOB_ID_MAX && id == floor(id)))
            return adl_fail(err, ADL_EINVAL, "%s: must hold numbers of jobs, which are whole and at least 1",
                            key->name);
    }
    return ADL_OK;
}

static int gpus_check(const struct key *key, const cJSON *value, struct adl_error *err)
{
    struct adl_alternative found[ADL_ALTERNATIVES_MAX];
    uint32_t count;
    double number;
    if (!cJSON_IsString(value))
        return number_read(key, value, &number, err);
    if (strlen(value->valuestring) > ADL_STORE_REASON_MAX)
        return adl_fail(err, ADL_EINVAL, "gpus: at most %d bytes are possible", ADL_STORE_REASON_MAX);
    return adl_gpu_request_read(value->valuestring, NULL, found, &count, err);
}

static int value_read(const struct key *key, const cJSON *value, struct draft *draft, struct adl_error *err)
{
    char *at = (char *)draft + key->offset;
    int status;
    switch (key->form) {
    case REAL:
    case WHOLE:
        return number_read(key, value, (double *)(void *)at, err);
    case FLAG:
        if (!cJSON_IsBool(value))
            return adl_fail(err, ADL_EINVAL, "%s: must be true or false", key->name);
        *(bool *)(void *)at = cJSON_IsTrue(value);
        return ADL_OK;
    case TEXT:
    case WORD:
        return text_read(key, value, (const char **)(void *)at, err);
    case STRINGS:
        status = strings_check(key, value, err);
        break;
    case JOBS:
        status = jobs_check(key, value, err);
        break;
    default:
        status = gpus_check(key, value, err);
    }
    if (status == ADL_OK)
        *(const cJSON **)(void *)at = value;
    return status;
}

/* null: not given. */
static int draft_read(const cJSON *document, struct draft *ret, struct adl_error *err)
{
    const cJSON *value;
    if (!cJSON_IsObject(document))
        return adl_fail(err, ADL_EINVAL, "a submission must be a JSON object");
    cJSON_ArrayForEach(value, document)
    {
        size_t k = 0;
        while (k < KEY_COUNT && strcmp(keys[k].name, value->string) != 0)
            k++;
        if (k == KEY_COUNT)
            return fail_key(value->string, err);
        const int status = cJSON_IsNull(value) ? ADL_OK : value_read(&keys[k], value, ret, err);
        if (status < 0)
            return status;
    }
    return ADL_OK;
}

/* ---- values that must fit together ---- */

static int command_check(const struct draft *draft, struct adl_error *err)
{
    if (!draft->command == !draft->script)
        return adl_fail(err, ADL_EINVAL,
                        "command: either \"command\", an array of strings, or \"script\" has to be given%s",
                        draft->command ? ", not both" : "");
    if (draft->args && !draft->script)
        return adl_fail(err, ADL_EINVAL, "args: are a script's; put a command's into \"command\"");
    if (draft->command && (!draft->command->child || draft->command->child->valuestring[0] == '\0'))
        return adl_fail(err, ADL_EINVAL, "command: must begin with the name of a program");
    return draft->script ? adl_script_check(draft->script, "script", err) : ADL_OK;
}

static int environment_check(const cJSON *environment, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    const cJSON *item;
    cJSON_ArrayForEach(item, environment)
    {
        const char *equals = strchr(item->valuestring, '=');
        if (!equals || equals == item->valuestring)
            return adl_fail(err, ADL_EINVAL, "environment: %s must be NAME=value",
                            adl_quote(item->valuestring, quoted));
    }
    return ADL_OK;
}

static int process_check(const struct draft *draft, struct adl_error *err)
{
    struct adl_error inner;
    enum adl_resource resource;
    int64_t limit;
    unsigned mask;
    const cJSON *item;
    if (draft->mask && adl_umask_read(draft->mask, &mask, &inner))
        return adl_fail(err, ADL_EINVAL, "umask: %s", inner.text);
    cJSON_ArrayForEach(item, draft->limits)
    {
        if (adl_resource_read(item->valuestring, &resource, &limit, &inner))
            return adl_fail(err, ADL_EINVAL, "limits: %s", inner.text);
    }
    return ADL_OK;
}

static int pattern_check(const char *key, const char *pattern, struct adl_error *err)
{
    for (const char *c = pattern; c && (c = strchr(c, '%')); c += 2)
        if (c[1] == '\0' || !strchr("jAaxuN%", c[1]))
            return adl_fail(err, ADL_EINVAL,
                            "%s: after '%%' there must be j (number), A and a (array and index), x (name), u (user), "
                            "N (node) or another '%%'",
                            key);
    return ADL_OK;
}

static int dependency_count(const struct draft *draft)
{
    return cJSON_GetArraySize(draft->after) + cJSON_GetArraySize(draft->after_ok) +
           cJSON_GetArraySize(draft->after_not_ok) + cJSON_GetArraySize(draft->after_start) + draft->singleton;
}

static int draft_check(const struct draft *draft, struct adl_error *err)
{
    const int dependencies = dependency_count(draft);
    struct adl_warn_signal warn;
    char quoted[ADL_QUOTE_SIZE];
    int status = command_check(draft, err);
    if (status == ADL_OK)
        status = environment_check(draft->environment, err);
    if (status == ADL_OK)
        status = process_check(draft, err);
    if (status == ADL_OK)
        status = pattern_check("stdout", draft->stdout_path, err);
    if (status == ADL_OK)
        status = pattern_check("stderr", draft->stderr_path, err);
    if (status == ADL_OK && draft->warn_signal)
        status = adl_warn_signal_read(draft->warn_signal, "warn_signal", &warn, err);
    if (status < 0)
        return status;
    if (!draft->directory || draft->directory[0] != '/')
        return adl_fail(err, ADL_EINVAL, "directory: must be given, as an absolute path to work in%s%s",
                        draft->directory ? ", got " : "", draft->directory ? adl_quote(draft->directory, quoted) : "");
    if (draft->kind && adl_job_kind_find(draft->kind) < 0)
        return adl_fail(err, ADL_EINVAL, "kind: must be training, inference, simulation or data, got %s",
                        adl_quote(draft->kind, quoted));
    if (dependencies > ADL_STORE_DEPENDENCIES_MAX)
        return adl_fail(err, ADL_EINVAL, "after: %d jobs are named in all dependencies; at most %d are possible",
                        dependencies, ADL_STORE_DEPENDENCIES_MAX);
    if (!isnan(draft->share_slowdown) && !draft->share)
        return adl_fail(err, ADL_EINVAL, "share_slowdown: has no meaning unless \"share\" is true");
    if (!isnan(draft->checkpoint_every_s) && draft->checkpoint_on_stop)
        return adl_fail(err, ADL_EINVAL,
                        "checkpoint_every_s: a job with \"checkpoint_on_stop\" loses nothing when it is stopped; give "
                        "one of the two");
    return ADL_OK;
}

/* ---- the layout ---- */

/* A block of memory that is filled from front to back. Without data it only counts. */
struct room {
    char *data;
    size_t used;
};

static void *room_take(struct room *room, size_t size, size_t alignment)
{
    room->used = (room->used + alignment - 1) / alignment * alignment;
    void *at = room->data ? room->data + room->used : NULL;
    room->used += size;
    return at;
}

static const char *room_text(struct room *room, const char *text)
{
    const size_t size = text ? strlen(text) + 1 : 1;
    char *at = room_take(room, size, 1);
    if (at)
        memcpy(at, text ? text : "", size);
    return at;
}

static const char *const *room_strings(struct room *room, const cJSON *list)
{
    const size_t count = (size_t)cJSON_GetArraySize(list);
    const char **at = room_take(room, (count + 1) * sizeof *at, _Alignof(const char *));
    const cJSON *item;
    size_t i = 0;
    cJSON_ArrayForEach(item, list)
    {
        const char *text = room_text(room, item->valuestring);
        if (at)
            at[i++] = text;
    }
    if (at)
        at[i] = NULL;
    return at;
}

static const struct adl_store_dependency *room_dependencies(struct room *room, const struct draft *draft,
                                                            uint32_t *ret_count)
{
    const struct {
        const cJSON *jobs;
        uint8_t after;
    } lists[] = {{draft->after, ADL_AFTER_ANY},
                 {draft->after_ok, ADL_AFTER_OK},
                 {draft->after_not_ok, ADL_AFTER_NOT_OK},
                 {draft->after_start, ADL_AFTER_START}};
    const size_t count = (size_t)dependency_count(draft);
    struct adl_store_dependency *at = room_take(room, count * sizeof *at, _Alignof(struct adl_store_dependency)),
                                *next = at;
    *ret_count = (uint32_t)count;
    if (!at)
        return NULL;
    memset(at, 0, count * sizeof *at);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const cJSON *item = lists[i].jobs ? lists[i].jobs->child : NULL; item; item = item->next)
            *next++ = (struct adl_store_dependency){.job = (uint64_t)item->valuedouble, .after = lists[i].after};
    if (draft->singleton)
        *next = (struct adl_store_dependency){.after = ADL_AFTER_SINGLETON};
    return at;
}

static double or_else(double number, double fallback)
{
    return isnan(number) ? fallback : number;
}

/* A job that says how it saves its work may be stopped; one that only allows a requeue starts from the beginning. */
static void draft_stops(const struct draft *draft, struct adl_job_spec *spec)
{
    const bool often = !isnan(draft->checkpoint_every_s);
    if (!draft->requeue && !often && !draft->checkpoint_on_stop)
        return;
    spec->flags |= ADL_JOB_PREEMPTIBLE;
    spec->stop_loss = draft->checkpoint_on_stop ? ADL_LOSS_NOTHING : often ? ADL_LOSS_SINCE_CHECKPOINT : ADL_LOSS_ALL;
    spec->checkpoint_us = often ? (int64_t)(draft->checkpoint_every_s * 1e6) : 0;
}

static struct adl_job_spec draft_spec(const struct draft *draft, const struct adl_account *account)
{
    struct adl_job_spec spec = {
        .user = account->uid,
        .name_id = draft->name ? adl_job_name_id(draft->name) : 0,
        .kind = draft->kind ? (uint8_t)adl_job_kind_find(draft->kind) : ADL_KIND_TRAINING,
        .flags = (uint8_t)(draft->share ? ADL_JOB_SHARE : 0),
        .cpu_cores = (int32_t)or_else(draft->cpus, 0),
        .memory_mib = (int32_t)or_else(draft->memory_mib, 0),
        .gpu_memory_mib = (int32_t)or_else(draft->gpu_memory_mib, 0),
        .priority = (float)or_else(draft->priority, 0.5),
        .min_steps_per_s = (float)or_else(draft->min_steps_per_s, 0),
        .limit_us = (int64_t)(or_else(draft->limit_s, 0) * 1e6),
        .deadline_us = (int64_t)(or_else(draft->deadline_s, 0) * 1e6),
    };
    draft_stops(draft, &spec);
    return spec;
}

/* The default name: that of the program, without folders. */
static void name_default(const struct draft *draft, char *ret, size_t size)
{
    const char *program = draft->command ? draft->command->child->valuestring : "script";
    const char *slash = strrchr(program, '/');
    snprintf(ret, size, "%s", slash && slash[1] ? slash + 1 : program);
    for (char *c = ret; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '_';
}

static void request_text(const cJSON *gpus, char *ret, size_t size)
{
    if (gpus && cJSON_IsString(gpus))
        snprintf(ret, size, "%s", gpus->valuestring);
    else
        snprintf(ret, size, "%d", gpus ? gpus->valueint : 1);
}

/* The strings and lists of the draft; called twice, first to count. */
static void lay_out(const struct draft *draft, const struct adl_account *account, struct room *room,
                    struct adl_submission *ret)
{
    char name[ADL_STORE_WORD_MAX + 1], request[ADL_STORE_REASON_MAX + 1];
    struct adl_store_job *job = &ret->job;
    const char *out = draft->stdout_path ? draft->stdout_path : draft->array ? "adlro-%A_%a.out" : "adlro-%j.out";
    name_default(draft, name, sizeof name);
    request_text(draft->gpus, request, sizeof request);
    job->argv = room_strings(room, draft->script ? draft->args : draft->command);
    job->environment = room_strings(room, draft->environment);
    job->limits = room_strings(room, draft->limits);
    job->dependencies = room_dependencies(room, draft, &job->dependency_count);
    ret->array = room_take(room, ret->array_count * sizeof *ret->array, _Alignof(int32_t));
    job->user = room_text(room, account->name);
    job->name = room_text(room, draft->name ? draft->name : name);
    job->request = room_text(room, request);
    job->script = room_text(room, draft->script);
    job->directory = room_text(room, draft->directory);
    job->stdout_path = room_text(room, out);
    job->stderr_path = room_text(room, draft->stderr_path ? draft->stderr_path : out);
    job->mask = room_text(room, draft->mask);
    job->warn_signal = room_text(room, draft->warn_signal);
    ret->class_name = room_text(room, draft->class_name);
}

/* Refuses output paths that could be too long with any number of the job. */
static int paths_check(const struct adl_store_job *job, struct adl_error *err)
{
    static const char node[ADL_NAME_SIZE] = "a-name-of-a-node-as-long-as-any-of-them-can-be-";
    struct adl_store_job longest = *job;
    longest.array_index = job->array_index < 0 ? -1 : ADL_ARRAY_INDEX_MAX;
    for (int i = 0; i < 2; i++) {
        char *path = adl_path_expand(i ? job->stderr_path : job->stdout_path, &longest, INT64_MAX, node);
        const bool fits = path && strlen(path) < ADL_STORE_PATH_MAX;
        const bool there = path != NULL;
        free(path);
        if (!there)
            return adl_fail(err, ADL_ENOMEM, "no memory for the submission");
        if (!fits)
            return adl_fail(err, ADL_EINVAL,
                            "%s: with the directory it may become longer than a path can be (%d bytes)",
                            i ? "stderr" : "stdout", ADL_STORE_PATH_MAX - 1);
    }
    return ADL_OK;
}

static int submission_build(const struct draft *draft, const struct adl_account *account, int64_t now_us,
                            const struct adl_job_array *array, struct adl_submission **ret, struct adl_error *err)
{
    struct adl_submission head = {.array_count = array->indices ? array->facts.count : 0, .hold = draft->hold};
    struct room room = {.used = sizeof head};
    lay_out(draft, account, &room, &head);
    struct adl_submission *submission = malloc(room.used);
    if (!submission)
        return adl_fail(err, ADL_ENOMEM, "no memory for the submission");
    room = (struct room){.data = (char *)submission, .used = sizeof head};
    lay_out(draft, account, &room, &head);
    if (array->indices)
        memcpy(head.array, array->indices, head.array_count * sizeof *head.array);
    else
        head.array = NULL;
    head.job.spec = draft_spec(draft, account);
    head.job.spec.share_slowdown = (float)or_else(draft->share_slowdown, 0);
    head.job.uid = account->uid;
    head.job.gid = account->gid;
    head.job.dependency_any = draft->dependency_any;
    head.job.begin_us = (int64_t)(or_else(draft->begin_s, 0) * 1e6);
    head.job.array = array->facts;
    head.job.array_index = array->indices ? array->indices[0] : -1;
    head.job.submit_us = now_us;
    head.job.status = (struct adl_store_status){.state = ADL_STORE_PENDING,
                                                .hold = draft->hold ? ADL_HOLD_USER : ADL_HOLD_NONE,
                                                .priority = head.job.spec.priority,
                                                .reason = "",
                                                .boot = ""};
    *submission = head;
    const int status = paths_check(&submission->job, err);
    if (status < 0)
        free(submission);
    else
        *ret = submission;
    return status;
}

int adl_submission_read(const struct cJSON *document, const struct adl_account *account, int64_t now_us,
                        struct adl_submission **ret, struct adl_error *err)
{
    struct draft draft = {.priority = NAN,
                          .cpus = NAN,
                          .memory_mib = NAN,
                          .gpu_memory_mib = NAN,
                          .limit_s = NAN,
                          .deadline_s = NAN,
                          .min_steps_per_s = NAN,
                          .share_slowdown = NAN,
                          .begin_s = NAN,
                          .checkpoint_every_s = NAN};
    struct adl_job_array array = {0};
    int status = draft_read(document, &draft, err);
    if (status == ADL_OK)
        status = draft_check(&draft, err);
    if (status == ADL_OK && draft.array)
        status = adl_job_array_read(draft.array, &array, err);
    if (status == ADL_OK)
        status = submission_build(&draft, account, now_us, &array, ret, err);
    adl_job_array_clear(&array);
    return status;
}

void adl_submission_destroy(struct adl_submission *submission)
{
    free(submission);
}
