/* routes_timeline: what a job did from when to when, made of its events and of the samples of its GPUs. */
#include "service/job_phases.h"
#include "service/routes/routes_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_READ 20000 /* of one job */

struct record {
    int64_t submit_us, start_us, end_us;
    uint64_t shown;
    char label[ADL_LABEL_SIZE];
    char reason[400]; /* why it waits now */
    char **gpus;      /* of its last attempt; NULL-terminated, owned */
    struct adl_job_phases *timeline;
    uint64_t last; /* sequence */
};

static void record_clear(struct record *record)
{
    for (char **gpu = record->gpus; gpu && *gpu; gpu++)
        free(*gpu);
    free(record->gpus);
    adl_job_phases_destroy(record->timeline);
}

static int copy_gpus(struct record *record, const char *const *names, uint32_t count)
{
    record->gpus = calloc((size_t)count + 1, sizeof *record->gpus);
    for (uint32_t i = 0; record->gpus && i < count; i++)
        if (!(record->gpus[i] = strdup(names[i])))
            return ADL_ENOMEM;
    return record->gpus ? 0 : ADL_ENOMEM;
}

static int see_stored(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    struct record *record = context;
    uint32_t count = 0;
    while (row->status.gpus && row->status.gpus[count])
        count++;
    record->submit_us = row->submit_us;
    record->start_us = row->status.start_us;
    record->end_us = row->status.end_us;
    record->shown = row->external > 0 ? (uint64_t)row->external : row->spec.id;
    adl_label_of_stored(row, record->label);
    return copy_gpus(record, row->status.gpus, count) ? adl_fail(err, ADL_ENOMEM, "out of memory") : 0;
}

/* Of a live job the store knows all but why it waits. */
static int read_record(struct adl_routes_context *routes, struct adl_http_request *http, struct adl_store *store,
                       uint64_t id, struct record *record, struct adl_error *err)
{
    struct adl_service_state *shared = routes->shared;
    const int found = adl_store_job_read(store, id, see_stored, record, err);
    if (found <= 0)
        return found < 0 ? found : adl_fail(err, ADL_EABSENT, "there is no job %" PRIu64, id);
    adl_service_state_lock(shared);
    const struct adl_job_entry *job = adl_job_table_find(&shared->job_table, id);
    if (job && !adl_job_table_holds_gpus(job))
        adl_service_state_reason(shared, job, record->reason, sizeof record->reason);
    adl_privacy_redact(shared, adl_http_request_caller(http), record->reason, sizeof record->reason);
    adl_service_state_unlock(shared);
    record->timeline = adl_job_phases_create(record->submit_us);
    return record->timeline ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory");
}

static int take_event(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    struct record *record = context;
    (void)err;
    record->last = event->sequence;
    adl_job_phases_add(record->timeline, event);
    return 0;
}

static int read_events(struct adl_store *store, uint64_t id, struct record *record, struct adl_error *err)
{
    int count = ADL_STORE_PAGE_MAX;
    for (uint32_t i = 0; i < EVENTS_READ / ADL_STORE_PAGE_MAX && count == ADL_STORE_PAGE_MAX; i++)
        count = adl_store_events(store, record->last, id, ADL_STORE_PAGE_MAX, take_event, record, err);
    return count < 0 ? count : 0;
}

static void put_phases(struct adl_json *json, struct adl_service_state *shared, const struct adl_caller *viewer,
                       const struct record *record)
{
    struct adl_job_phases *timeline = record->timeline;
    const uint64_t kept = timeline->count < ADL_JOB_PHASES_MAX ? timeline->count : ADL_JOB_PHASES_MAX;
    adl_json_put_uint(json, "left_out", timeline->count - kept);
    adl_json_key(json, "phases");
    adl_json_array(json);
    for (uint64_t i = timeline->count - kept; i < timeline->count; i++) {
        const struct adl_job_phase *phase = &timeline->phases[i % ADL_JOB_PHASES_MAX];
        const bool ended = phase->kind == ADL_JOB_PHASE_ENDED, lasts = phase->until_us == 0;
        adl_json_object(json);
        adl_json_put_string(json, "phase", adl_job_phase_name(phase->kind));
        adl_view_time(json, "from_s", phase->from_us);
        adl_view_time(json, "until_s", phase->until_us);
        adl_json_put_string(json, "state", ended ? phase->gpus : NULL);
        adl_json_put_string(json, "gpus", ended ? NULL : phase->gpus);
        adl_route_put_text(json, shared, viewer, "why",
                           lasts && record->reason[0] && !phase->gpus ? record->reason : phase->why);
        adl_json_end(json);
    }
    adl_json_end(json);
}

static int put_timeline(struct adl_json *json, struct adl_routes_context *routes, struct adl_http_request *http,
                        struct adl_store *store, const struct record *record, struct adl_error *err)
{
    static const char *const none[] = {NULL};
    const int64_t now_us = routes->shared->now_us(routes->shared);
    const bool ran = record->start_us > 0 && record->gpus;
    adl_json_object(json);
    adl_json_put_uint(json, "job", record->shown);
    adl_json_put_string(json, "label", record->label);
    put_phases(json, routes->shared, adl_http_request_caller(http), record);
    const int status = adl_view_readings(json, store, ran ? (const char *const *)record->gpus : none, record->start_us,
                                         record->end_us > 0 ? record->end_us : now_us, err);
    adl_json_end(json);
    return status;
}

void adl_route_job_timeline(void *context, struct adl_http_request *http)
{
    struct adl_routes_context *routes = context;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    struct record record = {0};
    struct adl_error err = {{0}};
    uint64_t id;
    if (!adl_route_query_known(http, NULL) || !adl_route_job_id(routes, http, &id))
        return;
    struct adl_store *store = adl_route_store(routes->shared, &routes->reader, &err);
    int status = store ? read_record(routes, http, store, id, &record, &err) : ADL_EIO;
    if (status == 0)
        status = read_events(store, id, &record, &err);
    if (status == 0)
        status = put_timeline(&json, routes, http, store, &record, &err);
    record_clear(&record);
    if (status == 0)
        adl_http_request_answer_json(http, 200, &text);
    else
        adl_route_answer_not_read(http, &text, status, &err);
}
