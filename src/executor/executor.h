/* executor: carries out the service's decisions and reports what becomes of them. Three implement this interface: local
 * (processes of this machine), sim (a simulated cluster) and slurm. */
#ifndef ADLRO_EXECUTOR_EXECUTOR_H
#define ADLRO_EXECUTOR_EXECUTOR_H

#include "base/error.h"
#include "jobs/job_table.h"
#include "model/event.h"
#include "model/plan.h"

/* Who submitted a job to the cluster underneath, and what it asks for. The service gets its slots with admit. */
struct adl_arrival {
    int64_t external; /* its number in the cluster */
    uint32_t uid, gid;
    char user[64], name[200], request[256], directory[256];
    int64_t array_id; /* of a task of an array: the array's number in the cluster; else 0 */
    int32_t array_index;
    int64_t submit_us;    /* 0 = now */
    char ineligible[120]; /* why the cluster would not start it yet; "": it would */
};

/* What an executor reports. Each says which fields of struct adl_report it sets; about a job these are slot and number
 * too. */
enum adl_report_kind {
    ADL_REPORT_NONE, /* nothing: the report was withdrawn */

    ADL_REPORT_ARRIVED,         /* a user submitted a job to the cluster: submit; it has no slot yet */
    ADL_REPORT_GENERATED,       /* the simulated workload submitted a job: slot, submit.spec */
    ADL_REPORT_ELIGIBLE,        /* the cluster would start the job now */
    ADL_REPORT_INELIGIBLE,      /* it would not: text says why */
    ADL_REPORT_START_PENDING,   /* the job is placed, and the cluster has not started it */
    ADL_REPORT_STARTED,         /* the cluster has started the job where the service placed it */
    ADL_REPORT_CLUSTER_STARTED, /* the job runs where the cluster chose: running; text says why, "" = the service had
                                 * not placed it at all */
    ADL_REPORT_PROGRESS,        /* steps_per_s, steps_left */
    ADL_REPORT_ENDED,           /* the job ended for good: outcome, exit_code, signal, start_us, text */
    ADL_REPORT_REQUEUED,        /* the job lost its GPUs and waits again: requeue, the rest as for ENDED */

    ADL_REPORT_GPU_DOWN,    /* gpu, foreign, text says why */
    ADL_REPORT_GPU_UP,      /* gpu */
    ADL_REPORT_SAMPLE,      /* gpu, sample */
    ADL_REPORT_METER,       /* gpu, energy_j */
    ADL_REPORT_POWER_LIMIT, /* limit_w: what all GPUs of the simulated cluster may draw from now on */
    ADL_REPORT_VERSION,     /* gpu, version: when it is first known, and when it changed */
};

struct adl_report {
    uint8_t kind;    /* enum adl_report_kind */
    int64_t time_us; /* when it happened, by the time that poll is given; 0 = now */
    uint32_t slot;
    uint64_t number; /* of the job, whatever slots it has by now; 0: the slot says which job it is */
    uint32_t gpu;
    char text[200]; /* for people */
    int32_t exit_code;
    int32_t signal;
    int64_t start_us; /* by the time that poll is given; 0 = when the service started it */
    union {
        struct {
            const struct adl_job_spec *spec;
            const struct adl_arrival *arrival; /* both live until the next call of poll */
        } submit;
        struct adl_outcome outcome;
        struct {
            double remaining; /* share of its work still to do; negative = not known: the engine
                                 predicts it */
            double energy_j;  /* that the job has drawn in all its runs; 0 or negative = not known */
            bool fault;       /* a failure and not a preemption */
        } requeue;
        struct {
            const uint32_t *gpus; /* live until the next call of poll */
            uint32_t gpu_count;
        } running;
        uint32_t foreign; /* processes from outside the queue because of which the GPU is down; 0 = it failed */
        struct {
            struct adl_telemetry readings;
            int64_t memory_used_mib; /* negative = not known */
            double energy_j;         /* by its counter, since the service started; negative = it has none */
            bool blurred;            /* of a meter that several jobs share: for people, not for estimates */
        } sample;
        double energy_j;        /* the GPU's counter, since the service started */
        double limit_w;         /* POWER_LIMIT; 0 = none */
        struct {                /* PROGRESS */
            double steps_per_s; /* of all its GPUs together */
            double steps_left;  /* 0 = the job does not say */
        };
        char version[ADL_VERSION_SIZE];
    };
};

struct adl_executor_ops {
    const char *name;    /* "local", "sim", "slurm" */
    bool confirms_start; /* a job runs once STARTED is reported; else from start on */
    bool reports_speed;  /* reports PROGRESS; else the service counts a whole run of a named job as a step */
    void (*destroy)(void *executor);

    /* A slot for one more job, until it is withdrawn, or ENDED was reported and the job is forgotten. */
    int (*admit)(void *executor, const struct adl_job_spec *spec, uint32_t *ret_slot, struct adl_error *err);
    void (*withdraw)(void *executor, uint32_t slot); /* of a job that holds no GPUs */

    /* The store has the decision. The executor may carry it out later, in poll: the entry lives until its end was
     * reported. A job that cannot be started is reported as ENDED with ADL_END_FAILED. */
    int (*start)(void *executor, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus,
                 struct adl_error *err);
    /* Stops the job: ENDED follows (CANCELLED, or how it ended before), or REQUEUED if requeue. */
    int (*stop)(void *executor, const struct adl_job_entry *job, uint32_t slot, bool requeue, const char *reason,
                struct adl_error *err);
    /* Optional. A job that this executor reported, also before a restart, has this number in the service. */
    void (*introduce)(void *executor, const struct adl_job_entry *job);
    /* Optional. The service cancelled a job that waits: it is to be cancelled in the cluster too. */
    void (*drop)(void *executor, const struct adl_job_entry *job, const char *reason);
    /* Optional. In mode advise: what the service would do with a job, or when it is expected to start. */
    void (*advise)(void *executor, const struct adl_job_entry *job, const char *text);
    int (*cap)(void *executor, const uint32_t *gpus, uint32_t gpu_count, double power_w, struct adl_error *err);

    /* After a restart, for each job that held GPUs: true if the executor has it and will report its end. gpus NULL:
     * they are not in the inventory any more, and the service will stop the job. */
    bool (*adopt)(void *executor, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus);
    /* The store has the end of a job, or that it was requeued: the executor may delete what it keeps of that attempt.
     */
    void (*forget)(void *executor, uint64_t job, uint32_t attempt);

    /* 1 and a report; 0: nothing now. Never waits. Called without the service state's lock. now_us and due_us are
     * steady time (executor/clock.h). */
    int (*poll)(void *executor, int64_t now_us, struct adl_report *ret, struct adl_error *err);
    int64_t (*due_us)(void *executor); /* poll may have a report at this time, whatever fd says; INT64_MAX: no */
    int (*fd)(void *executor);         /* readable when poll may have a report; -1 = none */
};

/* A zeroed one is none. */
struct adl_executor {
    const struct adl_executor_ops *ops;
    void *self;
};

#endif
