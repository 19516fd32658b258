/* stub_nvml: a fake libnvidia-ml.so.1 with the ABI of the public nvml.h, told by its script what to answer. Built
 * twice: with the calls of a driver of today, and, with STUB_NVML_OLD, with those of one from before the versions _v2
 * and _v3. */
#include "stub_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct stub_nvml stub_nvml_script EXPORT;

/* The types as in nvml.h, written again on purpose: the reader's have to agree with it, not with themselves. */
typedef int nvmlReturn_t;
typedef struct stub_gpu *nvmlDevice_t;
typedef struct {
    unsigned long long total, free, used;
} nvmlMemory_t;
typedef struct {
    unsigned int gpu, memory;
} nvmlUtilization_t;
typedef struct {
    char busIdLegacy[16];
    unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;
typedef struct {
    char busId[16];
    unsigned int domain, bus, device, pciDeviceId;
} nvmlPciInfo_v1_t;
typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;
typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;
typedef struct {
    unsigned long long referenceTime, violationTime;
} nvmlViolationTime_t;
typedef struct {
    unsigned int fieldId, scopeId;
    long long timestamp, latencyUsec;
    unsigned int valueType;
    nvmlReturn_t nvmlReturn;
    union {
        double dVal;
        unsigned long long ullVal;
    } value;
} nvmlFieldValue_t;

enum {
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_INSUFFICIENT_SIZE = 7
};

#define CHECK(device, call)                                                                                            \
    do {                                                                                                               \
        if (!stub_nvml_script.initialized)                                                                             \
            return NVML_ERROR_UNINITIALIZED;                                                                           \
        if ((device)->all || (device)->status[call])                                                                   \
            return (device)->all ? (device)->all : (device)->status[call];                                             \
    } while (0)

/* For a test in another process: a script that is a file, read again and again. A line for each GPU: UUID, megabytes,
 * percent busy, degrees, milliwatts, 1 if it is lost, and the process on it or 0. All are A100. */
static void follow(void)
{
    static char uuids[STUB_GPUS_MAX][64];
    const char *path = getenv("STUB_NVML_FILE");
    FILE *file = path ? fopen(path, "r") : NULL;
    unsigned count = 0, memory_mib, busy, temperature_c, power_mw, lost, pid;
    char uuid[64];
    while (file && count < STUB_GPUS_MAX &&
           fscanf(file, "%63s %u %u %u %u %u %u", uuid, &memory_mib, &busy, &temperature_c, &power_mw, &lost, &pid) ==
               7) {
        struct stub_gpu *gpu = &stub_nvml_script.gpus[count];
        strcpy(uuids[count], uuid);
        *gpu = (struct stub_gpu){.name = "NVIDIA A100-SXM4-40GB",
                                 .uuid = uuids[count],
                                 .bus = 1 + count,
                                 .memory_total = (unsigned long long)memory_mib << 20,
                                 .busy = busy,
                                 .temperature_c = temperature_c,
                                 .power_mw = power_mw,
                                 .limit_mw = 400000,
                                 .clock_mhz = 1000,
                                 .clock_max_mhz = 1410,
                                 .process_count = pid > 0,
                                 .pids = {pid},
                                 .all = lost ? 15 : 0};
        count++;
    }
    if (file)
        fclose(file);
    if (count > 0)
        stub_nvml_script.count = count;
}

static nvmlReturn_t start(void)
{
    stub_nvml_script.init_count++;
    follow();
    if (stub_nvml_script.init_status)
        return stub_nvml_script.init_status;
    stub_nvml_script.initialized = true;
    return 0;
}

EXPORT nvmlReturn_t nvmlShutdown(void);
nvmlReturn_t nvmlShutdown(void)
{
    stub_nvml_script.shutdown_count++;
    stub_nvml_script.initialized = false;
    return 0;
}

EXPORT const char *nvmlErrorString(nvmlReturn_t status);
const char *nvmlErrorString(nvmlReturn_t status)
{
    return status == 9 ? "Driver Not Loaded" : status == 1 ? "Uninitialized" : "Unknown Error";
}

static nvmlReturn_t get_count(unsigned int *count)
{
    *count = stub_nvml_script.count;
    return stub_nvml_script.initialized ? 0 : NVML_ERROR_UNINITIALIZED;
}

static nvmlReturn_t get_handle(unsigned int index, nvmlDevice_t *device)
{
    if (index >= stub_nvml_script.count)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (stub_nvml_script.gpus[index].no_handle)
        return 15;
    *device = &stub_nvml_script.gpus[index];
    return 0;
}

static nvmlReturn_t copy(const char *text, char *to, unsigned int size)
{
    if (strlen(text) >= size)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(to, text);
    return 0;
}

EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length);
nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    return stub_nvml_script.version ? copy(stub_nvml_script.version, version, length) : NVML_ERROR_UNINITIALIZED;
}

EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int size);
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int size)
{
    return copy(device->name, name, size);
}

EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int size);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int size)
{
    return copy(device->uuid, uuid, size);
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    CHECK(device, STUB_MEMORY);
    *memory = (nvmlMemory_t){device->memory_total, device->memory_total - device->memory_used, device->memory_used};
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
    follow();
    CHECK(device, STUB_UTILIZATION);
    *rates = (nvmlUtilization_t){device->busy, device->memory_busy};
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *celsius);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *celsius)
{
    CHECK(device, STUB_TEMPERATURE);
    *celsius = device->temperature_c;
    return sensor == 0 ? 0 : NVML_ERROR_INVALID_ARGUMENT;
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts);
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts)
{
    CHECK(device, STUB_POWER);
    *milliwatts = device->power_mw;
    return 0;
}

