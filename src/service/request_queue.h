/* inbox: what people want of the service, handed from the thread that serves them to the one that decides.
 *
 * A wish is carried out once it is safely in the store; then, or when it is refused, its answer is called, in the
 * thread of the service, exactly once; it frees the wish. */
#ifndef ADLRO_SERVICE_REQUEST_QUEUE_H
#define ADLRO_SERVICE_REQUEST_QUEUE_H

#include "base/error.h"
#include "http/auth.h"
#include "jobs/submission.h"

#include <stdbool.h>
#include <stdint.h>

enum adl_wish_kind {
    ADL_WISH_SUBMIT,
    ADL_WISH_CANCEL,
    ADL_WISH_HOLD,
    ADL_WISH_RELEASE,
    ADL_WISH_REQUEUE,
    ADL_WISH_PRIORITY,
    ADL_WISH_DRAIN,  /* a GPU takes no more jobs */
    ADL_WISH_RESUME, /* it does again */
    ADL_WISH_RELOAD, /* configuration and model are read anew */
};

struct adl_request;

struct adl_wish {
    int kind; /* enum adl_wish_kind */
    struct adl_caller caller;
    bool dry_run;                      /* all is checked and nothing done */
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

    void (*answer)(struct adl_wish *wish);
    struct adl_request *request; /* for answer; the inbox does not look at it */
    void *context;
    struct adl_wish *next;
};

struct adl_inbox;

int adl_inbox_create(uint32_t capacity, struct adl_inbox **ret, struct adl_error *err);
void adl_inbox_destroy(struct adl_inbox *inbox); /* what is left in it is answered ADL_EREFUSED */

/* From any thread. False: there are too many already; the wish stays the caller's. */
bool adl_inbox_post(struct adl_inbox *inbox, struct adl_wish *wish);

/* All that is there, in order of arrival, as a chain; NULL: nothing. */
struct adl_wish *adl_inbox_take(struct adl_inbox *inbox);

void adl_inbox_nudge(struct adl_inbox *inbox);   /* makes it readable, though there may be nothing */
int adl_inbox_fd(const struct adl_inbox *inbox); /* readable while there may be something to take */

#endif
