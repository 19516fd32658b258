#include "powercap/gpu_limits.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NVML's ABI, as in the public nvml.h. */
struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *);
    int (*handle)(unsigned, void **);
    int (*uuid)(void *, char *, unsigned);
    int (*get)(void *, unsigned *);
    int (*range)(void *, unsigned *, unsigned *);
    int (*set)(void *, unsigned);
    const char *(*error)(int);
};

struct adl_gpu_limits {
    struct nvml nvml;
    struct adl_gpu_limit list[ADL_POWERCAP_GPUS_MAX];
    uint32_t count;
};

/* ---- NVIDIA ---- */

/* Newer drivers have some calls under a versioned name too. */
static bool find(void *library, const char *name, const char *older, void *ret)
{
    void *symbol = dlsym(library, name);
    symbol = symbol || !older ? symbol : dlsym(library, older);
    memcpy(ret, &symbol, sizeof symbol); /* ISO C has no conversion to a function */
    return symbol;
}

static bool load_nvml(struct nvml *nvml, const char *path)
{
    void *library = nvml->library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    return find(library, "nvmlInit_v2", "nvmlInit", &nvml->init) &&
           find(library, "nvmlShutdown", NULL, &nvml->shutdown) &&
           find(library, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", &nvml->count) &&
           find(library, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", &nvml->handle) &&
           find(library, "nvmlDeviceGetUUID", NULL, &nvml->uuid) &&
           find(library, "nvmlDeviceGetPowerManagementLimit", NULL, &nvml->get) &&
           find(library, "nvmlDeviceGetPowerManagementLimitConstraints", NULL, &nvml->range) &&
           find(library, "nvmlDeviceSetPowerManagementLimit", NULL, &nvml->set) &&
           find(library, "nvmlErrorString", NULL, &nvml->error) && nvml->init() == 0;
}

static void add_nvidia(struct adl_gpu_limits *limits)
{
    const struct nvml *nvml = &limits->nvml;
    unsigned count = 0;
    if (nvml->count(&count))
        return;
    for (unsigned i = 0; i < count && limits->count < ADL_POWERCAP_GPUS_MAX; i++) {
        struct adl_gpu_limit gpu = {.device = NULL};
        if (nvml->handle(i, &gpu.device) == 0 && nvml->uuid(gpu.device, gpu.id, sizeof gpu.id) == 0 &&
            nvml->get(gpu.device, &gpu.limit_mw) == 0 && nvml->range(gpu.device, &gpu.least_mw, &gpu.most_mw) == 0) {
            gpu.id[sizeof gpu.id - 1] = '\0';
            limits->list[limits->count++] = gpu;
        }
    }
}

/* ---- AMD ---- */

static bool read_small(const char *path, char *ret, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (fd >= 0)
        close(fd);
    ret[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* A file with microwatts. */
static bool read_uw(const char *folder, const char *name, uint32_t *ret_mw)
{
    char path[300], text[32], *end = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!read_small(path, text, sizeof text))
        return false;
    const unsigned long long value = strtoull(text, &end, 10);
    *ret_mw = (uint32_t)(value / 1000);
    return end != text && value <= 2500000000ull;
}

/* As the service names it (telemetry_amd.c): GPU- and its unique id, else its PCI address. */
static bool name_amd(const char *device, char ret[ADL_POWERCAP_ID_SIZE])
{
    char path[300], text[600];
    snprintf(path, sizeof path, "%s/unique_id", device);
    if (read_small(path, text, sizeof text) && strtoull(text, NULL, 16) != 0) {
        snprintf(ret, ADL_POWERCAP_ID_SIZE, "GPU-%016llx", strtoull(text, NULL, 16));
        return true;
    }
    snprintf(path, sizeof path, "%s/uevent", device);
    const char *slot = read_small(path, text, sizeof text) ? strstr(text, "PCI_SLOT_NAME=") : NULL;
    if (!slot)
        return false;
    slot += strlen("PCI_SLOT_NAME=");
    snprintf(ret, ADL_POWERCAP_ID_SIZE, "%.*s", (int)strcspn(slot, "\n"), slot);
    return true;
}

static void add_amd(struct adl_gpu_limits *limits, const char *device)
{
    char folder[300], vendor[16];
    snprintf(folder, sizeof folder, "%s/vendor", device);
    if (!read_small(folder, vendor, sizeof vendor) || strncmp(vendor, "0x1002", 6) != 0)
        return;
    snprintf(folder, sizeof folder, "%s/hwmon", device);
    DIR *names = opendir(folder);
    for (const struct dirent *it; names && (it = readdir(names)) && limits->count < ADL_POWERCAP_GPUS_MAX;) {
        struct adl_gpu_limit gpu = {.device = NULL};
        if (strncmp(it->d_name, "hwmon", 5) != 0 || strlen(it->d_name) > 16 ||
            (size_t)snprintf(folder, sizeof folder, "%s/hwmon/%s", device, it->d_name) >= sizeof gpu.path - 16)
            continue;
        snprintf(gpu.path, sizeof gpu.path, "%.180s/power1_cap", folder);
        if (read_uw(folder, "power1_cap", &gpu.limit_mw) && read_uw(folder, "power1_cap_max", &gpu.most_mw) &&
            name_amd(device, gpu.id)) {
            if (!read_uw(folder, "power1_cap_min", &gpu.least_mw))
                gpu.least_mw = 0;
            limits->list[limits->count++] = gpu;
        }
    }
    if (names)
        closedir(names);
}

static void list_amd(struct adl_gpu_limits *limits, const char *sysfs)
{
    char folder[120], device[200];
    snprintf(folder, sizeof folder, "%.80s/class/drm", sysfs ? sysfs : "/sys");
    DIR *cards = opendir(folder);
    for (const struct dirent *it; cards && (it = readdir(cards));)
        if (strncmp(it->d_name, "card", 4) == 0 && strspn(it->d_name + 4, "0123456789") == strlen(it->d_name + 4) &&
            strlen(it->d_name) < 16) {
            snprintf(device, sizeof device, "%s/%.16s/device", folder, it->d_name);
            add_amd(limits, device);
        }
    if (cards)
        closedir(cards);
}

/* ---- both ---- */

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct adl_gpu_limit *)a)->id, ((const struct adl_gpu_limit *)b)->id);
}

