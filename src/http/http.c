#include "http/http.h"

#include "http/http_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECOND_US INT64_C(1000000)
#define LINGER_US SECOND_US /* for sending answers when the server closes */

struct adl_http_limits adl_http_limits_default(void)
{
    return (struct adl_http_limits){
        .client = {.requests_per_s = 1000, .burst = 2000, .connections_per_client = 128, .streams_per_client = 64},
        .connections = 512,
        .reserved = 64,
        .unauthenticated = 128,
        .streams = 256,
        .head_size = 16384,
        .receive_us = 10 * SECOND_US,
        .unauthenticated_us = 5 * SECOND_US,
        .send_us = 30 * SECOND_US,
        .send_bytes_per_s = 65536,
        .answer_us = 30 * SECOND_US,
        .heartbeat_us = 15 * SECOND_US,
        .stream_us = 3600 * SECOND_US,
        .wrong_token_cost = 50,
    };
}

int64_t adl_http_clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void adl_http_count(struct adl_http *http, uint64_t *count, int64_t change)
{
    pthread_mutex_lock(&http->count_mutex);
    *count += (uint64_t)change;
    pthread_mutex_unlock(&http->count_mutex);
}

struct adl_http_counts adl_http_counts(struct adl_http *http)
{
    pthread_mutex_lock(&http->count_mutex);
    const struct adl_http_counts counts = http->counts;
    pthread_mutex_unlock(&http->count_mutex);
    return counts;
}

int adl_http_port(const struct adl_http *http)
{
    return http->port;
}

/* --- the thread --- */

/* Resumes a suspended connection. */
static void wake(struct adl_http *http, struct adl_connection *connection)
{
    connection->phase = connection->phase == ADL_PHASE_DEFERRED ? ADL_PHASE_SENDING : ADL_PHASE_STREAMING;
    connection->due_us = http->now_us + http->config.limits.send_us;
    MHD_resume_connection(connection->mhd);
    http->woken = true;
}

static void resume_answered(struct adl_http *http)
{
    struct adl_answer_queue *queue = http->queue;
    uint64_t count;
    pthread_mutex_lock(&queue->mutex);
    const ssize_t got = read(queue->fd, &count, sizeof count);
    (void)got; /* nothing to read: woken by something else */
    struct adl_http_request *request = queue->answered;
    queue->answered = NULL;
    if (queue->closing)
        http->stopping = true;
    pthread_mutex_unlock(&queue->mutex);
    while (request) {
        struct adl_http_request *next = request->next;
        wake(http, request->connection);
        request = next;
    }
}

static bool is_answered(struct adl_http_request *request)
{
    pthread_mutex_lock(&request->queue->mutex);
    const bool answered = request->answered;
    pthread_mutex_unlock(&request->queue->mutex);
    return answered;
}

static void cut(struct adl_http *http, struct adl_connection *connection, uint64_t *count)
{
    adl_http_count(http, count, 1);
    connection->due_us = INT64_MAX;
    shutdown(connection->fd, SHUT_RDWR);
}

static void overdue(struct adl_http *http, struct adl_connection *connection)
{
    switch (connection->phase) {
    case ADL_PHASE_DEFERRED:
        connection->due_us = INT64_MAX;
        if (is_answered(connection->request))
            return; /* its answer is in the queue */
        adl_http_request_answer_instead(connection->request, 504, "no_answer_in_time",
                                        "The answer did not come in time.",
                                        "The request may still be carried out: check before you repeat it.");
        adl_http_count(http, &http->counts.timed_out, 1);
        wake(http, connection);
        return;
    case ADL_PHASE_STREAM_IDLE:
        connection->beat = true;
        wake(http, connection);
        return;
    default:
        cut(http, connection, &http->counts.timed_out);
    }
}

/* Resumes a stream that has new events; closes one that has fallen behind. */
static void update_stream(struct adl_http *http, struct adl_connection *connection)
{
    const bool idle = connection->phase == ADL_PHASE_STREAM_IDLE;
    if (!idle && connection->phase != ADL_PHASE_STREAMING)
        return;
    const int found = adl_events_poll(http->config.events, &connection->cursor);
    if (idle && (found != 0 || http->stopping))
        wake(http, connection);
    else if (!idle && found < 0 && connection->due_us != INT64_MAX)
        cut(http, connection, &http->counts.dropped);
}

/* Returns when something is due next. */
static int64_t check_connections(struct adl_http *http, bool news)
{
    int64_t next_us = INT64_MAX;
    for (struct adl_connection *connection = http->connections; connection; connection = connection->next) {
        if (news)
            update_stream(http, connection);
        if (connection->due_us <= http->now_us)
            overdue(http, connection);
        next_us = connection->due_us < next_us ? connection->due_us : next_us;
    }
    return next_us;
}

