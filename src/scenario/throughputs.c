#include "scenario/throughputs.h"

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

/* Two jobs of one GPU each that ran on the same GPU. */
struct pair {
    uint32_t job[2]; /* indices of entries */
    double steps_per_s[2];
};

struct adl_throughputs {
    struct entry *entries; /* in order of compare() */
    size_t count;
    struct pair *pairs; /* in order of compare_pairs() */
    size_t pair_count;
};

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcasecmp(x->type, y->type);
    if (order == 0)
        order = strcmp(x->job, y->job);
    return order ? order : (x->gpus > y->gpus) - (x->gpus < y->gpus);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    const int order = (x->job[0] > y->job[0]) - (x->job[0] < y->job[0]);
    return order ? order : (x->job[1] > y->job[1]) - (x->job[1] < y->job[1]);
}

/* "('NAME', 4)"; false if the key is malformed. */
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

/* The number of rows, and of figures in all of them. */
static size_t count_entries(const cJSON *root, size_t *ret_figures)
{
    size_t count = 0;
    *ret_figures = 0;
    for (const cJSON *type = root->child; type; type = type->next) {
        count += (size_t)cJSON_GetArraySize(type);
        for (const cJSON *job = type->child; job; job = job->next)
            *ret_figures += (size_t)cJSON_GetArraySize(job);
    }
    return count;
}

static const struct entry *find_entry(const struct adl_throughputs *throughputs, const struct entry *key)
{
    return bsearch(key, throughputs->entries, throughputs->count, sizeof *throughputs->entries, compare);
}

static bool read_speed(const cJSON *item, double *ret)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || !isfinite(item->valuedouble))
        return false;
    *ret = item->valuedouble;
    return true;
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
            if (!read_key(job->string, &entry))
                return adl_fail(err, ADL_EINVAL,
                                "%.120s: under '%s': a job must be named like ('NAME', 1), got '%.80s'", name,
                                entry.type, job->string);
            if (!read_speed(cJSON_GetObjectItemCaseSensitive(job, "null"), &entry.steps_per_s))
                return adl_fail(err, ADL_EINVAL,
                                "%.120s: '%s', \"%.80s\": \"null\" must be steps/s, a number of at least 0", name,
                                entry.type, job->string);
            throughputs->entries[throughputs->count++] = entry;
        }
    }
    qsort(throughputs->entries, throughputs->count, sizeof *throughputs->entries, compare);
    return 0;
}

/* The speed of one job co-located with another; a neighbour without a row of its own is ignored. */
static int read_pair(const char *name, const struct entry *entry, const cJSON *other,
                     struct adl_throughputs *throughputs, struct adl_error *err)
{
    struct entry key = *entry;
    struct pair pair;
    if (!read_key(other->string, &key))
        return adl_fail(err, ADL_EINVAL,
                        "%.120s: '%s', \"('%s', %u)\": a neighbour must be named like ('NAME', 1), got '%.80s'", name,
                        entry->type, entry->job, entry->gpus, other->string);
    if (cJSON_GetArraySize(other) != 2 || !cJSON_IsArray(other) || !read_speed(other->child, &pair.steps_per_s[0]) ||
        !read_speed(other->child->next, &pair.steps_per_s[1]))
        return adl_fail(
            err, ADL_EINVAL,
            "%.120s: '%s', \"('%s', %u)\" beside \"%.80s\" must be two numbers of at least 0, steps/s of each", name,
            entry->type, entry->job, entry->gpus, other->string);
    const struct entry *a = find_entry(throughputs, entry), *b = find_entry(throughputs, &key);
    if (entry->gpus != 1 || key.gpus != 1 || !a || !b || pair.steps_per_s[0] <= 0 || pair.steps_per_s[1] <= 0)
        return 0;
    pair.job[0] = (uint32_t)(a - throughputs->entries);
    pair.job[1] = (uint32_t)(b - throughputs->entries);
    throughputs->pairs[throughputs->pair_count++] = pair;
    return 0;
}

/* Needs the sorted rows. */
static int read_pairs(const char *name, const cJSON *root, struct adl_throughputs *throughputs, struct adl_error *err)
{
    for (const cJSON *type = root->child; type; type = type->next) {
        struct entry entry = {.gpus = 0};
        snprintf(entry.type, sizeof entry.type, "%s", type->string);
        for (const cJSON *job = type->child; job; job = job->next) {
            read_key(job->string, &entry);
            for (const cJSON *other = job->child; other; other = other->next) {
                const int status =
                    strcmp(other->string, "null") == 0 ? 0 : read_pair(name, &entry, other, throughputs, err);
                if (status)
                    return status;
            }
        }
    }
    qsort(throughputs->pairs, throughputs->pair_count, sizeof *throughputs->pairs, compare_pairs);
    return 0;
}

static int read_all(const char *name, const cJSON *root, struct adl_throughputs *throughputs, struct adl_error *err)
{
    const int status = read_entries(name, root, throughputs, err);
    return status ? status : read_pairs(name, root, throughputs, err);
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
    size_t figures = 0;
    if (throughputs) {
        throughputs->entries = calloc(count_entries(root, &figures) + 1, sizeof *throughputs->entries);
        throughputs->pairs = calloc(figures + 1, sizeof *throughputs->pairs);
    }
    int status = ADL_EINVAL;
    if (!throughputs || !throughputs->entries || !throughputs->pairs)
        status = adl_fail(err, ADL_ENOMEM, "%.120s: out of memory", name);
    else if (!cJSON_IsObject(root))
        adl_fail(err, status, "%.120s: must be a JSON object of GPU types", name);
    else
        status = read_all(name, root, throughputs, err);
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
    free(throughputs->pairs);
    free(throughputs);
}

static const struct entry *find(const struct adl_throughputs *throughputs, const char *type, const char *job,
                                uint32_t gpus)
{
    struct entry key = {.gpus = gpus};
    if (strlen(type) >= sizeof key.type || strlen(job) >= sizeof key.job)
        return NULL;
    memcpy(key.type, type, strlen(type) + 1);
    memcpy(key.job, job, strlen(job) + 1);
    return find_entry(throughputs, &key);
}

double adl_throughputs_find(const struct adl_throughputs *throughputs, const char *type, const char *job, uint32_t gpus)
{
    const struct entry *found = find(throughputs, type, job, gpus);
    return found ? found->steps_per_s : 0;
}

double adl_throughputs_find_pair(const struct adl_throughputs *throughputs, const char *type, const char *job,
                                 const char *beside)
{
    const struct entry *a = find(throughputs, type, job, 1), *b = find(throughputs, type, beside, 1);
    if (!a || !b)
        return 0;
    const uint32_t one = (uint32_t)(a - throughputs->entries), other = (uint32_t)(b - throughputs->entries);
    for (int place = 0; place < 2; place++) {
        const struct pair key = {.job = {place ? other : one, place ? one : other}};
        const struct pair *found =
            bsearch(&key, throughputs->pairs, throughputs->pair_count, sizeof *throughputs->pairs, compare_pairs);
        if (found)
            return found->steps_per_s[place];
    }
    return 0;
}
