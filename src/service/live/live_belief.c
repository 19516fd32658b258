/* live_belief: what the engine has learned about jobs, kept in the store: written after some jobs have ended and when
 * the service stops. Jobs that ended after the last write, or all if there is none that can be read, are learned again
 * from the store. */
#include "predict/drift/drift.h"
#include "predict/past_jobs.h"
#include "service/live/live_internal.h"

#include <cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAVED_EVERY    64                 /* ended jobs, but not more often than ... */
#define SAVED_LEAST_US INT64_C(10000000)  /* ... this; ... */
#define SAVED_MOST_US  INT64_C(300000000) /* ... or after this time, if any has ended */

static struct adl_belief_terms terms_of(const struct adl_live *live)
{
    const struct adl_scenario *scenario = &live->shared->inventory->scenario;
    return (struct adl_belief_terms){.cluster = &scenario->cluster,
                                     .classes = scenario->classes,
                                     .class_count = scenario->class_count,
                                     .users = live->config.no_submission ? ADL_USERS_NAMED : ADL_USERS_UID,
                                     .dated = true,
                                     .origin = "a service"};
}

static bool learns(const struct adl_live *live)
{
    return adl_engine_state(live->shared->engine)->learned;
}

/* ---- reading ---- */

struct stored {
    struct adl_text bytes;
    uint64_t sequence;
    int64_t time_us; /* when it was written; 0 = there is none */
};

static int take_stored(void *context, const struct adl_store_belief *belief, struct adl_error *err)
{
    struct stored *stored = context;
    stored->sequence = belief->sequence;
    stored->time_us = belief->time_us;
    if (belief->size > 0)
        adl_text_bytes(&stored->bytes, belief->content, belief->size);
    return adl_text_status(&stored->bytes) ? adl_fail(err, ADL_ENOMEM, "out of memory for what was learned") : 0;
}

struct past {
    struct adl_live *live;
    struct adl_past_jobs *jobs;
    uint64_t *ids;
    size_t capacity, count, most;
    uint64_t last; /* sequence */
    uint64_t learned;
    int64_t run_us;  /* of the job that is learned, by its last end; 0 = not told */
    int64_t seen_us; /* the belief has counted running jobs until then; 0 = it has not */
};

static int add_id(struct past *past, uint64_t id)
{
    if (adl_grow((void **)&past->ids, &past->capacity, past->count + 1, sizeof *past->ids))
        return ADL_ENOMEM;
    past->ids[past->count++] = id;
    return 0;
}

static int see_ended(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    struct past *past = context;
    past->last = event->sequence;
    if (strcmp(event->kind, "end") != 0 || event->job == 0 || add_id(past, event->job) == 0)
        return 0;
    return adl_fail(err, ADL_ENOMEM, "out of memory for ended jobs");
}

static int see_job(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    struct past *past = context;
    if (add_id(past, row->spec.id))
        return adl_fail(err, ADL_ENOMEM, "out of memory for ended jobs");
    return past->count == past->most;
}

/* Those that ended after a sequence number, in order. */
static void find_since(struct past *past, uint64_t sequence)
{
    past->last = sequence;
    while (adl_store_events(past->live->config.store, past->last, 0, ADL_STORE_PAGE_MAX, see_ended, past, NULL) > 0)
        ;
}

/* The newest that ended, as many as are remembered, oldest first. */
static void find_all(struct past *past)
{
    struct adl_store_page page = {.limit = ADL_STORE_PAGE_MAX,
                                  .states = ((1u << ADL_STORE_STATE_COUNT) - 1) & ~((1u << ADL_STORE_ENDED) - 1),
                                  .newest_first = true};
    past->most = ADL_REMEMBERED_JOBS;
    while (past->count < past->most && adl_store_jobs_page(past->live->config.store, &page, see_job, past, NULL) > 0)
        page.after = past->ids[past->count - 1];
    for (size_t i = 0; i < past->count / 2; i++) {
        const uint64_t id = past->ids[i];
        past->ids[i] = past->ids[past->count - 1 - i];
        past->ids[past->count - 1 - i] = id;
    }
}

static int see_run(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    (void)err;
    struct past *past = context;
    if (strcmp(event->kind, "end") != 0)
        return 0;
    cJSON *payload = cJSON_Parse(event->payload);
    const cJSON *run_us = cJSON_GetObjectItemCaseSensitive(payload, "run_us");
    past->run_us = cJSON_IsNumber(run_us) && run_us->valuedouble > 0 && run_us->valuedouble < 9e15
                       ? (int64_t)run_us->valuedouble
                       : 0;
    cJSON_Delete(payload);
    return 0;
}

