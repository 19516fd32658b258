/* sim: private header of the simulated world: job_speed.c (how fast jobs run and what GPUs draw), faults.c (failures
 * and drift), schedule.c (events to come), world_sim.c (events and commands), live.c (a world whose caller sets the
 * time) and adopt.c (one that begins in the middle). */
#ifndef ADLRO_SIM_SIM_H
#define ADLRO_SIM_SIM_H

#include "base/heap.h"
#include "base/index.h"
#include "sim/power.h"
#include "sim/sampler.h"
#include "sim/source.h"
#include "sim/true_drift.h"
#include "sim/world_sim.h"

#include <assert.h>

/* Events in the heap, in order of precedence: at one instant jobs end before others begin. */
enum sim_event {
    SIM_EVENT_FINISH, /* of a job: done or out of time */
    SIM_EVENT_EVICT,  /* of a job: it has stopped and written its checkpoint, if it saves one */
    SIM_EVENT_RESUME, /* of a job: it has restarted, its checkpoint is read; inside the world only */
    SIM_EVENT_GPU_UP,
    SIM_EVENT_NODE_UP,
    SIM_EVENT_GPU_FAIL,
    SIM_EVENT_NODE_FAIL,
    SIM_EVENT_DRAIN,       /* of a GPU: it takes no more jobs */
    SIM_EVENT_THROTTLE,    /* of a GPU: it becomes hot or cool; inside the world only */
    SIM_EVENT_UPDATE,      /* of a type: a software update; inside the world only */
    SIM_EVENT_POWER_LIMIT, /* of the scenario's list */
    SIM_EVENT_WAKE,
    SIM_EVENT_TELEMETRY,
};

#define GENERATION_MASK 0x0fffffffu

enum sim_phase { SIM_GONE, SIM_QUEUED, SIM_STARTING, SIM_RUNNING, SIM_STOPPING };

struct sim_job {
    double remaining; /* share of the work left at since_us */
    double saved;     /* the same at the start of this attempt: what a failure leaves */
    double rate;      /* share of the work done per us */
    int64_t since_us;
    int64_t start_us; /* of this attempt */
    int64_t run_us;   /* earlier attempts */
    int64_t limit_us;
    int64_t ideal_us;
    double steps;
    double energy_j;
    uint32_t first_gpu;
    uint32_t generation; /* of this job's only event in the heap that is not stale */
    uint32_t attempts;
    int64_t checkpoint_us; /* from the job's specification, as is stop_loss */
    uint16_t class_index;
    uint16_t gpus;
    uint8_t stop_loss;
    uint8_t phase;
    bool out_of_time; /* its FINISH is its limit */
    uint32_t next_free;
    uint16_t type; /* while it holds GPUs: theirs */
    uint16_t padding[3];
};
static_assert(sizeof(struct sim_job) % ADL_LINE == 0, "rows of jobs are whole lines");

struct sim_gpu {
    uint32_t job[2];
    uint32_t next_gpu[2];
    struct adl_power_meter meter;
    uint32_t down; /* number of reasons to be down: itself, its node */
};

struct sim_cap {
    double cap_w; /* 0 = none */
    double speed; /* of the jobs there under the cap; 1 without a cap */
};

/* An event ready to be reported. */
struct pending_event {
    uint8_t kind;
    bool fault;
    uint32_t ref;
    double value;
    double steps_left; /* PROGRESS */
};

struct adl_world_sim {
    const struct adl_scenario *scenario;
    int regime;
    int64_t now_us;
    struct adl_heap heap;
    size_t crowded; /* so many events in the heap are looked through for stale ones */
    struct adl_job_source source;
    struct adl_true_job arrivals[2]; /* the next job to arrive, and the last: its event points there */
    uint32_t next_arrival;           /* which of the two */
    bool more_arrivals;
    bool source_failed;
    struct adl_error source_error;
    struct sim_job *jobs;
    int64_t *runtime_us;                   /* [slot][type] */
    int64_t *spanning_us;                  /* the same across nodes; of a world that adopts jobs, else NULL */
    int64_t revealed_us[2][ADL_TYPES_MAX]; /* regime oracle: of the last job, on its best placement and across nodes */
    size_t job_capacity, spanning_capacity;
    uint32_t job_count; /* slots ever used */
    uint32_t free_slot;
    uint32_t live_jobs, held_jobs; /* in the world; holding GPUs */
    uint32_t wakes, repairs;       /* of these, in the heap */
    struct sim_gpu *gpus;
    uint32_t shared_gpus; /* that hold two jobs */
    struct sim_cap *caps; /* [gpu] not in sim_gpu, because caps are rare */
    uint32_t capped_gpus; /* that have one */
    struct adl_true_drift drift;
    bool steady; /* no GPU ever changes its speed */
    struct adl_sampler sampler;
    struct adl_rng faults;
    struct pending_event *outbox;
    size_t outbox_capacity;
    uint32_t outbox_first, outbox_count;
    uint32_t sweep, sweep_end; /* GPUs still to be reported */
    uint8_t sweep_kind;
    int64_t swept_us; /* the last telemetry; 0 = none yet */
    bool ended;
    bool adopts;        /* began by adl_world_sim_begin_at */
    bool live;          /* driven by adl_world_sim_advance ... */
    int64_t until_us;   /* ... up to this time */
    int64_t metered_us; /* live: the last telemetry after which counters were reported */
};