/* Milliseconds that the thread may sleep; -1: until it is woken. */
static int sleep_ms(const struct adl_http *http, int64_t next_us)
{
    if (http->woken) /* libmicrohttpd resumes them when it runs next, and does not wake us for that */
        return 0;
    int64_t ms = next_us == INT64_MAX ? -1 : (next_us - http->now_us) / 1000 + 1;
    for (uint32_t i = 0; i < http->listener_count; i++) {
        MHD_UNSIGNED_LONG_LONG timeout_ms;
        if (MHD_get_timeout(http->listeners[i].daemon, &timeout_ms) == MHD_YES && (ms < 0 || (int64_t)timeout_ms < ms))
            ms = (int64_t)timeout_ms;
    }
    return ms > 60000 ? 60000 : (int)ms;
}

static int epoll_fd(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

static void serve_round(struct adl_http *http, int64_t *next_us)
{
    struct adl_events *events = http->config.events;
    struct pollfd fds[4] = {{.fd = http->queue->fd, .events = POLLIN},
                            {.fd = events ? adl_events_fd(events) : -1, .events = POLLIN}};
    for (uint32_t i = 0; i < http->listener_count; i++)
        fds[2 + i] = (struct pollfd){.fd = epoll_fd(http->listeners[i].daemon), .events = POLLIN};
    poll(fds, 2 + http->listener_count, sleep_ms(http, *next_us));
    http->now_us = adl_http_clock_us();
    if (fds[0].revents)
        resume_answered(http);
    const bool news = events && (fds[1].revents || http->stopping);
    if (news)
        adl_events_acknowledge(events);
    http->woken = false;
    for (uint32_t i = 0; i < http->listener_count; i++)
        MHD_run(http->listeners[i].daemon);
    *next_us = check_connections(http, news);
}

/* Accepts nothing new, answers deferred requests with 503, and lets other answers be sent. */
static void close_gracefully(struct adl_http *http)
{
    for (uint32_t i = 0; i < http->listener_count; i++) {
        const int fd = MHD_quiesce_daemon(http->listeners[i].daemon);
        if (fd >= 0)
            close(fd);
    }
    for (struct adl_connection *connection = http->connections; connection; connection = connection->next)
        if (connection->phase == ADL_PHASE_DEFERRED && !is_answered(connection->request)) {
            adl_http_request_answer_instead(connection->request, 503, "stopping",
                                            "The service was stopped before it could answer.",
                                            "The request may have been carried out: check before you repeat it.");
            wake(http, connection);
        }
    const int64_t end_us = adl_http_clock_us() + LINGER_US;
    bool busy = true;
    while (busy && (http->now_us = adl_http_clock_us()) < end_us) {
        int64_t next_us = http->now_us + 10000;
        serve_round(http, &next_us);
        busy = false;
        for (struct adl_connection *connection = http->connections; connection; connection = connection->next)
            busy |= connection->request != NULL;
    }
    /* No connection may be suspended when its daemon is stopped. */
    resume_answered(http);
    for (struct adl_connection *connection = http->connections; connection; connection = connection->next)
        if (connection->phase == ADL_PHASE_STREAM_IDLE || connection->phase == ADL_PHASE_DEFERRED)
            wake(http, connection);
}

static void *serve(void *arg)
{
    struct adl_http *http = arg;
    int64_t next_us = INT64_MAX;
    while (!http->stopping)
        serve_round(http, &next_us);
    close_gracefully(http);
    return NULL;
}

/* --- open and close --- */

static int start_daemon(struct adl_http *http, int fd, bool tcp, bool tls, struct adl_error *err)
{
    struct adl_listener *listener = &http->listeners[http->listener_count];
    char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
    *listener = (struct adl_listener){.http = http, .tcp = tcp};
    const struct MHD_OptionItem with_tls[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, http->tls_key},
                                              {MHD_OPTION_HTTPS_MEM_CERT, 0, http->tls_cert},
                                              {MHD_OPTION_HTTPS_PRIORITIES, 0, priorities},
                                              {MHD_OPTION_END, 0, NULL}};
    const struct MHD_OptionItem nothing[] = {{MHD_OPTION_END, 0, NULL}};
    const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls ? (unsigned)MHD_USE_TLS : 0u);
    listener->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, adl_exchange_access, listener, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        adl_connection_limit(&http->config.limits), MHD_OPTION_CONNECTION_MEMORY_LIMIT, http->config.limits.head_size,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_URI_LOG_CALLBACK,
        adl_exchange_uri, listener, MHD_OPTION_UNESCAPE_CALLBACK, adl_exchange_unescape, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, adl_exchange_completed, listener, MHD_OPTION_NOTIFY_CONNECTION,
        adl_exchange_connection, listener, MHD_OPTION_ARRAY, tls ? with_tls : nothing, MHD_OPTION_END);
    if (!listener->daemon) {
        close(fd);
        return adl_fail(err, ADL_EIO, "the HTTP server did not start%s",
                        tls ? "; do the TLS certificate and key belong together?" : "");
    }
    http->listener_count++;
    return ADL_OK;
}

