/* cost_model: the cost of each way to serve a job, one figure in watts: the draw of its GPUs beyond idle, minus the
 * value of its progress, plus the penalty of a missed SLA, plus the cost of moving it.
 *
 * Progress is measured in seconds on the job's best type, times its GPUs: a job on one GPU at half the speed of its
 * best type makes half a second of progress per second. The value of such a second is the weight between energy and
 * time. The policy uses its own estimates only: speeds and interference from predict/estimates.h, loads from power
 * readings, work left from similar completed jobs. docs/gogh.md has the formulas. */
#ifndef ADLRO_POLICY_GOGH_COST_MODEL_H
#define ADLRO_POLICY_GOGH_COST_MODEL_H

#include "base/error.h"
#include "model/event.h"
#include "model/scenario.h"
#include "policy/gogh/options.h"
#include "state/state.h"

/* What the cost of serving a job depends on. Jobs with equal features form one group of the integer program. */
struct adl_job_features {
    uint32_t profile, spanning; /* of predict/estimates.h: with its GPUs in one node, and over several */
    uint32_t beside;            /* profile of the job it shares its GPU with, or ADL_NONE */
    uint32_t types;             /* mask of those it can run on */
    float min_steps_per_s;
    float share_slowdown;
    int32_t gpu_memory_mib;
    uint16_t gpus;
    uint8_t current_type; /* the type it runs on, or ADL_NOT_RUNNING */
    uint8_t flags;        /* enum adl_job_flag */
    uint8_t kind;
    bool pinned;       /* it moved recently, or another job is about to join it: it stays for now */
    bool across;       /* it runs on GPUs of several nodes */
    uint8_t work_left; /* work left, quantized: 2^(left / 2) s on its best type */
    uint8_t work_lost; /* work that a stop would lose, quantized in the same way; 0 = nothing */
    uint8_t urgency;   /* priority and age, quantized */
    uint8_t slack;     /* time until the deadline over time needed at best speed, quantized; ADL_SLACK_NONE */
};

#define ADL_NOT_RUNNING 255
#define ADL_URGENCY_MAX 200
#define ADL_SLACK_NONE  255 /* no deadline, or one that can no longer be met */

/* Estimates for jobs with equal features, looked up once for all their offers. */
struct adl_job_estimates {
    double worth_w; /* of progress at best speed */
    double left_s;  /* at best speed */
    double lost_s;  /* work that a stop would lose, at best speed */
    double best_steps_per_s;
    double best_low; /* the highest lower bound over all types */
    struct {
        double steps_per_s, low; /* alone; 0 = it cannot run there */
        double load;             /* of each GPU */
    } on[ADL_TYPES_MAX];
};

struct adl_offer_cost {
    double total_w; /* all terms */
    double power_w; /* draw of its GPUs beyond idle */
};

struct adl_cost_model;

int adl_cost_model_create(const struct adl_policy_config *config, const struct adl_cluster *cluster,
                          struct adl_cost_model **ret, struct adl_error *err);
void adl_cost_model_destroy(struct adl_cost_model *cost_model); /* accepts NULL */

/* Swaps in what another model of the same cluster has learned; before any event. */
void adl_cost_model_inherit(struct adl_cost_model *cost_model, struct adl_cost_model *from);
int adl_cost_model_copy(struct adl_cost_model *to, const struct adl_cost_model *from); /* 0 or ADL_ENOMEM */

/* Learns from an event, before the event changes the state. 0 or ADL_ENOMEM; only a submission allocates. */
int adl_cost_model_observe(struct adl_cost_model *cost_model, const struct adl_event *event,
                           const struct adl_state *state);

/* The features of a live job now. Every byte of ret is set, so that they can be hashed. */
void adl_cost_model_features(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot,
                             struct adl_job_features *ret);
void adl_cost_model_estimate(const struct adl_cost_model *cost_model, const struct adl_job_features *job,
                             struct adl_job_estimates *ret);

/* One job of an offer. */
struct adl_candidate {
    const struct adl_job_features *job;
    const struct adl_job_estimates *estimates;
};

/* The cost of running a job alone on GPUs of one type, or two jobs on one GPU, each GPU capped at cap_w (0 = no cap).
 * False if that is infeasible. */
bool adl_cost_model_alone(const struct adl_cost_model *cost_model, struct adl_candidate job, uint32_t type,
                          double cap_w, struct adl_offer_cost *ret);
bool adl_cost_model_pair(const struct adl_cost_model *cost_model, struct adl_candidate a, struct adl_candidate b,
                         uint32_t type, double cap_w, struct adl_offer_cost *ret);

/* The same for a gang that would start on GPUs of several nodes. */
bool adl_cost_model_across(const struct adl_cost_model *cost_model, struct adl_candidate job, uint32_t type,
                           double cap_w, struct adl_offer_cost *ret);

/* Draw beyond idle of a job that is stopping: until its checkpoint is written it draws as before. */
double adl_cost_model_stopping_w(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot);

/* The same of a job that runs, if its GPUs had this cap (0 = none). */
double adl_cost_model_draw_w(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot,
                             double cap_w);

/* While promised jobs come first, preempting one costs sla_w more for each of its GPUs. */
void adl_cost_model_put_promised_first(struct adl_cost_model *cost_model, bool first);

/* The cost of leaving a job in the queue, or of preempting it. */
double adl_cost_model_wait(const struct adl_cost_model *cost_model, struct adl_candidate job);

/* True if the job has an SLA that can still be met: a least throughput, or a deadline that has not passed. */
static inline bool adl_job_promised(const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    return job->spec.min_steps_per_s > 0 ||
           (job->spec.deadline_us > 0 && state->now_us < job->submit_us + job->spec.deadline_us);
}

/* The same, as far as features tell. */
static inline bool adl_features_promised(const struct adl_job_features *job)
{
    return job->min_steps_per_s > 0 || job->slack != ADL_SLACK_NONE;
}

/* True if a running job cannot be moved now. */
static inline bool adl_features_fixed(const struct adl_job_features *job)
{
    return job->current_type != ADL_NOT_RUNNING && (job->pinned || !(job->flags & ADL_JOB_PREEMPTIBLE));
}

/* True if the features of a waiting job change as time passes, without any event. */
static inline bool adl_features_change_with_time(const struct adl_job_features *job)
{
    return job->current_type == ADL_NOT_RUNNING && (job->urgency < ADL_URGENCY_MAX || job->slack != ADL_SLACK_NONE);
}

/* True if two jobs share a GPU of the type, as far as their features tell. */
static inline bool adl_features_share_gpu(const struct adl_job_features *a, const struct adl_job_features *b,
                                          uint32_t type)
{
    return a->current_type == type && b->current_type == type && a->beside == b->profile && b->beside == a->profile;
}

#endif
