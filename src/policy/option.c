#include "policy/option.h"

#include "base/suggest.h"
#include "policy/policy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const placement_words[] = {"best_fit", "consolidated", NULL};
_Static_assert(sizeof placement_words / sizeof *placement_words == ADL_PLACEMENT_CONSOLIDATED + 2,
               "a placement without a name");

/* Offsets are those of struct adl_policy_config. The last one is only for policies that rank by submission. */
static const struct adl_policy_option common[] = {
    {.name = "placement",
     .type = ADL_POLICY_WORD,
     .offset = offsetof(struct adl_policy_config, placement),
     .value = "best_fit",
     .words = placement_words,
     .help = "GPUs of a job: the fullest node that suffices and, across nodes, the emptiest first; `consolidated`: "
             "across nodes only whole empty nodes and one more for the rest"},
    {.name = "priority_s",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct adl_policy_config, priority_s),
     .value = "0",
     .range = {.min = 0, .max = 1e9},
     .help = "a job of priority 1 comes before those of priority 0 that were submitted up to this much earlier; in "
             "between in proportion"},
};

uint32_t adl_policy_option_count(const struct adl_policy_ops *ops)
{
    return ops->option_count + (ops->rank ? 1 : 2);
}

const struct adl_policy_option *adl_policy_option_at(const struct adl_policy_ops *ops, uint32_t index)
{
    return index < ops->option_count ? &ops->options[index] : &common[index - ops->option_count];
}

const struct adl_policy_option *adl_policy_option_find(const struct adl_policy_ops *ops, const char *name)
{
    for (uint32_t i = 0; i < adl_policy_option_count(ops); i++)
        if (strcmp(adl_policy_option_at(ops, i)->name, name) == 0)
            return adl_policy_option_at(ops, i);
    return NULL;
}

static bool is_common(const struct adl_policy_option *option)
{
    return option == &common[0] || option == &common[1];
}

/* ---- values ---- */

static bool read_bool(const char *text, void *place, char reason[ADL_POLICY_REASON_SIZE])
{
    char quoted[ADL_QUOTE_SIZE];
    const bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0) {
        snprintf(reason, ADL_POLICY_REASON_SIZE, "must be true or false, got %s", adl_quote(text, quoted));
        return false;
    }
    memcpy(place, &yes, sizeof yes);
    return true;
}

static bool read_integer(const struct adl_policy_option *option, const char *text, void *place,
                         char reason[ADL_POLICY_REASON_SIZE])
{
    int64_t value = 0;
    if (!adl_range_read_int(text, &option->range, &value, reason))
        return false;
    memcpy(place, &value, sizeof value);
    return true;
}

static bool read_real(const struct adl_policy_option *option, const char *text, void *place,
                      char reason[ADL_POLICY_REASON_SIZE])
{
    double value = 0;
    if (!adl_range_read_real(text, &option->range, &value, reason))
        return false;
    memcpy(place, &value, sizeof value);
    return true;
}

/* The index of the word; -1 and a reason if it is none of them. */
static int find_word(const char *const *words, const char *text, char reason[ADL_POLICY_REASON_SIZE])
{
    char known[160] = "", quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    struct adl_suggest suggest = {.word = text};
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0)
            return i;
        adl_suggest_offer(&suggest, words[i]);
        adl_list_append(known, sizeof known, words[i]);
    }
    snprintf(reason, ADL_POLICY_REASON_SIZE, "must be one of %s, got %s%s", known, adl_quote(text, quoted),
             adl_suggest_phrase(&suggest, phrase));
    return -1;
}

static bool read_word(const struct adl_policy_option *option, const char *text, void *place,
                      char reason[ADL_POLICY_REASON_SIZE])
{
    const int index = find_word(option->words, text, reason);
    if (index < 0)
        return false;
    memcpy(place, &index, sizeof index);
    return true;
}

static bool read_text(const char *text, void *place, char reason[ADL_POLICY_REASON_SIZE])
{
    if (strlen(text) >= ADL_POLICY_TEXT_SIZE) {
        snprintf(reason, ADL_POLICY_REASON_SIZE, "must have at most %d bytes, got %zu", ADL_POLICY_TEXT_SIZE - 1,
                 strlen(text));
        return false;
    }
    snprintf(place, ADL_POLICY_TEXT_SIZE, "%s", text);
    return true;
}

/* The part up to a separator, empty if it is too long to be one, and what follows it; NULL at the end. */
static const char *next_part(const char *at, const char *separators, char part[ADL_NAME_SIZE])
{
    const size_t length = strcspn(at, separators);
    snprintf(part, ADL_NAME_SIZE, "%.*s", (int)(length < ADL_NAME_SIZE ? length : 0), at);
    return at[length] ? at + length + 1 : NULL;
}

static uint32_t count_parts(const char *text)
{
    uint32_t parts = *text ? 1 : 0;
    for (; *text; text++)
        parts += *text == ',';
    return parts;
}

