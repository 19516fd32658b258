#include "base/median.h"

#include "base/real.h"

#define LOG_2    0.69314718055994531
#define PER_STEP 4

void adl_median_add(struct adl_median *median, double value)
{
    const double at = value > 1 ? adl_log(value) / LOG_2 * PER_STEP + 0.5 : 0;
    median->bins[at < ADL_MEDIAN_BINS ? (int)at : ADL_MEDIAN_BINS - 1]++;
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
