/* hooks: what the service tells others by itself: HTTP POST and mail when a job ends, GPUs are idle, something needs an
 * administrator, a speed or a prediction drifts, or the gate of a shadow moves.
 *
 * A thread of its own delivers. The thread that decides only copies a note into a bounded queue; when that is full, the
 * note is dropped and counted. Notes are not stored: those that a service did not deliver before it ended are lost. */
#ifndef ADLRO_SERVICE_HOOKS_H
#define ADLRO_SERVICE_HOOKS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum adl_hook_event {
    ADL_HOOK_JOB_END,
    ADL_HOOK_IDLE,  /* a job does not use its GPUs, or does so again */
    ADL_HOOK_ALERT, /* a GPU was lost, or the state cannot be written */
    ADL_HOOK_DRIFT, /* a GPU or type changed its speed, or predictions do not hold */
    ADL_HOOK_GATE,  /* of a policy that shadows */
    ADL_HOOK_EVENTS,
};
extern const char *const adl_hook_event_names[]; /* ends with NULL */

enum adl_hook_kind { ADL_HOOK_WEBHOOK, ADL_HOOK_MAIL, ADL_HOOK_KINDS };
extern const char *const adl_hook_kind_names[];

#define ADL_HOOKS_MAX     16
#define ADL_HOOK_QUEUE    1024 /* deliveries that wait */
#define ADL_HOOK_ATTEMPTS 8    /* then a delivery is given up */
#define ADL_HOOK_OWNER    "owner"

/* Strings outlive the hooks. */
struct adl_hook {
    uint8_t kind;       /* enum adl_hook_kind */
    uint32_t events;    /* mask of enum adl_hook_event */
    const char *target; /* address of the page, or of the mail; ADL_HOOK_OWNER: the user of the job */
    const char *secret_file, *secret_header; /* WEBHOOK; NULL: none. The file is read for each delivery */
};

struct adl_hooks_config {
    const struct adl_hook *hooks;
    uint32_t count;
    const char *sendmail;   /* program */
    const char *from;       /* of mails */
    int64_t first_retry_us; /* doubled with each failure; 0: a second */
};

/* Strings may be NULL, and are copied. */
struct adl_hook_note {
    int event; /* enum adl_hook_event */
    int64_t time_us;
    const char *what; /* "end", "idle", "gpu_slow", ... */
    const char *text; /* a sentence */
    uint64_t job;     /* 0 = not about a job; else the following: */
    const char *label, *name, *user, *state;
};

struct adl_hooks_counts {
    uint64_t sent[ADL_HOOK_KINDS], retried[ADL_HOOK_KINDS];
    uint64_t failed[ADL_HOOK_KINDS];  /* given up */
    uint64_t dropped[ADL_HOOK_KINDS]; /* the queue was full */
    uint32_t queued;                  /* now */
};

struct adl_hooks;

/* say, NULL: nowhere, gets lines for the log, without addresses and secrets. Without hooks *ret is NULL. */
int adl_hooks_create(const struct adl_hooks_config *config, void (*say)(const char *text), struct adl_hooks **ret,
                     struct adl_error *err);
void adl_hooks_destroy(struct adl_hooks *hooks); /* aborts what is under way; accepts NULL */

/* The following accept NULL. Never waits for a delivery. */
void adl_hooks_post(struct adl_hooks *hooks, const struct adl_hook_note *note);
struct adl_hooks_counts adl_hooks_counts(struct adl_hooks *hooks);

/* The first line of a file of secrets, at most ADL_SECRET_MAX bytes that an HTTP header may hold. */
#define ADL_SECRET_MAX 512
int adl_hook_secret_read(const char *path, char ret[ADL_SECRET_MAX + 1], struct adl_error *err);

/* Whether mail can be addressed so: letters, digits and . _ + - @, not beginning with - or @. */
bool adl_hook_address_ok(const char *address);

#endif
