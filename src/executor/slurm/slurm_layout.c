#include "executor/slurm/slurm_layout.h"

#include "base/index.h"
#include "executor/slurm/hostlist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- GPUs ---- */

static int count_file(void *arg, const char *name)
{
    uint64_t *count = arg;
    (void)name;
    ++*count;
    return 0;
}

uint64_t adl_layout_gres_count(const struct adl_slurm_conf *gres, size_t line)
{
    const struct adl_slurm_setting *file = adl_slurm_line_find(gres, line, "File");
    const struct adl_slurm_setting *count = adl_slurm_line_find(gres, line, "Count");
    uint64_t devices = 0;
    if (!file)
        file = adl_slurm_line_find(gres, line, "MultipleFiles");
    if (file)
        return adl_hostlist_each(file->value, count_file, &devices, NULL) ? 0 : devices;
    return count ? strtoull(count->value, NULL, 10) : 1;
}

void adl_layout_gpus_add(struct adl_layout_gpus *gpus, const char *type, uint64_t count)
{
    size_t i = 0;
    while (i < gpus->count && !adl_slurm_same(gpus->kinds[i].type, type))
        i++;
    if (i == ADL_LAYOUT_TYPES_MAX)
        return;
    if (i == gpus->count) {
        snprintf(gpus->kinds[i].type, sizeof gpus->kinds[i].type, "%s", type);
        gpus->kinds[i].count = 0;
        gpus->count++;
    }
    gpus->kinds[i].count += count;
}

uint64_t adl_layout_gpus_total(const struct adl_layout_gpus *gpus)
{
    uint64_t total = 0;
    for (size_t i = 0; i < gpus->count; i++)
        total += gpus->kinds[i].count;
    return total;
}

bool adl_layout_gpus_typed(const struct adl_layout_gpus *gpus)
{
    for (size_t i = 0; i < gpus->count; i++)
        if (gpus->kinds[i].count > 0 && gpus->kinds[i].type[0] == '\0')
            return false;
    return true;
}

/* "4", not "4090": what follows the last colon is a count, what is between is a type. */
static bool read_count(const char *text, size_t size, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || i == 9)
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *ret = value;
    return size > 0;
}

/* What follows "gpu" up to the comma: "", ":2", ":volta", ":volta:2", ":volta:2(S:0)". */
static void read_kind(const char *text, size_t size, struct adl_layout_gpus *ret)
{
    static const char no_consume[] = ":no_consume";
    char type[ADL_LAYOUT_TYPE_SIZE] = "";
    uint64_t count = 1;
    const char *bracket = memchr(text, '(', size);
    if (bracket)
        size = (size_t)(bracket - text);
    if (size >= sizeof no_consume - 1 && memcmp(text, no_consume, sizeof no_consume - 1) == 0) {
        text += sizeof no_consume - 1;
        size -= sizeof no_consume - 1;
    }
    size_t last = size;
    while (last > 0 && text[last - 1] != ':')
        last--;
    if (last > 0 && read_count(text + last, size - last, &count))
        size = last - 1;
    if (size > 1)
        snprintf(type, sizeof type, "%.*s", (int)(size - 1 < sizeof type ? size - 1 : sizeof type - 1), text + 1);
    if (count > 0)
        adl_layout_gpus_add(ret, type, count);
}

void adl_layout_gpus_read(const char *gres, struct adl_layout_gpus *ret)
{
    *ret = (struct adl_layout_gpus){.count = 0};
    while (gres && *gres) {
        const size_t size = strcspn(gres, ",");
        const char *name = gres;
        if (size > 5 && strncmp(name, "gres:", 5) == 0)
            name += 5;
        const size_t left = size - (size_t)(name - gres);
        if (left >= 3 && strncmp(name, "gpu", 3) == 0 && (left == 3 || name[3] == ':'))
            read_kind(name + 3, left - 3, ret);
        gres += size + (gres[size] == ',');
    }
}

/* ---- nodes ---- */

struct adding {
    struct adl_slurm_layout *layout;
    size_t line;
    struct adl_layout_partition *partition;
    struct adl_error *err;
    uint32_t depth; /* sets of nodes within sets */
};

