/* from_slurm: nodes and GPUs of a Slurm cluster, by its configuration or by what sinfo prints. */
#include "base/index.h"
#include "cli/discover/findings.h"
#include "executor/slurm/hostlist.h"
#include "executor/slurm/slurm_layout.h"
#include "scenario/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BANK_COUNT_MAX 64u

static void add_gpus(struct adl_findings *findings, struct adl_found_node *node, const struct adl_layout_gpus *gpus)
{
    for (size_t i = 0; i < gpus->count; i++) {
        struct adl_smi_gpu gpu = {.device = {.index = 0}};
        const char *type = gpus->kinds[i].type;
        if (gpus->kinds[i].count == 0)
            continue;
        if (!*type)
            adl_findings_note(findings, "%s: Gres does not say which type its GPUs are (Gres=gpu:TYPE:N)", node->name);
        snprintf(gpu.device.model, sizeof gpu.device.model, "%s", *type ? type : "unknown");
        adl_gpu_name_shorten(gpu.device.model, gpu.device.type);
        const uint32_t count = gpus->kinds[i].count < BANK_COUNT_MAX ? (uint32_t)gpus->kinds[i].count : BANK_COUNT_MAX;
        adl_findings_add(findings, node, &gpu, count);
    }
}

/* ---- slurm.conf and gres.conf ---- */

static uint32_t setting_of(const struct adl_slurm_conf *conf, size_t line, const char *key)
{
    const struct adl_slurm_setting *setting = adl_slurm_line_inherit(conf, line, key);
    const unsigned long value = setting ? strtoul(setting->value, NULL, 10) : 0;
    return value < 100000000 ? (uint32_t)value : 0;
}

static uint32_t or_one(uint32_t value)
{
    return value ? value : 1;
}

static int32_t count_cores(const struct adl_slurm_conf *conf, size_t line)
{
    const uint32_t cpus = setting_of(conf, line, "CPUs"), sockets = setting_of(conf, line, "Sockets"),
                   cores = setting_of(conf, line, "CoresPerSocket"), threads = setting_of(conf, line, "ThreadsPerCore"),
                   boards = setting_of(conf, line, "Boards");
    if (cpus > 0 || (sockets == 0 && cores == 0))
        return cpus <= 65536 ? (int32_t)cpus : 0;
    const uint64_t all = (uint64_t)or_one(boards) * or_one(sockets) * or_one(cores) * or_one(threads);
    return all <= 65536 ? (int32_t)all : 0;
}

struct listing {
    const struct adl_slurm_layout *layout;
    const struct adl_slurm_conf *gres;
    struct adl_layout_gpus *listed; /* by node */
    size_t line;
};

static void list_line(struct listing *listing, uint32_t node)
{
    const struct adl_slurm_setting *type = adl_slurm_line_find(listing->gres, listing->line, "Type");
    adl_layout_gpus_add(&listing->listed[node], type ? type->value : "",
                        adl_layout_gres_count(listing->gres, listing->line));
}

static int list_node(void *arg, const char *name)
{
    struct listing *listing = arg;
    const uint32_t node = adl_layout_node_find(listing->layout, name);
    if (node != ADL_NONE)
        list_line(listing, node);
    return 0;
}

static bool states_gpus(const struct adl_slurm_layout *layout, uint32_t node)
{
    const struct adl_slurm_setting *gres = adl_slurm_line_inherit(layout->conf, layout->nodes[node].line, "Gres");
    return gres && strstr(gres->value, "gpu");
}

/* What gres.conf says of the nodes that it names. Lines without NodeName hold for nodes that have GPUs anyway. */
static int read_gres(struct listing *listing, struct adl_error *err)
{
    for (size_t line = 0; line < listing->gres->line_count; line++) {
        const struct adl_slurm_setting *name = adl_slurm_line_find(listing->gres, line, "Name");
        const struct adl_slurm_setting *nodes = adl_slurm_line_find(listing->gres, line, "NodeName");
        if (!name || !adl_slurm_same(name->value, "gpu"))
            continue;
        listing->line = line;
        const int status = nodes ? adl_hostlist_each(nodes->value, list_node, listing, err) : 0;
        if (status)
            return status;
        for (uint32_t i = 0; !nodes && i < listing->layout->node_count; i++)
            if (states_gpus(listing->layout, i))
                list_line(listing, i);
    }
    return 0;
}

/* slurm.conf counts; gres.conf may know the types. */
static int add_nodes(struct adl_findings *findings, const struct listing *listing, struct adl_error *err)
{
    const struct adl_slurm_layout *layout = listing->layout;
    for (uint32_t i = 0; i < layout->node_count; i++) {
        const size_t line = layout->nodes[i].line;
        const struct adl_slurm_setting *gres = adl_slurm_line_inherit(layout->conf, line, "Gres");
        struct adl_layout_gpus stated = {.count = 0};
        adl_layout_gpus_read(gres ? gres->value : NULL, &stated);
        const struct adl_layout_gpus *listed = &listing->listed[i];
        const bool better = listed->count > 0 && (stated.count == 0 || !adl_layout_gpus_typed(&stated)) &&
                            adl_layout_gpus_typed(listed);
        const struct adl_layout_gpus *gpus = better ? listed : &stated;
        if (adl_layout_gpus_total(gpus) == 0)
            continue;
        struct adl_found_node *node = adl_findings_node(findings, layout->nodes[i].name);
        if (!node)
            return adl_fail(err, ADL_ENOMEM, "out of memory");
        node->cpu_cores = count_cores(layout->conf, line);
        node->memory_mib = (int32_t)setting_of(layout->conf, line, "RealMemory");
        add_gpus(findings, node, gpus);
    }
    return 0;
}

