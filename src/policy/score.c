/* wfp3, unicep, f1: list scheduling with first fit, by a score that is recomputed for each decision. t is the
 * believed run time on the best type, n the number of GPUs, wait the time since submission; times are in seconds.
 *   wfp3    (wait / t)^3 n               W. Tang, Z. Lan, N. Desai, D. Buettner, "Fault-Aware, Utility-Based Job
 *   unicep  wait / (log2(n) t)           Scheduling on Blue Gene/P Systems", CLUSTER 2009
 *   f1      -(log10(t) n + 870 log10(s)) D. Carastan-Santos, R. de Camargo, "Obtaining Dynamic Scheduling Policies
 *                                        with Simulation and Machine Learning", SC 2017; s is the time from the first
 *                                        submission to that of the job
 * With one GPU log2(n) is 0 and unicep is undefined: its log2(n) is at least 1 here, so one GPU counts as two.
 *
 * No score falls if a job is shorter or was submitted earlier. So inside a lane, which is in order of submission, only
 * a job that is shorter than all before it can have the highest score: a pass looks at few of them. */
#include "base/real.h"
#include "policy/mechanism/placement.h"
#include "policy/policy.h"

#include <stdlib.h>

#define F1_SUBMIT 870
#define LOG_2     0.69314718055994531
#define LOG_10    2.3025850929940457

struct scored {
    uint32_t slot; /* ADL_NONE: none is left */
    double score;
};

struct facts {
    double wait_s, submit_s, run_s, gpus;
};

struct score {
    struct adl_placement_request place;
    double (*of)(const struct facts *);
    struct scored *lanes; /* [position in the queue's heap] the best job of each lane; grown when a job joins */
    size_t lane_capacity;
    int64_t origin_us; /* the first submission; INT64_MIN = there was none */
    bool failed;       /* out of memory when a job joined */
};

struct score_options {
    bool share;
};

static const struct adl_policy_option options[] = {ADL_POLICY_SHARE(struct score_options)};

static double score_wfp3(const struct facts *facts)
{
    const double waits = facts->wait_s / facts->run_s;
    return waits * waits * waits * facts->gpus;
}

static double score_unicep(const struct facts *facts)
{
    const double doublings = adl_log(facts->gpus) / LOG_2;
    return facts->wait_s / ((doublings > 1 ? doublings : 1) * facts->run_s);
}

static double score_f1(const struct facts *facts)
{
    const double submit_s = facts->submit_s > 1 ? facts->submit_s : 1;
    return -(adl_log(facts->run_s) * facts->gpus + F1_SUBMIT * adl_log(submit_s)) / LOG_10;
}

static void destroy(void *policy)
{
    struct score *self = policy;
    if (self)
        free(self->lanes);
    free(self);
}

static int create(const struct adl_policy_config *config, double (*of)(const struct facts *), void **ret_policy,
                  struct adl_error *err)
{
    const struct score_options *own = config->options;
    struct score *self = calloc(1, sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy %s", config->ops->name);
    self->place = (struct adl_placement_request){.types = UINT32_MAX, .fastest = true, .share = own->share};
    self->of = of;
    self->origin_us = INT64_MIN;
    *ret_policy = self;
    return 0;
}

static int copy(void *policy, const void *from)
{
    struct score *self = policy;
    const struct score *other = from;
    if (adl_grow((void **)&self->lanes, &self->lane_capacity, other->lane_capacity, sizeof *self->lanes))
        return ADL_ENOMEM;
    const struct score own = *self;
    *self = *other;
    self->lane_capacity = own.lane_capacity;
    self->lanes = own.lanes; /* of one decision */
    return 0;
}

static int create_wfp3(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                       void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed;
    return create(config, score_wfp3, ret_policy, err);
}

static int create_unicep(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                         void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed;
    return create(config, score_unicep, ret_policy, err);
}

static int create_f1(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                     void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed;
    return create(config, score_f1, ret_policy, err);
}

/* The queue is in order of submission. The job that joins may open a lane. */
static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    struct score *self = policy;
    const int64_t submit_us = state->jobs[slot].submit_us;
    if (adl_grow((void **)&self->lanes, &self->lane_capacity, (size_t)state->queue.lane_count + 1, sizeof *self->lanes))
        self->failed = true;
    if (self->origin_us == INT64_MIN)
        self->origin_us = submit_us;
    return submit_us;
}