static int out_of_memory(struct adl_error *err)
{
    return adl_fail(err, ADL_ENOMEM, "out of memory for the nodes of slurm.conf");
}

static int expand(const struct adl_slurm_conf *conf, const struct adl_slurm_setting *list,
                  int (*visit)(void *, const char *), struct adding *adding)
{
    struct adl_error why = {{0}};
    struct adl_error *err = adding->err;
    adding->err = &why;
    const int status = adl_hostlist_each(list->value, visit, adding, &why);
    adding->err = err;
    return status ? adl_fail(err, status, "%.150s:%u: %s: %s", conf->files[list->file].path, list->line, list->key,
                             why.text)
                  : 0;
}

static int add_node(void *arg, const char *name)
{
    const struct adding *adding = arg;
    struct adl_slurm_layout *layout = adding->layout;
    if (layout->node_count == ADL_LAYOUT_NODES_MAX)
        return adl_fail(adding->err, ADL_EINVAL, "there are more than %u nodes", ADL_LAYOUT_NODES_MAX);
    if (adl_grow((void **)&layout->nodes, &layout->node_capacity, layout->node_count + 1, sizeof *layout->nodes))
        return out_of_memory(adding->err);
    char *copy = strdup(name);
    if (!copy)
        return out_of_memory(adding->err);
    struct adl_layout_node *node = &layout->nodes[layout->node_count++];
    node->name = copy;
    node->line = adding->line;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct adl_layout_node *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static bool is_default(const struct adl_slurm_conf *conf, size_t line)
{
    return adl_slurm_same(conf->settings[conf->lines[line].first].value, "DEFAULT");
}

static int read_nodes(const struct adl_slurm_conf *conf, struct adl_slurm_layout *layout, struct adl_error *err)
{
    for (size_t line = 0; line < conf->line_count; line++) {
        struct adding adding = {.layout = layout, .line = line, .err = err};
        if (!adl_slurm_line_is(conf, line, "NodeName") || is_default(conf, line))
            continue;
        const int status = expand(conf, &conf->settings[conf->lines[line].first], add_node, &adding);
        if (status)
            return status;
    }
    if (layout->node_count > 0)
        qsort(layout->nodes, layout->node_count, sizeof *layout->nodes, by_name);
    for (size_t i = 1; i < layout->node_count; i++)
        if (strcmp(layout->nodes[i - 1].name, layout->nodes[i].name) == 0) {
            const struct adl_slurm_line *at = &conf->lines[layout->nodes[i].line];
            return adl_fail(err, ADL_EINVAL, "%.200s:%u: the node %.60s is defined already, in line %u",
                            conf->files[at->file].path, at->line, layout->nodes[i].name,
                            conf->lines[layout->nodes[i - 1].line].line);
        }
    return 0;
}

uint32_t adl_layout_node_find(const struct adl_slurm_layout *layout, const char *name)
{
    size_t low = 0, high = layout->node_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(layout->nodes[middle].name, name);
        if (order == 0)
            return (uint32_t)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return ADL_NONE;
}

/* ---- partitions ---- */

static int add_member(struct adding *adding, uint32_t node)
{
    struct adl_layout_partition *partition = adding->partition;
    if (partition->node_count >= (size_t)2 * ADL_LAYOUT_NODES_MAX)
        return adl_fail(adding->err, ADL_EINVAL, "the partition lists its nodes too many times");
    if (adl_grow((void **)&partition->nodes, &partition->node_capacity, partition->node_count + 1,
                 sizeof *partition->nodes))
        return out_of_memory(adding->err);
    partition->nodes[partition->node_count++] = node;
    return 0;
}

static bool has_word(const char *list, const char *word)
{
    const size_t size = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == size && strncmp(at, word, size) == 0)
            return true;
    return false;
}

static int add_featured(struct adding *adding, const char *feature)
{
    const struct adl_slurm_layout *layout = adding->layout;
    for (uint32_t i = 0; i < layout->node_count; i++) {
        const struct adl_slurm_setting *has = adl_slurm_line_inherit(layout->conf, layout->nodes[i].line, "Feature");
        if (!has)
            has = adl_slurm_line_inherit(layout->conf, layout->nodes[i].line, "Features");
        const int status = has && has_word(has->value, feature) ? add_member(adding, i) : 0;
        if (status)
            return status;
    }
    return 0;
}

