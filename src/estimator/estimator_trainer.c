#include "estimator/estimator_trainer.h"

#include "base/real.h"
#include "estimator/episode.h"
#include "nn/adam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, HELD_OUT = 10 /* one lab in this many is held out */ };

#define SMOOTH     0.02 /* smooths the absolute error near 0 */
#define ADAPT_RATE 0.3  /* learning rate of adaptation, relative to that of training */

struct adl_estimator_trainer {
    struct adl_estimator_config config;
    struct adl_estimate_table *table;
    struct adl_examples examples[ADL_ESTIMATOR_PARTS]; /* of the prior, for training */
    struct adl_examples held[ADL_ESTIMATOR_PARTS];     /* held out, for calibration */
};

struct adl_estimator_config adl_estimator_defaults(void)
{
    return (struct adl_estimator_config){
        .seed = 1,
        .forms = {ADL_SETNET_ATTENTION, ADL_SETNET_ATTENTION, ADL_SETNET_ATTENTION, ADL_SETNET_ATTENTION},
        .width = 32,
        .labs = 10000,
        .steps = 5000,
        .learning_rate = 3e-3,
        .measured_repeats = 300,
        .measured_steps = 300,
    };
}

void adl_examples_clear(struct adl_examples *examples)
{
    free(examples->items);
    *examples = (struct adl_examples){0};
}

int adl_estimator_trainer_create(const struct adl_estimator_config *config, struct adl_estimator_trainer **ret,
                                 struct adl_error *err)
{
    struct adl_estimator_trainer *trainer = calloc(1, sizeof *trainer);
    if (!trainer)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the estimator's training");
    trainer->config = *config;
    const int status = adl_estimate_table_create(ADL_LAB_JOBS, &trainer->table, err);
    if (status)
        adl_estimator_trainer_destroy(trainer);
    else
        *ret = trainer;
    return status;
}

void adl_estimator_trainer_destroy(struct adl_estimator_trainer *trainer)
{
    if (!trainer)
        return;
    for (int part = 0; part < ADL_ESTIMATOR_PARTS; part++) {
        adl_examples_clear(&trainer->examples[part]);
        adl_examples_clear(&trainer->held[part]);
    }
    adl_estimate_table_destroy(trainer->table);
    free(trainer);
}

/* ---- examples ---- */

static int collect_prior(struct adl_estimator_trainer *trainer, struct adl_estimator *estimator,
                         enum adl_estimator_part part, struct adl_error *err)
{
    const struct adl_episode_rule rule = {.new_family = 0.7};
    struct adl_lab *lab = malloc(sizeof *lab);
    struct adl_rng rng, play;
    int status = lab ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory for a lab");
    trainer->examples[part].count = trainer->held[part].count = 0;
    adl_rng_seed(&rng, trainer->config.seed, "labs");
    adl_rng_seed(&play, trainer->config.seed + (uint64_t)part, "episodes");
    for (uint32_t i = 0; i < trainer->config.labs && !status; i++) {
        adl_lab_draw(&rng, lab);
        status = adl_episode_run(trainer->table, estimator, lab, &play, part, &rule,
                                 i % HELD_OUT ? &trainer->examples[part] : &trainer->held[part], err);
    }
    free(lab);
    return status;
}

static int collect_measured(struct adl_estimator_trainer *trainer, const struct adl_estimator_config *config,
                            struct adl_estimator *estimator, enum adl_estimator_part part, struct adl_examples *ret,
                            struct adl_error *err)
{
    struct adl_rng rng;
    int status = 0;
    adl_rng_seed(&rng, config->seed + (uint64_t)part, "measured episodes");
    for (uint32_t i = 0; i < config->measured_count * config->measured_repeats && !status; i++) {
        const struct adl_episode_rule rule = {.new_family = 1, .all_known = i % 2};
        status = adl_episode_run(trainer->table, estimator, &config->measured[i % config->measured_count], &rng, part,
                                 &rule, ret, err);
    }
    return status;
}

/* ---- learning ---- */

struct shared {
    struct adl_setnet net;
    struct adl_setnet_workspace *workspace;
    struct adl_adam *adam;
    float *grads;
    int offset[BATCH + 1];
    float facts[BATCH * ADL_INPUT_FACTS_MAX * ADL_FACT_FEATURES];
    float queries[BATCH * ADL_QUERY_FEATURES];
    float outs[BATCH * ADL_SETNET_OUTPUTS], douts[BATCH * ADL_SETNET_OUTPUTS];
};

static void shared_destroy(struct shared *shared)
{
    if (!shared)
        return;
    adl_setnet_workspace_destroy(shared->workspace);
    adl_adam_destroy(shared->adam);
    free(shared->grads);
    free(shared);
}

