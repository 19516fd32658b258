/* routes_jobs: lists of jobs, one job, submission, and changes of jobs. */
#include "base/suggest.h"
#include "jobs/script.h"
#include "service/routes/routes_internal.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 50 /* jobs written while the lock is held once */

/* ---- lists ---- */

enum { SHOW_PENDING = 1, SHOW_RUNNING = 2 };

struct list {
    int live;        /* SHOW_... of those in memory; 0 = from the store */
    uint32_t states; /* of the store */
    const char *user;
    const struct adl_caller *viewer;
    uint32_t limit;
    uint64_t after;
    uint64_t last; /* that was written */
    bool more;
    bool by_end; /* of the store: the last end first */
    uint32_t written;
};

static bool list_state(struct adl_http_request *http, struct list *list)
{
    const char *text = adl_http_request_query(http, "state");
    char message[200], quoted[ADL_QUOTE_SIZE];
    const uint32_t ended = (1u << ADL_STORE_STATE_COUNT) - (1u << ADL_STORE_ENDED);
    const int state = text ? adl_store_state_find(text) : -1;
    if (!text || strcmp(text, "live") == 0)
        list->live = SHOW_PENDING | SHOW_RUNNING;
    else if (state == ADL_STORE_PENDING || state == ADL_STORE_RUNNING)
        list->live = state == ADL_STORE_PENDING ? SHOW_PENDING : SHOW_RUNNING;
    else if (state >= 0)
        list->states = 1u << state;
    else if (strcmp(text, "ended") == 0)
        list->states = ended;
    else if (strcmp(text, "all") != 0) {
        snprintf(message, sizeof message,
                 "query parameter state: must be live, ended, all, PD, R, CD, F, CA or TO, got %s",
                 adl_quote(text, quoted));
        adl_http_request_answer_problem(http, 400, "bad_query", message, NULL);
        return false;
    }
    return true;
}

/* Only jobs that have ended have an end. */
static bool list_order(struct adl_http_request *http, struct list *list)
{
    const char *text = adl_http_request_query(http, "order");
    char message[200], quoted[ADL_QUOTE_SIZE];
    list->by_end = text && strcmp(text, "end") == 0;
    if (!text || strcmp(text, "number") == 0 || (list->by_end && list->states))
        return true;
    snprintf(message, sizeof message,
             "query parameter order: must be number, or end with state=ended, CD, F, CA or TO; got %s",
             adl_quote(text, quoted));
    adl_http_request_answer_problem(http, 400, "bad_query", message, NULL);
    return false;
}

static bool list_read(struct adl_http_request *http, struct list *ret)
{
    static const char *const names[] = {"state", "user", "order", "limit", "after", NULL};
    int64_t limit, after;
    *ret = (struct list){.user = adl_http_request_query(http, "user"), .viewer = adl_http_request_caller(http)};
    if (!adl_route_query_known(http, names) || !list_state(http, ret) || !list_order(http, ret) ||
        !adl_route_query_int(http, "limit", 1, ADL_STORE_PAGE_MAX, 100, &limit) ||
        !adl_route_query_int(http, "after", 0, INT64_MAX, 0, &after))
        return false;
    ret->limit = (uint32_t)limit;
    ret->after = ret->last = (uint64_t)after;
    return true;
}

/* The first job with a higher number that the list shows. */
static const struct adl_job_entry *next_live(const struct adl_service_state *shared, const struct list *list)
{
    const struct adl_job_table *job_table = &shared->job_table;
    const struct adl_job_entry *job = list->last ? adl_job_table_find(job_table, list->last) : NULL;
    job = job ? job->next : job_table->first;
    while (job &&
           (job->id <= list->last || !(list->live & (adl_job_table_runs(job) ? SHOW_RUNNING : SHOW_PENDING)) ||
            (list->user && strcmp(list->user, job->user) != 0) || !adl_privacy_shows(shared, list->viewer, job->uid)))
        job = job->next;
    return job;
}

static void put_live(struct adl_json *json, struct adl_service_state *shared, struct list *list)
{
    list->more = true;
    while (list->more && list->written < list->limit) {
        adl_service_state_lock(shared);
        for (uint32_t i = 0; i < CHUNK && list->written < list->limit; i++) {
            const struct adl_job_entry *job = next_live(shared, list);
            if (!job)
                break;
            adl_view_live_job(json, shared, list->viewer, job);
            list->last = job->id;
            list->written++;
        }
        list->more = next_live(shared, list) != NULL;
        adl_service_state_unlock(shared);
    }
}

