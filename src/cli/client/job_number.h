/* job_number: which jobs "12" and "12_3" stand for: a number, or an array's number and an index in it. */
#ifndef ADLRO_CLI_CLIENT_JOB_NUMBER_H
#define ADLRO_CLI_CLIENT_JOB_NUMBER_H

#include "base/error.h"
#include "cli/client/client.h"
#include "cli/client/jobs_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

/* One job, with its document if ret_job is not NULL (the caller deletes it). The number of an array stands for its
 * first job. */
int adl_job_number_find(struct adl_client *client, const char *text, uint64_t *ret_id, struct cJSON **ret_job,
                        struct adl_error *err);

struct adl_job_name {
    uint64_t id;
    char label[ADL_JOB_LABEL_SIZE];
};

/* The number of an array, or "12_*", stands for its members that have not ended; with ended, for those that run or have
 * ended. The caller frees *ret. */
int adl_job_numbers_find(struct adl_client *client, const char *text, bool ended, struct adl_job_name **ret,
                         size_t *ret_count, struct adl_error *err);

#endif
