/* options: what the policy gogh can be told. */
#ifndef ADLRO_POLICY_GOGH_OPTIONS_H
#define ADLRO_POLICY_GOGH_OPTIONS_H

#include "policy/option.h"

#define ADL_POWER_CAPS_MAX 4

struct adl_gogh_options {
    double worth_w;                     /* what a second of progress at best speed is worth, for each GPU, in J */
    double sla_w;                       /* what missing an SLA costs meanwhile, for each GPU of the job, in W */
    double power_limit_w;               /* plans keep the draw of all GPUs below; 0 = no limit */
    struct adl_policy_reals power_caps; /* shares of a type's max_w that GPUs may be held to */
    int64_t solver_nodes;               /* nodes that the exact solver may look at in each decision */
    bool greedy;                        /* the exact solver is never asked */
    bool stay;                          /* running jobs are never moved */
    bool share;
};

#endif
