/* fetch: what our HTTP clients ask of libcurl alike: http and https only, no redirects, no proxy, a bounded body. */
#ifndef ADLRO_HTTP_FETCH_H
#define ADLRO_HTTP_FETCH_H

#include "base/text.h"

#include <curl/curl.h>
#include <stdbool.h>

/* An address taken apart. */
struct adl_fetch_url {
    char *whole; /* as libcurl writes it */
    char *host;
    bool https;
    bool loopback;    /* the host is this machine, by a loopback address or the name localhost */
    bool credentials; /* it holds a name or password */
};

/* 0, ADL_ENOMEM, or ADL_EINVAL: not an http or https address. credentials is set whatever the status. */
int adl_fetch_url_read(const char *text, struct adl_fetch_url *ret);
void adl_fetch_url_clear(struct adl_fetch_url *url); /* frees; accepts a zeroed one */

struct adl_fetch_body {
    struct adl_text text;
    size_t size_max;
    bool too_long; /* the transfer was broken off for it */
};

/* A handle that fills body, and reason where a transfer fails; both outlive it. NULL: out of memory. */
CURL *adl_fetch_create(struct adl_fetch_body *body, char reason[CURL_ERROR_SIZE]);
void adl_fetch_body_clear(struct adl_fetch_body *body); /* before each transfer, and at the end */

#endif
