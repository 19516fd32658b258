#include "telemetry/exporter.h"

#include "base/hash.h"
#include "telemetry/exposition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Values of a GPU on a page, before they are combined into readings. */
enum slot {
    UTILIZATION,
    BANDWIDTH,
    TEMPERATURE,
    JUNCTION,
    POWER,
    PACKAGE_POWER,
    AVERAGE_POWER,
    LIMIT,
    ENERGY,
    CLOCK,
    CLOCK_MAX,
    SM,
    TENSOR,
    DRAM,
    PCIE_TX,
    PCIE_RX,
    PCIE_BOTH,
    NVLINK_TX,
    NVLINK_RX,
    LINK_DATA, /* a counter over all links */
    POWER_HELD,
    THERMAL_HELD, /* counters of time */
    HELD_SHARE,
    MEMORY_USED,
    MEMORY_FREE,
    MEMORY_RESERVED,
    MEMORY_TOTAL,
    SLOT_COUNT,
};

enum combine { KEEP_FIRST, TAKE_LARGEST, ADD };

static const struct metric {
    const char *name;
    uint8_t slot, unit, combine;
} metrics[] = {
    {"DCGM_FI_DEV_GPU_UTIL", UTILIZATION, ADL_UNIT_PERCENT, KEEP_FIRST},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", BANDWIDTH, ADL_UNIT_PERCENT, KEEP_FIRST},
    {"DCGM_FI_DEV_GPU_TEMP", TEMPERATURE, ADL_UNIT_C, KEEP_FIRST},
    {"DCGM_FI_DEV_POWER_USAGE", POWER, ADL_UNIT_W, KEEP_FIRST},
    {"DCGM_FI_DEV_POWER_MGMT_LIMIT", LIMIT, ADL_UNIT_W, KEEP_FIRST},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", ENERGY, ADL_UNIT_MJ, KEEP_FIRST},
    {"DCGM_FI_DEV_SM_CLOCK", CLOCK, ADL_UNIT_MHZ, KEEP_FIRST},
    {"DCGM_FI_DEV_MAX_SM_CLOCK", CLOCK_MAX, ADL_UNIT_MHZ, KEEP_FIRST},
    {"DCGM_FI_PROF_SM_ACTIVE", SM, ADL_UNIT_RATIO, KEEP_FIRST},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", TENSOR, ADL_UNIT_RATIO, KEEP_FIRST},
    {"DCGM_FI_PROF_DRAM_ACTIVE", DRAM, ADL_UNIT_RATIO, KEEP_FIRST},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", PCIE_TX, ADL_UNIT_BYTE_PER_S, KEEP_FIRST},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", PCIE_RX, ADL_UNIT_BYTE_PER_S, KEEP_FIRST},
    {"DCGM_FI_DEV_PCIE_TX_THROUGHPUT", PCIE_TX, ADL_UNIT_KB_PER_S, KEEP_FIRST},
    {"DCGM_FI_DEV_PCIE_RX_THROUGHPUT", PCIE_RX, ADL_UNIT_KB_PER_S, KEEP_FIRST},
    {"DCGM_FI_PROF_NVLINK_TX_BYTES", NVLINK_TX, ADL_UNIT_BYTE_PER_S, KEEP_FIRST},
    {"DCGM_FI_PROF_NVLINK_RX_BYTES", NVLINK_RX, ADL_UNIT_BYTE_PER_S, KEEP_FIRST},
    {"DCGM_FI_DEV_POWER_VIOLATION", POWER_HELD, ADL_UNIT_NS, KEEP_FIRST},
    {"DCGM_FI_DEV_THERMAL_VIOLATION", THERMAL_HELD, ADL_UNIT_NS, KEEP_FIRST},
    {"DCGM_FI_DEV_FB_USED", MEMORY_USED, ADL_UNIT_MIB, KEEP_FIRST},
    {"DCGM_FI_DEV_FB_FREE", MEMORY_FREE, ADL_UNIT_MIB, KEEP_FIRST},
    {"DCGM_FI_DEV_FB_RESERVED", MEMORY_RESERVED, ADL_UNIT_MIB, KEEP_FIRST},
    {"DCGM_FI_DEV_FB_TOTAL", MEMORY_TOTAL, ADL_UNIT_MIB, KEEP_FIRST},
    {"gpu_gfx_activity", UTILIZATION, ADL_UNIT_PERCENT, KEEP_FIRST},
    {"gpu_umc_activity", BANDWIDTH, ADL_UNIT_PERCENT, KEEP_FIRST},
    {"gpu_edge_temperature", TEMPERATURE, ADL_UNIT_C, KEEP_FIRST},
    {"gpu_junction_temperature", JUNCTION, ADL_UNIT_C, KEEP_FIRST},
    {"gpu_power_usage", POWER, ADL_UNIT_W, KEEP_FIRST},
    {"gpu_package_power", PACKAGE_POWER, ADL_UNIT_W, KEEP_FIRST},
    {"gpu_average_package_power", AVERAGE_POWER, ADL_UNIT_W, KEEP_FIRST},
    {"gpu_energy_consumed", ENERGY, ADL_UNIT_UJ, KEEP_FIRST},
    {"gpu_clock", CLOCK, ADL_UNIT_MHZ, TAKE_LARGEST}, /* one for each die */
    {"gpu_max_clock", CLOCK_MAX, ADL_UNIT_MHZ, TAKE_LARGEST},
    {"gpu_prof_sm_active", SM, ADL_UNIT_PERCENT, KEEP_FIRST},
    {"gpu_prof_tensor_active_percent", TENSOR, ADL_UNIT_PERCENT, KEEP_FIRST},
    {"pcie_bandwidth", PCIE_BOTH, ADL_UNIT_MBIT_PER_S, KEEP_FIRST},
    {"gpu_xgmi_link_rx", LINK_DATA, ADL_UNIT_KB_TOTAL, ADD},
    {"gpu_xgmi_link_tx", LINK_DATA, ADL_UNIT_KB_TOTAL, ADD},
    {"gpu_violation_ppt_residency_percentage", HELD_SHARE, ADL_UNIT_PERCENT, TAKE_LARGEST},
    {"gpu_violation_socket_thermal_residency_percentage", HELD_SHARE, ADL_UNIT_PERCENT, TAKE_LARGEST},
    {"gpu_violation_hbm_thermal_residency_percentage", HELD_SHARE, ADL_UNIT_PERCENT, TAKE_LARGEST},
    {"gpu_violation_vr_thermal_residency_percentage", HELD_SHARE, ADL_UNIT_PERCENT, TAKE_LARGEST},
    {"gpu_violation_processor_hot_residency_percentage", HELD_SHARE, ADL_UNIT_PERCENT, TAKE_LARGEST},
    /* amd-smi writes MB but counts in MiB. */
    {"gpu_used_vram", MEMORY_USED, ADL_UNIT_MIB, KEEP_FIRST},
    {"gpu_free_vram", MEMORY_FREE, ADL_UNIT_MIB, KEEP_FIRST},
    {"gpu_total_vram", MEMORY_TOTAL, ADL_UNIT_MIB, KEEP_FIRST},
};

