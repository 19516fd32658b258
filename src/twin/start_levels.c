/* start_levels: which of the forecast times stands for a probability, by how earlier forecasts turned out. */
#include "base/real.h"
#include "twin/starts.h"

#include <math.h>

#define STEP_FIRST 1.2   /* of a level after the first forecast that has turned out, ... */
#define STEP_LEAST 0.15  /* ... and after many; relative to how far starts are from the level */
#define RECENT     0.005 /* least share of a start in that distance */

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

struct adl_start_rank adl_start_rank(const int64_t *times, uint32_t count, int64_t made_us, int64_t actual_us)
{
    const uint32_t known = count_known(times, count);
    const double actual = wait_of(actual_us, made_us);
    double rank = 0;
    uint32_t below = 0, equal = 0;
    for (uint32_t i = 0; i < known; i++) {
        below += times[i] < actual_us;
        equal += times[i] == actual_us;
    }
    if (equal > 0)
        return (struct adl_start_rank){(double)below / count, (double)(below + equal) / count};
    if (known > 0 && below == 0) {
        rank = rank_at(0, count) + actual - wait_of(times[0], made_us);
    } else if (known > 0 && below == known) {
        rank = rank_at(known - 1, count) + actual - wait_of(times[known - 1], made_us);
    } else if (known > 0) {
        const double before = wait_of(times[below - 1], made_us), after = wait_of(times[below], made_us);
        rank = rank_at(below - 1, count) + (after > before ? (actual - before) / (after - before) / count : 0);
    }
    return (struct adl_start_rank){rank, rank};
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

double adl_start_within(struct adl_start_rank rank, double level)
{
    if (rank.high <= level)
        return 1;
    return rank.low < level ? (level - rank.low) / (rank.high - rank.low) : 0;
}

/* ---- levels ---- */

static double probability(int index)
{
    return (index + 1.0) / (ADL_START_LEVELS + 1);
}

int adl_start_level_index(double q)
{
    const int index = (int)(q * (ADL_START_LEVELS + 1) + 0.5) - 1;
    return index < 0 ? 0 : index < ADL_START_LEVELS ? index : ADL_START_LEVELS - 1;
}

struct adl_start_issue adl_start_levels_issue(const struct adl_start_levels *levels)
{
    struct adl_start_issue issue = {.judged = 0};
    for (int i = 0; i < ADL_START_LEVELS; i++) {
        const float level = (float)probability(i) + levels->moved[i];
        issue.level[i] = i > 0 && level < issue.level[i - 1] ? issue.level[i - 1] : level;
    }
    return issue;
}

/* How far starts are from a level if forecasts are right as drawn: uniform ranks. */
static double distance_as_drawn(int index)
{
    const double q = probability(index);
    return (q * q + (1 - q) * (1 - q)) / 2;
}

static double distance_of(const struct adl_start_levels *levels, int index)
{
    return levels->starts ? (double)levels->distance[index] : distance_as_drawn(index);
}

static void measure(struct adl_start_levels *levels, const struct adl_start_issue *issue, struct adl_start_rank rank)
{
    const double least = RECENT, share = 1.0 / (levels->starts + 5);
    for (int i = 0; i < ADL_START_LEVELS; i++) {
        const double from = fabs((rank.low + rank.high) / 2 - (double)issue->level[i]);
        const double before = distance_of(levels, i);
        levels->distance[i] = (float)(before + (share > least ? share : least) * (from - before));
    }
    levels->starts++;
}

static void judge(struct adl_start_levels *levels, struct adl_start_issue *issue, int index, double within)
{
    const double step = STEP_FIRST / sqrt((double)++levels->count[index]);
    levels->moved[index] +=
        (float)((step > STEP_LEAST ? step : STEP_LEAST) * distance_of(levels, index) * (probability(index) - within));
    issue->judged |= 1u << index;
}

void adl_start_levels_wait(struct adl_start_levels *levels, struct adl_start_issue *issue, struct adl_start_rank rank)
{
    for (int i = 0; i < ADL_START_LEVELS; i++)
        if (!(issue->judged >> i & 1) && (double)issue->level[i] < rank.low)
            judge(levels, issue, i, 0);
}

void adl_start_levels_learn(struct adl_start_levels *levels, struct adl_start_issue *issue, struct adl_start_rank rank)
{
    measure(levels, issue, rank);
    for (int i = 0; i < ADL_START_LEVELS; i++)
        if (!(issue->judged >> i & 1))
            judge(levels, issue, i, adl_start_within(rank, (double)issue->level[i]));
}
