/* start_time: when waiting jobs are expected to start, as `squeue --start` shows it and in a sentence. */
#ifndef ADLRO_CLI_CLIENT_START_TIME_H
#define ADLRO_CLI_CLIENT_START_TIME_H

#include "base/text.h"

struct cJSON;

#define ADL_START_SIZE 24

/* "11-18T14:20": the expected start of a waiting job, the start of one that runs; "N/A" if there is none. */
const char *adl_start_short(const struct cJSON *job, char buffer[ADL_START_SIZE]);

/* "expected 2026-11-18 14:20:00, by 2026-11-18 16:05:00 in 9 of 10 cases"; nothing if it has no forecast. */
void adl_start_say(struct adl_text *text, const struct cJSON *job);

/* The waiting jobs of a list in order of their expected starts, with a line of titles. */
void adl_starts_table(struct adl_text *text, const struct cJSON *jobs, size_t width);

/* What the forecasts of /v1/cluster rest on: "As of ...; from time limits: 3 jobs have ended so far". */
void adl_starts_say_basis(struct adl_text *text, const struct cJSON *cluster);

#endif