struct known {
    uint32_t page;
    char version[ADL_VERSION_SIZE];
    char identity[96]; /* its uuid, or its number and host: host names may change with containers */
    bool seen;         /* on this page, this time */
    uint32_t has;      /* bit per slot */
    double value[SLOT_COUNT];
    struct adl_counter power_held, thermal_held, link_data;
};

enum { TABLE_SIZE = 2 * ADL_TELEMETRY_DEVICES_MAX }; /* never more than half full */

struct adl_exporter {
    struct known *known; /* [device] */
    uint32_t capacity;
    uint32_t table[TABLE_SIZE]; /* open addressing by hash of page and identity: device + 1; 0 = free */
    struct adl_exposition page;
};

struct unit_statement {
    char name[96]; /* of the metric */
    int unit;      /* the unit that the page states; ADL_UNIT_NONE = it does not */
    bool exact;    /* by a UNIT line */
};

struct adl_exporter *adl_exporter_create(void)
{
    return calloc(1, sizeof(struct adl_exporter));
}

void adl_exporter_destroy(struct adl_exporter *exporter)
{
    if (!exporter)
        return;
    free(exporter->known);
    free(exporter);
}

/* ---- lines ---- */

/* "... (in mJ)." as dcgm-exporter's descriptions end. */
static int unit_in_help(const char *text)
{
    const char *in = strstr(text, "(in ");
    const char *close = in ? strchr(in, ')') : NULL;
    return close ? adl_unit_find(in + 4, (size_t)(close - in - 4)) : ADL_UNIT_NONE;
}

static void note_unit(struct unit_statement *statement, const struct adl_exposition *page, int kind)
{
    if (strlen(page->name) >= sizeof statement->name)
        return;
    if (strcmp(statement->name, page->name) != 0)
        *statement = (struct unit_statement){.unit = ADL_UNIT_NONE};
    snprintf(statement->name, sizeof statement->name, "%s", page->name);
    if (kind == ADL_EXPOSITION_UNIT) {
        statement->unit = adl_unit_find(page->text, strlen(page->text));
        statement->exact = true;
    } else if (kind == ADL_EXPOSITION_HELP && !statement->exact) {
        statement->unit = unit_in_help(page->text);
    }
}

