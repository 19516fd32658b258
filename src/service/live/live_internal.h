/* live_internal: what live*.c share. */
#ifndef ADLRO_SERVICE_LIVE_INTERNAL_H
#define ADLRO_SERVICE_LIVE_INTERNAL_H

#include "base/heap.h"
#include "base/index.h"
#include "base/json.h"
#include "service/live/live.h"

#include <stdatomic.h>

#define ADL_LIVE_REPORTS_MAX 256 /* in one group */
#define ADL_LIVE_WAITING_MAX 256

/* An event on its way to the engine. */
struct adl_live_item {
    struct adl_event event;
    struct adl_job_spec spec; /* SUBMIT */
};

/* A decision to be written and then executed. */
struct adl_live_act {
    uint64_t job;
    uint32_t slot;
    bool start; /* else it is preempted */
    char why[264];
};

/* A job that the cluster started by itself, for the engine to take over. */
struct adl_live_takeover {
    uint64_t job;
    uint32_t slot;
    bool moved; /* the service had it on other GPUs */
};

/* What was last said of a GPU's speed. */
struct adl_live_health {
    uint8_t kind; /* enum adl_drift_kind */
    bool confirmed;
    bool asked;  /* it is about to be drained */
    bool spared; /* an administrator resumed it, or it was slow when the service began: it is not drained again */
};

/* A report, with what it points to. */
struct adl_live_report {
    struct adl_report base;
    struct adl_job_spec spec;   /* ARRIVED, GENERATED */
    struct adl_arrival arrival; /* ARRIVED */
    uint64_t number;            /* that the store gave the job */
    uint32_t *gpus;             /* owned; CLUSTER_STARTED */
};

struct adl_live {
    struct adl_live_config config;
    struct adl_service_state *shared;
    int64_t now_us;    /* wall time of the last event: for the store and for people */
    int64_t steady_us; /* the same for the engine, the executor and timers (executor/clock.h) */
    atomic_bool ending;
    uint64_t group; /* number of the current group of writes */

    struct adl_live_item *outbox;
    size_t outbox_capacity, outbox_first, outbox_count;
    struct adl_heap wakes;
    struct adl_heap begins; /* of jobs that wait for a time; some may wait no more */

    struct adl_request *requests; /* taken from the request queue, not yet in a group */
    struct adl_live_report reports[ADL_LIVE_REPORTS_MAX];
    uint32_t report_count;
    int64_t retry_us; /* when a failed write is retried, in steady time; 0 = none failed */

    struct adl_live_act *acts;
    size_t act_capacity;
    uint32_t act_count;
    struct adl_live_takeover *takeovers;
    size_t takeover_capacity;
    uint32_t takeover_count;
    struct adl_plan plan; /* for these */
    bool sampled;         /* there are readings that were not published yet */
    bool moving;          /* the engine is about to be replaced */
    bool adopting;        /* starts are of jobs that run already */

    int64_t point_us, point_step_us, counted_us; /* history: end of the step, its length, counted up to */
    struct adl_point point;                      /* the step that is being counted */
    double busy_gpu_us;
    /* In steady time: */
    int64_t pause_us;     /* until then the engine gets no events */
    bool disk_full;       /* live_space.c: the disk is full, so that submissions are refused */
    int64_t space_us;     /* when that is checked again */
    int64_t present_us;   /* when the place of the state is checked again */
    uint64_t departed_id; /* while those that depend on it are placed: a job that ended, if of no array, and how */
    int departed_end;
    uint64_t rerun_group; /* the group that last requeued an ended job: until the job is in the job table, other
                           * requests about absent jobs wait */
    struct adl_job_table_user *claims; /* live_quota.c */
    size_t claim_capacity;
    uint32_t claim_count;
    uint64_t claim_group;
    uint64_t kept_points;           /* service_state.point_count when the store last got a point */
    uint64_t belief_saved;          /* adl_belief_count when the store last got it */
    int64_t belief_us;              /* when that was, in steady time */
    int64_t recent_us;              /* when the store last got recent submissions; steady */
    int64_t prune_us;               /* steady */
    struct adl_live_health *health; /* [gpu] live_health.c */
    uint32_t type_changes[ADL_TYPES_MAX];
    int64_t forecast_us;    /* steady: when expected starts are told to the cluster again (live_forecast.c) */
    uint64_t forecast_told; /* jobs up to this one were looked at; 0 = all */
    bool model_alarm;       /* predictions do not hold */
    int64_t health_us;      /* steady: when speeds are checked again */
    const struct adl_engine *power_engine;  /* that the power limit was posted to */
    int64_t idle_us;                        /* steady: the same for GPUs that jobs do not use */
    bool *down;                             /* [gpu] as posted to the engine */
    const char **names;                     /* [gpus + 1] scratch for a job's GPU names */
    uint64_t waiting[ADL_LIVE_WAITING_MAX]; /* live_waits.c: jobs that joined the queue since the last decision */
    uint32_t waiting_count;
    char shadow_note[200]; /* live_shadow.c: what is to be logged; "" = nothing */
};

