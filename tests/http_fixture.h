/* http_fixture: a server with small handlers on sockets in a folder of its own, and a client that sends raw bytes. */
#ifndef ADLRO_TESTS_HTTP_FIXTURE_H
#define ADLRO_TESTS_HTTP_FIXTURE_H

#include "base/json.h"
#include "http/http.h"
#include "http/http_request.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct http_fixture {
    char folder[64];
    char socket[96];
    char tokens[96];
    char token[ADL_TOKEN_SIZE];
    struct adl_auth *auth;
    struct adl_events *events;
    struct adl_http *http;
    struct adl_asset asset;
    /* The last request that was deferred, taken by the test. */
    pthread_mutex_t mutex;
    struct adl_request *deferred;
};

static inline void fixture_sleep_ms(int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

/* --- handlers --- */

static void handle_hello(void *context, struct adl_request *request)
{
    struct adl_text text = {0};
    (void)context;
    adl_text_put(&text, "hello\n");
    adl_request_answer_text(request, 200, "text/plain; charset=utf-8", &text);
}

static void handle_whoami(void *context, struct adl_request *request)
{
    const struct adl_caller *caller = adl_request_caller(request);
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    (void)context;
    adl_json_object(&json);
    adl_json_key(&json, "uid");
    adl_json_uint(&json, caller->account.uid);
    adl_json_key(&json, "pid");
    adl_json_int(&json, caller->account.pid);
    adl_json_key(&json, "name");
    adl_json_string(&json, caller->account.name);
    adl_json_key(&json, "admin");
    adl_json_bool(&json, caller->admin);
    adl_json_end(&json);
    adl_request_answer_json(request, 200, &text);
}

static void handle_job(void *context, struct adl_request *request)
{
    struct adl_text text = {0};
    struct adl_error err;
    int64_t limit = 0;
    (void)context;
    if (adl_request_query_int(request, "limit", 1, 100, 7, &limit, &err) < 0) {
        adl_request_answer_problem(request, 400, "bad_query", err.text, NULL);
        return;
    }
    adl_text_printf(&text, "job %s limit %d", adl_request_param(request, "id"), (int)limit);
    adl_request_answer_text(request, 200, "text/plain", &text);
}

static void handle_echo(void *context, struct adl_request *request)
{
    struct adl_text text = {0};
    struct adl_error err;
    cJSON *json = NULL;
    size_t size;
    (void)context;
    if (adl_request_json(request, &json, &err) < 0) {
        adl_request_answer_problem(request, 400, "bad_json", err.text, "Send JSON.");
        return;
    }
    cJSON_Delete(json);
    const char *body = adl_request_body(request, &size);
    adl_text_bytes(&text, body, size);
    adl_request_locate(request, "/v1/jobs/17");
    adl_request_answer_json(request, 201, &text);
}

static void handle_defer(void *context, struct adl_request *request)
{
    struct http_fixture *fixture = context;
    adl_request_defer(request);
    pthread_mutex_lock(&fixture->mutex);
    fixture->deferred = request;
    pthread_mutex_unlock(&fixture->mutex);
}

static void handle_asset(void *context, struct adl_request *request)
{
    struct http_fixture *fixture = context;
    adl_request_answer_asset(request, &fixture->asset);
}

static void handle_events(void *context, struct adl_request *request)
{
    (void)context;
    adl_request_answer_events(request, false);
}

static void handle_forget(void *context, struct adl_request *request)
{
    (void)context, (void)request;
}

static void handle_big(void *context, struct adl_request *request)
{
    struct adl_text text = {0};
    (void)context;
    adl_text_repeat(&text, 'x', 4 << 20);
    adl_request_answer_text(request, 200, "text/plain", &text);
}

static const struct adl_route fixture_routes[] = {
    {"GET", "/", handle_asset, ADL_NEED_ANYONE, ADL_BODY_NONE, 0},
    {"GET", "/healthz", handle_hello, ADL_NEED_ANYONE, ADL_BODY_NONE, 0},
    {"GET", "/v1/whoami", handle_whoami, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"GET", "/v1/events", handle_events, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"POST", "/v1/jobs", handle_echo, ADL_NEED_USER, ADL_BODY_JSON, 4096},
    {"GET", "/v1/jobs/{id}", handle_job, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"DELETE", "/v1/jobs/{id}", handle_job, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"POST", "/v1/drain", handle_hello, ADL_NEED_ADMIN, ADL_BODY_NONE, 0},
    {"GET", "/v1/defer", handle_defer, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"GET", "/v1/forget", handle_forget, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"GET", "/v1/big", handle_big, ADL_NEED_USER, ADL_BODY_NONE, 0},
};

/* --- the server --- */

static inline struct adl_http_config fixture_config(struct http_fixture *fixture)
{
    return (struct adl_http_config){.unix_path = fixture->socket,
                                    .tcp = "127.0.0.1:0",
                                    .routes = fixture_routes,
                                    .route_count = sizeof fixture_routes / sizeof *fixture_routes,
                                    .context = fixture,
                                    .auth = fixture->auth,
                                    .events = fixture->events,
                                    .limits = adl_http_limits_default()};
}

static inline const char *fixture_user(void)
{
    const struct passwd *entry = getpwuid(geteuid());
    assert_non_null(entry);
    return entry->pw_name;
}

static inline void fixture_write(const char *path, const char *text, mode_t mode)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static inline struct http_fixture *fixture_create(void)
{
    static char page[] = "<!doctype html><title>adlro</title>";
    struct http_fixture *fixture = calloc(1, sizeof *fixture);
    char line[ADL_TOKEN_LINE_SIZE + 1];
    struct adl_error err = {{0}};
    assert_non_null(fixture);
    pthread_mutex_init(&fixture->mutex, NULL);
    snprintf(fixture->folder, sizeof fixture->folder, "%s", "/tmp/adlro-http-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(fixture->socket, sizeof fixture->socket, "%s/socket", fixture->folder);
    snprintf(fixture->tokens, sizeof fixture->tokens, "%s/tokens", fixture->folder);
    assert_int_equal(adl_token_create(fixture_user(), 0, fixture->token, line, &err), ADL_OK);
    strcat(line, "\n");
    fixture_write(fixture->tokens, line, 0600);
    assert_int_equal(adl_auth_create(NULL, fixture->tokens, &fixture->auth, &err), ADL_OK);
    assert_int_equal(adl_events_create(64, 100, &fixture->events, &err), ADL_OK);
    fixture->asset = (struct adl_asset){.type = "text/html; charset=utf-8", .data = page, .size = sizeof page - 1};
    adl_asset_seal(&fixture->asset);
    return fixture;
}

static inline struct http_fixture *fixture_open(const struct adl_http_limits *limits)
{
    struct http_fixture *fixture = fixture_create();
    struct adl_http_config config = fixture_config(fixture);
    struct adl_error err = {{0}};
    if (limits)
        config.limits = *limits;
    if (adl_http_open(&config, &fixture->http, &err) < 0)
        fail_msg("%s", err.text);
    return fixture;
}

static inline void fixture_close(struct http_fixture *fixture)
{
    adl_http_close(fixture->http);
    adl_events_destroy(fixture->events);
    adl_auth_destroy(fixture->auth);
    pthread_mutex_destroy(&fixture->mutex);
    unlink(fixture->tokens);
    assert_int_equal(access(fixture->socket, F_OK), -1); /* the server took it away */
    assert_int_equal(rmdir(fixture->folder), 0);
    free(fixture);
}

static inline struct adl_request *fixture_take_deferred(struct http_fixture *fixture)
{
    for (int i = 0; i < 500; i++) {
        pthread_mutex_lock(&fixture->mutex);
        struct adl_request *request = fixture->deferred;
        fixture->deferred = NULL;
        pthread_mutex_unlock(&fixture->mutex);
        if (request)
            return request;
        fixture_sleep_ms(10);
    }
    fail_msg("no request was deferred");
    return NULL;
}

/* --- the client --- */

static inline int fixture_connect_unix(const struct http_fixture *fixture)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", fixture->socket);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static inline int fixture_connect_tcp(const struct http_fixture *fixture)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)adl_http_port(fixture->http))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* What the other side no longer wants does not matter. */
static inline void fixture_send(int fd, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        data += sent;
        size -= (size_t)sent;
    }
}

static inline bool fixture_readable(int fd, int timeout_ms)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, timeout_ms) == 1;
}

