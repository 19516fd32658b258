/* live_internal: the inside of the live world, shared by live*.c. */
#ifndef ADLRO_SERVICE_LIVE_INTERNAL_H
#define ADLRO_SERVICE_LIVE_INTERNAL_H

#include "base/heap.h"
#include "base/index.h"
#include "base/json.h"
#include "service/live.h"

#include <stdatomic.h>

#define ADL_LIVE_REPORTS_MAX 256 /* in one group */

/* An event on its way to the engine. */
struct adl_live_item {
    struct adl_event event;
    struct adl_job_spec spec; /* SUBMIT */
};

/* A decision to be written and then carried out. */
struct adl_live_act {
    uint64_t job;
    uint32_t slot;
    bool start; /* else it is preempted */
    char why[264];
};

/* A job that runs without having been started here: to be entered into the engine's books. */
struct adl_live_seizure {
    uint64_t job;
    uint32_t slot;
    bool moved; /* it was thought to run elsewhere */
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
    int64_t steady_us; /* the same for the engine, the executor and whatever is due at some time (executor/clock.h) */
    atomic_bool ending;
    uint64_t group; /* number of the current group of writes */

    struct adl_live_item *outbox;
    size_t outbox_capacity, outbox_first, outbox_count;
    struct adl_heap wakes;
    struct adl_heap begins; /* tagged with jobs that wait for that time; some may do so no more */

    struct adl_request *requests; /* taken from the request queue and not yet looked at */
    struct adl_live_report reports[ADL_LIVE_REPORTS_MAX];
    uint32_t report_count;
    int64_t retry_us; /* what could not be written is tried again then, in steady time; 0 = all was */

    struct adl_live_act *acts;
    size_t act_capacity;
    uint32_t act_count;
    struct adl_live_seizure *seizures;
    size_t seizure_capacity;
    uint32_t seizure_count;
    struct adl_plan plan; /* for these */
    bool sampled;         /* readings came that streams were not told of yet */
    bool moving;          /* the engine is about to be replaced */
    bool adopting;        /* starts are of jobs that run already */