static const struct metric *find_metric(const char *name)
{
    if (strncasecmp(name, "amd_", 4) == 0) /* the prefix that AMD's exporter can be configured to use */
        name += 4;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        const size_t size = strlen(metrics[i].name);
        if (strncasecmp(name, metrics[i].name, size) == 0 && (name[size] == '\0' || strcmp(name + size, "_total") == 0))
            return &metrics[i];
    }
    return NULL;
}

static bool is_of_name(const struct unit_statement *statement, const char *name)
{
    const size_t size = strlen(statement->name);
    return size > 0 && strncmp(statement->name, name, size) == 0 &&
           (name[size] == '\0' || strcmp(name + size, "_total") == 0);
}

/* The unit of a value; ADL_UNIT_NONE if the page states one that does not fit. */
static int unit_of(const struct metric *metric, const struct unit_statement *statement, const char *name)
{
    if (!is_of_name(statement, name) || (statement->unit == ADL_UNIT_NONE && !statement->exact))
        return metric->unit;
    /* Descriptions of rates name what is counted and omit "per second". */
    if (adl_unit_quantity(metric->unit) == ADL_QUANTITY_TRAFFIC) {
        if (statement->unit == ADL_UNIT_KB_TOTAL)
            return ADL_UNIT_KB_PER_S;
        if (statement->unit == ADL_UNIT_BYTE)
            return ADL_UNIT_BYTE_PER_S;
    }
    if (statement->unit == ADL_UNIT_NONE || adl_unit_quantity(statement->unit) != adl_unit_quantity(metric->unit))
        return ADL_UNIT_NONE;
    return statement->unit;
}

/* Readings of a part of a GPU (a MIG instance, a partition) and of clocks other than its cores' are skipped. */
static bool is_part(const struct adl_exposition *page, const struct metric *metric)
{
    const char *partition = adl_exposition_label(page, "gpu_partition_id");
    const char *clock = adl_exposition_label(page, "clock_type");
    if (adl_exposition_label(page, "GPU_I_ID")[0])
        return true;
    if (partition[0] && strcmp(partition, "0") != 0 && strcasecmp(partition, "NA") != 0)
        return true;
    return (metric->slot == CLOCK || metric->slot == CLOCK_MAX) && clock[0] && strcasecmp(clock, "system") != 0 &&
           strcasecmp(clock, "GPU_CLOCK_TYPE_SYSTEM") != 0;
}

static const char *first_label(const struct adl_exposition *page, const char *a, const char *b)
{
    const char *value = adl_exposition_label(page, a);
    return value[0] ? value : adl_exposition_label(page, b);
}

/* Untrusted text: keeps only printable ASCII. */
static void copy_clean(char *ret, size_t size, const char *text)
{
    size_t length = 0;
    for (; *text && length + 1 < size; text++)
        ret[length++] = *text >= ' ' && *text <= '~' ? *text : '?';
    ret[length] = '\0';
}

static bool read_identity(const struct adl_exposition *page, const struct metric *metric, const char *server,
                          char identity[96], struct adl_gpu_device *ret)
{
    struct adl_gpu_device device = {.vendor = "amd"};
    char host[ADL_NAME_SIZE];
    const char *index = first_label(page, "gpu", "gpu_id");
    const char *uuid = first_label(page, "UUID", "gpu_uuid");
    const size_t digits = strspn(index, "0123456789");
    if (digits == 0 || digits > 6 || index[digits])
        return false;
    device.index = (uint32_t)strtoul(index, NULL, 10);
    if (strncmp(metric->name, "DCGM", 4) == 0)
        snprintf(device.vendor, sizeof device.vendor, "nvidia");
    copy_clean(device.uuid, sizeof device.uuid, uuid[0] ? uuid : adl_exposition_label(page, "serial_number"));
    copy_clean(host, sizeof host, first_label(page, "Hostname", "hostname"));
    if (server)
        copy_clean(device.node, sizeof device.node, host[0] ? host : server);
    if (device.uuid[0])
        snprintf(identity, 96, "%s %s", device.vendor, device.uuid);
    else
        snprintf(identity, 96, "%s %u %s", device.vendor, (unsigned)device.index, host);
    adl_pci_normalize(first_label(page, "pci_bus_id", "pcie_bus_id"), device.pci);
    const char *series = first_label(page, "modelName", "card_series");
    copy_clean(device.model, sizeof device.model, series[0] ? series : adl_exposition_label(page, "card_model"));
    adl_gpu_name_shorten(device.model, device.type);
    *ret = device;
    return true;
}

