/* reading: checks one measured value: recognizes "no value", converts its unit, refuses impossible values.
 *
 * An unusable value is counted by fault and becomes missing; no value is clipped. */
#ifndef ADLRO_TELEMETRY_READING_H
#define ADLRO_TELEMETRY_READING_H

#include "model/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With the unit that values are converted to. */
enum adl_quantity {
    ADL_QUANTITY_SHARE,       /* 0..1 */
    ADL_QUANTITY_TEMPERATURE, /* degrees Celsius */
    ADL_QUANTITY_POWER,       /* W */
    ADL_QUANTITY_ENERGY,      /* J */
    ADL_QUANTITY_MEMORY,      /* MiB */
    ADL_QUANTITY_TRAFFIC,     /* GB/s */
    ADL_QUANTITY_DATA,        /* GB, a counter */
    ADL_QUANTITY_CLOCK,       /* MHz */
    ADL_QUANTITY_TIME,        /* s, a counter */
    ADL_QUANTITY_COUNT,
};

enum adl_unit {
    ADL_UNIT_NONE, /* not stated */
    ADL_UNIT_RATIO,
    ADL_UNIT_PERCENT,
    ADL_UNIT_C,
    ADL_UNIT_MC,
    ADL_UNIT_W,
    ADL_UNIT_MW, /* milli */
    ADL_UNIT_UW,
    ADL_UNIT_J,
    ADL_UNIT_MJ, /* milli */
    ADL_UNIT_UJ,
    ADL_UNIT_BYTE,
    ADL_UNIT_KIB,
    ADL_UNIT_MB,
    ADL_UNIT_MIB,
    ADL_UNIT_GIB,
    ADL_UNIT_BYTE_PER_S,
    ADL_UNIT_KB_PER_S,
    ADL_UNIT_MBIT_PER_S,
    ADL_UNIT_KB_TOTAL,
    ADL_UNIT_KIB_TOTAL,
    ADL_UNIT_HZ,
    ADL_UNIT_MHZ,
    ADL_UNIT_S,
    ADL_UNIT_MS,
    ADL_UNIT_US,
    ADL_UNIT_NS,
    ADL_UNIT_COUNT,
};

enum adl_reading_fault {
    ADL_FAULT_ABSENT,     /* the source has no such value: N/A, not supported, NaN, -1, blank */
    ADL_FAULT_FAILED,     /* reading it failed */
    ADL_FAULT_IMPOSSIBLE, /* no GPU can have this value: a wrong unit, a broken sensor, a counter that jumped */
    ADL_FAULT_UNIT,       /* stated in a unit that does not fit */
    ADL_FAULT_MALFORMED,  /* text that could not be parsed */
    ADL_FAULT_COUNT,
};

struct adl_reading_faults {
    uint64_t count[ADL_FAULT_COUNT];
};

int adl_unit_quantity(int unit); /* enum adl_quantity; not of ADL_UNIT_NONE */

/* The unit that a page names ("MiB", "percent", "mJ"), ADL_UNIT_NONE if unknown. */
int adl_unit_find(const char *text, size_t size);

/* True and the value in its quantity's unit; false, counted and ret_value untouched otherwise. */
bool adl_reading_check(double raw, int unit, struct adl_reading_faults *faults, double *ret_value);

void adl_telemetry_clear(struct adl_telemetry *telemetry); /* everything missing */
void adl_telemetry_set(struct adl_telemetry *telemetry, int reading, double value);
bool adl_telemetry_has(const struct adl_telemetry *telemetry, int reading);

/* value / whole as a share, if that is possible; otherwise counted and missing. */
void adl_telemetry_set_share(struct adl_telemetry *telemetry, int reading, double value, double whole,
                             struct adl_reading_faults *faults);

/* A monotonic counter, kept to compute a rate. A zeroed one has no value yet. */
struct adl_counter {
    bool known;
    double value;
    int64_t time_us;
};

/* True and the increase per second since the previous call. False at first, if the counter was reset (its driver was
 * reloaded), or if no time has passed. */
bool adl_counter_rate(struct adl_counter *counter, double value, int64_t now_us, double *ret_per_s);

#endif
