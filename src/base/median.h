/* median: the median of a stream of positive numbers without keeping it, to a tenth of its value, in fixed memory. */
#ifndef ADLRO_BASE_MEDIAN_H
#define ADLRO_BASE_MEDIAN_H

#include <stdint.h>

#define ADL_MEDIAN_BINS 256 /* 1 .. 2^64, four to a doubling */

struct adl_median {
    uint32_t bins[ADL_MEDIAN_BINS];
    uint32_t count;
};

void adl_median_add(struct adl_median *median, double value); /* below 1 counts as 1 */
double adl_median_value(const struct adl_median *median);     /* 0 if nothing was added */

#endif
