/* routes_cluster: the cluster, its GPUs in and out of service, history, policies, reload. */
#include "base/suggest.h"
#include "service/routes/routes_internal.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void answer_cluster(struct adl_service_state *shared, struct adl_http_request *http)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_service_state_lock(shared);
    adl_view_cluster(&json, shared, adl_http_request_caller(http));
    adl_service_state_unlock(shared);
    adl_http_request_answer_json(http, 200, &text);
}

void adl_route_cluster(void *context, struct adl_http_request *http)
{
    const struct adl_routes_context *routes = context;
    if (adl_route_query_known(http, NULL))
        answer_cluster(routes->shared, http);
}

void adl_route_gpu_health(void *context, struct adl_http_request *http)
{
    const struct adl_routes_context *routes = context;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    if (!adl_route_query_known(http, NULL))
        return;
    adl_service_state_lock(routes->shared);
    adl_view_health(&json, routes->shared);
    adl_service_state_unlock(routes->shared);
    adl_http_request_answer_json(http, 200, &text);
}

/* ---- GPUs in and out of service ---- */

static void answer_drained(struct adl_routes_context *context, struct adl_request *request)
{
    answer_cluster(context->shared, request->http);
}

bool adl_route_gpu(struct adl_service_state *shared, struct adl_http_request *http, uint32_t *ret)
{
    const char *text = adl_http_request_param(http, "gpu");
    const size_t digits = strspn(text, "0123456789");
    char message[160], quoted[ADL_QUOTE_SIZE];
    adl_service_state_lock(shared);
    const uint32_t count = shared->inventory->scenario.cluster.gpu_count;
    const bool number = digits > 0 && digits < 9 && text[digits] == '\0';
    const uint32_t gpu = number ? (uint32_t)strtoul(text, NULL, 10) : adl_inventory_find(shared->inventory, text);
    adl_service_state_unlock(shared);
    if (gpu < count) {
        *ret = gpu;
        return true;
    }
    snprintf(message, sizeof message, "there is no GPU %s here; they are 0 to %u", adl_quote(text, quoted), count - 1);
    adl_http_request_answer_problem(http, 404, "not_found", message, NULL);
    return false;
}

static bool read_node(struct adl_service_state *shared, struct adl_http_request *http, char *ret, size_t size)
{
    const char *name = adl_http_request_param(http, "name");
    struct adl_suggest suggest = {.word = name};
    char message[240], quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    bool found = false;
    adl_service_state_lock(shared);
    const struct adl_cluster *cluster = &shared->inventory->scenario.cluster;
    for (uint32_t n = 0; n < cluster->node_count && !found; n++) {
        found = strcmp(cluster->nodes[n].name, name) == 0;
        adl_suggest_offer(&suggest, cluster->nodes[n].name);
    }
    snprintf(message, sizeof message, "there is no node %s here%s", adl_quote(name, quoted),
             adl_suggest_phrase(&suggest, phrase));
    adl_service_state_unlock(shared);
    if (found)
        snprintf(ret, size, "%s", name);
    else
        adl_http_request_answer_problem(http, 404, "not_found", message, NULL);
    return found;
}

/* {"reason":"..."}, or nothing at all. */
static bool read_reason(struct adl_http_request *http, char *ret, size_t size)
{
    static const char *const names[] = {"reason", NULL};
    cJSON *body = NULL;
    if (!adl_route_body(http, names, true, &body))
        return false;
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(body, "reason");
    bool fine = !value || cJSON_IsString(value);
    if (!fine)
        adl_http_request_answer_problem(http, 400, "bad_request", "reason: must be a string", NULL);
    else
        fine = adl_route_text(http, "reason", value ? value->valuestring : NULL, ret, size);
    cJSON_Delete(body);
    return fine;
}

static void post_drain(void *context, struct adl_http_request *http, int kind, bool by_node)
{
    struct adl_routes_context *routes = context;
    struct adl_request *request = NULL, what = {.gpu = ADL_NONE};
    if (!adl_route_query_known(http, NULL) ||
        (by_node ? !read_node(routes->shared, http, what.node, sizeof what.node)
                 : !adl_route_gpu(routes->shared, http, &what.gpu)) ||
        (kind == ADL_REQUEST_DRAIN && !read_reason(http, what.text, sizeof what.text)))
        return;
    request = adl_route_request(routes, http, kind, answer_drained);
    if (!request)
        return;
    request->gpu = what.gpu;
    memcpy(request->node, what.node, sizeof request->node);
    memcpy(request->text, what.text, sizeof request->text);
    adl_route_post(request);
}

