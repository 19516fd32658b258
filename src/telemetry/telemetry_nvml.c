/* telemetry_nvml: NVIDIA GPUs through NVML, loaded at run time. The ABI of NVIDIA's public nvml.h; only what is used is
 * declared here. Names with _v2 and _v3 are newer versions of a call; older drivers lack them. */
#include "telemetry/telemetry_source.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { /* nvmlReturn_t */
       OK = 0,
       UNINITIALIZED = 1,
       NOT_SUPPORTED = 3,
       NO_PERMISSION = 4,
       INSUFFICIENT_SIZE = 7,
       DRIVER_NOT_LOADED = 9,
       FUNCTION_NOT_FOUND = 13,
       GPU_IS_LOST = 15,
       RESET_REQUIRED = 16,
       LIB_RM_VERSION_MISMATCH = 18,
       NO_DATA = 21,
};

enum {
    TEMPERATURE_GPU = 0, /* nvmlTemperatureSensors_t */
    CLOCK_SM = 1,        /* nvmlClockType_t */
    PCIE_TX = 0,         /* nvmlPcieUtilCounter_t */
    PCIE_RX = 1,
    POLICY_POWER = 0, /* nvmlPerfPolicyType_t */
    POLICY_THERMAL = 1,
    NVLINK_DATA_TX = 138, /* field ids, KiB since the driver was loaded */
    NVLINK_DATA_RX = 139,
    VALUE_ULL = 3, /* nvmlValueType_t */
};

/* Reasons for a reduced clock other than the user's request or idleness: power cap, hardware slowdown, software and
 * hardware thermal slowdown, power brake. */
static const unsigned long long THROTTLED_BY = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};

struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};

/* The start is the same in all versions: the address has 16 characters; since v3 a longer copy is at the end. */
struct nvml_pci {
    char bus_legacy[16];
    unsigned domain, bus, device, pci_device, pci_subsystem;
    char bus_id[32];
    unsigned reserved[4];
};

struct nvml_process_v1 {
    unsigned pid;
    unsigned long long used;
};

struct nvml_process { /* v2 and v3 */
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

struct nvml_violation {
    unsigned long long reference_us, violation_ns;
};

struct nvml_field {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    unsigned type;
    int status;
    union {
        double real;
        unsigned long long ull;
    } value;
};

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*version)(char *, unsigned);
    int (*count)(unsigned *);
    int (*handle)(unsigned, void **);
    int (*name)(void *, char *, unsigned);
    int (*uuid)(void *, char *, unsigned);
    int (*pci)(void *, struct nvml_pci *);
    int (*memory)(void *, struct nvml_memory *);
    int (*utilization)(void *, struct nvml_utilization *);
    int (*temperature)(void *, int, unsigned *);
    int (*power)(void *, unsigned *);
    int (*limit)(void *, unsigned *);
    int (*energy)(void *, unsigned long long *);
    int (*clock)(void *, int, unsigned *);
    int (*max_clock)(void *, int, unsigned *);
    int (*pcie)(void *, int, unsigned *);
    int (*violation)(void *, int, struct nvml_violation *);
    int (*reasons)(void *, unsigned long long *);
    int (*fields)(void *, int, struct nvml_field *);
    int (*compute)(void *, unsigned *, struct nvml_process *);
    int (*graphics)(void *, unsigned *, struct nvml_process *);
    int (*compute_v1)(void *, unsigned *, struct nvml_process_v1 *);
    int (*graphics_v1)(void *, unsigned *, struct nvml_process_v1 *);
};

#define AT(member) offsetof(struct nvml, member)

