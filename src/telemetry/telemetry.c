#include "telemetry/telemetry.h"

#include "telemetry/telemetry_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SOURCES = 3 };

/* Slightly more than a board can draw, because its energy counter may be ahead of its power reading. */
static const double METER_MAX_W = 3000.0;

struct meter {
    struct adl_counter counter;
    uint32_t source; /* whose counter it is; counters of different sources are not comparable */
    double energy_j;
};

struct adl_telemetry_reader {
    int64_t interval_us;
    bool sampled;
    int64_t last_us;
    struct adl_telemetry_source sources[SOURCES]; /* in order of precedence */
    uint32_t source_count;
    struct adl_telemetry_source merged; /* its devices and samples, and all statuses in one list */
    struct meter *meters;               /* [merged.capacity] */
    uint32_t meter_capacity;
    uint32_t *place[SOURCES]; /* [source][its device] -> device */
    uint32_t placed[SOURCES]; /* devices of the source that are merged */
};

static bool is_same_gpu(const struct adl_gpu_device *a, const struct adl_gpu_device *b)
{
    if (a->uuid[0] && strcasecmp(a->uuid, b->uuid) == 0)
        return true;
    if (strcmp(a->node, b->node) != 0 || strcmp(a->vendor, b->vendor) != 0)
        return false;
    if (a->pci[0] && b->pci[0])
        return strcmp(a->pci, b->pci) == 0;
    /* AMD's exporter reports neither the address nor the id of sysfs; its numbers are the driver's. */
    return strcmp(a->vendor, "amd") == 0 && a->index == b->index;
}

static void complete_device(struct adl_gpu_device *device, const struct adl_gpu_device *other)
{
    if (!device->uuid[0])
        memcpy(device->uuid, other->uuid, sizeof device->uuid);
    if (!device->pci[0])
        memcpy(device->pci, other->pci, sizeof device->pci);
    if (!device->model[0]) {
        memcpy(device->model, other->model, sizeof device->model);
        memcpy(device->type, other->type, sizeof device->type);
    }
    if (device->memory_mib == 0)
        device->memory_mib = other->memory_mib;
    if (other->limit_w > 0)
        device->limit_w = other->limit_w;
}

/* Two devices of one source are never merged, whatever ids they report. */
static bool is_taken(const struct adl_telemetry_reader *reader, uint32_t s, uint32_t device)
{
    for (uint32_t i = 0; i < reader->placed[s]; i++)
        if (reader->place[s][i] == device)
            return true;
    return false;
}

static int find_or_add(struct adl_telemetry_reader *reader, uint32_t s, const struct adl_gpu_device *device)
{
    struct adl_telemetry_source *merged = &reader->merged;
    for (uint32_t i = 0; i < merged->count; i++)
        if (is_same_gpu(&merged->devices[i], device) && !is_taken(reader, s, i))
            return (int)i;
    if (merged->count == reader->meter_capacity) {
        const uint32_t capacity = reader->meter_capacity ? reader->meter_capacity * 2 : 8;
        struct meter *meters = realloc(reader->meters, capacity * sizeof *meters);
        if (!meters)
            return ADL_ENOMEM;
        reader->meters = meters;
        reader->meter_capacity = capacity;
    }
    const int place = adl_source_add_device(merged, device);
    if (place >= 0)
        reader->meters[place] = (struct meter){0};
    return place;
}

/* Merges the devices that a source found since last time; those beyond the limit are left out. */
static int place_devices(struct adl_telemetry_reader *reader)
{
    for (uint32_t s = 0; s < reader->source_count; s++) {
        struct adl_telemetry_source *source = &reader->sources[s];
        if (source->count > reader->placed[s]) {
            uint32_t *place = realloc(reader->place[s], source->count * sizeof *place);
            if (!place)
                return ADL_ENOMEM;
            reader->place[s] = place;
        }
        for (uint32_t i = reader->placed[s]; i < source->count; i++) {
            const int at = find_or_add(reader, s, &source->devices[i]);
            if (at == ADL_ENOMEM)
                return at;
            reader->place[s][i] = at < 0 ? ADL_NONE : (uint32_t)at;
            reader->placed[s]++;
        }
    }
    return 0;
}

