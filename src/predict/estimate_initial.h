/* estimate_initial: P1: the input of the first network, for a profile without measurements: from its submission, the
 * specifications of the GPUs and measurements of similar profiles it predicts the rate on each type, and the share of
 * that rate beside another profile.
 *
 * Predictions are relative to a baseline without a network: time by specification, corrected by the residuals of
 * similar profiles; for shares, the sum of the job's sensitivity and its neighbour's interference. */
#ifndef ADLRO_PREDICT_ESTIMATE_INITIAL_H
#define ADLRO_PREDICT_ESTIMATE_INITIAL_H

#include "predict/estimate_table.h"

#define ADL_ESTIMATE_INITIAL_RATE_QUERY  30
#define ADL_ESTIMATE_INITIAL_RATE_FACTS  12
#define ADL_ESTIMATE_INITIAL_SHARE_QUERY 33
#define ADL_ESTIMATE_INITIAL_SHARE_FACTS 13

void adl_estimate_initial_rate_input(const struct adl_estimate_table *table, uint32_t profile, uint32_t type,
                                     struct adl_estimator_input *ret);

/* Of profile beside neighbour; both have estimated rates. The facts are shares of other profiles. */
void adl_estimate_initial_share_input(const struct adl_estimate_table *table, uint32_t profile, uint32_t type,
                                      uint32_t neighbour, struct adl_estimator_input *ret);

/* Keeps the facts with the largest weights, in ascending order. */
struct adl_fact_list {
    int count;
    double weights[ADL_INPUT_FACTS_MAX];
    uint32_t ids[ADL_INPUT_FACTS_MAX][3]; /* meaning defined by the caller */
};
void adl_fact_offer(struct adl_fact_list *list, double weight, uint32_t a, uint32_t b, uint32_t c);

#endif
