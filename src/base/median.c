#include "base/median.h"

#include "base/real.h"

#include <string.h>

#define LOG_2    0.69314718055994531
#define PER_STEP 4

/* log2(value) * PER_STEP, rounded: four bins to each exponent, whose borders are 2^(1/8), 2^(3/8), 2^(5/8), 2^(7/8). */
static uint32_t bin_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t part = bits & 0x000fffffffffffffu;
    const uint32_t above = (uint32_t)(part >= 0x172b83c7d517bu) + (uint32_t)(part >= 0x4bfdad5362a27u) +
                           (uint32_t)(part >= 0x8ace5422aa0dbu) + (uint32_t)(part >= 0xd5818dcfba487u);
    return (uint32_t)((bits >> 52) - 1023) * PER_STEP + above;
}

void adl_median_add(struct adl_median *median, double value)
{
    const uint32_t bin = value > 1 ? bin_of(value) : 0;
    median->bins[bin < ADL_MEDIAN_BINS ? bin : ADL_MEDIAN_BINS - 1]++;
    median->count++;
}

double adl_median_value(const struct adl_median *median)
{
    uint32_t below = 0;
    int bin = 0;
    if (median->count == 0)
        return 0;
    while ((below += median->bins[bin]) < median->count - median->count / 2)
        bin++;
    return adl_exp(LOG_2 * (double)bin / PER_STEP);
}
