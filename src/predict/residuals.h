/* residuals: how actual run times relate to predicted ones.
 *
 * Each prediction has a shape: a map between a score z and ln(run time / predicted), which says how the run times of
 * similar jobs are spread. The scores of jobs that have ended form a histogram in which older jobs lose weight: it
 * says how far to trust the shapes (a conformal predictive distribution). A job of predicted run time 1 takes
 * x = exp(shape(z)), with z distributed as the histogram says. If it has run u so far it takes more than u: the
 * distribution is cut there.
 *
 * Times are in units of the predicted run time. Nothing allocates; equal sequences of calls give equal bits. */
#ifndef ADLRO_PREDICT_RESIDUALS_H
#define ADLRO_PREDICT_RESIDUALS_H

#include <stdint.h>

#define ADL_SHAPE_KNOTS   9   /* the deciles, at z = -1.6, -1.2, ... 1.6 */
#define ADL_RESIDUAL_BINS 160 /* of z from -8 to 8 */

/* Linear between the knots, and of a fixed slope outside. */
struct adl_shape {
    float knots[ADL_SHAPE_KNOTS];      /* ln(run time / predicted), increasing */
    float tail;                        /* slope outside, above 0 */
    float growth[ADL_SHAPE_KNOTS + 1]; /* time at the end of a bin relative to its beginning: before the first knot,
                                          between two, after the last */
};

struct adl_residuals {
    double weight[ADL_RESIDUAL_BINS];
    double above[ADL_RESIDUAL_BINS + 1]; /* sum of the weights from this bin on */
    uint64_t count;                      /* learned */
};

/* Linear throughout: ln(run time / predicted) = slope * z. */
struct adl_shape adl_shape_linear(double slope);
/* From deciles, which need not differ. */
struct adl_shape adl_shape_of_deciles(const float deciles[ADL_SHAPE_KNOTS]);

void adl_residuals_init(struct adl_residuals *ret);      /* a prior that weighs as much as one job */
void adl_residuals_sum(struct adl_residuals *residuals); /* after its weights were set: sets the sums */

/* A job with this shape took ratio times its prediction; any ratio above 0. */
void adl_residuals_learn(struct adl_residuals *residuals, const struct adl_shape *shape, double ratio);

/* P(x - u <= t | x > u). */
double adl_residuals_within(const struct adl_residuals *residuals, const struct adl_shape *shape, double u, double t);

/* The least t for which that is q, 0 <= q < 1: the quantile of the rest. */
double adl_residuals_quantile(const struct adl_residuals *residuals, const struct adl_shape *shape, double u, double q);

/* E[x - u | x > u]. */
double adl_residuals_mean(const struct adl_residuals *residuals, const struct adl_shape *shape, double u);

/* The cost of a completion: the least E[min(x, v) - u | x > u] / P(x <= v | x > u) over all v, the reciprocal of the
 * Gittins index (Aalto, Ayesta, Righter, "On the Gittins index in the M/G/1 queue", Queueing Systems 63, 2009). Jobs
 * served in this order, least first, have the least mean. The last thousandth of the distribution is left out. */
double adl_residuals_cost(const struct adl_residuals *residuals, const struct adl_shape *shape, double u);

#endif
