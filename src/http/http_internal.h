/* http_internal: what the parts of the server (http*.c, request.c) share, and nobody else sees. */
#ifndef ADLRO_HTTP_HTTP_INTERNAL_H
#define ADLRO_HTTP_HTTP_INTERNAL_H

#include "http/http.h"
#include "http/http_request.h"

#include <microhttpd.h>
#include <pthread.h>

/* Deferred requests that were answered, on their way to the thread of the server. Outlives the server while somebody
 * holds a request. */
struct adl_mailbox {
    pthread_mutex_t mutex;
    int fd; /* readable when there is something in it, or the server is to end */
    /* Under the mutex. */
    uint32_t holders; /* the server, and every request */
    struct adl_http_request *answered;
    bool closing;
};

struct adl_reply {
    int status;
    const char *type; /* a literal, or lasting as one */
    struct adl_text body;
    const struct adl_asset *asset; /* instead of a body */
    bool events;                   /* instead of a body */
    bool close;                    /* the connection ends with it */
    int64_t retry_s;               /* 0: none */
    char location[128];
};

enum adl_connection_phase {
    ADL_PHASE_RECEIVING,   /* overdue: the connection is cut */
    ADL_PHASE_DEFERRED,    /* suspended; overdue: 504 */
    ADL_PHASE_SENDING,     /* overdue: cut */
    ADL_PHASE_STREAMING,   /* a block of events is on its way; overdue: cut */
    ADL_PHASE_STREAM_IDLE, /* suspended; overdue: a heartbeat is due */
};

struct adl_connection {
    struct adl_connection *previous, *next;
    struct adl_listener *listener;
    struct MHD_Connection *mhd;
    struct adl_http_request *request;  /* the one being served, or NULL */
    struct adl_limited_client *client; /* whose it is and whose rate it takes from; NULL: refused, or to be closed */
    bool owner;                        /* root or the service's own user, on the Unix socket */
    bool known;                        /* a user's; false: nobody has said yet who it is */
    uint32_t uid;                      /* that user */
    bool streams;                      /* it counts among the client's event streams */
    struct adl_caller peer;            /* of a Unix socket */
    int fd;
    int phase;
    int64_t due_us;
    /* A stream of events. */
    struct adl_events_place place;
    char preface[160]; /* sent before any event */
    size_t preface_sent;
    int64_t end_us;
    bool beat;
};

struct adl_listener {
    struct adl_http *http;
    struct MHD_Daemon *daemon;
    bool tcp;
    uint32_t open, strangers; /* connections: all but the owner's; those of nobody that is known */
};

struct adl_http_request {
    struct adl_mailbox *mailbox;
    struct adl_connection *connection; /* the server's own; NULL when it is done with the request */
    struct adl_http_request *next;     /* in the mailbox */
    struct adl_caller caller;
    struct adl_match match;
    struct adl_text body;
    size_t discarded; /* bytes of a body that is too large */
    bool begun, handled, refused;
    /* Under the mailbox's mutex once the request is deferred. */
    uint32_t holders;
    bool deferred, answered;
    struct adl_reply reply;
    struct adl_error target_error;
    const char *address,
        *address_end; /* in libmicrohttpd's memory, and only good for comparing while the head is looked at */
    int target_status;
    struct adl_target target;
};

struct adl_http {
    struct adl_http_config config;
    struct adl_mailbox *mailbox;
    struct adl_client_limits *limits;
    struct adl_listener listeners[2];
    uint32_t listener_count;
    struct adl_connection *connections; /* the thread's own */
    int64_t now_us;                     /* at the start of the round */
    bool woken;                         /* connections were, since the daemons ran last */
    bool stopping;
    pthread_t thread;
    bool running;
    int port;
    char *unix_path; /* to be removed at the end */
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

/* http_connection.c: which connections there may be, and whose they are */
unsigned adl_connection_limit(const struct adl_http_limits *limits); /* of libmicrohttpd, which should not be reached */
struct adl_connection *adl_connection_open(struct adl_listener *listener, struct MHD_Connection *mhd);
void adl_connection_close(struct adl_connection *connection);
void adl_connection_rest(struct adl_connection *connection); /* until its next request */
/* A valid token came over it: it is this user's from now on. false: that user has too many. */
bool adl_connection_claim(struct adl_connection *connection, uint32_t uid);
/* Room for an event stream on it. Taken with true, given back with end. */
bool adl_connection_stream(struct adl_connection *connection);
void adl_connection_stream_end(struct adl_connection *connection);

/* http_exchange.c: what libmicrohttpd calls */
void *adl_exchange_uri(void *cls, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result adl_exchange_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                    const char *version, const char *upload, size_t *upload_size, void **context);
void adl_exchange_completed(void *cls, struct MHD_Connection *mhd, void **context,
                            enum MHD_RequestTerminationCode code);
void adl_exchange_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                             enum MHD_ConnectionNotificationCode code);
size_t adl_exchange_unescape(void *cls, struct MHD_Connection *mhd, char *text);

/* http_framing.c: why the head of a request is not to be trusted; NULL: it is. method and version: as libmicrohttpd
 * gives them. */
const char *adl_framing_fault(const struct adl_http_request *request, const char *method, const char *version,
                              bool *ret_has_body);

/* http_stream.c */
struct MHD_Response *adl_stream_open(struct adl_connection *connection, struct adl_reply *reply);

/* request.c */
struct adl_mailbox *adl_mailbox_create(void);
void adl_mailbox_wake(struct adl_mailbox *mailbox);
void adl_mailbox_leave(struct adl_mailbox *mailbox);
struct adl_http_request *adl_http_request_create(struct adl_mailbox *mailbox);
void adl_http_request_leave(struct adl_http_request *request);
void adl_http_request_overrule(struct adl_http_request *request, int status, const char *code, const char *message,
                               const char *hint); /* answers a deferred one in its handler's stead, if that has not */

int64_t adl_http_clock_us(void);
void adl_http_count(struct adl_http *http, uint64_t *count, int64_t change);

#endif
