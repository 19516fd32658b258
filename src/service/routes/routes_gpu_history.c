/* routes_gpu_history: which jobs ran on a GPU, what happened to it, and its readings. The events of starts name GPUs;
 * one request searches a bounded number of them. */
#include "service/routes/routes_internal.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_SCAN     50000
#define EVENTS_AFTER    100 /* of a job after its start, among which its end is searched */
#define GPU_EVENTS_MAX  50  /* about a GPU */
#define GPU_EVENTS_READ 1000

static bool is_among(const char *const *kinds, const char *kind)
{
    while (*kinds && strcmp(*kinds, kind) != 0)
        kinds++;
    return *kinds != NULL;
}

struct run {
    uint64_t sequence, job;
    int64_t start_us, end_us; /* end 0: it runs */
    char how[24], why[300];
};

struct runs {
    const char *gpu; /* its name in events */
    struct run *runs;
    uint32_t count;
};

/* A name is a whole entry of the list: "n:a100#1" is not in "n:a100#10". */
static bool is_listed(const char *list, const char *name)
{
    const size_t size = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += size)
        if ((at == list || at[-1] == ' ') && (at[size] == '\0' || at[size] == ' '))
            return true;
    return false;
}

static int take_start(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    struct runs *runs = context;
    cJSON *data = cJSON_Parse(event->payload);
    (void)err;
    if (is_listed(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "gpus")), runs->gpu))
        runs->runs[runs->count++] =
            (struct run){.sequence = event->sequence, .job = event->job, .start_us = event->time_us};
    cJSON_Delete(data);
    return 0;
}

/* What ended a run: the first event of the job after its start that takes it off its GPUs. */
static int take_end(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    static const char *const kinds[] = {"end", "evict", "move", "start", NULL};
    struct run *run = context;
    (void)err;
    if (!is_among(kinds, event->kind))
        return 0;
    cJSON *data = cJSON_Parse(event->payload);
    const char *state = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "state"));
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "why"));
    run->end_us = event->time_us;
    snprintf(run->how, sizeof run->how, "%s", strcmp(event->kind, "end") == 0 ? state ? state : "" : "stopped");
    snprintf(run->why, sizeof run->why, "%s", strcmp(event->kind, "start") != 0 && why ? why : "");
    cJSON_Delete(data);
    return 1;
}

struct owner {
    uint64_t shown;
    uint32_t uid;
    char label[ADL_LABEL_SIZE], name[ADL_STORE_WORD_MAX + 1], user[ADL_STORE_WORD_MAX + 1];
};

static int see_owner(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    struct owner *owner = context;
    (void)err;
    owner->shown = row->external > 0 ? (uint64_t)row->external : row->spec.id;
    owner->uid = row->uid;
    adl_label_of_stored(row, owner->label);
    snprintf(owner->name, sizeof owner->name, "%s", row->name);
    snprintf(owner->user, sizeof owner->user, "%s", row->user);
    return 0;
}

/* Where listings are private, a run of another user has times and nothing else. */
static void put_run(struct adl_json *json, struct adl_service_state *shared, const struct adl_caller *viewer,
                    const struct run *run, const struct owner *owner)
{
    adl_service_state_lock(shared);
    const bool shown = owner->shown > 0 && adl_privacy_shows(shared, viewer, owner->uid);
    adl_service_state_unlock(shared);
    adl_json_object(json);
    adl_json_key(json, "job");
    if (shown)
        adl_json_uint(json, owner->shown);
    else
        adl_json_null(json);
    adl_json_put_string(json, "label", shown ? owner->label : NULL);
    adl_json_put_string(json, "name", shown ? owner->name : NULL);
    adl_json_put_string(json, "user", shown ? owner->user : NULL);
    adl_view_time(json, "start_s", run->start_us);
    adl_view_time(json, "end_s", run->end_us);
    adl_json_put_string(json, "how", run->end_us > 0 ? run->how : "running");
    adl_route_put_text(json, shared, viewer, "why", shown && run->why[0] ? run->why : NULL);
    adl_json_end(json);
}

/* Newest first, back to the first that ended before from_us. */
static int put_runs(struct adl_json *json, struct adl_routes_context *routes, struct adl_http_request *http,
                    struct adl_store *store, struct runs *runs, int64_t from_us, uint32_t limit, struct adl_error *err)
{
    bool all = runs->count < limit;
    int status = 0;
    adl_json_key(json, "runs");
    adl_json_array(json);
    for (uint32_t i = 0; status >= 0 && i < runs->count; i++) {
        struct run *run = &runs->runs[i];
        struct owner owner = {0};
        status = adl_store_events(store, run->sequence, run->job, EVENTS_AFTER, take_end, run, err);
        if (run->end_us > 0 && run->end_us <= from_us) {
            all = true;
            break;
        }
        if (status >= 0)
            status = adl_store_job_read(store, run->job, see_owner, &owner, err);
        put_run(json, routes->shared, adl_http_request_caller(http), run, &owner);
    }
    adl_json_end(json);
    adl_json_key(json, "next");
    if (all)
        adl_json_null(json);
    else
        adl_json_uint(json, runs->runs[runs->count - 1].sequence);
    return status < 0 ? status : 0;
}

