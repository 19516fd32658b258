/* scenario_policy: options of policies and the software updates. What a file says of an option is checked against the
 * tables of all policies that have it, and kept as text: policy/option.h. */
#include "base/suggest.h"
#include "base/text.h"
#include "policy/policy.h"
#include "scenario/scenario_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHERE_SIZE 120

struct form_affinity {
    const struct adl_yaml_node *at;
    int kind;
    struct adl_yaml_list types; /* struct adl_yaml_link */
};

#define AFFINITY(member) ADL_YAML_AT(struct form_affinity, member)
static const struct adl_yaml_field affinity_fields[] = {
    {"kind", ADL_YAML_NAME, AFFINITY(kind), .names = adl_kind_names, .required = true, .help = "kind of job"},
    {"types", ADL_YAML_LINKS, AFFINITY(types), .min = 1, .max = ADL_TYPES_MAX, .required = true,
     .help = "GPU types of the cluster that it goes to"},
};
static const struct adl_yaml_table affinity_table = {
    .fields = affinity_fields, .field_count = 2, .size = sizeof(struct form_affinity), .located = true};

int adl_scenario_read_drift(struct adl_scenario_reader *reader)
{
    const struct adl_form_update *updates = reader->form->drift.updates.items;
    struct adl_drift *drift = &reader->scenario->drift;
    for (uint32_t i = 0; i < reader->form->drift.updates.count; i++) {
        char where[WHERE_SIZE];
        uint32_t type = 0;
        snprintf(where, sizeof where, "drift.updates[%u].type", (unsigned)i);
        const int status = adl_scenario_find_type(reader, &updates[i].type, where, &type);
        if (status)
            return status;
        drift->updates[i].time_s = updates[i].time_s;
        drift->updates[i].type = type;
        drift->updates[i].factor = updates[i].factor;
        drift->update_count = i + 1;
    }
    return 0;
}

/* Jobs that `static` can never place would wait forever. */
static int check_affinity(const struct adl_scenario_reader *reader, const struct form_affinity *affinity,
                          uint32_t index, uint32_t types)
{
    const struct adl_form_mix *forms = reader->form->workload.mix.items;
    const struct adl_scenario *scenario = reader->scenario;
    for (uint32_t m = 0; m < scenario->workload.mix_count; m++) {
        const struct adl_mix *mix = &scenario->workload.mix[m];
        if (scenario->classes[mix->class_index].kind != affinity->kind)
            continue;
        const char *why = NULL;
        uint32_t gang = 0;
        if (adl_mix_possible(scenario, mix, types, &gang, &why))
            continue;
        if (!(mix->types & types))
            why = "its acceptable types are not among these";
        return adl_yaml_fail(reader->yaml, adl_yaml_line(affinity->at, "types"), reader->err,
                             "policy.affinity[%u].types: under 'static' a job of workload.mix[%u] (line %u) with %u "
                             "GPU%s can never run: %s",
                             (unsigned)index, (unsigned)m, (unsigned)forms[m].at->line, (unsigned)mix->gang_gpus[gang],
                             mix->gang_gpus[gang] == 1 ? "" : "s", why);
    }
    return 0;
}

/* The types of one kind of job, added to the text "KIND:TYPE/TYPE". */
static int read_kind(struct adl_scenario_reader *reader, const struct form_affinity *affinity, uint32_t index,
                     struct adl_text *text)
{
    const struct adl_yaml_link *links = affinity->types.items;
    uint32_t types = 0;
    adl_text_printf(text, "%s%s:", index > 0 ? "," : "", adl_kind_names[affinity->kind]);
    for (uint32_t i = 0; i < affinity->types.count; i++) {
        char where[WHERE_SIZE];
        uint32_t type = 0;
        snprintf(where, sizeof where, "policy.affinity[%u].types[%u]", (unsigned)index, (unsigned)i);
        const int status = adl_scenario_find_type(reader, &links[i], where, &type);
        if (status)
            return status;
        if (types & (1u << type))
            return adl_yaml_fail(reader->yaml, links[i].line, reader->err, "%s: '%s' is given twice", where,
                                 links[i].text);
        types |= 1u << type;
        adl_text_printf(text, "%s%s", i > 0 ? "/" : "", links[i].text);
    }
    return check_affinity(reader, affinity, index, types);
}

/* A list of {kind, types}. */
static int read_affinity(struct adl_scenario_reader *reader, const struct adl_yaml_node *node, struct adl_text *text)
{
    static const struct adl_yaml_field field = {"affinity", ADL_YAML_LIST, .max = ADL_KIND_COUNT,
                                                .table = &affinity_table};
    struct adl_yaml_list list = {0};
    uint32_t seen = 0;
    int status = adl_yaml_read_value(reader->yaml, &field, node, "policy", &list, reader->err);
    for (uint32_t i = 0; i < list.count && status == 0 && reader->scenario; i++) {
        const struct form_affinity *affinity = &((const struct form_affinity *)list.items)[i];
        if (seen & (1u << affinity->kind))
            return adl_yaml_fail(reader->yaml, adl_yaml_line(affinity->at, "kind"), reader->err,
                                 "policy.affinity[%u].kind: '%s' is given twice", (unsigned)i,
                                 adl_kind_names[affinity->kind]);
        seen |= 1u << affinity->kind;
        status = read_kind(reader, affinity, i, text);
    }
    return status;
}

