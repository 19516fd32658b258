#include "twin/confidence.h"

#include "base/real.h"

#include <math.h>

void adl_confidence_add(struct adl_confidence *confidence, double value)
{
    const double before = value - confidence->mean;
    confidence->count++;
    confidence->mean += before / (double)confidence->count;
    confidence->squares += before * (value - confidence->mean);
}

struct adl_interval adl_confidence_interval(const struct adl_confidence *confidence, double alpha)
{
    const double n = (double)confidence->count, mixed = 1 + n;
    if (confidence->count < 2)
        return (struct adl_interval){-HUGE_VAL, HUGE_VAL};
    /* E = 1 / alpha, solved for t^2 / (n - 1) */
    const double level = adl_exp(2 / n * (0.5 * adl_log(mixed) - adl_log(alpha)));
    if (level >= mixed)
        return (struct adl_interval){-HUGE_VAL, HUGE_VAL};
    const double t2 = (level - 1) / (1 - level / mixed);
    const double width = sqrt(t2 * confidence->squares / n);
    return (struct adl_interval){confidence->mean - width, confidence->mean + width};
}
