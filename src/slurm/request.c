#include "slurm/request.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool copy_name(char ret[ADL_GPU_TYPE_SIZE], const char *name, size_t size)
{
    if (size == 0 || size >= ADL_GPU_TYPE_SIZE)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)name[i]) && !strchr("_-.", name[i]))
            return false;
    }
    memcpy(ret, name, size);
    ret[size] = '\0';
    return true;
}

static bool read_count(const char *text, size_t size, uint32_t *ret)
{
    if (size == 0 || size > 6)
        return false;
    uint32_t value = 0;
    for (size_t i = 0; i < size; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
        value = 10 * value + (uint32_t)(text[i] - '0');
    }
    *ret = value;
    return true;
}

/* One "volta:2". */
static bool read_alternative(const char *word, size_t size, struct adl_gpu_count *ret)
{
    const char *colon = memchr(word, ':', size);
    if (!colon)
        return false;
    const size_t type_size = (size_t)(colon - word);
    struct adl_gpu_count item = {.type = ""};
    const bool any = type_size == 1 && word[0] == '*';
    if ((!any && !copy_name(item.type, word, type_size)) || !read_count(colon + 1, size - type_size - 1, &item.count) ||
        item.count == 0)
        return false;
    *ret = item;
    return true;
}

int adl_gpu_counts_parse(const char *words, struct adl_gpu_counts *ret, struct adl_error *err)
{
    struct adl_gpu_counts request = {.count = 0};
    for (const char *word = words;;) {
        const size_t size = strcspn(word, "|");
        if (request.count == ADL_GPU_COUNTS_MAX)
            return adl_fail(err, ADL_EINVAL, "'%s' has more than %d alternatives", words, ADL_GPU_COUNTS_MAX);
        if (!read_alternative(word, size, &request.items[request.count]))
            return adl_fail(err, ADL_EINVAL, "'%.*s' is not TYPE:COUNT, such as volta:2, or *:2 for any type",
                            (int)size, word);
        request.count++;
        if (word[size] == '\0')
            break;
        word += size + 1;
    }
    *ret = request;
    return 0;
}

void adl_gpu_counts_write(const struct adl_gpu_counts *request, struct adl_text *text)
{
    for (uint32_t i = 0; i < request->count; i++) {
        const struct adl_gpu_count *item = &request->items[i];
        adl_text_printf(text, "%s%s:%u", i > 0 ? "|" : "", item->type[0] ? item->type : "*", item->count);
    }
}

uint32_t adl_gpu_counts_count(const struct adl_gpu_counts *request, const char *type)
{
    for (uint32_t i = 0; i < request->count; i++) {
        const struct adl_gpu_count *item = &request->items[i];
        if (item->type[0] == '\0' || strcmp(item->type, type) == 0)
            return item->count;
    }
    return 0;
}

static void add(struct adl_gpu_counts *counts, const struct adl_gpu_count *more)
{
    for (uint32_t i = 0; i < counts->count; i++) {
        if (strcmp(counts->items[i].type, more->type) == 0) {
            counts->items[i].count += more->count;
            return;
        }
    }
    if (counts->count < ADL_GPU_COUNTS_MAX)
        counts->items[counts->count++] = *more;
}

/* One "gpu", "gpu:2", "gpu:volta" or "gpu:volta:2"; newer versions write = before the number. */
static bool read_gres(const char *word, size_t size, struct adl_gpu_count *ret)
{
    static const char *const prefixes[] = {"gres:", "gres/"};
    for (size_t i = 0; i < 2; i++) {
        if (size > 5 && strncmp(word, prefixes[i], 5) == 0) {
            word += 5;
            size -= 5;
        }
    }
    if (size < 3 || strncmp(word, "gpu", 3) != 0 || (size > 3 && !strchr(":=", word[3])))
        return false;
    struct adl_gpu_count item = {.count = 1};
    if (size > 3) {
        const char *rest = word + 4;
        const size_t rest_size = size - 4;
        if (!read_count(rest, rest_size, &item.count)) {
            size_t type_size = 0;
            while (type_size < rest_size && !strchr(":=", rest[type_size]))
                type_size++;
            if (!copy_name(item.type, rest, type_size) ||
                (type_size < rest_size && !read_count(rest + type_size + 1, rest_size - type_size - 1, &item.count)))
                return false;
        }
    }
    *ret = item;
    return true;
}

struct adl_gpu_counts adl_gres_parse(const char *gres)
{
    struct adl_gpu_counts counts = {.count = 0};
    const char *at = gres ? gres : "";
    while (*at) {
        const size_t size = strcspn(at, ",(");
        struct adl_gpu_count item;
        if (read_gres(at, size, &item))
            add(&counts, &item);
        at += size;
        if (*at == '(') /* sockets or indices, which may have commas of their own */
            at += strcspn(at, ")");
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return counts;
}

/* The value of ";key=value" after a request; false if it is too long. */
static bool read_more(const char *more, const char *key, char *ret, size_t size)
{
    const size_t key_size = strlen(key);
    ret[0] = '\0';
    for (; *more == ';'; more += 1 + strcspn(more + 1, ";")) {
        if (strncmp(more + 1, key, key_size) != 0 || more[1 + key_size] != '=')
            continue;
        const char *value = more + key_size + 2;
        const size_t value_size = strcspn(value, ";");
        if (value_size >= size)
            return false;
        memcpy(ret, value, value_size);
        ret[value_size] = '\0';
    }
    return true;
}

bool adl_catch_parse(const char *admin_comment, struct adl_catch *ret)
{
    const size_t prefix_size = sizeof ADL_CATCH_PREFIX - 1;
    if (!admin_comment || strncmp(admin_comment, ADL_CATCH_PREFIX, prefix_size) != 0)
        return false;
    const char *words = admin_comment + prefix_size;
    const size_t size = strcspn(words, ";");
    char copy[ADL_GPU_COUNTS_MAX * (ADL_GPU_TYPE_SIZE + 8)], by[8];
    if (size >= sizeof copy)
        return false;
    memcpy(copy, words, size);
    copy[size] = '\0';
    struct adl_catch caught = {.nodes = ""};
    if (adl_gpu_counts_parse(copy, &caught.asked, NULL) != 0 || !read_more(words + size, "by", by, sizeof by) ||
        !read_more(words + size, "nodes", caught.nodes, sizeof caught.nodes))
        return false;
    caught.by = strcmp(by, "job") == 0 ? ADL_BY_JOB : strcmp(by, "task") == 0 ? ADL_BY_TASK : ADL_BY_NODE;
    caught.request = caught.asked;
    *ret = caught;
    return true;
}

void adl_catch_divide(struct adl_catch *caught, uint32_t nodes, uint32_t tasks, bool tasks_even)
{
    if (caught->by == ADL_BY_NODE || nodes == 0)
        return;
    const uint64_t times = caught->by == ADL_BY_TASK && tasks > 0 ? tasks : 1;
    for (uint32_t i = 0; i < caught->asked.count; i++) {
        const uint64_t all = times * caught->asked.items[i].count;
        caught->request.items[i].count = (uint32_t)((all + nodes - 1) / nodes);
        caught->uneven = caught->uneven || all % nodes != 0 || (caught->by == ADL_BY_TASK && !tasks_even);
    }
}
