#include "cli/choices.h"

#include "scenario/scenario.h"

int adl_cli_choices_make(const struct adl_choice_options *options, const char *list, uint32_t most,
                         struct adl_scenario *scenario, struct adl_cli_choices *ret, struct adl_error *err)
{
    *ret = (struct adl_cli_choices){0};
    int status = options->variants
                     ? adl_variants_load(options->variants, scenario, &ret->variants, &ret->variant_count, err)
                     : 0;
    const struct adl_policy_request request = {.option = most == 1 ? "--policy" : "--policies",
                                               .list = list,
                                               .most = most,
                                               .scenario = scenario,
                                               .variants = ret->variants,
                                               .variant_count = ret->variant_count,
                                               .sets = options->sets.items,
                                               .set_count = options->sets.count};
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
    *choices = (struct adl_cli_choices){0};
}