/* Limits that were set outlive the process, as a driver keeps them: a file for each GPU. */
static FILE *open_limit(nvmlDevice_t device, const char *mode)
{
    const char *folder = getenv("STUB_NVML_LIMITS");
    char path[300];
    if (!folder)
        return NULL;
    snprintf(path, sizeof path, "%s/%s", folder, device->uuid);
    return fopen(path, mode);
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int *milliwatts);
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int *milliwatts)
{
    CHECK(device, STUB_POWER);
    *milliwatts = device->limit_mw;
    FILE *file = open_limit(device, "r");
    if (file && fscanf(file, "%u", milliwatts) != 1)
        *milliwatts = device->limit_mw;
    if (file)
        fclose(file);
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned int *least,
                                                                 unsigned int *most);
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned int *least, unsigned int *most)
{
    CHECK(device, STUB_POWER);
    *least = device->limit_mw / 4;
    *most = device->limit_mw;
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned int milliwatts);
nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned int milliwatts)
{
    CHECK(device, STUB_POWER);
    FILE *file = getenv("STUB_NVML_DENY") ? NULL : open_limit(device, "w");
    if (!file)
        return NVML_ERROR_NO_PERMISSION;
    fprintf(file, "%u\n", milliwatts);
    fclose(file);
    return milliwatts > device->limit_mw ? NVML_ERROR_INVALID_ARGUMENT : 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned int *mhz);
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned int *mhz)
{
    CHECK(device, STUB_CLOCK);
    *mhz = device->clock_mhz;
    return type == 1 ? 0 : NVML_ERROR_INVALID_ARGUMENT;
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned int *mhz);
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned int *mhz)
{
    CHECK(device, STUB_CLOCK);
    *mhz = device->clock_max_mhz;
    return type == 1 ? 0 : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t take(const unsigned *pids, unsigned have, unsigned *count, nvmlProcessInfo_t *to,
                         nvmlProcessInfo_v1_t *to_v1)
{
    const unsigned room = *count;
    *count = have;
    if (have > room)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < have; i++) {
        if (to)
            to[i] = (nvmlProcessInfo_t){pids[i], ~0ull, ~0u, ~0u};
        else
            to_v1[i] = (nvmlProcessInfo_v1_t){pids[i], ~0ull};
    }
    return 0;
}

#ifndef STUB_NVML_OLD

EXPORT nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlInit_v2(void)
{
    return start();
}

EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    return get_count(count);
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    return get_handle(index, device);
}

EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    *pci = (nvmlPciInfo_t){.bus = device->bus, .pciDeviceId = 0x20b010de};
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "0000:%02X:00.0", device->bus & 0xff);
    snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", device->bus & 0xff);
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *millijoules);
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *millijoules)
{
    CHECK(device, STUB_ENERGY);
    *millijoules = device->energy_mj;
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, int counter, unsigned int *kbs);
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, int counter, unsigned int *kbs)
{
    CHECK(device, STUB_PCIE);
    *kbs = counter == 0 ? device->sent_kbs : device->received_kbs;
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, int policy, nvmlViolationTime_t *time);
nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, int policy, nvmlViolationTime_t *time)
{
    CHECK(device, STUB_VIOLATION);
    *time = (nvmlViolationTime_t){device->reference_us, policy == 0 ? device->power_held_ns : device->thermal_held_ns};
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons);
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons)
{
    CHECK(device, STUB_REASONS);
    *reasons = device->reasons;
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values);
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    for (int i = 0; i < count; i++) {
        values[i].nvmlReturn = device->status[STUB_FIELDS];
        values[i].valueType = 3;
        if (values[i].scopeId != ~0u || (values[i].fieldId != 138 && values[i].fieldId != 139))
            values[i].nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
        values[i].value.ullVal = values[i].fieldId == 138 ? device->nvlink_tx_kib : device->nvlink_rx_kib;
    }
    return device->all;
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
                                                            nvmlProcessInfo_t *to);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *to)
{
    CHECK(device, STUB_PROCESSES);
    return take(device->pids, device->process_count, count, to, NULL);
}

EXPORT nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
                                                             nvmlProcessInfo_t *to);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *to)
{
    CHECK(device, STUB_PROCESSES);
    return take(device->graphics_pids, device->graphics_count, count, to, NULL);
}

#else

EXPORT nvmlReturn_t nvmlInit(void);
nvmlReturn_t nvmlInit(void)
{
    return start();
}

EXPORT nvmlReturn_t nvmlDeviceGetCount(unsigned int *count);
nvmlReturn_t nvmlDeviceGetCount(unsigned int *count)
{
    return get_count(count);
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
    return get_handle(index, device);
}

EXPORT nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v1_t *pci);
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v1_t *pci)
{
    *pci = (nvmlPciInfo_v1_t){.bus = device->bus};
    snprintf(pci->busId, sizeof pci->busId, "0000:%02X:00.0", device->bus & 0xff);
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons);
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons)
{
    CHECK(device, STUB_REASONS);
    *reasons = device->reasons;
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *count,
                                                         nvmlProcessInfo_v1_t *to);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_v1_t *to)
{
    CHECK(device, STUB_PROCESSES);
    return take(device->pids, device->process_count, count, NULL, to);
}

#endif
