/* http_request: what a handler reads, and how it answers: at once, or later from any thread.
 *
 * A handler answers exactly once. If it defers, another thread may read the request and answer it later, even after the
 * server has ended. Answers take over the text and leave it empty. */
#ifndef ADLRO_HTTP_HTTP_REQUEST_H
#define ADLRO_HTTP_HTTP_REQUEST_H

#include "base/error.h"
#include "base/text.h"
#include "http/auth.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adl_http_request;
struct cJSON;

const struct adl_caller *adl_http_request_caller(const struct adl_http_request *request);
const char *adl_http_request_param(const struct adl_http_request *request,
                                   const char *name); /* of the pattern, else NULL */
const char *adl_http_request_query(const struct adl_http_request *request, const char *name); /* NULL: not given */
/* A whole number of the query within least..most, or fallback if it is not given. */
int adl_http_request_query_int(const struct adl_http_request *request, const char *name, int64_t least, int64_t most,
                               int64_t fallback, int64_t *ret, struct adl_error *err);
/* The first query parameter that is not among names (NULL-terminated), or NULL. */
const char *adl_http_request_query_unknown(const struct adl_http_request *request, const char *const *names);
const char *adl_http_request_body(const struct adl_http_request *request,
                                  size_t *ret_size); /* followed by a zero byte */
int adl_http_request_json(const struct adl_http_request *request, struct cJSON **ret, struct adl_error *err);
/* Only in the handler, before it answers or defers. NULL: not given. */
const char *adl_http_request_header(const struct adl_http_request *request, const char *name);

/* Data embedded in the program. The entity tag has to be set before the asset is served. */
struct adl_asset {
    const char *type;
    void *data; /* not owned, never changed or freed; not const because the library's type is not */
    size_t size;
    bool immutable; /* its URL changes with its content */
    char etag[40];
};

void adl_http_request_answer_json(struct adl_http_request *request, int status, struct adl_text *json);
void adl_http_request_answer_text(struct adl_http_request *request, int status, const char *type,
                                  struct adl_text *text);
void adl_http_request_answer_asset(struct adl_http_request *request, const struct adl_asset *asset);
/* {"error":{"code":...,"message":...,"hint":...}}; hint may be NULL. */
void adl_http_request_answer_problem(struct adl_http_request *request, int status, const char *code,
                                     const char *message, const char *hint);
/* The event stream, from Last-Event-ID or the query parameter "after", else from now. own: without events for other
 * users. Not allowed after deferring. */
void adl_http_request_answer_events(struct adl_http_request *request, bool own);

/* The Location header of the answer; for 201 and 202. A path of fewer than 128 bytes. */
void adl_http_request_locate(struct adl_http_request *request, const char *path);

void adl_http_request_defer(struct adl_http_request *request);

#endif
