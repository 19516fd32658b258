/* smi_nvidia: reads what `nvidia-smi -q -x` prints. The names of elements have changed over the years; all are read. */
#include "telemetry/smi_file.h"
#include "telemetry/xml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPU "nvidia_smi_log/gpu"
#define MIG GPU "/mig_devices/mig_device"

struct slice {
    uint32_t processors;
    int64_t memory_mib;
};

struct reader {
    struct adl_smi_file *file;
    struct adl_smi_gpu gpu; /* being read */
    struct slice slices[8];
    uint32_t slice_count;
    char driver[ADL_VERSION_SIZE];
    bool full; /* there are more than fit */
};

/* "81920 MiB", "16x", "N/A": the number at the start; 0 if there is none. */
static double number(const char *text)
{
    char *end;
    const double value = strtod(text, &end);
    return end != text && isfinite(value) && value > 0 && value < 1e9 ? value : 0;
}

static void begin(void *self, const char *path)
{
    struct reader *reader = self;
    if (strcmp(path, GPU) == 0) {
        reader->gpu = (struct adl_smi_gpu){.device = {.vendor = "nvidia"}};
        reader->slice_count = 0;
    } else if (strcmp(path, MIG) == 0 && reader->slice_count < sizeof reader->slices / sizeof *reader->slices) {
        reader->slices[reader->slice_count++] = (struct slice){0};
    }
}

static void slice_value(struct reader *reader, const char *key, const char *text)
{
    struct slice *slice = &reader->slices[reader->slice_count - 1];
    if (strcmp(key, "/device_attributes/shared/multiprocessor_count") == 0)
        slice->processors = (uint32_t)number(text);
    else if (strcmp(key, "/fb_memory_usage/total") == 0)
        slice->memory_mib = (int64_t)number(text);
}

/* The limit now is called power_limit in old files and current_power_limit in new ones. */
static void power_value(struct reader *reader, const char *key, const char *text)
{
    const char *last = strrchr(key, '/');
    const bool now = strcmp(last, "/power_limit") == 0 || strcmp(last, "/current_power_limit") == 0;
    const bool other = strcmp(last, "/enforced_power_limit") == 0 || strcmp(last, "/default_power_limit") == 0;
    if ((now || (other && reader->gpu.device.limit_w <= 0)) && number(text) > 0)
        reader->gpu.device.limit_w = number(text);
}

static void link_value(struct adl_pcie_link *link, const char *key, const char *text)
{
    const uint32_t value = adl_pcie_lanes(number(text)); /* generations are small numbers too */
    if (strcmp(key, "/pcie_gen/max_link_gen") == 0)
        link->generation_max = value;
    else if (strcmp(key, "/pcie_gen/current_link_gen") == 0)
        link->generation = value;
    else if (strcmp(key, "/link_widths/max_link_width") == 0)
        link->lanes_max = value;
    else if (strcmp(key, "/link_widths/current_link_width") == 0)
        link->lanes = value;
}

static void gpu_value(struct reader *reader, const char *key, const char *text)
{
    static const char link[] = "/pci/pci_gpu_link_info";
    struct adl_gpu_device *device = &reader->gpu.device;
    if (strcmp(key, "@id") == 0)
        (void)adl_pci_normalize(text, device->pci);
    else if (strcmp(key, "/product_name") == 0)
        snprintf(device->model, sizeof device->model, "%s", text);
    else if (strcmp(key, "/uuid") == 0 && strcmp(text, "N/A") != 0)
        snprintf(device->uuid, sizeof device->uuid, "%s", text);
    else if (strcmp(key, "/fb_memory_usage/total") == 0)
        device->memory_mib = (int64_t)number(text);
    else if (strncmp(key, link, sizeof link - 1) == 0)
        link_value(&reader->gpu.link, key + sizeof link - 1, text);
    else if (strncmp(key, "/power_readings/", 16) == 0 || strncmp(key, "/gpu_power_readings/", 20) == 0)
        power_value(reader, key, text);
}

static void value(void *self, const char *path, const char *text)
{
    struct reader *reader = self;
    if (strcmp(path, "nvidia_smi_log/driver_version") == 0)
        snprintf(reader->driver, sizeof reader->driver, "%s", text);
    else if (strncmp(path, MIG "/", sizeof MIG) == 0 && reader->slice_count > 0)
        slice_value(reader, path + sizeof MIG - 1, text);
    else if (strncmp(path, GPU, sizeof GPU - 1) == 0 && strncmp(path, MIG, sizeof MIG - 1) != 0)
        gpu_value(reader, path + sizeof GPU - 1, text);
}

static void add(struct reader *reader, const struct adl_smi_gpu *gpu)
{
    struct adl_smi_file *file = reader->file;
    reader->full = reader->full || file->count == ADL_SMI_GPUS_MAX;
    if (reader->full)
        return;
    struct adl_smi_gpu *added = &file->gpus[file->count];
    *added = *gpu;
    added->device.index = file->count++;
    snprintf(added->driver, sizeof added->driver, "%s", reader->driver);
    adl_gpu_name_shorten(added->device.model, added->device.type);
}

/* The file has a slice's processors and memory, but not the name of its profile. A slice of an A100 has 14 of them, one
 * of an H100 16, and some more where the chip has some left. */
static void add_slice(struct reader *reader, const struct slice *slice)
{
    struct adl_smi_gpu gpu = reader->gpu;
    const bool hopper = strstr(gpu.device.model, "H100") || strstr(gpu.device.model, "H200");
    uint32_t slices = (slice->processors + 2) / (hopper ? 16 : 14);
    slices = slices < 1 ? 1 : slices > 7 ? 7 : slices;
    const int64_t gib = (slice->memory_mib + 1023) / 1024;
    char model[sizeof gpu.device.model];
    snprintf(model, sizeof model, "%.70s MIG %ug.%lldgb", gpu.device.model, (unsigned)slices, (long long)(gib % 1000));
    memcpy(gpu.device.model, model, sizeof model);
    gpu.device.memory_mib = slice->memory_mib;
    gpu.device.limit_w = 0; /* the board's limit is not the slice's */
    gpu.device.uuid[0] = '\0';
    add(reader, &gpu);
}

static void end(void *self, const char *path)
{
    struct reader *reader = self;
    if (strcmp(path, GPU) != 0)
        return;
    for (uint32_t i = 0; i < reader->slice_count; i++)
        add_slice(reader, &reader->slices[i]);
    if (reader->slice_count == 0)
        add(reader, &reader->gpu);
}

int adl_smi_read_nvidia(const char *name, const char *data, size_t size, struct adl_smi_file *ret,
                        struct adl_error *err)
{
    struct reader reader = {.file = ret};
    const struct adl_xml_visitor visitor = {.self = &reader, .begin = begin, .value = value, .end = end};
    ret->count = 0;
    const int status = adl_xml_read(name, data, size, &visitor, err);
    if (status)
        return status;
    if (reader.full)
        return adl_fail(err, ADL_EINVAL, "%.120s: more than %u GPUs", name, ADL_SMI_GPUS_MAX);
    if (ret->count == 0)
        return adl_fail(err, ADL_EINVAL, "%.120s: no GPU in it (it must be the output of `nvidia-smi -q -x`)", name);
    return 0;
}