static double score_job(const struct score *self, const struct adl_state *state, uint32_t slot)
{
    const struct adl_order_node *node = &state->queue.nodes[slot];
    const struct facts facts = {.wait_s = (double)(state->now_us - node->key) * 1e-6,
                                .submit_s = (double)(node->key - self->origin_us) * 1e-6,
                                .run_s = (double)(node->weight > 1 ? node->weight : 1) * 1e-6,
                                .gpus = state->jobs[slot].spec.gpus};
    return self->of(&facts);
}

static bool better(const struct adl_state *state, const struct scored *a, const struct scored *b)
{
    if (a->slot == ADL_NONE || b->slot == ADL_NONE)
        return b->slot == ADL_NONE && a->slot != ADL_NONE;
    return a->score > b->score ||
           (a->score == b->score && adl_order_before(&state->queue.nodes[a->slot], &state->queue.nodes[b->slot]));
}

static struct scored best_of_lane(const struct score *self, const struct adl_state *state, const struct adl_lane *lane)
{
    const struct adl_order_node *nodes = state->queue.nodes;
    struct scored best = {.slot = ADL_NONE};
    for (uint32_t slot = lane->jobs.first; slot != ADL_NONE;
         slot = adl_order_next_light(nodes, &lane->jobs, slot, nodes[slot].weight - 1)) {
        const struct scored job = {slot, score_job(self, state, slot)};
        if (better(state, &job, &best))
            best = job;
    }
    return best;
}

/* The lane whose job has the highest score, leaving out one lane (ADL_NONE: none); ADL_NONE if no lane has a job. */
static uint32_t best_lane(const struct score *self, const struct adl_state *state, uint32_t but)
{
    uint32_t best = ADL_NONE;
    for (uint32_t i = 0; i < state->queue.heap_count; i++)
        if (i != but && self->lanes[i].slot != ADL_NONE &&
            (best == ADL_NONE || better(state, &self->lanes[i], &self->lanes[best])))
            best = i;
    return best;
}

/* The best job of a lane; without a lane, none. */
static struct scored scored_at(const struct score *self, uint32_t lane)
{
    const struct scored none = {.slot = ADL_NONE};
    return lane == ADL_NONE ? none : self->lanes[lane];
}

/* Starts the job of highest score that fits. If one job of a lane does not fit, none of that lane does. */
static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct score *self = policy;
    const struct adl_queue *queue = &state->queue;
    uint32_t free_gpus = 0;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        free_gpus += state->pool.free_gpus[t];
    if (self->failed || (free_gpus == 0 && !self->place.share))
        return self->failed ? ADL_ENOMEM : 0;
    for (uint32_t i = 0; i < queue->heap_count; i++)
        self->lanes[i] = best_of_lane(self, state, &queue->lanes[queue->heap[i]]);
    const uint32_t head = best_lane(self, state, ADL_NONE);
    const struct scored first = scored_at(self, head);
    for (uint32_t lane = head; lane != ADL_NONE; lane = best_lane(self, state, ADL_NONE)) {
        const struct scored job = self->lanes[lane];
        if ((self->place.share || adl_fit_room(state, job.slot)) &&
            adl_placement_start(state, job.slot, &self->place, plan)) {
            const struct scored other = lane == head ? scored_at(self, best_lane(self, state, head)) : first;
            struct adl_reason reason = adl_reason_make(ADL_RULE_SCORE, other.slot, job.score, other.score);
            reason.passed = lane != head;
            adl_plan_because(plan, reason);
            return 0;
        }
        self->lanes[lane].slot = ADL_NONE;
    }
    return 0;
}

const struct adl_policy_ops adl_policy_wfp3 = {
    .name = "wfp3",
    .summary = "highest (wait / run time)^3 * GPUs first, on the fastest GPUs that are free; first fit",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct score_options),
    .create = create_wfp3,
    .destroy = destroy,
    .copy = copy,
    .rank = rank,
    .decide = decide,
};

const struct adl_policy_ops adl_policy_unicep = {
    .name = "unicep",
    .summary = "highest wait / (log2(GPUs) * run time) first, on the fastest GPUs that are free; first fit",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct score_options),
    .create = create_unicep,
    .destroy = destroy,
    .copy = copy,
    .rank = rank,
    .decide = decide,
};

const struct adl_policy_ops adl_policy_f1 = {
    .name = "f1",
    .summary = "least log10(run time) * GPUs + 870 log10(submission) first, on the fastest GPUs; first fit",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct score_options),
    .create = create_f1,
    .destroy = destroy,
    .copy = copy,
    .rank = rank,
    .decide = decide,
};
