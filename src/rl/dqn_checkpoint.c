/* dqn_checkpoint: models and checkpoints of a training as bytes, and back. */
#include "base/hash.h"
#include "nn/model_file.h"
#include "rl/dqn_trainer_internal.h"

#include <string.h>

#define STATE_TAG      "state"
#define AVERAGE_TAG    "average"
#define BEST_TAG       "best"
#define REFERENCES_TAG "references"

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
    return adl_environment_normalizer(trainer->slots[0].rollout->env);
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
    double best_return;
    struct adl_result best_validation;
};

static size_t references_size(const struct adl_dqn_trainer *trainer)
{
    return adl_dqn_validation_groups(trainer) * sizeof *trainer->references;
}

/* Of everything that determines the result of training; not of the number of threads. */
static uint64_t config_hash(const struct adl_dqn_trainer *trainer)
{
    const struct adl_dqn_config *c = &trainer->config;
    const double reals[] = {c->learning_rate, c->learning_rate_end, c->horizon, c->tail, c->prior, c->scenario->lambda};
    const uint64_t wholes[] = {
        c->network, c->seed,   c->episodes,        c->sweeps,      c->gpu_width,           c->head_width,
        c->batch,   c->passes, c->validate_rounds, c->other_count, c->validation_episodes, trainer->scenario_hash};
    return adl_hash_bytes(adl_hash_bytes(adl_hash_start(), reals, sizeof reals), wholes, sizeof wholes);
}

int adl_dqn_trainer_checkpoint(const struct adl_dqn_trainer *trainer, struct adl_text *ret, struct adl_error *err)
{
    const struct adl_learner *learner = trainer->learner;
    const struct saved saved = {.config_hash = config_hash(trainer),
                                .episodes = trainer->episodes,
                                .updates = learner->updates,
                                .decisions = trainer->decisions,
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
    adl_model_section_add(&model, AVERAGE_TAG, learner->average, adl_dqn_params_size(trainer));
    adl_model_section_add(&model, BEST_TAG, trainer->best, adl_dqn_params_size(trainer));
    adl_model_section_add(&model, REFERENCES_TAG, trainer->references, references_size(trainer));
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
        status = copy_section(model, AVERAGE_TAG, learner->average, adl_dqn_params_size(trainer), err);
    if (status == 0)
        status = copy_section(model, BEST_TAG, trainer->best, adl_dqn_params_size(trainer), err);
    if (status == 0)
        status = copy_section(model, REFERENCES_TAG, trainer->references, references_size(trainer), err);
    if (status)
        return status;
    memcpy(learner->params, model->params, adl_dqn_params_size(trainer));
    for (uint32_t i = 0; i < trainer->slot_count; i++)
        adl_environment_set_normalizer(trainer->slots[i].rollout->env, &normalizer);
    if (trainer->config.network == ADL_QNET_SHARED)
        adl_warm_start_rule(&normalizer, trainer->rule);
    trainer->episodes = saved.episodes;
    trainer->decisions = saved.decisions;
    learner->updates = saved.updates;
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
