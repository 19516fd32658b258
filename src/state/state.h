/* state: the engine's present knowledge: live jobs, which job holds which GPU, what is free, which jobs wait.
 *
 * It changes only through the functions below, one event or one validated command at a time. Policies read it. */
#ifndef ADLRO_STATE_STATE_H
#define ADLRO_STATE_STATE_H

#include "model/cluster.h"
#include "model/event.h"
#include "model/job.h"
#include "state/pool.h"
#include "state/queue.h"

#include <assert.h>
#include <stdbool.h>

enum adl_phase {
    ADL_PHASE_NONE, /* the slot is not in use */
    ADL_PHASE_PENDING,
    ADL_PHASE_RUNNING,
    ADL_PHASE_STOPPING, /* told to stop; holds its GPUs until the world reports EVICT */
};

/* Three lines of the cache: what changes, what it asks for, and what is seldom read. */
struct adl_job {
    int64_t submit_us;
    int64_t start_us;    /* of this attempt */
    int64_t expected_us; /* predicted end of this attempt */
    int64_t attained_us; /* time run in earlier attempts */
    double remaining;    /* predicted share of its work left when this attempt began; see evict.remaining */
    uint32_t eligible;   /* mask of types it may and can run on */
    uint32_t lane;       /* while pending */
    uint32_t first_gpu;  /* while it holds GPUs: chain through adl_gpu_use */
    uint16_t type;       /* of its GPUs */
    uint8_t phase;       /* enum adl_phase */
    bool reports;        /* it has reported progress */
    uint32_t attempts;
    uint32_t bank; /* of its first GPU */
    struct adl_job_spec spec;
    double slowest;  /* speed of its slowest GPU relative to the type, as expected_us counts it */
    int64_t stop_us; /* while it stops: when it was told to */
    uint64_t padding[3];
};
static_assert(sizeof(struct adl_job) % ADL_LINE == 0, "rows of jobs are whole lines");

#define ADL_GPU_JOBS_MAX     2
#define ADL_REMAINING_MAX_US 9007199254740992.0 /* 2^53, 285 years: a share above 1 must not overflow */

struct adl_gpu_use {
    uint32_t job[ADL_GPU_JOBS_MAX];      /* ADL_NONE = free place; place 0 is filled first */
    uint32_t next_gpu[ADL_GPU_JOBS_MAX]; /* the next GPU of that job */
    int32_t free_memory_mib;
    bool down;
    double cap_w; /* 0 = no power cap */
};

struct adl_node_use {
    int32_t free_cores;
    int32_t free_memory_mib;
};

struct adl_belief;

struct adl_state {
    const struct adl_cluster *cluster;
    const struct adl_belief *belief; /* of run times, set by the engine (predict/belief.h) */
    int64_t now_us;
    struct adl_job *jobs;         /* [slot] */
    int64_t *runtime_us;          /* [slot][type] predicted run time of the whole job alone; 0 = it cannot run there */
    int64_t *spanning_us;         /* [slot][type] the same across nodes */
    struct adl_order_node *nodes; /* [slot] a pending job is in a lane's order, a running one in running[type] */
    size_t job_capacity;
    struct adl_gpu_use *gpus;
    struct adl_node_use *nodes_use;
    struct adl_telemetry *telemetry;  /* [gpu] last sample */
    int64_t *telemetry_us;            /* [gpu] when; INT64_MIN = never */
    double *gpu_speed;                /* [gpu] believed speed relative to its type; exactly 1 unless it drifted */
    double type_speed[ADL_TYPES_MAX]; /* the same of a type, relative to when it was first seen */
    bool drifted;                     /* some gpu_speed is not 1 ... */
    bool unrevised;                   /* ... and a job was started since ends were revised */
    uint64_t revisions;               /* of expected ends */
    struct adl_pool pool;
    struct adl_queue queue;
    struct adl_order *running; /* [type] by expected end; empty unless track_running */
    uint64_t running_sequence; /* of insertions into running */
    bool track_running;        /* the policy needs running jobs by their end ... */
    bool sorts_running;        /* ... and calls adl_state_sort_running() before it reads running */
    uint32_t running_jobs;     /* stopping ones included */
    uint32_t stopping_jobs;
    uint32_t busy_gpus; /* that hold at least one job */
    uint32_t down_gpus; /* that are down and hold none */
    bool learned;       /* run times are predicted from completed jobs (regime learned) */
    uint8_t placement;  /* enum adl_placement: how fit chooses; best fit by default */
    uint64_t releases;  /* grows whenever something became free: a job that did not fit may fit now */
};

int adl_state_create(const struct adl_cluster *cluster, struct adl_state **ret); /* 0 or ADL_ENOMEM */
void adl_state_destroy(struct adl_state *state);                                 /* accepts NULL */
void adl_state_reset(struct adl_state *state); /* as after create; settings of the policy stay */
int adl_state_copy(struct adl_state *to, const struct adl_state *from); /* of the same cluster; 0 or ADL_ENOMEM */
int adl_state_reserve(struct adl_state *state, size_t jobs); /* room for that many live jobs; 0 or ADL_ENOMEM */

/* A new job, with its predicted run times [type]; it is not in the queue until it is enqueued with its rank. */
int adl_state_admit(struct adl_state *state, uint32_t slot, const struct adl_job_spec *spec, const int64_t *runtime_us);
void adl_state_set_spanning(struct adl_state *state, uint32_t slot, const int64_t *spanning_us); /* not as within one */
int adl_state_enqueue(struct adl_state *state, uint32_t slot, int64_t rank);
void adl_state_start(struct adl_state *state, uint32_t slot, const uint32_t *gpus); /* validated: spec.gpus of them */
void adl_state_began(struct adl_state *state, uint32_t slot,
                     int64_t start_us); /* a running job started at that earlier time */
