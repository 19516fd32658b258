/* executor: what carries out the service's decisions: processes of this machine, or a simulated cluster; and tells what
 * becomes of them. Simulated executor enter by the same door as real ones. */
#ifndef ADLRO_EXECUTOR_EXECUTOR_H
#define ADLRO_EXECUTOR_EXECUTOR_H

#include "base/error.h"
#include "jobs/job_table.h"
#include "model/event.h"
#include "model/plan.h"

/* Who sent a job to the cluster underneath, and what for. It gets its slots by admit. */
struct adl_arrival {
    int64_t external; /* its number there */
    uint32_t uid, gid;
    char user[64], name[200], request[256], directory[256];
    int64_t array_id; /* of a task of an array: the array's number there; else 0 */
    int32_t array_index;
    int64_t submit_us; /* 0 = now */
    char bar[120];     /* why the cluster would not start it yet; "": it would */
};

/* Of a job that was started: whether the cluster underneath has begun it. */
enum adl_report_begin { ADL_BEGIN_UNTOLD, ADL_BEGIN_AWAITED, ADL_BEGIN_SEEN };

/* Something happened. Events about jobs: FINISH, EVICT, PROGRESS, and SUBMIT of jobs that the executor bring themselves
 * (a twin's workload, a cluster's users). Events about GPUs: GPU_DOWN, GPU_UP, TELEMETRY, METER. event.time_us is not
 * set.
 */
struct adl_report {
    struct adl_event event;
    const struct adl_arrival
        *arrival; /* SUBMIT of a job that somebody sent to the cluster underneath; NULL: a twin's own */
    /* About a job, whatever slots it has by now; 0: the event's slot says which. */
    uint64_t number;
    /* WAKE with a job: it runs, though nobody here decided so, on these GPUs; if it was started, on these instead, for
     * the reason that text says. Without any: the cluster would not start it now, for that reason; without text: it
     * would again. */
    const uint32_t *gpus;
    uint32_t gpu_count;
    uint8_t begin; /* enum adl_report_begin; WAKE with a job and without GPUs */
    /* FINISH and EVICT of jobs that ran; evict.remaining negative = not known: what the job says that a stop loses is
     * believed. */
    int32_t exit_code;
    int32_t signal;
    int64_t start_us;        /* by the time that poll is given; 0 = when it was told to */
    int64_t end_us;          /* FINISH: the same; 0 = now */
    char text[200];          /* for people: why it failed; of a GPU: why it is down */
    uint32_t foreign;        /* GPU_DOWN: because of so many processes from outside the queue; 0 = it failed */
    int64_t memory_used_mib; /* TELEMETRY; negative = not known */
    double energy_j;         /* TELEMETRY: by its counter, since the service began; negative = it has none. EVICT: what
                              * the job has drawn in all its runs; 0 or negative = not known */
    bool blurred;            /* TELEMETRY: of a meter that several jobs share: for people, not for estimates */
};

struct adl_executor_ops {
    const char *name;    /* "local", "sim", "slurm" */
    bool confirms_start; /* a job that was started has begun once a report says so; else at once */
    bool tells_speed;    /* reports PROGRESS itself; else a whole run of a job that has a name counts as a step */
    void (*destroy)(void *executor);

    /* A slot for one more job, from now until it is withdrawn, or its FINISH was reported and it is forgotten. */
    int (*admit)(void *executor, const struct adl_job_spec *spec, uint32_t *ret_slot, struct adl_error *err);
    void (*withdraw)(void *executor, uint32_t slot); /* of a job that holds no GPUs */

    /* Safely in the store by now; may be carried out later, in poll: job stays as it is until its end was reported.
     * What cannot be started is reported as FINISH with ADL_END_FAILED. */
    int (*start)(void *executor, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus,
                 struct adl_error *err);
    /* It has to end: FINISH (end CANCELLED, or how it ended before it heard), or EVICT if requeue. */
    int (*stop)(void *executor, const struct adl_job_entry *job, uint32_t slot, bool requeue, const char *reason,
                struct adl_error *err);
    /* Optional. A job that came from these executor, or from executor like them before a restart, has this number now.
     */
    void (*introduce)(void *executor, const struct adl_job_entry *job);
    /* Optional. One that waits was cancelled here: it has to go there too. */
    void (*drop)(void *executor, const struct adl_job_entry *job, const char *reason);
    /* Optional. What would be done with a job, where nothing may be. */
    void (*advise)(void *executor, const struct adl_job_entry *job, const char *text);
    int (*cap)(void *executor, const uint32_t *gpus, uint32_t gpu_count, double power_w, struct adl_error *err);

    /* After a restart, for each job that held GPUs: true if it is in hand again and its end will be reported. gpus
     * NULL: they are gone; it is only taken up to be stopped. */
    bool (*adopt)(void *executor, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus);
    /* The end of a job, or that it is back in the queue, was committed: its traces may go. */
    void (*forget)(void *executor, uint64_t job, uint32_t attempt);

    /* 1 and a report; 0: nothing now. Never waits. Called without the service state's lock. now_us is steady time
     * (executor/clock.h), and so is what due_us says. */
    int (*poll)(void *executor, int64_t now_us, struct adl_report *ret, struct adl_error *err);
    int64_t (*due_us)(void *executor); /* poll has something at this time, even if fd says nothing; INT64_MAX: no */
    int (*fd)(void *executor);         /* readable when poll may have something; -1 = none */
};

/* What carries out the service's decisions. A zeroed one is none. */
struct adl_executor {
    const struct adl_executor_ops *ops;
    void *self;
};

#endif