static int check_config(const struct adl_http_config *config, struct adl_error *err)
{
    const struct adl_http_limits *limits = &config->limits;
    if (!config->unix_path && !config->tcp)
        return adl_fail(err, ADL_EINVAL, "the service needs a Unix socket or a TCP address to listen on");
    if (!config->tls_cert != !config->tls_key)
        return adl_fail(err, ADL_EINVAL, "TLS needs both a certificate and its key");
    if (config->tcp && !adl_auth_has_tokens(config->auth))
        return adl_fail(err, ADL_EINVAL, "tcp: needs a token file, because TCP does not identify users");
    if (limits->connections < 1 || limits->unauthenticated < 1 || limits->streams < 1 ||
        limits->unauthenticated_us < 1 || limits->head_size < 2048 || limits->receive_us < 1 || limits->send_us < 1 ||
        limits->send_bytes_per_s < 1 || limits->answer_us < 1 || limits->heartbeat_us < 1 || limits->stream_us < 1)
        return adl_fail(err, ADL_EINVAL,
                        "http: connections, times and rates must be positive, and head_size at least 2048");
    return adl_routes_check(config->routes, config->route_count, err);
}

static int open_listeners(struct adl_http *http, struct adl_error *err)
{
    const struct adl_http_config *config = &http->config;
    const bool tls = config->tls_cert != NULL;
    int fd, status = ADL_OK;
    if (config->tcp && tls) {
        status = adl_listen_read_pem(config->tls_cert, false, &http->tls_cert, err);
        if (status == ADL_OK)
            status = adl_listen_read_pem(config->tls_key, true, &http->tls_key, err);
    }
    if (status == ADL_OK && config->tcp) {
        status = adl_listen_tcp(http, config->tcp, tls, &fd, err);
        if (status == ADL_OK)
            status = start_daemon(http, fd, true, tls, err);
    }
    if (status == ADL_OK && config->unix_path) {
        status = adl_listen_unix(http, config->unix_path, config->unix_group, &fd, err);
        if (status == ADL_OK)
            status = start_daemon(http, fd, false, false, err);
    }
    return status;
}

/* Signals go to the main thread; with SIGPIPE blocked, a client that disconnects cannot end the service. */
static int start_thread(struct adl_http *http, struct adl_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&http->thread, NULL, serve, http);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return adl_fail(err, ADL_EIO, "no thread for the HTTP server: %s", strerror(error));
    http->running = true;
    return ADL_OK;
}

int adl_http_open(const struct adl_http_config *config, struct adl_http **ret, struct adl_error *err)
{
    int status = check_config(config, err);
    if (status < 0)
        return status;
    struct adl_http *http = calloc(1, sizeof *http);
    if (!http)
        return adl_fail(err, ADL_ENOMEM, "no memory for the HTTP server");
    http->config = *config;
    http->now_us = adl_http_clock_us();
    http->queue = adl_answer_queue_create();
    http->has_count_mutex = pthread_mutex_init(&http->count_mutex, NULL) == 0;
    if (!http->queue || !http->has_count_mutex)
        status = adl_fail(err, ADL_ENOMEM, "no memory for the HTTP server");
    if (status == ADL_OK)
        status = adl_limits_create(&config->limits.client, &http->limits, err);
    if (status == ADL_OK)
        status = open_listeners(http, err);
    if (status == ADL_OK)
        status = start_thread(http, err);
    if (status < 0)
        adl_http_close(http);
    else
        *ret = http;
    return status;
}

void adl_http_close(struct adl_http *http)
{
    if (!http)
        return;
    if (http->running) {
        pthread_mutex_lock(&http->queue->mutex);
        http->queue->closing = true;
        adl_answer_queue_wake(http->queue);
        pthread_mutex_unlock(&http->queue->mutex);
        pthread_join(http->thread, NULL);
    }
    adl_listen_remove(http);
    for (uint32_t i = 0; i < http->listener_count; i++)
        MHD_stop_daemon(http->listeners[i].daemon);
    adl_limits_destroy(http->limits);
    adl_answer_queue_release(http->queue);
    if (http->has_count_mutex)
        pthread_mutex_destroy(&http->count_mutex);
    if (http->tls_key)
        memset(http->tls_key, 0, strlen(http->tls_key));
    free(http->tls_cert);
    free(http->tls_key);
    free(http);
}
