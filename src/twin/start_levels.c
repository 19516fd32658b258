/* start_levels: which of the forecast times stands for a probability, by how earlier forecasts turned out. */
#include "base/real.h"
#include "twin/starts.h"

#include <math.h>

#define STEP_FIRST  0.6   /* of all trackers after the first start; relative to how far starts are from the level */
#define LOSS_MOST   5.0   /* of a tracker, relative to that distance: one start does not decide */
#define SHARED      0.02  /* of the weight of all trackers, at each start: so that one that lost may win again */
#define OWED_WEIGHT 0.04  /* of a start that is owed, in a level, relative to the distance; */
#define OWED_UP     0.5   /* at most, of a distance: a level that is too high is off by e-folds, */
#define OWED_DOWN   1.0   /* one that is too low by no more than the wait */
#define OWED_SCALE  3.0   /* the distance counts there up to so many times that of forecasts that are right as drawn */
#define OWED_MOST   200.0 /* starts that are owed and remembered */
#define RECENT      0.005 /* least share of a start in the distance */
#define ALONE_FROM  0.9   /* probability from which on each forecast of a job counts */
#define TAIL_INDEX  1.5   /* of the Pareto tail of waits beyond the last future that reached the start */
#define TAIL_TO     0.8   /* rank from which on it goes on as steeply as it is there: levels may be above 1 */

/* Step of a tracker, relative to the distance, and its weight before anything is known. */
static const struct {
    double step, weight;
} trackers[ADL_START_TRACKERS] = {{0.01, 0.6}, {0.05, 0.3}, {0.3, 0.1}};

/* The logarithm of a wait. Short waits are much alike: else starts minutes late where a start at once was forecast,
 * twenty e-folds, would stretch the forecasts of waits of hours to days. */
static double wait_of(const struct adl_start_times *times, int64_t time_us)
{
    return adl_log((double)(time_us > times->made_us ? time_us - times->made_us : 0) + times->alike_us);
}

static double rank_at(uint32_t index, uint32_t count)
{
    return (index + 0.5) / count;
}

/* Forecast times that are within the horizon. */
static uint32_t count_known(const struct adl_start_times *times)
{
    uint32_t count = times->count;
    while (count > 0 && times->us[count - 1] == ADL_NEVER_US)
        count--;
    return count;
}

/* Waits beyond the last known start, at this rank: by how much their logarithm is higher at another one, and the
 * inverse. Futures that were cut say no more than that they start later: waits have a tail, and the fewer futures
 * reached the start, the longer the part of it that a level spans. */
static double tail_begin(double from)
{
    return from > TAIL_TO ? from : TAIL_TO;
}

static double tail_wait(double from, double rank)
{
    const double begin = tail_begin(from), to = rank < begin ? rank : begin;
    return adl_log((1 - from) / (1 - to)) / TAIL_INDEX + (rank - to) / ((1 - TAIL_TO) * TAIL_INDEX);
}

static double tail_rank(double from, double wait)
{
    const double begin = tail_begin(from), at = tail_wait(from, begin);
    return wait < at ? 1 - (1 - from) * adl_exp(-wait * TAIL_INDEX) : begin + (wait - at) * (1 - TAIL_TO) * TAIL_INDEX;
}

struct adl_start_rank adl_start_rank(const struct adl_start_times *times, int64_t actual_us)
{
    const uint32_t known = count_known(times), count = times->count;
    const double actual = wait_of(times, actual_us);
    double rank = 0;
    uint32_t below = 0, equal = 0;
    for (uint32_t i = 0; i < known; i++) {
        below += times->us[i] < actual_us;
        equal += times->us[i] == actual_us;
    }
    if (equal > 0)
        return (struct adl_start_rank){(double)below / count, (double)(below + equal) / count};
    if (known > 0 && below == 0) {
        rank = rank_at(0, count) + actual - wait_of(times, times->us[0]);
    } else if (known > 0 && below == known) {
        rank = tail_rank(rank_at(known - 1, count), actual - wait_of(times, times->us[known - 1]));
    } else if (known > 0) {
        const double before = wait_of(times, times->us[below - 1]), after = wait_of(times, times->us[below]);
        rank = rank_at(below - 1, count) + (after > before ? (actual - before) / (after - before) / count : 0);
    }
    return (struct adl_start_rank){rank, rank};
}

