/* routes_power: what all GPUs together may draw. */
#include "service/routes/routes_internal.h"

#include <cjson/cJSON.h>

#define LIMIT_MAX_W 1e9
#define FOR_MAX_S   8.64e6

static void put_power(struct adl_json *json, const struct adl_service_state *shared)
{
    static const char *const sources[] = {"schedule", "request", "scenario"};
    const struct adl_service_state_power *power = &shared->power;
    adl_json_object(json);
    adl_json_put_real(json, "limit_w", power->limit_w);
    const bool none = power->source == ADL_POWER_SCHEDULE && power->schedule.count == 0;
    adl_json_put_string(json, "source", none ? "none" : sources[power->source]);
    adl_view_time(json, "until_s", power->source == ADL_POWER_REQUEST ? power->until_us : 0);
    adl_json_put_bool(json, "followed", shared->policy->limits_power);
    adl_json_put_string(json, "policy", shared->policy->name);
    adl_json_key(json, "schedule");
    adl_json_array(json);
    for (uint32_t i = 0; i < power->schedule.count; i++) {
        adl_json_object(json);
        adl_json_put_int(json, "minute", power->schedule.entries[i].minute);
        adl_json_put_real(json, "limit_w", power->schedule.entries[i].limit_w);
        adl_json_end(json);
    }
    adl_json_end(json);
    adl_json_end(json);
}

static void answer_power(struct adl_service_state *shared, struct adl_http_request *http)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_service_state_lock(shared);
    put_power(&json, shared);
    adl_service_state_unlock(shared);
    adl_http_request_answer_json(http, 200, &text);
}

void adl_route_power(void *context, struct adl_http_request *http)
{
    const struct adl_routes_context *routes = context;
    if (adl_route_query_known(http, NULL))
        answer_power(routes->shared, http);
}

static void answer_changed(struct adl_routes_context *context, struct adl_request *request)
{
    answer_power(context->shared, request->http);
}

/* Negative: the schedule counts again. */
static bool read_limit(const cJSON *body, double *ret_limit_w, double *ret_for_s)
{
    const cJSON *limit = cJSON_GetObjectItemCaseSensitive(body, "limit_w");
    const cJSON *time = cJSON_GetObjectItemCaseSensitive(body, "for_s");
    *ret_limit_w = cJSON_IsNumber(limit) ? limit->valuedouble : -1;
    *ret_for_s = cJSON_IsNumber(time) ? time->valuedouble : 0;
    return limit &&
           (cJSON_IsNull(limit) ||
            (cJSON_IsNumber(limit) &&
             (limit->valuedouble == 0 || (limit->valuedouble >= 1 && limit->valuedouble <= LIMIT_MAX_W)))) &&
           (!time || cJSON_IsNull(time) ||
            (cJSON_IsNumber(time) && time->valuedouble >= 1 && time->valuedouble <= FOR_MAX_S));
}

void adl_route_power_set(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"limit_w", "for_s", NULL};
    cJSON *body = NULL;
    double limit_w, for_s;
    if (!adl_route_query_known(http, NULL) || !adl_route_body(http, names, false, &body))
        return;
    const bool fine = read_limit(body, &limit_w, &for_s);
    cJSON_Delete(body);
    if (!fine) {
        adl_http_request_answer_problem(http, 400, "bad_request",
                                        "limit_w: must be 0 (no limit), watts from 1 to 1e9, or null (as the schedule "
                                        "says); for_s: seconds from 1 to 8640000",
                                        NULL);
        return;
    }
    struct adl_request *request = adl_route_request(context, http, ADL_REQUEST_POWER_LIMIT, answer_changed);
    if (!request)
        return;
    request->limit_w = limit_w;
    request->for_us = (int64_t)(for_s * 1e6);
    adl_route_post(request);
}
