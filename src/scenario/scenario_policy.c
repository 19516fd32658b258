/* scenario_policy: options of policies and the software updates. What a file says of an option is checked against the
 * tables of all policies that have it, and kept as text: policy/option.h. */
#include "base/suggest.h"
#include "base/text.h"
#include "policy/policy.h"
#include "scenario/scenario.h"
#include "scenario/scenario_internal.h"
#include "scenario/text_file.h"

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
    struct adl_drift_model *drift = &reader->scenario->drift;
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
        memcpy(drift->updates[i].version, updates[i].version, sizeof drift->updates[i].version);
        drift->update_count = i + 1;
    }
    return 0;
}

/* Jobs that `static` can never place would wait forever. */
static int check_affinity(const struct adl_scenario_reader *reader, const struct form_affinity *affinity,
                          const char *group, uint32_t index, uint32_t types)
{
    const struct adl_form_mix *forms = reader->form ? reader->form->workload.mix.items : NULL;
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
                             "%.80s.affinity[%u].types: under 'static' a job of workload.mix[%u] (line %u) with %u "
                             "GPU%s can never run: %s",
                             group, (unsigned)index, (unsigned)m, (unsigned)(forms ? forms[m].at->line : 0),
                             (unsigned)mix->gang_gpus[gang], mix->gang_gpus[gang] == 1 ? "" : "s", why);
    }
    return 0;
}

/* The types of one kind of job, added to the text "KIND:TYPE/TYPE". */
static int read_kind(struct adl_scenario_reader *reader, const struct form_affinity *affinity, const char *group,
                     uint32_t index, struct adl_text *text)
{
    const struct adl_yaml_link *links = affinity->types.items;
    uint32_t types = 0;
    adl_text_printf(text, "%s%s:", index > 0 ? "," : "", adl_kind_names[affinity->kind]);
    for (uint32_t i = 0; i < affinity->types.count; i++) {
        char where[WHERE_SIZE];
        uint32_t type = 0;
        snprintf(where, sizeof where, "%.80s.affinity[%u].types[%u]", group, (unsigned)index, (unsigned)i);
        const int status = adl_scenario_find_type(reader, &links[i], where, &type);
        if (status)
            return status;
        if (types & (1u << type))
            return adl_yaml_fail(reader->yaml, links[i].line, reader->err, "%s: '%s' is given twice", where,
                                 links[i].text);
        types |= 1u << type;
        adl_text_printf(text, "%s%s", i > 0 ? "/" : "", links[i].text);
    }
    return check_affinity(reader, affinity, group, index, types);
}