void adl_state_stopping(struct adl_state *state, uint32_t slot);
void adl_state_evict(struct adl_state *state, uint32_t slot, double remaining); /* then enqueue it again */
void adl_state_finish(struct adl_state *state, uint32_t slot);                  /* in any phase: the job is gone */
void adl_state_gpu_down(struct adl_state *state, uint32_t gpu); /* for new jobs; those on it keep running */
void adl_state_gpu_up(struct adl_state *state, uint32_t gpu);
void adl_state_cap(struct adl_state *state, const uint32_t *gpus, uint32_t gpu_count, double power_w); /* each */

static inline int64_t adl_state_runtime(const struct adl_state *state, uint32_t slot, uint32_t type)
{
    return state->runtime_us[(size_t)slot * state->cluster->type_count + type];
}

/* What the part of a job that was left when this attempt began takes, if the whole takes whole_us. */
static inline int64_t adl_state_left_us(const struct adl_job *job, int64_t whole_us)
{
    if (job->remaining == 1.0)
        return whole_us;
    const double left = job->remaining * (double)whole_us;
    return left < ADL_REMAINING_MAX_US ? (int64_t)left + 1 : (int64_t)ADL_REMAINING_MAX_US;
}

/* Predicted time to run the rest of a job on a type, if it started now. */
static inline int64_t adl_state_remaining_us(const struct adl_state *state, uint32_t slot, uint32_t type)
{
    return adl_state_left_us(&state->jobs[slot], adl_state_runtime(state, slot, type));
}

/* The same on the eligible type where it is least. */
int64_t adl_state_shortest_us(const struct adl_state *state, uint32_t slot);

/* How long a pending job has waited in all, without the time that it held GPUs. */
static inline int64_t adl_state_waited_us(const struct adl_state *state, uint32_t slot)
{
    return state->now_us - state->jobs[slot].submit_us - state->jobs[slot].attained_us;
}

/* Begins to load what the end of a job will touch: its row or, once that was fetched, its first GPU and that one's bank
 * and node as well. Always inline, because gcc drops calls of functions that do nothing but this. */
__attribute__((always_inline)) static inline void adl_state_fetch(const struct adl_state *state, uint32_t slot,
                                                                  bool gpu)
{
    const struct adl_job *job = &state->jobs[slot];
    if (gpu && job->first_gpu != ADL_NONE && job->phase >= ADL_PHASE_RUNNING) {
        const struct adl_gpu_use *use = &state->gpus[job->first_gpu];
        __builtin_prefetch(use, 1);
        __builtin_prefetch(&use->cap_w, 1); /* which may be on the next line */
        __builtin_prefetch(&state->pool.free_mask[job->bank], 1);
        __builtin_prefetch(&state->nodes_use[state->cluster->banks[job->bank].node], 1);
    }
    for (size_t at = 0; at < sizeof *job; at += 64)
        __builtin_prefetch((const char *)job + at, 1);
    if (state->track_running)
        __builtin_prefetch(&state->nodes[slot], 1);
}

/* Begins to load what the next job in the slot of one that has ended will write: worlds reuse the last slot first. */
__attribute__((always_inline)) static inline void adl_state_fetch_vacant(const struct adl_state *state, uint32_t slot)
{
    const size_t row = (size_t)slot * state->cluster->type_count;
    __builtin_prefetch(&state->nodes[slot], 1);
    __builtin_prefetch(&state->runtime_us[row], 1);
    __builtin_prefetch(&state->spanning_us[row], 1);
}

/* Puts the jobs that started since the last call into running. */
static inline void adl_state_sort_running(const struct adl_state *state)
{
    for (uint32_t t = 0; state->sorts_running && t < state->cluster->type_count; t++)
        adl_order_settle(state->nodes, &state->running[t]);
}

/* The GPU after this one in the job's chain, or ADL_NONE. */
static inline uint32_t adl_state_next_gpu(const struct adl_state *state, uint32_t slot, uint32_t gpu)
{
    const struct adl_gpu_use *use = &state->gpus[gpu];
    return use->next_gpu[use->job[0] == slot ? 0 : 1];
}

/* The job that shares the first GPU of a job that holds GPUs, or ADL_NONE. */
static inline uint32_t adl_state_neighbour(const struct adl_state *state, uint32_t slot)
{
    const struct adl_gpu_use *use = &state->gpus[state->jobs[slot].first_gpu];
    return use->job[use->job[0] == slot ? 1 : 0];
}

/* Believed speed of a GPU relative to its type, and of a type relative to before (predict/drift/drift.h). A change
 * moves the expected ends of jobs that run on the GPU. */
void adl_state_set_gpu_speed(struct adl_state *state, uint32_t gpu, double speed);
void adl_state_set_type_speed(struct adl_state *state, uint32_t type, double speed); /* and run times of waiting jobs */

/* Expected ends of running jobs count the slowest of their GPUs from now on. A start does not: policies promise
 * reservations by the type, before GPUs are chosen, so ends are revised when the instant is over. */
void adl_state_revise_ends(struct adl_state *state);

/* Speed of the slowest GPU of a job that holds some, relative to the type. */
double adl_state_slowest(const struct adl_state *state, uint32_t slot);

/* How fast a job that holds GPUs is believed to be, relative to new ones: as fast as the slowest. */
double adl_state_gang_speed(const struct adl_state *state, uint32_t slot);

/* True if the GPUs of a job that holds some are on several nodes. */
bool adl_state_spans_nodes(const struct adl_state *state, uint32_t slot);

#endif