/* live_clock.c */
void adl_live_tick(struct adl_live *live); /* reads the clock; the lock is held */
int64_t adl_live_wall_us(const struct adl_live *live, int64_t steady_us);
int64_t adl_live_steady_us(const struct adl_live *live, int64_t wall_us);

/* live.c */
int adl_live_post(struct adl_live *live, const struct adl_live_item *item); /* to the engine; 0 or ADL_ENOMEM */
/* Status of a job as the store keeps it; strings are the job's and the live world's until the next call. */
struct adl_store_status adl_live_status(struct adl_live *live, const struct adl_job_entry *job);
/* An event of the stream about a job of a user, for those who may see it. Clears the text. */
void adl_live_publish_to(struct adl_live *live, uint32_t uid, const char *kind, struct adl_text *text);
void adl_live_publish_job(struct adl_live *live, const struct adl_job_entry *job, const char *state);

/* live_commands.c: the reason of a command about a job in words. */
void adl_live_say_why(const struct adl_live *live, const struct adl_job_entry *job, const struct adl_reason *reason,
                      char *ret, size_t size);
int64_t adl_live_held_us(const struct adl_live *live, const struct adl_job_entry *job); /* GPUs, in this attempt */
/* "v0:volta#0 v0:volta#1"; the second as far as it fits. */
void adl_live_list_gpus(const struct adl_live *live, const uint32_t *gpus, uint32_t count, struct adl_text *text);
void adl_live_name_gpus(const struct adl_live *live, const uint32_t *gpus, uint32_t count, char *ret, size_t size);
int adl_live_submit(void *live, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err);
/* As the store keeps it: with all GPUs, and why the job waited. */
void adl_live_write_decision(struct adl_live *live, struct adl_json *json, const struct adl_decision *decision,
                             struct adl_job_entry *job);
void adl_live_publish_decision(struct adl_live *live, const struct adl_decision *decision); /* to streams */

/* live_jobs.c: moves of jobs from stage to stage, in memory, after they were written. */

/* Moves a job as the table in jobs/job_stage.c says, in the engine's queue too. An impossible move is an internal
 * error: it is counted and logged, the job stays as it is, and the call returns ADL_EREFUSED. A caller that is not sure
 * asks adl_stage_next() first. */
int adl_live_transition(struct adl_live *live, struct adl_job_entry *job, int event);
/* Tells the executor to start or stop a job whose stage is in the store; order is an enum adl_stage_order. */
int adl_live_execute(struct adl_live *live, struct adl_job_entry *job, int order, uint32_t slot, const char *why,
                     struct adl_error *err);
int adl_live_request(struct adl_live *live, struct adl_job_entry *job, struct adl_error *err); /* its alternatives */
const char *adl_live_held(int hold); /* the first words of the reason of a job with this enum adl_job_hold */
int adl_live_place(struct adl_live *live,
                   struct adl_job_entry *job); /* held, dependent or queued, as its conditions say */
