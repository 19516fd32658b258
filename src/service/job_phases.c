#include "service/job_phases.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

const char *adl_job_phase_name(int kind)
{
    static const char *const names[ADL_JOB_PHASE_KINDS] = {"waiting", "held",     "placed", "running",
                                                           "idle",    "stopping", "ended"};
    return names[kind];
}

struct adl_job_phase *adl_job_phases_last(struct adl_job_phases *timeline)
{
    return &timeline->phases[(timeline->count - 1) % ADL_JOB_PHASES_MAX];
}

static void phase_clear(struct adl_job_phase *phase)
{
    free(phase->gpus);
    free(phase->why);
    *phase = (struct adl_job_phase){0};
}

/* Ends the phase before and begins another. */
static void begin(struct adl_job_phases *timeline, int kind, int64_t time_us, const char *gpus, const char *why)
{
    if (timeline->count > 0)
        adl_job_phases_last(timeline)->until_us = time_us;
    struct adl_job_phase *phase = &timeline->phases[timeline->count++ % ADL_JOB_PHASES_MAX];
    phase_clear(phase);
    *phase = (struct adl_job_phase){.kind = (uint8_t)kind,
                                    .from_us = time_us,
                                    .gpus = gpus && *gpus ? strdup(gpus) : NULL,
                                    .why = why && *why ? strdup(why) : NULL};
}

struct adl_job_phases *adl_job_phases_create(int64_t submit_us)
{
    struct adl_job_phases *timeline = calloc(1, sizeof *timeline);
    if (timeline)
        begin(timeline, ADL_JOB_PHASE_WAITING, submit_us, NULL, NULL);
    return timeline;
}

void adl_job_phases_destroy(struct adl_job_phases *timeline)
{
    for (uint32_t i = 0; timeline && i < ADL_JOB_PHASES_MAX; i++)
        phase_clear(&timeline->phases[i]);
    free(timeline);
}

static void set_why(struct adl_job_phase *phase, const char *why)
{
    if (!why || !*why)
        return;
    free(phase->why);
    phase->why = strdup(why);
}

/* A start says why the job had waited before. One that the service made up for a run it took over says nothing. */
static void start(struct adl_job_phases *timeline, int64_t time_us, const char *gpus, const char *why,
                  const char *waited)
{
    struct adl_job_phase *before = adl_job_phases_last(timeline);
    if (before->kind == ADL_JOB_PHASE_WAITING)
        set_why(before, waited);
    begin(timeline, ADL_JOB_PHASE_RUNNING, time_us, gpus, why);
}

/* The cluster started it later than it was placed. */
static void begin_run(struct adl_job_phases *timeline, int64_t time_us)
{
    struct adl_job_phase *placed = adl_job_phases_last(timeline);
    if (placed->kind != ADL_JOB_PHASE_RUNNING)
        return;
    placed->kind = ADL_JOB_PHASE_PLACED;
    begin(timeline, ADL_JOB_PHASE_RUNNING, time_us, placed->gpus, placed->why);
}

static bool runs(const struct adl_job_phase *phase)
{
    return phase->kind == ADL_JOB_PHASE_RUNNING || phase->kind == ADL_JOB_PHASE_IDLE;
}

static bool holds(const struct adl_job_phase *phase)
{
    return runs(phase) || phase->kind == ADL_JOB_PHASE_STOPPING || phase->kind == ADL_JOB_PHASE_PLACED;
}

/* An eviction says why again: the stop that it completes has said so already, with the job that it made room for. */
static void evict(struct adl_job_phases *timeline, int64_t time_us, const char *why)
{
    struct adl_job_phase *before = adl_job_phases_last(timeline);
    if (runs(before))
        begin(timeline, ADL_JOB_PHASE_STOPPING, time_us, NULL, why);
    begin(timeline, ADL_JOB_PHASE_WAITING, time_us, NULL, NULL);
}

static const char *text_of(const cJSON *data, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, key));
}

static void add(struct adl_job_phases *timeline, const char *kind, int64_t time_us, const cJSON *data)
{
    const struct adl_job_phase *last = adl_job_phases_last(timeline);
    const char *why = text_of(data, "why");
    if (strcmp(kind, "start") == 0 || strcmp(kind, "move") == 0)
        start(timeline, time_us, text_of(data, "gpus"), why, text_of(data, "waited"));
    else if (strcmp(kind, "begin") == 0)
        begin_run(timeline, time_us);
    else if ((strcmp(kind, "preempt") == 0 || strcmp(kind, "cancel") == 0 || strcmp(kind, "requeue") == 0) &&
             runs(last))
        begin(timeline, ADL_JOB_PHASE_STOPPING, time_us, last->gpus, why);
    else if (strcmp(kind, "idle") == 0 && runs(last))
        begin(timeline, ADL_JOB_PHASE_IDLE, time_us, last->gpus, why);
    else if (strcmp(kind, "idle_end") == 0 && last->kind == ADL_JOB_PHASE_IDLE)
        begin(timeline, ADL_JOB_PHASE_RUNNING, time_us, last->gpus, why);
    else if (strcmp(kind, "evict") == 0)
        evict(timeline, time_us, why);
    else if (strcmp(kind, "hold") == 0 && !holds(last))
        begin(timeline, ADL_JOB_PHASE_HELD, time_us, NULL, why);
    else if ((strcmp(kind, "release") == 0 && last->kind == ADL_JOB_PHASE_HELD) ||
             (strcmp(kind, "requeue") == 0 && last->kind == ADL_JOB_PHASE_ENDED))
        begin(timeline, ADL_JOB_PHASE_WAITING, time_us, NULL, why);
    else if (strcmp(kind, "end") == 0 || (strcmp(kind, "cancel") == 0 && !holds(last))) {
        begin(timeline, ADL_JOB_PHASE_ENDED, time_us, text_of(data, "state"), why);
        adl_job_phases_last(timeline)->until_us = time_us;
    }
}

void adl_job_phases_add(struct adl_job_phases *timeline, const struct adl_store_event *event)
{
    cJSON *data = cJSON_Parse(event->payload);
    add(timeline, event->kind, event->time_us, data); /* some have no data */
    cJSON_Delete(data);
}
