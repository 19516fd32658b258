/* request queue: requests of clients, passed from the HTTP thread to the thread that decides.
 *
 * The service applies a request after it was written to the store. Then, or when it refuses the request, it calls
 * answer exactly once, in the deciding thread; answer frees the request. */
#ifndef ADLRO_SERVICE_REQUEST_QUEUE_H
#define ADLRO_SERVICE_REQUEST_QUEUE_H

#include "base/error.h"
#include "base/text.h"
#include "http/auth.h"
#include "jobs/submission.h"
#include "service/shadowing.h"

#include <stdbool.h>
#include <stdint.h>

enum adl_request_kind {
    ADL_REQUEST_SUBMIT,
    ADL_REQUEST_CANCEL,
    ADL_REQUEST_HOLD,
    ADL_REQUEST_RELEASE,
    ADL_REQUEST_REQUEUE,
    ADL_REQUEST_PRIORITY,
    ADL_REQUEST_PROGRESS, /* what a running job says of its steps; not written */
    ADL_REQUEST_DRAIN,    /* a GPU takes no more jobs */
    ADL_REQUEST_RESUME,   /* it takes jobs again */
    ADL_REQUEST_RELOAD,   /* read configuration and model again */
    ADL_REQUEST_BELIEF_READ,
    ADL_REQUEST_BELIEF_WRITE, /* in place of what was learned */
    ADL_REQUEST_SHADOW_START, /* a policy is compared with the one in force */
    ADL_REQUEST_SHADOW_STOP,
    ADL_REQUEST_PROMOTE, /* it decides */
    ADL_REQUEST_POWER_LIMIT,
};

struct adl_http_request;

struct adl_request {
    int kind; /* enum adl_request_kind */
    struct adl_caller caller;
    bool dry_run;                      /* SUBMIT: checked and not written */
    struct adl_submission *submission; /* SUBMIT; owned */
    uint64_t job;                      /* CANCEL .. PROGRESS */
    float priority;
    uint64_t step, steps;                  /* PROGRESS: steps done, and in all, 0 = not said */
    uint32_t gpu;                          /* DRAIN, RESUME: ADL_NONE = by node */
    char node[48];                         /* the same, all GPUs of this node */
    char text[200];                        /* DRAIN: why; CANCEL: why, or "" */
    struct adl_text belief;                /* BELIEF_READ, BELIEF_WRITE: its bytes; owned */
    struct adl_shadow_candidate candidate; /* SHADOW_START */
    bool force;                            /* PROMOTE, though the gate is closed */
    double limit_w;                        /* POWER_LIMIT: 0 = none, negative = as the schedule says */
    int64_t for_us;                        /* the same: how long; 0 = until another request */

    /* The result: */
    int status; /* 0; ADL_EINVAL bad input; ADL_EABSENT no such job or GPU; ADL_EREFUSED not in this state;
                 * ADL_EDENIED not theirs; ADL_EIO it could not be written; ADL_ENOMEM */
    struct adl_error err;
    uint64_t first_job; /* SUBMIT: the numbers given are first_job .. first_job + job_count - 1 */
    uint32_t job_count;

    void (*answer)(struct adl_request *request);
    struct adl_http_request *http; /* for answer; not used by the queue */
    void *context;
    struct adl_request *next;
};

struct adl_request_queue;

int adl_request_queue_create(uint32_t capacity, struct adl_request_queue **ret, struct adl_error *err);
void adl_request_queue_destroy(struct adl_request_queue *request_queue); /* answers what is left with ADL_EREFUSED */

/* From any thread. False: the queue is full; the request stays the caller's. */
bool adl_request_queue_post(struct adl_request_queue *request_queue, struct adl_request *request);

/* All requests in order of arrival, as a list; NULL: none. */
struct adl_request *adl_request_queue_take(struct adl_request_queue *request_queue);

void adl_request_queue_nudge(struct adl_request_queue *request_queue);   /* makes fd readable without a request */
int adl_request_queue_fd(const struct adl_request_queue *request_queue); /* readable while there may be requests */

#endif