static const struct {
    size_t at;
    bool needed;
    const char *names[3]; /* the first that the library has */
} symbols[] = {
    {AT(init), true, {"nvmlInit_v2", "nvmlInit"}},
    {AT(shutdown), true, {"nvmlShutdown"}},
    {AT(error_string), false, {"nvmlErrorString"}},
    {AT(version), false, {"nvmlSystemGetDriverVersion"}},
    {AT(count), true, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}},
    {AT(handle), true, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}},
    {AT(name), false, {"nvmlDeviceGetName"}},
    {AT(uuid), false, {"nvmlDeviceGetUUID"}},
    {AT(pci), false, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"}},
    {AT(memory), false, {"nvmlDeviceGetMemoryInfo"}},
    {AT(utilization), false, {"nvmlDeviceGetUtilizationRates"}},
    {AT(temperature), false, {"nvmlDeviceGetTemperature"}},
    {AT(power), false, {"nvmlDeviceGetPowerUsage"}},
    {AT(limit), false, {"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit"}},
    {AT(energy), false, {"nvmlDeviceGetTotalEnergyConsumption"}},
    {AT(clock), false, {"nvmlDeviceGetClockInfo"}},
    {AT(max_clock), false, {"nvmlDeviceGetMaxClockInfo"}},
    {AT(pcie), false, {"nvmlDeviceGetPcieThroughput"}},
    {AT(violation), false, {"nvmlDeviceGetViolationStatus"}},
    {AT(reasons), false, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}},
    {AT(fields), false, {"nvmlDeviceGetFieldValues"}},
    {AT(compute), false, {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}},
    {AT(graphics), false, {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"}},
    {AT(compute_v1), false, {"nvmlDeviceGetComputeRunningProcesses"}},
    {AT(graphics_v1), false, {"nvmlDeviceGetGraphicsRunningProcesses"}},
};

enum { PROCESSES_MAX = 1024 };

static const int64_t RETRY_US = 60000000; /* after which a driver that is not loaded is retried */

struct card {
    void *handle; /* NULL = the library did not list it the last time */
    struct adl_counter power_violation, thermal_violation, nvlink_kib;
};

struct nvml_state {
    void *library;
    struct nvml nvml;
    bool ready;       /* initialized */
    bool tried;       /* so retry_us is set */
    int64_t retry_us; /* when to try again if not */
    struct card *cards;
    uint32_t card_capacity;
    char version[80]; /* of the driver; it stays until the library is initialized again */
    bool lost;        /* of the GPU being read */
    int broken;       /* the error with which the library itself failed */
    struct adl_reading_faults *faults;
    union {
        struct nvml_process v2[PROCESSES_MAX];
        struct nvml_process_v1 v1[PROCESSES_MAX];
    } processes;
};

static void nvml_close(void *memory)
{
    struct nvml_state *state = memory;
    if (!state)
        return;
    if (state->ready)
        state->nvml.shutdown();
    if (state->library)
        dlclose(state->library);
    free(state->cards);
    free(state);
}

static const char *describe(const struct nvml_state *state, int status)
{
    const char *text = state->nvml.error_string ? state->nvml.error_string(status) : NULL;
    return text ? text : "unknown error";
}

/* NULL, or the name of a call that the library lacks. */
static const char *load_symbols(struct nvml_state *state)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = NULL;
        for (int n = 0; n < 3 && symbols[i].names[n] && !symbol; n++)
            symbol = dlsym(state->library, symbols[i].names[n]);
        if (!symbol && symbols[i].needed)
            return symbols[i].names[0];
        /* C has no cast from an object to a function pointer; POSIX guarantees the same representation. */
        memcpy((char *)&state->nvml + symbols[i].at, &symbol, sizeof symbol);
    }
    return NULL;
}

/* Whether a call returned a value; otherwise counts the fault. */
static bool returned(struct nvml_state *state, int status)
{
    if (status == OK)
        return true;
    if (status == GPU_IS_LOST || status == RESET_REQUIRED)
        state->lost = true;
    if (status == UNINITIALIZED || status == DRIVER_NOT_LOADED || status == LIB_RM_VERSION_MISMATCH)
        state->broken = status;
    const bool absent =
        status == NOT_SUPPORTED || status == NO_PERMISSION || status == NO_DATA || status == FUNCTION_NOT_FOUND;
    state->faults->count[absent ? ADL_FAULT_ABSENT : ADL_FAULT_FAILED]++;
    return false;
}

/* A call that the library lacks counts as not supported. */
#define ASK(state, call, ...) returned(state, (state)->nvml.call ? (state)->nvml.call(__VA_ARGS__) : FUNCTION_NOT_FOUND)

/* Administrators and power-capping policies change it at any time. */
static void read_limit(struct nvml_state *state, void *handle, struct adl_gpu_device *device)
{
    unsigned limit_mw = 0;
    double value;
    if (ASK(state, limit, handle, &limit_mw) && adl_reading_check(limit_mw, ADL_UNIT_MW, state->faults, &value))
        device->limit_w = value;
}