/* The index of the GPU of a line; adds it if it is new. */
static int find_device(struct adl_exporter *exporter, struct adl_telemetry_source *source, uint32_t index,
                       const char *identity, const struct adl_gpu_device *device)
{
    const uint64_t key = adl_hash_bytes(adl_hash_u64(adl_hash_start(), index), identity, strlen(identity));
    uint32_t at = (uint32_t)(key % TABLE_SIZE);
    for (; exporter->table[at]; at = (at + 1) % TABLE_SIZE) {
        const uint32_t i = exporter->table[at] - 1;
        if (exporter->known[i].page == index && strcmp(exporter->known[i].identity, identity) == 0)
            return (int)i;
    }
    if (source->count == exporter->capacity) {
        const uint32_t capacity = exporter->capacity ? exporter->capacity * 2 : 16;
        struct known *known = realloc(exporter->known, capacity * sizeof *known);
        if (!known)
            return ADL_ENOMEM;
        exporter->known = known;
        exporter->capacity = capacity;
    }
    const int place = adl_source_add_device(source, device);
    if (place >= 0) {
        exporter->table[at] = (uint32_t)place + 1;
        exporter->known[place] = (struct known){.page = index};
        snprintf(exporter->known[place].identity, sizeof exporter->known[place].identity, "%s", identity);
    }
    return place;
}

static void store(struct known *known, const struct metric *metric, double value)
{
    const uint32_t bit = 1u << metric->slot;
    double *slot = &known->value[metric->slot];
    if (metric->combine == ADD)
        *slot = (known->has & bit ? *slot : 0) + value;
    else if (!(known->has & bit) || (metric->combine == TAKE_LARGEST && value > *slot))
        *slot = value;
    known->has |= bit;
}

/* ---- readings ---- */

static bool has(const struct known *known, int slot)
{
    return known->has >> slot & 1;
}

static void set_from(struct adl_telemetry *to, int reading, const struct known *known, int slot)
{
    if (has(known, slot) && !adl_telemetry_has(to, reading))
        adl_telemetry_set(to, reading, known->value[slot]);
}

static void finish_links(struct known *known, int64_t now_us, struct adl_telemetry *to,
                         struct adl_reading_faults *faults)
{
    double gbs, value;
    if (has(known, PCIE_TX) && has(known, PCIE_RX))
        adl_telemetry_set(to, ADL_READ_PCIE, known->value[PCIE_TX] + known->value[PCIE_RX]);
    set_from(to, ADL_READ_PCIE, known, PCIE_BOTH);
    if (has(known, NVLINK_TX) && has(known, NVLINK_RX))
        adl_telemetry_set(to, ADL_READ_NVLINK, known->value[NVLINK_TX] + known->value[NVLINK_RX]);
    else if (has(known, LINK_DATA) && adl_counter_rate(&known->link_data, known->value[LINK_DATA], now_us, &gbs) &&
             adl_reading_check(gbs * 1e9, ADL_UNIT_BYTE_PER_S, faults, &value))
        adl_telemetry_set(to, ADL_READ_NVLINK, value);
}

static void finish_throttling(struct known *known, int64_t now_us, struct adl_telemetry *to,
                              struct adl_reading_faults *faults)
{
    double power = -1, thermal = -1;
    if (has(known, POWER_HELD))
        (void)adl_counter_rate(&known->power_held, known->value[POWER_HELD], now_us, &power);
    if (has(known, THERMAL_HELD))
        (void)adl_counter_rate(&known->thermal_held, known->value[THERMAL_HELD], now_us, &thermal);
    const double longest = power > thermal ? power : thermal;
    set_from(to, ADL_READ_THROTTLED, known, HELD_SHARE);
    if (longest >= 0 && !adl_telemetry_has(to, ADL_READ_THROTTLED))
        adl_telemetry_set_share(to, ADL_READ_THROTTLED, longest, 1.0, faults);
}