static int read_layout(struct adl_findings *findings, const struct adl_slurm_layout *layout,
                       const struct adl_slurm_conf *gres, struct adl_error *err)
{
    struct listing listing = {.layout = layout, .gres = gres};
    listing.listed = calloc(layout->node_count + 1, sizeof *listing.listed);
    if (!listing.listed)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    int status = read_gres(&listing, err);
    status = status ? status : add_nodes(findings, &listing, err);
    free(listing.listed);
    return status;
}

static int read_files(struct adl_findings *findings, const char *path, const char *gres_path, struct adl_error *err)
{
    struct adl_slurm_conf conf = {0}, gres = {0};
    struct adl_slurm_layout layout = {0};
    const size_t before = findings->count;
    int status = adl_slurm_conf_load(path, &conf, err);
    if (!status && access(gres_path, F_OK) == 0)
        status = adl_slurm_conf_load(gres_path, &gres, err);
    status = status ? status : adl_slurm_layout_read(&conf, &layout, err);
    status = status ? status : read_layout(findings, &layout, &gres, err);
    if (!status && findings->count == before)
        status = adl_fail(err, ADL_EINVAL, "%.200s: none of its %zu nodes has GPUs (Gres=gpu:TYPE:N)", path,
                          layout.node_count);
    adl_slurm_layout_clear(&layout);
    adl_slurm_conf_clear(&gres);
    adl_slurm_conf_clear(&conf);
    return status;
}

int adl_discover_slurm(struct adl_findings *findings, const char *path, struct adl_error *err)
{
    char *gres_path = adl_path_beside(path, "gres.conf");
    if (!gres_path)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    const int status = read_files(findings, path, gres_path, err);
    free(gres_path);
    return status;
}

/* ---- sinfo ---- */

#define COLUMNS_MAX 32

struct table {
    int nodes, cores, memory, gres; /* columns; negative = absent */
};

static int cut(char *line, char *ret[COLUMNS_MAX])
{
    int count = 0;
    for (char *at = strtok(line, " \t\r"); at && count < COLUMNS_MAX; at = strtok(NULL, " \t\r"))
        ret[count++] = at;
    return count;
}

static int column(char *const *cells, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (adl_slurm_same(cells[i], name))
            return i;
    return -1;
}

struct row {
    struct adl_findings *findings;
    struct adl_layout_gpus gpus;
    int32_t cpu_cores, memory_mib;
};

/* sinfo prints a node once for each of its partitions. */
static int add_row(void *arg, const char *name)
{
    const struct row *row = arg;
    const size_t before = row->findings->count;
    struct adl_found_node *node = adl_findings_node(row->findings, name);
    if (!node)
        return ADL_ENOMEM;
    if (row->findings->count == before)
        return 0;
    node->cpu_cores = row->cpu_cores;
    node->memory_mib = row->memory_mib;
    add_gpus(row->findings, node, &row->gpus);
    return 0;
}

static int32_t cell_number(char *const *cells, int count, int at, unsigned long max)
{
    const unsigned long value = at >= 0 && at < count ? strtoul(cells[at], NULL, 10) : 0;
    return value <= max ? (int32_t)value : 0;
}

static int read_row(struct adl_findings *findings, const struct table *table, char *const *cells, int count,
                    struct adl_error *err)
{
    struct row row = {.findings = findings};
    if (table->nodes >= count || table->gres >= count)
        return 0;
    adl_layout_gpus_read(cells[table->gres], &row.gpus);
    if (adl_layout_gpus_total(&row.gpus) == 0)
        return 0;
    row.cpu_cores = cell_number(cells, count, table->cores, 65536);
    row.memory_mib = cell_number(cells, count, table->memory, 1000000000);
    return adl_hostlist_each(cells[table->nodes], add_row, &row, err);
}

int adl_discover_sinfo(struct adl_findings *findings, const char *path, struct adl_error *err)
{
    char *text = NULL, *cells[COLUMNS_MAX];
    size_t size = 0;
    struct table table = {.nodes = -1, .gres = -1};
    const size_t before = findings->count;
    int status = adl_text_file_read(path, &text, &size, err);
    for (char *line = text, *next; !status && line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        const int count = cut(line, cells);
        if (table.nodes < 0)
            table = (struct table){.nodes = column(cells, count, "NODELIST"),
                                   .cores = column(cells, count, "CPUS"),
                                   .memory = column(cells, count, "MEMORY"),
                                   .gres = column(cells, count, "GRES")};
        else
            status = read_row(findings, &table, cells, count, err);
        if (table.nodes >= 0 && table.gres < 0)
            break;
    }
    free(text);
    if (!status && findings->count == before)
        status = adl_fail(err, ADL_EINVAL,
                          "%.200s: no node with GPUs (it must be the output of `sinfo -N -o '%%N %%c "
                          "%%m %%G'`, with its first line)",
                          path);
    return status;
}