struct stored {
    struct adl_json *json;
    struct adl_service_state *shared;
    struct list *list;
};

/* A live job is shown from memory, because the store does not know why it waits. */
static int put_stored(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    const struct stored *stored = context;
    struct adl_service_state *shared = stored->shared;
    (void)err;
    adl_service_state_lock(shared);
    const struct adl_job_entry *job =
        row->status.state < ADL_STORE_ENDED ? adl_job_table_find(&shared->job_table, row->spec.id) : NULL;
    if (job)
        adl_view_live_job(stored->json, shared, stored->list->viewer, job);
    else
        adl_view_stored_job(stored->json, shared, stored->list->viewer, row);
    adl_service_state_unlock(shared);
    stored->list->last = row->spec.id;
    stored->list->written++;
    return 0;
}

static int count_one(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    (void)context, (void)row, (void)err;
    return 0;
}

/* The uid of a user name; of the caller without a lookup. */
static bool find_uid(struct adl_http_request *http, const char *name, uint32_t *ret)
{
    const struct adl_account *caller = &adl_http_request_caller(http)->account;
    struct adl_account account;
    if (strcmp(caller->name, name) == 0) {
        *ret = caller->uid;
        return true;
    }
    if (adl_account_of_name(name, ADL_ACCOUNT_NO_GROUP, &account, NULL) < 0)
        return false;
    *ret = account.uid;
    return true;
}

/* Users of a cluster underneath, or of a scenario, may have no account here: they go by their names. False: an unknown
 * user, who has no jobs, or one whose jobs the caller may not see. */
static bool list_user(const struct adl_service_state *shared, struct adl_http_request *http, const char *name,
                      struct adl_store_page *page)
{
    if (strcmp(shared->engine_name, "local") != 0) {
        page->user = name;
        return true;
    }
    page->by_user = find_uid(http, name, &page->uid);
    return page->by_user && adl_privacy_shows(shared, adl_http_request_caller(http), page->uid);
}

static int put_from_store(struct adl_routes_context *context, struct adl_http_request *http, struct adl_json *json,
                          struct list *list, struct adl_error *err)
{
    struct adl_store_page page = {.after = list->after,
                                  .limit = list->limit,
                                  .states = list->states,
                                  .newest_first = true,
                                  .by_end = list->by_end};
    struct adl_store *store = adl_route_store(context->shared, &context->reader, err);
    if (!store)
        return ADL_EIO;
    if (list->user && !list_user(context->shared, http, list->user, &page))
        return 0;
    if (adl_privacy_hides(context->shared, list->viewer)) {
        page.by_user = true;
        page.uid = list->viewer->account.uid;
    }
    const int count = adl_store_jobs_page(store, &page, put_stored, &(struct stored){json, context->shared, list}, err);
    if (count < 0 || (uint32_t)count < page.limit)
        return count;
    page.after = list->last;
    page.limit = 1;
    const int more = adl_store_jobs_page(store, &page, count_one, NULL, err);
    list->more = more > 0;
    return more;
}

/* Of all jobs that the viewer may see. */
static void count_live(struct adl_service_state *shared, const struct adl_caller *viewer, uint32_t *ret_pending,
                       uint32_t *ret_running)
{
    uint32_t pending = 0, running = 0;
    adl_service_state_lock(shared);
    for (const struct adl_job_entry *job = adl_privacy_hides(shared, viewer) ? shared->job_table.first : NULL; job;
         job = job->next)
        if (adl_privacy_shows(shared, viewer, job->uid))
            ++*(adl_job_table_holds_gpus(job) ? &running : &pending);
    if (!adl_privacy_hides(shared, viewer)) {
        running = adl_job_table_running(&shared->job_table);
        pending = shared->job_table.count - running;
    }
    adl_service_state_unlock(shared);
    *ret_pending = pending;
    *ret_running = running;
}

