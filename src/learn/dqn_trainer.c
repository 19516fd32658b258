#include "learn/dqn_trainer.h"

#include "decide/policy.h"
#include "experiment/run.h"
#include "learn/guide.h"
#include "learn/player.h"
#include "learn/team.h"
#include "nn/adam.h"
#include "nn/model_file.h"
#include "sim/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS (ADL_ROUND_EPISODES / ADL_PLAYER_CELLS)
#define SHARDS 4 /* pieces of a batch, whatever the number of threads: sums of gradients then come out the same */

#define FIT_EPISODES 32

/* One piece of a batch and its own gradient. */
struct shard {
    struct adl_qnet_workspace *workspace;
    float *gpus, *state, *actions, *q, *dq, *targets, *grads;
    int *gpu_offset, *action_offset, *member_offset, *members;
    int members_max;
    double loss;
};

struct adl_dqn_trainer {
    struct adl_dqn_config config;
    struct adl_qnet net;
    struct adl_team *team;
    struct adl_player *players[GROUPS];
    struct adl_experience experience[GROUPS];
    struct shard shards[SHARDS];
    struct adl_adam *adam;
    float *params, *target, *best, *grads;
    uint32_t *order; /* of a round's decisions, shuffled */
    size_t order_capacity;
    struct adl_guide guide;
    uint64_t episodes, updates, decisions;
    double value_offset, value_scale;
    double best_return;
    /* Of the round at hand. */
    struct adl_agent agent;
    double returns[ADL_ROUND_EPISODES];
    struct adl_result results[ADL_ROUND_EPISODES];
    uint64_t first_seed;
    uint32_t playing;
    bool keep;
    int status[GROUPS];
    struct adl_error error[GROUPS];
    size_t batch_first, batch_count;
};

struct adl_dqn_config adl_dqn_defaults(enum adl_qnet_kind network)
{
    return (struct adl_dqn_config){
        .network = network,
        .seed = 1,
        .episodes = 2000,
        .threads = 1,
        .gpu_width = network == ADL_QNET_PAPER ? 32 : 16,
        .head_width = network == ADL_QNET_PAPER ? 128 : 64,
        .learning_rate = 1e-3,
        .learning_rate_end = 1e-4,
        .explore = 0.10,
        .explore_end = 0.02,
        .guided = network == ADL_QNET_PAPER ? 0.0 : 0.3,
        .horizon_s = 60,
        .trace = 0.9,
        .tail = 0.3,
        .batch = 512,
        .passes = 2,
        .target_rounds = 4,
        .validate_rounds = 8,
        .validation_episodes = 32,
        .guide_generations = 24,
    };
}

/* ---- create ---- */

static int create_shard(const struct adl_dqn_trainer *trainer, struct shard *shard, struct adl_error *err)
{
    const struct adlro_shape *shape = &trainer->players[0]->shape;
    const size_t count = (trainer->config.batch + SHARDS - 1) / SHARDS;
    const struct adl_qnet_limits limits = {(int)count, (int)(count * shape->gpus), (int)count};
    shard->members_max = (int)(count * shape->gpus);
    shard->gpus = malloc(count * shape->gpus * shape->gpu_features * sizeof *shard->gpus);
    shard->state = malloc(count * shape->state_features * sizeof *shard->state);
    shard->actions = malloc(count * shape->action_features * sizeof *shard->actions);
    shard->q = malloc(count * sizeof *shard->q);
    shard->dq = malloc(count * sizeof *shard->dq);
    shard->targets = malloc(count * sizeof *shard->targets);
    shard->grads = malloc(trainer->net.parameter_count * sizeof *shard->grads);
    shard->gpu_offset = malloc((count + 1) * sizeof *shard->gpu_offset);
    shard->action_offset = malloc((count + 1) * sizeof *shard->action_offset);
    shard->member_offset = malloc((count + 1) * sizeof *shard->member_offset);
    shard->members = malloc((size_t)shard->members_max * sizeof *shard->members);
    if (!shard->gpus || !shard->state || !shard->actions || !shard->q || !shard->dq || !shard->targets ||
        !shard->grads || !shard->gpu_offset || !shard->action_offset || !shard->member_offset || !shard->members)
        return adl_fail(err, ADL_ENOMEM, "out of memory for training");
    return adl_qnet_workspace_create(&trainer->net, &limits, &shard->workspace, err);
}