/* Reads until text is in the answer, the connection ends, or nothing comes for the time. Returns whether text came. */
static inline bool fixture_read_until(int fd, struct adl_text *answer, const char *text, int timeout_ms)
{
    char buffer[4096];
    while (!answer->data || !text || !strstr(answer->data, text)) {
        if (!fixture_readable(fd, timeout_ms))
            return false;
        const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
        if (got <= 0)
            return false;
        adl_text_bytes(answer, buffer, (size_t)got);
    }
    return true;
}

/* Whether the other side ends the connection within the time. */
static inline bool fixture_ends(int fd, int timeout_ms)
{
    char buffer[4096];
    while (fixture_readable(fd, timeout_ms))
        if (recv(fd, buffer, sizeof buffer, 0) <= 0)
            return true;
    return false;
}

/* Sends the bytes and returns all that comes until the server ends the connection, which the request has to ask for. */
static inline struct adl_text fixture_exchange(int fd, const char *data, size_t size)
{
    struct adl_text answer = {0};
    fixture_send(fd, data, size);
    fixture_read_until(fd, &answer, NULL, 5000);
    close(fd);
    adl_text_put(&answer, "");
    return answer;
}

/* request: without "Host" and the end of the head. The status; what ret_answer is given, the caller clears. */
static inline int fixture_ask(int fd, const char *request, const char *body, struct adl_text *ret_answer)
{
    struct adl_text text = {0};
    adl_text_printf(&text, "%s\r\nHost: test\r\nConnection: close\r\n", request);
    if (body)
        adl_text_printf(&text, "Content-Length: %zu\r\n", strlen(body));
    adl_text_printf(&text, "\r\n%s", body ? body : "");
    struct adl_text answer = fixture_exchange(fd, text.data, text.size);
    adl_text_clear(&text);
    int status = 0;
    sscanf(answer.data, "HTTP/1.1 %d", &status);
    if (ret_answer)
        *ret_answer = answer;
    else
        adl_text_clear(&answer);
    return status;
}

static inline int fixture_get(const struct http_fixture *fixture, const char *path, struct adl_text *ret_answer)
{
    char request[4200];
    snprintf(request, sizeof request, "GET %s HTTP/1.1", path);
    return fixture_ask(fixture_connect_unix(fixture), request, NULL, ret_answer);
}

#endif