static bool read_reals(const struct adl_policy_option *option, const char *text, void *place,
                       char reason[ADL_POLICY_REASON_SIZE])
{
    struct adl_policy_reals reals = {.count = count_parts(text)};
    char why[ADL_REFUSAL_SIZE] = "must be above the one before it";
    if (reals.count > option->most || (reals.count == 0 && *option->value)) {
        snprintf(reason, ADL_POLICY_REASON_SIZE, "must have 1 to %u elements, got %u", option->most, reals.count);
        return false;
    }
    const char *at = text;
    for (uint32_t i = 0; i < reals.count; i++) {
        char part[ADL_NAME_SIZE];
        at = next_part(at, ",", part);
        const bool read = adl_range_read_real(part, &option->range, &reals.items[i], why);
        if (!read || (option->ascending && i > 0 && reals.items[i] <= reals.items[i - 1])) {
            snprintf(reason, ADL_POLICY_REASON_SIZE, "[%u] %s", i, why);
            return false;
        }
    }
    memcpy(place, &reals, sizeof reals);
    return true;
}

static bool read_types(const char *text, const struct adl_cluster *cluster, uint32_t *ret_types,
                       char reason[ADL_POLICY_REASON_SIZE])
{
    char name[ADL_NAME_SIZE], known[120] = "", quoted[ADL_QUOTE_SIZE];
    for (const char *at = text; at && *at && *at != ',';) {
        const size_t length = strcspn(at, "/,");
        next_part(at, "/,", name);
        at = at[length] == '/' ? at + length + 1 : NULL;
        const uint32_t type = adl_cluster_find_type(cluster, name);
        if (type != ADL_NONE) {
            *ret_types |= 1u << type;
            continue;
        }
        for (uint32_t t = 0; t < cluster->type_count; t++)
            adl_list_append(known, sizeof known, cluster->types[t].name);
        snprintf(reason, ADL_POLICY_REASON_SIZE, "names the GPU type %s, which no node has (types: %s)",
                 adl_quote(name, quoted), known);
        return false;
    }
    return true;
}

/* "KIND:TYPE/TYPE,KIND:TYPE" */
static bool read_affinity(const char *text, const struct adl_cluster *cluster, void *place,
                          char reason[ADL_POLICY_REASON_SIZE])
{
    struct adl_policy_affinity affinity;
    char kind_name[ADL_NAME_SIZE], quoted[ADL_QUOTE_SIZE];
    const char *kinds[ADL_KIND_COUNT + 1] = {0};
    for (int kind = 0; kind < ADL_KIND_COUNT; kind++) {
        kinds[kind] = adl_kind_names[kind];
        affinity.types[kind] = UINT32_MAX;
    }
    for (const char *at = *text ? text : NULL; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t length = strcspn(at, ":,");
        next_part(at, ":,", kind_name);
        if (at[length] != ':') {
            snprintf(reason, ADL_POLICY_REASON_SIZE, "must be KIND:TYPE/TYPE,KIND:TYPE ..., got %s",
                     adl_quote(text, quoted));
            return false;
        }
        const int kind = find_word(kinds, kind_name, reason);
        uint32_t types = 0;
        if (kind < 0 || !read_types(at + length + 1, cluster, &types, reason))
            return false;
        affinity.types[kind] = types;
    }
    memcpy(place, &affinity, sizeof affinity);
    return true;
}

bool adl_policy_option_read(const struct adl_policy_option *option, const char *text, const struct adl_cluster *cluster,
                            void *options, char reason[ADL_POLICY_REASON_SIZE])
{
    void *place = (char *)options + option->offset;
    switch (option->type) {
    case ADL_POLICY_BOOL:
        return read_bool(text, place, reason);
    case ADL_POLICY_INTEGER:
        return read_integer(option, text, place, reason);
    case ADL_POLICY_REAL:
        return read_real(option, text, place, reason);
    case ADL_POLICY_WORD:
        return read_word(option, text, place, reason);
    case ADL_POLICY_TEXT:
        return read_text(text, place, reason);
    case ADL_POLICY_REALS:
        return read_reals(option, text, place, reason);
    case ADL_POLICY_OBJECTIVE:
        return adl_objective_read(text, place, reason, ADL_POLICY_REASON_SIZE);
    default:
        return read_affinity(text, cluster, place, reason);
    }
}

bool adl_policy_option_check(const struct adl_policy_option *option, const char *text,
                             const struct adl_cluster *cluster, char reason[ADL_POLICY_REASON_SIZE])
{
    union adl_policy_value value;
    struct adl_policy_option alone = *option;
    alone.offset = 0;
    return adl_policy_option_read(&alone, text, cluster, &value, reason);
}

