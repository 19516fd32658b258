/* lwf: least work first: jobs by predicted run time * GPUs, least first; the first of them blocks the others unless
 * first fit is asked for. The policy of CONTRIBUTING.md's walk-through. */
#include "policy/mechanism/list_scheduler.h"

#include <stdlib.h>

struct lwf_options {
    bool by_time, first_fit, share;
};

static const struct adl_policy_option options[] = {
    {.name = "by_time",
     .type = ADL_POLICY_BOOL,
     .offset = offsetof(struct lwf_options, by_time),
     .value = "false",
     .help = "rank by predicted run time alone"},
    ADL_POLICY_FIRST_FIT(struct lwf_options, "false"),
    ADL_POLICY_SHARE(struct lwf_options),
};

struct lwf {
    struct adl_list_scheduler list; /* first: the argument of adl_list_scheduler_decide */
    bool by_time;
};

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed;
    const struct lwf_options *own = config->options;
    struct lwf *self = calloc(1, sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy lwf");
    self->by_time = own->by_time;
    self->list = (struct adl_list_scheduler){
        .request = {.types = UINT32_MAX, .fastest = true, .share = own->share},
        .rule = own->by_time ? ADL_RULE_SHORTEST : ADL_RULE_LEAST_WORK,
        .first_fit = own->first_fit,
        .blocked_job = ADL_NONE,
    };
    *ret_policy = self;
    return 0;
}

/* Least first; asked each time a job joins the queue. */
static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    const struct lwf *self = policy;
    const int64_t left_us = adl_state_shortest_us(state, slot);
    return self->by_time ? left_us : left_us * state->jobs[slot].spec.gpus;
}

const struct adl_policy_ops adl_policy_lwf = {
    .name = "lwf",
    .summary = "least work first: predicted run time * GPUs, on the fastest GPUs that are free",
    ADL_POLICY_OPTIONS(options, struct lwf_options),
    .create = create,
    .destroy = free,
    .rank = rank,
    .decide = adl_list_scheduler_decide,
};
