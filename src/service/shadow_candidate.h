/* shadow candidate: the policy that is to shadow, as an administrator names it, and as it is read. */
#ifndef ADLRO_SERVICE_SHADOW_CANDIDATE_H
#define ADLRO_SERVICE_SHADOW_CANDIDATE_H

#include "base/error.h"
#include "model/scenario.h"

#include <stdbool.h>

/* A candidate: a policy with options. */
struct adl_shadow_candidate {
    char policy[48];
    char options[512]; /* lines of OPTION=VALUE, beside those of the configuration */
    char model[512];   /* file of a trained network; "": the configured one */
    double days;       /* over which a gain has to be shown */
    bool automatic;    /* it is promoted by itself as soon as the gate opens */
};

struct adl_shadow_policy {
    const struct adl_policy_ops *ops; /* NULL: there is none */
    char *settings;                   /* lines of OPTION=VALUE: the configured ones, then the candidate's */
    char *model;                      /* NULL: the configured one */
    size_t model_size;
};

/* ADL_EINVAL and the reason if there is no such policy, option or model, or if it cannot be copied. */
int adl_shadow_candidate_read(const struct adl_shadow_candidate *candidate, const struct adl_scenario *scenario,
                              struct adl_shadow_policy *ret, struct adl_error *err);
void adl_shadow_policy_clear(struct adl_shadow_policy *policy); /* accepts a zeroed one */

#endif
