/* service state: what the deciding thread and the serving threads share: jobs, GPUs and engine behind one lock, and the
 * history of the charts.
 *
 * Only the deciding thread changes it. It holds the lock meanwhile, and never while it waits or writes to disk. Others
 * take the lock, read at most a page, and release it. */
#ifndef ADLRO_SERVICE_SERVICE_STATE_H
#define ADLRO_SERVICE_SERVICE_STATE_H

#include "engine/engine.h"
#include "executor/inventory.h"
#include "http/events.h"
#include "jobs/job_table.h"
#include "jobs/label.h"
#include "service/forecast.h"
#include "service/hooks/hooks.h"
#include "service/idle.h"
#include "service/power.h"
#include "service/request_queue.h"
#include "service/snapshot.h"
#include "service/user_sums.h"

#include <pthread.h>

/* The state of a GPU as clients see it. */
enum adl_gpu_state {
    ADL_GPU_STATE_IDLE,
    ADL_GPU_STATE_BUSY,
    ADL_GPU_STATE_DRAINING, /* takes no more jobs; those on it continue */
    ADL_GPU_STATE_DRAINED,
    ADL_GPU_STATE_OCCUPIED, /* processes from outside the queue are on it */
    ADL_GPU_STATE_LOST,     /* its driver says that it is gone, or it failed */
    ADL_GPU_STATE_COUNT,
};

const char *adl_gpu_state_name(int state); /* "idle", ... */

struct adl_service_state_gpu {
    bool drain;                /* an administrator asked for it, or the service drained it because it is slow */
    bool drained_slow;         /* the latter */
    int64_t drain_us;          /* since when, wall time */
    bool lost;                 /* its driver or the simulator reports it */
    uint32_t foreign;          /* processes from outside the queue */
    char reason[200];          /* of the three above */
    struct adl_telemetry last; /* sample */
    int64_t last_us;           /* when; 0 = never */
    int64_t memory_used_mib;   /* negative = not known */
    double energy_j;           /* by its counter, since the service began */
    int64_t read_us;           /* when it was last sampled, steady time; 0 = never */
    int64_t unused_us;         /* for so long all readings of its utilization are low */
};

/* One step of the charts. */
struct adl_point {
    int64_t time_us;   /* its end */
    float busy_gpus;   /* mean over the step */
    float utilization; /* mean of the readings, 0..1; negative = none */
    float power_w;     /* of all GPUs together; negative = not known */
    uint32_t pending, running;
    uint32_t ended;     /* in the step, completed or not */
    double jct_sum_s;   /* of those that completed in the step */
    uint32_t completed; /* how many completed */
    double energy_j;    /* drawn in the step; negative = not known */
};

#define ADL_POINT_STEP_US INT64_C(10000000)
#define ADL_POINTS_MAX    8640 /* a day */

/* What follows from slow GPUs and from predictions that do not hold. */
struct adl_service_state_health {
    double drain_below; /* a GPU this share below its type is drained; 0: none is */
    const struct adl_policy_ops *configured;
    const struct adl_policy_ops *fallback; /* decides while predictions do not hold; NULL: the configured one does */
    bool fallen_back;
};

/* The reason of a drain by the service itself begins so; a restart recognizes it. */
#define ADL_DRAINED_SLOW "drained by adlro: "

struct adl_service_state_counts {
    uint64_t submitted, started, completed, failed, cancelled, timed_out, requeued; /* since the service began */
    uint64_t store_failures;   /* groups that could not be written */
    uint64_t impossible_moves; /* of jobs: internal errors (jobs/job_stage.h) */
    uint64_t gpu_alarms;       /* times that a GPU was found slow or throttled */
    uint64_t type_alarms;      /* changes of whole types that were found */
    uint64_t model_alarms;     /* times that predictions of run times ceased to hold */
    double energy_j;
    uint64_t idle_stopped; /* jobs, because they did not use their GPUs */
};

/* A decision about a job, with its reason. */
struct adl_decision {
    uint64_t sequence; /* of the store's event; 0 = none yet */
    int64_t time_us;
    uint64_t job; /* the number that clients see */
    char label[ADL_LABEL_SIZE];
    uint32_t uid;  /* whose it is */
    char what[16]; /* "start", "preempt", "advise" */
    char gpus[120];
    char why[264];
};

#define ADL_DECISIONS_MAX 256

struct adl_questions;

struct adl_service_state {
    pthread_mutex_t lock;
    pthread_mutex_t turn; /* ticket lock: waiters are served first come, first served */
    struct adl_inventory *inventory;
    struct adl_job_table job_table;
    struct adl_engine *engine;
    struct adl_service_state_gpu *gpus; /* [gpu] */
    struct adl_point *points;           /* ring of ADL_POINTS_MAX */
    uint64_t point_count;               /* ever */
    struct adl_decision *decisions;     /* ring of ADL_DECISIONS_MAX */
    uint64_t decision_count;            /* ever */
    struct adl_service_state_counts counts;
    struct adl_service_state_health health;
    struct adl_idle_config idle;
    struct adl_service_state_power power;
    struct adl_user_sums idle_users; /* GPU time held and not used since the service began */
    const struct adl_policy_ops *policy;
    const char *engine_name;                                   /* "local", "sim" */
    double speed;                                              /* of time: 1, or a twin's */
    int64_t started_us;                                        /* when the service began, by its own clock */
    int64_t (*now_us)(const struct adl_service_state *shared); /* from any thread, without the lock */
    void *clock;
    int64_t wall_ahead_us; /* wall time less the engine's steady time */
    char version[32];
    char trouble[400]; /* why nothing can be written now; "" = it can */
    char notice[400];  /* what an administrator should know, though the service works; "" = nothing */

    struct adl_request_queue *request_queue; /* used without the lock, like the following */
    struct adl_snapshots *snapshots;         /* copies of the engine for other threads */
    struct adl_forecasts *forecasts;         /* when jobs will start */
    struct adl_shadowing *shadowing;         /* another policy, compared with the one in force; with the lock */
    struct adl_questions *questions;         /* what-if questions of clients */
    struct adl_events *events;
    struct adl_hooks *hooks;     /* NULL: there are none */
    const char *state_directory; /* for threads that open their own store */
    bool gate_auto;    /* a policy that shadows is promoted by itself unless it says otherwise; with the lock */
    bool private_jobs; /* users see no jobs but their own; administrators see all */
};

void adl_service_state_lock(struct adl_service_state *shared);
void adl_service_state_unlock(struct adl_service_state *shared);

/* With the lock held: */
int adl_service_state_gpu_state(const struct adl_service_state *shared, uint32_t gpu); /* enum adl_gpu_state */
/* Whether the policy has the job in its queue. */
bool adl_service_state_in_queue(const struct adl_service_state *shared, const struct adl_job_entry *job);
/* Why a job that is PD waits, in words; never empty. */
void adl_service_state_reason(const struct adl_service_state *shared, const struct adl_job_entry *job, char *ret,
                              size_t size);
/* "v0:volta#0", as events of the store name GPUs. */
#define ADL_GPU_NAME_SIZE (2 * ADL_NAME_SIZE + 16)
void adl_service_state_gpu_name(const struct adl_service_state *shared, uint32_t gpu, char ret[ADL_GPU_NAME_SIZE]);

#endif
