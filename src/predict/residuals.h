/* residuals: how actual run times relate to predicted ones. The distribution of
 *
 *     z = ln(actual / predicted) / scale
 *
 * over jobs that have ended, as a histogram in which older jobs lose weight; scale is what the prediction itself says
 * of its error. A job of predicted run time 1 then takes x = exp(scale * z). If it has run u so far it takes more than
 * u: the distribution is cut there.
 *
 * Times are in units of the predicted run time. Nothing allocates; equal sequences of calls give equal bits. */
#ifndef ADLRO_PREDICT_RESIDUALS_H
#define ADLRO_PREDICT_RESIDUALS_H

#include <stdint.h>

#define ADL_RESIDUAL_BINS 161 /* of z from -8.05 to 8.05 */

struct adl_residuals {
    double weight[ADL_RESIDUAL_BINS];
    uint64_t count; /* learned */
};

void adl_residuals_init(struct adl_residuals *ret); /* a prior that weighs as much as one job */

void adl_residuals_learn(struct adl_residuals *residuals, double z);

/* P(x - u <= t | x > u). */
double adl_residuals_within(const struct adl_residuals *residuals, double scale, double u, double t);

/* The least t for which that is q, 0 <= q < 1: the quantile of the rest. */
double adl_residuals_quantile(const struct adl_residuals *residuals, double scale, double u, double q);

/* E[x - u | x > u]. */
double adl_residuals_mean(const struct adl_residuals *residuals, double scale, double u);

/* The cost of a completion: the least E[min(x, v) - u | x > u] / P(x <= v | x > u) over all v, the reciprocal of the
 * Gittins index (Aalto, Ayesta, Righter, "On the Gittins index in the M/G/1 queue", Queueing Systems 63, 2009). Jobs
 * served in this order, least first, have the least mean. */
double adl_residuals_cost(const struct adl_residuals *residuals, double scale, double u);

#endif
