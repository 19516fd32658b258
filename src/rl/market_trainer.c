#include "rl/market_trainer.h"

#include "base/hash.h"
#include "experiment/thread_pool.h"
#include "nn/bytes.h"
#include "rl/dqn_trainer.h"
#include "rl/market_learner.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 64

/* One validation run. */
struct held_out {
    double cost_s;
    struct adlro_result result;
    int status;
    struct adl_error err;
};

struct adl_market_trainer {
    struct adl_market_training config;
    struct adl_market_learner learner;
    struct adl_thread_pool *pool;
    struct adl_market_group groups[GROUPS_MAX];
    uint64_t rounds, decisions;
    float best[ADL_VALUATION_PARAMS];
    double best_relative;
    uint64_t best_episodes;
    struct held_out *held_out;
    double *plain_cost_s; /* [scenario * validation_episodes + episode] without learning */
    const float *evaluated;
};

struct adl_market_training adl_market_training_defaults(enum adl_market_method method)
{
    return (struct adl_market_training){.method = method,
                                        .seed = 1,
                                        .episodes = 20000,
                                        .threads = 1,
                                        .learning_rate = method == ADL_MARKET_EVOLUTION ? 0.02 : 0.005,
                                        .noise = method == ADL_MARKET_EVOLUTION ? 0.1 : 0.2,
                                        .groups = 8,
                                        .trials = 24,
                                        .validate_rounds = 25,
                                        .validation_episodes = 16};
}

static uint32_t scenario_count(const struct adl_market_trainer *trainer)
{
    return 1 + trainer->config.other_count;
}

static const struct adl_scenario *scenario_at(const struct adl_market_trainer *trainer, uint32_t index)
{
    return index == 0 ? trainer->config.scenario : &trainer->config.others[index - 1];
}

static uint64_t episodes_of(const struct adl_market_trainer *trainer)
{
    return trainer->rounds * trainer->config.groups * trainer->config.trials;
}

int adl_market_trainer_create(const struct adl_market_training *config, struct adl_market_trainer **ret,
                              struct adl_error *err)
{
    if (config->groups < 1 || config->groups > GROUPS_MAX || config->trials < 2 || config->trials > 64)
        return adl_fail(err, ADL_EINVAL, "a round has 1 to %d workloads and 2 to 64 plays of each", GROUPS_MAX);
    struct adl_market_trainer *trainer = calloc(1, sizeof *trainer);
    if (!trainer)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a trainer");
    trainer->config = *config;
    trainer->best_relative = 1;
    const size_t held_out = (size_t)scenario_count(trainer) * config->validation_episodes;
    trainer->held_out = calloc(held_out, sizeof *trainer->held_out);
    trainer->plain_cost_s = calloc(held_out, sizeof *trainer->plain_cost_s);
    int status =
        trainer->held_out && trainer->plain_cost_s ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory for a trainer");
    if (status == 0)
        status = adl_market_learner_create(config->seed, config->learning_rate, config->noise, &trainer->learner, err);
    if (status == 0)
        status = adl_thread_pool_create(config->threads, &trainer->pool, err);
    if (status) {
        adl_market_trainer_destroy(trainer);
        return status;
    }
    *ret = trainer;
    return 0;
}

void adl_market_trainer_destroy(struct adl_market_trainer *trainer)
{
    if (!trainer)
        return;
    for (uint32_t g = 0; g < GROUPS_MAX; g++)
        adl_market_group_clear(&trainer->groups[g]);
    adl_market_learner_clear(&trainer->learner);
    adl_thread_pool_destroy(trainer->pool);
    free(trainer->held_out);
    free(trainer->plain_cost_s);
    free(trainer);
}

/* ---- validation ---- */

static void evaluate(void *self, uint32_t index)
{
    struct adl_market_trainer *trainer = self;
    struct held_out *it = &trainer->held_out[index];
    const uint32_t each = trainer->config.validation_episodes;
    it->status = adl_market_evaluate(scenario_at(trainer, index / each), ADL_SEED_VALIDATION + index % each,
                                     trainer->evaluated, &it->cost_s, &it->result, &it->err);
}

