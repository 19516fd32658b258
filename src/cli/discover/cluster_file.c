/* cluster_file: what was found, as a cluster file or as JSON. */
#include "base/json.h"
#include "cli/discover/findings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KINDS_MAX      32u
#define NETWORK_GBS    1.25
#define LINK_GBS       16.0 /* PCI Express 3 */
#define CORES_PER_GPU  8
#define MEMORY_PER_GPU 4 /* host memory as a multiple of the GPU's */

/* A GPU type of the file: the catalogue's, or one that the file describes. */
struct kind {
    char name[ADL_NAME_SIZE];
    const struct adl_gpu_type *known; /* NULL = the catalogue does not have it */
    const struct adl_gpu_device *device;
    bool described; /* in the file, because the catalogue's figures differ */
};

struct kinds {
    struct kind items[KINDS_MAX];
    uint32_t count;
};

/* More than a driver's reserve or a rounded figure. */
static bool differs(double found, double known)
{
    return found > 0 && known > 0 && fabs(found / known - 1) > 0.1;
}

static bool is_same(const struct adl_gpu_device *a, const struct adl_gpu_device *b)
{
    return strcmp(a->type, b->type) == 0 && !differs((double)a->memory_mib, (double)b->memory_mib) &&
           !differs(a->limit_w, b->limit_w);
}

static bool is_taken(const struct kinds *kinds, const char *name)
{
    for (uint32_t i = 0; i < kinds->count; i++)
        if (strcmp(kinds->items[i].name, name) == 0)
            return true;
    return false;
}

/* "a100", or "a100-80gb" where there is another, or "a100-80gb-300w". */
static void name_kind(const struct kinds *kinds, const struct adl_gpu_device *device, char ret[ADL_NAME_SIZE])
{
    const long long gib = (device->memory_mib + 1023) / 1024;
    snprintf(ret, ADL_NAME_SIZE, "%s", device->type);
    if (is_taken(kinds, ret))
        snprintf(ret, ADL_NAME_SIZE, "%.24s-%lldgb", device->type, gib);
    if (is_taken(kinds, ret))
        snprintf(ret, ADL_NAME_SIZE, "%.20s-%lldgb-%.0fw", device->type, gib, device->limit_w);
}

/* NULL if there are more than a cluster may have. */
static const struct kind *find_kind(struct kinds *kinds, const struct adl_catalogue *catalogue,
                                    const struct adl_gpu_device *device)
{
    for (uint32_t i = 0; i < kinds->count; i++)
        if (is_same(kinds->items[i].device, device))
            return &kinds->items[i];
    if (kinds->count == KINDS_MAX)
        return NULL;
    const struct adl_catalogue_type *type = adl_catalogue_find_type(catalogue, device->type);
    struct kind *kind = &kinds->items[kinds->count];
    *kind = (struct kind){.known = type ? &type->gpu : NULL, .device = device};
    name_kind(kinds, device, kind->name);
    kind->described = !kind->known || strcmp(kind->name, device->type) != 0 ||
                      differs((double)device->memory_mib, kind->known->memory_mib) ||
                      differs(device->limit_w, kind->known->max_w);
    kinds->count++;
    return kind;
}

static void write_figure(struct adl_text *text, const char *key, double value)
{
    if (value <= 0)
        return;
    adl_text_printf(text, ", %s: ", key);
    adl_text_real(text, value);
}

/* Text for a comment or between double quotes. */
static void write_plain(struct adl_text *text, const char *string)
{
    for (; *string; string++)
        adl_text_char(text, (unsigned char)*string < 0x20 || *string == '"' || *string == '\\' || *string == 0x7f
                                ? '?'
                                : *string);
}

static void write_kind(struct adl_findings *findings, const struct kind *kind, struct adl_text *text)
{
    const struct adl_gpu_device *device = kind->device;
    const double memory = device->memory_mib > 0 ? (double)device->memory_mib
                          : kind->known          ? kind->known->memory_mib
                                                 : 8192;
    adl_text_printf(text, "  - {name: %s", kind->name);
    if (kind->known)
        adl_text_printf(text, ", like: %s", kind->known->name);
    else if (device->vendor[0])
        adl_text_printf(text, ", vendor: %s", device->vendor);
    write_figure(text, "memory_mib", memory);
    write_figure(text, "max_w", device->limit_w);
    adl_text_put(text, ", source: \"driver: ");
    write_plain(text, device->model);
    adl_text_put(text, "\"}\n");
    if (kind->known)
        return;
    adl_findings_note(findings,
                      "gpu_types: the catalogue does not have '%s': give its bandwidth_gbs, fp32_tflops and max_w, or "
                      "'like: TYPE' of `adlro gpus`; until then its speed is assumed to be low",
                      kind->name);
    if (device->memory_mib <= 0)
        adl_findings_note(findings, "gpu_types: nothing says how much memory '%s' has: 8192 MiB are assumed",
                          kind->name);
}

