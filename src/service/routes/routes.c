#include "service/routes/routes.h"

#include "base/suggest.h"
#include "service/routes/routes_internal.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUBMISSION_SIZE_MAX (8u << 20) /* limits of arguments, environment and script together */
#define SMALL_SIZE_MAX      4096

#define GET(pattern, handler, need)                                                                                    \
    {                                                                                                                  \
        "GET", pattern, handler, need, ADL_BODY_NONE, 0                                                                \
    }
#define POST(pattern, handler, need, size)                                                                             \
    {                                                                                                                  \
        "POST", pattern, handler, need, (size) > 0 ? ADL_BODY_JSON : ADL_BODY_NONE, size                               \
    }

static const struct adl_route table[] = {
    GET("/", adl_route_page, ADL_NEED_ANYONE),
    GET("/assets/{name}", adl_route_asset, ADL_NEED_ANYONE),
    GET("/healthz", adl_route_health, ADL_NEED_ANYONE),
    GET("/metrics", adl_route_metrics, ADL_NEED_USER),
    GET("/v1/openapi.json", adl_route_openapi, ADL_NEED_ANYONE),
    GET("/v1/whoami", adl_route_whoami, ADL_NEED_USER),
    GET("/v1/events", adl_route_events, ADL_NEED_USER),
    GET("/v1/jobs", adl_route_jobs, ADL_NEED_USER),
    POST("/v1/jobs", adl_route_submit, ADL_NEED_USER, SUBMISSION_SIZE_MAX),
    GET("/v1/jobs/{id}", adl_route_job, ADL_NEED_USER),
    {"DELETE", "/v1/jobs/{id}", adl_route_cancel, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"PATCH", "/v1/jobs/{id}", adl_route_change, ADL_NEED_USER, ADL_BODY_JSON, SMALL_SIZE_MAX},
    GET("/v1/jobs/{id}/events", adl_route_job_events, ADL_NEED_USER),
    GET("/v1/jobs/{id}/timeline", adl_route_job_timeline, ADL_NEED_USER),
    GET("/v1/jobs/{id}/blockers", adl_route_job_blockers, ADL_NEED_USER),
    POST("/v1/jobs/{id}/hold", adl_route_hold, ADL_NEED_USER, 0),
    POST("/v1/jobs/{id}/release", adl_route_release, ADL_NEED_USER, 0),
    POST("/v1/jobs/{id}/requeue", adl_route_requeue, ADL_NEED_USER, 0),
    POST("/v1/jobs/{id}/progress", adl_route_progress, ADL_NEED_USER, SMALL_SIZE_MAX),
    GET("/v1/cluster", adl_route_cluster, ADL_NEED_USER),
    GET("/v1/gpus/{gpu}/history", adl_route_gpu_history, ADL_NEED_USER),
    GET("/v1/users", adl_route_users, ADL_NEED_USER),
    POST("/v1/gpus/{gpu}/drain", adl_route_drain_gpu, ADL_NEED_ADMIN, SMALL_SIZE_MAX),
    POST("/v1/gpus/{gpu}/resume", adl_route_resume_gpu, ADL_NEED_ADMIN, 0),
    POST("/v1/nodes/{name}/drain", adl_route_drain_node, ADL_NEED_ADMIN, SMALL_SIZE_MAX),
    POST("/v1/nodes/{name}/resume", adl_route_resume_node, ADL_NEED_ADMIN, 0),
    GET("/v1/health", adl_route_gpu_health, ADL_NEED_USER),
    GET("/v1/history", adl_route_history, ADL_NEED_USER),
    GET("/v1/decisions", adl_route_decisions, ADL_NEED_USER),
    GET("/v1/policies", adl_route_policies, ADL_NEED_USER),
    GET("/v1/shadow", adl_route_shadow, ADL_NEED_USER),
    POST("/v1/shadow", adl_route_shadow_start, ADL_NEED_ADMIN, SMALL_SIZE_MAX),
    {"DELETE", "/v1/shadow", adl_route_shadow_stop, ADL_NEED_ADMIN, ADL_BODY_NONE, 0},
    POST("/v1/promote", adl_route_promote, ADL_NEED_ADMIN, SMALL_SIZE_MAX),
    GET("/v1/power-limit", adl_route_power, ADL_NEED_USER),
    POST("/v1/power-limit", adl_route_power_set, ADL_NEED_ADMIN, SMALL_SIZE_MAX),
    POST("/v1/reload", adl_route_reload, ADL_NEED_ADMIN, 0),
    POST("/v1/whatif", adl_route_whatif, ADL_NEED_USER, SUBMISSION_SIZE_MAX),
    GET("/v1/belief", adl_route_belief, ADL_NEED_ADMIN),
    POST("/v1/belief", adl_route_set_belief, ADL_NEED_ADMIN, SUBMISSION_SIZE_MAX),
};

