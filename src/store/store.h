/* store: the service's persistent state: jobs, events and decisions, telemetry, and which configuration and model were
 * in force.
 *
 * One directory holds one state: the database adlro.db (SQLite in WAL mode, docs/store.md) and the lock of the service
 * that owns it. A write that returned 0 outside a group (a transaction), or whose group was committed, survives kill -9
 * and loss of power. A group costs one sync, however many writes it has:
 *
 *     adl_store_begin(store, err);
 *     adl_store_job_add(store, &job, &id, err);
 *     adl_store_event_append(store, &event, NULL, err);
 *     adl_store_commit(store, err);                       (only now acknowledge it)
 *
 * ADL_EINVAL means that the caller's data were refused: nothing was written, and the group can continue. After any
 * other failure the whole group is rolled back; a later group may succeed, for example when there is space again. One
 * ambiguity remains: if a commit fails because its sync failed, and the process dies before its next successful commit,
 * the group may be there at the next open.
 *
 * A store belongs to one thread at a time and must not be used after fork(). Other threads and processes read with a
 * store of their own, opened with ADL_STORE_READ, which never waits for the writer. Times are microseconds since the
 * epoch, passed by the caller. NULL strings are stored as "". */
#ifndef ADLRO_STORE_STORE_H
#define ADLRO_STORE_STORE_H

#include "base/error.h"
#include "model/event.h"
#include "model/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adl_store;

enum adl_store_mode {
    ADL_STORE_SERVE, /* reads and writes, creates what is missing, migrates an older schema; one at a time */
    ADL_STORE_READ,  /* reads only, beside a service or without one */
};

/* Creates the directory, but not its parent. Refuses, with a remedy in the text: a directory of another user, a
 * symbolic link, one that is not empty and has no database of ours; a state that another service uses, a schema newer
 * than this program's, a damaged database, one of another program, a directory that cannot be written. The lock belongs
 * to the process, so a process can open a state with ADL_STORE_SERVE only once. */
int adl_store_open(const char *directory, enum adl_store_mode mode, struct adl_store **ret, struct adl_error *err);
void adl_store_close(struct adl_store *store); /* rolls back an open group; accepts NULL */

/* ---- groups ---- */

int adl_store_begin(struct adl_store *store, struct adl_error *err);
int adl_store_commit(struct adl_store *store, struct adl_error *err); /* ends the group, on failure too */
void adl_store_rollback(struct adl_store *store);                     /* does nothing without a group */

/* Fails if the directory or the database was moved away, replaced or deleted; moving them back repairs it. A commit
 * checks this itself. */
int adl_store_present(struct adl_store *store, struct adl_error *err);

/* ---- space for essential writes ---- */

/* A file of a few megabytes beside the database, the reserve, holds space. When the disk is full, spending it makes
 * space for small writes: cancels, ends of jobs. To be called without a group. */
bool adl_store_is_full(const struct adl_store *store); /* the last failure was a full disk */
void adl_store_limit_wal(struct adl_store *store);     /* from now on the WAL is kept small */
bool adl_store_reserve_spend(struct adl_store *store); /* false: there is none */
bool adl_store_reserve_build(struct adl_store *store); /* true: it exists, and as much space is free besides */

/* ---- jobs ---- */

enum adl_store_state {
    ADL_STORE_PENDING, /* PD */
    ADL_STORE_RUNNING, /* R */
    ADL_STORE_ENDED,   /* plus an enum adl_job_end */
    ADL_STORE_COMPLETED = ADL_STORE_ENDED + ADL_END_COMPLETED,
    ADL_STORE_FAILED = ADL_STORE_ENDED + ADL_END_FAILED,
    ADL_STORE_CANCELLED = ADL_STORE_ENDED + ADL_END_CANCELLED,
    ADL_STORE_TIMEOUT = ADL_STORE_ENDED + ADL_END_TIMEOUT,
    ADL_STORE_STATE_COUNT,
};

const char *adl_store_state_name(int state); /* "PD", "R", "CD", "F", "CA", "TO" */
int adl_store_state_find(const char *name);  /* -1 if there is none */

enum adl_store_after {
    ADL_AFTER_ANY,       /* when that job has ended, however it ended */
    ADL_AFTER_OK,        /* when it completed */
    ADL_AFTER_NOT_OK,    /* when it ended without having completed */
    ADL_AFTER_START,     /* when it was started, or ended without starting */
    ADL_AFTER_SINGLETON, /* when all earlier jobs of its name and user have ended; job is 0 */
    ADL_AFTER_COUNT,
};

