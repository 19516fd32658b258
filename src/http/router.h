/* router: the table of routes, and the lookup of a request in it. */
#ifndef ADLRO_HTTP_ROUTER_H
#define ADLRO_HTTP_ROUTER_H

#include "base/error.h"
#include "http/target.h"

#include <stddef.h>
#include <stdint.h>

struct adl_http_request;

/* Answers or defers the request (http/http_request.h). Runs in the server's thread, so it must not block. */
typedef void adl_handler(void *context, struct adl_http_request *request);

enum adl_need {
    ADL_NEED_ANYONE, /* also without a token */
    ADL_NEED_USER,
    ADL_NEED_ADMIN,
};

enum adl_body {
    ADL_BODY_NONE,
    ADL_BODY_JSON, /* application/json */
    ADL_BODY_TEXT, /* text/plain */
};

struct adl_route {
    const char *method;  /* "GET", which also serves HEAD, "POST", "PUT", "PATCH" or "DELETE" */
    const char *pattern; /* "/v1/jobs/{id}": a name in braces matches one segment of the path */
    adl_handler *handle;
    int need;        /* enum adl_need */
    int body;        /* enum adl_body */
    size_t body_max; /* bytes; 0 if and only if there is no body */
};

#define ADL_MATCH_PARAM_MAX 4

struct adl_match {
    const struct adl_route *route;
    uint32_t param_count;
    const char *names[ADL_MATCH_PARAM_MAX]; /* into the pattern, up to the closing brace */
    const char *values[ADL_MATCH_PARAM_MAX];
    char allow[64]; /* after 405: the methods that the path has */
};

/* Whether the table can be served: known methods, well-formed patterns, no route twice. */
int adl_routes_check(const struct adl_route *routes, uint32_t count, struct adl_error *err);

/* The first route that matches: 200, 404, or 405 if only the method does not match. */
int adl_routes_find(const struct adl_route *routes, uint32_t count, const char *method, const struct adl_target *target,
                    struct adl_match *ret);

const char *adl_match_param(const struct adl_match *match, const char *name); /* NULL: the pattern has no such name */

#endif
