/* choices: the options that say which policies run and what they are told, shared by compare, simulate and replay. */
#ifndef ADLRO_CLI_CHOICES_H
#define ADLRO_CLI_CHOICES_H

#include "base/options.h"
#include "experiment/policy_choice.h"

struct adl_choice_options {
    struct adl_option_list sets;
    const char *variants;
};

#define ADL_SET_HELP                                                                                                   \
    "an option of a policy, [POLICY.]OPTION=VALUE; without POLICY for all that have it; may be repeated"
#define ADL_VARIANTS_HELP "YAML with variants: policies with options and a name of their own, for use with --policies"

/* Rows of a verb's table; member is a struct adl_choice_options of the verb's struct. */
#define ADL_CHOICE_ROWS(type, member, set_help, variants_help)                                                         \
    {"set", 0,         ADL_OPTION_LIST, offsetof(type, member) + offsetof(struct adl_choice_options, sets), 0, 0,      \
     NULL,  "SETTING", set_help},                                                                                      \
    {                                                                                                                  \
        "variants", 0, ADL_OPTION_TEXT, offsetof(type, member) + offsetof(struct adl_choice_options, variants), 0, 0,  \
            NULL, "FILE", variants_help                                                                                \
    }

/* The choices and what they point to: stays where it was made. */
struct adl_cli_choices {
    struct adl_policy_choices choices;
    struct adl_variant *variants;
    uint32_t variant_count;
};

/* Of a scenario that was loaded; most = 1 for --policy. */
int adl_cli_choices_make(const struct adl_choice_options *options, const char *list, uint32_t most,
                         struct adl_scenario *scenario, struct adl_cli_choices *ret, struct adl_error *err);
void adl_cli_choices_clear(struct adl_cli_choices *choices); /* accepts a zeroed one */

#endif
