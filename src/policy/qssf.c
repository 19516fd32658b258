/* qssf: Helios' quasi-shortest service first (Hu et al., SC 2021, algorithm 1): jobs by predicted duration times GPUs,
 * least first, without preemption. Helios lets the first of them block the others; that is qssf-strict.
 *
 * The prediction knows what submissions say and how long jobs that have ended took (predict/history.h). A job that
 * comes before anything is known counts with the time its user asked for. A run time that the world reveals, or that
 * every policy is given from similar jobs (regime learned), is taken as it is. */
#include "base/copy.h"
#include "policy/mechanism/list_scheduler.h"
#include "predict/history.h"

#include <stdlib.h>

struct qssf_options {
    bool share, first_fit;
};

static const struct adl_policy_option options[] = {
    ADL_POLICY_FIRST_FIT(struct qssf_options, "true"),
    ADL_POLICY_SHARE(struct qssf_options),
};

struct qssf {
    struct adl_list_scheduler head; /* first: what adl_list_scheduler_decide is given */
    struct adl_history history;
    bool *revealed; /* [slot] the predicted run time is the true one */
    size_t capacity;
    bool failed; /* out of memory in observe() */
};

static void destroy(void *policy)
{
    struct qssf *self = policy;
    if (!self)
        return;
    adl_history_clear(&self->history);
    free(self->revealed);
    free(self);
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed;
    const struct qssf_options *own = config->options;
    struct qssf *self = calloc(1, sizeof *self);
    if (!self || adl_history_create(&self->history)) {
        free(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy qssf");
    }
    self->head.request = (struct adl_placement_request){.types = UINT32_MAX, .fastest = true, .share = own->share};
    self->head.rule = ADL_RULE_LEAST_WORK;
    self->head.first_fit = own->first_fit;
    self->head.blocked_job = ADL_NONE;
    *ret_policy = self;
    return 0;
}

static int copy(void *policy, const void *from)
{
    struct qssf *self = policy;
    const struct qssf *other = from;
    if (adl_grow((void **)&self->revealed, &self->capacity, other->capacity, sizeof *self->revealed))
        return ADL_ENOMEM;
    adl_history_copy(&self->history, &other->history);
    const struct qssf own = *self;
    *self = *other;
    self->history = own.history;
    self->capacity = own.capacity;
    ADL_COPY_ARRAY(self, own, other, revealed, other->capacity);
    return 0;
}

static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    const struct qssf *self = policy;
    const struct adl_job *job = &state->jobs[slot];
    int64_t left_us = adl_state_shortest_us(state, slot);
    const bool given = state->learned || (slot < self->capacity && self->revealed[slot]);
    const int64_t whole_us = given ? 0 : adl_history_predict(&self->history, &job->spec);
    if (whole_us > 0)
        left_us = (int64_t)(job->remaining * (double)whole_us) + 1;
    return left_us * job->spec.gpus;
}

/* What the job would have taken on the best type it accepts, by the predicted run times on the types. */
static int64_t time_on_best(const struct adl_state *state, uint32_t slot, int64_t run_us)
{
    const struct adl_job *job = &state->jobs[slot];
    int64_t best_us = INT64_MAX;
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const int64_t there_us = adl_state_runtime(state, slot, (uint32_t)__builtin_ctz(left));
        best_us = there_us < best_us ? there_us : best_us;
    }
    const double share = (double)best_us / (double)adl_state_runtime(state, slot, job->type);
    return (int64_t)((double)run_us * share) + 1;
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct qssf *self = policy;
    if (event->kind == ADL_EVENT_SUBMIT) {
        if (adl_grow((void **)&self->revealed, &self->capacity, (size_t)event->job + 1, sizeof *self->revealed))
            self->failed = true;
        else
            self->revealed[event->job] = event->submit.runtime_us != NULL;
        return;
    }
    if (event->kind != ADL_EVENT_FINISH || event->job >= state->job_capacity ||
        state->jobs[event->job].phase < ADL_PHASE_RUNNING || event->outcome.run_us <= 0)
        return;
    adl_history_learn(&self->history, &state->jobs[event->job].spec,
                      time_on_best(state, event->job, event->outcome.run_us));
}

static void inherit(void *policy, void *from)
{
    struct qssf *self = policy, *other = from;
    const struct adl_history mine = self->history;
    self->history = other->history;
    other->history = mine;
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    const struct qssf *self = policy;
    return self->failed ? ADL_ENOMEM : adl_list_scheduler_decide(policy, state, plan);
}

const struct adl_policy_ops adl_policy_qssf = {
    .name = "qssf",
    .summary = "Helios: least predicted duration * GPUs first, learned from jobs that have ended",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct qssf_options),
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .rank = rank,
    .decide = decide,
    .observe = observe,
    .inherit = inherit,
};

const struct adl_policy_ops adl_policy_qssf_strict = {
    .name = "qssf-strict",
    .summary = "qssf without first fit, as Helios has it: the job with the least work blocks the others",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct qssf_options),
    .settings = "first_fit=false\n",
    .variant_of = "qssf",
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .rank = rank,
    .decide = decide,
    .observe = observe,
    .inherit = inherit,
};
