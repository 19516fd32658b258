/* service_client: a small client of the service over its Unix socket, or over TCP with a token, HTTP/1.1 on a
 * connection that is kept. Asserts nothing, so that threads and benchmarks may use it. */
#ifndef SERVICE_CLIENT_H
#define SERVICE_CLIENT_H

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct service_client {
    char socket[108];
    int port;          /* of TCP on loopback; 0: the socket */
    char token[100];   /* sent with each request; "": none */
    int fd;            /* -1: not connected */
    bool keep;         /* the last answer left the connection open */
    char *bytes;       /* of the last answer */
    size_t size, room; /* got, allocated */
    char *body;        /* in bytes; ends with a zero */
};

static inline struct service_client client_make(const char *socket_path)
{
    struct service_client client = {.fd = -1};
    snprintf(client.socket, sizeof client.socket, "%s", socket_path);
    return client;
}

static inline void client_hang_up(struct service_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}

static inline void client_clear(struct service_client *client)
{
    client_hang_up(client);
    free(client->bytes);
    client->bytes = NULL;
}

static inline int client_dial(const char *socket_path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static inline int client_dial_tcp(int port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static inline bool client_send(int fd, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        data += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* More of the answer; false: the connection ended, or nothing came for a minute. */
static inline bool client_more(struct service_client *client)
{
    struct pollfd one = {client->fd, POLLIN, 0};
    if (client->room - client->size < 65536) {
        char *grown = realloc(client->bytes, client->room * 2 + 131072);
        if (!grown)
            return false;
        client->bytes = grown;
        client->room = client->room * 2 + 131072;
    }
    if (poll(&one, 1, 60000) != 1)
        return false;
    const ssize_t got = recv(client->fd, client->bytes + client->size, client->room - client->size - 1, 0);
    if (got <= 0)
        return false;
    client->size += (size_t)got;
    client->bytes[client->size] = '\0';
    return true;
}

static inline const char *client_header(const struct service_client *client, const char *name, const char *end)
{
    for (const char *line = strstr(client->bytes, "\r\n"); line && line < end; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, strlen(name)) == 0 && line[2 + strlen(name)] == ':')
            return line + 3 + strlen(name);
    return NULL;
}

/* The status of the answer, -1 if none came whole. */
static inline int client_read(struct service_client *client)
{
    const char *end = NULL;
    int status = -1;
    client->size = 0;
    while (!end)
        if (!client_more(client) || ((end = strstr(client->bytes, "\r\n\r\n")) == NULL && client->size > 1u << 20))
            return -1;
    const char *length = client_header(client, "Content-Length", end);
    const size_t head = (size_t)(end - client->bytes) + 4, body = length ? strtoull(length, NULL, 10) : 0;
    const char *connection = client_header(client, "Connection", end);
    client->keep = !connection || strncasecmp(connection + strspn(connection, " "), "close", 5) != 0;
    while (client->size < head + body)
        if (!client_more(client))
            return -1;
    client->body = client->bytes + head;
    return sscanf(client->bytes, "HTTP/1.1 %d", &status) == 1 ? status : -1;
}

/* Method and path in one, "GET /v1/jobs"; body NULL: none. The status, or -1 if the connection failed: whether the
 * service heard it is then not known, and it is not asked again. */
static inline int client_ask(struct service_client *client, const char *what, const char *body)
{
    char head[1024];
    const bool post = strncmp(what, "GET", 3) != 0;
    int size = snprintf(head, sizeof head, "%s HTTP/1.1\r\nHost: s\r\n", what);
    if (client->token[0])
        size += snprintf(head + size, sizeof head - (size_t)size, "Authorization: Bearer %s\r\n", client->token);
    if (body)
        size += snprintf(head + size, sizeof head - (size_t)size, "Content-Type: application/json\r\n");
    if (post)
        size += snprintf(head + size, sizeof head - (size_t)size, "Content-Length: %zu\r\n", body ? strlen(body) : 0);
    size += snprintf(head + size, sizeof head - (size_t)size, "\r\n");
    if (client->fd < 0)
        client->fd = client->port ? client_dial_tcp(client->port) : client_dial(client->socket);
    if (client->fd < 0)
        return -1;
    const bool sent =
        client_send(client->fd, head, (size_t)size) && (!body || client_send(client->fd, body, strlen(body)));
    const int status = sent ? client_read(client) : -1;
    if (status < 0 || !client->keep)
        client_hang_up(client);
    return status;
}

__attribute__((format(printf, 3, 4))) static inline int client_askf(struct service_client *client, const char *body,
                                                                    const char *fmt, ...)
{
    char what[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return client_ask(client, what, body);
}

/* The body of the last answer as JSON; the caller deletes it. NULL: it is none. */
static inline cJSON *client_json(const struct service_client *client)
{
    return cJSON_Parse(client->body);
}

/* A number in the last answer, by its key at the top; missing if it is not there. */
static inline double client_number(const struct service_client *client, const char *key, double missing)
{
    cJSON *json = client_json(client);
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    const double value = cJSON_IsNumber(item) ? item->valuedouble : missing;
    cJSON_Delete(json);
    return value;
}

/* The same for a string, into ret; "" if it is not there. */
static inline const char *client_string(const struct service_client *client, const char *key, char *ret, size_t size)
{
    cJSON *json = client_json(client);
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    snprintf(ret, size, "%s", cJSON_IsString(item) ? item->valuestring : "");
    cJSON_Delete(json);
    return ret;
}

/* Calls each for every job of a list ("all", "live", "ended", ...); false if a page could not be read. */
static inline bool client_jobs(struct service_client *client, const char *state,
                               void (*each)(void *context, const cJSON *job), void *context)
{
    for (double after = 0; after >= 0;) {
        if (client_askf(client, NULL, "GET /v1/jobs?state=%s&limit=1000&after=%.0f", state, after) != 200)
            return false;
        cJSON *page = client_json(client);
        const cJSON *job, *next = cJSON_GetObjectItemCaseSensitive(page, "next");
        cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(page, "jobs"))
        {
            each(context, job);
        }
        after = cJSON_IsNumber(next) ? next->valuedouble : -1;
        cJSON_Delete(page);
    }
    return true;
}

static inline double json_number(const cJSON *object, const char *key, double missing)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : missing;
}

static inline const char *json_string(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

#endif