static int collect_statuses(struct adl_telemetry_reader *reader)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < reader->source_count; s++)
        count += reader->sources[s].status_count;
    return adl_source_set_statuses(&reader->merged, count ? count : 1) < 0 ? ADL_ENOMEM
                                                                           : (reader->merged.status_count = count, 0);
}

static void copy_statuses(struct adl_telemetry_reader *reader)
{
    uint32_t at = 0;
    for (uint32_t s = 0; s < reader->source_count; s++)
        for (uint32_t i = 0; i < reader->sources[s].status_count; i++)
            reader->merged.statuses[at++] = reader->sources[s].statuses[i];
}

/* Adds the increase of the counter, if its GPU can have used that much. */
static void advance_meter(struct meter *meter, uint32_t source, double counter_j, int64_t now_us,
                          struct adl_gpu_sample *sample, struct adl_reading_faults *faults)
{
    double power_w;
    if (meter->source != source) {
        meter->source = source;
        meter->counter.known = false;
    }
    const int64_t before_us = meter->counter.time_us;
    if (adl_counter_rate(&meter->counter, counter_j, now_us, &power_w)) {
        if (power_w <= METER_MAX_W) {
            meter->energy_j += power_w * (double)(now_us - before_us) * 1e-6;
            if (!adl_telemetry_has(&sample->telemetry, ADL_READ_POWER))
                adl_telemetry_set(&sample->telemetry, ADL_READ_POWER, power_w);
        } else {
            faults->count[ADL_FAULT_IMPOSSIBLE]++;
        }
    }
    sample->energy_j = meter->energy_j;
}

static void merge_sample(struct adl_gpu_sample *sample, const struct adl_gpu_sample *more)
{
    for (int r = 0; r < ADL_READ_COUNT; r++)
        if (!adl_telemetry_has(&sample->telemetry, r) && adl_telemetry_has(&more->telemetry, r)) {
            sample->telemetry.missing &= ~(1u << r);
            sample->telemetry.value[r] = more->telemetry.value[r];
        }
    if (sample->memory_used_mib < 0)
        sample->memory_used_mib = more->memory_used_mib;
    sample->lost = sample->lost || more->lost;
    if (!sample->version[0])
        memcpy(sample->version, more->version, sizeof sample->version);
    if (!sample->pids_known && more->pids_known) {
        sample->pids_known = true;
        sample->pid_count = more->pid_count;
        memcpy(sample->pids, more->pids, sizeof sample->pids);
    }
}

static void merge_samples(struct adl_telemetry_reader *reader, int64_t now_us)
{
    adl_source_clear_samples(&reader->merged, now_us);
    for (uint32_t s = 0; s < reader->source_count; s++) {
        struct adl_telemetry_source *source = &reader->sources[s];
        for (uint32_t i = 0; i < source->count; i++) {
            const uint32_t at = reader->place[s][i];
            if (at == ADL_NONE)
                continue;
            struct adl_gpu_sample *sample = &reader->merged.samples[at];
            merge_sample(sample, &source->samples[i]);
            complete_device(&reader->merged.devices[at], &source->devices[i]);
            if (sample->energy_j < 0 && source->samples[i].energy_j >= 0)
                advance_meter(&reader->meters[at], s, source->samples[i].energy_j, now_us, sample,
                              &source->statuses[0].faults);
        }
    }
    for (uint32_t i = 0; i < reader->merged.count; i++)
        if (reader->merged.samples[i].lost) /* readings of a lost GPU cannot be trusted */
            adl_telemetry_clear(&reader->merged.samples[i].telemetry);
}