static int add_named(void *arg, const char *name);

/* True if there is a set of that name; *ret_status is then the status of adding it. */
static bool add_set(struct adding *adding, const char *name, int *ret_status)
{
    const struct adl_slurm_conf *conf = adding->layout->conf;
    for (size_t line = 0; line < conf->line_count && adding->depth < 4; line++) {
        if (!adl_slurm_line_is(conf, line, "NodeSet") ||
            strcmp(conf->settings[conf->lines[line].first].value, name) != 0)
            continue;
        const struct adl_slurm_setting *feature = adl_slurm_line_find(conf, line, "Feature");
        const struct adl_slurm_setting *nodes = adl_slurm_line_find(conf, line, "Nodes");
        adding->depth++;
        *ret_status = feature ? add_featured(adding, feature->value) : 0;
        if (*ret_status == 0 && nodes)
            *ret_status = expand(conf, nodes, add_named, adding);
        adding->depth--;
        return true;
    }
    return false;
}

static int add_named(void *arg, const char *name)
{
    struct adding *adding = arg;
    const uint32_t node = adl_layout_node_find(adding->layout, name);
    int status = 0;
    if (node != ADL_NONE)
        return add_member(adding, node);
    if (adl_slurm_same(name, "ALL")) {
        for (uint32_t i = 0; status == 0 && i < adding->layout->node_count; i++)
            status = add_member(adding, i);
        return status;
    }
    if (!add_set(adding, name, &status))
        snprintf(adding->partition->absent, sizeof adding->partition->absent, "%.63s", name);
    return status;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int read_members(struct adl_slurm_layout *layout, struct adl_layout_partition *partition, struct adl_error *err)
{
    const struct adl_slurm_setting *nodes = adl_slurm_line_inherit(layout->conf, partition->line, "Nodes");
    struct adding adding = {.layout = layout, .partition = partition, .err = err};
    const int status = nodes ? expand(layout->conf, nodes, add_named, &adding) : 0;
    size_t kept = 0;
    if (status)
        return status;
    if (partition->node_count > 0)
        qsort(partition->nodes, partition->node_count, sizeof *partition->nodes, by_number);
    for (size_t i = 0; i < partition->node_count; i++)
        if (kept == 0 || partition->nodes[kept - 1] != partition->nodes[i])
            partition->nodes[kept++] = partition->nodes[i];
    partition->node_count = kept;
    return 0;
}

static int read_partitions(const struct adl_slurm_conf *conf, struct adl_slurm_layout *layout, struct adl_error *err)
{
    for (size_t line = 0; line < conf->line_count; line++) {
        if (!adl_slurm_line_is(conf, line, "PartitionName") || is_default(conf, line))
            continue;
        if (adl_grow((void **)&layout->partitions, &layout->partition_capacity, layout->partition_count + 1,
                     sizeof *layout->partitions))
            return out_of_memory(err);
        struct adl_layout_partition *partition = &layout->partitions[layout->partition_count++];
        *partition = (struct adl_layout_partition){.name = conf->settings[conf->lines[line].first].value, .line = line};
        const int status = read_members(layout, partition, err);
        if (status)
            return status;
    }
    return 0;
}

int adl_slurm_layout_read(const struct adl_slurm_conf *conf, struct adl_slurm_layout *ret, struct adl_error *err)
{
    struct adl_slurm_layout layout = {.conf = conf};
    int status = read_nodes(conf, &layout, err);
    status = status ? status : read_partitions(conf, &layout, err);
    if (status)
        adl_slurm_layout_clear(&layout);
    else
        *ret = layout;
    return status;
}

void adl_slurm_layout_clear(struct adl_slurm_layout *layout)
{
    for (size_t i = 0; i < layout->node_count; i++)
        free(layout->nodes[i].name);
    for (size_t i = 0; i < layout->partition_count; i++)
        free(layout->partitions[i].nodes);
    free(layout->nodes);
    free(layout->partitions);
    *layout = (struct adl_slurm_layout){0};
}
