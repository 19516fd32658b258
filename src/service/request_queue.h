/* request queue: what people want of the service, handed from the thread that serves them to the one that decides.
 *
 * A request is carried out once it is safely in the store; then, or when it is refused, its answer is called, in the
 * thread of the service, exactly once; it frees the request. */
#ifndef ADLRO_SERVICE_REQUEST_QUEUE_H
#define ADLRO_SERVICE_REQUEST_QUEUE_H

#include "base/error.h"
#include "http/auth.h"
#include "jobs/submission.h"

#include <stdbool.h>
#include <stdint.h>

enum adl_request_kind {
    ADL_REQUEST_SUBMIT,
    ADL_REQUEST_CANCEL,
    ADL_REQUEST_HOLD,
    ADL_REQUEST_RELEASE,
    ADL_REQUEST_REQUEUE,
    ADL_REQUEST_PRIORITY,
    ADL_REQUEST_DRAIN,  /* a GPU takes no more jobs */
    ADL_REQUEST_RESUME, /* it does again */
    ADL_REQUEST_RELOAD, /* configuration and model are read anew */
};

struct adl_http_request;

struct adl_request {
    int kind; /* enum adl_request_kind */
    struct adl_caller caller;
    bool dry_run;                      /* SUBMIT: all is checked and nothing done */
    struct adl_submission *submission; /* SUBMIT; owned */
    uint64_t job;                      /* CANCEL .. PRIORITY */
    float priority;
    uint32_t gpu;   /* DRAIN, RESUME: ADL_NONE = by node */
    char node[48];  /* the same, all GPUs of this node */
    char text[200]; /* DRAIN: why; CANCEL: why, or "" */

    /* What became of it: */
    int status; /* 0; ADL_EINVAL bad input; ADL_EABSENT no such job or GPU; ADL_EREFUSED not in this state;
                 * ADL_EDENIED not theirs; ADL_EIO the store would not have it; ADL_ENOMEM */
    struct adl_error err;
    uint64_t first_job; /* SUBMIT: the numbers given are first_job .. first_job + job_count - 1 */
    uint32_t job_count;

    void (*answer)(struct adl_request *request);
    struct adl_http_request *http; /* for answer; the request queue does not look at it */
    void *context;
    struct adl_request *next;
};

struct adl_request_queue;

int adl_request_queue_create(uint32_t capacity, struct adl_request_queue **ret, struct adl_error *err);
void adl_request_queue_destroy(
    struct adl_request_queue *request_queue); /* what is left in it is answered ADL_EREFUSED */

/* From any thread. False: there are too many already; the request stays the caller's. */
bool adl_request_queue_post(struct adl_request_queue *request_queue, struct adl_request *request);

/* All that is there, in order of arrival, as a chain; NULL: nothing. */
struct adl_request *adl_request_queue_take(struct adl_request_queue *request_queue);

void adl_request_queue_nudge(
    struct adl_request_queue *request_queue); /* makes it readable, though there may be nothing */
int adl_request_queue_fd(
    const struct adl_request_queue *request_queue); /* readable while there may be something to take */

#endif
