#include "cli/client/top_gpus.h"

#include "cli/display.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GPUS_MAX (1u << 22)

const char *const adl_top_sort_names[] = {"busy first", "by number", "by memory", "by power", "by temperature"};

/* ---- order and choice ---- */

static double key_of(const cJSON *gpu, int sort)
{
    switch (sort) {
    case ADL_TOP_BUSY:
        return 2 * (strcmp(adl_member_text(gpu, "state"), "busy") == 0) + adl_member_number(gpu, "utilization", 0);
    case ADL_TOP_MEMORY:
        return adl_member_number(gpu, "memory_used_mib", -1);
    case ADL_TOP_POWER:
        return adl_member_number(gpu, "power_w", -1);
    case ADL_TOP_HEAT:
        return adl_member_number(gpu, "temperature_c", -300);
    default:
        return 0;
    }
}

static int by_key(const void *a, const void *b)
{
    const struct adl_top_gpu *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? 1 : -1) : x->number - y->number;
}

static bool has_text(const cJSON *object, const char *const *names, const char *wanted)
{
    const size_t length = strlen(wanted);
    for (; *names; names++)
        for (const char *at = adl_member_text(object, *names); *at; at++)
            if (strncasecmp(at, wanted, length) == 0)
                return true;
    return false;
}

static bool matches(const cJSON *node, const cJSON *gpu, const char *filter)
{
    static const char *const of_node[] = {"name", NULL}, *const of_gpu[] = {"type", "state", "id", NULL},
                             *const of_job[] = {"user", "name", "label", NULL};
    const cJSON *job;
    if (!*filter || has_text(node, of_node, filter) || has_text(gpu, of_gpu, filter))
        return true;
    cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(gpu, "jobs"))
    {
        if (has_text(job, of_job, filter))
            return true;
    }
    return false;
}

bool adl_top_job_matches(const cJSON *job, const char *filter)
{
    static const char *const names[] = {"user", "name", "label", "state", "reason", "request", NULL};
    return !*filter || has_text(job, names, filter);
}

int adl_top_gpus_list(const cJSON *cluster, int sort, const char *filter, struct adl_top_gpu **ret)
{
    const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(cluster, "nodes"), *node, *gpu;
    size_t room = 0;
    int count = 0;
    cJSON_ArrayForEach(node, nodes)
    {
        room += (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(node, "gpus"));
    }
    struct adl_top_gpu *list = calloc(room + 1, sizeof *list);
    cJSON_ArrayForEach(node, nodes)
    {
        cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(node, "gpus"))
        {
            if (list && matches(node, gpu, filter))
                list[count++] =
                    (struct adl_top_gpu){node, gpu, key_of(gpu, sort), (int)adl_member_number(gpu, "gpu", 0)};
        }
    }
    if (list)
        qsort(list, (size_t)count, sizeof *list, by_key);
    *ret = list;
    return list ? count : 0;
}

/* ---- history ---- */

static bool grow(struct adl_top_history *history, uint32_t gpus)
{
    if (gpus <= history->gpus)
        return true;
    uint8_t(*levels)[ADL_TOP_HISTORY] = gpus < GPUS_MAX ? realloc(history->levels, gpus * sizeof *levels) : NULL;
    if (!levels)
        return false;
    memset(levels[history->gpus], 0, (gpus - history->gpus) * sizeof *levels);
    history->levels = levels;
    history->gpus = gpus;
    return true;
}

static void add_gpu(struct adl_top_history *history, const cJSON *gpu)
{
    const double number = adl_member_number(gpu, "gpu", -1), used = adl_member_number(gpu, "utilization", -1);
    if (number < 0 || number >= GPUS_MAX || !grow(history, (uint32_t)number + 1))
        return;
    uint8_t *levels = history->levels[(uint32_t)number];
    memmove(levels, levels + 1, ADL_TOP_HISTORY - 1);
    levels[ADL_TOP_HISTORY - 1] = used < 0 ? 0 : used >= 1 ? 8 : (uint8_t)(1 + used * 7.999);
}

void adl_top_history_add(struct adl_top_history *history, const cJSON *cluster)
{
    const cJSON *node, *gpu;
    cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(cluster, "nodes"))
    {
        cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(node, "gpus"))
        {
            add_gpu(history, gpu);
        }
    }
}

void adl_top_history_clear(struct adl_top_history *history)
{
    free(history->levels);
    *history = (struct adl_top_history){0};
}

void adl_top_history_put(struct adl_text *text, const struct adl_top_history *history, int gpu, bool utf8)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
    for (int i = 0; i < ADL_TOP_HISTORY; i++) {
        const uint8_t level = gpu >= 0 && (uint32_t)gpu < history->gpus ? history->levels[gpu][i] : 0;
        adl_text_put(text, utf8 ? bars[level] : plain[level]);
    }
}
