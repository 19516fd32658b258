#include "experiment/policy_choice.h"

#include "base/suggest.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static const struct adl_policy_ops *find_policy(const struct adl_policy_request *request, const char *name)
{
    for (uint32_t i = 0; i < request->plugin_count; i++)
        if (strcmp(request->plugins[i]->name, name) == 0)
            return request->plugins[i];
    return adl_policy_find(name);
}

static const struct adl_variant *variant_at(const struct adl_policy_request *request, uint32_t index)
{
    const uint32_t own = request->scenario->variant_count;
    if (index < own)
        return &request->scenario->variants[index];
    return index - own < request->variant_count ? &request->variants[index - own] : NULL;
}

static const struct adl_variant *find_variant(const struct adl_policy_request *request, const char *name)
{
    const struct adl_variant *variant;
    for (uint32_t i = 0; (variant = variant_at(request, i)); i++)
        if (strcmp(variant->name, name) == 0)
            return variant;
    return NULL;
}

static int unknown_policy(const struct adl_policy_request *request, const char *name, struct adl_error *err)
{
    struct adl_suggest suggest = {.word = name};
    char phrase[ADL_PHRASE_SIZE], quoted[ADL_QUOTE_SIZE];
    const struct adl_variant *variant;
    for (uint32_t i = 0; i < adl_policy_count(); i++)
        adl_suggest_offer(&suggest, adl_policy_at(i)->name);
    for (uint32_t i = 0; i < request->plugin_count; i++)
        adl_suggest_offer(&suggest, request->plugins[i]->name);
    for (uint32_t i = 0; (variant = variant_at(request, i)); i++)
        adl_suggest_offer(&suggest, variant->name);
    return adl_fail(err, ADL_EINVAL, "there is no policy %s%s (`adlro policies` lists them)", adl_quote(name, quoted),
                    adl_suggest_phrase(&suggest, phrase));
}

/* ---- settings ---- */

struct set {
    char policy[ADL_NAME_SIZE]; /* empty: for all */
    char name[ADL_NAME_SIZE];
    const char *value;
};

static int read_set(const char *text, struct set *ret, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    const char *equals = strchr(text, '='), *name = text, *dot = NULL;
    for (const char *at = text; equals && at < equals; at++)
        dot = *at == '.' ? at : dot;
    if (dot)
        name = dot + 1;
    const size_t length = equals ? (size_t)(equals - name) : 0, owner = dot ? (size_t)(dot - text) : 0;
    if (length == 0 || (dot && owner == 0) || length >= ADL_NAME_SIZE || owner >= ADL_NAME_SIZE ||
        strlen(equals) > ADL_POLICY_VALUE_SIZE || strpbrk(equals, "\r\n"))
        return adl_fail(err, ADL_EINVAL, "--set must be [POLICY.]OPTION=VALUE, got %s", adl_quote(text, quoted));
    snprintf(ret->policy, sizeof ret->policy, "%.*s", (int)owner, text);
    snprintf(ret->name, sizeof ret->name, "%.*s", (int)length, name);
    ret->value = equals + 1;
    return 0;
}

static int unknown_option(const struct adl_policy_ops *ops, const char *name, struct adl_error *err)
{
    char known[200] = "", quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    struct adl_suggest suggest = {.word = name};
    for (uint32_t i = 0; i < adl_policy_option_count(ops); i++) {
        adl_list_append(known, sizeof known, adl_policy_option_at(ops, i)->name);
        adl_suggest_offer(&suggest, adl_policy_option_at(ops, i)->name);
    }
    return adl_fail(err, ADL_EINVAL, "policy %s has no option %s%s (options: %s)", ops->name, adl_quote(name, quoted),
                    adl_suggest_phrase(&suggest, phrase), known);
}

/* Adds a setting if the policy has the option and takes the value. *ret_used tells whether it has. */
static int add_setting(const struct adl_policy_request *request, const struct adl_policy_ops *ops, const char *name,
                       const char *value, struct adl_text *text, bool *ret_used, struct adl_error *err)
{
    char reason[ADL_POLICY_REASON_SIZE];
    const struct adl_policy_option *option = adl_policy_option_find(ops, name);
    *ret_used = option != NULL;
    if (!option)
        return 0;
    if (!adl_policy_option_check(option, value, &request->scenario->cluster, reason))
        return adl_fail(err, ADL_EINVAL, "policy %s: %s%s%s", ops->name, name, reason[0] == '[' ? "" : " ", reason);
    adl_text_printf(text, "%s=%s\n", name, value);
    return 0;
}

/* The settings for one owner: "" = for all. */
static int add_sets(const struct adl_policy_request *request, const struct adl_policy_ops *ops, const char *owner,
                    struct adl_text *text, struct adl_error *err)
{
    int status = 0;
    for (uint32_t i = 0; i < request->set_count && status == 0; i++) {
        struct set set = {.value = ""};
        bool used = false;
        status = read_set(request->sets[i], &set, err);
        if (status == 0 && strcmp(set.policy, owner) == 0) {
            status = add_setting(request, ops, set.name, set.value, text, &used, err);
            if (status == 0 && !used && *owner)
                status = unknown_option(ops, set.name, err);
        }
    }
    return status;
}

static int add_variant(const struct adl_policy_request *request, const struct adl_policy_ops *ops,
                       const struct adl_variant *variant, struct adl_text *text, struct adl_error *err)
{
    struct adl_policy_setting setting;
    struct adl_error inner = {{0}};
    int status = 0;
    for (const char *at = variant->settings; status == 0 && (at = adl_policy_setting_next(at, &setting));) {
        bool used = false;
        status = add_setting(request, ops, setting.name, setting.value, text, &used, &inner);
        if (status == 0 && !used)
            status = unknown_option(ops, setting.name, &inner);
    }
    return status ? adl_fail(err, status, "variant %s (line %u): %s", variant->name, variant->line, inner.text) : 0;
}

