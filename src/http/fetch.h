/* fetch: the set-up of libcurl that our HTTP clients share: http and https only, no redirects, no proxy, a bounded
 * body. */
#ifndef ADLRO_HTTP_FETCH_H
#define ADLRO_HTTP_FETCH_H

#include "base/text.h"

#include <curl/curl.h>
#include <stdbool.h>

/* A parsed address. */
struct adl_fetch_url {
    char *whole; /* as libcurl writes it */
    char *host;
    bool https;
    bool loopback;    /* the host is this machine, by a loopback address or the name localhost */
    bool credentials; /* it has a user name or password */
};

/* 0, ADL_ENOMEM, or ADL_EINVAL: not an http or https address. credentials is set in any case. */
int adl_fetch_url_read(const char *text, struct adl_fetch_url *ret);
void adl_fetch_url_clear(struct adl_fetch_url *url); /* frees; accepts a zeroed one */

struct adl_fetch_body {
    struct adl_text text;
    size_t size_max;
    bool too_long; /* the transfer was aborted because of it */
};

/* A handle that fills body, and reason if a transfer fails; both outlive it. NULL: out of memory. */
CURL *adl_fetch_create(struct adl_fetch_body *body, char reason[CURL_ERROR_SIZE]);
void adl_fetch_body_clear(struct adl_fetch_body *body); /* before each transfer, and at the end */

#endif
