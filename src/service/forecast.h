/* forecast: when each waiting job of the service will start and end, by a thread of low priority that plays futures of
 * copies of the live engine (twin/starts.h).
 *
 * Every forecast has the time at which it was made. Until enough jobs have ended for a belief about run times, jobs are
 * taken to run until their time limits. The thread spends at most a stated share of one core; a queue that is too long
 * for that is played less far, and jobs beyond keep an older forecast, or have none. */
#ifndef ADLRO_SERVICE_FORECAST_H
#define ADLRO_SERVICE_FORECAST_H

#include "twin/starts.h"

struct adl_service_state;

#define ADL_FORECAST_ENDS 20 /* jobs that have to have ended before forecasts rest on the belief */

struct adl_forecast_config {
    uint32_t futures; /* 0: there are no forecasts */
    double interval_s;
    double cpu_share; /* of one core, at most */
};

/* Of one waiting job, in the engine's time; ADL_NEVER_US: not within what was played. */
struct adl_start_forecast {
    uint64_t id; /* as in struct adl_job_spec */
    int64_t made_us;
    int64_t start_p50_us, start_p90_us, end_p50_us, end_p90_us;
    bool limits; /* from time limits: p50 and p90 are equal */
};

struct adl_forecasts_counts {
    bool on;
    int64_t made_us;   /* the last; 0 = none yet */
    double age_s;      /* since the last was made, in real time */
    uint32_t jobs;     /* that have one */
    bool limits;       /* the last rest on time limits ... */
    uint64_t ended;    /* ... because only so many jobs have ended */
    uint64_t failures; /* rounds of which nothing came */
    double cpu_s;      /* that they took */
    uint64_t started;  /* jobs that have started after a first forecast from the belief ... */
    uint64_t in_p50, in_p90;
};

struct adl_forecasts;

int adl_forecasts_create(const struct adl_forecast_config *config, struct adl_service_state *shared,
                         struct adl_forecasts **ret, struct adl_error *err);
void adl_forecasts_destroy(struct adl_forecasts *forecasts);                     /* accepts NULL; ends the thread */
int adl_forecasts_begin(struct adl_forecasts *forecasts, struct adl_error *err); /* starts the thread */
struct adl_observer adl_forecasts_observer(struct adl_forecasts *forecasts);     /* of each live engine */

/* How forecasts turned out, from bytes; before the thread is started. ADL_EINVAL: they are not usable, and nothing has
 * changed. */
int adl_forecasts_decode(struct adl_forecasts *forecasts, const void *bytes, size_t size, struct adl_error *err);

/* From any thread. */
void adl_forecasts_encode(struct adl_forecasts *forecasts, struct adl_text *ret);
void adl_forecasts_set(struct adl_forecasts *forecasts, const struct adl_forecast_config *config);
bool adl_forecasts_find(struct adl_forecasts *forecasts, uint64_t id, struct adl_start_forecast *ret); /* false: none */
struct adl_forecasts_counts adl_forecasts_counts(struct adl_forecasts *forecasts);

/* Whether enough jobs have ended to predict run times; else they are taken from time limits. */
bool adl_forecasts_know(const struct adl_state *state);

#endif
