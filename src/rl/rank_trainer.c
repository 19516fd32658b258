#include "rl/rank_trainer.h"

#include "base/real.h"
#include "base/rng.h"
#include "experiment/run.h"
#include "experiment/thread_pool.h"
#include "policy/policy.h"
#include "sim/world_sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRAINING_SEED ((uint64_t)1 << 62) /* of runs; held-out ones have the next lower bit */
#define CHECK_SEED    ((uint64_t)1 << 61)
#define AVERAGED      0.9 /* of the average of parameters, in the next one */

struct trial {
    double params[ADL_RANK_PARAMS];
    struct adl_text model; /* its network, encoded */
};

struct run {
    uint32_t workload, trial; /* trial ADL_NONE: without a network */
    uint64_t seed;
    int regime;
    double cost;
    int status;
    struct adl_error err;
};

struct adl_rank_trainer {
    struct adl_rank_config config;
    struct adl_thread_pool *pool;
    struct adl_rng rng;
    double params[ADL_RANK_PARAMS], averaged[ADL_RANK_PARAMS];
    double momentum[ADL_RANK_PARAMS], spread[ADL_RANK_PARAMS]; /* Adam's */
    struct trial *trials;                                      /* [2 * directions, at least 1] */
    struct run *runs;
    size_t run_count, run_capacity;
    double *rule; /* [check runs] cost of the rule without a network */
    bool ruled;
    struct adl_rank_network best;
    double best_change;
    uint32_t rounds;
    uint64_t played;
};

struct adl_rank_config adl_rank_defaults(void)
{
    return (struct adl_rank_config){.seed = 1,
                                    .rounds = 120,
                                    .directions = 12,
                                    .runs = 32,
                                    .distance = 0.15,
                                    .step = 0.05,
                                    .tail = 0.1,
                                    .check_runs = 4,
                                    .check_each = 10,
                                    .threads = 1};
}

static uint32_t check_count(const struct adl_rank_config *config)
{
    return config->workload_count * config->check_runs;
}

void adl_rank_trainer_destroy(struct adl_rank_trainer *trainer)
{
    if (!trainer)
        return;
    for (uint32_t i = 0; trainer->trials && i < 2 * trainer->config.directions; i++)
        adl_text_clear(&trainer->trials[i].model);
    adl_thread_pool_destroy(trainer->pool);
    free(trainer->trials);
    free(trainer->runs);
    free(trainer->rule);
    free(trainer);
}

int adl_rank_trainer_create(const struct adl_rank_config *config, struct adl_rank_trainer **ret, struct adl_error *err)
{
    struct adl_rank_trainer *trainer = calloc(1, sizeof *trainer);
    if (!trainer)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the trainer");
    trainer->config = *config;
    trainer->trials = calloc(2 * (size_t)config->directions, sizeof *trainer->trials);
    trainer->run_capacity = 2 * (size_t)config->directions * config->runs + check_count(config);
    trainer->runs = calloc(trainer->run_capacity, sizeof *trainer->runs);
    trainer->rule = calloc(check_count(config) + 1, sizeof *trainer->rule);
    int status = trainer->trials && trainer->runs && trainer->rule ? 0 : ADL_ENOMEM;
    if (status)
        adl_fail(err, status, "out of memory for %u trials", 2 * config->directions);
    else
        status = adl_thread_pool_create(config->threads, &trainer->pool, err);
    if (status) {
        adl_rank_trainer_destroy(trainer);
        return status;
    }
    adl_rng_seed(&trainer->rng, config->seed, "rank trainer");
    if (config->begin)
        trainer->best = *config->begin;
    else
        adl_rank_network_init(&trainer->best, config->seed);
    trainer->best_change = HUGE_VAL;
    for (int i = 0; i < ADL_RANK_PARAMS; i++)
        trainer->params[i] = trainer->averaged[i] = (double)trainer->best.params[i];
    *ret = trainer;
    return 0;
}

/* ---- runs ---- */

