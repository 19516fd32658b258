#include "service/request_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct adl_inbox {
    pthread_mutex_t lock;
    struct adl_wish *first, *last;
    uint32_t count, capacity;
    int fd;
};

int adl_inbox_create(uint32_t capacity, struct adl_inbox **ret, struct adl_error *err)
{
    struct adl_inbox *inbox = calloc(1, sizeof *inbox);
    if (!inbox)
        return adl_fail(err, ADL_ENOMEM, "out of memory for an inbox");
    inbox->capacity = capacity;
    inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inbox->fd < 0) {
        adl_fail(err, ADL_EIO, "cannot make an event descriptor: %s", strerror(errno));
        free(inbox);
        return ADL_EIO;
    }
    pthread_mutex_init(&inbox->lock, NULL);
    *ret = inbox;
    return 0;
}

void adl_inbox_destroy(struct adl_inbox *inbox)
{
    if (!inbox)
        return;
    for (struct adl_wish *wish = adl_inbox_take(inbox), *next; wish; wish = next) {
        next = wish->next;
        wish->status = adl_fail(&wish->err, ADL_EREFUSED, "the service is ending");
        wish->answer(wish);
    }
    close(inbox->fd);
    pthread_mutex_destroy(&inbox->lock);
    free(inbox);
}

bool adl_inbox_post(struct adl_inbox *inbox, struct adl_wish *wish)
{
    pthread_mutex_lock(&inbox->lock);
    const bool room = inbox->count < inbox->capacity;
    if (room) {
        wish->next = NULL;
        *(inbox->last ? &inbox->last->next : &inbox->first) = wish;
        inbox->last = wish;
        inbox->count++;
    }
    pthread_mutex_unlock(&inbox->lock);
    if (room)
        adl_inbox_nudge(inbox);
    return room;
}

void adl_inbox_nudge(struct adl_inbox *inbox)
{
    if (write(inbox->fd, &(uint64_t){1}, sizeof(uint64_t)) < 0) {
        /* Only a counter at its end refuses, and then it is readable anyway. */
    }
}

struct adl_wish *adl_inbox_take(struct adl_inbox *inbox)
{
    uint64_t seen;
    if (read(inbox->fd, &seen, sizeof seen) < 0) {
        /* Nothing was posted since; what is there was, and is taken all the same. */
    }
    pthread_mutex_lock(&inbox->lock);
    struct adl_wish *first = inbox->first;
    inbox->first = inbox->last = NULL;
    inbox->count = 0;
    pthread_mutex_unlock(&inbox->lock);
    return first;
}

int adl_inbox_fd(const struct adl_inbox *inbox)
{
    return inbox->fd;
}