struct adl_store_dependency {
    uint64_t job;
    uint8_t after; /* enum adl_store_after */
};

/* An array as submitted, even if some of its jobs are deleted. */
struct adl_store_array {
    uint32_t count; /* 0: no array, or one from before this was stored */
    uint32_t limit; /* jobs that may run at once; 0: no limit */
    int32_t min;    /* least index */
    int32_t max;
    int32_t step; /* between indices; 1 if not constant */
};

/* In bytes; a list has a zero byte after each string. Longer ones are refused. */
#define ADL_STORE_WORD_MAX         255 /* names of users, jobs, GPUs */
#define ADL_STORE_REASON_MAX       1000
#define ADL_STORE_PATH_MAX         4096
#define ADL_STORE_LIST_MAX         (2l << 20) /* arguments, environment */
#define ADL_STORE_SCRIPT_MAX       (4l << 20)
#define ADL_STORE_PAYLOAD_MAX      (1l << 20)
#define ADL_STORE_CONTENT_MAX      (16l << 20)
#define ADL_STORE_DEPENDENCIES_MAX 1000
#define ADL_STORE_PAGE_MAX         1000 /* rows that one call visits, except those for all live jobs */
#define ADL_STORE_PURGE_MAX        200  /* jobs that one call deletes */
#define ADL_STORE_JOB_SIZE         1024 /* bytes counted for a job besides its payload: rows and events */

/* Who holds a job. Only administrators can release an administrator's hold. */
enum adl_job_hold { ADL_HOLD_NONE, ADL_HOLD_USER, ADL_HOLD_ADMIN };

/* The changing part of a job. Always written completely. */
struct adl_store_status {
    uint8_t state;       /* enum adl_store_state */
    uint8_t hold;        /* enum adl_job_hold */
    float priority;      /* in force now; spec.priority is what was submitted */
    const char *reason;  /* why it waits, or why it ended as it did */
    int64_t start_us;    /* of the last attempt; 0 = none yet */
    int64_t eligible_us; /* since when it is eligible: neither held nor waiting for dependencies; 0 = not known */
    int64_t ran_us;      /* for which it held GPUs since then, in earlier attempts */
    int64_t end_us;      /* 0 = not ended */
    int32_t exit_code;
    int32_t signal; /* which ended it; 0 = none */
    uint32_t attempts;
    const char *const *gpus; /* NULL-terminated names that are stable over restarts, such as UUIDs */
    int64_t pid;             /* of its shepherd; 0 = none. Unique with the two below: */
    uint64_t pid_ticks;      /* when that process began, field 22 of /proc/PID/stat */
    const char *boot;        /* id of the boot this was in */
    double energy_j;
    int64_t requeue_us;  /* when it was last put back into the queue after it had ended; 0 = never */
    uint8_t requeue_end; /* the enum adl_job_end that it then had */
    int64_t idle_us;     /* times the GPUs: held and not used, in all attempts */
};

/* A submission, which never changes, and its status. Lists are NULL-terminated; NULL is an empty one. */
struct adl_store_job {
    struct adl_job_spec spec; /* spec.id is assigned by the store. Types and class are indices into the configuration at
                                 submission; request has them as text */
    uint32_t uid;
    uint32_t gid;
    const char *user;
    const char *name;
    const char *request; /* the GPUs asked for, as the user wrote it: "v100:2|a100:1" */
    const char *const *argv;
    const char *script; /* its text; "" = none, argv is the command itself */
    const char *directory;
    const char *const *environment; /* "NAME=value"; may contain secrets, so only the owner can read the files */
    const char *stdout_path;
    const char *stderr_path;
    const char *mask; /* umask, octal; "" = 022 */
    const char *const
        *limits; /* soft resource limits, "nofile=1024" (jobs/resource_limits.h); others are the service's */
    const struct adl_store_dependency *dependencies;
    uint32_t dependency_count;
    bool dependency_any;          /* one of them suffices */
    int64_t begin_us;             /* earliest start; 0 = at any time */
    const char *warn_signal;      /* sent before its time limit, "[B:]SIGNAL[@SECONDS]"; "" = none */
    struct adl_store_array array; /* it belongs to */
    uint64_t array_id;   /* number of the array's first job; 0 = no array, or, with an index, that this is the first */
    int32_t array_index; /* -1 = no array */
    uint64_t payload;    /* number of the earlier job that brought the same request, command, script, directory,
                          * environment, paths, umask, limits, dependencies, begin, signal and array, which are then kept
                          * once and not read from this one; 0 = they are its own. A job that is read has its own number
                          * in place of 0 */
    int64_t external;    /* its number in the cluster it came from; 0 = it was submitted here */
    int64_t submit_us;
    struct adl_store_status status;
};

