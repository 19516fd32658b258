#include "rl/learner.h"

#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of the parameters after an update, in their average. */
#define AVERAGE_SHARE 0.02f

/* Space for this many actions per decision on average; a shard with more leaves out its last decisions. */
#define ACTIONS_MEAN_MAX 32

/* One shard of a batch and its gradient. */
struct adl_learner_shard {
    struct adl_qnet_workspace *workspace;
    float *gpus, *state, *actions, *q, *dq, *targets, *grads;
    float *gain, *gain_target, *dgain; /* of each action that was tried, over the greedy one */
    int *gpu_offset, *action_offset, *member_offset, *members, *greedy;
    size_t action_room, member_room;
    double loss;
};

static int create_shard(struct adl_learner *learner, const struct adlro_shape *shape, struct adl_learner_shard *shard,
                        struct adl_error *err)
{
    const size_t count = (learner->batch + ADL_LEARNER_SHARDS - 1) / ADL_LEARNER_SHARDS;
    const size_t actions = count * ACTIONS_MEAN_MAX + shape->actions;
    const struct adl_qnet_limits limits = {(int)count, (int)(count * shape->gpus), (int)actions};
    shard->action_room = actions;
    shard->gpus = malloc((count * shape->gpus * shape->gpu_features + 1) * sizeof *shard->gpus);
    shard->state = malloc(count * shape->state_features * sizeof *shard->state);
    shard->actions = malloc(actions * shape->action_features * sizeof *shard->actions);
    shard->q = malloc(actions * sizeof *shard->q);
    shard->dq = malloc(actions * sizeof *shard->dq);
    shard->targets = malloc(actions * sizeof *shard->targets);
    shard->gain = malloc(actions * sizeof *shard->gain);
    shard->gain_target = malloc(actions * sizeof *shard->gain_target);
    shard->dgain = malloc(actions * sizeof *shard->dgain);
    shard->greedy = malloc(count * sizeof *shard->greedy);
    shard->grads = malloc(learner->net->parameter_count * sizeof *shard->grads);
    shard->gpu_offset = malloc((count + 1) * sizeof *shard->gpu_offset);
    shard->action_offset = malloc((count + 1) * sizeof *shard->action_offset);
    shard->member_offset = malloc((actions + 1) * sizeof *shard->member_offset);
    if (!shard->greedy || !shard->gain || !shard->gain_target || !shard->dgain || !shard->gpus || !shard->state ||
        !shard->actions || !shard->q || !shard->dq || !shard->targets || !shard->grads || !shard->gpu_offset ||
        !shard->action_offset || !shard->member_offset)
        return adl_fail(err, ADL_ENOMEM, "out of memory for training");
    return adl_qnet_workspace_create(learner->net, &limits, &shard->workspace, err);
}

static void clear_shard(struct adl_learner_shard *shard)
{
    adl_qnet_workspace_destroy(shard->workspace);
    free(shard->gpus);
    free(shard->state);
    free(shard->actions);
    free(shard->q);
    free(shard->dq);
    free(shard->targets);
    free(shard->gain);
    free(shard->gain_target);
    free(shard->dgain);
    free(shard->greedy);
    free(shard->grads);
    free(shard->gpu_offset);
    free(shard->action_offset);
    free(shard->member_offset);
    free(shard->members);
}

static int build(struct adl_learner *learner, const struct adlro_shape *shape, uint64_t seed, struct adl_error *err)
{
    const size_t size = learner->net->parameter_count * sizeof(float);
    const struct adl_adam_config adam = {.norm_max = 10};
    struct adl_rng rng;
    learner->params = malloc(size);
    learner->average = malloc(size);
    learner->grads = malloc(size);
    learner->shards = calloc(ADL_LEARNER_SHARDS, sizeof *learner->shards);
    if (!learner->params || !learner->average || !learner->grads || !learner->shards)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a network");
    adl_rng_seed(&rng, seed, "network");
    adl_qnet_init(learner->net, &rng, learner->params);
    memcpy(learner->average, learner->params, size);
    int status = adl_adam_create(&adam, learner->net->parameter_count, &learner->adam, err);
    for (int s = 0; s < ADL_LEARNER_SHARDS && status == 0; s++)
        status = create_shard(learner, shape, &learner->shards[s], err);
    return status;
}