static void finish_device(struct known *known, struct adl_gpu_device *device, struct adl_gpu_sample *sample,
                          int64_t now_us, struct adl_reading_faults *faults)
{
    struct adl_telemetry *to = &sample->telemetry;
    sample->time_us = now_us;
    set_from(to, ADL_READ_UTILIZATION, known, UTILIZATION);
    set_from(to, ADL_READ_BANDWIDTH, known, BANDWIDTH);
    set_from(to, ADL_READ_TEMPERATURE, known, TEMPERATURE);
    set_from(to, ADL_READ_TEMPERATURE, known, JUNCTION);
    set_from(to, ADL_READ_POWER, known, POWER);
    set_from(to, ADL_READ_POWER, known, PACKAGE_POWER);
    set_from(to, ADL_READ_POWER, known, AVERAGE_POWER);
    set_from(to, ADL_READ_SM, known, SM);
    set_from(to, ADL_READ_TENSOR, known, TENSOR);
    set_from(to, ADL_READ_DRAM, known, DRAM);
    if (has(known, CLOCK) && has(known, CLOCK_MAX))
        adl_telemetry_set_share(to, ADL_READ_CLOCK, known->value[CLOCK], known->value[CLOCK_MAX], faults);
    finish_links(known, now_us, to, faults);
    finish_throttling(known, now_us, to, faults);
    if (has(known, ENERGY))
        sample->energy_j = known->value[ENERGY];
    memcpy(sample->version, known->version, sizeof sample->version);
    if (has(known, MEMORY_USED))
        sample->memory_used_mib = (int64_t)known->value[MEMORY_USED];
    if (has(known, LIMIT))
        device->limit_w = known->value[LIMIT];
    if (has(known, MEMORY_TOTAL))
        device->memory_mib = (int64_t)known->value[MEMORY_TOTAL];
    else if (has(known, MEMORY_USED) && has(known, MEMORY_FREE))
        device->memory_mib = (int64_t)(known->value[MEMORY_USED] + known->value[MEMORY_FREE] +
                                       (has(known, MEMORY_RESERVED) ? known->value[MEMORY_RESERVED] : 0));
}

static int read_sample(struct adl_exporter *exporter, struct adl_telemetry_source *source, uint32_t index,
                       const char *host, const struct unit_statement *statement, struct adl_reading_faults *faults)
{
    const struct adl_exposition *page = &exporter->page;
    const struct metric *metric = find_metric(page->name);
    struct adl_gpu_device device;
    char identity[96];
    double value;
    if (!metric || is_part(page, metric))
        return 0;
    if (!read_identity(page, metric, host, identity, &device)) {
        faults->count[ADL_FAULT_MALFORMED]++;
        return 0;
    }
    const int place = find_device(exporter, source, index, identity, &device);
    if (place < 0)
        return place == ADL_EREFUSED ? 0 : place;
    exporter->known[place].seen = true;
    copy_clean(exporter->known[place].version, sizeof exporter->known[place].version,
               first_label(page, "DCGM_FI_DRIVER_VERSION", "driver_version"));
    const int unit = unit_of(metric, statement, page->name);
    if (unit == ADL_UNIT_NONE)
        faults->count[ADL_FAULT_UNIT]++;
    else if (adl_reading_check(page->value, unit, faults, &value))
        store(&exporter->known[place], metric, value);
    return 0;
}

int adl_exporter_read(struct adl_exporter *exporter, struct adl_telemetry_source *source, uint32_t index,
                      const char *host, const char *data, size_t size, int64_t now_us,
                      struct adl_telemetry_status *status, struct adl_error *err)
{
    struct adl_exposition *page = &exporter->page;
    struct unit_statement statement = {.unit = ADL_UNIT_NONE};
    uint32_t device_count = 0;
    for (uint32_t i = 0; i < source->count; i++)
        if (exporter->known[i].page == index) {
            exporter->known[i].seen = false;
            exporter->known[i].has = 0;
        }
    adl_exposition_start(page, data, size);
    for (int kind; (kind = adl_exposition_next(page)) != ADL_EXPOSITION_END;) {
        if (kind != ADL_EXPOSITION_SAMPLE)
            note_unit(&statement, page, kind);
        else if (read_sample(exporter, source, index, host, &statement, &status->faults) < 0)
            return adl_fail(err, ADL_ENOMEM, "out of memory");
    }
    status->faults.count[ADL_FAULT_MALFORMED] += page->malformed_count;
    for (uint32_t i = 0; i < source->count; i++) {
        if (exporter->known[i].page != index)
            continue;
        device_count++;
        if (exporter->known[i].seen)
            finish_device(&exporter->known[i], &source->devices[i], &source->samples[i], now_us, &status->faults);
    }
    status->device_count = device_count;
    if (page->sample_count == 0 && page->malformed_count > 0)
        return adl_fail(err, ADL_EINVAL, "this is not a page of metrics: none of its %llu lines is a metric",
                        (unsigned long long)page->line);
    return 0;
}