static void clear_shard(struct shard *shard)
{
    adl_qnet_workspace_destroy(shard->workspace);
    free(shard->gpus);
    free(shard->state);
    free(shard->actions);
    free(shard->q);
    free(shard->dq);
    free(shard->targets);
    free(shard->grads);
    free(shard->gpu_offset);
    free(shard->action_offset);
    free(shard->member_offset);
    free(shard->members);
}

static int make_network(struct adl_dqn_trainer *trainer, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    const bool paper = config->network == ADL_QNET_PAPER;
    const struct adlro_config one = {.count = 1, .sight = paper ? ADLRO_SIGHT_PAPER : ADLRO_SIGHT_ALL};
    struct adlro_environment *env;
    struct adlro_shape shape;
    int status = adl_environment_create(config->scenario, &one, &env, err);
    if (status)
        return status;
    adlro_shape(env, &shape);
    adlro_destroy(env);
    const struct adl_qnet_shape net = {.kind = config->network,
                                       .gpu_features = (int)shape.gpu_features,
                                       .state_features = (int)shape.state_features,
                                       .action_features = paper ? 0 : (int)shape.action_features,
                                       .gpu_width = (int)config->gpu_width,
                                       .head_width = (int)config->head_width,
                                       .paper_gpus = paper ? (int)shape.gpus : 0};
    return adl_qnet_make(&net, adl_kernels_choose(true), &trainer->net, err);
}

static int create_parameters(struct adl_dqn_trainer *trainer, struct adl_error *err)
{
    const size_t size = trainer->net.parameter_count * sizeof(float);
    const struct adl_adam_config adam = {.norm_max = 10};
    struct adl_rng rng;
    trainer->params = malloc(size);
    trainer->target = malloc(size);
    trainer->best = malloc(size);
    trainer->grads = malloc(size);
    if (!trainer->params || !trainer->target || !trainer->best || !trainer->grads)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a network");
    adl_rng_seed(&rng, trainer->config.seed, "network");
    adl_qnet_init(&trainer->net, &rng, trainer->params);
    memcpy(trainer->target, trainer->params, size);
    memcpy(trainer->best, trainer->params, size);
    return adl_adam_create(&adam, trainer->net.parameter_count, &trainer->adam, err);
}

static int build(struct adl_dqn_trainer *trainer, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    const struct adlro_config env = {.sight = config->network == ADL_QNET_PAPER ? ADLRO_SIGHT_PAPER : ADLRO_SIGHT_ALL,
                                     .tail = config->tail};
    int status = make_network(trainer, err);
    if (status == 0)
        status = adl_team_create(config->threads, &trainer->team, err);
    for (int g = 0; g < GROUPS && status == 0; g++) {
        status = adl_player_create(config->scenario, &env, &trainer->net, &trainer->players[g], err);
        if (status == 0)
            adl_experience_init(&trainer->experience[g], &trainer->players[g]->shape);
    }
    if (status == 0)
        status = create_parameters(trainer, err);
    for (int s = 0; s < SHARDS && status == 0; s++)
        status = create_shard(trainer, &trainer->shards[s], err);
    trainer->best_return = -HUGE_VAL;
    trainer->value_scale = 1;
    return status;
}

int adl_dqn_trainer_create(const struct adl_dqn_config *config, struct adl_dqn_trainer **ret, struct adl_error *err)
{
    struct adl_dqn_trainer *trainer = calloc(1, sizeof *trainer);
    if (!trainer)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a trainer");
    trainer->config = *config;
    const int status = build(trainer, err);
    if (status) {
        adl_dqn_trainer_destroy(trainer);
        return status;
    }
    *ret = trainer;
    return 0;
}

void adl_dqn_trainer_destroy(struct adl_dqn_trainer *trainer)
{
    if (!trainer)
        return;
    adl_team_destroy(trainer->team);
    for (int g = 0; g < GROUPS; g++) {
        adl_player_destroy(trainer->players[g]);
        adl_experience_clear(&trainer->experience[g]);
    }
    for (int s = 0; s < SHARDS; s++)
        clear_shard(&trainer->shards[s]);
    adl_adam_destroy(trainer->adam);
    free(trainer->params);
    free(trainer->target);
    free(trainer->best);
    free(trainer->grads);
    free(trainer->order);
    free(trainer);
}

/* ---- before the first round ---- */

