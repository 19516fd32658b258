/* estimate_initial: P1: what is asked of the first network about a profile of which nothing was measured: from what its
 * submission says, the specifications of the GPUs and what was measured of the profiles most like it to its rate on
 * each type, and to its share of that rate beside another profile.
 *
 * Answers are relative to the best that can be said without a network: time by specification, corrected by how far off
 * that was for similar profiles; for shares, the sum of how much such a job suffers and how much its neighbour makes
 * others suffer. */
#ifndef ADLRO_PREDICT_ESTIMATE_INITIAL_H
#define ADLRO_PREDICT_ESTIMATE_INITIAL_H

#include "predict/estimate_table.h"

#define ADL_ESTIMATE_INITIAL_RATE_QUERY  30
#define ADL_ESTIMATE_INITIAL_RATE_FACTS  12
#define ADL_ESTIMATE_INITIAL_SHARE_QUERY 33
#define ADL_ESTIMATE_INITIAL_SHARE_FACTS 13

void adl_estimate_initial_rate_ask(const struct adl_estimate_table *knowledge, uint32_t profile, uint32_t type,
                                   struct adl_question *ret);

/* Of profile beside neighbour; both have beliefs of their rates. The facts are shares of other profiles. */
void adl_estimate_initial_share_ask(const struct adl_estimate_table *knowledge, uint32_t profile, uint32_t type,
                                    uint32_t neighbour, struct adl_question *ret);

/* Facts are offered with their weight and the weightiest kept, in rising order. */
struct adl_fact_list {
    int count;
    double weights[ADL_QUESTION_FACTS];
    uint32_t ids[ADL_QUESTION_FACTS][3]; /* whatever the offering side names them by */
};
void adl_fact_offer(struct adl_fact_list *list, double weight, uint32_t a, uint32_t b, uint32_t c);

#endif