const struct adl_route *adl_routes(uint32_t *ret_count)
{
    *ret_count = sizeof table / sizeof *table;
    return table;
}

void adl_routes_clear(struct adl_routes_context *context)
{
    adl_store_close(context->reader);
    adl_store_close(context->answer_reader);
    context->reader = context->answer_reader = NULL;
}

/* ---- parameters ---- */

bool adl_route_query_known(struct adl_http_request *http, const char *const *names)
{
    static const char *const none[] = {NULL};
    const char *unknown = adl_http_request_query_unknown(http, names ? names : none);
    struct adl_suggest suggest = {.word = unknown};
    char message[200], quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    if (!unknown)
        return true;
    for (const char *const *name = names; name && *name; name++)
        adl_suggest_offer(&suggest, *name);
    snprintf(message, sizeof message, "there is no query parameter %s here%s", adl_quote(unknown, quoted),
             adl_suggest_phrase(&suggest, phrase));
    adl_http_request_answer_problem(http, 400, "bad_query", message, NULL);
    return false;
}

bool adl_route_query_int(struct adl_http_request *http, const char *name, int64_t least, int64_t most, int64_t fallback,
                         int64_t *ret)
{
    struct adl_error err;
    if (adl_http_request_query_int(http, name, least, most, fallback, ret, &err) == ADL_OK)
        return true;
    adl_http_request_answer_problem(http, 400, "bad_query", err.text, NULL);
    return false;
}

static int read_uid(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    *(uint32_t *)context = job->uid;
    return 0;
}

/* Where listings are private, a job of another user is answered as one that does not exist. */
static bool is_visible(struct adl_routes_context *routes, struct adl_http_request *http, struct adl_store *store,
                       uint64_t id)
{
    const struct adl_caller *viewer = adl_http_request_caller(http);
    struct adl_service_state *shared = routes->shared;
    uint32_t uid = 0;
    if (!adl_privacy_hides(shared, viewer))
        return true;
    adl_service_state_lock(shared);
    const struct adl_job_entry *job = adl_job_table_find(&shared->job_table, id);
    bool there = job != NULL;
    if (job)
        uid = job->uid;
    adl_service_state_unlock(shared);
    if (!there)
        there = adl_store_job_read(store, id, read_uid, &uid, NULL) == 1;
    return there && adl_privacy_shows(shared, viewer, uid);
}

bool adl_route_job_id(struct adl_routes_context *routes, struct adl_http_request *http, uint64_t *ret)
{
    const char *label = adl_http_request_param(http, "id");
    char message[400], quoted[ADL_QUOTE_SIZE];
    struct adl_error err;
    struct adl_store *store = adl_route_store(routes->shared, &routes->reader, &err);
    const bool external = strcmp(routes->shared->engine_name, "slurm") == 0;
    int status = store ? adl_label_find(store, label, external, ret, &err) : ADL_EIO;
    if (status == 0 && is_visible(routes, http, store, *ret))
        return true;
    if (status == 0 || (status == ADL_EABSENT && adl_privacy_hides(routes->shared, adl_http_request_caller(http))))
        status = adl_fail(&err, ADL_EABSENT, "there is no job %s", label);
    if (status == ADL_EINVAL) {
        snprintf(message, sizeof message, "there is no job %s; %.250s", adl_quote(label, quoted), err.text);
        adl_http_request_answer_problem(http, 404, "not_found", message, NULL);
    } else {
        const bool absent = status == ADL_EABSENT;
        adl_http_request_answer_problem(http, absent ? 404 : 503, absent ? "not_found" : "not_read", err.text, NULL);
    }
    return false;
}

