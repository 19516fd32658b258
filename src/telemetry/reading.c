#include "telemetry/reading.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const struct {
    uint8_t quantity;
    double scale; /* to the quantity's unit */
    const char *names[4];
} units[ADL_UNIT_COUNT] = {
    [ADL_UNIT_RATIO] = {ADL_QUANTITY_SHARE, 1.0, {"ratio", "ratios", "fraction"}},
    [ADL_UNIT_PERCENT] = {ADL_QUANTITY_SHARE, 0.01, {"%", "percent", "percentage"}},
    [ADL_UNIT_C] = {ADL_QUANTITY_TEMPERATURE, 1.0, {"C", "celsius"}},
    [ADL_UNIT_MC] = {ADL_QUANTITY_TEMPERATURE, 1e-3, {"mC", "millicelsius"}},
    [ADL_UNIT_W] = {ADL_QUANTITY_POWER, 1.0, {"W", "watts", "watt"}},
    [ADL_UNIT_MW] = {ADL_QUANTITY_POWER, 1e-3, {"mW", "milliwatts"}},
    [ADL_UNIT_UW] = {ADL_QUANTITY_POWER, 1e-6, {"uW", "microwatts"}},
    [ADL_UNIT_J] = {ADL_QUANTITY_ENERGY, 1.0, {"J", "joules"}},
    [ADL_UNIT_MJ] = {ADL_QUANTITY_ENERGY, 1e-3, {"mJ", "millijoules"}},
    [ADL_UNIT_UJ] = {ADL_QUANTITY_ENERGY, 1e-6, {"uJ", "microjoules"}},
    [ADL_UNIT_BYTE] = {ADL_QUANTITY_MEMORY, 1.0 / 1048576.0, {"B", "bytes"}},
    [ADL_UNIT_KIB] = {ADL_QUANTITY_MEMORY, 1.0 / 1024.0, {"KiB", "kibibytes"}},
    [ADL_UNIT_MB] = {ADL_QUANTITY_MEMORY, 1e6 / 1048576.0, {"MB", "megabytes"}},
    [ADL_UNIT_MIB] = {ADL_QUANTITY_MEMORY, 1.0, {"MiB", "mebibytes"}},
    [ADL_UNIT_GIB] = {ADL_QUANTITY_MEMORY, 1024.0, {"GiB", "gibibytes"}},
    [ADL_UNIT_BYTE_PER_S] = {ADL_QUANTITY_TRAFFIC, 1e-9, {"B/s", "bytes_per_second"}},
    [ADL_UNIT_KB_PER_S] = {ADL_QUANTITY_TRAFFIC, 1e-6, {"KB/s", "kilobytes_per_second"}},
    [ADL_UNIT_MBIT_PER_S] = {ADL_QUANTITY_TRAFFIC, 1.25e-4, {"Mb/s", "megabits_per_second"}},
    [ADL_UNIT_KB_TOTAL] = {ADL_QUANTITY_DATA, 1e-6, {"KB", "kilobytes"}},
    [ADL_UNIT_KIB_TOTAL] = {ADL_QUANTITY_DATA, 1024e-9, {NULL}},
    [ADL_UNIT_HZ] = {ADL_QUANTITY_CLOCK, 1e-6, {"Hz", "hertz"}},
    [ADL_UNIT_MHZ] = {ADL_QUANTITY_CLOCK, 1.0, {"MHz", "megahertz"}},
    [ADL_UNIT_S] = {ADL_QUANTITY_TIME, 1.0, {"s", "seconds"}},
    [ADL_UNIT_MS] = {ADL_QUANTITY_TIME, 1e-3, {"ms", "milliseconds"}},
    [ADL_UNIT_US] = {ADL_QUANTITY_TIME, 1e-6, {"us", "microseconds"}},
    [ADL_UNIT_NS] = {ADL_QUANTITY_TIME, 1e-9, {"ns", "nanoseconds"}},
};

/* Plausible ranges, with a margin for coming hardware. The largest boards draw 1.4 kW; fifth-generation NVLink moves
 * 1.8 TB/s. */
