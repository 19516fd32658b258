#include "ingest/throughputs.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_SIZE     64
#define FILE_SIZE_MAX (64u << 20)

struct entry {
    char type[NAME_SIZE];
    char job[NAME_SIZE];
    uint32_t gpus;
    double steps_per_s;
};

struct adl_throughputs {
    struct entry *entries; /* in order of compare() */
    size_t count;
};

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcasecmp(x->type, y->type);
    if (order == 0)
        order = strcmp(x->job, y->job);
    return order ? order : (x->gpus > y->gpus) - (x->gpus < y->gpus);
}

/* "('NAME', 4)"; false if the key is of another form. */
static bool read_key(const char *key, struct entry *ret)
{
    static const char quotes[] = "'\"";
    const size_t length = strlen(key);
    const char *comma = strrchr(key, ',');
    if (length < 7 || key[0] != '(' || !strchr(quotes, key[1]) || !comma || comma < key + 3 || comma[-1] != key[1])
        return false;
    const size_t name = (size_t)(comma - 1 - (key + 2));
    char *end = NULL;
    const unsigned long gpus = strtoul(comma + 1, &end, 10);
    if (name == 0 || name >= sizeof ret->job || strcmp(end, ")") != 0 || gpus < 1 || gpus > 65535)
        return false;
    memcpy(ret->job, key + 2, name);
    ret->job[name] = '\0';
    ret->gpus = (uint32_t)gpus;
    return true;
}

static size_t count_entries(const cJSON *root)
{
    size_t count = 0;
    for (const cJSON *type = root->child; type; type = type->next)
        count += (size_t)cJSON_GetArraySize(type);
    return count;
}

static int read_entries(const char *name, const cJSON *root, struct adl_throughputs *throughputs, struct adl_error *err)
{
    for (const cJSON *type = root->child; type; type = type->next) {
        struct entry entry = {.gpus = 0};
        if (!cJSON_IsObject(type) || strlen(type->string) >= sizeof entry.type)
            return adl_fail(err, ADL_EINVAL,
                            "%.120s: '%.40s' must be a GPU type of at most %d bytes with an object of jobs", name,
                            type->string, NAME_SIZE - 1);
        snprintf(entry.type, sizeof entry.type, "%s", type->string);
        for (const cJSON *job = type->child; job; job = job->next) {
            const cJSON *alone = cJSON_GetObjectItemCaseSensitive(job, "null");
            if (!read_key(job->string, &entry))
                return adl_fail(err, ADL_EINVAL,
                                "%.120s: under '%s': a job must be named like ('NAME', 1), got '%.80s'", name,
                                entry.type, job->string);
            if (!cJSON_IsNumber(alone) || !(alone->valuedouble >= 0) || !isfinite(alone->valuedouble))
                return adl_fail(err, ADL_EINVAL,
                                "%.120s: '%s', \"%.80s\": \"null\" must be steps/s, a number of at least 0", name,
                                entry.type, job->string);
            entry.steps_per_s = alone->valuedouble;
            throughputs->entries[throughputs->count++] = entry;
        }
    }
    qsort(throughputs->entries, throughputs->count, sizeof *throughputs->entries, compare);
    return 0;
}

static unsigned line_of(const char *text, const char *at)
{
    unsigned line = 1;
    for (; at && text < at; text++)
        line += *text == '\n';
    return line;
}

int adl_throughputs_parse(const char *name, const char *text, size_t size, struct adl_throughputs **ret,
                          struct adl_error *err)
{
    const char *end = text;
    cJSON *root = cJSON_ParseWithLengthOpts(text, size, &end, false);
    if (!root)
        return adl_fail(err, ADL_EINVAL, "%.120s:%u: this is not JSON", name, line_of(text, end));
    struct adl_throughputs *throughputs = calloc(1, sizeof *throughputs);
    if (throughputs)
        throughputs->entries = calloc(count_entries(root) + 1, sizeof *throughputs->entries);
    int status = ADL_EINVAL;
    if (!throughputs || !throughputs->entries)
        status = adl_fail(err, ADL_ENOMEM, "%.120s: out of memory", name);
    else if (!cJSON_IsObject(root))
        adl_fail(err, status, "%.120s: must be a JSON object of GPU types", name);
    else
        status = read_entries(name, root, throughputs, err);
    cJSON_Delete(root);
    if (status)
        adl_throughputs_destroy(throughputs);
    else
        *ret = throughputs;
    return status;
}

int adl_throughputs_load(const char *path, struct adl_throughputs **ret, struct adl_error *err)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return adl_fail(err, ADL_EIO, "cannot open %.200s: %s", path, strerror(errno));
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    while (text) {
        size += fread(text + size, 1, capacity - size, file);
        if (size < capacity || capacity >= FILE_SIZE_MAX)
            break;
        char *grown = realloc(text, capacity *= 2);
        if (!grown)
            free(text);
        text = grown;
    }
    int status;
    if (!text)
        status = adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", path);
    else if (ferror(file))
        status = adl_fail(err, ADL_EIO, "cannot read %.200s: %s", path, strerror(errno));
    else if (size >= FILE_SIZE_MAX)
        status = adl_fail(err, ADL_EINVAL, "%.200s has more than %u bytes", path, FILE_SIZE_MAX);
    else
        status = adl_throughputs_parse(path, text, size, ret, err);
    fclose(file);
    free(text);
    return status;
}

void adl_throughputs_destroy(struct adl_throughputs *throughputs)
{
    if (!throughputs)
        return;
    free(throughputs->entries);
    free(throughputs);
}

double adl_throughputs_find(const struct adl_throughputs *throughputs, const char *type, const char *job, uint32_t gpus)
{
    struct entry key = {.gpus = gpus};
    if (strlen(type) >= sizeof key.type || strlen(job) >= sizeof key.job)
        return 0;
    memcpy(key.type, type, strlen(type) + 1);
    memcpy(key.job, job, strlen(job) + 1);
    const struct entry *found =
        bsearch(&key, throughputs->entries, throughputs->count, sizeof *throughputs->entries, compare);
    return found ? found->steps_per_s : 0;
}
