/* routes_shadow: a policy that shadows the one in force, and its promotion. */
#include "service/routes/routes_internal.h"
#include "service/shadowing.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

static void answer_shadow(struct adl_service_state *shared, struct adl_http_request *http)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_service_state_lock(shared);
    adl_shadowing_view(&json, shared);
    adl_service_state_unlock(shared);
    adl_http_request_answer_json(http, 200, &text);
}

void adl_route_shadow(void *context, struct adl_http_request *http)
{
    const struct adl_routes_context *routes = context;
    if (adl_route_query_known(http, NULL))
        answer_shadow(routes->shared, http);
}

static void answer_changed(struct adl_routes_context *context, struct adl_request *request)
{
    answer_shadow(context->shared, request->http);
}

static bool refuse(struct adl_http_request *http, const char *text)
{
    adl_http_request_answer_problem(http, 400, "bad_request", text, NULL);
    return false;
}

static bool read_text(struct adl_http_request *http, const cJSON *body, const char *key, char *ret, size_t size)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(body, key);
    char message[80];
    ret[0] = '\0';
    if (!value)
        return true;
    if (cJSON_IsString(value) && strlen(value->valuestring) < size) {
        snprintf(ret, size, "%s", value->valuestring);
        return true;
    }
    snprintf(message, sizeof message, "%s: must be a string of fewer than %zu bytes", key, size);
    return refuse(http, message);
}

/* {"OPTION": "VALUE", ...} as lines. */
static bool read_options(struct adl_http_request *http, const cJSON *body, char *ret, size_t size)
{
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(body, "options"), *one;
    size_t at = 0;
    ret[0] = '\0';
    if (options && !cJSON_IsObject(options))
        return refuse(http, "options: must be an object of option names and values, all strings");
    cJSON_ArrayForEach(one, options)
    {
        if (!cJSON_IsString(one) || strpbrk(one->string, "=\n") || strchr(one->valuestring, '\n'))
            return refuse(http, "options: names and values must be strings without line ends");
        at += (size_t)snprintf(ret + at, size - at, "%s=%s\n", one->string, one->valuestring);
        if (at >= size)
            return refuse(http, "options: they are too long");
    }
    return true;
}

static bool is_automatic(struct adl_service_state *shared, const char *gate)
{
    adl_service_state_lock(shared);
    const bool automatic = gate[0] ? strcmp(gate, "auto") == 0 : shared->gate_auto;
    adl_service_state_unlock(shared);
    return automatic;
}

static bool read_candidate(struct adl_service_state *shared, struct adl_http_request *http, const cJSON *body,
                           struct adl_shadow_candidate *ret)
{
    const cJSON *days = cJSON_GetObjectItemCaseSensitive(body, "days");
    char gate[16];
    if (!read_text(http, body, "policy", ret->policy, sizeof ret->policy) ||
        !read_text(http, body, "model", ret->model, sizeof ret->model) ||
        !read_text(http, body, "gate", gate, sizeof gate) ||
        !read_options(http, body, ret->options, sizeof ret->options))
        return false;
    if (ret->policy[0] == '\0')
        return refuse(http, "policy: the name of the policy that is to shadow is required");
    if (gate[0] && strcmp(gate, "auto") != 0 && strcmp(gate, "manual") != 0)
        return refuse(http, "gate: must be manual or auto");
    if (days && (!cJSON_IsNumber(days) || !(days->valuedouble > 0 && days->valuedouble <= 3650)))
        return refuse(http, "days: must be a number above 0, and at most 3650");
    ret->automatic = is_automatic(shared, gate);
    ret->days = days ? days->valuedouble : 0;
    return true;
}

void adl_route_shadow_start(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"policy", "options", "model", "days", "gate", NULL};
    const struct adl_routes_context *routes = context;
    struct adl_shadow_candidate candidate = {.policy = ""};
    cJSON *body = NULL;
    if (!adl_route_query_known(http, NULL) || !adl_route_body(http, names, false, &body))
        return;
    const bool read = read_candidate(routes->shared, http, body, &candidate);
    cJSON_Delete(body);
    struct adl_request *request =
        read ? adl_route_request(context, http, ADL_REQUEST_SHADOW_START, answer_changed) : NULL;
    if (!request)
        return;
    request->candidate = candidate;
    adl_route_post(request);
}

void adl_route_shadow_stop(void *context, struct adl_http_request *http)
{
    if (!adl_route_query_known(http, NULL))
        return;
    struct adl_request *request = adl_route_request(context, http, ADL_REQUEST_SHADOW_STOP, answer_changed);
    if (request)
        adl_route_post(request);
}

void adl_route_promote(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"force", NULL};
    cJSON *body = NULL;
    if (!adl_route_query_known(http, NULL) || !adl_route_body(http, names, true, &body))
        return;
    const cJSON *force = cJSON_GetObjectItemCaseSensitive(body, "force");
    const bool fine = !force || cJSON_IsBool(force), forced = cJSON_IsTrue(force);
    cJSON_Delete(body);
    if (!fine) {
        refuse(http, "force: must be true or false");
        return;
    }
    struct adl_request *request = adl_route_request(context, http, ADL_REQUEST_PROMOTE, answer_changed);
    if (!request)
        return;
    request->force = forced;
    adl_route_post(request);
}