int adl_learner_create(const struct adl_qnet *net, struct adl_thread_pool *pool, const struct adlro_shape *shape,
                       uint32_t batch, uint64_t seed, struct adl_learner **ret, struct adl_error *err)
{
    struct adl_learner *learner = calloc(1, sizeof *learner);
    if (!learner)
        return adl_fail(err, ADL_ENOMEM, "out of memory for training");
    learner->net = net;
    learner->pool = pool;
    learner->batch = batch;
    learner->gpus = shape->gpus;
    const int status = build(learner, shape, seed, err);
    if (status) {
        adl_learner_destroy(learner);
        return status;
    }
    *ret = learner;
    return 0;
}

void adl_learner_destroy(struct adl_learner *learner)
{
    if (!learner)
        return;
    for (int s = 0; s < ADL_LEARNER_SHARDS && learner->shards; s++)
        clear_shard(&learner->shards[s]);
    free(learner->shards);
    adl_adam_destroy(learner->adam);
    free(learner->params);
    free(learner->average);
    free(learner->grads);
    free(learner->order);
    free(learner);
}

static size_t decision_count(const struct adl_experience *const *experience, uint32_t count)
{
    size_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all += experience[i]->count;
    return all;
}

/* ---- one batch ---- */

/* False if there is no space for its actions or members. */
static bool put_decision(const struct adl_learner *learner, struct adl_learner_shard *shard, int at, uint32_t which)
{
    const struct adl_experience *const *of = learner->experience;
    for (; which >= (*of)->count; of++)
        which -= (uint32_t)(*of)->count;
    const struct adl_experience *e = *of;
    const struct adl_tried_decision *it = &e->decisions[which];
    const int first = shard->action_offset[at], member = shard->member_offset[first];
    const uint32_t *offset = &e->member_offset[it->action_first];
    const size_t members = offset[it->action_count] - offset[0];
    if ((size_t)first + it->action_count > shard->action_room ||
        adl_grow((void **)&shard->members, &shard->member_room, (size_t)member + members + 1, sizeof *shard->members))
        return false;
    memcpy(&shard->gpus[(size_t)at * e->gpu_size], &e->gpus[which * e->gpu_size], e->gpu_size * sizeof(float));
    memcpy(&shard->state[(size_t)at * e->state_size], &e->state[which * e->state_size], e->state_size * sizeof(float));
    memcpy(&shard->actions[(size_t)first * e->action_size], &e->actions[it->action_first * e->action_size],
           it->action_count * e->action_size * sizeof(float));
    memcpy(&shard->members[member], &e->members[offset[0]], members * sizeof *shard->members);
    for (uint32_t a = 1; a <= it->action_count; a++)
        shard->member_offset[first + (int)a] = member + (int)(offset[a] - offset[0]);
    shard->gpu_offset[at + 1] = (at + 1) * (int)learner->gpus;
    shard->action_offset[at + 1] = first + it->action_count;
    memcpy(&shard->targets[first], &e->targets[it->action_first], it->action_count * sizeof(float));
    shard->greedy[at] = first + it->greedy;
    return true;
}

/* The loss of all actions that were tried, and its gradient for each value. Only differences of values count. */
static double compare(struct adl_learner_shard *shard, int count, double states)
{
    int tried = 0;
    for (int i = 0; i < count; i++)
        for (int a = shard->action_offset[i]; a < shard->action_offset[i + 1]; a++)
            if (!isnan(shard->targets[a])) {
                shard->gain[tried] = shard->q[a] - shard->q[shard->greedy[i]];
                shard->gain_target[tried++] = shard->targets[a];
            }
    const double share = tried / states;
    const double loss = adl_huber(tried, shard->gain, shard->gain_target, NULL, 1.0f, shard->dgain) * share;
    memset(shard->dq, 0, (size_t)shard->action_offset[count] * sizeof *shard->dq);
    tried = 0;
    for (int i = 0; i < count; i++)
        for (int a = shard->action_offset[i]; a < shard->action_offset[i + 1]; a++)
            if (!isnan(shard->targets[a])) {
                const float slope = shard->dgain[tried++] * (float)share;
                shard->dq[a] += slope;
                shard->dq[shard->greedy[i]] -= slope;
            }
    return loss;
}

