#include "predict/drift_test.h"

#include <math.h>

/* With less noise than a third of the shift a sample would decide alone: something else than noise explains such. */
double adl_drift_evidence(double x, double variance)
{
    const double shift = ADL_DRIFT_SHIFT, least = shift * shift / 9;
    const double used = variance > least ? variance : least, bound = 3 * sqrt(used);
    const double clipped = x > bound ? bound : x < -bound ? -bound : x;
    return shift / used * (clipped - shift / 2);
}

bool adl_drift_test_add(struct adl_drift_test *test, double evidence, double x, int64_t time_us)
{
    if (test->sum <= 0)
        *test = (struct adl_drift_test){.since_us = time_us};
    test->sum += evidence;
    test->moved += evidence > 0 ? x : 0;
    test->agree += evidence > 0;
    test->count++;
    return test->sum >= ADL_DRIFT_THRESHOLD;
}
