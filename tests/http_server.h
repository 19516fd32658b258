/* http_server: answers every request on a port of loopback with the same bytes, in a thread of its own. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "telemetry_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct http_server {
    int listener;
    pthread_t thread;
    atomic_bool stop;
    atomic_int served;
    pthread_mutex_t lock;
    const char *head; /* before the body; NULL = a plain 200 */
    const char *body;
    size_t body_size;
    size_t repeat; /* times the body is sent, more than the size of any page if need be */
    bool mute;     /* takes the request and never answers */
    char url[64];
};

static inline bool server_write(int fd, const char *data, size_t size)
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

static inline void server_answer(struct http_server *server, int fd)
{
    char request[4096];
    if (recv(fd, request, sizeof request, 0) <= 0)
        return;
    atomic_fetch_add(&server->served, 1);
    pthread_mutex_lock(&server->lock);
    const char *head =
        server->head ? server->head : "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n";
    const char *body = server->body;
    const size_t size = server->body_size, repeat = server->repeat ? server->repeat : 1;
    const bool mute = server->mute;
    pthread_mutex_unlock(&server->lock);
    while (mute && !atomic_load(&server->stop))
        poll(NULL, 0, 5);
    if (server_write(fd, head, strlen(head)))
        for (size_t i = 0; i < repeat && server_write(fd, body, size); i++)
            ;
}

static inline void *server_run(void *memory)
{
    struct http_server *server = memory;
    while (!atomic_load(&server->stop)) {
        struct pollfd ready = {.fd = server->listener, .events = POLLIN};
        if (poll(&ready, 1, 10) <= 0)
            continue;
        const int fd = accept(server->listener, NULL, NULL);
        if (fd >= 0) {
            server_answer(server, fd);
            close(fd);
        }
    }
    return NULL;
}

static inline void server_start(struct http_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *server = (struct http_server){.body = "", .listener = socket(AF_INET, SOCK_STREAM, 0)};
    assert_true(server->listener >= 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d/metrics", ntohs(address.sin_port));
    assert_int_equal(pthread_mutex_init(&server->lock, NULL), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, server_run, server), 0);
}

static inline void server_stop(struct http_server *server)
{
    atomic_store(&server->stop, true);
    pthread_join(server->thread, NULL);
    close(server->listener);
    pthread_mutex_destroy(&server->lock);
}

static inline void server_set(struct http_server *server, const char *head, const char *body, size_t body_size,
                              size_t repeat)
{
    pthread_mutex_lock(&server->lock);
    server->head = head;
    server->body = body;
    server->body_size = body_size;
    server->repeat = repeat;
    pthread_mutex_unlock(&server->lock);
}

#endif