/* The alternative that it ran as, by the GPUs that it had. False: they are not here any more. */
static bool find_run(const struct adl_live *live, const struct adl_store_job *row, struct adl_job_spec *spec,
                     uint32_t *ret_type)
{
    const struct adl_cluster *cluster = &live->shared->inventory->scenario.cluster;
    struct adl_alternative wants[ADL_ALTERNATIVES_MAX] = {{0}};
    uint32_t held = 0, count = 0;
    while (row->status.gpus && row->status.gpus[held])
        held++;
    const uint32_t first = held ? adl_inventory_find(live->shared->inventory, row->status.gpus[0]) : ADL_NONE;
    if (first == ADL_NONE || adl_gpu_request_read(row->request, cluster, wants, &count, NULL))
        return false;
    *ret_type = adl_gpu_type_of(cluster, first);
    for (uint32_t i = 0; i < count; i++)
        if (wants[i].gpus == held && wants[i].types >> *ret_type & 1) {
            spec->gpus = wants[i].gpus;
            spec->types = wants[i].types;
            return true;
        }
    return false;
}

/* As post_speed in live_reports.c: a run counts as a step. */
static double speed_of(const struct adl_live *live, const struct adl_store_job *row, int64_t run_us)
{
    const bool tells = row->status.state == ADL_STORE_COMPLETED && row->spec.name_id != 0 &&
                       !(row->spec.flags & ADL_JOB_SHARE) && row->status.attempts <= 1 && run_us >= 1000;
    return tells && !live->config.executor.ops->reports_speed ? 1e6 / (double)run_us : 0;
}

static int learn_job(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    struct past *past = context;
    const struct adl_store_status *status = &row->status;
    struct adl_job_spec spec = row->spec;
    const int64_t held_us = status->ran_us + status->end_us - status->start_us;
    struct adl_past_job job = {.spec = &spec,
                               .end_us = status->end_us,
                               .run_us = past->run_us > 0 ? past->run_us : held_us,
                               .end = (uint8_t)(status->state - ADL_STORE_ENDED)};
    if (status->state < ADL_STORE_ENDED || status->start_us <= 0 || job.run_us <= 0 ||
        !find_run(past->live, row, &spec, &job.type))
        return 0;
    job.submit_us = status->eligible_us > 0 ? status->eligible_us : row->submit_us;
    job.steps_per_s = speed_of(past->live, row, job.run_us);
    job.seen_us = past->seen_us;
    spec.priority = status->priority;
    if (adl_past_jobs_submit(past->jobs, 0, &spec, job.submit_us))
        return adl_fail(err, ADL_ENOMEM, "out of memory for ended jobs");
    past->learned += adl_past_jobs_end(past->jobs, 0, &job);
    return 0;
}

/* since: those that ended after it was written; NULL: all. */
static uint64_t learn_past(struct adl_live *live, const struct stored *since)
{
    struct adl_engine *engine = live->shared->engine;
    struct past past = {.live = live, .seen_us = since ? since->time_us : 0};
    if (adl_past_jobs_create(&live->shared->inventory->scenario.cluster, adl_engine_belief(engine), &past.jobs))
        return 0;
    if (since)
        find_since(&past, since->sequence);
    else
        find_all(&past);
    /* Earlier ones would be forgotten again. */
    for (size_t i = past.count > ADL_REMEMBERED_JOBS ? past.count - ADL_REMEMBERED_JOBS : 0; i < past.count; i++) {
        past.run_us = 0;
        adl_store_events(live->config.store, 0, past.ids[i], ADL_STORE_PAGE_MAX, see_run, &past, NULL);
        adl_store_job_read(live->config.store, past.ids[i], learn_job, &past, NULL);
    }
    adl_past_jobs_destroy(past.jobs);
    free(past.ids);
    return past.learned;
}

/* Keeps what could not be read in the state, and says so in the log and to clients. */
static void set_aside(struct adl_live *live, const struct stored *stored, const char *why, uint64_t learned)
{
    struct adl_service_state *shared = live->shared;
    const struct adl_store_belief refused = {live->now_us, stored->sequence, stored->bytes.data, stored->bytes.size};
    const bool kept = adl_store_belief_set(live->config.store, ADL_BELIEF_REFUSED, &refused, NULL) == 0;
    snprintf(shared->notice, sizeof shared->notice,
             "what was learned about jobs cannot be read: %.180s; it %s, and %" PRIu64 " ended jobs were learned again",
             why, kept ? "is kept aside in the state" : "could not be kept aside", learned);
    if (live->config.say)
        live->config.say(shared->notice);
}

