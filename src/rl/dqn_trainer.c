#include "rl/dqn_trainer.h"

#include "base/hash.h"
#include "experiment/run.h"
#include "experiment/thread_pool.h"
#include "nn/model_file.h"
#include "policy/policy.h"
#include "rl/learner.h"
#include "rl/rollout.h"
#include "rl/warm_start.h"
#include "sim/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS         (ADL_ROUND_EPISODES / ADL_ROLLOUT_CELLS)
#define FIT_EPISODES   32
#define STATE_TAG      "state"
#define TARGET_TAG     "target"
#define BEST_TAG       "best"
#define WARM_START_TAG "guide"

struct adl_dqn_trainer {
    struct adl_dqn_config config;
    struct adl_qnet net;
    struct adl_thread_pool *pool;
    struct adl_rollout *rollouts[GROUPS];
    struct adl_experience experience[GROUPS];
    struct adl_learner *learner;
    float *target, *best;
    struct adl_warm_start warm_start;
    uint64_t scenario_hash;
    uint64_t episodes, decisions;
    double best_return;
    struct adl_result best_validation;
    /* Of the current round. */
    struct adl_agent agent;
    double returns[ADL_ROUND_EPISODES];
    struct adl_result results[ADL_ROUND_EPISODES];
    uint64_t first_seed;
    uint32_t episode_count;
    bool keep;
    int status[GROUPS];
    struct adl_error error[GROUPS];
};

struct adl_dqn_config adl_dqn_defaults(enum adl_qnet_kind network)
{
    const bool paper = network == ADL_QNET_PAPER;
    return (struct adl_dqn_config){
        .network = network,
        .seed = 1,
        .episodes = 2000,
        .threads = 1,
        .gpu_width = paper ? 32 : 16,
        .head_width = paper ? 128 : 64,
        .learning_rate = paper ? 1e-4 : 5e-4, /* the ADLRO paper's, and ours */
        .learning_rate_end = 1e-5,
        .explore = 0.5, /* exploring is cheap: one start among several matters little */
        .explore_end = 0.5,
        .warm_started = paper ? 0.0 : 0.05,
        .prior = 0.05,
        .horizon_s = 100,
        .trace = 0.9,
        .tail = 1.0,
        .batch = 512,
        .passes = 1,
        .target_rounds = 4,
        .validate_rounds = 32,
        .validation_episodes = 128,
        .warm_start_generations = 40,
    };
}

/* ---- create ---- */

