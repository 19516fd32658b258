#include "executor/inventory.h"

#include "scenario/scenario_internal.h"
#include "scenario/shipped.h"
#include "scenario/text_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VIRTUAL_MEMORY_MIB 16384
#define HOST_LINK_GBS      16.0 /* between GPUs on one host, if unknown: PCIe 3 */
#define HOST_NETWORK_GBS   1.25

struct adl_gpu_type adl_inventory_guess(void)
{
    struct adl_gpu_type guess = {.memory_mib = 8192, .fp16_tflops = 4};
    adl_gpu_type_complete(&guess);
    return guess;
}

static int add_virtual_type(struct adl_catalogue *catalogue, struct adl_error *err)
{
    if (adl_catalogue_find_type(catalogue, ADL_VIRTUAL_TYPE))
        return 0;
    struct adl_catalogue_type *types = adl_yaml_alloc(catalogue->yaml, (catalogue->type_count + 1) * sizeof *types);
    if (!types)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the catalogue");
    memcpy(types, catalogue->types, catalogue->type_count * sizeof *types);
    struct adl_gpu_type *gpu = &types[catalogue->type_count].gpu;
    *gpu = adl_inventory_guess();
    gpu->memory_mib = VIRTUAL_MEMORY_MIB;
    snprintf(gpu->name, sizeof gpu->name, "%s", ADL_VIRTUAL_TYPE);
    snprintf(gpu->vendor, sizeof gpu->vendor, "%s", ADL_VIRTUAL_TYPE);
    snprintf(gpu->source, sizeof gpu->source, "a slot without a GPU: all figures are assumed");
    catalogue->types = types;
    catalogue->type_count++;
    return 0;
}

int adl_inventory_catalogue(const char *path, struct adl_catalogue *ret, struct adl_error *err)
{
    struct adl_catalogue catalogue = {0};
    char *text = NULL;
    size_t size = 0;
    int status = 0;
    if (path) {
        status = adl_text_file_read(path, &text, &size, err);
        status = status ? status : adl_catalogue_parse(path, text, size, &catalogue, err);
        free(text);
    } else {
        const struct adl_shipped_file *shipped = adl_shipped_at("catalogue.yaml");
        assert(shipped);
        status = adl_catalogue_parse("the catalogue in the program", (const char *)shipped->text, shipped->size,
                                     &catalogue, err);
    }
    status = status ? status : add_virtual_type(&catalogue, err);
    if (status)
        adl_catalogue_clear(&catalogue);
    else
        *ret = catalogue;
    return status;
}

/* The host name without its domain, in characters that are allowed in names. */
static void read_host_name(char ret[ADL_NAME_SIZE])
{
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) != 0)
        name[0] = '\0';
    size_t length = 0;
    for (const char *at = name; *at && *at != '.' && length < ADL_NAME_SIZE - 1; at++) {
        const bool usual = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
                           *at == '-' || *at == '_';
        ret[length++] = *at;
        if (!usual)
            ret[length - 1] = '-';
    }
    ret[length] = '\0';
    if (length == 0 || ret[0] == '-' || ret[0] == '_')
        snprintf(ret, ADL_NAME_SIZE, "localhost");
}

static struct adl_node this_host(void)
{
    struct adl_node node = {.link_gbs = HOST_LINK_GBS};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    read_host_name(node.name);
    node.cpu_cores = cores > 0 && cores < INT32_MAX ? (int32_t)cores : 1;
    const double memory_mib = pages > 0 && page > 0 ? (double)pages * (double)page / 1048576.0 : 0;
    node.memory_mib = memory_mib >= 1 && memory_mib < INT32_MAX ? (int32_t)memory_mib : 1024;
    return node;
}

static int make_room(struct adl_inventory *inventory, uint32_t count, struct adl_error *err)
{
    inventory->gpus = calloc(count, sizeof *inventory->gpus);
    return inventory->gpus ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory for %u GPUs", (unsigned)count);
}

