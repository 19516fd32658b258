/* age_ratios: how many jobs end at an age, relative to what the belief expected of them.
 *
 * The belief says of each job how long it may take, by jobs like it; all jobs of a cluster together show where that is
 * wrong. Sites have a longest run time, at which many long jobs end; before it fewer end than the belief expects, and
 * none is left after it. For each doubling of the age: the ends that were seen, and the integral of the expected
 * hazard over the jobs that were at risk. Their ratio is a factor of the hazard. */
#ifndef ADLRO_TWIN_AGE_RATIOS_H
#define ADLRO_TWIN_AGE_RATIOS_H

#include "predict/belief.h"

#define ADL_AGE_RATIOS 48 /* doublings of a microsecond: nine years */

/* Zeros: nothing was seen. */
struct adl_age_ratios {
    double ended[ADL_AGE_RATIOS], expected[ADL_AGE_RATIOS];
};

/* A live job ends and has taken that. One that took about the longest time that was seen (0: not known) was stopped by
 * the site, and only tells that it had not ended before. */
void adl_age_ratios_learn(struct adl_age_ratios *ratios, const struct adl_belief *belief, uint32_t slot, double work_us,
                          double longest_us);

/* What a live job that has run done_us will take from now on, at a rank from 0 to 1, if none takes longer than the
 * longest. One that has, or that the belief expects to take longer, may take what the belief says. */
double adl_age_ratios_left_us(const struct adl_age_ratios *ratios, const struct adl_belief *belief, uint32_t slot,
                              double done_us, double longest_us, double rank);

#endif