static void learn_shard(void *self, uint32_t index)
{
    struct adl_learner *learner = self;
    struct adl_learner_shard *shard = &learner->shards[index];
    const size_t each = (learner->count + ADL_LEARNER_SHARDS - 1) / ADL_LEARNER_SHARDS, first = each * index;
    const size_t end = first + each < learner->count ? first + each : learner->count;
    int count = 0;
    shard->gpu_offset[0] = shard->action_offset[0] = shard->member_offset[0] = 0;
    shard->loss = 0;
    memset(shard->grads, 0, learner->net->parameter_count * sizeof *shard->grads);
    for (size_t i = first; i < end && put_decision(learner, shard, count, learner->order[learner->first + i]); i++)
        count++;
    if (count == 0)
        return;
    const struct adl_qnet_batch batch = {.states = count,
                                         .gpu_offset = shard->gpu_offset,
                                         .gpus = shard->gpus,
                                         .state = shard->state,
                                         .action_offset = shard->action_offset,
                                         .actions = shard->actions,
                                         .member_offset = shard->member_offset,
                                         .members = shard->members};
    adl_qnet_forward(learner->net, learner->params, &batch, shard->workspace, shard->q);
    shard->loss = compare(shard, count, (double)learner->count);
    adl_qnet_backward(learner->net, learner->params, &batch, shard->workspace, shard->dq, shard->grads);
}

/* One step of the optimizer; returns the loss before it. */
static double learn_batch(struct adl_learner *learner, size_t first, size_t count, double learning_rate)
{
    const size_t parameters = learner->net->parameter_count;
    double loss = 0;
    learner->first = first;
    learner->count = count;
    adl_thread_pool_run(learner->pool, ADL_LEARNER_SHARDS, learn_shard, learner);
    memcpy(learner->grads, learner->shards[0].grads, parameters * sizeof *learner->grads);
    for (int s = 1; s < ADL_LEARNER_SHARDS; s++)
        for (size_t p = 0; p < parameters; p++)
            learner->grads[p] += learner->shards[s].grads[p];
    for (int s = 0; s < ADL_LEARNER_SHARDS; s++)
        loss += learner->shards[s].loss;
    adl_adam_step(learner->adam, learner->net->kernels, learning_rate, learner->grads, learner->params);
    for (size_t p = 0; p < parameters; p++)
        learner->average[p] += AVERAGE_SHARE * (learner->params[p] - learner->average[p]);
    learner->updates++;
    return loss;
}

static void shuffle(uint32_t *order, size_t count, struct adl_rng *rng)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        const uint32_t other = adl_rng_below(rng, (uint32_t)i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

int adl_learner_learn(struct adl_learner *learner, const struct adl_experience *const *experience, uint32_t count,
                      uint32_t passes, double learning_rate, uint64_t seed, double *ret_loss, struct adl_error *err)
{
    const size_t all = decision_count(experience, count);
    struct adl_rng rng;
    double loss = 0;
    size_t batches = 0;
    if (adl_grow((void **)&learner->order, &learner->order_capacity, all, sizeof *learner->order))
        return adl_fail(err, ADL_ENOMEM, "out of memory for %zu decisions", all);
    adl_rng_seed(&rng, seed, "shuffle");
    learner->experience = experience;
    for (uint32_t pass = 0; pass < passes; pass++) {
        shuffle(learner->order, all, &rng);
        for (size_t first = 0; first < all; first += learner->batch, batches++)
            loss +=
                learn_batch(learner, first, all - first < learner->batch ? all - first : learner->batch, learning_rate);
    }
    *ret_loss = batches ? loss / (double)batches : 0;
    return 0;
}