static int shared_create(const struct adl_setnet *net, struct shared **ret, struct adl_error *err)
{
    const struct adl_adam_config adam = {.beta2 = 0.99, .norm_max = 5};
    struct shared *shared = calloc(1, sizeof *shared);
    if (!shared)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a network's training");
    int status = adl_setnet_make(&net->shape, adl_kernels_choose(true), &shared->net, err);
    if (!status)
        status = adl_setnet_workspace_create(&shared->net, BATCH, BATCH * ADL_INPUT_FACTS_MAX, &shared->workspace, err);
    if (!status)
        status = adl_adam_create(&adam, shared->net.parameter_count, &shared->adam, err);
    if (!status && !(shared->grads = calloc(shared->net.parameter_count, sizeof *shared->grads)))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for gradients");
    if (status)
        shared_destroy(shared);
    else
        *ret = shared;
    return status;
}

static void add_example(struct shared *shared, int at, const struct adl_example *example)
{
    const size_t facts = (size_t)shared->net.shape.fact_features, queries = (size_t)shared->net.shape.query_features;
    const struct adl_estimator_input *q = &example->question;
    for (int f = 0; f < q->fact_count; f++)
        memcpy(shared->facts + (size_t)(shared->offset[at] + f) * facts, q->facts[f], facts * sizeof(float));
    memcpy(shared->queries + (size_t)at * queries, q->query, queries * sizeof(float));
    shared->offset[at + 1] = shared->offset[at] + q->fact_count;
}

/* Negative log likelihood under a Laplace distribution, |d| / s + ln s: its location is the median, which minimizes the
 * mean absolute error. */
static void step(struct shared *shared, const struct adl_example **batch, double learning_rate, float *params)
{
    for (int i = 0; i < BATCH; i++)
        add_example(shared, i, batch[i]);
    const struct adl_setnet_batch input = {BATCH, shared->offset, shared->facts, shared->queries};
    adl_setnet_forward(&shared->net, params, &input, shared->workspace, shared->outs);
    for (size_t i = 0; i < BATCH; i++) {
        const double wanted = batch[i]->truth - batch[i]->question.base;
        const double error = (double)shared->outs[2 * i] - wanted, size = sqrt(error * error + SMOOTH * SMOOTH);
        const double spread = adl_estimator_spread(shared->outs[2 * i + 1]);
        shared->douts[2 * i] = (float)(error / size / spread / BATCH);
        shared->douts[2 * i + 1] = (float)((1 - size / spread) / BATCH);
    }
    memset(shared->grads, 0, shared->net.parameter_count * sizeof *shared->grads);
    adl_setnet_backward(&shared->net, params, &input, shared->workspace, shared->douts, shared->grads);
    adl_adam_step(shared->adam, shared->net.kernels, learning_rate, shared->grads, params);
}

/* The second set, if there is one, makes up half of each batch. */
static int learn(const struct adl_setnet *net, const struct adl_examples *first, const struct adl_examples *second,
                 uint32_t steps, double learning_rate, uint64_t seed, float *params, struct adl_error *err)
{
    const struct adl_example *batch[BATCH];
    struct shared *shared = NULL;
    struct adl_rng rng;
    if (first->count == 0 || steps == 0)
        return 0;
    const int status = shared_create(net, &shared, err);
    if (status)
        return status;
    adl_rng_seed(&rng, seed, "batches");
    for (uint32_t s = 0; s < steps; s++) {
        const double left = 1.0 - (double)s / steps, rate = learning_rate * (left * left * 0.98 + 0.02);
        for (int i = 0; i < BATCH; i++) {
            const struct adl_examples *from = second && second->count && i % 2 ? second : first;
            batch[i] = &from->items[adl_rng_below(&rng, (uint32_t)from->count)];
        }
        step(shared, batch, s < 100 ? rate * s / 100 : rate, params);
    }
    shared_destroy(shared);
    return 0;
}

/* ---- quantiles ---- */

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void answer_one(struct adl_estimator *estimator, enum adl_estimator_part part, const struct adl_example *example,
                       double *ret_off, double *ret_spread)
{
    struct adl_prediction belief;
    adl_estimator_predict(estimator, part, &example->question, 1, &belief);
    *ret_off = fabs((double)belief.mean - example->truth);
    *ret_spread = (double)belief.spread;
}

static int calibrate(struct adl_estimator *estimator, enum adl_estimator_part part, const struct adl_examples *held,
                     struct adl_error *err)
{
    float *scores = malloc((held->count + 1) * sizeof *scores);
    if (!scores)
        return adl_fail(err, ADL_ENOMEM, "out of memory for quantiles");
    for (int bucket = 0; bucket < ADL_ESTIMATOR_QUANTILES; bucket++) {
        size_t count = 0;
        for (size_t i = 0; i < held->count; i++) {
            const int facts = held->items[i].facts;
            double error, spread;
            if ((facts <= 1 ? 0 : facts >= ADL_ESTIMATOR_QUANTILES ? ADL_ESTIMATOR_QUANTILES - 1 : facts - 1) != bucket)
                continue;
            answer_one(estimator, part, &held->items[i], &error, &spread);
            scores[count++] = (float)(error / spread);
        }
        if (count < 20)
            continue;
        qsort(scores, count, sizeof *scores, by_value);
        size_t rank = (size_t)ceil(0.9 * (double)(count + 1));
        rank = rank > count ? count : rank;
        estimator->quantiles[part][bucket] = scores[rank - 1] > 1e-3f ? scores[rank - 1] : 1e-3f;
    }
    free(scores);
    return 0;
}