int adl_dqn_trainer_prepare(struct adl_dqn_trainer *trainer, int (*progress)(void *, uint32_t, double), void *self,
                            struct adl_error *err)
{
    const uint64_t first = ADL_SEED_TRAINING + (trainer->config.seed << 40);
    int status = adlro_fit(trainer->players[0]->env, first, FIT_EPISODES, err->text);
    for (int g = 1; g < GROUPS && status == 0; g++)
        adl_environment_set_normalizer(trainer->players[g]->env, adl_environment_normalizer(trainer->players[0]->env));
    if (status || trainer->config.guided <= 0)
        return status;
    const struct adl_guide_search search = {.team = trainer->team,
                                            .players = trainer->players,
                                            .player_count = GROUPS,
                                            .seed = trainer->config.seed,
                                            .first_seed = first + FIT_EPISODES,
                                            .generations = trainer->config.guide_generations,
                                            .progress = progress,
                                            .progress_self = self};
    return adl_guide_find(&search, &trainer->guide, err);
}

/* ---- playing ---- */

static void play_group(void *self, uint32_t index)
{
    struct adl_dqn_trainer *trainer = self;
    const uint32_t first = index * ADL_PLAYER_CELLS;
    const uint32_t left = trainer->playing - first, count = left < ADL_PLAYER_CELLS ? left : ADL_PLAYER_CELLS;
    uint64_t seeds[ADL_PLAYER_CELLS];
    struct adl_rng rng;
    adl_rng_seed(&rng, trainer->first_seed + first, "explore");
    for (uint32_t i = 0; i < count; i++)
        seeds[i] = trainer->first_seed + first + i;
    struct adl_experience *experience = trainer->keep ? &trainer->experience[index] : NULL;
    if (experience)
        adl_experience_forget(experience);
    trainer->status[index] =
        adl_player_play(trainer->players[index], &trainer->agent, seeds, count, &rng, experience,
                        &trainer->results[first], &trainer->returns[first], &trainer->error[index]);
    if (experience && trainer->status[index] == 0)
        adl_experience_settle(experience, trainer->config.horizon_s,
                              trainer->agent.target ? trainer->config.trace : 1.0);
}

/* count episodes from a seed, at most a round's; keep: their experience. */
static int play(struct adl_dqn_trainer *trainer, struct adl_agent agent, uint64_t first_seed, uint32_t count, bool keep,
                struct adl_error *err)
{
    const uint32_t groups = (count + ADL_PLAYER_CELLS - 1) / ADL_PLAYER_CELLS;
    trainer->agent = agent;
    trainer->first_seed = first_seed;
    trainer->playing = count;
    trainer->keep = keep;
    adl_team_run(trainer->team, groups, play_group, trainer);
    for (uint32_t g = 0; g < groups; g++)
        if (trainer->status[g])
            return adl_fail(err, trainer->status[g], "%s", trainer->error[g].text);
    return 0;
}

static double mean_return(const struct adl_dqn_trainer *trainer, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += trainer->returns[i];
    return sum / count;
}

/* ---- learning ---- */

static const struct adl_experience *find_moment(const struct adl_dqn_trainer *trainer, uint32_t *index)
{
    const struct adl_experience *experience = trainer->experience;
    while (*index >= experience->count) {
        *index -= (uint32_t)experience->count;
        experience++;
    }
    return experience;
}

static void put_moment(const struct adl_dqn_trainer *trainer, struct shard *shard, int at, uint32_t which)
{
    const struct adl_experience *e = find_moment(trainer, &which);
    const struct adl_lesson *moment = &e->lessons[which];
    const int first = shard->member_offset[at];
    memcpy(&shard->gpus[(size_t)at * e->gpu_size], &e->gpus[which * e->gpu_size], e->gpu_size * sizeof(float));
    memcpy(&shard->state[(size_t)at * e->state_size], &e->state[which * e->state_size], e->state_size * sizeof(float));
    memcpy(&shard->actions[(size_t)at * e->action_size], &e->actions[which * e->action_size],
           e->action_size * sizeof(float));
    memcpy(&shard->members[first], &e->members[moment->member_first], moment->member_count * sizeof *shard->members);
    shard->member_offset[at + 1] = first + moment->member_count;
    shard->gpu_offset[at + 1] = (at + 1) * (int)trainer->players[0]->shape.gpus;
    shard->action_offset[at + 1] = at + 1;
    shard->targets[at] = (float)((moment->worth - trainer->value_offset) / trainer->value_scale);
}

