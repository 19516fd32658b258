/* gogh: what its policy tells of its work. */
#ifndef ADLRO_DECIDE_GOGH_H
#define ADLRO_DECIDE_GOGH_H

#include "decide/program.h"

/* policy: one that adl_policy_gogh made. */
struct adl_program_counts adl_gogh_counts(const void *policy);

#endif