void adl_route_drain_gpu(void *context, struct adl_http_request *http)
{
    post_drain(context, http, ADL_REQUEST_DRAIN, false);
}

void adl_route_resume_gpu(void *context, struct adl_http_request *http)
{
    post_drain(context, http, ADL_REQUEST_RESUME, false);
}

void adl_route_drain_node(void *context, struct adl_http_request *http)
{
    post_drain(context, http, ADL_REQUEST_DRAIN, true);
}

void adl_route_resume_node(void *context, struct adl_http_request *http)
{
    post_drain(context, http, ADL_REQUEST_RESUME, true);
}

/* ---- history ---- */

void adl_route_history(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"minutes", NULL};
    const struct adl_routes_context *routes = context;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    int64_t minutes;
    if (!adl_route_query_known(http, names) || !adl_route_query_int(http, "minutes", 1, 1440, 60, &minutes))
        return;
    const uint32_t most = (uint32_t)(minutes * 60000000 / ADL_POINT_STEP_US);
    struct adl_point *points = malloc(most * sizeof *points);
    if (!points) {
        adl_http_request_answer_problem(http, 503, "no_memory", "There is no memory for the answer.", NULL);
        return;
    }
    adl_service_state_lock(routes->shared);
    const uint32_t count = adl_view_points(routes->shared, points, most);
    adl_service_state_unlock(routes->shared);
    adl_view_history(&json, points, count);
    free(points);
    adl_http_request_answer_json(http, 200, &text);
}

void adl_route_decisions(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"limit", NULL};
    const struct adl_routes_context *routes = context;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    int64_t limit;
    if (!adl_route_query_known(http, names) || !adl_route_query_int(http, "limit", 1, ADL_DECISIONS_MAX, 50, &limit))
        return;
    adl_service_state_lock(routes->shared);
    adl_view_decisions(&json, routes->shared, adl_http_request_caller(http), (uint32_t)limit);
    adl_service_state_unlock(routes->shared);
    adl_http_request_answer_json(http, 200, &text);
}

/* ---- policies and configuration ---- */

static const char *policy_name(struct adl_service_state *shared)
{
    adl_service_state_lock(shared);
    const char *name = shared->policy->name; /* a constant of the program */
    adl_service_state_unlock(shared);
    return name;
}

void adl_route_policies(void *context, struct adl_http_request *http)
{
    const struct adl_routes_context *routes = context;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    if (!adl_route_query_known(http, NULL))
        return;
    adl_json_object(&json);
    adl_json_put_string(&json, "current", policy_name(routes->shared));
    adl_json_key(&json, "policies");
    adl_json_array(&json);
    for (uint32_t i = 0; i < adl_policy_count(); i++) {
        adl_json_object(&json);
        adl_json_put_string(&json, "name", adl_policy_at(i)->name);
        adl_json_put_string(&json, "summary", adl_policy_at(i)->summary);
        adl_json_end(&json);
    }
    adl_json_end(&json);
    adl_json_end(&json);
    adl_http_request_answer_json(http, 200, &text);
}

/* request->text has a line for each thing that changed. */
static void answer_reload(struct adl_routes_context *context, struct adl_request *request)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    adl_json_put_string(&json, "policy", policy_name(context->shared));
    adl_json_key(&json, "changed");
    adl_json_array(&json);
    for (char *line = request->text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        adl_json_string(&json, line);
    }
    adl_json_end(&json);
    adl_json_end(&json);
    adl_http_request_answer_json(request->http, 200, &text);
}

void adl_route_reload(void *context, struct adl_http_request *http)
{
    if (!adl_route_query_known(http, NULL))
        return;
    struct adl_request *request = adl_route_request(context, http, ADL_REQUEST_RELOAD, answer_reload);
    if (request)
        adl_route_post(request);
}
