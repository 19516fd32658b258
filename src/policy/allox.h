/* allox: what the policy of that name tells about itself. */
#ifndef ADLRO_POLICY_ALLOX_H
#define ADLRO_POLICY_ALLOX_H

#include "policy/policy.h"

/* One-GPU jobs in one matching; beyond that the ones with the least remaining time are matched and the rest wait. */
#define ADL_ALLOX_WINDOW 64

struct adl_allox_counts {
    uint64_t matchings;
    uint64_t windowed; /* of these, with more jobs waiting than the window holds */
};

const struct adl_allox_counts *adl_allox_counts(const void *policy);

#endif