static int decode(struct adl_live *live, const struct stored *stored, bool drift, struct adl_belief_account *ret,
                  struct adl_error *err)
{
    const struct adl_belief_terms terms = terms_of(live);
    struct adl_engine *engine = live->shared->engine;
    const void *bytes = stored->bytes.data ? stored->bytes.data : "";
    return drift ? adl_engine_decode(engine, bytes, stored->bytes.size, &terms, ret, err)
                 : adl_belief_decode(adl_engine_belief(engine), NULL, bytes, stored->bytes.size, &terms, ret, err);
}

/* What was found about GPUs, of stored bytes. */
static int decode_drift(struct adl_live *live, const struct stored *stored, struct adl_error *err)
{
    const struct adl_belief_terms terms = terms_of(live);
    struct adl_belief_account account = {0};
    return adl_engine_decode_drift(live->shared->engine, stored->bytes.data ? stored->bytes.data : "",
                                   stored->bytes.size, &terms, &account, err);
}

/* With learned: false: how limits relate to run times and what was found about GPUs; that alone if a service that
 * learned wrote it last. */
static void load_limits(struct adl_live *live)
{
    struct stored own = {0}, learned = {0};
    struct adl_belief_account account = {0};
    struct adl_error err = {""};
    int status = 0;
    adl_store_belief_read(live->config.store, ADL_BELIEF_LIMITS, take_stored, &own, NULL);
    adl_store_belief_read(live->config.store, ADL_BELIEF_PRESENT, take_stored, &learned, NULL);
    if (learned.time_us > own.time_us)
        status = decode_drift(live, &learned, &err);
    else if (own.time_us > 0)
        status = decode(live, &own, true, &account, &err);
    if (status && live->config.say) {
        char said[480];
        snprintf(said, sizeof said, "what was found about GPUs before cannot be read: %.380s", err.text);
        live->config.say(said);
    }
    adl_text_clear(&own.bytes);
    adl_text_clear(&learned.bytes);
    live->belief_saved = adl_belief_count(adl_engine_belief(live->shared->engine));
    live->belief_us = live->steady_us;
}

/* What a service with learned: false has found about GPUs after that time. False: there is none. */
static bool load_later_drift(struct adl_live *live, int64_t time_us)
{
    struct stored own = {0};
    adl_store_belief_read(live->config.store, ADL_BELIEF_LIMITS, take_stored, &own, NULL);
    const bool taken = own.time_us > time_us && decode_drift(live, &own, NULL) == 0;
    adl_text_clear(&own.bytes);
    return taken;
}

void adl_live_belief_load(struct adl_live *live, bool drift)
{
    struct adl_belief *belief = adl_engine_belief(live->shared->engine);
    struct adl_belief_account account = {0};
    struct stored stored = {0};
    struct adl_error err = {""};
    if (!learns(live)) {
        if (drift)
            load_limits(live);
        return;
    }
    const int found = adl_store_belief_read(live->config.store, ADL_BELIEF_PRESENT, take_stored, &stored, &err);
    const bool later = drift && load_later_drift(live, stored.time_us);
    const int status = found > 0 ? decode(live, &stored, drift && !later, &account, &err) : found;
    const uint64_t learned = learn_past(live, found <= 0 || status != 0 ? NULL : &stored);
    if (status)
        set_aside(live, &stored, err.text, learned);
    else if (found > 0 && live->config.say) {
        struct adl_text text = {0};
        adl_belief_account_say(&account, &text);
        adl_text_printf(&text, "; %" PRIu64 " more jobs have ended since it was written", learned);
        if (adl_text_status(&text) == 0) {
            char said[400];
            snprintf(said, sizeof said, "what was learned before: %.360s", text.data);
            live->config.say(said);
        }
        adl_text_clear(&text);
    }
    adl_text_clear(&stored.bytes);
    live->belief_saved = learned > 0 || status ? 0 : adl_belief_count(belief);
    live->belief_us = live->steady_us;
}

/* ---- writing ---- */

static int see_sequence(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    (void)err;
    *(uint64_t *)context = event->sequence;
    return 0;
}