/* Size of the payload that the jobs of an array share. */
size_t adl_store_payload_size(const struct adl_store_job *job);

/* Ids increase and are never reused, even if a job is deleted; the id of a group that was not committed was never
 * assigned. job->spec.id is not read. */
int adl_store_job_add(struct adl_store *store, const struct adl_store_job *job, uint64_t *ret_id,
                      struct adl_error *err);
int adl_store_job_update(struct adl_store *store, uint64_t id, const struct adl_store_status *status,
                         struct adl_error *err);

/* Called for each row. The row is valid until the call returns; the visitor must not call the store. A nonzero result
 * ends the iteration, which returns it if it is negative. */
typedef int adl_store_job_visit(void *context, const struct adl_store_job *job, struct adl_error *err);

/* These return how many were visited, or a negative status. */
int adl_store_job_read(struct adl_store *store, uint64_t id, adl_store_job_visit *visit, void *context,
                       struct adl_error *err);
/* All that are PD or R, by id. */
int adl_store_jobs_live(struct adl_store *store, adl_store_job_visit *visit, void *context, struct adl_error *err);

/* The job with this id in the cluster it came from, the last if there are several; 0 = none. */
uint64_t adl_store_job_of_external(struct adl_store *store, int64_t external);

/* The last id assigned, even if its job is deleted; 0 = none. */
uint64_t adl_store_job_last(struct adl_store *store);

/* Deletes jobs that ended before before_us with their events, and older events without a job; at most step of them, so
 * that each call is short. Returns how many; fewer than step means that it is done. */
int adl_store_purge(struct adl_store *store, int64_t before_us, uint32_t step, struct adl_error *err);
/* The same for the first step ended jobs of a user, of any age. */
int adl_store_purge_user(struct adl_store *store, uint32_t uid, uint32_t step, struct adl_error *err);
/* Bytes used by all jobs of a user, ended ones too: their payloads and ADL_STORE_JOB_SIZE for each. */
int adl_store_usage(struct adl_store *store, uint32_t uid, int64_t *ret, struct adl_error *err);

struct adl_store_page {
    uint64_t after;    /* the last id of the previous page; 0 = from the start */
    uint32_t limit;    /* 1..ADL_STORE_PAGE_MAX */
    uint32_t states;   /* mask of 1 << enum adl_store_state; 0 = all */
    bool newest_first; /* by decreasing id */
    bool by_end;       /* ended jobs, the last end first; after is then the job that the previous page ended with */
    bool by_user;      /* only those of uid */
    uint32_t uid;
    const char *user; /* only those of this name; NULL = of any. Without by_user all jobs are searched */
};

int adl_store_jobs_page(struct adl_store *store, const struct adl_store_page *page, adl_store_job_visit *visit,
                        void *context, struct adl_error *err);

/* What an ended job took, for sums. */
struct adl_store_run {
    const char *user;
    uint32_t uid;
    uint8_t state; /* enum adl_store_state */
    uint32_t gpus; /* of the last attempt */
    int64_t submit_us, eligible_us, start_us, end_us, ran_us;
    int64_t idle_us; /* times the GPUs */
};

typedef int adl_store_run_visit(void *context, const struct adl_store_run *run, struct adl_error *err);

/* Those that ended from from_us on, the last end first, at most limit. */
int adl_store_runs_ended(struct adl_store *store, int64_t from_us, uint32_t limit, adl_store_run_visit *visit,
                         void *context, struct adl_error *err);

/* ---- events and decisions: what happened, in order ---- */

struct adl_store_event {
    uint64_t sequence; /* assigned by the store: increasing, from 1 */
    int64_t time_us;
    const char *kind;    /* "submit", "decision", ... */
    uint64_t job;        /* 0 = not about a job */
    const char *payload; /* JSON */
};

typedef int adl_store_event_visit(void *context, const struct adl_store_event *event, struct adl_error *err);

int adl_store_event_append(struct adl_store *store, const struct adl_store_event *event, uint64_t *ret_sequence,
                           struct adl_error *err); /* ret_sequence may be NULL */
/* Those after a sequence number, at most limit; only those of a job unless it is 0. */
int adl_store_events(struct adl_store *store, uint64_t after, uint64_t job, uint32_t limit,
                     adl_store_event_visit *visit, void *context, struct adl_error *err);

