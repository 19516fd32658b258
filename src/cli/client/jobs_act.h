/* jobs_act: one request for each of several jobs; shared by cancel, hold, release, requeue and priority. */
#ifndef ADLRO_CLI_CLIENT_JOBS_ACT_H
#define ADLRO_CLI_CLIENT_JOBS_ACT_H

#include "cli/cli.h"
#include "cli/client/client.h"

struct cJSON;

struct adl_jobs_act_options {
    struct adl_client_options client;
    const char *reason; /* of those verbs that take one */
    bool dry_run;
    bool json;
};

#define ADL_JOBS_ACT_ROWS                                                                                              \
    ADL_ROW_FLAG(struct adl_jobs_act_options, dry_run, "dry-run", 0, "only print what would be done"),                 \
        ADL_ROW_FLAG(struct adl_jobs_act_options, json, "json", 0,                                                     \
                     "the jobs as they are then, as the service has them"),                                            \
        ADL_CLIENT_ROWS(struct adl_jobs_act_options)

struct adl_jobs_act {
    const struct adl_verb *verb;
    const char *method; /* "POST" */
    const char *suffix; /* after /v1/jobs/ID: "/hold" */
    const struct cJSON *body;
    const char *done; /* "held" */
    bool ended;       /* applies to jobs that have ended too, and not to pending ones */
};

/* Tries all and returns the worst exit code. The number of an array stands for its members that have not ended, or,
 * with ended, for those that are not pending. */
int adl_jobs_act(const struct adl_jobs_act *act, const struct adl_jobs_act_options *options,
                 const struct adl_operands *jobs);

#endif