static void read_device(struct nvml_state *state, void *handle, uint32_t index, struct adl_gpu_device *ret)
{
    struct nvml_memory memory = {0};
    struct nvml_pci pci = {0};
    struct adl_gpu_device device = {.vendor = "nvidia", .index = index};
    double value;
    if (!ASK(state, name, handle, device.model, sizeof device.model))
        device.model[0] = '\0';
    if (!ASK(state, uuid, handle, device.uuid, sizeof device.uuid))
        device.uuid[0] = '\0';
    device.model[sizeof device.model - 1] = '\0';
    device.uuid[sizeof device.uuid - 1] = '\0';
    if (ASK(state, pci, handle, &pci))
        snprintf(device.pci, sizeof device.pci, "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff, pci.device & 0x1f);
    if (ASK(state, memory, handle, &memory) &&
        adl_reading_check((double)memory.total, ADL_UNIT_BYTE, state->faults, &value))
        device.memory_mib = (int64_t)value;
    read_limit(state, handle, &device);
    adl_gpu_name_shorten(device.model, device.type);
    *ret = device;
}

static int grow_cards(struct nvml_state *state, uint32_t count)
{
    if (count <= state->card_capacity)
        return 0;
    struct card *cards = realloc(state->cards, count * sizeof *cards);
    if (!cards)
        return ADL_ENOMEM;
    memset(cards + state->card_capacity, 0, (count - state->card_capacity) * sizeof *cards);
    state->cards = cards;
    state->card_capacity = count;
    return 0;
}

static int place_of(const struct adl_telemetry_source *source, const struct adl_gpu_device *device)
{
    for (uint32_t i = 0; i < source->count; i++)
        if (device->uuid[0] ? strcmp(source->devices[i].uuid, device->uuid) == 0
                            : source->devices[i].index == device->index)
            return (int)i;
    return -1;
}

/* Lists the GPUs again: known ones keep their index. */
static int list_devices(struct adl_telemetry_source *source, struct nvml_state *state)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < source->count; i++)
        state->cards[i] = (struct card){0};
    if (!returned(state, state->nvml.count(&count)))
        return 0;
    for (unsigned i = 0; i < count && i < ADL_TELEMETRY_DEVICES_MAX; i++) {
        void *handle = NULL;
        struct adl_gpu_device device;
        if (!returned(state, state->nvml.handle(i, &handle)))
            continue; /* a lost GPU has no handle; the others do */
        read_device(state, handle, i, &device);
        int place = place_of(source, &device);
        if (place < 0)
            place = adl_source_add_device(source, &device);
        if (place == ADL_EREFUSED)
            continue;
        if (place < 0 || grow_cards(state, (uint32_t)place + 1) < 0)
            return ADL_ENOMEM;
        source->devices[place].index = device.index;
        state->cards[place].handle = handle;
    }
    source->statuses[0].device_count = source->count;
    return 0;
}

static int start(struct adl_telemetry_source *source, struct nvml_state *state)
{
    const int status = state->nvml.init();
    if (status != OK) {
        adl_status_set(&source->statuses[0], false, "NVML cannot be initialized: %s", describe(state, status));
        return 0;
    }
    state->ready = true;
    state->broken = OK;
    if (!state->nvml.version || state->nvml.version(state->version, sizeof state->version) != OK)
        state->version[0] = '\0';
    state->version[sizeof state->version - 1] = '\0';
    adl_status_set(&source->statuses[0], true, "%s", "");
    return list_devices(source, state);
}

static int nvml_open(struct adl_telemetry_source *source, const struct adl_telemetry_options *options,
                     struct adl_error *err)
{
    const char *path = options->nvml_path ? options->nvml_path : "libnvidia-ml.so.1";
    struct nvml_state *state = calloc(1, sizeof *state);
    (void)err;
    source->state = state;
    if (!state || adl_source_set_statuses(source, 1) < 0)
        return ADL_ENOMEM;
    struct adl_telemetry_status *status = &source->statuses[0];
    snprintf(status->name, sizeof status->name, "nvml");
    state->faults = &status->faults;
    state->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!state->library) {
        adl_status_set(status, false, "no NVIDIA driver here: %.100s cannot be loaded", path);
        return 0;
    }
    const char *lacking = load_symbols(state);
    if (lacking) {
        adl_status_set(status, false, "%.100s is not NVML: it has no %s", path, lacking);
        dlclose(state->library);
        state->library = NULL;
        return 0;
    }
    return start(source, state);
}