/* Those without a job from from_us on, but for points of charts; the last first. */
int adl_store_events_general(struct adl_store *store, int64_t from_us, uint32_t limit, adl_store_event_visit *visit,
                             void *context, struct adl_error *err);

/* Starts and moves of jobs whose payload contains gpu, the last first. */
struct adl_store_starts {
    uint64_t before; /* a sequence number */
    uint32_t scan;   /* so many events before it are searched */
    uint32_t limit;  /* 1..ADL_STORE_PAGE_MAX */
    const char *gpu;
};
int adl_store_starts(struct adl_store *store, const struct adl_store_starts *which, adl_store_event_visit *visit,
                     void *context, struct adl_error *err);

int adl_store_event_last(struct adl_store *store, adl_store_event_visit *visit, void *context, struct adl_error *err);

/* ---- telemetry ---- */

struct adl_store_sample {
    int64_t time_us;
    const char *gpu; /* as in adl_store_status */
    struct adl_telemetry readings;
};

typedef int adl_store_sample_visit(void *context, const struct adl_store_sample *sample, struct adl_error *err);

/* Keeps the first of two samples of a GPU at the same time. */
int adl_store_sample_append(struct adl_store *store, const struct adl_store_sample *sample, struct adl_error *err);
/* From from_us on and before to_us, oldest first, at most limit; gpu NULL = of all. */
int adl_store_samples(struct adl_store *store, const char *gpu, int64_t from_us, int64_t to_us, uint32_t limit,
                      adl_store_sample_visit *visit, void *context, struct adl_error *err);
/* Deletes the oldest samples, those before before_us and those beyond rows_max, at most step of them, so that each call
 * is short. Returns how many; fewer than step means that it is done. */
int adl_store_prune(struct adl_store *store, int64_t before_us, uint64_t rows_max, uint32_t step,
                    struct adl_error *err);

/* ---- drained GPUs ---- */

/* reason NULL: resumes it. */
int adl_store_drain_set(struct adl_store *store, const char *gpu, const char *reason, int64_t time_us,
                        struct adl_error *err);
typedef int adl_store_drain_visit(void *context, const char *gpu, const char *reason, int64_t time_us,
                                  struct adl_error *err);
int adl_store_drains(struct adl_store *store, adl_store_drain_visit *visit, void *context, struct adl_error *err);

/* ---- configurations and models, as they were put in force ---- */

enum adl_store_swap_kind { ADL_SWAP_CONFIGURATION, ADL_SWAP_MODEL, ADL_SWAP_COUNT };

struct adl_store_swap {
    int64_t time_us;
    uint8_t kind;     /* enum adl_store_swap_kind */
    const char *name; /* where it came from */
    const void *content;
    size_t size;
};

typedef int adl_store_swap_visit(void *context, const struct adl_store_swap *swap, struct adl_error *err);

int adl_store_swap_append(struct adl_store *store, const struct adl_store_swap *swap, struct adl_error *err);
/* The last one of a kind, if there is one. */
int adl_store_swap_last(struct adl_store *store, int kind, adl_store_swap_visit *visit, void *context,
                        struct adl_error *err);

/* ---- what was learned about jobs (predict/belief_bytes.h) ---- */

#define ADL_BELIEF_PRESENT "present"
#define ADL_BELIEF_REFUSED "refused" /* it could not be read: kept aside */
#define ADL_BELIEF_LIMITS  "limits"  /* of a service that has learned: false */
#define ADL_STORE_POWER    "power"   /* not a belief: the power limit that was requested (service/live/live_power.c) */
#define ADL_STORE_SHADOW   "shadow"  /* not a belief: what is known of a policy that shadows (service/shadowing.h) */
#define ADL_STORE_RECENT   "recent"  /* nor is this: who submitted what lately (twin/recent.h) */
#define ADL_STORE_LEVELS   "levels"  /* nor this: how forecasts turned out (service/forecast.h) */

struct adl_store_belief {
    int64_t time_us;   /* when it was written */
    uint64_t sequence; /* the last event that it knows of */
    const void *content;
    size_t size;
};

typedef int adl_store_belief_visit(void *context, const struct adl_store_belief *belief, struct adl_error *err);

/* In place of the one of that name. */
int adl_store_belief_set(struct adl_store *store, const char *name, const struct adl_store_belief *belief,
                         struct adl_error *err);
int adl_store_belief_read(struct adl_store *store, const char *name, adl_store_belief_visit *visit, void *context,
                          struct adl_error *err);

#endif
