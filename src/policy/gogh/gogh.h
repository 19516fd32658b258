/* gogh: what its policy tells of its work. */
#ifndef ADLRO_POLICY_GOGH_GOGH_H
#define ADLRO_POLICY_GOGH_GOGH_H

#include "policy/gogh/ilp_model.h"

/* policy: one that adl_policy_gogh made. */
struct adl_ilp_model_counts adl_gogh_counts(const void *policy);

#endif