static void play(void *self, uint32_t index)
{
    struct adl_rank_trainer *trainer = self;
    struct run *run = &trainer->runs[index];
    const struct adl_text *model = run->trial == ADL_NONE ? NULL : &trainer->trials[run->trial].model;
    struct adl_scenario scenario = *trainer->config.workloads[run->workload].scenario;
    struct adl_policy_ops ops = adl_policy_adlro;
    struct adl_result result;
    scenario.policy.model = model ? model->data : NULL;
    scenario.policy.model_size = model ? model->size : 0;
    ops.settings = model ? NULL : "network=false\n";
    run->status =
        adl_run(&(struct adl_run){.scenario = &scenario, .policy = &ops, .seed = run->seed, .regime = run->regime},
                &result, &run->err);
    if (run->status == 0)
        run->cost = adl_log(result.value[ADL_METRIC_JCT_MEAN]) +
                    trainer->config.tail * adl_log(result.value[ADL_METRIC_JCT_P99]);
}

static int play_all(struct adl_rank_trainer *trainer, struct adl_error *err)
{
    adl_thread_pool_run(trainer->pool, (uint32_t)trainer->run_count, play, trainer);
    trainer->played += trainer->run_count;
    for (size_t i = 0; i < trainer->run_count; i++)
        if (trainer->runs[i].status)
            return adl_fail(err, trainer->runs[i].status, "%s", trainer->runs[i].err.text);
    return 0;
}

static int set_trial(struct trial *trial, const double *params, const double *direction, double distance)
{
    struct adl_rank_network network;
    for (int i = 0; i < ADL_RANK_PARAMS; i++) {
        trial->params[i] = params[i] + (direction ? distance * direction[i] : 0);
        network.params[i] = (float)trial->params[i];
    }
    adl_text_clear(&trial->model);
    adl_rank_network_encode(&network, &trial->model);
    return adl_text_status(&trial->model);
}

static uint32_t draw_workload(struct adl_rank_trainer *trainer)
{
    const struct adl_rank_config *config = &trainer->config;
    double sum = 0;
    for (uint32_t i = 0; i < config->workload_count; i++)
        sum += config->workloads[i].weight;
    double at = sum * adl_rng_uniform(&trainer->rng);
    uint32_t chosen = 0;
    while (chosen + 1 < config->workload_count && (at -= config->workloads[chosen].weight) >= 0)
        chosen++;
    return chosen;
}

static int regime_of(uint64_t number)
{
    return number % 2 ? ADL_REGIME_LEARNED : ADL_REGIME_DECLARED;
}

/* The same workloads, seeds and regimes for every trial. */
static void draw_runs(struct adl_rank_trainer *trainer)
{
    const uint32_t trials = 2 * trainer->config.directions;
    trainer->run_count = 0;
    for (uint32_t r = 0; r < trainer->config.runs; r++) {
        const uint32_t workload = draw_workload(trainer);
        const uint64_t seed = TRAINING_SEED + (adl_rng_next(&trainer->rng) >> 4);
        for (uint32_t t = 0; t < trials; t++)
            trainer->runs[trainer->run_count++] =
                (struct run){.workload = workload, .trial = t, .seed = seed, .regime = regime_of(r)};
    }
}

/* ---- rounds ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Half the difference of costs of a direction, over its runs; a run far off counts as one at the edge. */
static double slope_of(const struct adl_rank_trainer *trainer, uint32_t direction)
{
    const uint32_t trials = 2 * trainer->config.directions;
    double sum = 0, sorted[256] = {0};
    uint32_t count = 0;
    for (size_t i = 2 * (size_t)direction; i + 1 < trainer->run_count && count < 256; i += trials)
        sorted[count++] = (trainer->runs[i].cost - trainer->runs[i + 1].cost) / 2;
    qsort(sorted, count, sizeof *sorted, by_value);
    const uint32_t cut = count / 8;
    for (uint32_t i = 0; i < count; i++)
        sum += sorted[i < cut ? cut : i >= count - cut ? count - cut - 1 : i];
    return sum / count;
}

