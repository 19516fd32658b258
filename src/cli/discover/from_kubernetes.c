/* from_kubernetes: nodes and GPUs of a Kubernetes cluster, by `kubectl get nodes -o json`. */
#include "cli/discover/findings.h"
#include "scenario/text_file.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_at(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text && *text ? text : NULL;
}

/* "8", "95500m", "1056Gi", "128000Ki": a quantity in Kubernetes' notation; 0 if it is none. */
static double quantity(const char *text)
{
    static const struct {
        const char *suffix;
        double factor;
    } suffixes[] = {{"", 1},     {"m", 1e-3},  {"k", 1e3},        {"M", 1e6},           {"G", 1e9},
                    {"T", 1e12}, {"Ki", 1024}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0}};
    char *end;
    if (!text)
        return 0;
    const double value = strtod(text, &end);
    for (size_t i = 0; end != text && isfinite(value) && value > 0 && i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(end, suffixes[i].suffix) == 0)
            return value * suffixes[i].factor;
    return 0;
}

static uint32_t count_of(const cJSON *capacity, const char *resource)
{
    const double count = quantity(text_at(capacity, resource));
    return count >= 1 && count <= 64 ? (uint32_t)count : 0;
}

static const char *first_label(const cJSON *labels, const char *const *keys)
{
    for (; *keys; keys++)
        if (text_at(labels, *keys))
            return text_at(labels, *keys);
    return NULL;
}

/* "nvidia-tesla-t4" and "NVIDIA-A100-SXM4-80GB" are names with dashes in place of blanks. */
static struct adl_smi_gpu describe(const char *vendor, const char *product, const char *slice, double memory_mib)
{
    struct adl_smi_gpu gpu = {.device = {.memory_mib = (int64_t)memory_mib}};
    snprintf(gpu.device.vendor, sizeof gpu.device.vendor, "%s", vendor);
    snprintf(gpu.device.model, sizeof gpu.device.model, "%.60s%s%.20s", product, slice ? " MIG " : "",
             slice ? slice : "");
    adl_gpu_name_shorten(gpu.device.model, gpu.device.type);
    return gpu;
}

static void add_slices(struct adl_findings *findings, struct adl_found_node *node, const cJSON *capacity,
                       const char *product)
{
    static const char prefix[] = "nvidia.com/mig-";
    for (const cJSON *item = capacity ? capacity->child : NULL; item; item = item->next) {
        if (!item->string || strncmp(item->string, prefix, sizeof prefix - 1) != 0)
            continue;
        const struct adl_smi_gpu gpu = describe("nvidia", product, item->string + sizeof prefix - 1, 0);
        const uint32_t count = count_of(capacity, item->string);
        if (count > 0)
            adl_findings_add(findings, node, &gpu, count);
    }
}

static void add_gpus(struct adl_findings *findings, struct adl_found_node *node, const cJSON *labels,
                     const cJSON *capacity)
{
    static const char *const nvidia[] = {"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator",
                                         "k8s.amazonaws.com/accelerator", NULL};
    static const char *const amd[] = {"amd.com/gpu.product-name", "beta.amd.com/gpu.product-name", "amd.com/gpu.family",
                                      NULL};
    const char *product = first_label(labels, nvidia), *amd_product = first_label(labels, amd);
    const uint32_t whole = count_of(capacity, "nvidia.com/gpu"), radeon = count_of(capacity, "amd.com/gpu");
    if (whole > 0 && !product)
        adl_findings_note(findings, "%s: no label nvidia.com/gpu.product says which type its GPUs are", node->name);
    if (radeon > 0 && !amd_product)
        adl_findings_note(findings, "%s: no label amd.com/gpu.product-name says which type its GPUs are", node->name);
    const struct adl_smi_gpu gpu =
        describe("nvidia", product ? product : "unknown", NULL, quantity(text_at(labels, "nvidia.com/gpu.memory")));
    const struct adl_smi_gpu other = describe("amd", amd_product ? amd_product : "unknown", NULL, 0);
    if (whole > 0)
        adl_findings_add(findings, node, &gpu, whole);
    if (radeon > 0)
        adl_findings_add(findings, node, &other, radeon);
    add_slices(findings, node, capacity, product ? product : "unknown");
}

static bool has_gpus(const cJSON *capacity)
{
    for (const cJSON *item = capacity ? capacity->child : NULL; item; item = item->next)
        if (item->string &&
            (strcmp(item->string, "nvidia.com/gpu") == 0 || strcmp(item->string, "amd.com/gpu") == 0 ||
             strncmp(item->string, "nvidia.com/mig-", 15) == 0) &&
            count_of(capacity, item->string) > 0)
            return true;
    return false;
}

static int read_node(struct adl_findings *findings, const cJSON *item, struct adl_error *err)
{
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(item, "metadata");
    const cJSON *labels = cJSON_GetObjectItemCaseSensitive(metadata, "labels");
    const cJSON *capacity =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(item, "status"), "capacity");
    const char *name = text_at(metadata, "name");
    if (!name || !has_gpus(capacity))
        return 0;
    struct adl_found_node *node = adl_findings_node(findings, name);
    if (!node)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    const double cores = quantity(text_at(capacity, "cpu")), bytes = quantity(text_at(capacity, "memory"));
    node->cpu_cores = cores <= 65536 ? (int32_t)cores : 0;
    node->memory_mib = bytes <= 1e15 ? (int32_t)(bytes / 1048576.0) : 0;
    add_gpus(findings, node, labels, capacity);
    return 0;
}

int adl_discover_kubernetes(struct adl_findings *findings, const char *path, struct adl_error *err)
{
    char *text = NULL;
    size_t size = 0;
    const size_t before = findings->count;
    int status = adl_text_file_read(path, &text, &size, err);
    if (status)
        return status;
    cJSON *root = cJSON_ParseWithLength(text, size);
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(root, "items");
    for (const cJSON *item = items ? items->child : root; item && !status; item = items ? item->next : NULL)
        status = read_node(findings, item, err);
    if (!status && findings->count == before)
        status = adl_fail(err, ADL_EINVAL, "%.200s: %s (it must be the output of `kubectl get nodes -o json`)", path,
                          root ? "no node with GPUs" : "no JSON");
    cJSON_Delete(root);
    free(text);
    return status;
}