static int make_network(struct adl_dqn_trainer *trainer, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    const bool paper = config->network == ADL_QNET_PAPER;
    const struct adlro_config one = {.count = 1,
                                     .observation = paper ? ADLRO_OBSERVATION_PAPER : ADLRO_OBSERVATION_ALL};
    struct adlro_environment *env;
    struct adlro_shape shape;
    int status = adl_environment_create(config->scenario, &one, &env, err);
    if (status)
        return status;
    adlro_shape(env, &shape, sizeof shape);
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

static size_t params_size(const struct adl_dqn_trainer *trainer)
{
    return trainer->net.parameter_count * sizeof(float);
}

static int create_networks(struct adl_dqn_trainer *trainer, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    const int status = adl_learner_create(&trainer->net, trainer->pool, &trainer->rollouts[0]->shape, config->batch,
                                          config->seed, &trainer->learner, err);
    if (status)
        return status;
    trainer->target = malloc(params_size(trainer));
    trainer->best = malloc(params_size(trainer));
    if (!trainer->target || !trainer->best)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a network");
    memcpy(trainer->target, trainer->learner->params, params_size(trainer));
    memcpy(trainer->best, trainer->learner->params, params_size(trainer));
    return 0;
}

static int build(struct adl_dqn_trainer *trainer, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    const struct adlro_config env = {.observation = config->network == ADL_QNET_PAPER ? ADLRO_OBSERVATION_PAPER
                                                                                      : ADLRO_OBSERVATION_ALL,
                                     .tail = config->tail};
    int status = make_network(trainer, err);
    if (status == 0)
        status = adl_thread_pool_create(config->threads, &trainer->pool, err);
    for (int g = 0; g < GROUPS && status == 0; g++) {
        status = adl_rollout_create(config->scenario, &env, &trainer->net, &trainer->rollouts[g], err);
        if (status == 0)
            adl_experience_init(&trainer->experience[g], &trainer->rollouts[g]->shape);
    }
    if (status == 0)
        status = create_networks(trainer, err);
    if (status == 0 && adl_workload_hash(config->scenario, 0, 1000, &trainer->scenario_hash))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for the workload");
    trainer->best_return = -HUGE_VAL;
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
    for (int g = 0; g < GROUPS; g++) {
        adl_rollout_destroy(trainer->rollouts[g]);
        adl_experience_clear(&trainer->experience[g]);
    }
    adl_learner_destroy(trainer->learner);
    free(trainer->target);
    free(trainer->best);
    adl_thread_pool_destroy(trainer->pool);
    free(trainer);
}

/* ---- before the first round ---- */

int adl_dqn_trainer_prepare(struct adl_dqn_trainer *trainer, int (*progress)(void *, uint32_t, double), void *self,
                            struct adl_error *err)
{
    const uint64_t first = ADL_SEED_TRAINING + (trainer->config.seed << 40);
    int status = adlro_fit(trainer->rollouts[0]->env, first, FIT_EPISODES, err->text);
    for (int g = 1; g < GROUPS && status == 0; g++)
        adl_environment_set_normalizer(trainer->rollouts[g]->env,
                                       adl_environment_normalizer(trainer->rollouts[0]->env));
    if (status || trainer->config.warm_started <= 0)
        return status;
    const struct adl_warm_start_search search = {.pool = trainer->pool,
                                                 .rollouts = trainer->rollouts,
                                                 .rollout_count = GROUPS,
                                                 .seed = trainer->config.seed,
                                                 .first_seed = first + FIT_EPISODES,
                                                 .generations = trainer->config.warm_start_generations,
                                                 .progress = progress,
                                                 .progress_self = self};
    status = adl_warm_start_find(&search, &trainer->warm_start, err);
    if (status == 0) {
        adl_qnet_prime(&trainer->net, trainer->warm_start.weights, (float)trainer->config.prior,
                       trainer->learner->params);
        memcpy(trainer->target, trainer->learner->params, params_size(trainer));
    }
    return status;
}

/* ---- rollouts ---- */

static void run_group(void *self, uint32_t index)
{
    struct adl_dqn_trainer *trainer = self;
    const uint32_t first = index * ADL_ROLLOUT_CELLS;
    const uint32_t left = trainer->episode_count - first, count = left < ADL_ROLLOUT_CELLS ? left : ADL_ROLLOUT_CELLS;
    uint64_t seeds[ADL_ROLLOUT_CELLS];
    struct adl_rng rng;
    adl_rng_seed(&rng, trainer->first_seed + first, "explore");
    /* Training episodes of one group share their jobs, so that a baseline over the group reduces variance. */
    for (uint32_t i = 0; i < count; i++)
        seeds[i] = trainer->first_seed + (trainer->keep ? index : first + i);
    struct adl_experience *experience = trainer->keep ? &trainer->experience[index] : NULL;
    if (experience)
        adl_experience_reset(experience);
    trainer->status[index] =
        adl_rollout_run(trainer->rollouts[index], &trainer->agent, seeds, count, &rng, experience,
                        &trainer->results[first], &trainer->returns[first], &trainer->error[index]);
    if (!experience || trainer->status[index])
        return;
    const bool valued = trainer->agent.target != NULL;
    adl_experience_set_targets(experience, trainer->config.horizon_s, valued ? trainer->config.trace : 1.0);
    if (valued)
        adl_experience_subtract_baseline(experience, count);
}

/* Runs count episodes from a seed, at most ADL_ROUND_EPISODES; keep: stores their experience. */
static int run_episodes(struct adl_dqn_trainer *trainer, struct adl_agent agent, uint64_t first_seed, uint32_t count,
                        bool keep, struct adl_error *err)
{
    const uint32_t groups = (count + ADL_ROLLOUT_CELLS - 1) / ADL_ROLLOUT_CELLS;
    trainer->agent = agent;
    trainer->first_seed = first_seed;
    trainer->episode_count = count;
    trainer->keep = keep;
    adl_thread_pool_run(trainer->pool, groups, run_group, trainer);
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
    const struct adl_agent greedy = {.params = trainer->learner->params};
    const uint32_t all = trainer->config.validation_episodes;
    report->validation = (struct adl_result){.jobs = 0};
    report->validation_return = 0;
    for (uint32_t first = 0; first < all; first += ADL_ROUND_EPISODES) {
        const uint32_t count = all - first < ADL_ROUND_EPISODES ? all - first : ADL_ROUND_EPISODES;
        const int status = run_episodes(trainer, greedy, ADL_SEED_VALIDATION + first, count, false, err);
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
        trainer->best_validation = report->validation;
        memcpy(trainer->best, trainer->learner->params, params_size(trainer));
    }
    return 0;
}

int adl_dqn_trainer_baseline(const struct adl_dqn_trainer *trainer, const char *policy, struct adl_result *ret,
                             struct adl_error *err)
{
    const uint32_t all = trainer->config.validation_episodes;
    struct adl_result sum = {.jobs = 0}, one;
    for (uint32_t i = 0; i < all; i++) {
        const struct adl_run run = {
            .scenario = trainer->config.scenario, .policy = adl_policy_find(policy), .seed = ADL_SEED_VALIDATION + i};
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
    struct adl_learner *learner = trainer->learner;
    if (trainer->episodes >= config->episodes)
        return 0;
    const double share = (double)trainer->episodes / (double)config->episodes;
    const uint64_t round = trainer->episodes / ADL_ROUND_EPISODES;
    const bool first = trainer->episodes == 0, warm_started = share < config->warm_started;
    struct adl_dqn_report report = {.warm_started = warm_started,
                                    .explore = between(config->explore, config->explore_end, share)};
    const struct adl_agent agent = {.params = warm_started ? NULL : learner->params,
                                    .rule = trainer->warm_start.weights,
                                    .target = first ? NULL : trainer->target,
                                    .explore = report.explore,
                                    .value_offset = learner->value_offset,
                                    .value_scale = learner->value_scale};
    const uint64_t seeds = ADL_SEED_TRAINING + (config->seed << 40) + (UINT64_C(1) << 32) + trainer->episodes;
    int status = run_episodes(trainer, agent, seeds, ADL_ROUND_EPISODES, true, err);
    if (status)
        return status;
    report.mean_return = mean_return(trainer, ADL_ROUND_EPISODES);
    for (int g = 0; g < GROUPS; g++)
        trainer->decisions += trainer->experience[g].count;
    if (first)
        adl_learner_set_scale(learner, trainer->experience, GROUPS);
    status =
        adl_learner_learn(learner, trainer->experience, GROUPS, config->passes,
                          between(config->learning_rate, config->learning_rate_end, share), seeds, &report.loss, err);
    if (status)
        return status;
    trainer->episodes += ADL_ROUND_EPISODES;
    if (round % config->target_rounds == 0)
        memcpy(trainer->target, learner->params, params_size(trainer));
    if (round % config->validate_rounds == config->validate_rounds - 1 || trainer->episodes >= config->episodes)
        status = validate(trainer, &report, err);
    report.episodes = trainer->episodes;
    report.decisions = trainer->decisions;
    report.updates = learner->updates;
    *ret = report;
    return status ? status : 1;
}

/* ---- serialization ---- */

static struct adl_model model_of(const struct adl_dqn_trainer *trainer, const float *params)
{
    return (struct adl_model){.schema = ADL_SCHEMA_VERSION,
                              .shape = trainer->net.shape,
                              .scenario_hash = trainer->scenario_hash,
                              .seed = trainer->config.seed,
                              .episodes = trainer->episodes,
                              .params = params,
                              .parameter_count = trainer->net.parameter_count};
}

static void write_scores(const struct adl_dqn_trainer *trainer, struct adl_text *text)
{
    static const int shown[] = {ADL_METRIC_JCT_MEAN, ADL_METRIC_JCT_P99, ADL_METRIC_THROUGHPUT, ADL_METRIC_UTILIZATION,
                                ADL_METRIC_REWARD};
    adl_text_printf(text, "validation_episodes=%u\n", trainer->config.validation_episodes);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        adl_text_printf(text, "%s=", adl_metric_table[shown[i]].name);
        adl_text_real(text, trainer->best_validation.value[shown[i]]);
        adl_text_char(text, '\n');
    }
}

static const struct adl_normalizer *normalizer_of(const struct adl_dqn_trainer *trainer)
{
    return adl_environment_normalizer(trainer->rollouts[0]->env);
}

int adl_dqn_trainer_model(const struct adl_dqn_trainer *trainer, struct adl_text *ret, struct adl_error *err)
{
    char normalizer[ADL_NORMALIZER_TEXT_MAX];
    struct adl_text scores = {0};
    struct adl_model model = model_of(trainer, trainer->best);
    adl_model_section_add(&model, ADL_MODEL_NORMALIZER, normalizer,
                          adl_normalizer_encode(normalizer_of(trainer), normalizer, sizeof normalizer));
    write_scores(trainer, &scores);
    adl_model_section_add(&model, ADL_MODEL_SCORES, scores.data, scores.size);
    const int status = adl_text_status(&scores) ? adl_fail(err, ADL_ENOMEM, "out of memory for a model")
                                                : adl_model_encode(&model, ret, err);
    adl_text_clear(&scores);
    return status;
}

/* The trainer's state besides its networks. Read back only by the same program on the same kind of machine. */
struct saved {
    uint64_t config_hash;
    uint64_t episodes, updates, decisions;
    double value_offset, value_scale, best_return;
    struct adl_result best_validation;
};

/* Of everything that determines the result of training; not of the number of threads. */
static uint64_t config_hash(const struct adl_dqn_trainer *trainer)
{
    const struct adl_dqn_config *c = &trainer->config;
    const double reals[] = {c->learning_rate, c->learning_rate_end, c->explore, c->explore_end,
                            c->warm_started,  c->horizon_s,         c->trace,   c->tail,
                            c->prior,         c->scenario->lambda};
    const uint64_t wholes[] = {c->network,
                               c->seed,
                               c->episodes,
                               c->gpu_width,
                               c->head_width,
                               c->batch,
                               c->passes,
                               c->target_rounds,
                               c->validate_rounds,
                               c->warm_start_generations,
                               c->validation_episodes,
                               trainer->scenario_hash};
    return adl_hash_bytes(adl_hash_bytes(adl_hash_start(), reals, sizeof reals), wholes, sizeof wholes);
}

int adl_dqn_trainer_checkpoint(const struct adl_dqn_trainer *trainer, struct adl_text *ret, struct adl_error *err)
{
    const struct adl_learner *learner = trainer->learner;
    const struct saved saved = {.config_hash = config_hash(trainer),
                                .episodes = trainer->episodes,
                                .updates = learner->updates,
                                .decisions = trainer->decisions,
                                .value_offset = learner->value_offset,
                                .value_scale = learner->value_scale,
                                .best_return = trainer->best_return,
                                .best_validation = trainer->best_validation};
    char normalizer[ADL_NORMALIZER_TEXT_MAX];
    struct adl_text adam = {0};
    struct adl_model model = model_of(trainer, learner->params);
    adl_adam_write(learner->adam, &adam);
    adl_model_section_add(&model, ADL_MODEL_NORMALIZER, normalizer,
                          adl_normalizer_encode(normalizer_of(trainer), normalizer, sizeof normalizer));
    adl_model_section_add(&model, ADL_MODEL_OPTIMIZER, adam.data, adam.size);
    adl_model_section_add(&model, STATE_TAG, &saved, sizeof saved);
    adl_model_section_add(&model, TARGET_TAG, trainer->target, params_size(trainer));
    adl_model_section_add(&model, BEST_TAG, trainer->best, params_size(trainer));
    adl_model_section_add(&model, WARM_START_TAG, &trainer->warm_start, sizeof trainer->warm_start);
    const int status = adl_text_status(&adam) ? adl_fail(err, ADL_ENOMEM, "out of memory for a checkpoint")
                                              : adl_model_encode(&model, ret, err);
    adl_text_clear(&adam);
    return status;
}

/* Copies a section of exactly this size. */
static int copy_section(const struct adl_model *model, const char *tag, void *ret, size_t size, struct adl_error *err)
{
    const struct adl_model_section *section = adl_model_section_find(model, tag);
    if (!section || section->size != size)
        return adl_fail(err, ADL_EINVAL, "it is not a checkpoint of this program: section '%s' of %zu bytes is missing",
                        tag, size);
    memcpy(ret, section->bytes, size);
    return 0;
}

static int resume_from(struct adl_dqn_trainer *trainer, const struct adl_model *model, struct adl_error *err)
{
    struct adl_learner *learner = trainer->learner;
    struct adl_normalizer normalizer;
    struct saved saved = {0};
    int status = copy_section(model, STATE_TAG, &saved, sizeof saved, err);
    if (status)
        return status;
    if (saved.config_hash != config_hash(trainer))
        return adl_fail(err, ADL_EINVAL,
                        "it belongs to a training with other options or another scenario; resume with the same ones");
    const struct adl_model_section *text = adl_model_section_find(model, ADL_MODEL_NORMALIZER);
    const struct adl_model_section *adam = adl_model_section_find(model, ADL_MODEL_OPTIMIZER);
    if (!text || !adam)
        return adl_fail(err, ADL_EINVAL, "it is a model, not a checkpoint: it has no optimizer state");
    status = adl_normalizer_decode(&normalizer, text->bytes, text->size, err);
    if (status == 0)
        status = adl_adam_read(learner->adam, adam->bytes, adam->size, err);
    if (status == 0)
        status = copy_section(model, TARGET_TAG, trainer->target, params_size(trainer), err);
    if (status == 0)
        status = copy_section(model, BEST_TAG, trainer->best, params_size(trainer), err);
    if (status == 0)
        status = copy_section(model, WARM_START_TAG, &trainer->warm_start, sizeof trainer->warm_start, err);
    if (status)
        return status;
    memcpy(learner->params, model->params, params_size(trainer));
    for (int g = 0; g < GROUPS; g++)
        adl_environment_set_normalizer(trainer->rollouts[g]->env, &normalizer);
    trainer->episodes = saved.episodes;
    trainer->decisions = saved.decisions;
    learner->updates = saved.updates;
    learner->value_offset = saved.value_offset;
    learner->value_scale = saved.value_scale;
    trainer->best_return = saved.best_return;
    trainer->best_validation = saved.best_validation;
    return 0;
}

int adl_dqn_trainer_resume(struct adl_dqn_trainer *trainer, const void *bytes, size_t size, struct adl_error *err)
{
    struct adl_model model;
    int status = adl_model_decode(bytes, size, ADL_SCHEMA_VERSION, &model, err);
    if (status)
        return status;
    status = resume_from(trainer, &model, err);
    adl_model_clear(&model);
    return status;
}