static void write_types(struct adl_findings *findings, const struct kinds *kinds, struct adl_text *text)
{
    bool any = false;
    for (uint32_t i = 0; i < kinds->count; i++) {
        if (!kinds->items[i].described)
            continue;
        if (!any)
            adl_text_put(text, "gpu_types:\n");
        any = true;
        write_kind(findings, &kinds->items[i], text);
    }
}

/* The slowest link of the node's GPUs; 0 if none is known. */
static double link_rate(const struct adl_found_node *node)
{
    double least = 0;
    for (uint32_t i = 0; i < node->bank_count; i++) {
        const double rate = adl_pcie_rate(&node->banks[i].gpu.link);
        if (rate > 0 && (least <= 0 || rate < least))
            least = rate;
    }
    return least;
}

static uint32_t count_gpus(const struct adl_found_node *node, double *ret_memory_mib)
{
    uint32_t gpus = 0;
    *ret_memory_mib = 0;
    for (uint32_t i = 0; i < node->bank_count; i++) {
        gpus += node->banks[i].count;
        *ret_memory_mib +=
            (double)node->banks[i].count *
            (double)(node->banks[i].gpu.device.memory_mib > 0 ? node->banks[i].gpu.device.memory_mib : 16384);
    }
    return gpus;
}

static void write_bank_comment(const struct adl_found_bank *bank, struct adl_text *text)
{
    const struct adl_smi_gpu *gpu = &bank->gpu;
    const uint32_t generation = gpu->link.generation_max ? gpu->link.generation_max : gpu->link.generation;
    const uint32_t lanes = gpu->link.lanes ? gpu->link.lanes : gpu->link.lanes_max;
    adl_text_printf(text, "    # %u x ", (unsigned)bank->count);
    write_plain(text, gpu->device.model);
    if (gpu->device.memory_mib > 0)
        adl_text_printf(text, ", %lld MiB", (long long)gpu->device.memory_mib);
    if (gpu->device.limit_w > 0) {
        adl_text_put(text, ", ");
        adl_text_real(text, gpu->device.limit_w);
        adl_text_put(text, " W");
    }
    if (generation && lanes)
        adl_text_printf(text, ", PCIe %u.0 x%u", (unsigned)generation, (unsigned)lanes);
    if (gpu->driver[0]) {
        adl_text_put(text, ", driver ");
        write_plain(text, gpu->driver);
    }
    adl_text_char(text, '\n');
}

/* How many nodes lack something, for the notes. */
struct unknown {
    size_t cores, memory, links;
};

static void write_node(const struct adl_found_node *node, const struct adl_catalogue *catalogue, struct kinds *kinds,
                       struct unknown *unknown, struct adl_text *text)
{
    double gpu_memory;
    const uint32_t gpus = count_gpus(node, &gpu_memory);
    const double link = link_rate(node);
    unknown->cores += node->cpu_cores <= 0;
    unknown->memory += node->memory_mib <= 0;
    unknown->links += link <= 0;
    for (uint32_t i = 0; i < node->bank_count; i++)
        write_bank_comment(&node->banks[i], text);
    adl_text_printf(text, "    - {name: %s, cpu_cores: %lld, memory_mib: %.0f, link_gbs: ", node->name,
                    (long long)(node->cpu_cores > 0 ? node->cpu_cores : CORES_PER_GPU * (long long)gpus),
                    node->memory_mib > 0 ? (double)node->memory_mib : floor(MEMORY_PER_GPU * gpu_memory));
    adl_text_fixed(text, link > 0 ? link : LINK_GBS, 1);
    adl_text_put(text, ", gpus: [");
    for (uint32_t i = 0, written = 0; i < node->bank_count; i++) {
        const struct kind *kind = find_kind(kinds, catalogue, &node->banks[i].gpu.device);
        if (kind)
            adl_text_printf(text, "%s{type: %s, count: %u}", written++ ? ", " : "", kind->name,
                            (unsigned)node->banks[i].count);
    }
    adl_text_put(text, "]}\n");
}

static void note_unknown(struct adl_findings *findings, const struct unknown *unknown)
{
    if (unknown->cores > 0)
        adl_findings_note(findings, "cluster.nodes: cpu_cores of %zu node%s not known: %d for each GPU are assumed",
                          unknown->cores, unknown->cores == 1 ? " is" : "s is", CORES_PER_GPU);
    if (unknown->memory > 0)
        adl_findings_note(findings,
                          "cluster.nodes: host memory of %zu node%s not known: %d times the memory of the GPUs is "
                          "assumed",
                          unknown->memory, unknown->memory == 1 ? " is" : "s is", MEMORY_PER_GPU);
    if (unknown->links > 0)
        adl_findings_note(findings, "cluster.nodes: link_gbs of %zu node%s not known: 16 GB/s (PCIe 3) is assumed",
                          unknown->links, unknown->links == 1 ? " is" : "s is");
    adl_findings_note(findings,
                      "cluster.nodes: link_gbs is that of PCI Express: if NVLink or Infinity Fabric joins the "
                      "GPUs of a node, write its rate");
    adl_findings_note(findings,
                      "cluster.network_gbs: nothing says how fast the network between nodes is: %.2f GB/s (10 "
                      "Gbit/s) is assumed",
                      NETWORK_GBS);
}

