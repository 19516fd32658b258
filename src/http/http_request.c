#include "http/http_request.h"

#include "base/json.h"
#include "http/body.h"
#include "http/http_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct adl_answer_queue *adl_answer_queue_create(void)
{
    struct adl_answer_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->references = 1;
    queue->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue->fd >= 0 && pthread_mutex_init(&queue->mutex, NULL) == 0)
        return queue;
    if (queue->fd >= 0)
        close(queue->fd);
    free(queue);
    return NULL;
}

void adl_answer_queue_wake(struct adl_answer_queue *queue)
{
    /* Can fail only if the counter is full, and then it is readable anyway. */
    const ssize_t written = write(queue->fd, &(uint64_t){1}, 8);
    (void)written;
}

void adl_answer_queue_release(struct adl_answer_queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_lock(&queue->mutex);
    const bool last = --queue->references == 0;
    pthread_mutex_unlock(&queue->mutex);
    if (!last)
        return;
    close(queue->fd);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

struct adl_http_request *adl_http_request_create(struct adl_answer_queue *queue)
{
    struct adl_http_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->references = 1;
    request->queue = queue;
    pthread_mutex_lock(&queue->mutex);
    queue->references++;
    pthread_mutex_unlock(&queue->mutex);
    return request;
}

void adl_http_request_release(struct adl_http_request *request)
{
    struct adl_answer_queue *queue = request->queue;
    pthread_mutex_lock(&queue->mutex);
    const bool last = --request->references == 0;
    pthread_mutex_unlock(&queue->mutex);
    if (!last)
        return;
    adl_text_clear(&request->body);
    adl_text_clear(&request->reply.body);
    free(request);
    adl_answer_queue_release(queue);
}

const struct adl_caller *adl_http_request_caller(const struct adl_http_request *request)
{
    return &request->caller;
}

const char *adl_http_request_param(const struct adl_http_request *request, const char *name)
{
    return adl_match_param(&request->match, name);
}

const char *adl_http_request_query(const struct adl_http_request *request, const char *name)
{
    return adl_target_query(&request->target, name);
}

int adl_http_request_query_int(const struct adl_http_request *request, const char *name, int64_t least, int64_t most,
                               int64_t fallback, int64_t *ret, struct adl_error *err)
{
    const char *text = adl_http_request_query(request, name);
    if (!text) {
        *ret = fallback;
        return ADL_OK;
    }
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    const bool plain = text[text[0] == '-' ? 1 : 0] >= '0' && text[text[0] == '-' ? 1 : 0] <= '9' && *end == '\0';
    if (!plain || errno != 0 || value < least || value > most)
        return adl_fail(err, ADL_EINVAL, "query parameter %s: must be a whole number from %" PRId64 " to %" PRId64,
                        name, least, most);
    *ret = value;
    return ADL_OK;
}

const char *adl_http_request_query_unknown(const struct adl_http_request *request, const char *const *names)
{
    for (uint32_t i = 0; i < request->target.pair_count; i++) {
        const char *const *name = names;
        while (*name && strcmp(*name, request->target.pairs[i].name) != 0)
            name++;
        if (!*name)
            return request->target.pairs[i].name;
    }
    return NULL;
}

const char *adl_http_request_body(const struct adl_http_request *request, size_t *ret_size)
{
    *ret_size = request->body.size;
    return request->body.data ? request->body.data : "";
}

int adl_http_request_json(const struct adl_http_request *request, struct cJSON **ret, struct adl_error *err)
{
    size_t size;
    const char *data = adl_http_request_body(request, &size);
    return adl_body_parse(data, size, ret, err);
}

const char *adl_http_request_header(const struct adl_http_request *request, const char *name)
{
    assert(request->connection && !request->deferred);
    return MHD_lookup_connection_value(request->connection->mhd, MHD_HEADER_KIND, name);
}

/* Takes over the reply; drops it if a deferred request was answered by the server meanwhile. */
static void answer(struct adl_http_request *request, struct adl_reply *reply)
{
    struct adl_answer_queue *queue = request->queue;
    pthread_mutex_lock(&queue->mutex);
    const bool deferred = request->deferred, late = request->answered;
    assert(deferred || !late);
    if (!late) {
        memcpy(reply->location, request->reply.location, sizeof reply->location);
        request->reply = *reply;
        request->answered = true;
        reply->body = (struct adl_text){0};
    }
    if (!late && deferred) {
        request->next = queue->answered;
        queue->answered = request;
        adl_answer_queue_wake(queue);
    }
    pthread_mutex_unlock(&queue->mutex);
    adl_text_clear(&reply->body);
    if (deferred)
        adl_http_request_release(request);
}

static struct adl_text take(struct adl_text *text)
{
    const struct adl_text taken = *text;
    *text = (struct adl_text){0};
    return taken;
}

static struct adl_reply problem(int status, const char *code, const char *message, const char *hint)
{
    struct adl_reply reply = {.status = status, .type = "application/json"};
    struct adl_json json = adl_json_start(&reply.body, false);
    adl_json_object(&json);
    adl_json_key(&json, "error");
    adl_json_object(&json);
    adl_json_put_string(&json, "code", code);
    adl_json_put_string(&json, "message", message);
    adl_json_put_string(&json, "hint", hint);
    adl_json_end(&json);
    adl_json_end(&json);
    adl_text_char(&reply.body, '\n');
    return reply;
}

void adl_http_request_answer_text(struct adl_http_request *request, int status, const char *type, struct adl_text *text)
{
    struct adl_reply reply = {.status = status, .type = type, .body = take(text)};
    if (adl_text_status(&reply.body) < 0) {
        adl_text_clear(&reply.body);
        reply = problem(500, "no_memory", "There was no memory for the answer.", NULL);
    }
    answer(request, &reply);
}

void adl_http_request_answer_json(struct adl_http_request *request, int status, struct adl_text *json)
{
    adl_http_request_answer_text(request, status, "application/json", json);
}

void adl_http_request_answer_asset(struct adl_http_request *request, const struct adl_asset *asset)
{
    struct adl_reply reply = {.status = 200, .type = asset->type, .asset = asset};
    answer(request, &reply);
}

void adl_http_request_answer_problem(struct adl_http_request *request, int status, const char *code,
                                     const char *message, const char *hint)
{
    struct adl_reply reply = problem(status, code, message, hint);
    answer(request, &reply);
}

void adl_http_request_answer_instead(struct adl_http_request *request, int status, const char *code,
                                     const char *message, const char *hint)
{
    struct adl_reply reply = problem(status, code, message, hint);
    pthread_mutex_lock(&request->queue->mutex);
    if (!request->answered) {
        request->reply = reply;
        request->answered = true;
        reply.body = (struct adl_text){0};
    }
    pthread_mutex_unlock(&request->queue->mutex);
    adl_text_clear(&reply.body);
}

/* Sets where the stream starts and its preface: the reconnection time, and whether there is a gap. */
static int start_stream(struct adl_connection *connection, struct adl_events *events, const char *last,
                        struct adl_error *err)
{
    bool whole = true;
    connection->cursor.id = adl_events_next_id(events);
    connection->cursor.offset = 0;
    if (last) {
        char *end = NULL;
        errno = 0;
        const unsigned long long id = strtoull(last, &end, 10);
        if (last[0] < '0' || last[0] > '9' || *end != '\0' || errno != 0 || id == UINT64_MAX)
            return adl_fail(err, ADL_EINVAL, "the id of the last event must be a whole number");
        whole = adl_events_resume(events, id, &connection->cursor);
    }
    snprintf(connection->preface, sizeof connection->preface,
             whole ? "retry: 2000\n\n" : "retry: 2000\n\nevent: gap\ndata: {\"next\":%" PRIu64 "}\n\n",
             connection->cursor.id);
    connection->preface_sent = 0;
    return ADL_OK;
}

void adl_http_request_answer_events(struct adl_http_request *request, bool own)
{
    struct adl_events *events = request->connection->listener->http->config.events;
    const char *last = adl_http_request_header(request, "Last-Event-ID");
    struct adl_error err;
    if (!events) {
        adl_http_request_answer_problem(request, 404, "no_events", "This server has no stream of events.", NULL);
        return;
    }
    request->connection->cursor = (struct adl_events_cursor){.filtered = own, .uid = request->caller.account.uid};
    if (start_stream(request->connection, events, last ? last : adl_http_request_query(request, "after"), &err) < 0) {
        adl_http_request_answer_problem(request, 400, "bad_event_id", err.text, NULL);
        return;
    }
    if (!adl_connection_stream(request->connection)) {
        adl_http_request_answer_problem(request, 503, "too_many_streams", "There are too many event streams.",
                                        "Close some of yours, or poll instead.");
        return;
    }
    struct adl_reply reply = {.status = 200, .type = "text/event-stream", .events = true};
    answer(request, &reply);
}

void adl_http_request_locate(struct adl_http_request *request, const char *path)
{
    pthread_mutex_lock(&request->queue->mutex);
    if (!request->answered)
        snprintf(request->reply.location, sizeof request->reply.location, "%s", path);
    pthread_mutex_unlock(&request->queue->mutex);
}

void adl_http_request_defer(struct adl_http_request *request)
{
    pthread_mutex_lock(&request->queue->mutex);
    assert(!request->deferred && !request->answered);
    request->deferred = true;
    request->references++;
    pthread_mutex_unlock(&request->queue->mutex);
}
