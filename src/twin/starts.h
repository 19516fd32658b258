/* starts: when each waiting job will start and end, from the futures of a state (twin/fork.h).
 *
 * A forecast of a job is the list of its starts in all futures. Which of them stands for a probability is calibrated by
 * how earlier forecasts of the same run turned out (struct adl_start_ranks). */
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

/* How the past forecasts of one run turned out. */
#define ADL_START_RANKS_MAX 1024

struct adl_start_ranks {
    float ranks[ADL_START_RANKS_MAX]; /* a ring */
    uint64_t count;
};

/* Where an actual time stands among the forecast ones: 0 to 1; below or above beyond the first or last, by the
 * logarithm of how far beyond. Times from made_us on. */
double adl_start_rank(const int64_t *times, uint32_t count, int64_t made_us, int64_t actual_us);
int64_t adl_start_rank_time(const int64_t *times, uint32_t count, int64_t made_us, double rank); /* the inverse */

void adl_start_ranks_learn(struct adl_start_ranks *ranks, double rank);

/* The rank that a share q of the past forecasts stayed within; q itself until there are enough. */
double adl_start_ranks_level(const struct adl_start_ranks *ranks, double q);

#endif