/* A list of {kind, types}. */
static int read_affinity(struct adl_scenario_reader *reader, const struct adl_yaml_node *node, const char *group,
                         struct adl_text *text)
{
    static const struct adl_yaml_field field = {"affinity", ADL_YAML_LIST, .max = ADL_KIND_COUNT,
                                                .table = &affinity_table};
    struct adl_yaml_list list = {0};
    uint32_t seen = 0;
    int status = adl_yaml_read_value(reader->yaml, &field, node, group, &list, reader->err);
    for (uint32_t i = 0; i < list.count && status == 0 && reader->scenario; i++) {
        const struct form_affinity *affinity = &((const struct form_affinity *)list.items)[i];
        if (seen & (1u << affinity->kind))
            return adl_yaml_fail(reader->yaml, adl_yaml_line(affinity->at, "kind"), reader->err,
                                 "%.80s.affinity[%u].kind: '%s' is given twice", group, (unsigned)i,
                                 adl_kind_names[affinity->kind]);
        seen |= 1u << affinity->kind;
        status = read_kind(reader, affinity, group, i, text);
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

/* "tail:2,energy:0.5" of a mapping. */
static int join_weights(struct adl_scenario_reader *reader, const struct adl_yaml_node *node, const char *where,
                        struct adl_text *text)
{
    for (const struct adl_yaml_node *key = node->first; key; key = key->next->next) {
        char here[WHERE_SIZE + 60];
        snprintf(here, sizeof here, "%s.%.50s", where, key->text);
        const int status = adl_yaml_expect(reader->yaml, key->next, ADL_YAML_SCALAR, here, "a number", reader->err);
        if (status)
            return status;
        adl_text_printf(text, "%s%s:%s", key == node->first ? "" : ",", key->text, key->next->text);
    }
    return 0;
}

/* The value as text, if its shape is one that the option takes; without an option, one of any of these shapes. */
static int read_value(struct adl_scenario_reader *reader, const struct adl_policy_option *option, const char *group,
                      const struct adl_yaml_node *key, struct adl_text *text)
{
    static const char *const wanted[] = {
        [ADL_POLICY_BOOL] = "true or false",
        [ADL_POLICY_INTEGER] = "a whole number",
        [ADL_POLICY_REAL] = "a number",
        [ADL_POLICY_WORD] = "a name",
        [ADL_POLICY_TEXT] = "a text",
        [ADL_POLICY_REALS] = "a list",
        [ADL_POLICY_OBJECTIVE] = "a name or a mapping",
    };
    const struct adl_yaml_node *node = key->next;
    const uint8_t any = node->shape == ADL_YAML_SEQUENCE ? ADL_POLICY_REALS : ADL_POLICY_TEXT;
    const uint8_t type = option ? option->type : any;
    char where[WHERE_SIZE];
    snprintf(where, sizeof where, "%.60s.%.50s", group, key->text);
    if (type == ADL_POLICY_AFFINITY)
        return read_affinity(reader, node, group, text);
    if (type == ADL_POLICY_OBJECTIVE && node->shape == ADL_YAML_MAPPING && node->first)
        return join_weights(reader, node, where, text);
    const bool list = type == ADL_POLICY_REALS;
    const int status = adl_yaml_expect(reader->yaml, node, list ? ADL_YAML_SEQUENCE : ADL_YAML_SCALAR, where,
                                       wanted[type], reader->err);
    if (status)
        return status;
    if (list)
        return join(reader, node, where, text);
    if ((type == ADL_POLICY_BOOL && !node->plain) || strpbrk(node->text, "\r\n"))
        return adl_yaml_fail(reader->yaml, node->line, reader->err, "%s must be %s, written in one line without quotes",
                             where, wanted[type]);
    adl_text_put(text, node->text);
    return 0;
}

/* A reason that begins with an index is about that element of a list. */
static int refuse_value(struct adl_scenario_reader *reader, const char *group, const struct adl_yaml_node *key,
                        const char *reason)
{
    const bool element = reason[0] == '[';
    const struct adl_yaml_node *at = key->next;
    if (element && at->shape == ADL_YAML_SEQUENCE) {
        at = at->first;
        for (long left = strtol(reason + 1, NULL, 10); left > 0 && at->next; left--)
            at = at->next;
    }
    return adl_yaml_fail(reader->yaml, at->line, reader->err, "%s.%.50s%s%s", group, key->text,
                         strchr("[.", reason[0]) ? "" : " ", reason);
}

/* Appends the names of a policy's options that no policy before it has. */
static void list_options(uint32_t policy, uint32_t first, char *known, size_t size, struct adl_suggest *suggest)
{
    for (uint32_t i = 0; i < adl_policy_option_count(adl_policy_at(policy)); i++) {
        const char *name = adl_policy_option_at(adl_policy_at(policy), i)->name;
        bool listed = false;
        for (uint32_t q = first; q < policy && !listed; q++)
            listed = adl_policy_option_find(adl_policy_at(q), name) != NULL;
        if (!listed)
            adl_list_append(known, size, name);
        adl_suggest_offer(suggest, name);
    }
}

/* extra: the key that is not an option, or NULL. */
static int refuse_key(struct adl_scenario_reader *reader, const struct adl_policy_ops *ops, const char *group,
                      const char *extra, const struct adl_yaml_node *key)
{
    char known[200] = "", quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    struct adl_suggest suggest = {.word = key->text};
    if (extra)
        adl_list_append(known, sizeof known, extra);
    for (uint32_t p = 0; p < adl_policy_count(); p++)
        if (!ops || adl_policy_at(p) == ops)
            list_options(p, ops ? p : 0, known, sizeof known, &suggest);
    return adl_yaml_fail(reader->yaml, key->line, reader->err, "unknown key %s in %s%s (keys: %s)",
                         adl_quote(key->text, quoted), group, adl_suggest_phrase(&suggest, phrase), known);
}

/* Reads the value once and has every policy that has the option check it; of one policy if ops is not NULL. */
static int read_option(struct adl_scenario_reader *reader, const struct adl_policy_ops *ops, const char *group,
                       const char *extra, const struct adl_yaml_node *key, struct adl_text *value)
{
    char reason[ADL_POLICY_REASON_SIZE];
    bool found = false;
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        const struct adl_policy_option *option = adl_policy_option_find(adl_policy_at(p), key->text);
        if (!option || (ops && adl_policy_at(p) != ops))
            continue;
        const int status = found ? 0 : read_value(reader, option, group, key, value);
        if (status)
            return status;
        found = true;
        const char *text = value->data ? value->data : "";
        if (option->type != ADL_POLICY_AFFINITY && !adl_policy_option_check(option, text, NULL, reason))
            return refuse_value(reader, group, key, reason);
    }
    return found ? 0 : refuse_key(reader, ops, group, extra, key);
}

static int refuse_twin(struct adl_scenario_reader *reader, const char *group, const struct adl_yaml_node *mapping,
                       const struct adl_yaml_node *key)
{
    for (const struct adl_yaml_node *other = mapping->first; other != key; other = other->next->next)
        if (strcmp(other->text, key->text) == 0)
            return adl_yaml_fail(reader->yaml, key->line, reader->err,
                                 "%s.%.60s is given twice; the first is on line %u", group, key->text,
                                 (unsigned)other->line);
    return 0;
}

/* The options of a mapping as lines of settings. extra: a key that is none, or NULL; known: whether policies of this
 * program are meant, ops: which one, NULL = all that have the option. */
static int read_settings(struct adl_scenario_reader *reader, const struct adl_yaml_node *mapping, const char *group,
                         const char *extra, bool known, const struct adl_policy_ops *ops, struct adl_text *text)
{
    int status = 0;
    for (const struct adl_yaml_node *key = mapping->first; key && status == 0; key = key->next->next) {
        struct adl_text value = {0};
        status = refuse_twin(reader, group, mapping, key);
        if (status == 0 && !(extra && strcmp(key->text, extra) == 0)) {
            status = known ? read_option(reader, ops, group, extra, key, &value)
                           : read_value(reader, NULL, group, key, &value);
            if (status == 0 && (value.size >= ADL_POLICY_VALUE_SIZE || strlen(key->text) >= ADL_NAME_SIZE))
                status = adl_yaml_fail(reader->yaml, key->line, reader->err, "%s.%.47s is too long", group, key->text);
            if (status == 0)
                adl_text_printf(text, "%s=%s\n", key->text, value.data ? value.data : "");
            if (status == 0 && (adl_text_status(&value) || adl_text_status(text)))
                status = adl_fail(reader->err, ADL_ENOMEM, "%.120s: out of memory", adl_yaml_name(reader->yaml));
        }
        adl_text_clear(&value);
    }
    return status;
}

int adl_scenario_read_policy(struct adl_scenario_reader *reader)
{
    struct adl_text text = {0};
    const char *extra = reader->named_policy ? "name" : NULL;
    if (!reader->form->policy)
        return 0;
    if (reader->scenario && reader->scenario->settings)
        adl_text_put(&text, reader->scenario->settings);
    const int status = read_settings(reader, reader->form->policy, "policy", extra, true, NULL, &text);
    if (status || !reader->scenario || !text.data) {
        adl_text_clear(&text);
        return status;
    }
    free(reader->scenario->settings);
    reader->scenario->policy.settings = reader->scenario->settings = text.data;
    return 0;
}

/* ---- variants ---- */

static int read_variant(struct adl_scenario_reader *reader, const struct adl_yaml_node *key, struct adl_variant *ret)
{
    static const struct adl_yaml_field name = {.name = "name", .kind = ADL_YAML_WORD, .size = ADL_NAME_SIZE},
                                       policy = {.name = "policy", .kind = ADL_YAML_WORD, .size = ADL_NAME_SIZE};
    struct adl_text text = {0};
    char group[WHERE_SIZE / 2];
    int status = adl_yaml_read_value(reader->yaml, &name, key, "variants", ret->name, reader->err);
    if (status)
        return status;
    snprintf(group, sizeof group, "variants.%s", ret->name);
    ret->line = key->line;
    if (adl_policy_find(ret->name))
        return adl_yaml_fail(reader->yaml, key->line, reader->err,
                             "%s: a policy has this name; a variant needs one of its own", group);
    status = adl_yaml_expect(reader->yaml, key->next, ADL_YAML_MAPPING, group, "a mapping", reader->err);
    const struct adl_yaml_node *of = status ? NULL : adl_yaml_value(key->next, "policy");
    if (status == 0)
        status = of ? adl_yaml_read_value(reader->yaml, &policy, of, group, ret->policy, reader->err)
                    : adl_yaml_fail(reader->yaml, key->line, reader->err,
                                    "missing key 'policy' in %s (the policy that it is a variant of)", group);
    const struct adl_policy_ops *ops = status ? NULL : adl_policy_find(ret->policy);
    if (status == 0) /* a policy that is not known here may come from a plugin, and is looked for when it is used */
        status = read_settings(reader, key->next, group, "policy", ops != NULL, ops, &text);
    if (status)
        adl_text_clear(&text);
    ret->settings = text.data;
    return status;
}

int adl_scenario_read_variants(struct adl_scenario_reader *reader, const struct adl_yaml_node *node,
                               struct adl_variant **ret, uint32_t *ret_count)
{
    struct adl_variant *variants = calloc(node->count + 1, sizeof *variants);
    uint32_t count = 0;
    if (!variants)
        return adl_fail(reader->err, ADL_ENOMEM, "%.120s: out of memory", adl_yaml_name(reader->yaml));
    int status = 0;
    for (const struct adl_yaml_node *key = node->first; key && status == 0; key = key->next->next) {
        status = refuse_twin(reader, "variants", node, key);
        status = status ? status : read_variant(reader, key, &variants[count++]);
    }
    if (status) {
        adl_variants_clear(variants, count);
        return status;
    }
    *ret = variants;
    *ret_count = count;
    return 0;
}

struct variants_form {
    const struct adl_yaml_node *variants;
};

int adl_variants_load(const char *path, struct adl_scenario *scenario, struct adl_variant **ret, uint32_t *ret_count,
                      struct adl_error *err)
{
    static const struct adl_yaml_field field = {"variants", ADL_YAML_NODE, ADL_YAML_AT(struct variants_form, variants),
                                                .required = true, .help = "policies with options of their own"};
    static const struct adl_yaml_table table = {
        .fields = &field, .field_count = 1, .size = sizeof(struct variants_form)};
    struct variants_form form;
    struct adl_yaml *yaml = NULL;
    char *text = NULL;
    size_t size = 0;
    int status = adl_text_file_read(path, &text, &size, err);
    if (status == 0)
        status = adl_yaml_parse(path, text, size, &yaml, err);
    if (status == 0)
        status = adl_yaml_read(yaml, &table, &form, err);
    struct adl_scenario_reader reader = {.yaml = yaml, .scenario = scenario, .err = err};
    if (status == 0)
        status = adl_scenario_read_variants(&reader, form.variants, ret, ret_count);
    adl_yaml_destroy(yaml);
    free(text);
    return status;
}
