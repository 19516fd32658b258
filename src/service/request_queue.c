#include "service/request_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct adl_request_queue {
    pthread_mutex_t lock;
    struct adl_request *first, *last;
    uint32_t count, capacity;
    int fd;
};

int adl_request_queue_create(uint32_t capacity, struct adl_request_queue **ret, struct adl_error *err)
{
    struct adl_request_queue *request_queue = calloc(1, sizeof *request_queue);
    if (!request_queue)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the queue of requests");
    request_queue->capacity = capacity;
    request_queue->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (request_queue->fd < 0) {
        adl_fail(err, ADL_EIO, "cannot make an event descriptor: %s", strerror(errno));
        free(request_queue);
        return ADL_EIO;
    }
    pthread_mutex_init(&request_queue->lock, NULL);
    *ret = request_queue;
    return 0;
}

void adl_request_queue_destroy(struct adl_request_queue *request_queue)
{
    if (!request_queue)
        return;
    for (struct adl_request *request = adl_request_queue_take(request_queue), *next; request; request = next) {
        next = request->next;
        request->status = adl_fail(&request->err, ADL_EREFUSED, "the service is ending");
        request->answer(request);
    }
    close(request_queue->fd);
    pthread_mutex_destroy(&request_queue->lock);
    free(request_queue);
}

bool adl_request_queue_post(struct adl_request_queue *request_queue, struct adl_request *request)
{
    pthread_mutex_lock(&request_queue->lock);
    const bool room = request_queue->count < request_queue->capacity;
    if (room) {
        request->next = NULL;
        *(request_queue->last ? &request_queue->last->next : &request_queue->first) = request;
        request_queue->last = request;
        request_queue->count++;
    }
    pthread_mutex_unlock(&request_queue->lock);
    if (room)
        adl_request_queue_nudge(request_queue);
    return room;
}

void adl_request_queue_nudge(struct adl_request_queue *request_queue)
{
    if (write(request_queue->fd, &(uint64_t){1}, sizeof(uint64_t)) < 0) {
        /* A write fails only if the counter is at its maximum, and then it is readable anyway. */
    }
}

struct adl_request *adl_request_queue_take(struct adl_request_queue *request_queue)
{
    uint64_t seen;
    if (read(request_queue->fd, &seen, sizeof seen) < 0) {
        /* A read fails if nothing was posted since; the queue is taken all the same. */
    }
    pthread_mutex_lock(&request_queue->lock);
    struct adl_request *first = request_queue->first;
    request_queue->first = request_queue->last = NULL;
    request_queue->count = 0;
    pthread_mutex_unlock(&request_queue->lock);
    return first;
}

int adl_request_queue_fd(const struct adl_request_queue *request_queue)
{
    return request_queue->fd;
}