static void learn_shard(void *self, uint32_t index)
{
    struct adl_dqn_trainer *trainer = self;
    struct shard *shard = &trainer->shards[index];
    const size_t each = (trainer->batch_count + SHARDS - 1) / SHARDS, first = each * index;
    const size_t end = first + each < trainer->batch_count ? first + each : trainer->batch_count;
    const int count = end > first ? (int)(end - first) : 0;
    shard->gpu_offset[0] = shard->action_offset[0] = shard->member_offset[0] = 0;
    shard->loss = 0;
    memset(shard->grads, 0, trainer->net.parameter_count * sizeof *shard->grads);
    if (count == 0)
        return;
    for (int i = 0; i < count; i++)
        put_moment(trainer, shard, i, trainer->order[trainer->batch_first + first + (size_t)i]);
    const struct adl_qnet_batch batch = {.states = count,
                                         .gpu_offset = shard->gpu_offset,
                                         .gpus = shard->gpus,
                                         .state = shard->state,
                                         .action_offset = shard->action_offset,
                                         .actions = shard->actions,
                                         .member_offset = shard->member_offset,
                                         .members = shard->members};
    adl_qnet_forward(&trainer->net, trainer->params, &batch, shard->workspace, shard->q);
    const double share = (double)count / (double)trainer->batch_count;
    shard->loss = adl_huber(count, shard->q, shard->targets, NULL, 1.0f, shard->dq) * share;
    for (int i = 0; i < count; i++)
        shard->dq[i] *= (float)share;
    adl_qnet_backward(&trainer->net, trainer->params, &batch, shard->workspace, shard->dq, shard->grads);
}

/* One step of the optimizer; returns the loss before it. */
static double learn_batch(struct adl_dqn_trainer *trainer, size_t first, size_t count, double learning_rate)
{
    double loss = 0;
    trainer->batch_first = first;
    trainer->batch_count = count;
    adl_team_run(trainer->team, SHARDS, learn_shard, trainer);
    memcpy(trainer->grads, trainer->shards[0].grads, trainer->net.parameter_count * sizeof *trainer->grads);
    for (int s = 1; s < SHARDS; s++)
        for (size_t p = 0; p < trainer->net.parameter_count; p++)
            trainer->grads[p] += trainer->shards[s].grads[p];
    for (int s = 0; s < SHARDS; s++)
        loss += trainer->shards[s].loss;
    adl_adam_step(trainer->adam, trainer->net.kernels, learning_rate, trainer->grads, trainer->params);
    trainer->updates++;
    return loss;
}