static void sample_coarse(struct nvml_state *state, void *handle, struct adl_gpu_sample *sample)
{
    struct adl_telemetry *to = &sample->telemetry;
    struct nvml_utilization busy = {0};
    struct nvml_memory memory = {0};
    unsigned raw = 0, highest = 0;
    unsigned long long counter = 0;
    double value, top;
    if (ASK(state, utilization, handle, &busy)) {
        if (adl_reading_check(busy.gpu, ADL_UNIT_PERCENT, state->faults, &value))
            adl_telemetry_set(to, ADL_READ_UTILIZATION, value);
        if (adl_reading_check(busy.memory, ADL_UNIT_PERCENT, state->faults, &value))
            adl_telemetry_set(to, ADL_READ_BANDWIDTH, value);
    }
    if (ASK(state, temperature, handle, TEMPERATURE_GPU, &raw) &&
        adl_reading_check(raw, ADL_UNIT_C, state->faults, &value))
        adl_telemetry_set(to, ADL_READ_TEMPERATURE, value);
    if (ASK(state, power, handle, &raw) && adl_reading_check(raw, ADL_UNIT_MW, state->faults, &value))
        adl_telemetry_set(to, ADL_READ_POWER, value);
    if (ASK(state, clock, handle, CLOCK_SM, &raw) && ASK(state, max_clock, handle, CLOCK_SM, &highest) &&
        adl_reading_check(raw, ADL_UNIT_MHZ, state->faults, &value) &&
        adl_reading_check(highest, ADL_UNIT_MHZ, state->faults, &top))
        adl_telemetry_set_share(to, ADL_READ_CLOCK, value, top, state->faults);
    if (ASK(state, energy, handle, &counter) && adl_reading_check((double)counter, ADL_UNIT_MJ, state->faults, &value))
        sample->energy_j = value;
    if (ASK(state, memory, handle, &memory) &&
        adl_reading_check((double)memory.used, ADL_UNIT_BYTE, state->faults, &value))
        sample->memory_used_mib = (int64_t)value;
}

static void sample_pcie(struct nvml_state *state, void *handle, struct adl_telemetry *to)
{
    unsigned sent = 0, received = 0;
    double out_gbs, in_gbs;
    if (ASK(state, pcie, handle, PCIE_TX, &sent) && ASK(state, pcie, handle, PCIE_RX, &received) &&
        adl_reading_check(sent, ADL_UNIT_KB_PER_S, state->faults, &out_gbs) &&
        adl_reading_check(received, ADL_UNIT_KB_PER_S, state->faults, &in_gbs))
        adl_telemetry_set(to, ADL_READ_PCIE, out_gbs + in_gbs);
}

static void sample_nvlink(struct nvml_state *state, struct card *card, int64_t now_us, struct adl_telemetry *to)
{
    /* All bits of the scope set: the sum over all links. */
    struct nvml_field fields[2] = {{.field = NVLINK_DATA_TX, .scope = ~0u}, {.field = NVLINK_DATA_RX, .scope = ~0u}};
    double kib_per_s, value;
    if (!ASK(state, fields, card->handle, 2, fields))
        return;
    if (!returned(state, fields[0].status) || !returned(state, fields[1].status))
        return;
    if (fields[0].type != VALUE_ULL || fields[1].type != VALUE_ULL) {
        state->faults->count[ADL_FAULT_UNIT]++;
        return;
    }
    if (adl_counter_rate(&card->nvlink_kib, (double)fields[0].value.ull + (double)fields[1].value.ull, now_us,
                         &kib_per_s) &&
        adl_reading_check(kib_per_s * 1024.0, ADL_UNIT_BYTE_PER_S, state->faults, &value))
        adl_telemetry_set(to, ADL_READ_NVLINK, value);
}

/* The share of time since the previous sample; below 0 if it cannot be read. */
static double violation_share(struct nvml_state *state, void *handle, int policy, struct adl_counter *counter)
{
    struct nvml_violation held = {0};
    double per_s;
    if (!ASK(state, violation, handle, policy, &held))
        return -1;
    /* Relative to the driver's own clock, which the counter uses. */
    return adl_counter_rate(counter, (double)held.violation_ns * 1e-9, (int64_t)held.reference_us, &per_s) ? per_s : -1;
}

