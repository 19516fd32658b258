/* events: the last events, numbered, for streams of server-sent events.
 *
 * Any thread may publish. Numbers go up by one. Only the last so many are kept: a reader that falls behind them is told
 * so, and has to be dropped by who serves it. */
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
struct adl_events_place {
    uint64_t id;   /* of the event that is next */
    size_t offset; /* bytes of it that were read */
    bool filtered; /* only events for this user, and those for all, are read */
    uint32_t uid;
};

/* The first event will have first_id, which is at least 1: a number above all that an earlier life of the service gave,
 * so that a client that comes back after a restart is not taken for one that has seen it all. */
int adl_events_create(uint32_t capacity, uint64_t first_id, struct adl_events **ret, struct adl_error *err);
void adl_events_destroy(struct adl_events *events);

/* kind: letters, digits, '_', '-' and '.'. data: text, usually JSON; line feeds are kept, carriage returns become line
 * feeds. */
int adl_events_publish(struct adl_events *events, const char *kind, const char *data, uint64_t *ret_id,
                       struct adl_error *err);

/* The same for one user: readers who are filtered for another do not get it. */
int adl_events_publish_to(struct adl_events *events, uint32_t uid, const char *kind, const char *data,
                          struct adl_error *err);

/* Readable when something was published since adl_events_heard() was called. */
int adl_events_fd(const struct adl_events *events);
void adl_events_heard(struct adl_events *events);

uint64_t adl_events_next_id(struct adl_events *events);

/* Where the reader goes on that saw everything up to and with this id. false: some of what followed is gone, or the id
 * is of no event that was ever published; the place is then the oldest event. For whom it reads stays as it was. */
bool adl_events_resume(struct adl_events *events, uint64_t last_id, struct adl_events_place *ret);

/* Copies what fits of what comes next and moves the place: the bytes copied, 0 if there is nothing new, -1 if the
 * reader has fallen behind. */
ssize_t adl_events_read(struct adl_events *events, struct adl_events_place *place, char *buffer, size_t size);

/* Without copying: -1 behind, 0 nothing new, 1 something. */
int adl_events_look(struct adl_events *events, const struct adl_events_place *place);

#endif
