/* http_connection: admission of connections, and their owners.
 *
 * No user can lock others out by holding connections. Each user has a limit, and a lower one on event streams; there is
 * also a limit on all streams together. Connections without a valid token are few and short-lived. When a limit is
 * reached, the connection that has been idle longest is closed. Connections are reserved for root and the service's own
 * user on the Unix socket. libmicrohttpd counts a connection before it says who connected, and stops accepting at its
 * limit, so that limit is above all of ours. */
#include "http/http_internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SLACK 64 /* refused connections that libmicrohttpd has not closed yet */

unsigned adl_connection_limit(const struct adl_http_limits *limits)
{
    return limits->connections + limits->reserved + SLACK;
}

static struct adl_client_key key_of_address(const struct sockaddr *address)
{
    uint8_t bytes[16] = {[10] = 0xff, [11] = 0xff};
    if (address->sa_family == AF_INET6)
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    else
        memcpy(bytes + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    return adl_client_key_address(bytes);
}

/* Removes it from the counts. */
static void uncount(struct adl_connection *connection)
{
    struct adl_listener *listener = connection->listener;
    if (!connection->client)
        return;
    adl_connection_stream_end(connection);
    adl_limits_disconnect(connection->client);
    connection->client = NULL;
    listener->open -= connection->owner ? 0 : 1;
    listener->unauthenticated -= connection->known ? 0 : 1;
}

/* libmicrohttpd then reads end of file and closes it. */
static void refuse_connection(struct adl_connection *connection)
{
    struct adl_http *http = connection->listener->http;
    uncount(connection);
    adl_http_count(http, &http->counts.refused, 1);
    connection->due_us = INT64_MAX;
    shutdown(connection->fd, SHUT_RDWR);
}

/* Closes the connection that has waited longest for a request; unauthenticated: among those. false: there is
 * none. */
static bool make_room(struct adl_listener *listener, bool unauthenticated)
{
    struct adl_connection *oldest = NULL;
    for (struct adl_connection *it = listener->http->connections; it; it = it->next)
        if (it->listener == listener && it->client && !it->owner && !it->request && !(unauthenticated && it->known) &&
            it->phase == ADL_PHASE_RECEIVING && (!oldest || it->due_us < oldest->due_us))
            oldest = it;
    if (oldest)
        refuse_connection(oldest);
    return oldest != NULL;
}

/* Identifies the peer; sets all but the client. */
static bool identify(struct adl_connection *connection, struct adl_client_key *ret_key)
{
    const struct adl_http *http = connection->listener->http;
    if (connection->listener->tcp) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        if (!info || !info->client_addr)
            return false;
        *ret_key = key_of_address(info->client_addr);
        return true;
    }
    if (adl_auth_socket(http->config.auth, connection->fd, &connection->peer, NULL) < 0)
        return false;
    connection->known = true;
    connection->uid = connection->peer.account.uid;
    connection->owner = connection->uid == 0 || connection->uid == geteuid();
    *ret_key = adl_client_key_user(connection->uid);
    return true;
}

static bool admit(struct adl_connection *connection)
{
    struct adl_listener *listener = connection->listener;
    struct adl_http *http = listener->http;
    const struct adl_http_limits *limits = &http->config.limits;
    struct adl_client_key key;
    if (!identify(connection, &key))
        return false;
    if (!connection->known && listener->unauthenticated >= limits->unauthenticated && !make_room(listener, true))
        return false;
    if (!connection->owner && listener->open >= limits->connections && !make_room(listener, false))
        return false;
    connection->client = adl_limits_connect(http->limits, key, http->now_us);
    if (!connection->client)
        return false;
    listener->open += connection->owner ? 0 : 1;
    listener->unauthenticated += connection->known ? 0 : 1;
    return true;
}

void adl_connection_idle(struct adl_connection *connection)
{
    const struct adl_http *http = connection->listener->http;
    const struct adl_http_limits *limits = &http->config.limits;
    const bool brief = !connection->known && limits->unauthenticated_us < limits->receive_us;
    connection->phase = ADL_PHASE_RECEIVING;
    connection->due_us = http->now_us + (brief ? limits->unauthenticated_us : limits->receive_us);
}

struct adl_connection *adl_connection_open(struct adl_listener *listener, struct MHD_Connection *mhd)
{
    struct adl_http *http = listener->http;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct adl_connection *connection = calloc(1, sizeof *connection);
    if (!info || !connection) {
        free(connection);
        return NULL;
    }
    connection->listener = listener;
    connection->mhd = mhd;
    connection->fd = info->connect_fd;
    adl_http_count(http, &http->counts.connections, 1);
    adl_http_count(http, &http->counts.open, 1);
    const bool admitted =
        admit(connection); /* before it is in the list of connections that may be closed to make room */
    connection->next = http->connections;
    if (http->connections)
        http->connections->previous = connection;
    http->connections = connection;
    adl_connection_idle(connection);
    if (!admitted)
        refuse_connection(connection);
    return connection;
}

void adl_connection_close(struct adl_connection *connection)
{
    struct adl_http *http = connection->listener->http;
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        http->connections = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    uncount(connection);
    adl_http_count(http, &http->counts.open, -1);
    free(connection);
}

bool adl_connection_claim(struct adl_connection *connection, uint32_t uid)
{
    struct adl_http *http = connection->listener->http;
    if (connection->known && connection->uid == uid)
        return true;
    struct adl_limited_client *client = adl_limits_connect(http->limits, adl_client_key_user(uid), http->now_us);
    if (!client)
        return false;
    adl_limits_disconnect(connection->client);
    connection->client = client;
    connection->listener->unauthenticated -= connection->known ? 0 : 1;
    connection->known = true;
    connection->uid = uid;
    return true;
}

bool adl_connection_stream(struct adl_connection *connection)
{
    struct adl_http *http = connection->listener->http;
    if (!connection->client || (!connection->owner && http->counts.streams >= http->config.limits.streams))
        return false;
    connection->streams = adl_limits_stream(http->limits, connection->client);
    return connection->streams;
}

void adl_connection_stream_end(struct adl_connection *connection)
{
    if (connection->streams)
        adl_limits_stream_end(connection->client);
    connection->streams = false;
}