void adl_live_fill_array(struct adl_live *live, struct adl_job_entry *member); /* NULL or unbounded: nothing */
void adl_live_begin_due(struct adl_live *live);                                /* jobs whose begin time has come */
void adl_live_started(struct adl_live *live, const struct adl_job_entry *job); /* places jobs that wait for its start */
void adl_live_place_dependent(struct adl_live *live); /* all of them: an earlier cancel of one may have failed */
void adl_live_withdraw(struct adl_live *live, struct adl_job_entry *job); /* out of the policy's queue */
/* The same, but the executor keeps this slot of it. */
void adl_live_withdraw_but(struct adl_live *live, struct adl_job_entry *job, uint32_t slot);
/* A job that ran waits again, after ADL_ON_EVICTED or ADL_ON_LOSE; tells the engine that it does not run there.
 * remaining is the share of its work still to do, negative = not known: what its specification says that a stop loses
 * counts. */
int adl_live_requeue(struct adl_live *live, struct adl_job_entry *job, int event, uint32_t slot, double remaining);
int adl_live_post_evict(struct adl_live *live, uint32_t slot, double remaining);
bool adl_live_in_engine(const struct adl_live *live, uint32_t slot);
/* To the hooks: what happened to a job; event is an enum adl_hook_event. */
void adl_live_notify(struct adl_live *live, const struct adl_job_entry *job, int event, const char *what,
                     const char *state, const char *why);
/* Moves a job by an event that ends it, and removes it from the job table. */
void adl_live_depart(struct adl_live *live, struct adl_job_entry *job, int event, int end);
/* Cancels a job by a request in a later group. */
void adl_live_give_up(struct adl_live *live, const struct adl_job_entry *job, const char *why);

/* The reason of a job that is being stopped. The store has it as well: after a crash it says how the job is to end. */
void adl_live_say_stop(struct adl_job_entry *job, const char *why);
#define ADL_REASON_CANCEL  "cancelled: "
#define ADL_REASON_REQUEUE "requeued: "

/* live_health.c */
/* An event to the store, the stream and the log; the lock is released while it writes. gpu: ADL_NONE = none. */
int adl_live_tell(struct adl_live *live, const char *kind, uint32_t gpu, const char *text);
void adl_live_health_check(struct adl_live *live);                                  /* a few times a second */
void adl_live_health_drained(struct adl_live *live, uint32_t gpu, const char *why); /* a GPU was drained or resumed */

/* live_idle.c */
void adl_live_idle_sample(struct adl_live *live, uint32_t gpu, const struct adl_telemetry *readings);
void adl_live_idle_check(struct adl_live *live); /* a few times a second; the lock is held */

/* live_drain.c */
int adl_live_drain_prepare(struct adl_live *live, struct adl_request *request);
void adl_live_drain_apply(struct adl_live *live, const struct adl_request *request);

/* live_power.c */
void adl_live_power_check(struct adl_live *live); /* often; the lock is held */
void adl_live_power_scenario(struct adl_live *live, double limit_w);
int adl_live_power_prepare(struct adl_live *live, struct adl_request *request);
void adl_live_power_apply(struct adl_live *live, const struct adl_request *request);

/* live_forecast.c */
void adl_live_forecast_tell(struct adl_live *live); /* now and then; the lock is held */

/* live_requests.c: prepare checks and writes (0, or the status of the request), apply changes memory; neither answers.
 */
bool adl_live_request_waits(const struct adl_live *live, const struct adl_request *request); /* for the next group */
int adl_live_request_prepare(struct adl_live *live, struct adl_request *request);
void adl_live_request_apply(struct adl_live *live, struct adl_request *request);

/* live_space.c */
#define ADL_LIVE_DISK_FULL                                                                                             \
    "the disk of the state is full: submissions and starts are refused until there is room; cancels, holds and ends "  \
    "of jobs are still kept"
/* After a group failed: true if it should be retried, without submissions or with the space of the reserve. */
bool adl_live_space_retry(struct adl_live *live);
void adl_live_space_check(struct adl_live *live); /* whether there is space again; once a second */

#define ADL_LIVE_CHANGES_MAX 1000 /* of one job; each is an event that is kept as long as the job */

/* live_quota.c: check and claim the room for a submission; adl_live_quota_room deletes ended jobs of the user to make
 * room in the state. */