/* "0.6,0.8" of a list. */
static int join(struct adl_scenario_reader *reader, const struct adl_yaml_node *node, const char *where,
                struct adl_text *text)
{
    uint32_t index = 0;
    for (const struct adl_yaml_node *item = node->first; item; item = item->next, index++) {
        char here[WHERE_SIZE + 16];
        snprintf(here, sizeof here, "%s[%u]", where, (unsigned)index);
        const int status = adl_yaml_expect(reader->yaml, item, ADL_YAML_SCALAR, here, "a number", reader->err);
        if (status)
            return status;
        adl_text_printf(text, "%s%s", index > 0 ? "," : "", item->text);
    }
    return 0;
}

/* The value as text, if its shape is one that the option takes. */
static int read_value(struct adl_scenario_reader *reader, const struct adl_policy_option *option,
                      const struct adl_yaml_node *node, const char *where, struct adl_text *text)
{
    static const char *const wanted[] = {
        [ADL_POLICY_BOOL] = "true or false", [ADL_POLICY_INTEGER] = "a whole number",
        [ADL_POLICY_REAL] = "a number",      [ADL_POLICY_WORD] = "a name",
        [ADL_POLICY_TEXT] = "a text",        [ADL_POLICY_REALS] = "a list",
    };
    if (option->type == ADL_POLICY_AFFINITY)
        return read_affinity(reader, node, text);
    const bool list = option->type == ADL_POLICY_REALS;
    const int status = adl_yaml_expect(reader->yaml, node, list ? ADL_YAML_SEQUENCE : ADL_YAML_SCALAR, where,
                                       wanted[option->type], reader->err);
    if (status)
        return status;
    if (list)
        return join(reader, node, where, text);
    if ((option->type == ADL_POLICY_BOOL && !node->plain) || strpbrk(node->text, "\r\n"))
        return adl_yaml_fail(reader->yaml, node->line, reader->err, "%s must be %s, written in one line without quotes",
                             where, wanted[option->type]);
    adl_text_put(text, node->text);
    return 0;
}

/* A reason that begins with an index is about that element of a list. */
static int refuse_value(struct adl_scenario_reader *reader, const struct adl_yaml_node *node, const char *where,
                        const char *reason)
{
    const bool element = reason[0] == '[';
    const struct adl_yaml_node *at = node;
    if (element && node->shape == ADL_YAML_SEQUENCE) {
        at = node->first;
        for (long left = strtol(reason + 1, NULL, 10); left > 0 && at->next; left--)
            at = at->next;
    }
    return adl_yaml_fail(reader->yaml, at->line, reader->err, "%s%s%s", where, element ? "" : " ", reason);
}

static int refuse_key(struct adl_scenario_reader *reader, const struct adl_yaml_node *key)
{
    char known[200] = "", quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    struct adl_suggest suggest = {.word = key->text};
    if (reader->named_policy)
        adl_list_append(known, sizeof known, "name");
    for (uint32_t p = 0; p < adl_policy_count(); p++)
        for (uint32_t i = 0; i < adl_policy_option_count(adl_policy_at(p)); i++) {
            const char *name = adl_policy_option_at(adl_policy_at(p), i)->name;
            bool first = true;
            for (uint32_t q = 0; q < p && first; q++)
                first = !adl_policy_option_find(adl_policy_at(q), name);
            if (first)
                adl_list_append(known, sizeof known, name);
            adl_suggest_offer(&suggest, name);
        }
    return adl_yaml_fail(reader->yaml, key->line, reader->err, "unknown key %s in policy%s (keys: %s)",
                         adl_quote(key->text, quoted), adl_suggest_phrase(&suggest, phrase), known);
}

/* Reads the value once and has every policy that has the option check it. */
static int read_option(struct adl_scenario_reader *reader, const struct adl_yaml_node *key, struct adl_text *value)
{
    char where[WHERE_SIZE], reason[ADL_POLICY_REASON_SIZE];
    bool found = false;
    snprintf(where, sizeof where, "policy.%.60s", key->text);
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        const struct adl_policy_option *option = adl_policy_option_find(adl_policy_at(p), key->text);
        if (!option)
            continue;
        const int status = found ? 0 : read_value(reader, option, key->next, where, value);
        if (status)
            return status;
        found = true;
        const char *text = value->data ? value->data : "";
        if (option->type != ADL_POLICY_AFFINITY && !adl_policy_option_check(option, text, NULL, reason))
            return refuse_value(reader, key->next, where, reason);
    }
    return found ? 0 : refuse_key(reader, key);
}

static int refuse_twin(struct adl_scenario_reader *reader, const struct adl_yaml_node *key)
{
    for (const struct adl_yaml_node *other = reader->form->policy->first; other != key; other = other->next->next)
        if (strcmp(other->text, key->text) == 0)
            return adl_yaml_fail(reader->yaml, key->line, reader->err,
                                 "policy.%.60s is given twice; the first is on line %u", key->text,
                                 (unsigned)other->line);
    return 0;
}

int adl_scenario_read_policy(struct adl_scenario_reader *reader)
{
    const struct adl_yaml_node *key = reader->form->policy ? reader->form->policy->first : NULL;
    int status = 0;
    for (; key && status == 0; key = key->next->next) {
        struct adl_text value = {0};
        status = refuse_twin(reader, key);
        if (status == 0 && !(reader->named_policy && strcmp(key->text, "name") == 0)) {
            status = read_option(reader, key, &value);
            if (status == 0 && (adl_text_status(&value) ||
                                (reader->scenario &&
                                 adl_scenario_add_setting(reader->scenario, key->text, value.data ? value.data : ""))))
                status = adl_fail(reader->err, ADL_ENOMEM, "%.120s: out of memory", adl_yaml_name(reader->yaml));
        }
        adl_text_clear(&value);
    }
    return status;
}