static int validate(struct adl_market_trainer *trainer, const float *params, struct adlro_result *ret,
                    struct adl_error *err)
{
    const uint32_t each = trainer->config.validation_episodes, count = scenario_count(trainer) * each;
    trainer->evaluated = params;
    adl_thread_pool_run(trainer->pool, count, evaluate, trainer);
    for (uint32_t i = 0; i < count; i++)
        if (trainer->held_out[i].status)
            return adl_fail(err, trainer->held_out[i].status, "%s", trainer->held_out[i].err.text);
    *ret = (struct adlro_result){0};
    for (uint32_t i = 0; i < each; i++) {
        const struct adlro_result *it = &trainer->held_out[i].result;
        ret->jobs += it->jobs;
        ret->jct_mean_s += it->jct_mean_s / each;
        ret->jct_p99_s += it->jct_p99_s / each;
        ret->throughput_jobs_per_h += it->throughput_jobs_per_h / each;
        ret->gpu_utilization += it->gpu_utilization / each;
        ret->makespan_s += it->makespan_s / each;
        ret->reward += it->reward / each;
    }
    return 0;
}

int adl_market_trainer_prepare(struct adl_market_trainer *trainer, struct adlro_result *ret, struct adl_error *err)
{
    static const float none[ADL_VALUATION_PARAMS];
    const int status = validate(trainer, none, ret, err);
    for (uint32_t i = 0; i < scenario_count(trainer) * trainer->config.validation_episodes && status == 0; i++)
        trainer->plain_cost_s[i] = trainer->held_out[i].cost_s;
    return status;
}

/* Cost relative to bids without learning: of a scenario, summed over its episodes. */
static double relative_of(const struct adl_market_trainer *trainer, uint32_t scenario)
{
    const uint32_t each = trainer->config.validation_episodes;
    double learned_s = 0, plain_s = 0;
    for (uint32_t i = scenario * each; i < (scenario + 1) * each; i++) {
        learned_s += trainer->held_out[i].cost_s;
        plain_s += trainer->plain_cost_s[i];
    }
    return learned_s / plain_s;
}

static int validate_round(struct adl_market_trainer *trainer, struct adl_market_report *report, struct adl_error *err)
{
    const int status = validate(trainer, trainer->learner.average, &report->validation, err);
    if (status)
        return status;
    report->validated = true;
    report->own_relative = relative_of(trainer, 0);
    for (uint32_t s = 0; s < scenario_count(trainer); s++)
        report->relative += relative_of(trainer, s) / scenario_count(trainer);
    report->best = report->relative < trainer->best_relative;
    if (report->best) {
        memcpy(trainer->best, trainer->learner.average, sizeof trainer->best);
        trainer->best_relative = report->relative;
        trainer->best_episodes = episodes_of(trainer);
    }
    return 0;
}

/* ---- rounds ---- */

static void play_group(void *self, uint32_t index)
{
    struct adl_market_trainer *trainer = self;
    adl_market_group_play(&trainer->groups[index]);
}

/* Every other workload is of the first scenario. */
static void set_group(struct adl_market_trainer *trainer, uint32_t index)
{
    const struct adl_market_training *config = &trainer->config;
    const uint64_t number = trainer->rounds * config->groups + index;
    const uint32_t which =
        config->other_count == 0 || number % 2 == 0 ? 0 : 1 + (uint32_t)(number / 2 % config->other_count);
    adl_market_group_clear(&trainer->groups[index]);
    trainer->groups[index] = (struct adl_market_group){.scenario = scenario_at(trainer, which),
                                                       .seed = ADL_SEED_TRAINING + (config->seed << 32) + number,
                                                       .method = config->method,
                                                       .trials = config->trials,
                                                       .noise = config->noise,
                                                       .params = trainer->learner.params,
                                                       .disturbed = adl_market_learner_disturb,
                                                       .self = &trainer->learner};
}

int adl_market_trainer_round(struct adl_market_trainer *trainer, struct adl_market_report *ret, struct adl_error *err)
{
    const struct adl_market_training *config = &trainer->config;
    struct adl_market_report report = {0};
    uint32_t own = 0;
    if (episodes_of(trainer) >= config->episodes)
        return 0;
    for (uint32_t g = 0; g < config->groups; g++)
        set_group(trainer, g);
    adl_thread_pool_run(trainer->pool, config->groups, play_group, trainer);
    for (uint32_t g = 0; g < config->groups; g++) {
        const struct adl_market_group *group = &trainer->groups[g];
        if (group->status)
            return adl_fail(err, group->status, "%s", group->err.text);
        trainer->decisions += group->decisions;
        report.mean_jct_s += group->scenario == config->scenario ? group->result.jct_mean_s : 0;
        own += group->scenario == config->scenario;
    }
    report.mean_jct_s /= own ? own : 1;
    report.loss = adl_market_learner_update(&trainer->learner, trainer->groups, config->groups);
    trainer->rounds++;
    report.episodes = episodes_of(trainer);
    report.decisions = trainer->decisions;
    report.updates = trainer->learner.updates;
    const bool last = report.episodes >= config->episodes;
    const int status =
        last || trainer->rounds % config->validate_rounds == 0 ? validate_round(trainer, &report, err) : 0;
    if (status)
        return status;
    *ret = report;
    return 1;
}

