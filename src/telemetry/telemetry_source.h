/* telemetry_source: the interface of a source of telemetry, and its devices. Private to src/telemetry. */
#ifndef ADLRO_TELEMETRY_TELEMETRY_SOURCE_H
#define ADLRO_TELEMETRY_TELEMETRY_SOURCE_H

#include "telemetry/telemetry.h"

struct adl_telemetry_source;

struct adl_telemetry_source_ops {
    /* Creates the state and the statuses. */
    int (*open)(struct adl_telemetry_source *source, const struct adl_telemetry_options *options,
                struct adl_error *err);
    /* Fills samples[], which are cleared before, and may add devices. Negative only if out of memory. */
    int (*sample)(struct adl_telemetry_source *source, int64_t now_us);
    void (*close)(void *state); /* accepts NULL */
};

struct adl_telemetry_source {
    const struct adl_telemetry_source_ops *ops;
    void *state;
    struct adl_gpu_device *devices; /* [count] */
    struct adl_gpu_sample *samples; /* [count]; energy_j is the counter as read */
    uint32_t count;
    uint32_t capacity;
    struct adl_telemetry_status *statuses; /* [status_count] */
    uint32_t status_count;
};

extern const struct adl_telemetry_source_ops adl_telemetry_nvml;
extern const struct adl_telemetry_source_ops adl_telemetry_amd;
extern const struct adl_telemetry_source_ops adl_telemetry_exporter;

/* The device's index, or ADL_ENOMEM, or ADL_EREFUSED beyond ADL_TELEMETRY_DEVICES_MAX. */
int adl_source_add_device(struct adl_telemetry_source *source, const struct adl_gpu_device *device);
int adl_source_set_statuses(struct adl_telemetry_source *source, uint32_t count); /* 0 or ADL_ENOMEM */
void adl_source_clear_samples(struct adl_telemetry_source *source, int64_t now_us);
void adl_source_clear(struct adl_telemetry_source *source); /* accepts a zeroed or half-opened one */

void adl_status_set(struct adl_telemetry_status *status, bool up, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void adl_gpu_sample_clear(struct adl_gpu_sample *sample, int64_t now_us);
void adl_gpu_sample_add_pid(struct adl_gpu_sample *sample, int64_t pid); /* each process counts once */

#endif
