/* options: the options of the policy gogh. */
#ifndef ADLRO_POLICY_GOGH_OPTIONS_H
#define ADLRO_POLICY_GOGH_OPTIONS_H

#include "policy/option.h"

#define ADL_POWER_CAPS_MAX 4

struct adl_gogh_options {
    double worth_w;                     /* value of a second of progress at best speed, per GPU, in J */
    double sla_w;                       /* penalty while an SLA is missed, per GPU of the job, in W */
    double power_limit_w;               /* plans keep the draw of all GPUs below this; 0 = no limit */
    struct adl_policy_reals power_caps; /* permitted power caps, as shares of a type's max_w */
    int64_t solver_nodes;               /* most nodes of the exact solver in each decision */
    bool greedy;                        /* never use the exact solver */
    bool stay;                          /* running jobs are never moved */
    bool share;
};

#endif