void adl_route_jobs(void *context, struct adl_http_request *http)
{
    struct adl_routes_context *routes = context;
    struct adl_service_state *shared = routes->shared;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    struct adl_error err = {{0}};
    struct list list;
    if (!list_read(http, &list))
        return;
    adl_json_object(&json);
    adl_json_key(&json, "jobs");
    adl_json_array(&json);
    if (list.live) {
        put_live(&json, shared, &list);
    } else if (put_from_store(routes, http, &json, &list, &err) < 0) {
        adl_text_clear(&text);
        adl_http_request_answer_problem(http, 503, "not_read", err.text, NULL);
        return;
    }
    adl_json_end(&json);
    adl_json_key(&json, "next");
    if (list.more)
        adl_json_uint(&json, list.last);
    else
        adl_json_null(&json);
    uint32_t pending, running;
    count_live(shared, list.viewer, &pending, &running);
    adl_json_key(&json, "counts");
    adl_json_object(&json);
    adl_json_put_uint(&json, "pending", pending);
    adl_json_put_uint(&json, "running", running);
    adl_json_end(&json);
    adl_json_end(&json);
    adl_http_request_answer_json(http, 200, &text);
}

/* ---- one job ---- */

void adl_route_job(void *context, struct adl_http_request *http)
{
    struct adl_routes_context *routes = context;
    uint64_t id;
    if (adl_route_query_known(http, NULL) && adl_route_job_id(routes, http, &id))
        adl_route_answer_job(routes, &routes->reader, http, id);
}

struct events {
    struct adl_json *json;
    struct adl_service_state *shared;
    const struct adl_caller *viewer;
    uint64_t shown; /* the number that people know the job by */
    uint64_t last;  /* sequence of the last one written */
};

static int see_number(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    struct events *events = context;
    (void)err;
    events->shown = row->external > 0 ? (uint64_t)row->external : row->spec.id;
    return 0;
}

static void put_payload(const struct events *events, const char *payload)
{
    struct adl_text redacted = {0};
    adl_service_state_lock(events->shared);
    if (adl_privacy_hides(events->shared, events->viewer))
        adl_privacy_redact_text(&redacted, events->shared, events->viewer->account.uid, payload);
    adl_service_state_unlock(events->shared);
    adl_json_raw(events->json, redacted.data ? redacted.data : payload);
    adl_text_clear(&redacted);
}

static int put_event(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    struct events *events = context;
    struct adl_json *json = events->json;
    (void)err;
    events->last = event->sequence;
    adl_json_object(json);
    adl_json_put_uint(json, "sequence", event->sequence);
    adl_view_time(json, "time_s", event->time_us);
    adl_json_put_string(json, "kind", event->kind);
    adl_json_put_uint(json, "job", events->shown);
    adl_json_key(json, "data");
    put_payload(events, event->payload[0] ? event->payload : "{}");
    adl_json_end(json);
    return 0;
}

void adl_route_job_events(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"limit", "after", NULL};
    struct adl_routes_context *routes = context;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    struct events events = {.json = &json, .shared = routes->shared, .viewer = adl_http_request_caller(http)};
    struct adl_error err = {{0}};
    int64_t limit, after;
    uint64_t id;
    if (!adl_route_query_known(http, names) ||
        !adl_route_query_int(http, "limit", 1, ADL_STORE_PAGE_MAX, ADL_STORE_PAGE_MAX, &limit) ||
        !adl_route_query_int(http, "after", 0, INT64_MAX, 0, &after) || !adl_route_job_id(routes, http, &id))
        return;
    struct adl_store *store = adl_route_store(routes->shared, &routes->reader, &err);
    adl_service_state_lock(routes->shared);
    const struct adl_job_entry *job = adl_job_table_find(&routes->shared->job_table, id);
    events.shown = job ? adl_job_table_shown(job) : 0;
    adl_service_state_unlock(routes->shared);
    int found = !store ? -1 : events.shown > 0 ? 1 : adl_store_job_read(store, id, see_number, &events, &err);
    adl_json_object(&json);
    adl_json_key(&json, "events");
    adl_json_array(&json);
    const int count =
        found > 0 ? adl_store_events(store, (uint64_t)after, id, (uint32_t)limit, put_event, &events, &err) : 0;
    found = count < 0 ? -1 : found;
    adl_json_end(&json);
    adl_json_key(&json, "next");
    if (count == limit)
        adl_json_uint(&json, events.last);
    else
        adl_json_null(&json);
    adl_json_end(&json);
    if (found > 0) {
        adl_http_request_answer_json(http, 200, &text);
        return;
    }
    adl_text_clear(&text);
    if (found == 0)
        adl_fail(&err, ADL_EABSENT, "there is no job %" PRIu64, id);
    adl_http_request_answer_problem(http, found == 0 ? 404 : 503, found == 0 ? "not_found" : "not_read", err.text,
                                    NULL);
}

