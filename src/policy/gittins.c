/* gittins: preemptive list scheduling by the Gittins index. Each job has a predicted run time, and jobs that have ended
 * show how actual run times relate to predicted ones (mechanism/gittins_index.h). Jobs are ranked by the expected GPU
 * time of a completion, least first: predicted run time * cost of a completion after the part it has run * GPUs. A job
 * that has outlived what most jobs take falls back behind younger ones.
 *
 * With exact predictions this is srtf by GPU time. The distribution in use changes when a tenth more jobs have ended:
 * then all jobs are ranked again. */
#include "policy/mechanism/gittins_index.h"
#include "policy/mechanism/preemptive_list.h"
#include "policy/policy.h"
#include "state/stop.h"

#include <stdlib.h>

struct gittins {
    struct adl_preemptive_list list;
    struct adl_gittins_index learned, used;
    int64_t cost_us; /* of one preemption and the restart after it */
    double stop_margin;
    double *done; /* [slot] kept by earlier attempts, in units of predicted run time */
    size_t done_capacity;
    int64_t refreshed_us; /* when the keys of those that run were last set */
    bool failed;          /* out of memory when a job joined the list */
};

struct gittins_options {
    double stop_margin;
};

static const struct adl_policy_option options[] = {ADL_POLICY_STOP_MARGIN(struct gittins_options, "2")};

static void destroy(void *policy)
{
    struct gittins *self = policy;
    if (!self)
        return;
    adl_preemptive_list_clear(&self->list);
    free(self->done);
    free(self);
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    const struct gittins_options *own = config->options;
    struct gittins *self = calloc(1, sizeof *self);
    if (!self || adl_preemptive_list_create(&self->list, cluster)) {
        free(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy gittins");
    }
    adl_gittins_index_init(&self->learned);
    self->used = self->learned;
    self->cost_us = config->preemption_us;
    self->stop_margin = own->stop_margin;
    self->list.bonus = (int64_t)(own->stop_margin * (double)config->preemption_us);
    self->refreshed_us = INT64_MIN;
    *ret_policy = self;
    return 0;
}

static int64_t whole_us(const struct adl_state *state, uint32_t slot)
{
    int64_t best_us = INT64_MAX;
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1) {
        const int64_t there_us = adl_state_runtime(state, slot, (uint32_t)__builtin_ctz(left));
        best_us = there_us < best_us ? there_us : best_us;
    }
    return best_us;
}

/* What the present attempt of a job has done at a time, in units of predicted run time; if it is stopped then: less
 * what it loses. */
static double done_by(const struct adl_state *state, uint32_t slot, int64_t time_us, bool stops)
{
    const struct adl_job *job = &state->jobs[slot];
    if (job->phase < ADL_PHASE_RUNNING)
        return 0;
    const int64_t end_us = job->phase == ADL_PHASE_STOPPING ? job->stop_us : time_us;
    const int64_t ran_us = end_us > job->start_us ? end_us - job->start_us : 0;
    const int64_t lost_us = stops ? adl_job_lost_us(&job->spec, ran_us) : 0;
    return (double)(ran_us - lost_us) / (double)adl_state_runtime(state, slot, job->type);
}

static int64_t key_after(const struct gittins *self, const struct adl_state *state, uint32_t slot, double ran)
{
    const double key = (double)whole_us(state, slot) * adl_gittins_index_cost(&self->used, self->done[slot] + ran) *
                       state->jobs[slot].spec.gpus;
    return key < ADL_REMAINING_MAX_US ? (int64_t)key : (int64_t)ADL_REMAINING_MAX_US;
}

/* What rank would say of a running job, were it stopped now and had it kept all its work. */
static int64_t left_now(const struct gittins *self, const struct adl_state *state, uint32_t slot)
{
    return key_after(self, state, slot, done_by(state, slot, state->now_us, false));
}

/* Less the price of a stop: only a job that gains more than that is served before it. The list's bonus, which also
 * protects jobs that started at this instant, is part of the price. */
