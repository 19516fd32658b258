#include "rl/dqn_trainer_internal.h"

#include "base/hash.h"
#include "experiment/run.h"
#include "policy/policy.h"
#include "sim/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIT_EPISODES 32
#define ROUNDS_MIN   8    /* of a training that is long enough */
#define FULL_LAMBDA  0.25 /* share of training episodes whose lambda is drawn from 0 to 1 */

/* Of six slots one plays the scenario with four times the jobs: where more arrive than can be served, its queue is that
 * of a backlog. */
#define LONGER_SLOTS 6
#define LONGER_FIRST 2
#define LONGER_TIMES 4

struct adl_dqn_config adl_dqn_defaults(enum adl_qnet_kind network)
{
    const bool paper = network == ADL_QNET_PAPER;
    return (struct adl_dqn_config){
        .network = network,
        .seed = 1,
        .episodes = 8192,
        .threads = 1,
        .gpu_width = paper ? 32 : 16,
        .head_width = paper ? 128 : 32,
        .sweeps = 64,
        .learning_rate = 3e-3,
        .learning_rate_end = 3e-4,
        .prior = paper ? 0.0 : 0.02,
        .horizon = 5,
        .tail = 0,
        .batch = 16,
        .passes = 4,
        .validate_rounds = 1,
        .validation_episodes = 128,
    };
}

/* ---- create ---- */