static const char *unknown_key(const cJSON *object, const char *const *names)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, object)
    {
        const char *const *name = names;
        while (*name && strcmp(*name, member->string) != 0)
            name++;
        if (!*name)
            return member->string;
    }
    return NULL;
}

bool adl_route_body(struct adl_http_request *http, const char *const *names, bool optional, struct cJSON **ret)
{
    struct adl_error err;
    cJSON *json = NULL;
    char quoted[ADL_QUOTE_SIZE], expected[120] = "";
    size_t size;
    adl_http_request_body(http, &size);
    if (size == 0 && optional) {
        *ret = NULL;
        return true;
    }
    if (adl_http_request_json(http, &json, &err) < 0) {
        adl_http_request_answer_problem(http, 400, "bad_json", err.text, NULL);
        return false;
    }
    const char *unknown = cJSON_IsObject(json) ? unknown_key(json, names) : "";
    for (const char *const *name = names; *name; name++)
        adl_list_append(expected, sizeof expected, *name);
    if (!cJSON_IsObject(json))
        adl_fail(&err, ADL_EINVAL, "the body must be a JSON object with %s", expected);
    else if (unknown)
        adl_fail(&err, ADL_EINVAL, "%s is not a key here; there is %s", adl_quote(unknown, quoted), expected);
    if (unknown) {
        adl_http_request_answer_problem(http, 400, "bad_request", err.text, NULL);
        cJSON_Delete(json);
        return false;
    }
    *ret = json;
    return true;
}

bool adl_route_text(struct adl_http_request *http, const char *name, const char *text, char *ret, size_t size)
{
    struct adl_error err = {{0}};
    if (strlen(text ? text : "") >= size)
        adl_fail(&err, ADL_EINVAL, "%s: at most %zu bytes are possible", name, size - 1);
    for (const char *c = text; c && *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            adl_fail(&err, ADL_EINVAL, "%s: holds a control character; use printable ones only", name);
    if (err.text[0]) {
        adl_http_request_answer_problem(http, 400, "bad_request", err.text, NULL);
        return false;
    }
    snprintf(ret, size, "%s", text ? text : "");
    return true;
}

struct adl_store *adl_route_store(const struct adl_service_state *shared, struct adl_store **reader,
                                  struct adl_error *err)
{
    if (!*reader && adl_store_open(shared->state_directory, ADL_STORE_READ, reader, err) < 0)
        return NULL;
    return *reader;
}

/* ---- parts of answers ---- */

bool adl_route_range(struct adl_http_request *http, const struct adl_service_state *shared, int64_t *ret_from_us,
                     int64_t *ret_until_us)
{
    int64_t minutes;
    if (!adl_route_query_int(http, "minutes", 1, 1440, 60, &minutes))
        return false;
    *ret_until_us = shared->now_us(shared);
    const int64_t from_us = *ret_until_us - (int64_t)((double)minutes * 60e6 * shared->speed);
    *ret_from_us = from_us > 0 ? from_us : 0;
    return true;
}

void adl_route_answer_not_read(struct adl_http_request *http, struct adl_text *text, int status,
                               const struct adl_error *err)
{
    adl_text_clear(text);
    if (status == ADL_EABSENT)
        adl_http_request_answer_problem(http, 404, "not_found", err->text, NULL);
    else
        adl_http_request_answer_problem(http, 503, "not_read", err->text, NULL);
}

void adl_route_put_text(struct adl_json *json, struct adl_service_state *shared, const struct adl_caller *viewer,
                        const char *key, const char *text)
{
    struct adl_text redacted = {0};
    adl_service_state_lock(shared);
    if (text && adl_privacy_hides(shared, viewer))
        adl_privacy_redact_text(&redacted, shared, viewer->account.uid, text);
    adl_service_state_unlock(shared);
    adl_json_put_string(json, key, redacted.data ? redacted.data : text);
    adl_text_clear(&redacted);
}

/* ---- requests ---- */

/* A request of the queue, with what its answer needs. */
struct step {
    struct adl_request request; /* first */
    adl_request_answer *answer;
};

static void answer_failure(struct adl_request *request)
{
    static const struct {
        int status, http;
        const char *code, *hint;
    } kinds[] = {
        {ADL_EINVAL, 400, "bad_request", NULL},
        {ADL_EABSENT, 404, "not_found", NULL},
        {ADL_EREFUSED, 409, "conflict", NULL},
        {ADL_EDENIED, 403, "forbidden", "Ask its owner or an administrator."},
        {ADL_EIO, 503, "not_stored", "Nothing was changed. Try again in a moment."},
        {ADL_ENOMEM, 503, "no_memory", "Nothing was changed. Try again in a moment."},
    };
    const char *text = request->err.text;
    if (request->status == ADL_EFULL ||
        (request->status == ADL_EIO && (strstr(text, "full") || strstr(text, "space")))) {
        adl_http_request_answer_problem(request->http, 507, "disk_full", text,
                                        "Nothing was changed. The disk of the service has to be cleared first.");
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].status == request->status) {
            adl_http_request_answer_problem(request->http, kinds[i].http, kinds[i].code, text, kinds[i].hint);
            return;
        }
    adl_http_request_answer_problem(request->http, 500, "internal", text, NULL);
}

