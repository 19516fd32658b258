/* http: the server: a thread that listens on a Unix socket and optionally on TCP, and dispatches requests by a table of
 * routes.
 *
 * The Unix socket identifies the user; TCP requires a token, and TLS on any address but loopback. Handlers run in the
 * server's thread. libmicrohttpd itself answers requests whose head cannot be parsed (400, 414, 431); all other errors
 * are answered in JSON (http/http_request.h). */
#ifndef ADLRO_HTTP_HTTP_H
#define ADLRO_HTTP_HTTP_H

#include "base/error.h"
#include "http/auth.h"
#include "http/events.h"
#include "http/limits.h"
#include "http/router.h"

#include <stddef.h>
#include <stdint.h>

struct adl_http;

struct adl_http_limits {
    struct adl_limits_config client;
    uint32_t connections;     /* on each of the two sockets */
    uint32_t reserved;        /* in addition, on the Unix socket, for root and the service's own user */
    uint32_t unauthenticated; /* of those on TCP, connections without a valid token so far */
    uint32_t streams;         /* event streams in total, so that connections are left for requests */
    size_t head_size;         /* bytes of request line and headers; at least 2048 */
    int64_t receive_us;       /* from connection or last answer to a complete head, and from there to a complete body */
    int64_t unauthenticated_us; /* the same without a valid token, if that is less */
    int64_t send_us;            /* for an answer, plus the time for its size at the rate below */
    uint32_t send_bytes_per_s;  /* minimum at which a client has to read */
    int64_t answer_us;          /* for a handler that deferred; then 504 */
    int64_t heartbeat_us;       /* of idle event streams */
    int64_t stream_us;          /* after which an event stream ends; the client reconnects and is authorized again */
    uint32_t wrong_token_cost;  /* in requests of the token bucket */
};

struct adl_http_limits adl_http_limits_default(void);

/* The caller owns all pointers. They have to outlive the server, strings only the call. */
struct adl_http_config {
    const char *unix_path;  /* NULL: none */
    const char *unix_group; /* may connect besides the owner; NULL: the default group of the file */
    const char *tcp;        /* "127.0.0.1:8080", "[::1]:0" with any free port; NULL: none */
    const char *tls_cert;   /* files in PEM; NULL: no TLS */
    const char *tls_key;
    const struct adl_route *routes;
    uint32_t route_count;
    void *context; /* given to handlers */
    struct adl_auth *auth;
    struct adl_events *events; /* NULL: no event stream */
    struct adl_http_limits limits;
};

int adl_http_open(const struct adl_http_config *config, struct adl_http **ret, struct adl_error *err);
/* Answers deferred requests with 503, waits up to a second for answers to be sent, and ends the thread. */
void adl_http_close(struct adl_http *http);

int adl_http_port(const struct adl_http *http); /* of TCP; 0 if there is none */

struct adl_http_counts {
    uint64_t connections; /* ever */
    uint64_t requests;    /* whose head was read */
    uint64_t answers[6];  /* by the first digit of the status */
    uint64_t refused;     /* connections over a limit: new ones refused, or idle ones closed for them */
    uint64_t limited;     /* 429 */
    uint64_t timed_out;   /* clients too slow to send or read, and handlers too slow to answer */
    uint64_t dropped;     /* event streams that fell behind */
    uint64_t open;        /* connections now */
    uint64_t streams;     /* event streams now */
};

struct adl_http_counts adl_http_counts(struct adl_http *http); /* from any thread */

#endif
