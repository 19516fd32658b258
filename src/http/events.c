#include "http/events.h"

#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FOR_ALL (-1)

/* An event as sent, and its recipient. */
struct entry {
    struct adl_text text;
    int64_t uid; /* or FOR_ALL */
};

struct adl_events {
    int fd;
    uint32_t capacity;
    pthread_mutex_t mutex;
    /* Under the mutex. The event of an id is at id % capacity. */
    bool signalled;
    uint64_t first_id, next_id;
    struct entry *ring;
};

int adl_events_create(uint32_t capacity, uint64_t first_id, struct adl_events **ret, struct adl_error *err)
{
    if (capacity < 1 || first_id < 1)
        return adl_fail(err, ADL_EINVAL, "events: capacity and first id must be at least 1");
    struct adl_events *events = calloc(1, sizeof *events);
    if (!events || pthread_mutex_init(&events->mutex, NULL) != 0) {
        free(events);
        return adl_fail(err, ADL_ENOMEM, "no memory for %u events", capacity);
    }
    events->capacity = capacity;
    events->first_id = events->next_id = first_id;
    events->ring = calloc(capacity, sizeof *events->ring);
    events->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!events->ring || events->fd < 0) {
        const int status = !events->ring ? adl_fail(err, ADL_ENOMEM, "no memory for %u events", capacity)
                                         : adl_fail(err, ADL_EIO, "no descriptor for events: %s", strerror(errno));
        adl_events_destroy(events);
        return status;
    }
    *ret = events;
    return ADL_OK;
}

void adl_events_destroy(struct adl_events *events)
{
    if (!events)
        return;
    for (uint32_t i = 0; events->ring && i < events->capacity; i++)
        adl_text_clear(&events->ring[i].text);
    free(events->ring);
    if (events->fd >= 0)
        close(events->fd);
    pthread_mutex_destroy(&events->mutex);
    free(events);
}

static bool is_kind(const char *kind)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    return kind[0] != '\0' && kind[strspn(kind, allowed)] == '\0';
}

/* Each line of the data gets its own "data:", as the format requires. */
static void write_event(struct adl_text *text, const char *kind, const char *data)
{
    adl_text_printf(text, "event: %s\n", kind);
    for (;;) {
        const size_t length = strcspn(data, "\r\n");
        adl_text_put(text, "data: ");
        adl_text_bytes(text, data, length);
        adl_text_char(text, '\n');
        data += length;
        if (*data == '\0')
            break;
        data += data[0] == '\r' && data[1] == '\n' ? 2 : 1;
    }
    adl_text_char(text, '\n');
}

static int publish(struct adl_events *events, int64_t uid, const char *kind, const char *data, uint64_t *ret_id,
                   struct adl_error *err)
{
    if (!is_kind(kind))
        return adl_fail(err, ADL_EINVAL, "an event's kind is of letters, digits, '_', '-' and '.'");
    struct adl_text body = {0}, text = {0};
    write_event(&body, kind, data);
    int status = adl_text_status(&body);
    if (status == ADL_OK && body.size > ADL_EVENT_SIZE_MAX - 64)
        status = adl_fail(err, ADL_EINVAL, "an event of %zu bytes; at most %d are sent", body.size, ADL_EVENT_SIZE_MAX);
    if (status < 0) {
        adl_text_clear(&body);
        return status;
    }
    pthread_mutex_lock(&events->mutex);
    adl_text_printf(&text, "id: %" PRIu64 "\n", events->next_id);
    adl_text_bytes(&text, body.data, body.size);
    status = adl_text_status(&text);
    if (status == ADL_OK) {
        struct entry *cursor = &events->ring[events->next_id % events->capacity];
        const struct adl_text old = cursor->text;
        *cursor = (struct entry){text, uid};
        text = old;
        if (ret_id)
            *ret_id = events->next_id;
        events->next_id++;
        /* One write a round cannot overflow the counter of an eventfd. */
        if (!events->signalled && write(events->fd, &(uint64_t){1}, 8) == 8)
            events->signalled = true;
    }
    pthread_mutex_unlock(&events->mutex);
    adl_text_clear(&text);
    adl_text_clear(&body);
    return status == ADL_OK ? ADL_OK : adl_fail(err, status, "no memory for an event");
}

int adl_events_publish(struct adl_events *events, const char *kind, const char *data, uint64_t *ret_id,
                       struct adl_error *err)
{
    return publish(events, FOR_ALL, kind, data, ret_id, err);
}

int adl_events_publish_to(struct adl_events *events, uint32_t uid, const char *kind, const char *data,
                          struct adl_error *err)
{
    return publish(events, uid, kind, data, NULL, err);
}

int adl_events_fd(const struct adl_events *events)
{
    return events->fd;
}

void adl_events_acknowledge(struct adl_events *events)
{
    uint64_t count;
    pthread_mutex_lock(&events->mutex);
    if (events->signalled && read(events->fd, &count, sizeof count) == (ssize_t)sizeof count)
        events->signalled = false;
    pthread_mutex_unlock(&events->mutex);
}

/* Under the mutex. */
static uint64_t oldest_id(const struct adl_events *events)
{
    const uint64_t count = events->next_id - events->first_id;
    return count < events->capacity ? events->first_id : events->next_id - events->capacity;
}

uint64_t adl_events_next_id(struct adl_events *events)
{
    pthread_mutex_lock(&events->mutex);
    const uint64_t id = events->next_id;
    pthread_mutex_unlock(&events->mutex);
    return id;
}

bool adl_events_resume(struct adl_events *events, uint64_t last_id, struct adl_events_cursor *ret)
{
    pthread_mutex_lock(&events->mutex);
    const uint64_t oldest = oldest_id(events);
    const bool whole = last_id < events->next_id && last_id + 1 >= oldest;
    ret->id = whole ? last_id + 1 : oldest;
    ret->offset = 0;
    pthread_mutex_unlock(&events->mutex);
    return whole;
}

ssize_t adl_events_read(struct adl_events *events, struct adl_events_cursor *cursor, char *buffer, size_t size)
{
    size_t copied = 0;
    pthread_mutex_lock(&events->mutex);
    const bool behind = cursor->id < oldest_id(events);
    while (!behind && cursor->id < events->next_id && copied < size) {
        const struct entry *entry = &events->ring[cursor->id % events->capacity];
        const struct adl_text *text = &entry->text;
        if (cursor->filtered && entry->uid != FOR_ALL && entry->uid != cursor->uid) {
            cursor->id++;
            continue;
        }
        const size_t left = text->size - cursor->offset, room = size - copied, taken = left < room ? left : room;
        memcpy(buffer + copied, text->data + cursor->offset, taken);
        copied += taken;
        cursor->offset += taken;
        if (cursor->offset == text->size) {
            cursor->id++;
            cursor->offset = 0;
        }
    }
    pthread_mutex_unlock(&events->mutex);
    return behind ? -1 : (ssize_t)copied;
}

int adl_events_poll(struct adl_events *events, const struct adl_events_cursor *cursor)
{
    pthread_mutex_lock(&events->mutex);
    const int found = cursor->id < oldest_id(events) ? -1 : cursor->id < events->next_id;
    pthread_mutex_unlock(&events->mutex);
    return found;
}
