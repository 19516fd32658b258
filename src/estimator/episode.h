/* episode: training examples for the estimator's networks from one lab: some jobs are known and partly measured, one is
 * new; the questions about it, and the true answers. */
#ifndef ADLRO_ESTIMATOR_EPISODE_H
#define ADLRO_ESTIMATOR_EPISODE_H

#include "estimator/estimator_trainer.h"

struct adl_episode_rule {
    double new_family; /* chance that nothing of the new job's family is known */
    bool all_known;    /* every other job is known and measured wherever the lab has a figure */
};

/* Appends examples for a part. Overwrites the table; estimator answers for the parts before this one. */
int adl_episode_run(struct adl_estimate_table *table, struct adl_estimator *estimator, const struct adl_lab *lab,
                    struct adl_rng *rng, enum adl_estimator_part part, const struct adl_episode_rule *rule,
                    struct adl_examples *examples, struct adl_error *err);

#endif
