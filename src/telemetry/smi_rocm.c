/* smi_rocm: reads what `rocm-smi -a --json` prints. Keys differ in case between versions. */
#include "telemetry/smi_file.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of a member, whatever the case of its key; NULL if there is none or no value. */
static const char *member(const cJSON *card, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(card, key));
    return text && *text && strcmp(text, "N/A") != 0 ? text : NULL;
}

static double number(const char *text)
{
    char *end;
    if (!text)
        return 0;
    const double value = strtod(text, &end);
    return end != text && isfinite(value) && value > 0 && value < 1e15 ? value : 0;
}

uint32_t adl_pcie_generation(double gts)
{
    static const double rates[] = {2.5, 5, 8, 16, 32, 64};
    for (uint32_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (fabs(gts - rates[i]) < 0.1 * rates[i])
            return i + 1;
    return 0;
}

uint32_t adl_pcie_lanes(double lanes)
{
    return lanes >= 1 && lanes <= 64 ? (uint32_t)lanes : 0;
}

double adl_pcie_rate(const struct adl_pcie_link *link)
{
    /* GB/s of a lane after its line code */
    static const double lane[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    const uint32_t generation = link->generation_max ? link->generation_max : link->generation;
    const uint32_t lanes = link->lanes ? link->lanes : link->lanes_max;
    return generation < sizeof lane / sizeof *lane ? lane[generation] * (double)lanes : 0;
}

/* "16.0GT/s x16": true if the text has one. */
static bool read_link(const char *text, uint32_t *ret_generation, uint32_t *ret_lanes)
{
    const char *unit = strstr(text, "GT/s x");
    if (!unit)
        return false;
    const char *from = unit;
    while (from > text && strchr("0123456789.", from[-1]))
        from--;
    *ret_generation = adl_pcie_generation(number(from));
    *ret_lanes = adl_pcie_lanes(number(unit + 6));
    return *ret_generation > 0 && *ret_lanes > 0;
}

/* The link now is a value of its own; the levels that it can have are among the numbered keys. */
static struct adl_pcie_link find_link(const cJSON *card)
{
    struct adl_pcie_link link = {0};
    const char *now = member(card, "pcie clock level");
    if (now)
        (void)read_link(now, &link.generation, &link.lanes);
    for (const cJSON *item = card->child; item; item = item->next) {
        uint32_t generation = 0, lanes = 0;
        const char *text = cJSON_GetStringValue(item);
        if (!text || !read_link(text, &generation, &lanes))
            continue;
        link.generation_max = generation > link.generation_max ? generation : link.generation_max;
        link.lanes_max = lanes > link.lanes_max ? lanes : link.lanes_max;
    }
    return link;
}

static const char *first_of(const cJSON *card, const char *a, const char *b)
{
    const char *text = member(card, a);
    return text ? text : member(card, b);
}

/* The name of a product: of its own if the tool has one, else by the device's number, else what stands in brackets
 * behind the chip's name ("Navi 22 [Radeon RX 6700 XT]"). */
static void name_model(const cJSON *card, struct adl_gpu_device *device)
{
    const char *series = first_of(card, "Card series", "Device Name");
    const char *id = first_of(card, "GPU ID", "Device ID");
    const char *known = id ? adl_gpu_name_amd((uint32_t)strtoul(id, NULL, 16), device->memory_mib) : NULL;
    const char *bracket = series ? strchr(series, '[') : NULL;
    const bool product = series && !bracket && strncmp(series, "0x", 2) != 0;
    if (product || (!known && !bracket))
        snprintf(device->model, sizeof device->model, "%s", product ? series : id ? id : "AMD GPU");
    else if (known)
        snprintf(device->model, sizeof device->model, "%s", known);
    else
        snprintf(device->model, sizeof device->model, "%.*s", (int)strcspn(bracket + 1, "]"), bracket + 1);
}

static void read_card(const cJSON *card, struct adl_smi_gpu *gpu)
{
    struct adl_gpu_device *device = &gpu->device;
    const char *pci = member(card, "PCI Bus"), *unique = member(card, "Unique ID");
    snprintf(device->vendor, sizeof device->vendor, "amd");
    /* A little less than nominal, as drivers report it. */
    device->memory_mib = (int64_t)(number(member(card, "VRAM Total Memory (B)")) / 1048576.0);
    device->limit_w = number(first_of(card, "Max Graphics Package Power (W)", "Max Package Power (W)"));
    if (pci)
        (void)adl_pci_normalize(pci, device->pci);
    if (unique)
        snprintf(device->uuid, sizeof device->uuid, "%s", unique);
    gpu->link = find_link(card);
    name_model(card, device);
    adl_gpu_name_shorten(device->model, device->type);
}

int adl_smi_read_rocm(const char *name, const char *data, size_t size, struct adl_smi_file *ret, struct adl_error *err)
{
    const char *brace = memchr(data, '{', size); /* the tool prints warnings before it */
    cJSON *root = brace ? cJSON_ParseWithLength(brace, size - (size_t)(brace - data)) : NULL;
    const char *driver = member(cJSON_GetObjectItem(root, "system"), "Driver version");
    bool full = false;
    ret->count = 0;
    for (const cJSON *card = root ? root->child : NULL; card; card = card->next) {
        if (!cJSON_IsObject(card) || !card->string || strncmp(card->string, "card", 4) != 0)
            continue;
        full = full || ret->count == ADL_SMI_GPUS_MAX;
        if (full)
            break;
        struct adl_smi_gpu *gpu = &ret->gpus[ret->count];
        *gpu = (struct adl_smi_gpu){.device = {.index = ret->count}};
        snprintf(gpu->driver, sizeof gpu->driver, "%s", driver ? driver : "");
        read_card(card, gpu);
        ret->count++;
    }
    const bool parsed = root != NULL;
    cJSON_Delete(root);
    if (full)
        return adl_fail(err, ADL_EINVAL, "%.120s: more than %u GPUs", name, ADL_SMI_GPUS_MAX);
    if (ret->count == 0)
        return adl_fail(err, ADL_EINVAL, "%.120s: %s (it must be the output of `rocm-smi -a --json`)", name,
                        parsed ? "no card in it" : "no JSON");
    return 0;
}
