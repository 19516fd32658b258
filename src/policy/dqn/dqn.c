/* dqn: the ADLRO paper's agent: a deep Q-network looks at the GPUs, the queue and each choice, and the choice it
 * values most is taken, one after another until nothing may start.
 *
 * The network, the scales of its features and where it comes from travel in one model (nn/model_file.h): the one in the
 * configuration, or the one that is built in. Its arithmetic is the exact build of the kernels: equal states give equal
 * plans on every machine. */
#include "nn/model_file.h"
#include "nn/qnet.h"
#include "policy/dqn/actions.h"
#include "policy/dqn/observation.h"
#include "policy/dqn/shipped_model.h"
#include "policy/mechanism/reason.h"
#include "policy/policy.h"

#include <stdlib.h>

struct dqn {
    struct adl_model model;
    struct adl_normalizer normalizer;
    struct adl_qnet net;
    struct adl_qnet_workspace *workspace;
    enum adl_observation_kind observation;
    struct adl_actions *choices;
    struct adl_observation rows, paper; /* what the network sees; paper only for that observation */
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
    adl_actions_destroy(self->choices);
    free(self->rows.gpus);
    free(self->rows.state);
    free(self->rows.choices);
    free(self->paper.gpus);
    free(self->paper.state);
    free(self->paper.choices);
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
    ret->choices = malloc((size_t)ADL_ACTIONS_MAX * shape.choice_features * sizeof *ret->choices);
    return ret->gpus && ret->state && ret->choices ? 0 : ADL_ENOMEM;
}

static int allocate(struct dqn *self, const struct adl_policy_config *config, const struct adl_cluster *cluster,
                    struct adl_error *err)
{
    const struct adl_qnet_limits limits = {1, (int)cluster->gpu_count, ADL_ACTIONS_MAX};
    if (adl_actions_create(cluster, config, &self->choices) ||
        allocate_rows(cluster, ADL_OBSERVATION_SHARED, &self->rows) ||
        allocate_rows(cluster, ADL_OBSERVATION_PAPER, &self->paper))
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy dqn");
    self->q = malloc(ADL_ACTIONS_MAX * sizeof *self->q);
    self->member_offset = malloc((ADL_ACTIONS_MAX + 1) * sizeof *self->member_offset);
    self->members = malloc(self->choices->gpu_capacity * sizeof *self->members);
    if (!self->q || !self->member_offset || !self->members)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy dqn");
    return adl_qnet_workspace_create(&self->net, &limits, &self->workspace, err);
}

/* A model fits if its network takes what this program shows of this cluster. */
static int check_fit(const struct dqn *self, const struct adl_cluster *cluster, struct adl_error *err)
{
    const struct adl_qnet_shape *shape = &self->model.shape;
    const struct adl_observation_shape seen = adl_observation_shape(self->observation, cluster);
    const bool paper = self->observation == ADL_OBSERVATION_PAPER;
    if (paper && shape->paper_gpus != (int)cluster->gpu_count)
        return adl_fail(err, ADL_EINVAL, "the model is for %d GPUs, the cluster has %u; one of kind shared fits any",
                        shape->paper_gpus, cluster->gpu_count);
    if (shape->gpu_features != (int)seen.gpu_features || shape->state_features != (int)seen.state_features ||
        (!paper && shape->action_features != (int)seen.choice_features))
        return adl_fail(err, ADL_EINVAL, "the model sees %d + %d + %d features, this program shows %u + %u + %u",
                        shape->gpu_features, shape->state_features, shape->action_features, seen.gpu_features,
                        seen.state_features, seen.choice_features);
    return 0;
}

static int take_model(struct dqn *self, const struct adl_policy_config *config, const struct adl_cluster *cluster,
                      struct adl_error *err)
{
    const void *bytes = config->model ? config->model : adl_shipped_model;
    const size_t size = config->model ? config->model_size : adl_shipped_model_size;
    int status = adl_model_decode(bytes, size, ADL_SCHEMA_VERSION, &self->model, err);
    if (status)
        return status;
    const struct adl_model_section *text = adl_model_section_find(&self->model, ADL_MODEL_NORMALIZER);
    if (!text)
        return adl_fail(err, ADL_EINVAL, "the model has no normalizer; `adlro train` writes one with it");
    self->observation = self->model.shape.kind == ADL_QNET_PAPER ? ADL_OBSERVATION_PAPER : ADL_OBSERVATION_SHARED;
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
    int status = take_model(self, config, cluster, err);
    if (status == 0)
        status = allocate(self, config, cluster, err);
    if (status) {
        destroy(self);
        return status;
    }
    *ret_policy = self;
    return 0;
}

