/* job_phases: what a job did from when to when, made of its events: it waited and why, ran where, was stopped. */
#ifndef ADLRO_SERVICE_JOB_PHASES_H
#define ADLRO_SERVICE_JOB_PHASES_H

#include "base/text.h"
#include "store/store.h"

enum adl_job_phase_kind {
    ADL_JOB_PHASE_WAITING,
    ADL_JOB_PHASE_HELD,
    ADL_JOB_PHASE_PLACED, /* the cluster has not started it yet */
    ADL_JOB_PHASE_RUNNING,
    ADL_JOB_PHASE_IDLE,     /* it ran and did not use its GPUs */
    ADL_JOB_PHASE_STOPPING, /* it was being stopped */
    ADL_JOB_PHASE_ENDED,    /* not a span of time: how it ended */
    ADL_JOB_PHASE_KINDS,
};

const char *adl_job_phase_name(int kind); /* "waiting", ... */

struct adl_job_phase {
    uint8_t kind;              /* enum adl_job_phase_kind */
    int64_t from_us, until_us; /* until 0: it lasts */
    char *gpus;                /* "v0:volta#0 v0:volta#1"; NULL = none. Owned, as why */
    char *why;                 /* NULL = not known */
};

#define ADL_JOB_PHASES_MAX 200 /* phases that are kept, the last ones */

struct adl_job_phases {
    struct adl_job_phase phases[ADL_JOB_PHASES_MAX]; /* a ring: [number % ADL_JOB_PHASES_MAX] */
    uint64_t count;                                  /* ever */
};

/* Starts with the submission. NULL: out of memory. */
struct adl_job_phases *adl_job_phases_create(int64_t submit_us);
void adl_job_phases_add(struct adl_job_phases *timeline, const struct adl_store_event *event); /* in their order */
void adl_job_phases_destroy(struct adl_job_phases *timeline);                                  /* accepts NULL */

/* The phase that lasts, or the end. */
struct adl_job_phase *adl_job_phases_last(struct adl_job_phases *timeline);

#endif
