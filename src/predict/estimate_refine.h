/* estimate_refine: P2: what is asked of the second network about a profile some of whose cells were measured: from how
 * far the measured ones were off to how far the others are, on every other type and beside every other profile.
 *
 * Answers are relative to the first estimate moved by the mean of what the measured ones were off. */
#ifndef ADLRO_PREDICT_ESTIMATE_REFINE_H
#define ADLRO_PREDICT_ESTIMATE_REFINE_H

#include "predict/estimate_table.h"

#define ADL_ESTIMATE_REFINE_RATE_QUERY  24
#define ADL_ESTIMATE_REFINE_RATE_FACTS  10
#define ADL_ESTIMATE_REFINE_SHARE_QUERY 17
#define ADL_ESTIMATE_REFINE_SHARE_FACTS 11

/* The rate alone on a type that was not measured alone. False: nothing of it was measured, so there is nothing to ask.
 */
bool adl_estimate_refine_rate_ask(const struct adl_estimate_table *knowledge, uint32_t profile, uint32_t type,
                                  struct adl_question *ret);

/* The share beside a neighbour on a type. first: what the first network said. False as above: neither profile beside
 * another nor neighbour beside profile was measured. */
bool adl_estimate_refine_share_ask(const struct adl_estimate_table *knowledge, uint32_t profile, uint32_t type,
                                   uint32_t neighbour, const struct adl_belief *first, struct adl_question *ret);

#endif