/* ---- choices ---- */

static int choose(const struct adl_policy_request *request, const char *name, struct adl_policy_choices *ret,
                  struct adl_error *err)
{
    const struct adl_variant *variant = find_variant(request, name);
    const struct adl_policy_ops *ops = find_policy(request, variant ? variant->policy : name);
    struct adl_text text = {0};
    if (!ops)
        return unknown_policy(request, variant ? variant->policy : name, err);
    for (uint32_t i = 0; i < ret->count; i++)
        if (strcmp(ret->policies[i]->name, name) == 0)
            return adl_fail(err, ADL_EINVAL, "policy '%s' is listed twice", name);
    int status = add_sets(request, ops, "", &text, err);
    if (ops->variant_of) {
        status = status ? status : add_sets(request, ops, ops->variant_of, &text, err);
        if (text.size > 0)
            adl_text_put(&text, ops->settings);
    }
    status = status ? status : add_sets(request, ops, ops->name, &text, err);
    if (variant) {
        status = status ? status : add_variant(request, ops, variant, &text, err);
        status = status ? status : add_sets(request, ops, variant->name, &text, err);
    }
    if (status == 0 && adl_text_status(&text))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for the options of policies");
    if (status) {
        adl_text_clear(&text);
        return status;
    }
    struct adl_policy_ops *copy = &ret->copies[ret->count];
    *copy = *ops;
    copy->settings = ret->settings[ret->count] = text.data;
    copy->name = variant ? variant->name : ops->name;
    copy->variant_of = variant ? ops->name : ops->variant_of;
    ret->policies[ret->count++] = variant || text.data ? copy : ops;
    return 0;
}

static bool concerns(const struct adl_policy_ops *ops, const struct set *set)
{
    if (!*set->policy)
        return adl_policy_option_find(ops, set->name) != NULL;
    return strcmp(ops->name, set->policy) == 0 || (ops->variant_of && strcmp(ops->variant_of, set->policy) == 0);
}

/* What was set has to reach a policy of the run. */
static int check_sets(const struct adl_policy_request *request, const struct adl_policy_choices *choices,
                      struct adl_error *err)
{
    char known[160] = "", quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    for (uint32_t i = 0; i < request->set_count; i++) {
        struct set set = {.value = ""};
        bool used = false;
        const int status = read_set(request->sets[i], &set, err);
        if (status)
            return status;
        for (uint32_t p = 0; p < choices->count && !used; p++)
            used = concerns(choices->policies[p], &set);
        if (used)
            continue;
        if (*set.policy && !find_policy(request, set.policy) && !find_variant(request, set.policy))
            return unknown_policy(request, set.policy, err);
        struct adl_suggest suggest = {.word = set.name};
        for (uint32_t p = 0; p < choices->count; p++) {
            adl_list_append(known, sizeof known, choices->policies[p]->name);
            for (uint32_t o = 0; !*set.policy && o < adl_policy_option_count(choices->policies[p]); o++)
                adl_suggest_offer(&suggest, adl_policy_option_at(choices->policies[p], o)->name);
        }
        if (*set.policy)
            return adl_fail(err, ADL_EINVAL, "--set %s: policy '%s' is not part of this run (policies: %s)",
                            adl_quote(request->sets[i], quoted), set.policy, known);
        return adl_fail(err, ADL_EINVAL,
                        "no policy of this run has an option %s%s (policies: %s; `adlro policies NAME` lists a "
                        "policy's options)",
                        adl_quote(set.name, quoted), adl_suggest_phrase(&suggest, phrase), known);
    }
    return 0;
}

/* Variants of a file must not hide those of the scenario, nor policies of plugins. */
static int check_variants(const struct adl_policy_request *request, struct adl_error *err)
{
    const struct adl_variant *variant;
    for (uint32_t i = 0; (variant = variant_at(request, i)); i++)
        if (find_variant(request, variant->name) != variant || find_policy(request, variant->name))
            return adl_fail(err, ADL_EINVAL, "variant %s (line %u): another variant or a policy has this name",
                            variant->name, variant->line);
    return 0;
}

int adl_policy_choices_make(const struct adl_policy_request *request, struct adl_policy_choices *ret,
                            struct adl_error *err)
{
    int status = check_variants(request, err);
    *ret = (struct adl_policy_choices){0};
    for (const char *at = request->list; at && status == 0; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[ADL_NAME_SIZE];
        const size_t length = strcspn(at, ",");
        if (length == 0)
            status = adl_fail(err, ADL_EINVAL, "%s must be %s, got '%s'", request->option,
                              request->most == 1 ? "a name" : "names separated by commas", request->list);
        else if (ret->count == request->most)
            status = adl_fail(err, ADL_EINVAL, "%s takes at most %u, got '%s'", request->option, request->most,
                              request->list);
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), at);
        status = status ? status : choose(request, name, ret, err);
    }
    status = status ? status : check_sets(request, ret, err);
    if (status)
        adl_policy_choices_clear(ret);
    return status;
}

void adl_policy_choices_clear(struct adl_policy_choices *choices)
{
    for (uint32_t i = 0; i < ADL_POLICY_CHOICES_MAX; i++)
        free(choices->settings[i]);
    *choices = (struct adl_policy_choices){0};
}