static void request_free(struct adl_request *request)
{
    adl_submission_destroy(request->submission);
    adl_text_clear(&request->belief);
    free(request);
}

static void request_answer(struct adl_request *request)
{
    const struct step *step = (const struct step *)request;
    if (request->status < 0)
        answer_failure(request);
    else
        step->answer(request->context, request);
    request_free(request);
}

struct adl_request *adl_route_request(struct adl_routes_context *context, struct adl_http_request *http, int kind,
                                      adl_request_answer *answer)
{
    struct step *step = calloc(1, sizeof *step);
    if (!step) {
        adl_http_request_answer_problem(http, 503, "no_memory", "There is no memory for the request.", NULL);
        return NULL;
    }
    step->answer = answer;
    step->request = (struct adl_request){.kind = kind,
                                         .caller = *adl_http_request_caller(http),
                                         .gpu = ADL_NONE,
                                         .answer = request_answer,
                                         .http = http,
                                         .context = context};
    return &step->request;
}

void adl_route_post(struct adl_request *request)
{
    const struct adl_routes_context *context = request->context;
    adl_http_request_defer(request->http); /* before the post: the answer may come at once */
    if (adl_request_queue_post(context->shared->request_queue, request))
        return;
    adl_http_request_answer_problem(request->http, 503, "busy", "Too many requests wait for the service already.",
                                    "Nothing was changed. Try again in a second.");
    request_free(request);
}

/* ---- jobs ---- */

struct job_answer {
    struct adl_service_state *shared;
    const struct adl_caller *viewer;
    struct adl_json *json;
};

static int put_stored(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    const struct job_answer *answer = context;
    (void)err;
    adl_service_state_lock(answer->shared);
    adl_view_stored_job(answer->json, answer->shared, answer->viewer, job);
    adl_service_state_unlock(answer->shared);
    return 0;
}

void adl_route_answer_job(struct adl_routes_context *context, struct adl_store **reader, struct adl_http_request *http,
                          uint64_t id)
{
    const struct adl_caller *viewer = adl_http_request_caller(http);
    struct adl_service_state *shared = context->shared;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    struct adl_error err = {{0}};
    adl_service_state_lock(shared);
    const struct adl_job_entry *job = adl_job_table_find(&shared->job_table, id);
    if (job)
        adl_view_live_job(&json, shared, viewer, job);
    adl_service_state_unlock(shared);
    int found = job ? 1 : 0;
    if (!found) {
        struct adl_store *store = adl_route_store(shared, reader, &err);
        found =
            store ? adl_store_job_read(store, id, put_stored, &(struct job_answer){shared, viewer, &json}, &err) : -1;
    }
    if (found > 0) {
        adl_http_request_answer_json(http, 200, &text);
        return;
    }
    adl_text_clear(&text);
    if (found == 0) {
        adl_fail(&err, ADL_EABSENT, "there is no job %" PRIu64, id);
        adl_http_request_answer_problem(http, 404, "not_found", err.text, NULL);
    } else {
        adl_http_request_answer_problem(http, 503, "not_read", err.text, NULL);
    }
}