/* True if a job's event in the heap is no longer to come. */
static inline bool adl_sim_stale(const struct adl_world_sim *world, const struct adl_heap_item *item)
{
    const enum sim_event what = (enum sim_event)(item->tag >> 60);
    return what <= SIM_EVENT_RESUME &&
           (world->jobs[(uint32_t)item->tag].generation & GENERATION_MASK) != (item->tag >> 32 & GENERATION_MASK);
}

static inline int64_t adl_sim_us(double seconds)
{
    return (int64_t)(seconds * 1e6 + 0.5);
}

/* All int functions below return 0 or ADL_ENOMEM. */

/* schedule.c */
int adl_sim_schedule(struct adl_world_sim *world, int64_t time_us, enum sim_event what, uint32_t ref,
                     uint32_t generation);

/* world_sim.c */
int adl_sim_restart(struct adl_world_sim *world, int64_t now_us, uint64_t seed, struct adl_error *err);
int adl_sim_skip_slots(struct adl_world_sim *world, uint32_t slot); /* the slot is taken, those before it are free */
void adl_sim_set_job(struct adl_world_sim *world, uint32_t slot, const struct adl_true_job *truth);
uint32_t adl_sim_add_job(struct adl_world_sim *world, const struct adl_true_job *truth); /* slot; ADL_NONE: no memory */
double adl_sim_revealed_remaining(const struct adl_world_sim *world, uint32_t slot);     /* for EVICT; -1 = not told */
void adl_sim_free_slot(struct adl_world_sim *world, uint32_t slot);
int64_t adl_sim_next_time(const struct adl_world_sim *world); /* of the next event; INT64_MAX: none */

static inline bool adl_sim_reports_waiting(const struct adl_world_sim *world)
{
    return world->outbox_first < world->outbox_count || world->sweep < world->sweep_end;
}

/* live.c */
bool adl_sim_due(struct adl_world_sim *world);     /* an event is due by until_us */
bool adl_sim_due_now(struct adl_world_sim *world); /* at this instant */

/* job_speed.c */
void adl_sim_activity(const struct adl_world_sim *world, uint32_t gpu, double *ret_activity, double *ret_bandwidth);
void adl_sim_count_power(struct adl_world_sim *world, uint32_t gpu); /* before anything about the GPU changes */
void adl_sim_set_power(struct adl_world_sim *world, uint32_t gpu);   /* after it changed */
int adl_sim_set_speed(struct adl_world_sim *world, uint32_t slot);   /* of a running job: recomputes speed and end */
int adl_sim_set_phase(struct adl_world_sim *world, uint32_t slot, enum sim_phase phase);
int adl_sim_start(struct adl_world_sim *world, const struct adl_command *command, const uint32_t *gpus);
int adl_sim_leave(struct adl_world_sim *world, uint32_t slot);        /* its GPUs */
int adl_sim_set_speeds_on(struct adl_world_sim *world, uint32_t gpu); /* of the jobs that run there */
int adl_sim_cap(struct adl_world_sim *world, const struct adl_command *command, const uint32_t *gpus);
int adl_sim_stop(struct adl_world_sim *world, uint32_t slot); /* it stops working; its EVICT follows */
int adl_sim_evict(struct adl_world_sim *world, uint32_t slot, bool fault);
double adl_sim_steps_left(const struct adl_world_sim *world, uint32_t slot);         /* of a running job */
double adl_sim_steady_steps_per_s(const struct adl_world_sim *world, uint32_t slot); /* 0 = its speed changed */

/* faults.c */
int adl_sim_post(struct adl_world_sim *world, struct pending_event event);
int adl_sim_fault(struct adl_world_sim *world, enum sim_event what, uint32_t ref);
int adl_sim_schedule_faults(struct adl_world_sim *world); /* the first of each, when the world begins */

#endif