int adl_live_quota_check(struct adl_live *live, const struct adl_request *request, struct adl_error *err);
int adl_live_quota_claim(struct adl_live *live, uint32_t uid, uint32_t jobs, uint64_t bytes, bool dry_run,
                         struct adl_error *err);
int adl_live_quota_room(struct adl_live *live, uint32_t uid, struct adl_error *err);

int adl_live_user_check(const struct adl_live *live, uint32_t uid,
                        struct adl_error *err); /* whether jobs of the user may run here */
int adl_live_refuse_absent(struct adl_live *live, struct adl_request *request); /* a job that is not in the job table */
int adl_live_log_request(struct adl_live *live, const struct adl_request *request, const char *kind,
                         struct adl_error *err);

/* live_progress.c: a running job says how far it has come. */
int adl_live_progress_prepare(const struct adl_live *live, struct adl_request *request,
                              const struct adl_job_entry *job);
void adl_live_progress_apply(struct adl_live *live, const struct adl_request *request, struct adl_job_entry *job);

/* live_requeue.c: an ended job back into the queue. */
int adl_live_rerun_prepare(struct adl_live *live, struct adl_request *request);
void adl_live_rerun_apply(struct adl_live *live, const struct adl_request *request);

/* Adds a stored job to the job table; if the cluster no longer has its GPUs, held for that reason. NULL: out of memory.
 */
struct adl_job_entry *adl_live_admit(struct adl_live *live, const struct adl_store_job *row, struct adl_error *err);

/* live_reports.c: the same for reports. */
bool adl_live_report_waits(const struct adl_live *live, const struct adl_report *report);
int adl_live_report_prepare(struct adl_live *live, struct adl_live_report *report, struct adl_error *err);
void adl_live_report_apply(struct adl_live *live, struct adl_live_report *report);

/* live_arrivals.c: ADL_REPORT_GENERATED and ADL_REPORT_ARRIVED. */
int adl_live_arrival_prepare(struct adl_live *live, struct adl_live_report *report, struct adl_error *err);
void adl_live_arrival_apply(struct adl_live *live, const struct adl_live_report *report);

/* Posts to the engine that a GPU is up or down, if that changed, and publishes its state. */
void adl_live_gpu_changed(struct adl_live *live, uint32_t gpu);

void adl_live_publish_samples(struct adl_live *live);

/* live_recover.c: the engine takes over jobs that the cluster started; no event may be on its way to it. */
int adl_live_take_over(struct adl_live *live, struct adl_error *err);
void adl_live_drop_alternatives(struct adl_live *live, struct adl_job_entry *job); /* live.c: all but the one taken */

/* live_waits.c: why jobs had to wait, for the event of their start. */
void adl_live_waits_begin(struct adl_live *live, struct adl_job_entry *job); /* it joins the queue */
void adl_live_waits_explain(struct adl_live *live);                          /* the policy has decided */

/* live_history.c */
void adl_live_count(struct adl_live *live, int64_t now_us); /* the time since the last call */
void adl_live_keep_point(struct adl_live *live);            /* in the store, if it is time; the lock is held */
void adl_live_find_points(struct adl_live *live);           /* from before a restart */

/* live_belief.c: what was learned about jobs, to the store if it is time or due; the lock is held. */
void adl_live_belief_save(struct adl_live *live, bool due);
/* ADL_REQUEST_BELIEF_READ and ADL_REQUEST_BELIEF_WRITE, as in live_requests.c. */
int adl_live_belief_prepare(struct adl_live *live, struct adl_request *request);
void adl_live_belief_apply(struct adl_live *live, struct adl_request *request);

/* live_recent.c: recent submissions, to the store if it is time or due; the lock is held. */
void adl_live_recent_save(struct adl_live *live, bool due);

/* live_shadow.c: a policy that shadows the one in force; the lock is held. */
int adl_live_shadow_prepare(struct adl_live *live, struct adl_request *request);
void adl_live_shadow_apply(struct adl_live *live, struct adl_request *request);
void adl_live_shadow_check(struct adl_live *live); /* between two decisions */

/* Appends an event about a job (0 = none); payload is emptied. */
int adl_live_log(struct adl_live *live, const char *kind, uint64_t job, struct adl_text *payload,
                 struct adl_error *err);

#endif
