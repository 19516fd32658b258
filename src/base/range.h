/* range: numbers in files and options, parsed strictly and within bounds. The decimal separator is a point: in a locale
 * with another one (LC_NUMERIC) numbers are refused, never misread. */
#ifndef ADLRO_BASE_RANGE_H
#define ADLRO_BASE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#define ADL_BOUND_SIZE   32
#define ADL_REFUSAL_SIZE 200

struct adl_range {
    double min;
    double max;
    bool open;    /* min and max themselves are excluded */
    bool or_zero; /* 0 is allowed beside what lies between them */
};

/* Whole numbers are decimal digits alone; reals are decimal and finite. On false, reason is the end of a
 * sentence that begins with what was read: "must be between 1 and 64, got 0". */
bool adl_range_read_int(const char *text, const struct adl_range *range, int64_t *ret_value,
                        char reason[ADL_REFUSAL_SIZE]);
bool adl_range_read_real(const char *text, const struct adl_range *range, double *ret_value,
                         char reason[ADL_REFUSAL_SIZE]);

/* Shortest form that people read easily: 0.5, 4096, 1e6. Returns buffer. */
const char *adl_bound_print(double value, char buffer[ADL_BOUND_SIZE]);

/* "between 1 and 64", "between 0 and 1, both excluded", "0 or between 1 and 9". Returns buffer. */
const char *adl_range_print(const struct adl_range *range, char buffer[ADL_REFUSAL_SIZE]);

#endif
