/* dqn: the agent of the ADLRO paper: a deep Q-network observes the GPUs, the queue and each possible action, and the
 * action with the highest Q-value is taken, one after another until no job can start.
 *
 * The network, the scales of its features and its provenance are in one model (nn/model_file.h): that of the
 * configuration, or the built-in one. It uses the exact build of the kernels: equal states give equal plans on every
 * machine. */
#include "nn/model_file.h"
#include "nn/qnet.h"
#include "policy/dqn/actions.h"
#include "policy/dqn/observation.h"
#include "policy/dqn/shipped_model.h"
#include "policy/mechanism/reason.h"
#include "policy/policy.h"

#include <stdlib.h>

static const struct adl_policy_option options[] = {
    {.name = "lambda",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct adl_dqn_options, lambda),
     .value = "-1",
     .range = {.min = -1, .max = 1},
     .help = "weight of idle GPU time beside completion times, from 0 to 1; -1 = the scenario's"},
    {.name = "guard",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct adl_dqn_options, guard),
     .value = "40",
     .range = {.min = 1, .max = 1e6},
     .help = "nobody may delay a job that waited this many times the sum of a typical run time and its own"},
    ADL_POLICY_SHARE(struct adl_dqn_options),
};

struct dqn {
    struct adl_model model;
    struct adl_normalizer normalizer;
    struct adl_qnet net;
    struct adl_qnet_workspace *workspace;
    enum adl_observation_kind observation;
    struct adl_actions *actions;
    struct adl_observation rows, paper; /* the network's input; paper only for that kind of observation */
    float *q;
    int gpu_offset[2], action_offset[2];
    int *member_offset, *members;
};

static void destroy(void *policy)
{
    struct dqn *self = policy;
    if (!self)
        return;
    adl_model_clear(&self->model);
    adl_qnet_workspace_destroy(self->workspace);
    adl_actions_destroy(self->actions);
    free(self->rows.gpus);
    free(self->rows.state);
    free(self->rows.actions);
    free(self->paper.gpus);
    free(self->paper.state);
    free(self->paper.actions);
    free(self->q);
    free(self->member_offset);
    free(self->members);
    free(self);
}

static int allocate_rows(const struct adl_cluster *cluster, enum adl_observation_kind kind, struct adl_observation *ret)
{
    const struct adl_observation_shape shape = adl_observation_shape(kind, cluster);
    ret->gpus = malloc((size_t)shape.gpus * shape.gpu_features * sizeof *ret->gpus);
    ret->state = malloc(shape.state_features * sizeof *ret->state);
    ret->actions = malloc((size_t)ADL_ACTIONS_MAX * shape.action_features * sizeof *ret->actions);
    return ret->gpus && ret->state && ret->actions ? 0 : ADL_ENOMEM;
}

static int allocate(struct dqn *self, const struct adl_policy_config *config, const struct adl_cluster *cluster,
                    struct adl_error *err)
{
    struct adl_dqn_options own = *(const struct adl_dqn_options *)config->options;
    const struct adl_qnet_limits limits = {1, (int)cluster->gpu_count, ADL_ACTIONS_MAX};
    if (own.lambda < 0)
        own.lambda = config->lambda;
    if (adl_actions_create(cluster, &own, config->preemption_us, &self->actions) ||
        allocate_rows(cluster, ADL_OBSERVATION_ALL, &self->rows) ||
        allocate_rows(cluster, ADL_OBSERVATION_PAPER, &self->paper))
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy dqn");
    self->q = malloc(ADL_ACTIONS_MAX * sizeof *self->q);
    self->member_offset = malloc((ADL_ACTIONS_MAX + 1) * sizeof *self->member_offset);
    self->members = malloc(self->actions->gpu_capacity * sizeof *self->members);
    if (!self->q || !self->member_offset || !self->members)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy dqn");
    return adl_qnet_workspace_create(&self->net, &limits, &self->workspace, err);
}

/* A model fits if its network's input has the features that this program computes for this cluster. */
static int check_fit(const struct dqn *self, const struct adl_cluster *cluster, struct adl_error *err)
{
    const struct adl_qnet_shape *shape = &self->model.shape;
    const struct adl_observation_shape seen = adl_observation_shape(self->observation, cluster);
    const bool paper = self->observation == ADL_OBSERVATION_PAPER;
    if (paper && shape->paper_gpus != (int)cluster->gpu_count)
        return adl_fail(err, ADL_EINVAL, "the model is for %d GPUs, the cluster has %u; one of kind shared fits any",
                        shape->paper_gpus, cluster->gpu_count);
    if (shape->gpu_features != (int)seen.gpu_features || shape->state_features != (int)seen.state_features ||
        (!paper && shape->action_features != (int)seen.action_features))
        return adl_fail(err, ADL_EINVAL, "the model sees %d + %d + %d features, this program shows %u + %u + %u",
                        shape->gpu_features, shape->state_features, shape->action_features, seen.gpu_features,
                        seen.state_features, seen.action_features);
    return 0;
}