static int check_options(const struct adl_telemetry_options *options, struct adl_error *err)
{
    if (options->interval_us != 0 &&
        (options->interval_us < ADL_TELEMETRY_INTERVAL_MIN_US || options->interval_us > INT64_C(3600000000)))
        return adl_fail(err, ADL_EINVAL, "telemetry: the interval must be between 0.1 s and 1 h, got %lld us",
                        (long long)options->interval_us);
    if (options->timeout_us != 0 && (options->timeout_us < 1000 || options->timeout_us > 60000000))
        return adl_fail(err, ADL_EINVAL, "telemetry: the timeout must be between 1 ms and 60 s, got %lld us",
                        (long long)options->timeout_us);
    if (options->url_count > ADL_TELEMETRY_URLS_MAX)
        return adl_fail(err, ADL_EINVAL, "telemetry: at most %d exporters, got %u", ADL_TELEMETRY_URLS_MAX,
                        (unsigned)options->url_count);
    return 0;
}

static int add_source(struct adl_telemetry_reader *reader, const struct adl_telemetry_source_ops *ops,
                      const struct adl_telemetry_options *options, struct adl_error *err)
{
    struct adl_telemetry_source *source = &reader->sources[reader->source_count++];
    source->ops = ops;
    const int status = ops->open(source, options, err);
    return status == ADL_ENOMEM ? adl_fail(err, status, "telemetry: out of memory") : status;
}

static int open_sources(struct adl_telemetry_reader *reader, const struct adl_telemetry_options *options,
                        struct adl_error *err)
{
    int status = 0;
    if (!options->no_nvml)
        status = add_source(reader, &adl_telemetry_nvml, options, err);
    if (status == 0 && !options->no_amd)
        status = add_source(reader, &adl_telemetry_amd, options, err);
    if (status == 0 && options->url_count > 0)
        status = add_source(reader, &adl_telemetry_exporter, options, err);
    if (status < 0)
        return status;
    if (place_devices(reader) < 0 || collect_statuses(reader) < 0)
        return adl_fail(err, ADL_ENOMEM, "telemetry: out of memory");
    copy_statuses(reader);
    return 0;
}

int adl_telemetry_open(const struct adl_telemetry_options *options, struct adl_telemetry_reader **ret,
                       struct adl_error *err)
{
    int status = check_options(options, err);
    if (status < 0)
        return status;
    struct adl_telemetry_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return adl_fail(err, ADL_ENOMEM, "telemetry: out of memory");
    reader->interval_us = options->interval_us ? options->interval_us : 1000000;
    status = open_sources(reader, options, err);
    if (status < 0) {
        adl_telemetry_close(reader);
        return status;
    }
    *ret = reader;
    return 0;
}

void adl_telemetry_close(struct adl_telemetry_reader *reader)
{
    if (!reader)
        return;
    for (uint32_t s = 0; s < SOURCES; s++) {
        adl_source_clear(&reader->sources[s]);
        free(reader->place[s]);
    }
    adl_source_clear(&reader->merged);
    free(reader->meters);
    free(reader);
}

const struct adl_gpu_device *adl_telemetry_devices(const struct adl_telemetry_reader *reader, uint32_t *ret_count)
{
    *ret_count = reader->merged.count;
    return reader->merged.devices;
}

const struct adl_gpu_sample *adl_telemetry_samples(const struct adl_telemetry_reader *reader)
{
    return reader->merged.samples;
}

const struct adl_telemetry_status *adl_telemetry_status(const struct adl_telemetry_reader *reader, uint32_t *ret_count)
{
    *ret_count = reader->merged.status_count;
    return reader->merged.statuses;
}

int adl_telemetry_sample(struct adl_telemetry_reader *reader, int64_t now_us, struct adl_error *err)
{
    if (reader->sampled && now_us < reader->last_us + reader->interval_us)
        return 0;
    for (uint32_t s = 0; s < reader->source_count; s++) {
        struct adl_telemetry_source *source = &reader->sources[s];
        adl_source_clear_samples(source, now_us);
        if (source->ops->sample(source, now_us) < 0)
            return adl_fail(err, ADL_ENOMEM, "telemetry: out of memory");
        for (uint32_t i = 0; i < source->status_count; i++)
            source->statuses[i].sample_count++;
    }
    if (place_devices(reader) < 0)
        return adl_fail(err, ADL_ENOMEM, "telemetry: out of memory");
    reader->sampled = true;
    reader->last_us = now_us;
    merge_samples(reader, now_us);
    copy_statuses(reader);
    return 1;
}
