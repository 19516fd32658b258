#include "cli/choices.h"

#include "scenario/scenario.h"

#include <string.h>

int adl_cli_plugins_load(const struct adl_option_list *paths, struct adl_cli_plugins *ret, struct adl_error *err)
{
    int status = 0;
    *ret = (struct adl_cli_plugins){0};
    for (uint32_t i = 0; i < paths->count && status == 0; i++) {
        status = adl_policy_plugin_load(paths->items[i], &ret->loaded[i], err);
        if (status)
            break;
        ret->policies[i] = adl_policy_plugin_ops(ret->loaded[i]);
        ret->count++;
        for (uint32_t j = 0; j < i && status == 0; j++)
            if (strcmp(ret->policies[j]->name, ret->policies[i]->name) == 0)
                status = adl_fail(err, ADL_EINVAL, "--policy-plugin %.150s: another plugin has a policy '%s' too",
                                  paths->items[i], ret->policies[i]->name);
    }
    if (status)
        adl_cli_plugins_unload(ret);
    return status;
}

void adl_cli_plugins_unload(struct adl_cli_plugins *plugins)
{
    for (uint32_t i = 0; i < plugins->count; i++)
        adl_policy_plugin_unload(plugins->loaded[i]);
    *plugins = (struct adl_cli_plugins){0};
}

int adl_cli_choices_make(const struct adl_choice_options *options, const char *list, uint32_t most,
                         struct adl_scenario *scenario, struct adl_cli_choices *ret, struct adl_error *err)
{
    *ret = (struct adl_cli_choices){0};
    int status = adl_cli_plugins_load(&options->plugins, &ret->plugins, err);
    if (status == 0 && options->variants)
        status = adl_variants_load(options->variants, scenario, &ret->variants, &ret->variant_count, err);
    const struct adl_policy_request request = {.option = most == 1 ? "--policy" : "--policies",
                                               .list = list,
                                               .most = most,
                                               .scenario = scenario,
                                               .variants = ret->variants,
                                               .variant_count = ret->variant_count,
                                               .sets = options->sets.items,
                                               .set_count = options->sets.count,
                                               .plugins = ret->plugins.policies,
                                               .plugin_count = ret->plugins.count};
    if (status == 0)
        status = adl_policy_choices_make(&request, &ret->choices, err);
    if (status)
        adl_cli_choices_clear(ret);
    return status;
}

void adl_cli_choices_clear(struct adl_cli_choices *choices)
{
    adl_policy_choices_clear(&choices->choices);
    adl_variants_clear(choices->variants, choices->variant_count);
    adl_cli_plugins_unload(&choices->plugins);
    *choices = (struct adl_cli_choices){0};
}
