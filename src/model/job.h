/* job: a job's specification, as submitted. Only the world knows its true run time. */
#ifndef ADLRO_MODEL_JOB_H
#define ADLRO_MODEL_JOB_H

#include <stdbool.h>
#include <stdint.h>

enum adl_job_kind {
    ADL_KIND_TRAINING,
    ADL_KIND_INFERENCE,
    ADL_KIND_SIMULATION,
    ADL_KIND_DATA,
    ADL_KIND_COUNT,
};

extern const char *const adl_kind_names[ADL_KIND_COUNT + 1]; /* of enum adl_job_kind, ends with NULL */

enum adl_job_flag {
    ADL_JOB_SHARE = 1 << 0,       /* may run beside one other job on the same GPU */
    ADL_JOB_PREEMPTIBLE = 1 << 1, /* may be stopped and run again; enum adl_stop_loss says what it loses */
    ADL_JOB_SPAN = 1 << 2,        /* its GPUs may be on several nodes */
};

/* What a job loses when it is stopped and run again, beside the time to stop and restart. */
enum adl_stop_loss {
    ADL_LOSS_NOTHING,          /* it writes a checkpoint when it is told to stop */
    ADL_LOSS_SINCE_CHECKPOINT, /* work since its last checkpoint: one every checkpoint_us of run time */
    ADL_LOSS_ALL,              /* all its work: the next run starts from scratch */
    ADL_LOSS_COUNT,
};

#define ADL_JOB_GPUS_MAX 4096

/* Demands for CPU cores and host memory are per GPU of the job, as with Slurm's --cpus-per-gpu and --mem-per-gpu. */
struct adl_job_spec {
    uint64_t id;
    uint32_t user;
    uint32_t name_id;       /* its name, as adl_job_name_id; 0 = none */
    uint16_t class_index;   /* its declared job class, an index into the scenario's classes */
    uint16_t gpus;          /* a gang: all start together */
    uint32_t types;         /* mask of acceptable GPU types */
    uint8_t kind;           /* enum adl_job_kind */
    uint8_t flags;          /* enum adl_job_flag */
    uint8_t stop_loss;      /* enum adl_stop_loss */
    int32_t cpu_cores;      /* per GPU */
    int32_t memory_mib;     /* host memory, per GPU */
    int32_t gpu_memory_mib; /* on each GPU */
    float priority;         /* 0..1, higher is more urgent */
    float share_slowdown;   /* it shares a GPU only if its predicted speed is at least 1/this; 0 = always */
    float min_steps_per_s;  /* SLA: least throughput while running; 0 = none */
    float step_gflop;       /* arithmetic of a step on one GPU; 0 = not given */
    float step_gb;          /* bytes a step moves to and from one GPU's memory, in GB; 0 = not given */
    int64_t limit_us;       /* the user's time limit, wall clock on whatever GPU it gets */
    int64_t deadline_us;    /* SLA: finish within this time after submission; 0 = none */
    int64_t checkpoint_us;  /* ADL_LOSS_SINCE_CHECKPOINT: run time from one checkpoint to the next, above 0; else 0 */
};

static inline bool adl_job_has_sla(const struct adl_job_spec *spec)
{
    return spec->deadline_us > 0 || spec->min_steps_per_s > 0;
}

/* How a job ended; the letters are Slurm's state codes. */
enum adl_job_end {
    ADL_END_COMPLETED, /* CD */
    ADL_END_FAILED,    /* F */
    ADL_END_CANCELLED, /* CA */
    ADL_END_TIMEOUT,   /* TO */
};

/* A hash of the name of a job, its model or a user. 0 for an empty one. */
uint32_t adl_job_name_id(const char *name);

/* How much of the time since a job last started a stop would have it repeat. */
static inline int64_t adl_job_lost_us(const struct adl_job_spec *spec, int64_t ran_us)
{
    if (spec->stop_loss == ADL_LOSS_NOTHING)
        return 0;
    return spec->stop_loss == ADL_LOSS_SINCE_CHECKPOINT && spec->checkpoint_us > 0 ? ran_us % spec->checkpoint_us
                                                                                   : ran_us;
}

const char *adl_stop_loss_name(int loss); /* "nothing", "since_checkpoint", "all" */
const char *adl_job_kind_name(int kind);  /* "training", ... */
int adl_job_kind_find(const char *name);  /* -1 if there is none */
const char *adl_job_end_name(int end);

#endif