struct gpu_events {
    struct adl_json *json;
    uint32_t gpu, count;
    const char *id, *node;
};

/* Events name a GPU by its number or its id, or its node. */
static bool is_about(const cJSON *gpu, const struct gpu_events *events)
{
    const char *text = cJSON_GetStringValue(gpu);
    return cJSON_IsNumber(gpu) ? gpu->valuedouble == events->gpu
                               : text && (strcmp(text, events->id) == 0 || strcmp(text, events->node) == 0);
}

static int take_gpu_event(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    struct gpu_events *events = context;
    cJSON *data = cJSON_Parse(event->payload);
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "why"));
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "text"));
    (void)err;
    if (is_about(cJSON_GetObjectItemCaseSensitive(data, "gpu"), events)) {
        adl_json_object(events->json);
        adl_view_time(events->json, "time_s", event->time_us);
        adl_json_put_string(events->json, "kind", event->kind);
        adl_json_put_string(events->json, "why", why ? why : text ? text : "");
        adl_json_end(events->json);
        events->count++;
    }
    cJSON_Delete(data);
    return events->count >= GPU_EVENTS_MAX;
}

static int put_gpu_events(struct adl_json *json, struct adl_store *store, struct gpu_events *events, int64_t from_us,
                          struct adl_error *err)
{
    adl_json_key(json, "events");
    adl_json_array(json);
    const int status = adl_store_events_general(store, from_us, GPU_EVENTS_READ, take_gpu_event, events, err);
    adl_json_end(json);
    return status < 0 ? status : 0;
}

struct gpu_names {
    uint32_t gpu;
    char name[ADL_GPU_NAME_SIZE], id[ADL_STORE_WORD_MAX + 1], node[ADL_NAME_SIZE];
};

static void name_gpu(struct adl_service_state *shared, uint32_t gpu, struct gpu_names *ret)
{
    adl_service_state_lock(shared);
    const struct adl_cluster *cluster = &shared->inventory->scenario.cluster;
    ret->gpu = gpu;
    adl_service_state_gpu_name(shared, gpu, ret->name);
    snprintf(ret->id, sizeof ret->id, "%s", shared->inventory->gpus[gpu].id);
    snprintf(ret->node, sizeof ret->node, "%s", cluster->nodes[adl_gpu_node_of(cluster, gpu)].name);
    adl_service_state_unlock(shared);
}

static int see_sequence(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    (void)err;
    *(uint64_t *)context = event->sequence + 1;
    return 0;
}

/* before 0: from the last event on. */
static int find_runs(struct adl_store *store, uint64_t before, uint32_t limit, struct runs *runs, struct adl_error *err)
{
    int status = before > 0 ? 0 : adl_store_event_last(store, see_sequence, &before, err);
    const struct adl_store_starts which = {.before = before, .scan = EVENTS_SCAN, .limit = limit, .gpu = runs->gpu};
    runs->runs = calloc(limit, sizeof *runs->runs);
    if (!runs->runs)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    if (status >= 0)
        status = adl_store_starts(store, &which, take_start, runs, err);
    return status < 0 ? status : 0;
}

void adl_route_gpu_history(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"minutes", "limit", "before", NULL};
    struct adl_routes_context *routes = context;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    struct adl_error err = {{0}};
    struct gpu_names gpu;
    int64_t from_us, until_us, limit, before;
    uint32_t number;
    if (!adl_route_query_known(http, names) || !adl_route_range(http, routes->shared, &from_us, &until_us) ||
        !adl_route_query_int(http, "limit", 1, 100, 20, &limit) ||
        !adl_route_query_int(http, "before", 0, INT64_MAX, 0, &before) || !adl_route_gpu(routes->shared, http, &number))
        return;
    name_gpu(routes->shared, number, &gpu);
    const char *const ids[] = {gpu.id, NULL};
    struct runs runs = {.gpu = gpu.name};
    struct gpu_events events = {.json = &json, .gpu = number, .id = gpu.id, .node = gpu.node};
    struct adl_store *store = adl_route_store(routes->shared, &routes->reader, &err);
    int status = store ? find_runs(store, (uint64_t)before, (uint32_t)limit, &runs, &err) : ADL_EIO;
    adl_json_object(&json);
    adl_json_put_uint(&json, "gpu", number);
    adl_json_put_string(&json, "id", gpu.id);
    adl_view_time(&json, "from_s", from_us);
    adl_view_time(&json, "until_s", until_us);
    if (status == 0)
        status = put_runs(&json, routes, http, store, &runs, from_us, (uint32_t)limit, &err);
    if (status == 0)
        status = put_gpu_events(&json, store, &events, from_us, &err);
    if (status == 0)
        status = adl_view_readings(&json, store, ids, from_us, until_us, &err);
    adl_json_end(&json);
    free(runs.runs);
    if (status == 0)
        adl_http_request_answer_json(http, 200, &text);
    else
        adl_route_answer_not_read(http, &text, status, &err);
}