static int64_t key_now(const struct adl_state *state, uint32_t slot, const void *context)
{
    const struct gittins *self = context;
    const int64_t price_us = adl_stop_price_us(state, slot, self->cost_us, self->stop_margin);
    return left_now(self, state, slot) - price_us * state->jobs[slot].spec.gpus + self->list.bonus;
}

static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    struct gittins *self = policy;
    if (adl_grow((void **)&self->done, &self->done_capacity, (size_t)slot + 1, sizeof *self->done)) {
        self->failed = true;
        return 0;
    }
    if (state->jobs[slot].attempts == 0)
        self->done[slot] = 0;
    const int64_t key = key_after(self, state, slot, 0);
    if (adl_preemptive_list_add(&self->list, slot, &state->jobs[slot].spec, key))
        self->failed = true;
    return key;
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct gittins *self = policy;
    if (event->kind != ADL_EVENT_FINISH && event->kind != ADL_EVENT_EVICT)
        return;
    adl_preemptive_list_remove(&self->list, event->job);
    if (event->job >= self->done_capacity || state->jobs[event->job].phase < ADL_PHASE_RUNNING)
        return;
    const struct adl_job *job = &state->jobs[event->job];
    if (event->kind == ADL_EVENT_EVICT)
        self->done[event->job] += done_by(state, event->job, event->time_us, true);
    else
        adl_gittins_index_learn(&self->learned,
                                self->done[event->job] + (double)(event->time_us - job->start_us) /
                                                             (double)adl_state_runtime(state, event->job, job->type));
}

static void inherit(void *policy, void *from)
{
    struct gittins *self = policy;
    const struct gittins *other = from;
    self->used = self->learned = other->learned;
}

static struct adl_reason reason_of(const void *context, const struct adl_state *state, uint32_t slot, uint32_t other,
                                   bool stops)
{
    const struct gittins *self = context;
    const struct adl_order_node *nodes = self->list.nodes;
    const int64_t own_us = stops ? left_now(self, state, slot) : nodes[slot].key;
    return adl_reason_make(stops ? ADL_RULE_FOR_LESS_WORK : ADL_RULE_LEAST_WORK, other, (double)own_us * 1e-6,
                           other == ADL_NONE ? 0 : (double)nodes[other].key * 1e-6);
}

/* Takes over what was learned; waiting jobs are ranked by it. */
static void relearn(struct gittins *self, const struct adl_state *state)
{
    if (self->learned.count <= self->used.count + self->used.count / 10)
        return;
    self->used = self->learned;
    for (uint32_t slot = 0; slot < self->list.job_capacity && slot < self->done_capacity; slot++)
        if (self->list.jobs[slot].phase == ADL_PREEMPTIVE_WAITING)
            adl_preemptive_list_rerank(&self->list, slot, key_after(self, state, slot, 0));
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct gittins *self = policy;
    if (self->failed)
        return ADL_ENOMEM;
    while (adl_preemptive_list_next_started(&self->list, state) != ADL_NONE)
        ;
    if (self->list.queue.count == 0)
        return 0;
    self->list.reason = reason_of;
    self->list.reason_context = self;
    self->list.weighs_loss = true;
    if (self->refreshed_us != state->now_us) { /* who started since has the key it would get */
        relearn(self, state);
        adl_preemptive_list_refresh(&self->list, state, key_now, self);
    }
    self->refreshed_us = state->now_us;
    return adl_preemptive_list_decide(&self->list, state, plan);
}

const struct adl_policy_ops adl_policy_gittins = {
    .name = "gittins",
    .summary = "least expected GPU time of a completion first (Gittins index), preempting where it pays",
    .track_running = true,
    ADL_POLICY_OPTIONS(options, struct gittins_options),
    .create = create,
    .destroy = destroy,
    .rank = rank,
    .decide = decide,
    .observe = observe,
    .inherit = inherit,
};
