/* config_power: power caps and limits of the service's configuration. */
#include "base/suggest.h"
#include "policy/policy.h"
#include "service/config_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct power_reader {
    struct adl_yaml *yaml;
    const struct service_form *form;
    const struct adl_service_config *config;
    struct adl_error *err;
};

/* "08:00" as minutes; negative: it is no such time. */
static int32_t read_time(const char *text)
{
    unsigned hour = 0, minute = 0;
    int length = 0;
    return sscanf(text, "%2u:%2u%n", &hour, &minute, &length) == 2 && text[length] == '\0' && strlen(text) == 5 &&
                   hour < 24 && minute < 60
               ? (int32_t)(60 * hour + minute)
               : -1;
}

static int read_limits(const struct power_reader *reader, struct adl_power_schedule *ret)
{
    const struct form_limit *forms = reader->form->power.limits.items;
    for (uint32_t i = 0; i < reader->form->power.limits.count; i++) {
        const int32_t minute = read_time(forms[i].time.text);
        char quoted[ADL_QUOTE_SIZE];
        if (minute < 0)
            return adl_yaml_fail(reader->yaml, forms[i].time.line, reader->err,
                                 "power.limits[%u].at: %s is no time of the day like '08:00', in quotes", (unsigned)i,
                                 adl_quote(forms[i].time.text, quoted));
        if (i > 0 && minute <= ret->entries[i - 1].minute)
            return adl_yaml_fail(reader->yaml, forms[i].time.line, reader->err,
                                 "power.limits[%u].at must be later than the one before it", (unsigned)i);
        ret->entries[ret->count].minute = minute;
        ret->entries[ret->count++].limit_w = forms[i].limit_w;
    }
    const uint32_t line = adl_yaml_line(adl_yaml_root(reader->yaml), "power");
    if (ret->count > 0 && !reader->config->policy->limits_power)
        return adl_yaml_fail(reader->yaml, line, reader->err, "power.limits: policy %s cannot follow them; gogh can",
                             reader->config->policy->name);
    if (ret->count > 0 && reader->config->inventory.scenario.power_limit_count > 0)
        return adl_yaml_fail(reader->yaml, line, reader->err,
                             "power.limits: the scenario has a power_limit of its own");
    return 0;
}

static int read_helper(const struct power_reader *reader, struct adl_power_config *ret)
{
    const struct form_power *form = &reader->form->power;
    struct stat about;
    int status = adl_service_config_path(reader->yaml, &form->helper, &ret->helper, reader->err);
    status = status ? status : adl_service_config_path(reader->yaml, &form->allow, &ret->allow, reader->err);
    if (status || !ret->helper)
        return status;
    if (reader->form->engine != ADL_ENGINE_LOCAL || reader->config->inventory.virtual)
        return adl_yaml_fail(reader->yaml, form->helper.line, reader->err,
                             "power.helper is for GPUs of this machine (engine local, no virtual slots)");
    if (stat(ret->helper, &about) || (!S_ISSOCK(about.st_mode) && access(ret->helper, X_OK)))
        return adl_yaml_fail(reader->yaml, form->helper.line, reader->err,
                             "power.helper: %.150s is neither a program nor a socket", ret->helper);
    if (!S_ISSOCK(about.st_mode) && !ret->allow)
        return adl_yaml_fail(reader->yaml, form->helper.line, reader->err,
                             "power.helper: a program needs 'power.allow', its allow list");
    return 0;
}

/* Caps that the policy may use have to take effect somewhere. */
static int read_caps(const struct power_reader *reader, struct adl_power_config *ret)
{
    const struct adl_yaml_node *policy = adl_yaml_value(adl_yaml_root(reader->yaml), "policy");
    const struct adl_yaml_node *caps = adl_yaml_value(policy, "power_caps");
    if (!caps)
        return 0;
    for (const struct adl_yaml_node *at = caps->first; at && ret->cap_count < 8; at = at->next)
        ret->caps[ret->cap_count++] = strtod(at->text ? at->text : "0", NULL);
    if (reader->form->engine == ADL_ENGINE_SLURM)
        return adl_yaml_fail(reader->yaml, caps->line, reader->err,
                             "policy.power_caps: power limits cannot be set through Slurm");
    if (reader->form->engine == ADL_ENGINE_LOCAL && reader->config->inventory.virtual)
        return adl_yaml_fail(reader->yaml, caps->line, reader->err,
                             "policy.power_caps: virtual slots have no power that could be limited");
    if (reader->form->engine == ADL_ENGINE_LOCAL && !ret->helper)
        return adl_yaml_fail(reader->yaml, caps->line, reader->err,
                             "policy.power_caps would have no effect: setting power limits needs a helper with that "
                             "privilege ('power.helper', docs/power.md)");
    return 0;
}

int adl_service_config_power(struct adl_yaml *yaml, const struct service_form *form,
                             const struct adl_service_config *config, struct adl_power_config *ret,
                             struct adl_error *err)
{
    const struct power_reader reader = {yaml, form, config, err};
    struct adl_power_config power = {.helper = NULL};
    int status = read_limits(&reader, &power.schedule);
    status = status ? status : read_helper(&reader, &power);
    status = status ? status : read_caps(&reader, &power);
    if (status == 0 && config->inventory.scenario.power_limit_count > 0 && !config->policy->limits_power)
        status = adl_yaml_fail(yaml, form->scenario.line, err,
                               "scenario: policy %s cannot follow its power_limit; gogh can", config->policy->name);
    if (status == 0)
        *ret = power;
    return status;
}
