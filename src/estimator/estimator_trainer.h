/* estimator_trainer: teaches the networks P1 and P2 from labs: those drawn from the prior, and measured ones if there
 * are. In each a job is taken that nothing is known of, and others of which some cells were measured: the networks are
 * asked about it, then about what is left when cells of its own were measured.
 *
 * P1 comes first, since what P2 is asked rests on its answers. Quantiles are taken from labs that were not trained on.
 * Equal configurations give equal models on equal processors. */
#ifndef ADLRO_ESTIMATOR_ESTIMATOR_TRAINER_H
#define ADLRO_ESTIMATOR_ESTIMATOR_TRAINER_H

#include "estimator/lab.h"
#include "predict/estimator.h"

struct adl_estimator_config {
    uint64_t seed;
    enum adl_setnet_form forms[ADL_ESTIMATOR_PARTS];
    int width;
    uint32_t labs;  /* drawn from the prior to learn from */
    uint32_t steps; /* of the optimizer, for each network */
    double learning_rate;
    /* measured labs, which stay the caller's; none: prior only */
    const struct adl_lab *measured;
    uint32_t measured_count;
    uint32_t measured_repeats; /* episodes played on each */
    uint32_t measured_steps;   /* of the optimizer, on these mixed with the prior's, after the others */
};

struct adl_estimator_config adl_estimator_defaults(void);

/* An example: a question and the truth. */
struct adl_example {
    struct adl_estimator_input question;
    double truth;
    int facts; /* cells of its own that were measured */
    uint32_t job, beside, type;
};

struct adl_examples {
    struct adl_example *items;
    size_t count, capacity;
};
void adl_examples_clear(struct adl_examples *examples);

struct adl_estimator_trainer;

/* Keeps the prior's examples, so that several estimators can be taught from them. progress may be NULL. */
int adl_estimator_trainer_create(const struct adl_estimator_config *config, struct adl_estimator_trainer **ret,
                                 struct adl_error *err);
void adl_estimator_trainer_destroy(struct adl_estimator_trainer *trainer); /* accepts NULL */

/* All four networks and their quantiles, from nothing. */
int adl_estimator_trainer_run(struct adl_estimator_trainer *trainer, struct adl_estimator **ret, struct adl_error *err);

/* Goes on with a trained estimator on measured labs (of config as given here), mixed with the prior's examples, and
 * takes the mean of the parameters before and after: few measurements are easily learned by heart, and half the way
 * keeps most of what they tell (Wortsman et al., "Robust fine-tuning of zero-shot models", 2022). from is left as it
 * is. Quantiles stay those of from. */
int adl_estimator_trainer_adapt(struct adl_estimator_trainer *trainer, const struct adl_estimator *from,
                                const struct adl_estimator_config *config, struct adl_estimator **ret,
                                struct adl_error *err);

/* Mean loss of a part on fresh labs of the prior: what hyperparameters are chosen by. error: mean |answer - truth|. */
int adl_estimator_trainer_score(struct adl_estimator_trainer *trainer, struct adl_estimator *estimator,
                                enum adl_estimator_part part, double *ret_error, double *ret_coverage,
                                struct adl_error *err);

#endif