static const struct {
    double min, max;
} ranges[ADL_QUANTITY_COUNT] = {
    [ADL_QUANTITY_SHARE] = {0.0, 1.0},       [ADL_QUANTITY_TEMPERATURE] = {-40.0, 150.0},
    [ADL_QUANTITY_POWER] = {0.0, 2500.0},    [ADL_QUANTITY_ENERGY] = {0.0, 1e13},
    [ADL_QUANTITY_MEMORY] = {0.0, 16777216}, [ADL_QUANTITY_TRAFFIC] = {0.0, 8000.0},
    [ADL_QUANTITY_DATA] = {0.0, 1e13},       [ADL_QUANTITY_CLOCK] = {0.0, 10000.0},
    [ADL_QUANTITY_TIME] = {0.0, 1e12},
};

int adl_unit_quantity(int unit)
{
    return units[unit].quantity;
}

/* Symbols are case-sensitive (mW and MW), words are not. */
static bool is_unit_name(const char *name, const char *text, size_t size)
{
    if (strlen(name) != size)
        return false;
    return size > 4 ? strncasecmp(name, text, size) == 0 : memcmp(name, text, size) == 0;
}

int adl_unit_find(const char *text, size_t size)
{
    for (int unit = ADL_UNIT_NONE + 1; unit < ADL_UNIT_COUNT; unit++)
        for (int i = 0; i < 4 && units[unit].names[i]; i++)
            if (is_unit_name(units[unit].names[i], text, size))
                return unit;
    return ADL_UNIT_NONE;
}

/* DCGM's blank values (dcgm_structs.h: a base for each width and fifteen reasons above it), and all bits set, which is
 * N/A in amdgpu's metrics. 16 set bits are an ordinary value if the unit is small. */
static bool is_sentinel(double raw, int unit)
{
    if (!isfinite(raw) || raw == -1.0)
        return true;
    if ((raw >= 2147483632.0 && raw <= 2147483647.0) || raw == 4294967295.0)
        return true;
    if ((raw >= 140737488355328.0 && raw <= 140737488355343.0) || raw >= 9223372036854775000.0)
        return true;
    return raw == 65535.0 &&
           (unit == ADL_UNIT_PERCENT || unit == ADL_UNIT_C || unit == ADL_UNIT_W || unit == ADL_UNIT_MHZ);
}

bool adl_reading_check(double raw, int unit, struct adl_reading_faults *faults, double *ret_value)
{
    const int quantity = units[unit].quantity;
    const double value = raw * units[unit].scale;
    if (is_sentinel(raw, unit)) {
        faults->count[ADL_FAULT_ABSENT]++;
        return false;
    }
    if (!(value >= ranges[quantity].min && value <= ranges[quantity].max)) {
        faults->count[ADL_FAULT_IMPOSSIBLE]++;
        return false;
    }
    *ret_value = value;
    return true;
}

void adl_telemetry_clear(struct adl_telemetry *telemetry)
{
    *telemetry = (struct adl_telemetry){.missing = (1u << ADL_READ_COUNT) - 1};
}

void adl_telemetry_set(struct adl_telemetry *telemetry, int reading, double value)
{
    telemetry->missing &= ~(1u << reading);
    telemetry->value[reading] = (float)value;
}

bool adl_telemetry_has(const struct adl_telemetry *telemetry, int reading)
{
    return !(telemetry->missing >> reading & 1);
}

void adl_telemetry_set_share(struct adl_telemetry *telemetry, int reading, double value, double whole,
                             struct adl_reading_faults *faults)
{
    double share;
    if (adl_reading_check(whole > 0 ? value / whole : NAN, ADL_UNIT_RATIO, faults, &share))
        adl_telemetry_set(telemetry, reading, share);
}

bool adl_counter_rate(struct adl_counter *counter, double value, int64_t now_us, double *ret_per_s)
{
    const struct adl_counter before = *counter;
    if (before.known && now_us <= before.time_us)
        return false;
    *counter = (struct adl_counter){.known = true, .value = value, .time_us = now_us};
    if (!before.known || value < before.value)
        return false;
    *ret_per_s = (value - before.value) / ((double)(now_us - before.time_us) * 1e-6);
    return true;
}