/* "box/v100/0": counted within the type, so that what is declared beside it does not change it. */
static void name_by_place(const struct adl_cluster *cluster, uint32_t gpu, char ret[ADL_GPU_ID_SIZE])
{
    const struct adl_bank *bank = &cluster->banks[cluster->gpu_bank[gpu]];
    char text[2 * ADL_NAME_SIZE + 16];
    snprintf(text, sizeof text, "%s/%s/%u", cluster->nodes[bank->node].name, cluster->types[bank->type].name,
             (unsigned)(gpu - bank->gpu_first));
    snprintf(ret, ADL_GPU_ID_SIZE, "%.*s", ADL_GPU_ID_SIZE - 1, text);
}

int adl_inventory_name_gpus(struct adl_inventory *inventory, const char *adjective, struct adl_error *err)
{
    const struct adl_cluster *cluster = &inventory->scenario.cluster;
    const int status = make_room(inventory, cluster->gpu_count, err);
    for (uint32_t i = 0; i < cluster->gpu_count && !status; i++) {
        struct adl_inventory_gpu *gpu = &inventory->gpus[i];
        const struct adl_gpu_type *type = &cluster->types[adl_gpu_type_of(cluster, i)];
        const bool slot = strcmp(type->name, ADL_VIRTUAL_TYPE) == 0;
        gpu->vendor = ADL_GPU_VIRTUAL;
        gpu->index = i - cluster->nodes[adl_gpu_node_of(cluster, i)].gpu_first;
        name_by_place(cluster, i, gpu->id);
        snprintf(gpu->device, sizeof gpu->device, "%u", (unsigned)gpu->index);
        snprintf(gpu->model, sizeof gpu->model, "%s %s", adjective, slot ? "slot" : type->name);
    }
    inventory->virtual = true;
    return status;
}

int adl_inventory_add_slots(struct adl_inventory *inventory, const struct adl_catalogue *catalogue,
                            struct adl_error *err)
{
    struct adl_cluster *cluster = &inventory->scenario.cluster;
    const struct adl_node node = this_host();
    const struct adl_bank_spec bank = {.type = 0, .gpu_count = ADL_VIRTUAL_SLOTS};
    cluster->network_gbs = HOST_NETWORK_GBS;
    int status = adl_cluster_add_type(cluster, &adl_catalogue_find_type(catalogue, ADL_VIRTUAL_TYPE)->gpu, err);
    status = status ? status : adl_cluster_add_node(cluster, &node, &bank, 1, err);
    return status ? status : adl_inventory_name_gpus(inventory, "virtual", err);
}

static const char *id_of(const struct adl_gpu_device *device)
{
    return device->uuid[0] ? device->uuid : device->pci;
}

static bool is_here(const struct adl_gpu_device *device)
{
    return device->node[0] == '\0';
}

/* A type's figures: the catalogue's if it has the type. The driver's figure of memory takes precedence if all GPUs of
 * the type here agree. */
static struct adl_gpu_type describe_type(const struct adl_catalogue *catalogue, const struct adl_gpu_device *devices,
                                         uint32_t count, uint32_t first)
{
    const struct adl_gpu_device *device = &devices[first];
    const struct adl_catalogue_type *known = adl_catalogue_find_type(catalogue, device->type);
    struct adl_gpu_type type = known ? known->gpu : adl_inventory_guess();
    if (!known) {
        snprintf(type.name, sizeof type.name, "%s", device->type);
        snprintf(type.vendor, sizeof type.vendor, "%s", device->vendor);
        snprintf(type.source, sizeof type.source,
                 "not in the catalogue: memory and power limit by its driver, the rest "
                 "assumed");
        if (device->limit_w > type.context_w)
            type.max_w = device->limit_w;
    }
    int64_t least_mib = INT64_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (is_here(&devices[i]) && strcmp(devices[i].type, device->type) == 0 && devices[i].memory_mib > 0 &&
            devices[i].memory_mib < least_mib)
            least_mib = devices[i].memory_mib;
    if (least_mib <= INT32_MAX)
        type.memory_mib = (int32_t)least_mib;
    return type;
}

