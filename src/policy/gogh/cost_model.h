/* cost_model: what it costs and brings to serve a job in one way or another, as one figure in watts: what the GPUs draw
 * beyond idle, less what the progress is worth, plus what missing an SLA costs, plus what moving there costs.
 *
 * Progress is counted in seconds that the job would take on its best type, times its GPUs: a job at half the speed of
 * its best type on one GPU makes half a second each second. What that second is worth is the weight between energy and
 * time. All beliefs are this policy's own: speeds and interference from predict/estimates.h, loads from power readings,
 * work left from jobs that were like it. docs/gogh.md has the formulas. */
#ifndef ADLRO_POLICY_GOGH_COST_MODEL_H
#define ADLRO_POLICY_GOGH_COST_MODEL_H

#include "base/error.h"
#include "model/event.h"
#include "model/scenario.h"
#include "state/state.h"

/* What decides what a job is offered; jobs that are equal in it are alike. */
struct adl_standing {
    uint32_t profile, spanning; /* of predict/estimates.h: its GPUs in one node, and over several */
    uint32_t beside;            /* profile of the job it shares its GPU with, or ADL_NONE */
    uint32_t types;             /* mask of those it can run on */
    float min_steps_per_s;
    float share_slowdown;
    int32_t gpu_memory_mib;
    uint16_t gpus;
    uint8_t place; /* the type it runs on, or ADL_PLACE_QUEUE */
    uint8_t flags; /* enum adl_job_flag */
    uint8_t kind;
    bool settled;    /* it moved a short while ago and stays for now */
    uint8_t left;    /* work left, quantized: 2^(left / 2) s on its best type */
    uint8_t lost;    /* of the work done, what a stop would lose, quantized in the same way; 0 = nothing */
    uint8_t urgency; /* priority and age, quantized */
    uint8_t slack;   /* time until the deadline over time needed at best speed, quantized; ADL_SLACK_NONE */
};

#define ADL_PLACE_QUEUE 255
#define ADL_URGENCY_MAX 200
#define ADL_SLACK_NONE  255 /* no deadline, or one that cannot be kept any more */

/* What is believed of jobs of one standing, looked up once for all the offers they get. */
struct adl_prospect {
    double worth_w; /* of progress at best speed */
    double left_s;  /* at best speed */
    double lost_s;  /* work that a stop would lose, at best speed */
    double best_steps_per_s;
    double best_low; /* the most that is sure on any type */
    struct {
        double steps_per_s, low; /* alone; 0 = not there */
        double load;             /* that it puts on each GPU */
    } on[ADL_TYPES_MAX];
};

struct adl_price {
    double cost_w;  /* all in all */
    double power_w; /* what its GPUs draw beyond idle */
};

struct adl_cost_model;

int adl_cost_model_create(const struct adl_policy_config *config, const struct adl_cluster *cluster,
                          struct adl_cost_model **ret, struct adl_error *err);
void adl_cost_model_destroy(struct adl_cost_model *cost_model); /* accepts NULL */

/* Takes over what another one of the same cluster has learned, and leaves it without; before any event. */
void adl_cost_model_inherit(struct adl_cost_model *cost_model, struct adl_cost_model *from);

/* Learns from an event before it changes the state. 0 or ADL_ENOMEM; only a submission allocates. */
int adl_cost_model_observe(struct adl_cost_model *cost_model, const struct adl_event *event,
                           const struct adl_state *state);

/* Where a live job stands now. Every byte of ret is set. */
void adl_cost_model_stand(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot,
                          struct adl_standing *ret);
void adl_cost_model_look(const struct adl_cost_model *cost_model, const struct adl_standing *job,
                         struct adl_prospect *ret);

/* One side of an offer. */
struct adl_party {
    const struct adl_standing *job;
    const struct adl_prospect *prospect;
};

/* The price of GPUs of one type, each held to cap_w (0 = not held), for a job alone, and of one GPU for two. False if
 * that cannot be. */
bool adl_cost_model_alone(const struct adl_cost_model *cost_model, struct adl_party job, uint32_t type, double cap_w,
                          struct adl_price *ret);
bool adl_cost_model_pair(const struct adl_cost_model *cost_model, struct adl_party a, struct adl_party b, uint32_t type,
                         double cap_w, struct adl_price *ret);

/* What a job draws beyond idle that was told to stop: until its checkpoint is written it draws as before. */
double adl_cost_model_stopping_w(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot);

/* The cost of leaving it in the queue, or sending it back there. */
double adl_cost_model_wait(const struct adl_cost_model *cost_model, struct adl_party job);

/* True if it stays where it is: it cannot be stopped, or not so soon. */
static inline bool adl_standing_fixed(const struct adl_standing *job)
{
    return job->place != ADL_PLACE_QUEUE && (job->settled || !(job->flags & ADL_JOB_PREEMPTIBLE));
}

/* True if a job that waits will stand otherwise after a while, though nothing happens. */
static inline bool adl_standing_ripens(const struct adl_standing *job)
{
    return job->place == ADL_PLACE_QUEUE && (job->urgency < ADL_URGENCY_MAX || job->slack != ADL_SLACK_NONE);
}

/* True if two jobs share a GPU of the type, or look exactly as if they did. */
static inline bool adl_standing_together(const struct adl_standing *a, const struct adl_standing *b, uint32_t type)
{
    return a->place == type && b->place == type && a->beside == b->profile && b->beside == a->profile;
}

#endif
