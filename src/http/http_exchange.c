#include "http/http_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define DISCARD_MAX (1 << 20) /* bytes beyond a body's limit that are read so that the client can read the 413 */

void adl_exchange_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                             enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = adl_connection_open(cls, mhd);
    } else if (*socket_context) {
        adl_connection_close(*socket_context);
        *socket_context = NULL;
    }
}

static struct adl_connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* --- requests --- */

/* The target is parsed here, before libmicrohttpd unescapes it. */
void *adl_exchange_uri(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    const struct adl_listener *listener = cls;
    struct adl_connection *connection = connection_of(mhd);
    struct adl_http_request *request = connection ? adl_http_request_create(listener->http->queue) : NULL;
    if (!request)
        return NULL;
    request->connection = connection;
    connection->request = request;
    request->address = uri;
    request->address_end = uri + strlen(uri);
    request->target_status = adl_target_parse(&request->target, uri, &request->target_error);
    return request;
}

size_t adl_exchange_unescape(void *cls, struct MHD_Connection *mhd, char *text)
{
    (void)cls, (void)mhd;
    return strlen(text);
}

void adl_exchange_completed(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode code)
{
    struct adl_http_request *request = *context;
    (void)cls, (void)mhd, (void)code;
    if (!request)
        return;
    struct adl_connection *connection = request->connection;
    connection->request = NULL;
    adl_connection_idle(connection);
    request->connection = NULL;
    *context = NULL;
    adl_http_request_release(request);
}

static const char *header_of(const struct adl_http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection->mhd, MHD_HEADER_KIND, name);
}

static void refuse(struct adl_http_request *request, int status, const char *code, const char *message,
                   const char *hint)
{
    adl_http_request_answer_problem(request, status, code, message, hint);
    request->refused = true;
}

static bool is_within_rate(struct adl_http_request *request, double cost)
{
    struct adl_http *http = request->connection->listener->http;
    if (!request->connection->client)
        return false;
    const int64_t wait_us = adl_limits_take(http->limits, request->connection->client, cost, http->now_us);
    if (wait_us == 0)
        return true;
    refuse(request, 429, "too_many_requests", "This client sends too many requests.",
           "Wait as long as Retry-After says.");
    request->reply.retry_s = wait_us / 1000000 + 1;
    adl_http_count(http, &http->counts.limited, 1);
    return false;
}

static bool is_routed(struct adl_http_request *request, const char *method)
{
    const struct adl_http_config *config = &request->connection->listener->http->config;
    if (request->target_status < 0) {
        refuse(request, 400, "bad_address", request->target_error.text, NULL);
        return false;
    }
    const int found = adl_routes_find(config->routes, config->route_count, method, &request->target, &request->match);
    if (found == 404)
        refuse(request, 404, "not_found", "There is nothing at this address.", NULL);
    else if (found == 405)
        refuse(request, 405, "method_not_allowed", "This address has no such method.", request->match.allow);
    return found == 200;
}

/* Browsers name the site that a request comes from. Without a token, as through a forwarded socket, this prevents
 * cross-site request forgery. */
