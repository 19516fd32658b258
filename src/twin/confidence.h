/* confidence: an interval for a mean that holds at all times together: a reader who looks after each value, and stops
 * when it pleases, is wrong with probability alpha at most.
 *
 * The values are taken as independent and normal with unknown mean and variance. The interval is the set of means that
 * a mixture of sequential t tests does not reject: E = (1 + n)^(-1/2) ((1 + t^2 / (n - 1)) / (1 + t^2 / ((n - 1) (1 +
 * n))))^(n/2) has expectation 1 whatever the variance, with effects drawn from N(0, 1) standard deviations, and stays
 * below 1 / alpha for ever with probability 1 - alpha (Ville). See Robbins 1970; Lai 1976; Wang and Ramdas 2024. */
#ifndef ADLRO_TWIN_CONFIDENCE_H
#define ADLRO_TWIN_CONFIDENCE_H

#include <stdint.h>

struct adl_confidence {
    uint64_t count;
    double mean;
    double squares; /* sum of squared distances from the mean */
};

struct adl_interval {
    double lo, hi; /* infinite until there are enough values */
};

void adl_confidence_add(struct adl_confidence *confidence, double value);
struct adl_interval adl_confidence_interval(const struct adl_confidence *confidence, double alpha);

#endif
