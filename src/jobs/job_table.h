/* job table: the live jobs of the service in memory: what clients are shown of them, and their stages. Arguments,
 * environment and script are only in the store. */
#ifndef ADLRO_JOBS_JOB_TABLE_H
#define ADLRO_JOBS_JOB_TABLE_H

#include "base/error.h"
#include "jobs/job_stage.h"
#include "store/store.h"

#define ADL_ALTERNATIVES_MAX 4

/* A job is in the policy's queue once for each number of GPUs that it accepts ("v100:2|a100:1" is two). */
struct adl_alternative {
    uint16_t gpus;
    uint32_t types; /* mask */
    uint32_t slot;  /* while it is queued, and that of the one taken while it holds GPUs; else ADL_NONE */
};

/* What all jobs of an array have in common, kept once: strings and dependencies follow it in memory. */
struct adl_job_table_shared {
    uint64_t payload; /* its number in the store; 0: not shared */
    uint32_t jobs;    /* that use it */
    size_t memory;    /* bytes that it takes here */
    size_t stored;    /* and in the state */
    struct adl_store_array array;
    uint32_t active; /* of these jobs, that are queued or hold GPUs: of an array with a bound no more are let into the
                      * policy's queue than may run */
};

/* Totals of the live jobs of a user. */
struct adl_job_table_user {
    uint32_t uid;
    uint32_t jobs;
    uint64_t bytes; /* in the store, counted as adl_store_usage() does */
};

/* What a running job said of its steps; only in memory. */
struct adl_job_progress {
    uint32_t attempt;     /* that it is of; another than the job's: the job has said nothing yet */
    uint64_t step, steps; /* as last counted; steps 0: it did not say how many there are */
    uint64_t unit;        /* the first such number of the attempt: the engine counts in whole runs */
    double steps_per_s;   /* between the last two counts; 0: not known yet */
    int64_t time_us;      /* of the last count, wall time */
    int64_t steady_us;    /* the same, steady time */
    bool posted;          /* the engine has heard of it */
    char note[96];        /* why the last report did not count for the speed; "" = it did */
};

/* What readings say of its GPUs now (service/live/live_idle.c); only in memory. */
struct adl_job_idle {
    uint32_t gpus;   /* that have been unused for long */
    int64_t us;      /* for how long at least */
    int64_t stop_us; /* it is stopped then, steady time; 0 = no notice was given */
    bool told;       /* its timeline has it */
    bool asked;      /* its stop was requested */
};

struct adl_job_entry {
    uint64_t id;
    struct adl_job_spec spec; /* gpus and types are those of the alternative taken, else of the first */
    struct adl_alternative alternatives[ADL_ALTERNATIVES_MAX];
    uint32_t alternative_count;
    uint32_t taken;  /* which of them holds GPUs */
    uint8_t stage;   /* enum adl_stage; adl_job_table_move() alone changes it */
    uint8_t hold;    /* enum adl_job_hold; a job that still runs may have it too */
    bool ineligible; /* the cluster underneath would not start it now */
    float priority;
    uint32_t uid;
    uint32_t gid;
    uint64_t array_id; /* 0: no array */
    int32_t array_index;
    int64_t external;      /* its number in the cluster it came from; 0 = it was submitted here */
    uint64_t advised;      /* hash of the last advice about it */
    int64_t said_start_us; /* the expected start that the cluster was told last, in the engine's time; 0 = none */
    int64_t submit_us;
    int64_t begin_us;    /* it does not start before; 0 = any time */
    int64_t eligible_us; /* since when it is neither held nor waiting for others */
    int64_t start_us;    /* of this attempt, while it holds GPUs */
    int64_t ran_us;      /* that it held GPUs since then in earlier attempts */
    uint32_t attempts;
    int64_t requeue_us;  /* when it was last requeued after its end; 0 = never */
    uint8_t requeue_end; /* the enum adl_job_end that it had */
    double energy_j;     /* of earlier attempts */
    struct adl_job_progress progress;
    struct adl_job_idle idle;
    int64_t idle_us;    /* times the GPUs: held and not used, in all attempts */
    uint32_t *gpus;     /* while it holds GPUs: spec.gpus of them */
    const char *reason; /* why it waits or is being stopped; "": the policy has it. Owned, as all strings here */
    const char *waited; /* why it had to wait before it starts next; NULL = it did not, or that is not known. Owned */
    const char *why;    /* it is started; not owned, set only while the executor is told to */
    struct adl_job_table_shared *shared; /* owns the next six and the dependencies */
    const char *user;
    const char *name;
    const char *request; /* "v100:2|a100:1" */
    const char *command; /* for people, cut short */
    const char *directory;
    const char *warn_signal;                   /* "B:USR1@60"; "" = none */
    const char *stdout_path;                   /* with %j and the like replaced */
    const char *stderr_path;                   /* may be the same string */
    struct adl_store_dependency *dependencies; /* all of the submission */
    uint32_t dependency_count;
    bool dependency_any;                   /* one of them suffices */
    size_t bytes;                          /* of memory, roughly */
    uint32_t changes;                      /* requests that changed it since the service started */
    uint64_t group;                        /* the last group of writes that touched it */
    struct adl_job_entry *next, *previous; /* in order of numbers */
};

