/* job_array: the indices of an array of jobs as people write them: "0-9,12", "0-99:10", and with "%4" behind them how
 * many of its jobs may run at once. */
#ifndef ADLRO_JOBS_JOB_ARRAY_H
#define ADLRO_JOBS_JOB_ARRAY_H

#include "base/error.h"
#include "store/store.h"

#define ADL_ARRAY_MAX       10000 /* jobs in one array */
#define ADL_ARRAY_INDEX_MAX 999999

struct adl_job_array {
    int32_t *indices; /* ascending, facts.count of them; owned */
    struct adl_store_array facts;
};

int adl_job_array_read(const char *text, struct adl_job_array *ret, struct adl_error *err);
void adl_job_array_clear(struct adl_job_array *array); /* accepts a zeroed one */

#endif