static void move(struct adl_rank_trainer *trainer, const double *directions)
{
    const struct adl_rank_config *config = &trainer->config;
    const double step = config->step * (1 - 0.8 * trainer->rounds / config->rounds);
    const double n = trainer->rounds + 1;
    double slopes[64], scale = 0;
    for (uint32_t d = 0; d < config->directions; d++) {
        slopes[d] = slope_of(trainer, d);
        scale += slopes[d] * slopes[d] / config->directions;
    }
    for (int i = 0; i < ADL_RANK_PARAMS && scale > 0; i++) {
        double gradient = 0;
        for (uint32_t d = 0; d < config->directions; d++)
            gradient +=
                slopes[d] / sqrt(scale) * directions[(size_t)d * ADL_RANK_PARAMS + (size_t)i] / config->directions;
        trainer->momentum[i] = 0.9 * trainer->momentum[i] + 0.1 * gradient;
        trainer->spread[i] = 0.99 * trainer->spread[i] + 0.01 * gradient * gradient;
        const double mean = trainer->momentum[i] / (1 - pow(0.9, n)), square = trainer->spread[i] / (1 - pow(0.99, n));
        trainer->params[i] -= step * mean / (sqrt(square) + 1e-8);
        trainer->averaged[i] = AVERAGED * trainer->averaged[i] + (1 - AVERAGED) * trainer->params[i];
    }
}

int adl_rank_trainer_round(struct adl_rank_trainer *trainer, struct adl_error *err)
{
    const uint32_t count = trainer->config.directions;
    double *directions = malloc((size_t)count * ADL_RANK_PARAMS * sizeof *directions);
    int status = directions ? 0 : ADL_ENOMEM;
    for (uint32_t d = 0; d < count && status == 0; d++) {
        double *direction = directions + (size_t)d * ADL_RANK_PARAMS;
        for (int i = 0; i < ADL_RANK_PARAMS; i++)
            direction[i] = adl_rng_normal(&trainer->rng);
        status = set_trial(&trainer->trials[2 * (size_t)d], trainer->params, direction, trainer->config.distance) ||
                         set_trial(&trainer->trials[2 * (size_t)d + 1], trainer->params, direction,
                                   -trainer->config.distance)
                     ? ADL_ENOMEM
                     : 0;
    }
    if (status)
        adl_fail(err, status, "out of memory for %u directions", count);
    if (status == 0) {
        draw_runs(trainer);
        status = play_all(trainer, err);
    }
    if (status == 0) {
        move(trainer, directions);
        trainer->rounds++;
    }
    free(directions);
    return status;
}

uint32_t adl_rank_trainer_rounds(const struct adl_rank_trainer *trainer)
{
    return trainer->rounds;
}

uint64_t adl_rank_trainer_runs(const struct adl_rank_trainer *trainer)
{
    return trainer->played;
}

/* ---- checks ---- */

static int play_check(struct adl_rank_trainer *trainer, uint32_t trial, struct adl_error *err)
{
    trainer->run_count = 0;
    for (uint32_t w = 0; w < trainer->config.workload_count; w++)
        for (uint32_t r = 0; r < trainer->config.check_runs; r++)
            trainer->runs[trainer->run_count++] =
                (struct run){.workload = w, .trial = trial, .seed = CHECK_SEED + r, .regime = regime_of(r)};
    return play_all(trainer, err);
}

int adl_rank_trainer_check(struct adl_rank_trainer *trainer, double *ret_change, bool *ret_best, struct adl_error *err)
{
    double sum = 0, weights = 0;
    int status = trainer->ruled ? 0 : play_check(trainer, ADL_NONE, err);
    for (size_t i = 0; status == 0 && !trainer->ruled && i < trainer->run_count; i++)
        trainer->rule[i] = trainer->runs[i].cost;
    if (status)
        return status;
    trainer->ruled = true;
    if (set_trial(&trainer->trials[0], trainer->averaged, NULL, 0))
        return adl_fail(err, ADL_ENOMEM, "out of memory for a check");
    status = play_check(trainer, 0, err);
    if (status)
        return status;
    for (size_t i = 0; i < trainer->run_count; i++) {
        const double weight = trainer->config.workloads[trainer->runs[i].workload].weight;
        sum += weight * (trainer->runs[i].cost - trainer->rule[i]);
        weights += weight;
    }
    *ret_change = sum / weights;
    *ret_best = *ret_change < trainer->best_change;
    if (*ret_best) {
        trainer->best_change = *ret_change;
        for (int i = 0; i < ADL_RANK_PARAMS; i++)
            trainer->best.params[i] = (float)trainer->averaged[i];
    }
    return 0;
}

const struct adl_rank_network *adl_rank_trainer_best(const struct adl_rank_trainer *trainer)
{
    return &trainer->best;
}
