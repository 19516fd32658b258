/* gittins: preemptive list scheduling by the Gittins index. Jobs are ranked by the expected GPU time of a completion,
 * least first: what it costs by the belief, after the part that the job has run (predict/belief.h), times its GPUs. A
 * job that has outlived what most jobs take falls back behind younger ones.
 *
 * With exact predictions this is srtf by GPU time. When a tenth more jobs have ended all waiting jobs are ranked again,
 * because the belief has changed. */
#include "policy/mechanism/preemptive_list.h"
#include "policy/policy.h"
#include "predict/belief.h"
#include "state/stop.h"

#include <stdlib.h>

struct gittins {
    struct adl_preemptive_list list;
    uint64_t learned; /* jobs that had ended when the waiting ones were last ranked */
    int64_t cost_us;  /* of one preemption and the restart after it */
    double stop_margin;
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
    self->cost_us = config->preemption_us;
    self->stop_margin = own->stop_margin;
    self->list.bonus = (int64_t)(own->stop_margin * (double)config->preemption_us);
    self->refreshed_us = INT64_MIN;
    *ret_policy = self;
    return 0;
}

static int copy(void *policy, const void *from)
{
    struct gittins *self = policy;
    const struct gittins *other = from;
    if (adl_preemptive_list_copy(&self->list, &other->list, self))
        return ADL_ENOMEM;
    const struct gittins own = *self;
    *self = *other;
    self->list = own.list;
    return 0;
}

static int64_t key_after(const struct adl_state *state, uint32_t slot, double done_us)
{
    const double key = adl_belief_cost_us(state->belief, slot, done_us) * state->jobs[slot].spec.gpus;
    return key < ADL_REMAINING_MAX_US ? (int64_t)key : (int64_t)ADL_REMAINING_MAX_US;
}

/* What rank would say of a running job, were it stopped now and had it kept all its work. */
static int64_t left_now(const struct adl_state *state, uint32_t slot)
{
    return key_after(state, slot, adl_belief_done_us(state->belief, state, slot));
}

/* Less the price of a stop: only a job that gains more than that is served before it. The list's bonus, which also
 * protects jobs that started at this instant, is part of the price. */
static int64_t key_now(const struct adl_state *state, uint32_t slot, const void *context)
{
    const struct gittins *self = context;
    const int64_t price_us = adl_stop_price_us(state, slot, self->cost_us, self->stop_margin);
    return left_now(state, slot) - price_us * state->jobs[slot].spec.gpus + self->list.bonus;
}

static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    struct gittins *self = policy;
    const int64_t key = left_now(state, slot);
    if (adl_preemptive_list_add(&self->list, slot, &state->jobs[slot].spec, key))
        self->failed = true;
    return key;
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct gittins *self = policy;
    (void)state;
    if (event->kind == ADL_EVENT_FINISH || event->kind == ADL_EVENT_EVICT)
        adl_preemptive_list_remove(&self->list, event->job);
}

static struct adl_reason reason_of(const void *context, const struct adl_state *state, uint32_t slot, uint32_t other,
                                   bool stops)
{
    const struct gittins *self = context;
    const struct adl_preemptive_job *jobs = self->list.jobs;
    const int64_t own_us = stops ? left_now(state, slot) : jobs[slot].key;
    return adl_reason_make(stops ? ADL_RULE_FOR_LESS_WORK : ADL_RULE_LEAST_WORK, other, (double)own_us * 1e-6,
                           other == ADL_NONE ? 0 : (double)jobs[other].key * 1e-6);
}

/* Waiting jobs are ranked by what was learned since. */
static void relearn(struct gittins *self, const struct adl_state *state)
{
    const uint64_t learned = adl_belief_count(state->belief);
    if (learned <= self->learned + self->learned / 10)
        return;
    self->learned = learned;
    for (uint32_t slot = 0; slot < self->list.job_capacity; slot++)
        if (self->list.jobs[slot].phase == ADL_PREEMPTIVE_WAITING)
            adl_preemptive_list_rerank(&self->list, slot, left_now(state, slot));
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
    .copy = copy,
    .rank = rank,
    .decide = decide,
    .observe = observe,
};