static size_t round_decisions(const struct adl_dqn_trainer *trainer)
{
    size_t count = 0;
    for (int g = 0; g < GROUPS; g++)
        count += trainer->experience[g].count;
    return count;
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

static int learn(struct adl_dqn_trainer *trainer, double learning_rate, double *ret_loss, struct adl_error *err)
{
    const size_t count = round_decisions(trainer);
    struct adl_rng rng;
    double loss = 0;
    size_t batches = 0;
    if (adl_grow((void **)&trainer->order, &trainer->order_capacity, count, sizeof *trainer->order))
        return adl_fail(err, ADL_ENOMEM, "out of memory for %zu decisions", count);
    adl_rng_seed(&rng, trainer->config.seed + trainer->episodes, "shuffle");
    for (uint32_t pass = 0; pass < trainer->config.passes; pass++) {
        shuffle(trainer->order, count, &rng);
        for (size_t first = 0; first < count; first += trainer->config.batch, batches++) {
            const size_t left = count - first;
            loss += learn_batch(trainer, first, left < trainer->config.batch ? left : trainer->config.batch,
                                learning_rate);
        }
    }
    *ret_loss = batches ? loss / (double)batches : 0;
    return 0;
}

/* The first round tells on what scale worths are. */
static void set_scale(struct adl_dqn_trainer *trainer)
{
    double sum = 0, squares = 0, count = (double)round_decisions(trainer);
    for (int g = 0; g < GROUPS; g++)
        for (size_t i = 0; i < trainer->experience[g].count; i++)
            sum += trainer->experience[g].lessons[i].worth;
    const double mean = count > 0 ? sum / count : 0;
    for (int g = 0; g < GROUPS; g++)
        for (size_t i = 0; i < trainer->experience[g].count; i++)
            squares += (trainer->experience[g].lessons[i].worth - mean) * (trainer->experience[g].lessons[i].worth - mean);
    trainer->value_offset = mean;
    trainer->value_scale = count > 0 && squares > 0 ? sqrt(squares / count) : 1;
}

/* ---- validation ---- */

static void add_result(struct adl_result *sum, const struct adl_result *one, double weight)
{
    for (int m = 0; m < ADL_METRIC_COUNT; m++)
        sum->value[m] += one->value[m] * weight;
    sum->jobs += one->jobs;
    sum->unfinished += one->unfinished;
}

static int validate(struct adl_dqn_trainer *trainer, struct adl_dqn_report *report, struct adl_error *err)
{
    const struct adl_agent greedy = {.params = trainer->params};
    const uint32_t all = trainer->config.validation_episodes;
    report->validation = (struct adl_result){.jobs = 0};
    report->validation_return = 0;
    for (uint32_t first = 0; first < all; first += ADL_ROUND_EPISODES) {
        const uint32_t count = all - first < ADL_ROUND_EPISODES ? all - first : ADL_ROUND_EPISODES;
        const int status = play(trainer, greedy, ADL_SEED_VALIDATION + first, count, false, err);
        if (status)
            return status;
        report->validation_return += mean_return(trainer, count) * count / all;
        for (uint32_t i = 0; i < count; i++)
            add_result(&report->validation, &trainer->results[i], 1.0 / all);
    }
    report->validated = true;
    report->best = report->validation_return > trainer->best_return;
    if (report->best) {
        trainer->best_return = report->validation_return;
        memcpy(trainer->best, trainer->params, trainer->net.parameter_count * sizeof *trainer->best);
    }
    return 0;
}

int adl_dqn_trainer_baseline(const struct adl_dqn_trainer *trainer, const char *policy, struct adl_result *ret,
                             struct adl_error *err)
{
    const uint32_t all = trainer->config.validation_episodes;
    struct adl_result sum = {.jobs = 0}, one;
    for (uint32_t i = 0; i < all; i++) {
        const struct adl_run run = {.scenario = trainer->config.scenario,
                                    .policy = adl_policy_find(policy),
                                    .seed = ADL_SEED_VALIDATION + i};
        if (!run.policy)
            return adl_fail(err, ADL_EINVAL, "there is no policy %s", policy);
        const int status = adl_run(&run, &one, err);
        if (status)
            return status;
        add_result(&sum, &one, 1.0 / all);
    }
    *ret = sum;
    return 0;
}

/* ---- rounds ---- */

static double between(double start, double end, double share)
{
    return start + (end - start) * (share < 1 ? share : 1);
}

int adl_dqn_trainer_round(struct adl_dqn_trainer *trainer, struct adl_dqn_report *ret, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    if (trainer->episodes >= config->episodes)
        return 0;
    const double share = (double)trainer->episodes / (double)config->episodes;
    const uint64_t round = trainer->episodes / ADL_ROUND_EPISODES;
    const bool first = trainer->episodes == 0, guided = share < config->guided;
    struct adl_dqn_report report = {.guided = guided, .explore = between(config->explore, config->explore_end, share)};
    const struct adl_agent agent = {.params = guided ? NULL : trainer->params,
                                    .rule = trainer->guide.weights,
                                    .target = first ? NULL : trainer->target,
                                    .explore = report.explore,
                                    .value_offset = trainer->value_offset,
                                    .value_scale = trainer->value_scale};
    const uint64_t seeds = ADL_SEED_TRAINING + (config->seed << 40) + (UINT64_C(1) << 32) + trainer->episodes;
    int status = play(trainer, agent, seeds, ADL_ROUND_EPISODES, true, err);
    if (status)
        return status;
    report.mean_return = mean_return(trainer, ADL_ROUND_EPISODES);
    trainer->decisions += round_decisions(trainer);
    if (first)
        set_scale(trainer);
    status = learn(trainer, between(config->learning_rate, config->learning_rate_end, share), &report.loss, err);
    if (status)
        return status;
    trainer->episodes += ADL_ROUND_EPISODES;
    if (round % config->target_rounds == 0)
        memcpy(trainer->target, trainer->params, trainer->net.parameter_count * sizeof *trainer->target);
    if (round % config->validate_rounds == config->validate_rounds - 1 || trainer->episodes >= config->episodes)
        status = validate(trainer, &report, err);
    report.episodes = trainer->episodes;
    report.decisions = trainer->decisions;
    report.updates = trainer->updates;
    *ret = report;
    return status ? status : 1;
}