static void write_notes(const struct adl_text *notes, struct adl_text *text)
{
    const char *at = notes->data ? notes->data : "";
    if (*at)
        adl_text_put(text, "#\n# To check:\n");
    while (*at) {
        const size_t length = strcspn(at, "\n");
        adl_text_put(text, "# - ");
        adl_text_bytes(text, at, length);
        adl_text_char(text, '\n');
        at += length + (at[length] == '\n');
    }
}

void adl_findings_write(struct adl_findings *findings, const struct adl_catalogue *catalogue, const char *name,
                        const char *source, struct adl_text *text)
{
    struct kinds kinds = {.count = 0};
    struct unknown unknown = {0};
    struct adl_text nodes = {0}, types = {0};
    uint64_t gpus = 0;
    double memory;
    for (size_t i = 0; i < findings->count; i++) {
        write_node(&findings->nodes[i], catalogue, &kinds, &unknown, &nodes);
        gpus += count_gpus(&findings->nodes[i], &memory);
    }
    write_types(findings, &kinds, &types);
    note_unknown(findings, &unknown);
    adl_text_put(text, "# Written by `adlro discover` from ");
    write_plain(text, source);
    adl_text_put(text, ".\n");
    write_notes(&findings->notes, text);
    adl_text_printf(text, "name: %s\ndescription: %llu GPU%s in %zu node%s.\ncatalogue: catalogue.yaml\n", name,
                    (unsigned long long)gpus, gpus == 1 ? "" : "s", findings->count, findings->count == 1 ? "" : "s");
    adl_text_put(text, types.data ? types.data : "");
    adl_text_put(text, "cluster:\n  network_gbs: ");
    adl_text_real(text, NETWORK_GBS);
    adl_text_put(text, "\n  nodes:\n");
    adl_text_put(text, nodes.data ? nodes.data : "");
    if (adl_text_status(&nodes) || adl_text_status(&types))
        text->failed = true;
    adl_text_clear(&nodes);
    adl_text_clear(&types);
}

/* ---- JSON ---- */

static void put_count(struct adl_json *json, const char *key, int64_t value)
{
    adl_json_key(json, key);
    if (value > 0)
        adl_json_int(json, value);
    else
        adl_json_null(json);
}

static void put_figure(struct adl_json *json, const char *key, double value)
{
    adl_json_put_real(json, key, value > 0 ? value : NAN);
}

static void put_bank(struct adl_json *json, const struct adl_catalogue *catalogue, const struct adl_found_bank *bank)
{
    const struct adl_smi_gpu *gpu = &bank->gpu;
    adl_json_object(json);
    adl_json_put_uint(json, "count", bank->count);
    adl_json_put_string(json, "model", gpu->device.model);
    adl_json_put_string(json, "type", gpu->device.type);
    adl_json_put_bool(json, "in_catalogue", adl_catalogue_find_type(catalogue, gpu->device.type) != NULL);
    adl_json_put_string(json, "vendor", gpu->device.vendor[0] ? gpu->device.vendor : NULL);
    put_count(json, "memory_mib", gpu->device.memory_mib);
    put_figure(json, "power_limit_w", gpu->device.limit_w);
    put_count(json, "pcie_generation", gpu->link.generation);
    put_count(json, "pcie_generation_max", gpu->link.generation_max);
    put_count(json, "pcie_lanes", gpu->link.lanes);
    put_count(json, "pcie_lanes_max", gpu->link.lanes_max);
    put_figure(json, "link_gbs", adl_pcie_rate(&gpu->link));
    adl_json_put_string(json, "driver", gpu->driver[0] ? gpu->driver : NULL);
    adl_json_end(json);
}

void adl_findings_write_json(const struct adl_findings *findings, const struct adl_catalogue *catalogue,
                             struct adl_text *text)
{
    struct adl_json json = adl_json_start(text, true);
    adl_json_object(&json);
    adl_json_key(&json, "nodes");
    adl_json_array(&json);
    for (size_t i = 0; i < findings->count; i++) {
        const struct adl_found_node *node = &findings->nodes[i];
        adl_json_object(&json);
        adl_json_put_string(&json, "name", node->name);
        put_count(&json, "cpu_cores", node->cpu_cores);
        put_count(&json, "memory_mib", node->memory_mib);
        adl_json_key(&json, "gpus");
        adl_json_array(&json);
        for (uint32_t b = 0; b < node->bank_count; b++)
            put_bank(&json, catalogue, &node->banks[b]);
        adl_json_end(&json);
        adl_json_end(&json);
    }
    adl_json_end(&json);
    adl_json_end(&json);
    adl_text_char(text, '\n');
}