/* ---- training ---- */

int adl_estimator_trainer_run(struct adl_estimator_trainer *trainer, struct adl_estimator **ret, struct adl_error *err)
{
    const struct adl_estimator_config *config = &trainer->config;
    struct adl_estimator *estimator = NULL;
    int status = adl_estimator_create(config->forms, config->width, &estimator, err);
    for (int p = 0; p < ADL_ESTIMATOR_PARTS && !status; p++) {
        const enum adl_estimator_part part = (enum adl_estimator_part)p;
        struct adl_rng rng;
        adl_rng_seed(&rng, config->seed + (uint64_t)p, "parameters");
        status = collect_prior(trainer, estimator, part, err);
        for (int m = 0; m < adl_estimator_members(part) && !status; m++) {
            float *params = adl_estimator_params(estimator, part, m);
            adl_setnet_init(&estimator->nets[p], &rng, params);
            status = learn(&estimator->nets[p], &trainer->examples[p], NULL, config->steps, config->learning_rate,
                           config->seed + (uint64_t)m, params, err);
        }
        if (!status)
            status = calibrate(estimator, part, &trainer->held[p], err);
        estimator->examples += trainer->examples[p].count;
    }
    if (status) {
        adl_estimator_destroy(estimator);
        return status;
    }
    estimator->seed = config->seed;
    *ret = estimator;
    return 0;
}

int adl_estimator_trainer_adapt(struct adl_estimator_trainer *trainer, const struct adl_estimator *from,
                                const struct adl_estimator_config *config, struct adl_estimator **ret,
                                struct adl_error *err)
{
    enum adl_setnet_form forms[ADL_ESTIMATOR_PARTS];
    struct adl_estimator *estimator = NULL;
    for (int p = 0; p < ADL_ESTIMATOR_PARTS; p++)
        forms[p] = from->nets[p].shape.form;
    int status = adl_estimator_create(forms, from->nets[0].shape.width, &estimator, err);
    for (int p = 0; p < ADL_ESTIMATOR_PARTS && !status; p++) {
        struct adl_examples measured = {0};
        const enum adl_estimator_part part = (enum adl_estimator_part)p;
        const size_t count = adl_estimator_param_count(from, part);
        memcpy(estimator->params[p], from->params[p], count * sizeof(float));
        memcpy(estimator->quantiles[p], from->quantiles[p], sizeof from->quantiles[p]);
        status = collect_measured(trainer, config, estimator, part, &measured, err);
        for (int m = 0; m < adl_estimator_members(part) && !status; m++)
            status = learn(&estimator->nets[p], &measured, &trainer->examples[p], config->measured_steps,
                           config->learning_rate * ADAPT_RATE, config->seed + (uint64_t)m,
                           adl_estimator_params(estimator, part, m), err);
        for (size_t i = 0; i < count; i++)
            estimator->params[p][i] = 0.5f * (estimator->params[p][i] + from->params[p][i]);
        adl_examples_clear(&measured);
    }
    if (status) {
        adl_estimator_destroy(estimator);
        return status;
    }
    estimator->seed = config->seed;
    estimator->examples = from->examples;
    *ret = estimator;
    return 0;
}

int adl_estimator_trainer_score(struct adl_estimator_trainer *trainer, struct adl_estimator *estimator,
                                enum adl_estimator_part part, double *ret_error, double *ret_coverage,
                                struct adl_error *err)
{
    const struct adl_episode_rule rule = {.new_family = 1};
    struct adl_examples fresh = {0};
    struct adl_lab *lab = malloc(sizeof *lab);
    struct adl_rng rng;
    int status = lab ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory for a lab");
    adl_rng_seed(&rng, trainer->config.seed, "fresh labs");
    for (uint32_t i = 0; i < 400 && !status; i++) {
        adl_lab_draw(&rng, lab);
        status = adl_episode_run(trainer->table, estimator, lab, &rng, part, &rule, &fresh, err);
    }
    double sum = 0, inside = 0;
    for (size_t i = 0; i < fresh.count && !status; i++) {
        double error, spread;
        answer_one(estimator, part, &fresh.items[i], &error, &spread);
        sum += error;
        inside += error <= adl_estimator_half(estimator, part, fresh.items[i].facts, spread);
    }
    if (!status && fresh.count > 0) {
        *ret_error = sum / (double)fresh.count;
        *ret_coverage = inside / (double)fresh.count;
    }
    adl_examples_clear(&fresh);
    free(lab);
    return status;
}