/* The choices' GPUs as the network wants them. */
static void list_members(struct dqn *self)
{
    const struct adl_actions *choices = self->choices;
    int at = 0;
    for (uint32_t c = 0; c < choices->count; c++) {
        const struct adl_action *choice = &choices->list[c];
        self->member_offset[c] = at;
        for (uint32_t i = 0; i < choice->gpu_count; i++)
            self->members[at++] = (int)choices->gpus[choice->gpu_offset + i];
    }
    self->member_offset[choices->count] = at;
}

static uint32_t best_choice(struct dqn *self, const struct adl_state *state)
{
    struct adl_actions *choices = self->choices;
    const uint32_t gpus = state->cluster->gpu_count;
    adl_observation_see(&self->normalizer, state, choices, &self->rows);
    if (self->observation == ADL_OBSERVATION_PAPER)
        adl_observation_paper(&self->rows, gpus, &self->paper);
    const struct adl_observation *seen = self->observation == ADL_OBSERVATION_PAPER ? &self->paper : &self->rows;
    list_members(self);
    self->gpu_offset[1] = (int)gpus;
    self->action_offset[1] = (int)choices->count;
    const struct adl_qnet_batch batch = {.states = 1,
                                         .gpu_offset = self->gpu_offset,
                                         .gpus = seen->gpus,
                                         .state = seen->state,
                                         .action_offset = self->action_offset,
                                         .actions = seen->choices,
                                         .member_offset = self->member_offset,
                                         .members = self->members};
    adl_qnet_forward(&self->net, self->model.params, &batch, self->workspace, self->q);
    uint32_t best = 0;
    for (uint32_t c = 1; c < choices->count; c++)
        best = self->q[c] > self->q[best] ? c : best;
    return best;
}

/* Of several choices, what the network made of this one and of the next best; of one alone, why there is no other. */
static struct adl_reason reason_of(const struct dqn *self, const struct adl_state *state, uint32_t chosen)
{
    const struct adl_actions *choices = self->choices;
    const struct adl_action *choice = &choices->list[chosen];
    if (choices->count > 1) {
        uint32_t next = chosen == 0 ? 1 : 0;
        for (uint32_t c = next + 1; c < choices->count; c++)
            next = c != chosen && self->q[c] > self->q[next] ? c : next;
        const uint32_t other = choices->list[next].job;
        return adl_reason_make(ADL_RULE_VALUE, other == choice->job ? ADL_NONE : other, (double)self->q[chosen],
                               (double)self->q[next]);
    }
    if (!choices->promised)
        return choice->job == choices->head ? adl_reason_ranked(state, &state->queue, choice->job, ADL_RULE_FIRST)
                                            : adl_reason_make(ADL_RULE_ONLY, ADL_NONE, 0, 0);
    return adl_reason_make(ADL_RULE_ONLY, choices->head,
                           (double)adl_state_remaining_us(state, choice->job, choice->type) * 1e-6,
                           (double)(choices->promise.start_us - state->now_us) * 1e-6);
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct dqn *self = policy;
    struct adl_actions *choices = self->choices;
    adl_actions_find(choices, state);
    if (self->observation == ADL_OBSERVATION_PAPER)
        adl_actions_keep_first_job(choices);
    if (choices->count == 0)
        return 0;
    const uint32_t chosen = choices->count > 1 ? best_choice(self, state) : 0;
    const struct adl_action *choice = &choices->list[chosen];
    const int status = adl_actions_carry_out(choices, state, choice, &choices->gpus[choice->gpu_offset], plan);
    if (status == 0 && !choice->takes && !choice->cleared)
        adl_plan_because(plan, reason_of(self, state, chosen));
    return status;
}

const struct adl_policy_ops adl_policy_dqn = {
    .name = "dqn",
    .summary = "deep Q-network: the start that a trained network values most, the oldest job never delayed",
    .track_running = true,
    .create = create,
    .destroy = destroy,
    .decide = decide,
};