static void sample_throttling(struct nvml_state *state, struct card *card, struct adl_telemetry *to)
{
    unsigned long long reasons = 0;
    const double power = violation_share(state, card->handle, POLICY_POWER, &card->power_violation);
    const double thermal = violation_share(state, card->handle, POLICY_THERMAL, &card->thermal_violation);
    const double longest = power > thermal ? power : thermal; /* they may overlap: at least this */
    if (longest >= 0)
        adl_telemetry_set_share(to, ADL_READ_THROTTLED, longest, 1.0, state->faults);
    else if (ASK(state, reasons, card->handle, &reasons)) /* only the current state: correct on average */
        adl_telemetry_set(to, ADL_READ_THROTTLED, reasons & THROTTLED_BY ? 1.0 : 0.0);
}

static bool list_processes(struct nvml_state *state, void *handle, bool compute, struct adl_gpu_sample *sample)
{
    unsigned count = PROCESSES_MAX;
    const bool modern = compute ? state->nvml.compute != NULL : state->nvml.graphics != NULL;
    int status;
    if (compute)
        status = modern                   ? state->nvml.compute(handle, &count, state->processes.v2)
                 : state->nvml.compute_v1 ? state->nvml.compute_v1(handle, &count, state->processes.v1)
                                          : FUNCTION_NOT_FOUND;
    else
        status = modern                    ? state->nvml.graphics(handle, &count, state->processes.v2)
                 : state->nvml.graphics_v1 ? state->nvml.graphics_v1(handle, &count, state->processes.v1)
                                           : FUNCTION_NOT_FOUND;
    if (status == INSUFFICIENT_SIZE || (status == OK && count > PROCESSES_MAX)) {
        sample->pid_count += PROCESSES_MAX; /* only that the GPU is busy is known, not by which processes */
        return true;
    }
    if (!returned(state, status))
        return false;
    for (unsigned i = 0; i < count; i++)
        adl_gpu_sample_add_pid(sample, modern ? state->processes.v2[i].pid : state->processes.v1[i].pid);
    return true;
}

static void sample_card(struct nvml_state *state, struct card *card, int64_t now_us, struct adl_gpu_sample *sample)
{
    state->lost = false;
    sample_coarse(state, card->handle, sample);
    if (!state->lost && !state->broken) {
        sample_pcie(state, card->handle, &sample->telemetry);
        sample_nvlink(state, card, now_us, &sample->telemetry);
        sample_throttling(state, card, &sample->telemetry);
        const bool compute = list_processes(state, card->handle, true, sample);
        const bool graphics = list_processes(state, card->handle, false, sample);
        sample->pids_known = compute || graphics;
        snprintf(sample->version, sizeof sample->version, "%.31s", state->version);
    }
    if (state->lost || state->broken) {
        adl_gpu_sample_clear(sample, now_us);
        sample->lost = state->lost;
    }
}

/* The driver was unloaded or replaced under a running reader: starts over later. */
static void stop(struct adl_telemetry_source *source, struct nvml_state *state)
{
    adl_status_set(&source->statuses[0], false, "NVML stopped answering: %s", describe(state, state->broken));
    state->nvml.shutdown();
    state->ready = false;
    state->tried = false;
}

static int nvml_sample(struct adl_telemetry_source *source, int64_t now_us)
{
    struct nvml_state *state = source->state;
    if (!state->library)
        return 0;
    if (!state->ready) {
        if (!state->tried || now_us >= state->retry_us) {
            const bool again = state->tried || source->count > 0;
            state->tried = true;
            state->retry_us = now_us + RETRY_US;
            if (again && start(source, state) < 0)
                return ADL_ENOMEM;
        }
        if (!state->ready)
            return 0;
    }
    for (uint32_t i = 0; i < source->count && !state->broken; i++) {
        source->samples[i].time_us = now_us;
        if (!state->cards[i].handle) {
            source->samples[i].lost = true;
            continue;
        }
        sample_card(state, &state->cards[i], now_us, &source->samples[i]);
        if (!state->lost && !state->broken)
            read_limit(state, state->cards[i].handle, &source->devices[i]);
    }
    if (state->broken)
        stop(source, state);
    return 0;
}

const struct adl_telemetry_source_ops adl_telemetry_nvml = {nvml_open, nvml_sample, nvml_close};
