/* hyperscore: the formula, its constants and the weights of its terms. */
#include "metrics/hyperscore.h"

#include "base/real.h"

#include <stddef.h>

static const double TERM_MIN = 1e-6, TERM_MAX = 1e6; /* keep the logarithm finite */
static const double BETA = 5.0;
static const double GAMMA = -0x1.62e42fefa39efp-1; /* -ln 2 */
static const double KAPPA = 2.1;

static const double JCT_WEIGHT = 0.30, P99_WEIGHT = 0.20, THROUGHPUT_WEIGHT = 0.15, ENERGY_WEIGHT = 0.15,
                    SLOWDOWN_WEIGHT = 0.10, SLA_WEIGHT = 0.10;

/* NaN, a figure that could not be computed, counts as the worst. */
static double clamp_term(double x)
{
    if (!(x > TERM_MIN))
        return TERM_MIN;
    return x < TERM_MAX ? x : TERM_MAX;
}

static double higher_is_better(double value, double reference)
{
    return reference > 0 ? clamp_term(value / reference) : 0.0;
}

static double lower_is_better(double value, double reference)
{
    return reference > 0 ? clamp_term(value > 0 ? reference / value : 0.0) : 0.0;
}

struct adl_score_terms adl_score_relate(const struct adl_score_figures *run, const struct adl_score_figures *reference)
{
    return (struct adl_score_terms){.jct = lower_is_better(run->jct_s, reference->jct_s),
                                    .p99 = lower_is_better(run->p99_s, reference->p99_s),
                                    .throughput = higher_is_better(run->jobs_per_h, reference->jobs_per_h),
                                    .energy = lower_is_better(run->energy_mj, reference->energy_mj),
                                    .slowdown = lower_is_better(run->slowdown, reference->slowdown),
                                    .sla = higher_is_better(run->sla, reference->sla)};
}

double adl_score_v(const struct adl_score_terms *terms)
{
    const struct {
        double term, weight;
    } each[] = {
        {terms->jct, JCT_WEIGHT},       {terms->p99, P99_WEIGHT},           {terms->throughput, THROUGHPUT_WEIGHT},
        {terms->energy, ENERGY_WEIGHT}, {terms->slowdown, SLOWDOWN_WEIGHT}, {terms->sla, SLA_WEIGHT}};
    double sum = 0.0, weights = 0.0;
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        if (each[i].term == 0)
            continue;
        sum += each[i].weight * adl_log(clamp_term(each[i].term));
        weights += each[i].weight;
    }
    return weights > 0 ? clamp_term(adl_exp(sum / weights)) : 1.0;
}

double adl_hyperscore(double v)
{
    const double x = BETA * adl_log(clamp_term(v)) + GAMMA;
    const double sigma = 1.0 / (1.0 + adl_exp(-x));
    return 100.0 * (1.0 + adl_exp(KAPPA * adl_log(sigma)));
}
