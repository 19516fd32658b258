/* gittins_index: how soon a job is worth serving, by the observed distribution of actual / predicted run times.
 *
 * A job of predicted run time 1 that has run u so far ends at x with the observed frequency of x among those above u.
 * Serving it until v at the latest costs E[min(x, v) - u | x > u] and completes it with P(x <= v | x > u). The cost of
 * a completion is the least quotient of the two over all v: the reciprocal of the Gittins index (Aalto, Ayesta,
 * Righter, "On the Gittins index in the M/G/1 queue", Queueing Systems 63, 2009). Least first minimizes the mean. */
#ifndef ADLRO_POLICY_MECHANISM_GITTINS_INDEX_H
#define ADLRO_POLICY_MECHANISM_GITTINS_INDEX_H

#include <stdint.h>

#define ADL_GITTINS_BINS 97 /* ratios 2^-16 .. 2^8, four to a doubling */

struct adl_gittins_index {
    double ratio[ADL_GITTINS_BINS];
    double weight[ADL_GITTINS_BINS];
    uint64_t count; /* ratios learned */
};

void adl_gittins_index_init(struct adl_gittins_index *ret); /* one job that took as long as predicted */

void adl_gittins_index_learn(struct adl_gittins_index *index, double ratio); /* rounded to the nearest bin */

/* The cost of a completion after u, in units of predicted run time. Beyond all that was observed: u itself, as if the
 * job took as long again. */
double adl_gittins_index_cost(const struct adl_gittins_index *index, double u);

#endif