static bool is_from_elsewhere(struct adl_http_request *request)
{
    const char *site = header_of(request, "Sec-Fetch-Site");
    return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

static bool is_allowed(struct adl_http_request *request)
{
    struct adl_http *http = request->connection->listener->http;
    const char *authorization = header_of(request, "Authorization");
    request->caller = request->connection->peer;
    if (request->connection->listener->tcp && authorization &&
        !adl_auth_bearer(http->config.auth, authorization, &request->caller)) {
        if (is_within_rate(request, (double)http->config.limits.wrong_token_cost))
            refuse(request, 401, "wrong_token", "This token is not valid here, or no longer.",
                   "It may have expired or been revoked, or its account is gone: ask an administrator for a token.");
        return false;
    }
    if (request->connection->listener->tcp && request->caller.known &&
        !adl_connection_claim(request->connection, request->caller.account.uid)) {
        refuse(request, 429, "too_many_connections", "This user has too many connections.",
               "Close some of them first.");
        request->reply.close = true;
        return false;
    }
    const int need = request->match.route->need;
    if (strcmp(request->match.route->method, "GET") != 0 && is_from_elsewhere(request)) {
        refuse(request, 403, "cross_site", "A page of another site may not change anything here.", NULL);
        return false;
    }
    if (need != ADL_NEED_ANYONE && !request->caller.known)
        refuse(request, 401, "token_needed", "This address needs a token.",
               "Send the header Authorization: Bearer TOKEN, or use the Unix socket.");
    else if (need == ADL_NEED_ADMIN && !request->caller.admin)
        refuse(request, 403, "admin_needed", "Only administrators may do this.", NULL);
    return !request->refused;
}

/* The type of the body without its parameters. */
static bool is_type(const char *header, const char *type)
{
    const size_t size = strlen(type);
    return header && strncasecmp(header, type, size) == 0 && (header[size] == '\0' || strchr("; \t", header[size]));
}

/* Bytes after an ambiguous request may be part of it: nothing more is read from the connection. */
static bool is_framed(struct adl_http_request *request, const char *method, const char *version, bool *ret_has_body)
{
    const char *fault = adl_framing_fault(request, method, version, ret_has_body);
    if (fault) {
        refuse(request, 400, "bad_framing", fault, NULL);
        request->reply.close = true;
    }
    return !fault;
}

static void refuse_size(struct adl_http_request *request)
{
    const size_t most = request->match.route->body_max;
    char message[96];
    if (most > 0)
        snprintf(message, sizeof message, "The body may have at most %zu bytes here.", most);
    else
        snprintf(message, sizeof message, "No body is expected here.");
    refuse(request, 413, "body_too_large", message, NULL);
}

static bool is_acceptable(struct adl_http_request *request, bool has_body)
{
    const struct adl_route *route = request->match.route;
    const char *length = header_of(request, "Content-Length"), *type = header_of(request, "Content-Type");
    if (!has_body)
        return true;
    if (route->body == ADL_BODY_NONE || (length && strtoull(length, NULL, 10) > route->body_max))
        refuse_size(request);
    else if (route->body == ADL_BODY_JSON && !is_type(type, "application/json"))
        refuse(request, 415, "wrong_type", "The body must be JSON.", "Send Content-Type: application/json.");
    else if (route->body == ADL_BODY_TEXT && !is_type(type, "text/plain"))
        refuse(request, 415, "wrong_type", "The body must be plain text.", "Send Content-Type: text/plain.");
    return !request->refused;
}

/* --- answers --- */

static const char *const every_answer[][2] = {
    {"Content-Security-Policy",
     "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static bool is_held_already(const struct adl_http_request *request, const struct adl_asset *asset)
{
    const char *tags = header_of(request, "If-None-Match");
    return tags && (strcmp(tags, "*") == 0 || strstr(tags, asset->etag));
}

/* Sets the status to 304 if the client has the asset. */
static struct MHD_Response *create_response(struct adl_http_request *request)
{
    struct adl_reply *reply = &request->reply;
    if (reply->events)
        return adl_stream_open(request->connection, reply);
    if (reply->asset && is_held_already(request, reply->asset)) {
        reply->status = 304;
        return MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    }
    if (reply->asset)
        return MHD_create_response_from_buffer(reply->asset->size, reply->asset->data, MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        reply->body.size, reply->body.data, reply->body.data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response)
        reply->body = (struct adl_text){0};
    return response;
}

static bool add_headers(struct MHD_Response *response, const struct adl_http_request *request)
{
    const struct adl_reply *reply = &request->reply;
    const struct adl_asset *asset = reply->asset;
    char retry[24];
    const char *cache = !asset ? "no-store" : asset->immutable ? "public, max-age=31536000, immutable" : "no-cache";
    bool added = MHD_add_response_header(response, "Cache-Control", cache) == MHD_YES;
    for (size_t i = 0; i < sizeof every_answer / sizeof *every_answer; i++)
        added &= MHD_add_response_header(response, every_answer[i][0], every_answer[i][1]) == MHD_YES;
    if (reply->type && reply->status != 304)
        added &= MHD_add_response_header(response, "Content-Type", reply->type) == MHD_YES;
    if (asset)
        added &= MHD_add_response_header(response, "ETag", asset->etag) == MHD_YES;
    if (reply->close)
        added &= MHD_add_response_header(response, "Connection", "close") == MHD_YES;
    if (reply->location[0])
        added &= MHD_add_response_header(response, "Location", reply->location) == MHD_YES;
    if (reply->status == 405)
        added &= MHD_add_response_header(response, "Allow", request->match.allow) == MHD_YES;
    if (reply->status == 401)
        added &= MHD_add_response_header(response, "WWW-Authenticate", "Bearer") == MHD_YES;
    const int64_t retry_s = reply->retry_s > 0 ? reply->retry_s : reply->status == 503 ? 1 : 0;
    snprintf(retry, sizeof retry, "%lld", (long long)retry_s);
    if (retry_s > 0)
        added &= MHD_add_response_header(response, "Retry-After", retry) == MHD_YES;
    return added;
}

static enum MHD_Result send_reply(struct adl_http_request *request)
{
    struct adl_connection *connection = request->connection;
    struct adl_http *http = connection->listener->http;
    connection->phase = request->reply.events ? ADL_PHASE_STREAMING : ADL_PHASE_SENDING;
    const size_t size = request->reply.asset ? request->reply.asset->size : request->reply.body.size;
    const struct adl_http_limits *limits = &http->config.limits;
    connection->due_us = http->now_us + limits->send_us + (int64_t)(size * 1000000 / limits->send_bytes_per_s);
    struct MHD_Response *response = create_response(request);
    if (!response)
        return MHD_NO;
    enum MHD_Result result = MHD_NO;
    if (add_headers(response, request))
        result = MHD_queue_response(connection->mhd, (unsigned)request->reply.status, response);
    MHD_destroy_response(response); /* our reference; libmicrohttpd keeps its own until it is sent */
    adl_http_count(http, &http->counts.answers[request->reply.status / 100 % 6], 1);
    return result;
}

static enum MHD_Result begin(struct adl_http_request *request, const char *method, const char *version)
{
    struct adl_http *http = request->connection->listener->http;
    bool has_body = false;
    adl_http_count(http, &http->counts.requests, 1);
    request->connection->due_us = http->now_us + http->config.limits.receive_us;
    if (http->stopping)
        refuse(request, 503, "stopping", "The service is being stopped.", "Try again in a moment.");
    else if (is_framed(request, method, version, &has_body) && is_within_rate(request, 1) &&
             is_routed(request, method) && is_allowed(request) && is_acceptable(request, has_body))
        return MHD_YES;
    return request->refused ? send_reply(request) : MHD_NO;
}

static enum MHD_Result receive(struct adl_http_request *request, const char *data, size_t size)
{
    const size_t most = request->match.route->body_max;
    if (request->discarded > 0 || size > most - request->body.size) {
        adl_text_clear(&request->body);
        request->discarded += size;
        return request->discarded <= DISCARD_MAX ? MHD_YES : MHD_NO;
    }
    adl_text_bytes(&request->body, data, size);
    return adl_text_status(&request->body) == ADL_OK ? MHD_YES : MHD_NO;
}

static enum MHD_Result finish(struct adl_http_request *request)
{
    struct adl_connection *connection = request->connection;
    struct adl_http *http = connection->listener->http;
    if (!request->handled) {
        request->handled = true;
        if (request->discarded > 0)
            refuse_size(request);
        else
            request->match.route->handle(http->config.context, request);
        if (request->deferred) {
            connection->phase = ADL_PHASE_DEFERRED;
            connection->due_us = http->now_us + http->config.limits.answer_us;
            MHD_suspend_connection(connection->mhd);
            return MHD_YES;
        }
        if (!request->answered)
            refuse(request, 500, "no_answer", "The service had no answer.", NULL);
    }
    return send_reply(request);
}

enum MHD_Result adl_exchange_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                    const char *version, const char *upload, size_t *upload_size, void **context)
{
    struct adl_http_request *request = *context;
    (void)cls, (void)mhd, (void)url;
    if (!request)
        return MHD_NO;
    if (!request->begun) {
        request->begun = true;
        return begin(request, method, version);
    }
    if (*upload_size > 0) {
        const size_t size = *upload_size;
        *upload_size = 0;
        return receive(request, upload, size);
    }
    return finish(request);
}
