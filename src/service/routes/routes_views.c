/* routes_views: the caller, health, metrics, events, the API description, and the dashboard. */
#include "http/openmetrics.h"
#include "service/assets.h"
#include "service/metrics_page.h"
#include "service/routes/routes_internal.h"

#include <stdio.h>
#include <string.h>

void adl_route_events(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"after", NULL};
    const struct adl_routes_context *routes = context;
    if (adl_route_query_known(http, names))
        adl_http_request_answer_events(http, adl_privacy_hides(routes->shared, adl_http_request_caller(http)));
}

void adl_route_whoami(void *context, struct adl_http_request *http)
{
    const struct adl_caller *caller = adl_http_request_caller(http);
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    (void)context;
    if (!adl_route_query_known(http, NULL))
        return;
    adl_json_object(&json);
    adl_json_put_string(&json, "user", caller->account.name);
    adl_json_put_uint(&json, "uid", caller->account.uid);
    adl_json_put_bool(&json, "admin", caller->admin);
    adl_json_end(&json);
    adl_http_request_answer_json(http, 200, &text);
}

void adl_route_health(void *context, struct adl_http_request *http)
{
    const struct adl_routes_context *routes = context;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    char trouble[sizeof routes->shared->trouble], notice[sizeof routes->shared->notice];
    adl_service_state_lock(routes->shared);
    memcpy(trouble, routes->shared->trouble, sizeof trouble);
    memcpy(notice, routes->shared->notice, sizeof notice);
    adl_service_state_unlock(routes->shared);
    adl_json_object(&json);
    adl_json_put_string(&json, "status", trouble[0] ? "trouble" : "ok");
    if (trouble[0]) {
        adl_json_put_string(&json, "trouble", trouble);
    }
    if (notice[0])
        adl_json_put_string(&json, "notice", notice);
    adl_json_end(&json);
    adl_http_request_answer_json(http, trouble[0] ? 503 : 200, &text);
}

void adl_route_metrics(void *context, struct adl_http_request *http)
{
    struct adl_routes_context *routes = context;
    const bool openmetrics = adl_metrics_accepts(adl_http_request_header(http, "Accept"));
    struct adl_http *server = atomic_load(&routes->http);
    struct adl_http_counts counts = {0};
    struct adl_text text = {0};
    struct adl_error err;
    if (server)
        counts = adl_http_counts(server);
    if (adl_metrics_page_write(routes->shared, server ? &counts : NULL, openmetrics, &text, &err) < 0) {
        adl_text_clear(&text);
        adl_http_request_answer_problem(http, 500, "no_metrics", err.text, NULL);
        return;
    }
    adl_http_request_answer_text(http, 200, openmetrics ? ADL_OPENMETRICS_TYPE : ADL_PROMETHEUS_TYPE, &text);
}

/* ---- the dashboard ---- */

static void answer_asset(struct adl_http_request *http, const char *name)
{
    for (size_t i = 0; i < adl_web_asset_count; i++)
        if (strcmp(adl_web_assets[i].name, name) == 0) {
            adl_http_request_answer_asset(http, &adl_web_assets[i].asset);
            return;
        }
    adl_http_request_answer_problem(http, 404, "not_found", "There is no such file.", NULL);
}

void adl_route_page(void *context, struct adl_http_request *http)
{
    (void)context;
    answer_asset(http, "index.html");
}

void adl_route_asset(void *context, struct adl_http_request *http)
{
    (void)context;
    answer_asset(http, adl_http_request_param(http, "name"));
}

void adl_route_openapi(void *context, struct adl_http_request *http)
{
    (void)context;
    answer_asset(http, "openapi.json");
}