/* ---- who stands in the way ---- */

void adl_route_job_blockers(void *context, struct adl_http_request *http)
{
    struct adl_routes_context *routes = context;
    struct adl_view_waiting *waiting = NULL;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    int status = ADL_EABSENT;
    uint64_t id;
    if (!adl_route_query_known(http, NULL) || !adl_route_job_id(routes, http, &id))
        return;
    adl_service_state_lock(routes->shared);
    const struct adl_job_entry *job = adl_job_table_find(&routes->shared->job_table, id);
    if (job)
        status = adl_view_waiting_create(routes->shared, job, &waiting);
    adl_service_state_unlock(routes->shared);
    if (status == 0)
        status = adl_view_waiting_find(waiting);
    if (status == 0) {
        adl_service_state_lock(routes->shared);
        adl_view_waiting_put(&json, routes->shared, adl_http_request_caller(http), waiting);
        adl_service_state_unlock(routes->shared);
        adl_http_request_answer_json(http, 200, &text);
    } else if (status == ADL_EABSENT) {
        adl_http_request_answer_problem(http, 409, "ended", "the job has ended: nothing stands in its way", NULL);
    } else {
        adl_http_request_answer_problem(http, 503, "no_memory", "there is too little memory to answer", NULL);
    }
    adl_view_waiting_destroy(waiting);
}

/* ---- submission ---- */

/* Idle GPUs of the type, among those acceptable, that has most. */
static uint32_t idle_gpus(const struct adl_service_state *shared, uint32_t types)
{
    const struct adl_cluster *cluster = &shared->inventory->scenario.cluster;
    uint32_t idle[ADL_TYPES_MAX] = {0}, most = 0;
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        const uint32_t type = adl_gpu_type_of(cluster, g);
        if ((types >> type & 1) && adl_service_state_gpu_state(shared, g) == ADL_GPU_STATE_IDLE && ++idle[type] > most)
            most = idle[type];
    }
    return most;
}

/* Whether a submission would start at once, judged by idle GPUs alone: the policy is not asked. */
static void predict_start(struct adl_service_state *shared, const struct adl_submission *submission, char *ret,
                          size_t size)
{
    struct adl_alternative alternatives[ADL_ALTERNATIVES_MAX];
    uint32_t count = 0, idle = 0, best = 0;
    adl_service_state_lock(shared);
    if (adl_gpu_request_read(submission->job.request, &shared->inventory->scenario.cluster, alternatives, &count,
                             NULL) < 0)
        count = 0; /* it was valid before, so the cluster has changed meanwhile */
    for (uint32_t i = 0; i < count && (i == 0 || idle < alternatives[best].gpus); i++) {
        best = i;
        idle = idle_gpus(shared, alternatives[i].types);
    }
    const bool queue = shared->job_table.by_stage[ADL_STAGE_QUEUED] > 0;
    adl_service_state_unlock(shared);
    const uint32_t wanted = count ? alternatives[best].gpus : 0;
    if (submission->hold)
        snprintf(ret, size, "would be held until it is released");
    else if (submission->job.dependency_count > 0)
        snprintf(ret, size, "would wait: for other jobs");
    else if (submission->job.begin_us > shared->now_us(shared))
        snprintf(ret, size, "would wait: until it is to begin");
    else if (idle < wanted)
        snprintf(ret, size, "would wait: %" PRIu32 " of %" PRIu32 " GPUs of a type it takes %s idle", idle, wanted,
                 idle == 1 ? "is" : "are");
    else if (queue)
        snprintf(ret, size, "would wait: others wait already");
    else
        snprintf(ret, size, "would start: %" PRIu32 " idle GPU%s of a type it takes", idle,
                 idle == 1 ? " is" : "s are");
}

static void answer_submission(struct adl_routes_context *context, struct adl_request *request)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    char path[40], reason[160];
    const uint32_t asked = request->submission->array_count ? request->submission->array_count : 1;
    adl_json_object(&json);
    adl_json_key(&json, "id");
    if (request->dry_run)
        adl_json_null(&json);
    else
        adl_json_uint(&json, request->first_job);
    adl_json_put_uint(&json, "count", request->dry_run ? asked : request->job_count);
    adl_json_key(&json, "warnings");
    adl_json_array(&json);
    if (request->text[0])
        adl_json_string(&json, request->text);
    adl_json_end(&json);
    if (request->dry_run) {
        predict_start(context->shared, request->submission, reason, sizeof reason);
        adl_json_put_string(&json, "reason", reason);
    } else {
        snprintf(path, sizeof path, "/v1/jobs/%" PRIu64, request->first_job);
        adl_http_request_locate(request->http, path);
    }
    adl_json_end(&json);
    adl_http_request_answer_json(request->http, request->dry_run ? 200 : 201, &text);
}

