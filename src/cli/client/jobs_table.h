/* jobs_table: jobs as squeue shows them. */
#ifndef ADLRO_CLI_CLIENT_JOBS_TABLE_H
#define ADLRO_CLI_CLIENT_JOBS_TABLE_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct cJSON;

#define ADL_JOB_LABEL_SIZE 64

/* The name users know: "12", or "12_3" in an array. Takes a job, or any object with a job's label. Returns buffer. */
const char *adl_job_label(const struct cJSON *job, char buffer[ADL_JOB_LABEL_SIZE]);
/* The GPUs it holds, "v100:2", or its request. */
void adl_job_gpus(struct adl_text *text, const struct cJSON *job);
/* Where it runs, "box", or why it does not, "(waits for job 3)"; escaped for the terminal. */
void adl_job_place(struct adl_text *text, const struct cJSON *job);
/* Its nodes, each once, with commas. */
void adl_job_nodes(struct adl_text *text, const struct cJSON *job);

/* "about 2026-11-16 06:01:02, by 2026-11-16 07:12:00 in 9 of 10 cases, as similar jobs did", of a job with end_p50. */
void adl_job_say_end(struct adl_text *text, const struct cJSON *job);
/* "step 40 of 100, 2.5 steps/s": what a job said of its steps. */
void adl_job_say_progress(struct adl_text *text, const struct cJSON *progress);

bool adl_job_has_ended(const struct cJSON *job);
const char *adl_job_state_word(const char *state); /* "PD" to "pending"; an unknown one as it is */

/* With a line of titles. width: ADL_DISPLAY_ALL = nothing is cut. */
void adl_jobs_table(struct adl_text *text, const struct cJSON *jobs, size_t width);

#endif
