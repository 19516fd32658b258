/* gavel: what the policies of that name tell about themselves. */
#ifndef ADLRO_POLICY_GAVEL_H
#define ADLRO_POLICY_GAVEL_H

#include "policy/policy.h"

struct adl_gavel_counts {
    uint64_t programs;   /* linear programs solved */
    uint64_t iterations; /* of the solver, in all of them */
    uint64_t coarsened;  /* programs in which jobs that differ were taken as alike because there were too many kinds */
    uint64_t unsolved;   /* programs that gave no optimum: every job got the same share of each type instead */
};

const struct adl_gavel_counts *adl_gavel_counts(const void *policy);

#endif