int adl_gpu_limits_open(const char *nvml, const char *sysfs, struct adl_gpu_limits **ret, struct adl_error *err)
{
    struct adl_gpu_limits *limits = calloc(1, sizeof *limits);
    if (!limits)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the limits of GPUs");
    if (load_nvml(&limits->nvml, nvml))
        add_nvidia(limits);
    list_amd(limits, sysfs);
    if (limits->count == 0) {
        adl_gpu_limits_close(limits);
        return adl_fail(err, ADL_EABSENT, "no GPU of this machine has a power limit that can be set");
    }
    qsort(limits->list, limits->count, sizeof *limits->list, by_id);
    *ret = limits;
    return 0;
}

void adl_gpu_limits_close(struct adl_gpu_limits *limits)
{
    if (!limits)
        return;
    if (limits->nvml.library && limits->nvml.shutdown)
        limits->nvml.shutdown();
    if (limits->nvml.library)
        dlclose(limits->nvml.library);
    free(limits);
}

const struct adl_gpu_limit *adl_gpu_limits_list(const struct adl_gpu_limits *limits, uint32_t *ret_count)
{
    *ret_count = limits->count;
    return limits->list;
}

const struct adl_gpu_limit *adl_gpu_limits_find(const struct adl_gpu_limits *limits, const char *id)
{
    for (uint32_t i = 0; i < limits->count; i++)
        if (strcmp(limits->list[i].id, id) == 0)
            return &limits->list[i];
    return NULL;
}

static int set_amd(const struct adl_gpu_limit *gpu, uint32_t limit_mw, struct adl_error *err)
{
    char text[24];
    const int size = snprintf(text, sizeof text, "%llu", 1000ull * limit_mw);
    const int fd = open(gpu->path, O_WRONLY | O_CLOEXEC | O_TRUNC);
    const bool written = fd >= 0 && write(fd, text, (size_t)size) == size;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    return written ? 0 : adl_fail(err, ADL_EIO, "%s: power1_cap cannot be written: %s", gpu->id, strerror(error));
}

int adl_gpu_limits_set(struct adl_gpu_limits *limits, const struct adl_gpu_limit *gpu, uint32_t limit_mw,
                       struct adl_error *err)
{
    if (limit_mw < gpu->least_mw || limit_mw > gpu->most_mw)
        return adl_fail(err, ADL_EREFUSED, "%s: its driver allows %u to %u W", gpu->id, gpu->least_mw / 1000,
                        gpu->most_mw / 1000);
    const int status = gpu->device ? limits->nvml.set(gpu->device, limit_mw) : 0;
    if (status)
        return adl_fail(err, ADL_EIO, "%s: NVML does not set its limit: %.100s", gpu->id, limits->nvml.error(status));
    const int result = gpu->device ? 0 : set_amd(gpu, limit_mw, err);
    if (result == 0)
        limits->list[gpu - limits->list].limit_mw = limit_mw;
    return result;
}
