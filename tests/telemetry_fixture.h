/* telemetry_fixture: what the tests of telemetry share: opening a reader and looking at what it read. */
#ifndef TELEMETRY_FIXTURE_H
#define TELEMETRY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "telemetry/telemetry.h"

#include <math.h>
#include <string.h>

#define SECOND INT64_C(1000000)

static inline struct adl_telemetry_reader *open_reader(const struct adl_telemetry_options *options)
{
    struct adl_telemetry_reader *reader = NULL;
    struct adl_error err = {{0}};
    if (adl_telemetry_open(options, &reader, &err) < 0)
        fail_msg("%s", err.text);
    return reader;
}

static inline void take_sample(struct adl_telemetry_reader *reader, int64_t now_us)
{
    struct adl_error err = {{0}};
    assert_int_equal(adl_telemetry_sample(reader, now_us, &err), 1);
}

static inline const struct adl_gpu_device *device_at(const struct adl_telemetry_reader *reader, uint32_t index)
{
    uint32_t count;
    const struct adl_gpu_device *devices = adl_telemetry_devices(reader, &count);
    assert_true(index < count);
    return &devices[index];
}

static inline uint32_t device_count(const struct adl_telemetry_reader *reader)
{
    uint32_t count;
    adl_telemetry_devices(reader, &count);
    return count;
}

static inline const struct adl_telemetry_status *status_at(const struct adl_telemetry_reader *reader, uint32_t index)
{
    uint32_t count;
    const struct adl_telemetry_status *statuses = adl_telemetry_status(reader, &count);
    assert_true(index < count);
    return &statuses[index];
}

static inline uint64_t fault_count(const struct adl_telemetry_reader *reader, uint32_t index, int fault)
{
    return status_at(reader, index)->faults.count[fault];
}

/* The reading, or NAN if it is missing. */
static inline double reading(const struct adl_telemetry_reader *reader, uint32_t device, int what)
{
    const struct adl_gpu_sample *sample = &adl_telemetry_samples(reader)[device];
    return adl_telemetry_has(&sample->telemetry, what) ? (double)sample->telemetry.value[what] : NAN;
}

#define expect_reading(reader, device, what, wanted)                                                                   \
    assert_true(fabs(reading(reader, device, what) - (wanted)) <= 1e-4 * (1.0 + fabs((double)(wanted))))
#define expect_missing(reader, device, what) assert_true(isnan(reading(reader, device, what)))

#endif
