/* drift_test: a sequential test of whether a series of log speeds has moved by a given shift: CUSUM of the log
 * likelihood ratio.
 *
 * The sum grows with evidence for the shift and never falls below 0. Without a shift the mean time between two alarms
 * is at least exp(threshold) samples, whatever the noise (Lorden 1971). One sample is bounded to three standard
 * deviations. */
#ifndef ADLRO_PREDICT_DRIFT_TEST_H
#define ADLRO_PREDICT_DRIFT_TEST_H

#include <stdbool.h>
#include <stdint.h>

#define ADL_DRIFT_SHIFT 0.08 /* of the logarithm, that is tested for */
#define ADL_DRIFT_THRESHOLD                                                                                            \
    14.5 /* alarms are at least 2 million samples apart: 2,700 GPU-days of one in two minutes                          \
          */

struct adl_drift_test {
    double sum;
    double moved;     /* sum of the deviations since since_us that speak for it */
    double agree;     /* their number ... */
    double count;     /* ... of all since then */
    int64_t since_us; /* when the sum left 0 */
};

/* The evidence of one sample for the shift: x is its deviation in the direction that is tested. */
double adl_drift_evidence(double x, double variance);

/* Adds it; x is only remembered. True: alarm. */
bool adl_drift_test_add(struct adl_drift_test *test, double evidence, double x, int64_t time_us);

#endif
