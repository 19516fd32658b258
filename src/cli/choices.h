/* choices: which policies run, and with which options: the command-line options shared by compare, simulate and replay.
 */
#ifndef ADLRO_CLI_CHOICES_H
#define ADLRO_CLI_CHOICES_H

#include "base/options.h"
#include "experiment/policy_choice.h"
#include "experiment/policy_plugin.h"

struct adl_choice_options {
    struct adl_option_list sets;
    const char *variants;
    struct adl_option_list plugins;
};

#define ADL_SET_HELP                                                                                                   \
    "an option of a policy, [POLICY.]OPTION=VALUE; without POLICY for all that have it; may be repeated"
#define ADL_VARIANTS_HELP "YAML with variants: policies with options and a name of their own, chosen by that name"

#define ADL_PLUGIN_HELP "a policy of your own: a shared object (adlro/policy.h) or a program (.py); may be repeated"

/* Rows of a verb's table; member is a struct adl_choice_options of the verb's struct. */
#define ADL_CHOICE_ROWS(type, member, set_help, variants_help)                                                         \
    ADL_CHOICE_ROW(type, member, "set", ADL_OPTION_LIST, sets, "SETTING", set_help),                                   \
        ADL_CHOICE_ROW(type, member, "variants", ADL_OPTION_TEXT, variants, "FILE", variants_help),                    \
        ADL_CHOICE_ROW(type, member, "policy-plugin", ADL_OPTION_LIST, plugins, "FILE", ADL_PLUGIN_HELP)
#define ADL_CHOICE_ROW(type, member, name, kind, field, value, help)                                                   \
    {                                                                                                                  \
        name, 0, kind, offsetof(type, member) + offsetof(struct adl_choice_options, field), 0, 0, NULL, value, help    \
    }

struct adl_cli_plugins {
    struct adl_policy_plugin *loaded[ADL_OPTION_LIST_MAX];
    const struct adl_policy_ops *policies[ADL_OPTION_LIST_MAX];
    uint32_t count;
};

int adl_cli_plugins_load(const struct adl_option_list *paths, struct adl_cli_plugins *ret, struct adl_error *err);
void adl_cli_plugins_unload(struct adl_cli_plugins *plugins); /* accepts a zeroed one */

/* The choices and what they point to: stays where it was made. */
struct adl_cli_choices {
    struct adl_policy_choices choices;
    struct adl_variant *variants;
    uint32_t variant_count;
    struct adl_cli_plugins plugins;
};

/* Of a scenario that was loaded; most = 1 for --policy. */
int adl_cli_choices_make(const struct adl_choice_options *options, const char *list, uint32_t most,
                         struct adl_scenario *scenario, struct adl_cli_choices *ret, struct adl_error *err);
void adl_cli_choices_clear(struct adl_cli_choices *choices); /* accepts a zeroed one */

#endif
