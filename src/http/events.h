/* events: the most recent events, numbered, for streams of server-sent events.
 *
 * Any thread may publish. Ids increase by one. Only the last `capacity` events are kept: reading fails for a reader
 * that has fallen behind, and the server has to drop it. */
#ifndef ADLRO_HTTP_EVENTS_H
#define ADLRO_HTTP_EVENTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ADL_EVENT_SIZE_MAX 65536 /* bytes of one event as it is sent */

struct adl_events;

/* Where a reader is. */
struct adl_events_cursor {
    uint64_t id;   /* of the event that is next */
    size_t offset; /* bytes of it that were read */
    bool filtered; /* reads only events for this user and for all */
    uint32_t uid;
};

/* The first event gets first_id, at least 1: above all ids that the service used before its restart, so that a client
 * that reconnects is not taken for one that has seen all events. */
int adl_events_create(uint32_t capacity, uint64_t first_id, struct adl_events **ret, struct adl_error *err);
void adl_events_destroy(struct adl_events *events);

/* kind: letters, digits, '_', '-' and '.'. data: text, usually JSON; line feeds are kept, carriage returns become line
 * feeds. */
int adl_events_publish(struct adl_events *events, const char *kind, const char *data, uint64_t *ret_id,
                       struct adl_error *err);

/* The same for one user: readers filtered for another user do not get it. */
int adl_events_publish_to(struct adl_events *events, uint32_t uid, const char *kind, const char *data,
                          struct adl_error *err);

/* Readable when something was published since adl_events_acknowledge() was called. */
int adl_events_fd(const struct adl_events *events);
void adl_events_acknowledge(struct adl_events *events);

uint64_t adl_events_next_id(struct adl_events *events);

/* The position after this id. false: some events after it are gone, or the id was never published; the position is then
 * the oldest event. The filter stays as it was. */
bool adl_events_resume(struct adl_events *events, uint64_t last_id, struct adl_events_cursor *ret);

/* Copies as much as fits and advances the position: returns the bytes copied, 0 if there is nothing new, -1 if the
 * reader has fallen behind. */
ssize_t adl_events_read(struct adl_events *events, struct adl_events_cursor *cursor, char *buffer, size_t size);

/* Without copying: -1 fallen behind, 0 nothing new, 1 something new. */
int adl_events_poll(struct adl_events *events, const struct adl_events_cursor *cursor);

#endif
