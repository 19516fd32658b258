/* start_ranks: which of the forecast times stands for a probability, by how earlier forecasts turned out. */
#include "base/real.h"
#include "twin/starts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEARNED_FROM 20 /* forecasts that have to have turned out before they count */

/* The logarithm of a wait. */
static double wait_of(int64_t time_us, int64_t made_us)
{
    return adl_log((double)(time_us > made_us ? time_us - made_us : 1));
}

static double rank_at(uint32_t index, uint32_t count)
{
    return (index + 0.5) / count;
}

/* Forecast times that are within the horizon. */
static uint32_t count_known(const int64_t *times, uint32_t count)
{
    while (count > 0 && times[count - 1] == ADL_NEVER_US)
        count--;
    return count;
}

double adl_start_rank(const int64_t *times, uint32_t count, int64_t made_us, int64_t actual_us)
{
    const uint32_t known = count_known(times, count);
    const double actual = wait_of(actual_us, made_us);
    uint32_t below = 0, equal = 0;
    for (uint32_t i = 0; i < known; i++) {
        below += times[i] < actual_us;
        equal += times[i] == actual_us;
    }
    if (known == 0)
        return 0;
    if (equal > 0)
        return (below + 0.5 * equal) / count;
    if (below == 0)
        return rank_at(0, count) + actual - wait_of(times[0], made_us);
    const double before = wait_of(times[below - 1], made_us);
    if (below == known)
        return rank_at(known - 1, count) + actual - before;
    const double after = wait_of(times[below], made_us);
    return rank_at(below - 1, count) + (after > before ? (actual - before) / (after - before) / count : 0);
}

int64_t adl_start_rank_time(const int64_t *times, uint32_t count, int64_t made_us, double rank)
{
    const uint32_t known = count_known(times, count);
    const double at = rank * count - 0.5;
    double wait;
    if (known == 0)
        return ADL_NEVER_US;
    if (at <= 0) {
        wait = wait_of(times[0], made_us) + rank - rank_at(0, count);
    } else if (at >= known - 1) {
        wait = wait_of(times[known - 1], made_us) + rank - rank_at(known - 1, count);
    } else {
        const uint32_t i = (uint32_t)at;
        const double before = wait_of(times[i], made_us), after = wait_of(times[i + 1], made_us);
        wait = before + (at - i) * (after - before);
    }
    const double us = adl_exp(wait);
    return us < 1e18 ? made_us + (int64_t)us + 1 : ADL_NEVER_US;
}

void adl_start_ranks_learn(struct adl_start_ranks *ranks, double rank)
{
    ranks->ranks[ranks->count++ % ADL_START_RANKS_MAX] = (float)rank;
}

static int compare_ranks(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

double adl_start_ranks_level(const struct adl_start_ranks *ranks, double q)
{
    const size_t count = ranks->count < ADL_START_RANKS_MAX ? ranks->count : ADL_START_RANKS_MAX;
    float sorted[ADL_START_RANKS_MAX];
    if (count < LEARNED_FROM)
        return q;
    memcpy(sorted, ranks->ranks, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_ranks);
    const size_t at = (size_t)(q * (double)count);
    return (double)sorted[at < count ? at : count - 1];
}
