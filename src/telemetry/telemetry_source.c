#include "telemetry/telemetry_source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int adl_source_add_device(struct adl_telemetry_source *source, const struct adl_gpu_device *device)
{
    if (source->count == ADL_TELEMETRY_DEVICES_MAX)
        return ADL_EREFUSED;
    if (source->count == source->capacity) {
        const uint32_t capacity = source->capacity ? source->capacity * 2 : 8;
        struct adl_gpu_device *devices = realloc(source->devices, capacity * sizeof *devices);
        if (!devices)
            return ADL_ENOMEM;
        source->devices = devices;
        struct adl_gpu_sample *samples = realloc(source->samples, capacity * sizeof *samples);
        if (!samples)
            return ADL_ENOMEM;
        source->samples = samples;
        source->capacity = capacity;
    }
    source->devices[source->count] = *device;
    adl_gpu_sample_clear(&source->samples[source->count], 0);
    return (int)source->count++;
}

int adl_source_set_statuses(struct adl_telemetry_source *source, uint32_t count)
{
    source->statuses = calloc(count, sizeof *source->statuses);
    if (!source->statuses)
        return ADL_ENOMEM;
    source->status_count = count;
    return 0;
}

void adl_source_clear_samples(struct adl_telemetry_source *source, int64_t now_us)
{
    for (uint32_t i = 0; i < source->count; i++)
        adl_gpu_sample_clear(&source->samples[i], now_us);
}

void adl_source_clear(struct adl_telemetry_source *source)
{
    if (source->ops)
        source->ops->close(source->state);
    free(source->devices);
    free(source->samples);
    free(source->statuses);
    *source = (struct adl_telemetry_source){0};
}

void adl_status_set(struct adl_telemetry_status *status, bool up, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    status->up = up;
    vsnprintf(status->text, sizeof status->text, fmt, args);
    va_end(args);
}

void adl_gpu_sample_clear(struct adl_gpu_sample *sample, int64_t now_us)
{
    *sample = (struct adl_gpu_sample){.time_us = now_us, .energy_j = -1, .memory_used_mib = -1};
    adl_telemetry_clear(&sample->telemetry);
}

void adl_gpu_sample_add_pid(struct adl_gpu_sample *sample, int64_t pid)
{
    if (pid <= 0 || pid > INT32_MAX)
        return;
    const uint32_t kept = sample->pid_count < ADL_GPU_PIDS_MAX ? sample->pid_count : ADL_GPU_PIDS_MAX;
    for (uint32_t i = 0; i < kept; i++)
        if (sample->pids[i] == pid)
            return;
    if (kept < ADL_GPU_PIDS_MAX)
        sample->pids[kept] = (int32_t)pid;
    sample->pid_count++;
}