static int load_model(struct dqn *self, const struct adl_policy_config *config, const struct adl_cluster *cluster,
                      struct adl_error *err)
{
    const bool given = config->model && adl_model_is(config->model, config->model_size);
    const void *bytes = given ? config->model : adl_shipped_model;
    const size_t size = given ? config->model_size : adl_shipped_model_size;
    int status = adl_model_decode(bytes, size, ADL_SCHEMA_VERSION, &self->model, err);
    if (status)
        return status;
    const struct adl_model_section *text = adl_model_section_find(&self->model, ADL_MODEL_NORMALIZER);
    if (!text)
        return adl_fail(err, ADL_EINVAL, "the model has no normalizer; `adlro train` writes one with it");
    self->observation = self->model.shape.kind == ADL_QNET_PAPER ? ADL_OBSERVATION_PAPER : ADL_OBSERVATION_ACTIONS;
    status = adl_normalizer_decode(&self->normalizer, text->bytes, text->size, err);
    if (status == 0)
        status = check_fit(self, cluster, err);
    if (status == 0)
        status = adl_qnet_make(&self->model.shape, adl_kernels_choose(false), &self->net, err);
    return status;
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    struct dqn *self = calloc(1, sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy dqn");
    int status = load_model(self, config, cluster, err);
    if (status == 0)
        status = allocate(self, config, cluster, err);
    if (status) {
        destroy(self);
        return status;
    }
    *ret_policy = self;
    return 0;
}

/* All but the actions is fixed when it is created, or of one decision. */
static int copy(void *policy, const void *from)
{
    return adl_actions_copy(((struct dqn *)policy)->actions, ((const struct dqn *)from)->actions);
}

/* The actions' GPUs in the form of the network's input; the network that shares its weights takes none. */
static void list_members(struct dqn *self)
{
    const struct adl_actions *actions = self->actions;
    int at = 0;
    for (uint32_t c = 0; c < actions->count; c++) {
        const struct adl_action *action = &actions->list[c];
        self->member_offset[c] = at;
        for (uint32_t i = 0; i < action->gpu_count && self->observation == ADL_OBSERVATION_PAPER; i++)
            self->members[at++] = (int)actions->gpus[action->gpu_offset + i];
    }
    self->member_offset[actions->count] = at;
}

static uint32_t best_action(struct dqn *self, const struct adl_state *state)
{
    struct adl_actions *actions = self->actions;
    const bool paper = self->observation == ADL_OBSERVATION_PAPER;
    const uint32_t gpus = paper ? state->cluster->gpu_count : 0;
    struct adl_observation rows = self->rows;
    rows.gpus = paper ? rows.gpus : NULL;
    adl_observation_fill(&self->normalizer, state, actions, &rows);
    if (paper)
        adl_observation_paper(&rows, gpus, &self->paper);
    const struct adl_observation *seen = paper ? &self->paper : &rows;
    list_members(self);
    self->gpu_offset[1] = (int)gpus;
    self->action_offset[1] = (int)actions->count;
    const struct adl_qnet_batch batch = {.states = 1,
                                         .gpu_offset = self->gpu_offset,
                                         .gpus = seen->gpus,
                                         .state = seen->state,
                                         .action_offset = self->action_offset,
                                         .actions = seen->actions,
                                         .member_offset = self->member_offset,
                                         .members = self->members};
    adl_qnet_forward(&self->net, self->model.params, &batch, self->workspace, self->q);
    uint32_t best = 0;
    for (uint32_t c = 1; c < actions->count; c++)
        best = self->q[c] > self->q[best] ? c : best;
    return best;
}

/* With several actions, the Q-values of this one and of the next best; with one alone, why there is no other. */
static struct adl_reason reason_of(const struct dqn *self, const struct adl_state *state, uint32_t chosen)
{
    const struct adl_actions *actions = self->actions;
    const struct adl_action *action = &actions->list[chosen];
    if (actions->count > 1) {
        uint32_t next = chosen == 0 ? 1 : 0;
        for (uint32_t c = next + 1; c < actions->count; c++)
            next = c != chosen && self->q[c] > self->q[next] ? c : next;
        const uint32_t other = actions->list[next].job;
        return adl_reason_make(ADL_RULE_VALUE, other == action->job || actions->list[next].waits ? ADL_NONE : other,
                               (double)self->q[chosen], (double)self->q[next]);
    }
    if (!actions->has_reservation)
        return action->job == actions->head ? adl_reason_ranked(state, &state->queue, action->job, ADL_RULE_FIRST)
                                            : adl_reason_make(ADL_RULE_ONLY, ADL_NONE, 0, 0);
    return adl_reason_make(ADL_RULE_ONLY, actions->reserved,
                           (double)adl_state_remaining_us(state, action->job, action->type) * 1e-6,
                           (double)(actions->reservation.start_us - state->now_us) * 1e-6);
}

static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    struct dqn *self = policy;
    adl_outlook_join(&self->actions->outlook, state, slot);
    return state->jobs[slot].submit_us;
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct dqn *self = policy;
    struct adl_actions *actions = self->actions;
    if (actions->outlook.failed)
        return ADL_ENOMEM;
    adl_actions_find(actions, state);
    if (self->observation == ADL_OBSERVATION_PAPER)
        adl_actions_keep_one_job(actions, state);
    if (actions->count == 0)
        return 0;
    const uint32_t chosen = actions->count > 1 ? best_action(self, state) : 0;
    const struct adl_action *action = &actions->list[chosen];
    const int status = adl_actions_execute(actions, action, plan);
    if (status == 0 && !action->waits)
        adl_plan_because(plan, reason_of(self, state, chosen));
    return status;
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct dqn *self = policy;
    adl_outlook_observe(&self->actions->outlook, event, state);
}

const struct adl_policy_ops adl_policy_dqn = {
    .name = "dqn",
    .summary = "deep Q-network: the start that a trained network values most, or to wait for a better one",
    .track_running = true,
    ADL_POLICY_OPTIONS(options, struct adl_dqn_options),
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .rank = rank,
    .decide = decide,
    .observe = observe,
};

const struct adl_policy_ops adl_policy_dqn_fast = {
    .name = "dqn-fast",
    .summary = "dqn that counts completion times only, not idle GPUs",
    .track_running = true,
    ADL_POLICY_OPTIONS(options, struct adl_dqn_options),
    .settings = "lambda=0\n",
    .variant_of = "dqn",
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .rank = rank,
    .decide = decide,
    .observe = observe,
};
