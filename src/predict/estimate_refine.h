/* estimate_refine: P2: the input of the second network, for a profile with some measured cells: from the errors of the
 * initial estimates of measured cells it predicts those of the other cells, on other types and beside other profiles.
 *
 * Predictions are relative to the initial estimate shifted by the mean error of the measured cells. */
#ifndef ADLRO_PREDICT_ESTIMATE_REFINE_H
#define ADLRO_PREDICT_ESTIMATE_REFINE_H

#include "predict/estimate_table.h"

#define ADL_ESTIMATE_REFINE_RATE_QUERY  24
#define ADL_ESTIMATE_REFINE_RATE_FACTS  10
#define ADL_ESTIMATE_REFINE_SHARE_QUERY 17
#define ADL_ESTIMATE_REFINE_SHARE_FACTS 11

/* The rate alone on a type that was not measured alone. False: no cell of the profile was measured. */
bool adl_estimate_refine_rate_input(const struct adl_estimate_table *table, uint32_t profile, uint32_t type,
                                    struct adl_estimator_input *ret);

/* The share beside a neighbour on a type. first: the prediction of P1. False: neither the profile beside another nor
 * the neighbour beside the profile was measured. */
bool adl_estimate_refine_share_input(const struct adl_estimate_table *table, uint32_t profile, uint32_t type,
                                     uint32_t neighbour, const struct adl_prediction *first,
                                     struct adl_estimator_input *ret);

#endif
