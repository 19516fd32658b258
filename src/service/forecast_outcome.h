/* forecast_outcome: how forecasts turn out: the first forecast of each waiting job, and one that was made an hour later
 * or more, are kept until the job starts. How they turn out calibrates the next ones (struct adl_start_levels), first
 * and later ones apart.
 *
 * The deciding thread reports starts through the observer; the thread that forecasts calls all else. */
#ifndef ADLRO_SERVICE_FORECAST_OUTCOME_H
#define ADLRO_SERVICE_FORECAST_OUTCOME_H

#include "service/forecast.h"

struct adl_outcome_counts {
    uint64_t started, in_p50, in_p90;
};

/* What was learned of forecasts: first ones, and later ones. */
struct adl_outcome_levels {
    struct adl_start_levels kinds[2];
};

/* As bytes with a version and a checksum. Decode fails with a text if they are not usable. */
void adl_outcome_levels_encode(const struct adl_outcome_levels *levels, struct adl_text *ret);
int adl_outcome_levels_decode(struct adl_outcome_levels *levels, const void *bytes, size_t size, struct adl_error *err);

struct adl_outcomes;

int adl_outcomes_create(struct adl_outcomes **ret); /* 0 or ADL_ENOMEM */
void adl_outcomes_destroy(struct adl_outcomes *outcomes);
struct adl_observer adl_outcomes_observer(struct adl_outcomes *outcomes);

/* Compares the starts that were reported since the last call with what was expected, and what was expected until now
 * with the jobs that still wait. */
void adl_outcomes_judge(struct adl_outcomes *outcomes, int64_t now_us);
struct adl_start_issue adl_outcomes_issue(const struct adl_outcomes *outcomes, uint64_t id); /* for its next forecast */
struct adl_outcome_counts adl_outcomes_counts(const struct adl_outcomes *outcomes);
struct adl_outcome_levels *adl_outcomes_levels(struct adl_outcomes *outcomes);

/* A round of forecasts: begin, expect for each waiting job, end. A job that has been expected before keeps its
 * forecasts; one that no longer waits is forgotten. Jobs without a p90 are not followed, and some are not if memory is
 * short. */
void adl_outcomes_begin(struct adl_outcomes *outcomes, uint32_t jobs, uint32_t futures);
void adl_outcomes_expect(struct adl_outcomes *outcomes, const struct adl_start_forecast *forecast,
                         const struct adl_start_issue *issue, const struct adl_start_times *starts);
void adl_outcomes_end(struct adl_outcomes *outcomes);

#endif
