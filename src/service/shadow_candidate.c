#include "service/shadow_candidate.h"

#include "experiment/run.h"
#include "policy/policy.h"
#include "rl/model_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each line has a name and a value that fit. */
static int check_options(const struct adl_policy_ops *ops, const char *options, const struct adl_cluster *cluster,
                         struct adl_error *err)
{
    char reason[ADL_POLICY_REASON_SIZE], name[ADL_NAME_SIZE], value[ADL_POLICY_VALUE_SIZE];
    for (const char *at = options; *at;) {
        const size_t length = strcspn(at, "\n"), split = strcspn(at, "=\n");
        if (split == length || split >= sizeof name || length - split > sizeof value)
            return adl_fail(err, ADL_EINVAL, "'%.60s' is not OPTION=VALUE", at);
        snprintf(name, sizeof name, "%.*s", (int)split, at);
        snprintf(value, sizeof value, "%.*s", (int)(length - split - 1), at + split + 1);
        const struct adl_policy_option *option = adl_policy_option_find(ops, name);
        if (!option)
            return adl_fail(err, ADL_EINVAL, "policy %s has no option %s (`adlro policies %s` lists them)", ops->name,
                            name, ops->name);
        if (!adl_policy_option_check(option, value, cluster, reason))
            return adl_fail(err, ADL_EINVAL, "policy %s: %s %.300s", ops->name, name, reason);
        at += length + (at[length] == '\n');
    }
    return 0;
}

/* The configured options, then the candidate's: the last of equal ones wins. */
static char *join_settings(const char *configured, const char *options)
{
    const size_t size = strlen(configured) + strlen(options) + 2, at = strlen(configured);
    char *settings = malloc(size);
    if (settings)
        snprintf(settings, size, "%s%s%s", configured, at > 0 && configured[at - 1] != '\n' ? "\n" : "", options);
    return settings;
}

/* Such a policy can be created. */
static int try_policy(const struct adl_scenario *scenario, const struct adl_policy_ops *ops, const char *settings,
                      const void *model, size_t model_size, struct adl_error *err)
{
    struct adl_policy_config config = adl_run_policy_config(scenario);
    void *policy = NULL;
    config.settings = settings;
    config.model = model ? model : config.model;
    config.model_size = model ? model_size : config.model_size;
    const int status = adl_policy_create(ops, &config, &scenario->cluster, 1, &policy, err);
    if (status)
        return status == ADL_ENOMEM ? status : ADL_EINVAL;
    ops->destroy(policy);
    return 0;
}

static int find_policy(const char *name, const struct adl_policy_ops **ret, struct adl_error *err)
{
    *ret = adl_policy_find(name);
    if (!*ret)
        return adl_fail(err, ADL_EINVAL, "there is no policy '%.47s' (`adlro policies` lists them)", name);
    if (!(*ret)->copy)
        return adl_fail(err, ADL_EINVAL, "policy %s cannot be copied, so that it cannot shadow", name);
    return 0;
}

int adl_shadow_candidate_read(const struct adl_shadow_candidate *candidate, const struct adl_scenario *scenario,
                              struct adl_shadow_policy *ret, struct adl_error *err)
{
    struct adl_error inner = {.text = ""};
    struct adl_shadow_policy read = {0};
    int status = find_policy(candidate->policy, &read.ops, err);
    if (status == 0)
        status = check_options(read.ops, candidate->options, &scenario->cluster, err);
    if (status == 0 && candidate->model[0] &&
        adl_model_store_read_bytes(candidate->model, &read.model, &read.model_size, &inner))
        status = adl_fail(err, ADL_EINVAL, "model: %.300s", inner.text);
    if (status)
        return status;
    read.settings = join_settings(scenario->policy.settings ? scenario->policy.settings : "", candidate->options);
    status = read.settings ? try_policy(scenario, read.ops, read.settings, read.model, read.model_size, err)
                           : adl_fail(err, ADL_ENOMEM, "out of memory for a candidate");
    if (status)
        adl_shadow_policy_clear(&read);
    else
        *ret = read;
    return status;
}

void adl_shadow_policy_clear(struct adl_shadow_policy *policy)
{
    free(policy->settings);
    free(policy->model);
    *policy = (struct adl_shadow_policy){0};
}