/* Nothing may be on its way to the engine: it has learned from all ends that are in the store. */
void adl_live_belief_save(struct adl_live *live, bool due)
{
    const struct adl_belief_terms terms = terms_of(live);
    struct adl_belief *belief = adl_engine_belief(live->shared->engine);
    struct adl_store_belief stored = {.time_us = live->now_us};
    struct adl_text text = {0};
    struct adl_error err = {""};
    const uint64_t count = adl_belief_count(belief);
    const double since_us = (double)(live->steady_us - live->belief_us) / live->config.clock->speed;
    due |= (count >= live->belief_saved + SAVED_EVERY && since_us >= SAVED_LEAST_US) ||
           (count != live->belief_saved && since_us >= SAVED_MOST_US);
    if (!due || live->disk_full || live->outbox_first < live->outbox_count)
        return;
    const char *name = learns(live) ? ADL_BELIEF_PRESENT : ADL_BELIEF_LIMITS;
    adl_engine_encode(live->shared->engine, &terms, &text);
    live->belief_saved = count;
    live->belief_us = live->steady_us;
    adl_service_state_unlock(live->shared);
    stored.content = text.data;
    stored.size = text.size;
    int status = adl_text_status(&text) ? adl_fail(&err, ADL_ENOMEM, "out of memory") : 0;
    if (status == 0 && adl_store_event_last(live->config.store, see_sequence, &stored.sequence, &err) < 0)
        status = ADL_EIO;
    if (status == 0)
        status = adl_store_belief_set(live->config.store, name, &stored, &err);
    adl_text_clear(&text);
    adl_service_state_lock(live->shared);
    if (status && live->config.say) {
        char said[480];
        snprintf(said, sizeof said, "what was learned about jobs could not be written: %.380s", err.text);
        live->config.say(said);
    }
}

void adl_live_belief_keep(struct adl_live *live)
{
    adl_live_belief_save(live, true);
    adl_live_recent_save(live, true);
}

/* ---- requests ---- */

/* Reads them into nothing. */
static int check_bytes(const struct adl_text *bytes, const struct adl_belief_terms *terms,
                       struct adl_belief_account *ret, struct adl_error *err)
{
    struct adl_belief *belief = NULL;
    struct adl_drift *drift = NULL;
    int status = adl_belief_create(terms->cluster, true, &belief);
    if (status == 0)
        status = adl_drift_create(terms->cluster, ADL_DRIFT_ALL, &drift);
    if (status)
        adl_fail(err, status, "out of memory for a belief");
    else
        status = adl_belief_decode(belief, drift, bytes->data ? bytes->data : "", bytes->size, terms, ret, err);
    adl_belief_destroy(belief);
    adl_drift_destroy(drift);
    return status;
}

int adl_live_belief_prepare(struct adl_live *live, struct adl_request *request)
{
    const struct adl_belief_terms terms = terms_of(live);
    struct adl_store_belief stored = {live->now_us, 0, request->belief.data, request->belief.size};
    struct adl_belief_account account = {0};
    struct adl_error *err = &request->err;
    if (!request->caller.admin)
        return adl_fail(err, ADL_EDENIED, "only administrators read and replace what was learned");
    if (!learns(live))
        return adl_fail(err, ADL_EREFUSED, "the configuration says learned: false, so nothing is learned");
    if (request->kind == ADL_REQUEST_BELIEF_READ)
        return 0;
    int status = check_bytes(&request->belief, &terms, &account, err);
    if (status == 0 && adl_store_event_last(live->config.store, see_sequence, &stored.sequence, err) < 0)
        status = ADL_EIO;
    if (status == 0)
        status = adl_store_belief_set(live->config.store, ADL_BELIEF_PRESENT, &stored, err);
    struct adl_text text = {0};
    adl_belief_account_say(&account, &text);
    snprintf(request->text, sizeof request->text, "%.190s", text.data ? text.data : "");
    adl_text_clear(&text);
    return status;
}

void adl_live_belief_apply(struct adl_live *live, struct adl_request *request)
{
    struct adl_engine *engine = live->shared->engine;
    const struct adl_belief_terms terms = terms_of(live);
    struct adl_belief_account account = {0};
    if (request->kind == ADL_REQUEST_BELIEF_READ) {
        adl_engine_encode(engine, &terms, &request->belief);
        if (adl_text_status(&request->belief))
            request->status = adl_fail(&request->err, ADL_ENOMEM, "out of memory for a belief");
        return;
    }
    request->status = adl_engine_decode(engine, request->belief.data, request->belief.size, &terms, &account,
                                        &request->err); /* it was checked: only memory may be missing */
    live->belief_saved = adl_belief_count(adl_engine_belief(engine));
}