const char *adl_policy_option_describe(const struct adl_policy_option *option, char buffer[ADL_REFUSAL_SIZE])
{
    char bounds[ADL_REFUSAL_SIZE], words[160] = "";
    switch (option->type) {
    case ADL_POLICY_BOOL:
        snprintf(buffer, ADL_REFUSAL_SIZE, "true or false");
        break;
    case ADL_POLICY_INTEGER:
        snprintf(buffer, ADL_REFUSAL_SIZE, "whole number %.120s", adl_range_print(&option->range, bounds));
        break;
    case ADL_POLICY_REAL:
        snprintf(buffer, ADL_REFUSAL_SIZE, "number %.120s", adl_range_print(&option->range, bounds));
        break;
    case ADL_POLICY_WORD:
        for (int i = 0; option->words[i]; i++)
            adl_list_append(words, sizeof words, option->words[i]);
        snprintf(buffer, ADL_REFUSAL_SIZE, "one of %s", words);
        break;
    case ADL_POLICY_TEXT:
        snprintf(buffer, ADL_REFUSAL_SIZE, "text, at most %d bytes", ADL_POLICY_TEXT_SIZE - 1);
        break;
    case ADL_POLICY_REALS:
        snprintf(buffer, ADL_REFUSAL_SIZE, "list of 1 to %u %snumbers %.120s", option->most,
                 option->ascending ? "ascending " : "", adl_range_print(&option->range, bounds));
        break;
    case ADL_POLICY_OBJECTIVE:
        for (int i = 0; adl_objective_presets[i]; i++)
            adl_list_append(words, sizeof words, adl_objective_presets[i]);
        snprintf(buffer, ADL_REFUSAL_SIZE, "%.120s, or weights of mean, tail, energy, fairness", words);
        break;
    default:
        snprintf(buffer, ADL_REFUSAL_SIZE, "GPU types for kinds of jobs");
        break;
    }
    return buffer;
}

const char *adl_policy_option_default(const struct adl_policy_option *option)
{
    return option->value[0] ? option->value : option->type == ADL_POLICY_AFFINITY ? "all types" : "none";
}

/* ---- settings ---- */

bool adl_policy_option_changed(const struct adl_policy_ops *ops, uint32_t index, const char *settings,
                               struct adl_policy_setting *ret)
{
    const struct adl_policy_option *option = adl_policy_option_at(ops, index);
    const char *const texts[] = {settings, ops->settings};
    struct adl_policy_setting setting;
    bool changed = false;
    for (int i = 0; i < 2; i++)
        for (const char *at = texts[i]; (at = adl_policy_setting_next(at, &setting));)
            if (strcmp(setting.name, option->name) == 0) {
                changed = strcmp(setting.value, option->value) != 0;
                *ret = setting;
            }
    return changed;
}

const char *adl_policy_setting_next(const char *at, struct adl_policy_setting *ret)
{
    if (!at || !*at)
        return NULL;
    const size_t length = strcspn(at, "\n"), name = strcspn(at, "=\n");
    const size_t value = name < length ? length - name - 1 : 0;
    assert(name < length && name < sizeof ret->name && value < sizeof ret->value);
    snprintf(ret->name, sizeof ret->name, "%.*s", (int)name, at);
    snprintf(ret->value, sizeof ret->value, "%.*s", (int)value, at + name + 1);
    return at + length + (at[length] == '\n');
}

static int set(const struct adl_policy_ops *ops, const struct adl_policy_option *option, const char *text,
               struct adl_policy_config *config, const struct adl_cluster *cluster, void *options,
               struct adl_error *err)
{
    char reason[ADL_POLICY_REASON_SIZE];
    void *target = is_common(option) ? (void *)config : options;
    if (adl_policy_option_read(option, text, cluster, target, reason))
        return 0;
    return adl_fail(err, ADL_EINVAL, "policy %s: %s%s%s", ops->name, option->name, strchr("[.", reason[0]) ? "" : " ",
                    reason);
}

int adl_policy_options_fill(const struct adl_policy_ops *ops, struct adl_policy_config *config,
                            const struct adl_cluster *cluster, void *ret_options, struct adl_error *err)
{
    const char *const settings[] = {config->settings, ops->settings};
    struct adl_policy_setting setting;
    int status = 0;
    config->placement = ADL_PLACEMENT_BEST_FIT;
    config->priority_s = 0;
    for (uint32_t i = 0; i < ops->option_count && status == 0; i++)
        status = set(ops, &ops->options[i], ops->options[i].value, config, cluster, ret_options, err);
    for (int s = 0; s < 2; s++)
        for (const char *at = settings[s]; status == 0 && (at = adl_policy_setting_next(at, &setting));) {
            const struct adl_policy_option *option = adl_policy_option_find(ops, setting.name);
            if (option)
                status = set(ops, option, setting.value, config, cluster, ret_options, err);
        }
    return status;
}

int adl_policy_create(const struct adl_policy_ops *ops, struct adl_policy_config *config,
                      const struct adl_cluster *cluster, uint64_t seed, void **ret_policy, struct adl_error *err)
{
    void *options = ops->options_size ? calloc(1, ops->options_size) : NULL;
    if (ops->options_size && !options)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy %s", ops->name);
    int status = adl_policy_options_fill(ops, config, cluster, options, err);
    config->ops = ops;
    config->options = options;
    if (status == 0)
        status = ops->create(config, cluster, seed, ret_policy, err);
    config->options = NULL;
    free(options);
    return status;
}