/* ---- models and checkpoints ---- */

void adl_market_trainer_model(const struct adl_market_trainer *trainer, struct adl_valuation *ret)
{
    *ret = (struct adl_valuation){.seed = trainer->config.seed, .episodes = trainer->best_episodes};
    memcpy(ret->params, trainer->best, sizeof ret->params);
}

/* Besides the networks. Read back only by the same program on the same kind of machine. */
struct saved {
    uint64_t config_hash, rounds, decisions, updates, best_episodes;
    double best_relative;
    float params[ADL_VALUATION_PARAMS], average[ADL_VALUATION_PARAMS], critic[ADL_VALUATION_PARAMS],
        best[ADL_VALUATION_PARAMS];
};

static uint64_t hash_config(const struct adl_market_training *c)
{
    uint64_t hash = adl_hash_start();
    const uint64_t numbers[] = {c->method,
                                c->seed,
                                c->episodes,
                                c->other_count,
                                c->groups,
                                c->trials,
                                c->validate_rounds,
                                c->validation_episodes,
                                c->scenario->workload.jobs,
                                c->scenario->cluster.gpu_count};
    const double reals[] = {c->learning_rate, c->noise, c->scenario->workload.arrivals.rate_per_h, c->scenario->lambda};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash = adl_hash_u64(hash, numbers[i]);
    hash = adl_hash_bytes(hash, reals, sizeof reals);
    return adl_hash_bytes(hash, c->scenario->name, strlen(c->scenario->name));
}

void adl_market_trainer_checkpoint(const struct adl_market_trainer *trainer, struct adl_text *ret)
{
    struct saved saved;
    memset(&saved, 0, sizeof saved);
    saved.config_hash = hash_config(&trainer->config);
    saved.rounds = trainer->rounds;
    saved.decisions = trainer->decisions;
    saved.updates = trainer->learner.updates;
    saved.best_episodes = trainer->best_episodes;
    saved.best_relative = trainer->best_relative;
    memcpy(saved.params, trainer->learner.params, sizeof saved.params);
    memcpy(saved.average, trainer->learner.average, sizeof saved.average);
    memcpy(saved.critic, trainer->learner.critic, sizeof saved.critic);
    memcpy(saved.best, trainer->best, sizeof saved.best);
    adl_text_bytes(ret, (const char *)&saved, sizeof saved);
    adl_adam_write(trainer->learner.adam, ret);
    adl_adam_write(trainer->learner.critic_adam, ret);
}

int adl_market_trainer_resume(struct adl_market_trainer *trainer, const void *bytes, size_t size, struct adl_error *err)
{
    struct saved saved;
    if (size <= sizeof saved || (size - sizeof saved) % 2 != 0)
        return adl_fail(err, ADL_EINVAL, "this is not a checkpoint of `adlro train market`");
    memcpy(&saved, bytes, sizeof saved);
    if (saved.config_hash != hash_config(&trainer->config))
        return adl_fail(err, ADL_EINVAL, "the checkpoint is of a training with other options or another scenario");
    const char *moments = (const char *)bytes + sizeof saved;
    const size_t each = (size - sizeof saved) / 2;
    int status = adl_adam_read(trainer->learner.adam, moments, each, err);
    if (status == 0)
        status = adl_adam_read(trainer->learner.critic_adam, moments + each, each, err);
    if (status)
        return status;
    trainer->rounds = saved.rounds;
    trainer->decisions = saved.decisions;
    trainer->learner.updates = saved.updates;
    trainer->best_episodes = saved.best_episodes;
    trainer->best_relative = saved.best_relative;
    memcpy(trainer->learner.params, saved.params, sizeof saved.params);
    memcpy(trainer->learner.average, saved.average, sizeof saved.average);
    memcpy(trainer->learner.critic, saved.critic, sizeof saved.critic);
    memcpy(trainer->best, saved.best, sizeof saved.best);
    return 0;
}