static void describe_gpu(const struct adl_inventory *inventory, const struct adl_gpu_device *device, uint32_t index)
{
    struct adl_inventory_gpu *gpu = &inventory->gpus[index];
    gpu->vendor = strcmp(device->vendor, "amd") == 0 ? ADL_GPU_AMD : ADL_GPU_NVIDIA;
    gpu->index = index;
    snprintf(gpu->model, sizeof gpu->model, "%s", device->model);
    if (id_of(device)[0])
        snprintf(gpu->id, sizeof gpu->id, "%s", id_of(device));
    else
        name_by_place(&inventory->scenario.cluster, index, gpu->id);
    if (device->uuid[0])
        snprintf(gpu->device, sizeof gpu->device, "%s", device->uuid);
    else
        snprintf(gpu->device, sizeof gpu->device, "%u", (unsigned)device->index);
}

int adl_inventory_add_devices(struct adl_inventory *inventory, const struct adl_catalogue *catalogue,
                              const struct adl_gpu_device *devices, uint32_t count, struct adl_error *err)
{
    struct adl_cluster *cluster = &inventory->scenario.cluster;
    struct adl_bank_spec banks[ADL_TYPES_MAX] = {{0}};
    const struct adl_node node = this_host();
    int status = 0;
    for (uint32_t i = 0; i < count && !status; i++) {
        if (!is_here(&devices[i]))
            continue;
        uint32_t type = adl_cluster_find_type(cluster, devices[i].type);
        if (type == ADL_NONE) {
            const struct adl_gpu_type added = describe_type(catalogue, devices, count, i);
            type = cluster->type_count;
            status = adl_cluster_add_type(cluster, &added, err);
        }
        if (!status) {
            banks[type].type = type;
            banks[type].gpu_count++;
        }
    }
    cluster->network_gbs = HOST_NETWORK_GBS;
    status = status ? status : adl_cluster_add_node(cluster, &node, banks, cluster->type_count, err);
    status = status ? status : make_room(inventory, cluster->gpu_count, err);
    for (uint32_t t = 0, gpu = 0; t < cluster->type_count && !status; t++)
        for (uint32_t i = 0; i < count; i++)
            if (is_here(&devices[i]) && strcmp(devices[i].type, cluster->types[t].name) == 0)
                describe_gpu(inventory, &devices[i], gpu++);
    return status;
}

int adl_inventory_add_plain_class(struct adl_inventory *inventory)
{
    struct adl_scenario *scenario = &inventory->scenario;
    assert(!scenario->pair_speed && !scenario->gang_speed); /* which are indexed by class */
    struct adl_job_class *classes = realloc(scenario->classes, (scenario->class_count + 1) * sizeof *classes);
    if (!classes)
        return ADL_ENOMEM;
    memmove(classes + 1, classes, scenario->class_count * sizeof *classes);
    classes[0] = adl_scenario_plain_class("job", &scenario->cluster);
    scenario->classes = classes;
    scenario->class_count++;
    for (uint32_t i = 0; i < scenario->workload.mix_count; i++)
        scenario->workload.mix[i].class_index++;
    return 0;
}

void adl_inventory_clear(struct adl_inventory *inventory)
{
    adl_scenario_clear(&inventory->scenario);
    free(inventory->gpus);
    *inventory = (struct adl_inventory){0};
}

uint32_t adl_inventory_find(const struct adl_inventory *inventory, const char *id)
{
    for (uint32_t i = 0; i < inventory->scenario.cluster.gpu_count; i++)
        if (strcmp(inventory->gpus[i].id, id) == 0)
            return i;
    return ADL_NONE;
}

uint32_t adl_inventory_device_gpu(const struct adl_inventory *inventory, const struct adl_gpu_device *devices,
                                  uint32_t index)
{
    const struct adl_cluster *cluster = &inventory->scenario.cluster;
    if (id_of(&devices[index])[0])
        return adl_inventory_find(inventory, id_of(&devices[index]));
    uint32_t before = 0;
    for (uint32_t i = 0; i < index; i++)
        before += is_here(&devices[i]) && strcmp(devices[i].type, devices[index].type) == 0;
    for (uint32_t b = 0; b < cluster->bank_count && is_here(&devices[index]); b++)
        if (strcmp(cluster->types[cluster->banks[b].type].name, devices[index].type) == 0)
            return before < cluster->banks[b].gpu_count && !inventory->virtual ? cluster->banks[b].gpu_first + before
                                                                               : ADL_NONE;
    return ADL_NONE;
}