    int64_t point_us, point_step_us, counted_us; /* history: end of the step, its length, counted up to */
    struct adl_point point;                      /* the step that is being counted */
    double busy_gpu_us;
    /* In steady time: */
    int64_t pause_us;     /* until then the engine is told nothing */
    bool tight;           /* live_space.c: the disk is full, so that submissions are refused */
    int64_t space_us;     /* it is looked at again then */
    int64_t present_us;   /* that the state is where it was is looked at again then */
    uint64_t departed_id; /* while those that depend on it are placed: a job that ended, if of no array, and how */
    int departed_end;
    uint64_t again_group; /* in which an ended job was last put back: until it is in the job table, others who
                           * want something of a job that is not there wait */
    struct adl_job_table_user *claims; /* live_quota.c */
    size_t claim_capacity;
    uint32_t claim_count;
    uint64_t claim_group;
    uint64_t kept_points; /* of service state->point_count, when one was last put into the store */
    int64_t prune_us;     /* steady */
    bool *down;           /* [gpu] as the engine was or is about to be told */
    const char **names;   /* [gpus + 1] scratch for a job's GPU names */
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

/* live_commands.c: in words, what the reason of a command about a job says; and how long the job has waited, without
 * the time that it ran. */
void adl_live_say_why(const struct adl_live *live, const struct adl_job_entry *job, const struct adl_reason *reason,
                      char *ret, size_t size);
int64_t adl_live_waited_us(const struct adl_live *live, const struct adl_job_entry *job);
int64_t adl_live_held_us(const struct adl_live *live, const struct adl_job_entry *job); /* GPUs, in this attempt */
/* "v0:volta#0 v0:volta#1", as far as it fits. */
void adl_live_name_gpus(const struct adl_live *live, const uint32_t *gpus, uint32_t count, char *ret, size_t size);
int adl_live_submit(void *live, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err);
void adl_live_write_decision(struct adl_json *json, const struct adl_decision *decision);
void adl_live_publish_decision(struct adl_live *live, const struct adl_decision *decision); /* to streams */

/* live_jobs.c: how a job goes from one stage to another, in memory, after it was written. */

/* Moves a job as the table in jobs/job_stage.c says, in the engine's queue too. A move that is impossible is a mistake
 * of ours: it is counted and told, the job stays as it is, and ADL_EREFUSED is returned; who is not sure that it is
 * possible asks adl_stage_next() first. */
int adl_live_transition(struct adl_live *live, struct adl_job_entry *job, int event);
/* Tells the executor what is to become of a job whose stage is in the store: enum adl_stage_order. */
int adl_live_execute(struct adl_live *live, struct adl_job_entry *job, int order, uint32_t slot, const char *why,
                     struct adl_error *err);
int adl_live_request(struct adl_live *live, struct adl_job_entry *job, struct adl_error *err); /* its alternatives */
const char *adl_live_held(int hold); /* what begins the reason of a job with this enum adl_hold */
int adl_live_place(struct adl_live *live, struct adl_job_entry *job); /* held, dependent or queued, as it should be */
void adl_live_fill_array(struct adl_live *live, struct adl_job_entry *member); /* NULL or unbounded: nothing */
void adl_live_begin_due(struct adl_live *live);                                /* those whose time has come */
void adl_live_started(struct adl_live *live, const struct adl_job_entry *job); /* for those that wait for that */
void adl_live_place_dependent(struct adl_live *live); /* all again: giving up on one of them may have failed */
void adl_live_withdraw(struct adl_live *live, struct adl_job_entry *job); /* out of the policy's queue */
/* The same, but the executor keep this slot of it. */
void adl_live_withdraw_but(struct adl_live *live, struct adl_job_entry *job, uint32_t slot);
/* A job that ran waits again, after ADL_ON_EVICTED or ADL_ON_LOSE; tells the engine that it does not run there.
 * remaining is the share of its work still to do, negative = not known: what its specification says that a stop loses
 * counts. */
int adl_live_requeue(struct adl_live *live, struct adl_job_entry *job, int event, uint32_t slot, double remaining);
int adl_live_post_evict(struct adl_live *live, uint32_t slot, double remaining);
bool adl_live_in_engine(const struct adl_live *live, uint32_t slot);
/* Ended, by an event after which it is: out of the job table. */
void adl_live_depart(struct adl_live *live, struct adl_job_entry *job, int event, int end);
/* Has a job cancelled that holds no GPUs, in a group of its own. */
void adl_live_give_up(struct adl_live *live, const struct adl_job_entry *job, const char *why);
int adl_live_end_of(void *live, uint64_t id); /* of a job that is not in the job table; negative: there is none */

/* The reason of a job that is being stopped. The store has it as well: after a crash it says how the job is to end. */
void adl_live_say_stop(struct adl_job_entry *job, const char *why);
#define ADL_REASON_CANCEL  "cancelled: "
#define ADL_REASON_REQUEUE "requeued: "

/* live_requests.c: prepare writes (0, or what the request's status becomes), apply does; neither answers. */
bool adl_live_request_waits(const struct adl_live *live, const struct adl_request *request); /* for the next group */
int adl_live_request_prepare(struct adl_live *live, struct adl_request *request);
void adl_live_request_apply(struct adl_live *live, struct adl_request *request);

/* live_space.c */
#define ADL_LIVE_TIGHT                                                                                                 \
    "the disk of the state is full: submissions and starts are refused until there is room; cancels, holds and ends "  \
    "of jobs are still kept"
/* After a group failed: true if it is worth another try, without submissions or with what the reserve gave. */
bool adl_live_space_yield(struct adl_live *live);
void adl_live_space_look(struct adl_live *live); /* is there room again? Once a second */

#define ADL_LIVE_CHANGES_MAX 1000 /* of one job; each is an event that is kept as long as the job */

/* live_quota.c: whether there is room for a submission, which is then counted; the same in the state, where ended jobs
 * of the user give way once it is written. */
int adl_live_quota_check(struct adl_live *live, const struct adl_request *request, struct adl_error *err);
int adl_live_quota_claim(struct adl_live *live, uint32_t uid, uint32_t jobs, uint64_t bytes, bool dry_run,
                         struct adl_error *err);
int adl_live_quota_room(struct adl_live *live, uint32_t uid, struct adl_error *err);

int adl_live_user_check(const struct adl_live *live, uint32_t uid, struct adl_error *err); /* whose jobs may run here */
int adl_live_refuse_absent(struct adl_live *live, struct adl_request *request); /* a job that is not in the job table */
int adl_live_log_request(struct adl_live *live, const struct adl_request *request, const char *kind,
                         struct adl_error *err);

/* live_again.c: an ended job back into the queue. */
int adl_live_again_prepare(struct adl_live *live, struct adl_request *request);
void adl_live_again_apply(struct adl_live *live, const struct adl_request *request);

/* A stored job into the job table; if its GPUs are no more, held with that reason. NULL: out of memory. */
struct adl_job_entry *adl_live_admit(struct adl_live *live, const struct adl_store_job *row, struct adl_error *err);

/* live_reports.c: the same for reports. */
bool adl_live_report_waits(const struct adl_live *live, const struct adl_report *report);
int adl_live_report_prepare(struct adl_live *live, struct adl_live_report *report, struct adl_error *err);
void adl_live_report_apply(struct adl_live *live, struct adl_live_report *report);

/* live_arrivals.c: those of jobs that the executor brings, ADL_REPORT_GENERATED and ADL_REPORT_ARRIVED. */
int adl_live_arrival_prepare(struct adl_live *live, struct adl_live_report *report, struct adl_error *err);
void adl_live_arrival_apply(struct adl_live *live, const struct adl_live_report *report);

/* Tells the engine that a GPU is up or down, if that changed, and everybody. */
void adl_live_gpu_changed(struct adl_live *live, uint32_t gpu);

void adl_live_publish_samples(struct adl_live *live);

/* live_recover.c: enters what runs by itself into the engine's books; nothing may be on its way to the engine. */
int adl_live_seize(struct adl_live *live, struct adl_error *err);
void adl_live_drop_alternatives(struct adl_live *live, struct adl_job_entry *job); /* live.c: but the one taken */

/* live_history.c */
void adl_live_count(struct adl_live *live, int64_t now_us); /* what held until now */
void adl_live_keep_point(struct adl_live *live);            /* in the store, if it is time; the lock is held */
void adl_live_find_points(struct adl_live *live);           /* those of an earlier life */

/* Appends an event about a job (0 = none); payload is emptied. */
int adl_live_log(struct adl_live *live, const char *kind, uint64_t job, struct adl_text *payload,
                 struct adl_error *err);

#endif
