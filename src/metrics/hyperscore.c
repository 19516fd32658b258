/* hyperscore: the formula and its constants. */
#include "metrics/hyperscore.h"

#include "base/real.h"

#include <stddef.h>

static const double TERM_MIN = 1e-6; /* keeps the logarithm finite */
static const double BETA = 5.0;
static const double GAMMA = -0x1.62e42fefa39efp-1; /* -ln 2 */
static const double KAPPA = 2.1;

/* NaN, a figure that could not be computed, counts as the worst. */
static double clamp_term(double x)
{
    if (!(x > TERM_MIN))
        return TERM_MIN;
    return x < 1.0 ? x : 1.0;
}

double adl_score_v(const struct adl_score_terms *terms)
{
    const double each[] = {terms->jct, terms->throughput, terms->utilization, terms->sla, terms->energy};
    const size_t count = sizeof each / sizeof each[0];
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += adl_log(clamp_term(each[i]));
    return clamp_term(adl_exp(sum / (double)count));
}

double adl_hyperscore(double v)
{
    const double x = BETA * adl_log(clamp_term(v)) + GAMMA;
    const double sigma = 1.0 / (1.0 + adl_exp(-x));
    return 100.0 * (1.0 + adl_exp(KAPPA * adl_log(sigma)));
}
