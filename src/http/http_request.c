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

struct adl_mailbox *adl_mailbox_create(void)
{
    struct adl_mailbox *mailbox = calloc(1, sizeof *mailbox);
    if (!mailbox)
        return NULL;
    mailbox->holders = 1;
    mailbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (mailbox->fd >= 0 && pthread_mutex_init(&mailbox->mutex, NULL) == 0)
        return mailbox;
    if (mailbox->fd >= 0)
        close(mailbox->fd);
    free(mailbox);
    return NULL;
}

void adl_mailbox_wake(struct adl_mailbox *mailbox)
{
    /* Can only fail where the counter is full, and then it is readable anyway. */
    const ssize_t written = write(mailbox->fd, &(uint64_t){1}, 8);
    (void)written;
}

void adl_mailbox_leave(struct adl_mailbox *mailbox)
{
    if (!mailbox)
        return;
    pthread_mutex_lock(&mailbox->mutex);
    const bool last = --mailbox->holders == 0;
    pthread_mutex_unlock(&mailbox->mutex);
    if (!last)
        return;
    close(mailbox->fd);
    pthread_mutex_destroy(&mailbox->mutex);
    free(mailbox);
}

struct adl_http_request *adl_http_request_create(struct adl_mailbox *mailbox)
{
    struct adl_http_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->holders = 1;
    request->mailbox = mailbox;
    pthread_mutex_lock(&mailbox->mutex);
    mailbox->holders++;
    pthread_mutex_unlock(&mailbox->mutex);
    return request;
}

void adl_http_request_leave(struct adl_http_request *request)
{
    struct adl_mailbox *mailbox = request->mailbox;
    pthread_mutex_lock(&mailbox->mutex);
    const bool last = --request->holders == 0;
    pthread_mutex_unlock(&mailbox->mutex);
    if (!last)
        return;
    adl_text_clear(&request->body);
    adl_text_clear(&request->reply.body);
    free(request);
    adl_mailbox_leave(mailbox);
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

/* Takes the reply. A deferred request that was overruled meanwhile drops it. */
static void answer(struct adl_http_request *request, struct adl_reply *reply)
{
    struct adl_mailbox *mailbox = request->mailbox;
    pthread_mutex_lock(&mailbox->mutex);
    const bool deferred = request->deferred, late = request->answered;
    assert(deferred || !late);
    if (!late) {
        memcpy(reply->location, request->reply.location, sizeof reply->location);
        request->reply = *reply;
        request->answered = true;
        reply->body = (struct adl_text){0};
    }
    if (!late && deferred) {
        request->next = mailbox->answered;
        mailbox->answered = request;
        adl_mailbox_wake(mailbox);
    }
    pthread_mutex_unlock(&mailbox->mutex);
    adl_text_clear(&reply->body);
    if (deferred)
        adl_http_request_leave(request);
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

void adl_http_request_overrule(struct adl_http_request *request, int status, const char *code, const char *message,
                               const char *hint)
{
    struct adl_reply reply = problem(status, code, message, hint);
    pthread_mutex_lock(&request->mailbox->mutex);
    if (!request->answered) {
        request->reply = reply;
        request->answered = true;
        reply.body = (struct adl_text){0};
    }
    pthread_mutex_unlock(&request->mailbox->mutex);
    adl_text_clear(&reply.body);
}

/* Sets where the stream starts and what it says first: how long to wait before coming back, and whether there is a gap.
 */
static int place_stream(struct adl_connection *connection, struct adl_events *events, const char *last,
                        struct adl_error *err)
{
    bool whole = true;
    connection->place.id = adl_events_next_id(events);
    connection->place.offset = 0;
    if (last) {
        char *end = NULL;
        errno = 0;
        const unsigned long long id = strtoull(last, &end, 10);
        if (last[0] < '0' || last[0] > '9' || *end != '\0' || errno != 0 || id == UINT64_MAX)
            return adl_fail(err, ADL_EINVAL, "the id of the last event must be a whole number");
        whole = adl_events_resume(events, id, &connection->place);
    }
    snprintf(connection->preface, sizeof connection->preface,
             whole ? "retry: 2000\n\n" : "retry: 2000\n\nevent: gap\ndata: {\"next\":%" PRIu64 "}\n\n",
             connection->place.id);
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
    request->connection->place = (struct adl_events_place){.filtered = own, .uid = request->caller.account.uid};
    if (place_stream(request->connection, events, last ? last : adl_http_request_query(request, "after"), &err) < 0) {
        adl_http_request_answer_problem(request, 400, "bad_event_id", err.text, NULL);
        return;
    }
    if (!adl_connection_stream(request->connection)) {
        adl_http_request_answer_problem(request, 503, "too_many_streams", "There are too many event streams.",
                                        "Close some of yours, or ask for what you need now and then.");
        return;
    }
    struct adl_reply reply = {.status = 200, .type = "text/event-stream", .events = true};
    answer(request, &reply);
}

void adl_http_request_locate(struct adl_http_request *request, const char *path)
{
    pthread_mutex_lock(&request->mailbox->mutex);
    if (!request->answered)
        snprintf(request->reply.location, sizeof request->reply.location, "%s", path);
    pthread_mutex_unlock(&request->mailbox->mutex);
}

void adl_http_request_defer(struct adl_http_request *request)
{
    pthread_mutex_lock(&request->mailbox->mutex);
    assert(!request->deferred && !request->answered);
    request->deferred = true;
    request->holders++;
    pthread_mutex_unlock(&request->mailbox->mutex);
}