int64_t adl_start_rank_time(const struct adl_start_times *times, double rank)
{
    const uint32_t known = count_known(times), count = times->count;
    const double at = rank * count - 0.5;
    double wait;
    if (known == 0)
        return ADL_NEVER_US;
    if (at <= 0) {
        wait = wait_of(times, times->us[0]) + rank - rank_at(0, count);
    } else if (at >= known - 1) {
        wait = wait_of(times, times->us[known - 1]) + tail_wait(rank_at(known - 1, count), rank);
    } else {
        const uint32_t i = (uint32_t)at;
        const double before = wait_of(times, times->us[i]), after = wait_of(times, times->us[i + 1]);
        wait = before + (at - i) * (after - before);
    }
    const double us = adl_exp(wait) - times->alike_us;
    return us < 1e18 ? times->made_us + (us > 0 ? (int64_t)us : 0) + 1 : ADL_NEVER_US;
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

static double level_of(const struct adl_start_levels *levels, int tracker, int index)
{
    return probability(index) + (double)levels->moved[tracker][index];
}

static double weight_of(const struct adl_start_levels *levels, int tracker, int index)
{
    return levels->starts ? (double)levels->weight[tracker][index] : trackers[tracker].weight;
}

static double bounded(double value, double most)
{
    return value > most ? most : value < -most ? -most : value;
}

/* What the starts that are owed add to a level. A scale that grows at once with a few far starts would let it jump. */
static double correction(const struct adl_start_levels *levels, int index)
{
    const double distance = distance_of(levels, index), most = OWED_SCALE * distance_as_drawn(index);
    const double share = OWED_WEIGHT * (double)levels->owed[index];
    return (share < -OWED_DOWN ? -OWED_DOWN : share < OWED_UP ? share : OWED_UP) * (distance < most ? distance : most);
}

struct adl_start_issue adl_start_levels_issue(const struct adl_start_levels *levels)
{
    struct adl_start_issue issue = {.judged = 0};
    for (int i = 0; i < ADL_START_LEVELS; i++) {
        double sum = correction(levels, i);
        for (int t = 0; t < ADL_START_TRACKERS; t++)
            sum += weight_of(levels, t, i) * level_of(levels, t, i);
        const float level = (float)sum;
        issue.level[i] = i > 0 && level < issue.level[i - 1] ? issue.level[i - 1] : level;
    }
    return issue;
}

/* ---- what is learned ---- */

/* What one of several forecasts of a job counts for the trackers: they turn out at once and alike, and n of them tell
 * hardly more than one. Late starts are of jobs that wait long, which have most forecasts: the nearer to p90, the more
 * each one counts, or too few starts would come within it. */
static double share_of(const struct adl_start_issue *issue, int index)
{
    const double left = (ALONE_FROM - probability(index)) / (ALONE_FROM - 0.5);
    return 1 / (1 + (left > 1 ? 1 : left > 0 ? left : 0) * issue->others);
}

static void measure(struct adl_start_levels *levels, const struct adl_start_issue *issue, double rank)
{
    const struct adl_start_issue now = adl_start_levels_issue(levels);
    const double least = RECENT, share = 1.0 / (levels->starts + 5);
    for (int i = 0; i < ADL_START_LEVELS; i++) {
        const double from = fabs(rank - (double)now.level[i]), before = distance_of(levels, i);
        levels->distance[i] = (float)(before + share_of(issue, i) * (share > least ? share : least) * (from - before));
    }
}

/* Pinball loss of a tracker's level, relative to how far starts are from the level. */
static double loss_of(const struct adl_start_levels *levels, int tracker, int index, double rank)
{
    const double late = rank - level_of(levels, tracker, index), q = probability(index);
    const double loss = (late > 0 ? q * late : (q - 1) * late) / distance_of(levels, index);
    return loss < LOSS_MOST ? loss : LOSS_MOST;
}

/* Exponential weights with a fixed share. */
static void weigh(struct adl_start_levels *levels, int index, double share, double rank)
{
    double weights[ADL_START_TRACKERS], sum = 0;
    for (int t = 0; t < ADL_START_TRACKERS; t++) {
        weights[t] = weight_of(levels, t, index) * adl_exp(-share * loss_of(levels, t, index, rank));
        sum += weights[t];
    }
    for (int t = 0; t < ADL_START_TRACKERS; t++)
        levels->weight[t][index] =
            (float)((1 - share * SHARED) * weights[t] / sum + share * SHARED * trackers[t].weight);
}

static void move(struct adl_start_levels *levels, int tracker, int index, double share, double within)
{
    const double first = STEP_FIRST / sqrt(levels->starts + 1.0), least = trackers[tracker].step;
    levels->moved[tracker][index] +=
        (float)(share * (first > least ? first : least) * distance_of(levels, index) * (probability(index) - within));
}

/* Coverage is that of forecasts, so each one counts here. */
static void owe(struct adl_start_levels *levels, int index, double within)
{
    levels->owed[index] = (float)bounded((double)levels->owed[index] + probability(index) - within, OWED_MOST);
}

void adl_start_levels_wait(struct adl_start_levels *levels, struct adl_start_issue *issue, struct adl_start_rank rank)
{
    for (int i = 0; i < ADL_START_LEVELS; i++) {
        const uint32_t bit = 1u << i;
        const double share = share_of(issue, i);
        for (int t = 0; t < ADL_START_TRACKERS; t++)
            if (!(issue->moved[t] & bit) && level_of(levels, t, i) < rank.low) {
                move(levels, t, i, share, 0);
                issue->moved[t] |= bit;
            }
        if (!(issue->judged & bit) && (double)issue->level[i] < rank.low) {
            owe(levels, i, 0);
            issue->judged |= bit;
        }
    }
}

void adl_start_levels_learn(struct adl_start_levels *levels, struct adl_start_issue *issue, struct adl_start_rank rank)
{
    const double middle = (rank.low + rank.high) / 2;
    measure(levels, issue, middle);
    for (int i = 0; i < ADL_START_LEVELS; i++) {
        const double share = share_of(issue, i);
        weigh(levels, i, share, middle);
        for (int t = 0; t < ADL_START_TRACKERS; t++)
            if (!(issue->moved[t] >> i & 1))
                move(levels, t, i, share, adl_start_within(rank, level_of(levels, t, i)));
        if (!(issue->judged >> i & 1))
            owe(levels, i, adl_start_within(rank, (double)issue->level[i]));
    }
    levels->starts++;
}
