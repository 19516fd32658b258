/* job_timeline: the events of one job of a run and the reasons for its waiting, line by line. */
#ifndef ADLRO_CLI_JOB_TIMELINE_H
#define ADLRO_CLI_JOB_TIMELINE_H

#include "base/text.h"
#include "engine/engine.h"

struct adl_job_timeline {
    uint64_t job_id;
    const struct adl_engine *engine;
    uint32_t slot; /* while it is live, else ADL_NONE */
    char reason[240];
    struct adl_text text;
    const struct adl_observer *next; /* another observer of the same run, or NULL */
};

struct adl_observer adl_job_timeline_observer(struct adl_job_timeline *timeline);
void adl_job_timeline_clear(struct adl_job_timeline *timeline);

#endif
