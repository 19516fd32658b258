/* http_internal: private to the parts of the server (http*.c). */
#ifndef ADLRO_HTTP_HTTP_INTERNAL_H
#define ADLRO_HTTP_HTTP_INTERNAL_H

#include "http/http.h"
#include "http/http_request.h"

#include <microhttpd.h>
#include <pthread.h>

/* Queue of answered deferred requests for the server's thread. Outlives the server while a request is referenced. */
struct adl_answer_queue {
    pthread_mutex_t mutex;
    int fd; /* readable when it is not empty, or the server has to end */
    /* Under the mutex. */
    uint32_t references; /* references: the server, and every request */
    struct adl_http_request *answered;
    bool closing;
};

struct adl_reply {
    int status;
    const char *type; /* static storage */
    struct adl_text body;
    const struct adl_asset *asset; /* instead of a body */
    bool events;                   /* instead of a body */
    bool close;                    /* the connection is closed after it */
    int64_t retry_s;               /* 0: none */
    char location[128];
};

enum adl_connection_phase {
    ADL_PHASE_RECEIVING,   /* overdue: the connection is cut */
    ADL_PHASE_DEFERRED,    /* suspended; overdue: 504 */
    ADL_PHASE_SENDING,     /* overdue: cut */
    ADL_PHASE_STREAMING,   /* a block of events is being sent; overdue: cut */
    ADL_PHASE_STREAM_IDLE, /* suspended; overdue: a heartbeat is due */
};

struct adl_connection {
    struct adl_connection *previous, *next;
    struct adl_listener *listener;
    struct MHD_Connection *mhd;
    struct adl_http_request *request; /* the one being served, or NULL */
    struct adl_limited_client
        *client;            /* its client, whose rate limit it counts against; NULL: refused, or to be closed */
    bool owner;             /* root or the service's own user, on the Unix socket */
    bool known;             /* authenticated; false: not yet */
    uint32_t uid;           /* that user */
    bool streams;           /* it counts as one of the client's event streams */
    struct adl_caller peer; /* of a Unix socket */
    int fd;
    int phase;
    int64_t due_us;
    /* A stream of events. */
    struct adl_events_cursor cursor;
    char preface[160]; /* sent before any event */
    size_t preface_sent;
    int64_t end_us;
    bool beat;
};

struct adl_listener {
    struct adl_http *http;
    struct MHD_Daemon *daemon;
    bool tcp;
    uint32_t open, unauthenticated; /* connections: all but the owner's; unauthenticated ones */
};

struct adl_http_request {
    struct adl_answer_queue *queue;
    struct adl_connection *connection; /* owned by the server; NULL when it is done with the request */
    struct adl_http_request *next;     /* in the answer queue */
    struct adl_caller caller;
    struct adl_match match;
    struct adl_text body;
    size_t discarded; /* bytes of a body that is too large */
    bool begun, handled, refused;
    /* Under the queue's mutex once the request is deferred. */
    uint32_t references;
    bool deferred, answered;
    struct adl_reply reply;
    struct adl_error target_error;
    const char *address,
        *address_end; /* in libmicrohttpd's memory; only for comparing addresses while the head is checked */
    int target_status;
    struct adl_target target;
};

struct adl_http {
    struct adl_http_config config;
    struct adl_answer_queue *queue;
    struct adl_client_limits *limits;
    struct adl_listener listeners[2];
    uint32_t listener_count;
    struct adl_connection *connections; /* used by the server's thread only */
    int64_t now_us;                     /* at the start of the round */
    bool woken;                         /* connections were resumed since the daemons ran last */
    bool stopping;
    pthread_t thread;
    bool running;
    int port;
    char *unix_path; /* removed at the end */
    dev_t unix_device;
    ino_t unix_inode;
    char *tls_cert, *tls_key; /* contents of the files */
    pthread_mutex_t count_mutex;
    bool has_count_mutex;
    struct adl_http_counts counts;
};

/* http_listen.c */
int adl_listen_unix(struct adl_http *http, const char *path, const char *group, int *ret_fd, struct adl_error *err);
int adl_listen_tcp(struct adl_http *http, const char *address, bool tls, int *ret_fd, struct adl_error *err);
void adl_listen_remove(struct adl_http *http); /* the file of the Unix socket, if it is still ours */
int adl_listen_read_pem(const char *path, bool secret, char **ret, struct adl_error *err);

/* http_connection.c: admission of connections */
unsigned
adl_connection_limit(const struct adl_http_limits *limits); /* for libmicrohttpd, above all of our own limits */
struct adl_connection *adl_connection_open(struct adl_listener *listener, struct MHD_Connection *mhd);
void adl_connection_close(struct adl_connection *connection);
void adl_connection_idle(struct adl_connection *connection); /* until its next request */
/* Assigns the connection to the user of a valid token. false: that user has too many. */
bool adl_connection_claim(struct adl_connection *connection, uint32_t uid);
/* Reserves one of the event streams; adl_connection_stream_end() releases it. */
bool adl_connection_stream(struct adl_connection *connection);
void adl_connection_stream_end(struct adl_connection *connection);

/* http_exchange.c: callbacks of libmicrohttpd */
void *adl_exchange_uri(void *cls, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result adl_exchange_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                    const char *version, const char *upload, size_t *upload_size, void **context);
void adl_exchange_completed(void *cls, struct MHD_Connection *mhd, void **context,
                            enum MHD_RequestTerminationCode code);
void adl_exchange_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                             enum MHD_ConnectionNotificationCode code);
size_t adl_exchange_unescape(void *cls, struct MHD_Connection *mhd, char *text);

/* http_framing.c: why the head of a request is ambiguous; NULL: it is not. method and version: as libmicrohttpd passes
 * them. */
const char *adl_framing_fault(const struct adl_http_request *request, const char *method, const char *version,
                              bool *ret_has_body);

/* http_stream.c */
struct MHD_Response *adl_stream_open(struct adl_connection *connection, struct adl_reply *reply);

/* request.c */
struct adl_answer_queue *adl_answer_queue_create(void);
void adl_answer_queue_wake(struct adl_answer_queue *queue);
void adl_answer_queue_release(struct adl_answer_queue *queue);
struct adl_http_request *adl_http_request_create(struct adl_answer_queue *queue);
void adl_http_request_release(struct adl_http_request *request);
void adl_http_request_answer_instead(
    struct adl_http_request *request, int status, const char *code, const char *message,
    const char *hint); /* answers a deferred request in place of its handler, unless it is answered already */

int64_t adl_http_clock_us(void);
void adl_http_count(struct adl_http *http, uint64_t *count, int64_t change);

#endif