static int submission_read(struct adl_http_request *http, int64_t now_us, struct adl_submission **ret,
                           struct adl_error *err)
{
    cJSON *document = NULL;
    int status = adl_http_request_json(http, &document, err);
    if (status == ADL_OK)
        status = adl_submission_read(document, &adl_http_request_caller(http)->account, now_us, ret, err);
    cJSON_Delete(document);
    if (status == ADL_OK && (*ret)->job.script[0] != '\0')
        status = adl_script_interpreter_check((*ret)->job.script, "script", ADL_SCRIPT_SYSTEM, err);
    if (status < 0) {
        adl_submission_destroy(*ret);
        *ret = NULL;
    }
    return status;
}

void adl_route_submit(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"dry_run", NULL};
    struct adl_routes_context *routes = context;
    struct adl_submission *submission = NULL;
    struct adl_error err = {{0}};
    int64_t dry_run;
    if (!adl_route_query_known(http, names) || !adl_route_query_int(http, "dry_run", 0, 1, 0, &dry_run))
        return;
    const int status = submission_read(http, routes->shared->now_us(routes->shared), &submission, &err);
    if (status < 0) {
        const bool bad = status == ADL_EINVAL;
        adl_http_request_answer_problem(http, bad ? 400 : 503, bad ? "bad_request" : "no_memory", err.text, NULL);
        return;
    }
    struct adl_request *request = adl_route_request(routes, http, ADL_REQUEST_SUBMIT, answer_submission);
    if (!request) {
        adl_submission_destroy(submission);
        return;
    }
    request->submission = submission;
    request->dry_run = dry_run != 0;
    adl_route_post(request);
}

/* ---- changes of jobs ---- */

static void answer_changed(struct adl_routes_context *context, struct adl_request *request)
{
    adl_route_answer_job(context, &context->answer_reader, request->http, request->job);
}

/* A request about the job that the path names; NULL: it was answered. */
static struct adl_request *job_request(void *context, struct adl_http_request *http, int kind)
{
    uint64_t id;
    if (!adl_route_job_id(context, http, &id))
        return NULL;
    struct adl_request *request = adl_route_request(context, http, kind, answer_changed);
    if (request)
        request->job = id;
    return request;
}

void adl_route_cancel(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"reason", NULL};
    char reason[sizeof((struct adl_request *)NULL)->text];
    if (!adl_route_query_known(http, names) ||
        !adl_route_text(http, "reason", adl_http_request_query(http, "reason"), reason, sizeof reason))
        return;
    struct adl_request *request = job_request(context, http, ADL_REQUEST_CANCEL);
    if (!request)
        return;
    memcpy(request->text, reason, sizeof reason);
    adl_route_post(request);
}

static void post_plain(void *context, struct adl_http_request *http, int kind)
{
    if (!adl_route_query_known(http, NULL))
        return;
    struct adl_request *request = job_request(context, http, kind);
    if (request)
        adl_route_post(request);
}

void adl_route_hold(void *context, struct adl_http_request *http)
{
    post_plain(context, http, ADL_REQUEST_HOLD);
}

void adl_route_release(void *context, struct adl_http_request *http)
{
    post_plain(context, http, ADL_REQUEST_RELEASE);
}

void adl_route_requeue(void *context, struct adl_http_request *http)
{
    post_plain(context, http, ADL_REQUEST_REQUEUE);
}

void adl_route_change(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"priority", NULL};
    cJSON *body = NULL;
    if (!adl_route_query_known(http, NULL) || !adl_route_body(http, names, false, &body))
        return;
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(body, "priority");
    const double priority = cJSON_IsNumber(value) ? value->valuedouble : -1;
    cJSON_Delete(body);
    if (!(priority >= 0 && priority <= 1)) {
        adl_http_request_answer_problem(http, 400, "bad_request", "priority: must be given, a number between 0 and 1",
                                        NULL);
        return;
    }
    struct adl_request *request = job_request(context, http, ADL_REQUEST_PRIORITY);
    if (!request)
        return;
    request->priority = (float)priority;
    adl_route_post(request);
}
