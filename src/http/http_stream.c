#include "http/http_internal.h"

#include <string.h>

static ssize_t send_preface(struct adl_connection *connection, char *buffer, size_t size)
{
    const size_t left = strlen(connection->preface) - connection->preface_sent, taken = left < size ? left : size;
    memcpy(buffer, connection->preface + connection->preface_sent, taken);
    connection->preface_sent += taken;
    return (ssize_t)taken;
}

/* Nothing to send: suspends the connection until there is an event or a heartbeat is due. */
static ssize_t suspend_stream(struct adl_connection *connection)
{
    const struct adl_http *http = connection->listener->http;
    const int64_t beat_us = http->now_us + http->config.limits.heartbeat_us;
    connection->phase = ADL_PHASE_STREAM_IDLE;
    connection->due_us = beat_us < connection->end_us ? beat_us : connection->end_us;
    MHD_suspend_connection(connection->mhd);
    return 0;
}

static ssize_t read_stream(void *cls, uint64_t position, char *buffer, size_t size)
{
    static const char heartbeat[] = ": still here\n\n";
    struct adl_connection *connection = cls;
    struct adl_http *http = connection->listener->http;
    (void)position;
    connection->phase = ADL_PHASE_STREAMING;
    connection->due_us = http->now_us + http->config.limits.send_us;
    if (http->stopping || http->now_us >= connection->end_us ||
        !adl_auth_holds(http->config.auth, &connection->request->caller))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (connection->preface[connection->preface_sent] != '\0')
        return send_preface(connection, buffer, size);
    const ssize_t copied = adl_events_read(http->config.events, &connection->cursor, buffer, size);
    if (copied < 0) {
        adl_http_count(http, &http->counts.dropped, 1);
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (copied > 0 || !connection->beat || size < sizeof heartbeat) {
        connection->beat = false;
        return copied > 0 ? copied : suspend_stream(connection);
    }
    connection->beat = false;
    memcpy(buffer, heartbeat, sizeof heartbeat - 1);
    return (ssize_t)sizeof heartbeat - 1;
}

static void close_stream(void *cls)
{
    struct adl_connection *connection = cls;
    struct adl_http *http = connection->listener->http;
    adl_http_count(http, &http->counts.streams, -1);
    adl_connection_stream_end(connection);
}

struct MHD_Response *adl_stream_open(struct adl_connection *connection, struct adl_reply *reply)
{
    struct adl_http *http = connection->listener->http;
    (void)reply;
    connection->end_us = http->now_us + http->config.limits.stream_us;
    connection->beat = false;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, connection, close_stream);
    if (response)
        adl_http_count(http, &http->counts.streams, 1);
    return response;
}
