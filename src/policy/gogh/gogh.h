/* gogh: counters of the policy's work. */
#ifndef ADLRO_POLICY_GOGH_GOGH_H
#define ADLRO_POLICY_GOGH_GOGH_H

#include "policy/gogh/ilp_model.h"

/* policy: created by adl_policy_gogh. */
struct adl_ilp_model_counts adl_gogh_counts(const void *policy);

#endif
