/* policy_choice: which policies stand in a comparison: policies of the program and of plugins, and variants of them,
 * each with the options that were set for it. */
#ifndef ADLRO_EXPERIMENT_POLICY_CHOICE_H
#define ADLRO_EXPERIMENT_POLICY_CHOICE_H

#include "policy/policy.h"

#define ADL_POLICY_CHOICES_MAX 32

struct adl_policy_request {
    const char *option; /* "--policies", for messages */
    const char *list;   /* "fcfs,sjf-strict" */
    uint32_t most;
    const struct adl_scenario *scenario; /* has the cluster, and variants */
    const struct adl_variant *variants;  /* more of them */
    uint32_t variant_count;
    const char *const *sets; /* "[POLICY.]OPTION=VALUE" */
    uint32_t set_count;
    const struct adl_policy_ops *const *plugins;
    uint32_t plugin_count;
};

/* Points into itself and into the request: stays where it was made. */
struct adl_policy_choices {
    const struct adl_policy_ops *policies[ADL_POLICY_CHOICES_MAX];
    uint32_t count;
    struct adl_policy_ops copies[ADL_POLICY_CHOICES_MAX]; /* of those that have settings or a name of their own */
    char *settings[ADL_POLICY_CHOICES_MAX];
};

/* What is set for a variant wins over what it says itself, that over what is set for its policy, that over what is set
 * for all, and that over what the scenario says. */
int adl_policy_choices_make(const struct adl_policy_request *request, struct adl_policy_choices *ret,
                            struct adl_error *err);
void adl_policy_choices_clear(struct adl_policy_choices *choices); /* accepts a zeroed one */

#endif