struct adl_job_table {
    struct adl_job_entry *first, *last;
    struct adl_job_entry **slots; /* [slot], NULL = none */
    size_t slot_capacity;
    struct adl_job_entry **table; /* hash by number */
    size_t table_size;
    uint32_t count;
    uint32_t by_stage[ADL_STAGE_COUNT];
    uint32_t start_waiters;           /* jobs that have an "after start" dependency */
    struct adl_job_table_user *users; /* those that have jobs, user_count, in no order */
    size_t user_capacity;
    uint32_t user_count;
    size_t bytes; /* of memory, roughly, for all jobs */
};

int adl_job_table_create(struct adl_job_table *ret); /* 0 or ADL_ENOMEM */
void adl_job_table_clear(struct adl_job_table *job_table);

/* Adds a stored job, in order of numbers. Its stage is NEW; the caller fills the alternatives. NULL: out of memory. */
struct adl_job_entry *adl_job_table_add(struct adl_job_table *job_table, const struct adl_store_job *from);
void adl_job_table_remove(struct adl_job_table *job_table, struct adl_job_entry *job);
struct adl_job_entry *adl_job_table_find(const struct adl_job_table *job_table, uint64_t id); /* NULL: none */
struct adl_job_table_user adl_job_table_user(const struct adl_job_table *job_table,
                                             uint32_t uid);            /* zero: has no job */
uint32_t adl_job_table_running(const struct adl_job_table *job_table); /* jobs that are R; all others are PD */
struct adl_job_entry *adl_job_table_at(const struct adl_job_table *job_table, uint32_t slot); /* NULL: none */

/* Moves a job as the table in job_stage.c says and does what the move does to the entry; what it does to the engine's
 * queue is the caller's (ADL_DO_LEAVE_QUEUE, ADL_DO_JOIN_QUEUE). NULL: the move is impossible, and nothing changed. */
const struct adl_stage_move *adl_job_table_move(struct adl_job_table *job_table, struct adl_job_entry *job, int event,
                                                int64_t now_us);
/* That part alone; once more changes nothing. */
void adl_job_entry_act(struct adl_job_entry *job, unsigned actions, int64_t now_us);
int adl_job_table_set_slot(struct adl_job_table *job_table, struct adl_job_entry *job, uint32_t alternative,
                           uint32_t slot);
int adl_job_table_set_reason(struct adl_job_entry *job, const char *reason);
void adl_job_table_set_waited(struct adl_job_entry *job, const char *reason); /* NULL: nothing; so without memory */

/* 1: the dependencies are met; 0: not yet; -1: they never will be; unless 1, *ret_culprit is one that is not met. The
 * number of an array, which is that of its first job, stands for the whole array. A job that was requeued after its end
 * counts as ended for jobs that were submitted before the requeue. end_of returns how a job ended that is not in the
 * job table, or is in it again: an enum adl_job_end, of an array that of the first member that did not complete;
 * negative if there is no such job; ADL_JOB_TABLE_PURGED if it was deleted since. A dependency on a deleted job is met:
 * a job whose dependency failed was cancelled when the other ended. */
#define ADL_JOB_TABLE_PURGED (-100)
int adl_job_table_dependencies(const struct adl_job_table *job_table, const struct adl_job_entry *job,
                               int (*end_of)(void *context, uint64_t id), void *context,
                               const struct adl_store_dependency **ret_culprit);

/* Whether the job depends on the job of this number or on its array (0 = none). */
bool adl_job_table_depends(const struct adl_job_entry *job, uint64_t id, uint64_t array_id);
bool adl_job_table_is_singleton(const struct adl_job_entry *job);

/* The number that clients see. */
static inline uint64_t adl_job_table_shown(const struct adl_job_entry *job)
{
    return job->external > 0 ? (uint64_t)job->external : job->id;
}

static inline bool adl_job_table_holds_gpus(const struct adl_job_entry *job)
{
    return adl_stages[job->stage].holds_gpus;
}

/* What it said of its steps in this attempt; NULL: nothing. */
static inline const struct adl_job_progress *adl_job_table_progress(const struct adl_job_entry *job)
{
    return job->progress.attempt == job->attempts && job->progress.time_us > 0 ? &job->progress : NULL;
}

/* It has begun, as far as is known. */
static inline bool adl_job_table_runs(const struct adl_job_entry *job)
{
    return adl_stages[job->stage].runs;
}

#endif
