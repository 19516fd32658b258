/* estimator_trainer: trains the networks P1 and P2 on labs: drawn from the prior, and measured ones if there are any.
 * In each lab one job is new and some cells of others are measured: the networks predict the new job's cells, first
 * without and then with measurements of its own.
 *
 * P1 is trained first, because P2's inputs include its answers. Quantiles come from held-out labs. Equal configurations
 * give equal models on equal processors. */
#ifndef ADLRO_ESTIMATOR_ESTIMATOR_TRAINER_H
#define ADLRO_ESTIMATOR_ESTIMATOR_TRAINER_H

#include "estimator/lab.h"
#include "predict/estimator.h"

struct adl_estimator_config {
    uint64_t seed;
    enum adl_setnet_form forms[ADL_ESTIMATOR_PARTS];
    int width;
    uint32_t labs;  /* drawn from the prior for training */
    uint32_t steps; /* of the optimizer, for each network */
    double learning_rate;
    /* measured labs, owned by the caller; none: prior only */
    const struct adl_lab *measured;
    uint32_t measured_count;
    uint32_t measured_repeats; /* episodes on each */
    uint32_t measured_steps;   /* of the optimizer, on these mixed with the prior's, after steps */
};

struct adl_estimator_config adl_estimator_defaults(void);

/* An example: a question and the truth. */
struct adl_example {
    struct adl_estimator_input question;
    double truth;
    int facts; /* measured cells of the job itself */
    uint32_t job, beside, type;
};

struct adl_examples {
    struct adl_example *items;
    size_t count, capacity;
};
void adl_examples_clear(struct adl_examples *examples);

struct adl_estimator_trainer;

/* Keeps the prior's examples, so that several estimators can be trained on them. */
int adl_estimator_trainer_create(const struct adl_estimator_config *config, struct adl_estimator_trainer **ret,
                                 struct adl_error *err);
void adl_estimator_trainer_destroy(struct adl_estimator_trainer *trainer); /* accepts NULL */

/* Trains all four networks and their quantiles from scratch. */
int adl_estimator_trainer_run(struct adl_estimator_trainer *trainer, struct adl_estimator **ret, struct adl_error *err);

/* Fine-tunes a trained estimator on measured labs (those of config), mixed with the prior's examples, and averages the
 * parameters before and after: few measurements are easily overfitted, and the average keeps most of what they add
 * (Wortsman et al., "Robust fine-tuning of zero-shot models", 2022). Does not change from. Quantiles stay those of
 * from. */
int adl_estimator_trainer_adapt(struct adl_estimator_trainer *trainer, const struct adl_estimator *from,
                                const struct adl_estimator_config *config, struct adl_estimator **ret,
                                struct adl_error *err);

/* Score of a part on fresh labs of the prior, for choosing hyperparameters. error: mean |answer - truth|. */
int adl_estimator_trainer_score(struct adl_estimator_trainer *trainer, struct adl_estimator *estimator,
                                enum adl_estimator_part part, double *ret_error, double *ret_coverage,
                                struct adl_error *err);

#endif