static int make_network(struct adl_dqn_trainer *trainer, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    const bool paper = config->network == ADL_QNET_PAPER;
    const struct adlro_config one = {.count = 1,
                                     .observation = paper ? ADLRO_OBSERVATION_PAPER : ADLRO_OBSERVATION_ACTIONS};
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

size_t adl_dqn_params_size(const struct adl_dqn_trainer *trainer)
{
    return trainer->net.parameter_count * sizeof(float);
}

static int create_networks(struct adl_dqn_trainer *trainer, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    const int status = adl_learner_create(&trainer->net, trainer->pool, &trainer->slots[0].rollout->shape,
                                          config->batch, config->seed, &trainer->learner, err);
    if (status)
        return status;
    trainer->best = malloc(adl_dqn_params_size(trainer));
    if (!trainer->best)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a network");
    memcpy(trainer->best, trainer->learner->params, adl_dqn_params_size(trainer));
    return 0;
}

/* Mean time that jobs of the scenario run, by one run of it. */
static int mean_run_s(const struct adl_scenario *scenario, double *ret, struct adl_error *err)
{
    const struct adl_run run = {.scenario = scenario, .policy = adl_policy_find("fcfs"), .seed = ADL_SEED_TRAINING - 1};
    struct adl_result result;
    const int status = adl_run(&run, &result, err);
    *ret = status ? 1 : result.value[ADL_METRIC_JCT_MEAN] - result.value[ADL_METRIC_WAIT_MEAN];
    return status;
}

static int create_slot(struct adl_dqn_trainer *trainer, uint32_t index, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    const struct adlro_config env = {.observation = config->network == ADL_QNET_PAPER ? ADLRO_OBSERVATION_PAPER
                                                                                      : ADLRO_OBSERVATION_ACTIONS,
                                     .tail = config->tail};
    struct adl_dqn_slot *slot = &trainer->slots[index];
    double run_s = 1;
    /* Every other one is the scenario itself, or with more jobs. */
    slot->scenario = index % LONGER_SLOTS == LONGER_FIRST         ? &trainer->longer
                     : index % 2 == 0 || config->other_count == 0 ? config->scenario
                                                                  : &config->others[index / 2 % config->other_count];
    int status = mean_run_s(slot->scenario, &run_s, err);
    slot->horizon_s = config->horizon * run_s;
    if (status == 0)
        status = adl_rollout_create(slot->scenario, &env, &trainer->net, &slot->rollout, err);
    if (status == 0)
        adl_experience_init(&slot->experience, &slot->rollout->shape);
    trainer->experience[index] = &slot->experience;
    return status;
}

static int hash_scenarios(struct adl_dqn_trainer *trainer, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    int status = adl_workload_hash(config->scenario, 0, 1000, &trainer->scenario_hash);
    for (uint32_t i = 0; i < config->other_count && status == 0; i++) {
        uint64_t hashes[2] = {trainer->scenario_hash, 0};
        status = adl_workload_hash(&config->others[i], 0, 1000, &hashes[1]);
        trainer->scenario_hash = adl_hash_bytes(adl_hash_start(), hashes, sizeof hashes);
    }
    return status ? adl_fail(err, ADL_ENOMEM, "out of memory for the workload") : 0;
}

static int build(struct adl_dqn_trainer *trainer, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    const uint32_t wanted = config->other_count > 0 ? 2 * config->other_count : 1;
    trainer->slot_count = (wanted + ADL_DQN_GROUPS - 1) / ADL_DQN_GROUPS * ADL_DQN_GROUPS;
    trainer->slots = calloc(trainer->slot_count, sizeof *trainer->slots);
    trainer->experience = calloc(trainer->slot_count, sizeof *trainer->experience);
    trainer->references = calloc(config->validation_episodes / ADL_ROLLOUT_CELLS + 1, sizeof *trainer->references);
    if (!trainer->slots || !trainer->experience || !trainer->references)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %u scenarios", trainer->slot_count);
    int status = make_network(trainer, err);
    if (status == 0)
        status = adl_thread_pool_create(config->threads, &trainer->pool, err);
    for (uint32_t i = 0; i < trainer->slot_count && status == 0; i++)
        status = create_slot(trainer, i, err);
    if (status == 0)
        status = create_networks(trainer, err);
    if (status == 0)
        status = hash_scenarios(trainer, err);
    trainer->best_return = -HUGE_VAL;
    return status;
}

int adl_dqn_trainer_create(const struct adl_dqn_config *config, struct adl_dqn_trainer **ret, struct adl_error *err)
{
    struct adl_dqn_trainer *trainer = calloc(1, sizeof *trainer);
    if (!trainer)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a trainer");
    trainer->config = *config;
    trainer->longer = *config->scenario;
    trainer->longer.workload.jobs *= LONGER_TIMES;
    const uint64_t sweeps = config->episodes / ADL_SWEEP_EPISODES / ROUNDS_MIN;
    if (sweeps < config->sweeps)
        trainer->config.sweeps = sweeps > 0 ? (uint32_t)sweeps : 1;
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
    for (uint32_t i = 0; i < trainer->slot_count && trainer->slots; i++) {
        adl_rollout_destroy(trainer->slots[i].rollout);
        adl_experience_clear(&trainer->slots[i].experience);
    }
    free(trainer->slots);
    free(trainer->experience);
    free(trainer->references);
    adl_learner_destroy(trainer->learner);
    free(trainer->best);
    adl_thread_pool_destroy(trainer->pool);
    free(trainer);
}

/* ---- rollouts ---- */

/* Of a group of training episodes: 0, the scenario's or any. */
static double draw_lambda(const struct adl_dqn_slot *slot, struct adl_rng *rng)
{
    const double drawn = adl_rng_uniform(rng);
    return drawn < FULL_LAMBDA ? adl_rng_uniform(rng) : drawn < 0.5 + FULL_LAMBDA / 2 ? 0 : slot->scenario->lambda;
}

static struct adl_dqn_slot *slot_of(struct adl_dqn_trainer *trainer, uint32_t group)
{
    return &trainer->slots[(trainer->first_group + group) % trainer->slot_count];
}

/* A group of training episodes: one set of jobs, and one decision of it with several actions. */
static void compare_group(void *self, uint32_t index)
{
    struct adl_dqn_trainer *trainer = self;
    struct adl_dqn_slot *slot = slot_of(trainer, index);
    const uint64_t seed = trainer->first_seed + index;
    struct adl_rng rng;
    adl_rng_seed(&rng, seed, "compare");
    adl_environment_set_lambda(slot->rollout->env, draw_lambda(slot, &rng));
    trainer->status[index] =
        adl_rollout_compare(slot->rollout, &trainer->agent, seed, slot->horizon_s, &rng, &slot->experience,
                            &trainer->returns[index], &trainer->group_decisions[index], &trainer->error[index]);
}

/* A group of validation episodes, with lambda 0 or the scenario's. */
static void validate_group(void *self, uint32_t index)
{
    struct adl_dqn_trainer *trainer = self;
    struct adl_dqn_slot *slot = slot_of(trainer, index);
    const uint32_t first = index * ADL_ROLLOUT_CELLS, group = trainer->first_group + index;
    const uint32_t left = trainer->episode_count - first, count = left < ADL_ROLLOUT_CELLS ? left : ADL_ROLLOUT_CELLS;
    uint64_t seeds[ADL_ROLLOUT_CELLS];
    for (uint32_t i = 0; i < count; i++)
        seeds[i] = trainer->first_seed + first + i;
    adl_environment_set_lambda(slot->rollout->env, group / 2 % 2 == 0 ? 0 : slot->scenario->lambda);
    trainer->status[index] = adl_rollout_run(slot->rollout, &trainer->agent, seeds, count, &trainer->results[first],
                                             &trainer->returns[first], &trainer->error[index]);
}

/* Plays count episodes from a seed, at most ADL_SWEEP_EPISODES, on the slots from first_group on. */
static int sweep(struct adl_dqn_trainer *trainer, void (*play)(void *, uint32_t), struct adl_agent agent,
                 uint32_t first_group, uint64_t first_seed, uint32_t count, struct adl_error *err)
{
    const uint32_t groups = (count + ADL_ROLLOUT_CELLS - 1) / ADL_ROLLOUT_CELLS;
    trainer->agent = agent;
    trainer->first_group = first_group;
    trainer->first_seed = first_seed;
    trainer->episode_count = count;
    adl_thread_pool_run(trainer->pool, groups, play, trainer);
    for (uint32_t g = 0; g < groups; g++)
        if (trainer->status[g])
            return adl_fail(err, trainer->status[g], "%s", trainer->error[g].text);
    return 0;
}

/* ---- validation ---- */

static void add_result(struct adl_result *sum, const struct adl_result *one, double weight)
{
    for (int m = 0; m < ADL_METRIC_COUNT; m++)
        sum->value[m] += one->value[m] * weight;
    sum->jobs += one->jobs;
    sum->unfinished += one->unfinished;
}

uint32_t adl_dqn_validation_groups(const struct adl_dqn_trainer *trainer)
{
    return (trainer->config.validation_episodes + ADL_ROLLOUT_CELLS - 1) / ADL_ROLLOUT_CELLS;
}

/* Plays the validation seeds: the sum of each group's returns, and the means of the figures on the first scenario. */
static int play_validation(struct adl_dqn_trainer *trainer, struct adl_agent agent, double *ret_sums,
                           struct adl_result *ret, struct adl_error *err)
{
    const uint32_t all = trainer->config.validation_episodes;
    uint32_t shown = 0;
    struct adl_result sum = {.jobs = 0};
    for (uint32_t first = 0; first < all; first += ADL_SWEEP_EPISODES) {
        const uint32_t count = all - first < ADL_SWEEP_EPISODES ? all - first : ADL_SWEEP_EPISODES;
        const uint32_t group = first / ADL_ROLLOUT_CELLS;
        const int status = sweep(trainer, validate_group, agent, group, ADL_SEED_VALIDATION + first, count, err);
        if (status)
            return status;
        for (uint32_t i = 0; i < count; i++) {
            ret_sums[group + i / ADL_ROLLOUT_CELLS] += trainer->returns[i];
            if (slot_of(trainer, i / ADL_ROLLOUT_CELLS)->scenario != trainer->config.scenario)
                continue;
            add_result(&sum, &trainer->results[i], 1.0);
            shown++;
        }
    }
    for (int m = 0; m < ADL_METRIC_COUNT; m++)
        sum.value[m] /= shown;
    *ret = sum;
    return 0;
}

static int validate(struct adl_dqn_trainer *trainer, struct adl_dqn_report *report, struct adl_error *err)
{
    const uint32_t groups = adl_dqn_validation_groups(trainer);
    double sums[ADL_VALIDATION_MAX / ADL_ROLLOUT_CELLS + 1] = {0};
    const int status = play_validation(trainer, (struct adl_agent){.params = trainer->learner->average}, sums,
                                       &report->validation, err);
    if (status)
        return status;
    report->validation_return = 0;
    for (uint32_t g = 0; g < groups; g++)
        report->validation_return -= sums[g] / (trainer->references[g] * groups);
    report->validated = true;
    report->best = report->validation_return > trainer->best_return;
    if (report->best) {
        trainer->best_return = report->validation_return;
        trainer->best_validation = report->validation;
        memcpy(trainer->best, trainer->learner->average, adl_dqn_params_size(trainer));
    }
    return 0;
}

int adl_dqn_trainer_baseline(const struct adl_dqn_trainer *trainer, const char *policy, struct adl_result *ret,
                             struct adl_error *err)
{
    struct adl_result sum = {.jobs = 0}, one;
    uint32_t shown = 0;
    for (uint32_t i = 0; i < trainer->config.validation_episodes; i++) {
        const struct adl_run run = {
            .scenario = trainer->config.scenario, .policy = adl_policy_find(policy), .seed = ADL_SEED_VALIDATION + i};
        if (!run.policy)
            return adl_fail(err, ADL_EINVAL, "there is no policy %s", policy);
        if (trainer->slots[i / ADL_ROLLOUT_CELLS % trainer->slot_count].scenario != run.scenario)
            continue;
        const int status = adl_run(&run, &one, err);
        if (status)
            return status;
        add_result(&sum, &one, 1.0);
        shown++;
    }
    for (int m = 0; m < ADL_METRIC_COUNT; m++)
        sum.value[m] /= shown;
    *ret = sum;
    return 0;
}

/* ---- before the first round ---- */

int adl_dqn_trainer_prepare(struct adl_dqn_trainer *trainer, struct adl_result *ret_warm_start, struct adl_error *err)
{
    const uint64_t first = ADL_SEED_TRAINING + (trainer->config.seed << 40);
    struct adlro_environment *fitted = trainer->slots[0].rollout->env;
    int status = 0;
    /* One after another, each goes on from the ranges that the one before found. */
    for (uint32_t i = 0; i < trainer->slot_count && status == 0; i++) {
        struct adlro_environment *env = trainer->slots[i].rollout->env;
        adl_environment_set_normalizer(env, adl_environment_normalizer(fitted));
        status = adlro_fit(env, first + i, (FIT_EPISODES + trainer->slot_count - 1) / trainer->slot_count, err->text);
        fitted = env;
    }
    for (uint32_t i = 0; i < trainer->slot_count && status == 0; i++)
        adl_environment_set_normalizer(trainer->slots[i].rollout->env, adl_environment_normalizer(fitted));
    if (status == 0 && trainer->config.network == ADL_QNET_SHARED)
        adl_warm_start_rule(adl_environment_normalizer(fitted), trainer->rule);
    if (status == 0)
        status = play_validation(trainer, (struct adl_agent){.rule = trainer->rule}, trainer->references,
                                 ret_warm_start, err);
    if (status || trainer->config.prior <= 0)
        return status;
    struct adl_learner *learner = trainer->learner;
    adl_qnet_prime(&trainer->net, trainer->rule, (float)trainer->config.prior, learner->params);
    memcpy(learner->average, learner->params, adl_dqn_params_size(trainer));
    return 0;
}

/* ---- rounds ---- */

/* Plays the sweeps of a round; *ret_return: the mean return of their episodes. */
static int compare(struct adl_dqn_trainer *trainer, double *ret_return, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    const struct adl_agent agent = {.params = trainer->learner->average, .rule = trainer->rule, .prior = config->prior};
    double sum = 0;
    for (uint32_t i = 0; i < trainer->slot_count; i++)
        adl_experience_reset(&trainer->slots[i].experience);
    for (uint32_t s = 0; s < config->sweeps; s++) {
        const uint64_t seeds = ADL_SEED_TRAINING + (config->seed << 40) + (UINT64_C(1) << 32) + trainer->episodes;
        const uint32_t first = (uint32_t)(trainer->episodes / ADL_ROLLOUT_CELLS);
        const int status = sweep(trainer, compare_group, agent, first, seeds, ADL_SWEEP_EPISODES, err);
        if (status)
            return status;
        for (uint32_t g = 0; g < ADL_DQN_GROUPS; g++) {
            sum += trainer->returns[g];
            trainer->decisions += trainer->group_decisions[g];
        }
        trainer->episodes += ADL_SWEEP_EPISODES;
    }
    const uint32_t groups = config->sweeps * ADL_DQN_GROUPS;
    *ret_return = sum / groups;
    return 0;
}

static int learn(struct adl_dqn_trainer *trainer, double share, uint64_t seed, double *ret_loss, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    const double rate = config->learning_rate + (config->learning_rate_end - config->learning_rate) * share;
    return adl_learner_learn(trainer->learner, trainer->experience, trainer->slot_count, config->passes, rate, seed,
                             ret_loss, err);
}

int adl_dqn_trainer_round(struct adl_dqn_trainer *trainer, struct adl_dqn_report *ret, struct adl_error *err)
{
    const struct adl_dqn_config *config = &trainer->config;
    struct adl_dqn_report report = {.validated = false};
    if (trainer->episodes >= config->episodes)
        return 0;
    const uint64_t before = trainer->episodes, round = before / ADL_SWEEP_EPISODES / config->sweeps;
    const double share = (double)before / (double)config->episodes;
    int status = compare(trainer, &report.mean_return, err);
    if (status == 0)
        status = learn(trainer, share, (config->seed << 40) + before, &report.loss, err);
    if (status)
        return status;
    if (round % config->validate_rounds == config->validate_rounds - 1 || trainer->episodes >= config->episodes)
        status = validate(trainer, &report, err);
    report.episodes = trainer->episodes;
    report.decisions = trainer->decisions;
    report.updates = trainer->learner->updates;
    *ret = report;
    return status ? status : 1;
}
