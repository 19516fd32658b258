/* starts: when each waiting job will start and end, from the futures of a state (twin/fork.h).
 *
 * A forecast of a job is the list of its starts in all futures. Which of them stands for a probability is calibrated by
 * how earlier forecasts of the same run turned out (struct adl_start_levels). */
#ifndef ADLRO_TWIN_STARTS_H
#define ADLRO_TWIN_STARTS_H

#include "twin/fork.h"

#define ADL_NEVER_US INT64_MAX /* not within the horizon */

struct adl_starts_config {
    struct adl_fork_config fork; /* its observer is not used */
    uint32_t futures;
    double horizon_s;            /* how far futures are played */
    uint64_t events_max;         /* of a future; 0 = no limit */
    bool (*halt)(void *context); /* asked now and then: true ends the future that is played; NULL = never */
    void *context;
};

struct adl_starts;

int adl_starts_create(const struct adl_starts_config *config, struct adl_starts **ret, struct adl_error *err);
void adl_starts_destroy(struct adl_starts *starts); /* accepts NULL */

/* Plays the futures of a base for all its waiting jobs, or for the one in a slot (ADL_NONE: all), and forgets what it
 * said before. Memory is kept. */
int adl_starts_refresh(struct adl_starts *starts, const struct adl_engine *base, const struct adl_recent *recent,
                       uint64_t seed, uint32_t slot, struct adl_error *err);

/* The same in parts: begin; play as often as there are futures, or less often; sort. The base and its past stay as they
 * are meanwhile. */
int adl_starts_begin(struct adl_starts *starts, const struct adl_engine *base, const struct adl_recent *recent,
                     uint64_t seed, uint32_t slot, struct adl_error *err);
int adl_starts_play(struct adl_starts *starts, struct adl_error *err);
void adl_starts_sort(struct adl_starts *starts);

/* Of a job that waited then: times, ascending, one for each future that was played; NULL if it did not wait. An end is
 * that of a job which is not stopped after all have started. */
const int64_t *adl_starts_of(const struct adl_starts *starts, uint32_t slot);
const int64_t *adl_ends_of(const struct adl_starts *starts, uint32_t slot);
uint32_t adl_starts_futures(const struct adl_starts *starts); /* that were played */
int64_t adl_starts_made_us(const struct adl_starts *starts);  /* when it was made */
uint64_t adl_starts_events(const struct adl_starts *starts);  /* that were played for it */

/* Where a start stands among the forecast ones: 0 to 1; below or above beyond the first or last, by the logarithm of
 * how far beyond. low and high differ if it is one of them: it then stands for all ranks in between, in equal parts. */
struct adl_start_rank {
    double low, high;
};

/* The forecast of one job. */
struct adl_start_times {
    const int64_t *us; /* from made_us on, ascending */
    uint32_t count;
    int64_t made_us;
    double alike_us; /* waits below that are much alike (adl_recent_alike_us) */
};

struct adl_start_rank adl_start_rank(const struct adl_start_times *times, int64_t actual_us);
int64_t adl_start_rank_time(const struct adl_start_times *times, double rank); /* the inverse */

/* The part of it that is within a level: 0 or 1 unless low and high differ. */
double adl_start_within(struct adl_start_rank rank, double level);

/* Which rank, the level, stands for a probability: adaptive conformal inference with several steps at once. Each
 * tracker moves its level up by a step when a start came later than that, and down when not, in proportions that hold
 * it where as many starts as the probability says come within. A level is the mean of the trackers, weighted by how
 * well each did lately, and higher by a part of the starts that forecasts owe: those that should have come within the
 * levels as they were issued, less those that did. Zeros: as drawn. */
#define ADL_START_LEVELS   19 /* of the probabilities 0.05, 0.10 ... 0.95 */
#define ADL_START_TRACKERS 3  /* with small, medium and large steps */

struct adl_start_levels {
    float moved[ADL_START_TRACKERS][ADL_START_LEVELS]; /* level less probability */
    float weight[ADL_START_TRACKERS][ADL_START_LEVELS];
    float owed[ADL_START_LEVELS];
    float distance[ADL_START_LEVELS]; /* of starts from the level, on average */
    uint32_t starts;
};

/* The levels that a forecast was issued with, ascending, until its job starts. */
struct adl_start_issue {
    float level[ADL_START_LEVELS];
    uint32_t others;                    /* forecasts of the same job that will turn out with it and are learned from */
    uint32_t judged;                    /* mask of levels that are known to be too early */
    uint32_t moved[ADL_START_TRACKERS]; /* the same for what the trackers had then */
};

int adl_start_level_index(double q); /* of the nearest probability */
struct adl_start_issue adl_start_levels_issue(const struct adl_start_levels *levels);

/* A job still waits at this rank, which tells of the levels below; or has started. An issue counts once for each level.
 */
void adl_start_levels_wait(struct adl_start_levels *levels, struct adl_start_issue *issue, struct adl_start_rank rank);
void adl_start_levels_learn(struct adl_start_levels *levels, struct adl_start_issue *issue, struct adl_start_rank rank);

#endif
