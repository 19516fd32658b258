/* policies: lists them, or tells what one of them can be told. */
#include "base/json.h"
#include "base/suggest.h"
#include "cli/cli.h"

#include <stddef.h>
#include <stdio.h>

struct options {
    bool json;
};

static const struct adl_option table[] = {
    {"json", 0, ADL_OPTION_FLAG, offsetof(struct options, json), 0, 0, NULL, NULL, "as JSON"},
};

static const struct adl_verb verb = {
    .name = "policies",
    .summary = "Lists the scheduling policies with a line each, or the options of one, with ranges, defaults and where "
               "they come from.",
    .operands = "[NAME]",
    .operands_max = 1,
    .options = table,
    .option_count = 1,
    .example = "adlro policies\nadlro policies gogh",
};

static void put_list(struct adl_text *text)
{
    for (uint32_t i = 0; i < adl_policy_count(); i++)
        adl_text_printf(text, "%-13s %s\n", adl_policy_at(i)->name, adl_policy_at(i)->summary);
}

static void put_list_json(struct adl_text *text)
{
    struct adl_json json = adl_json_start(text, true);
    adl_json_array(&json);
    for (uint32_t i = 0; i < adl_policy_count(); i++) {
        adl_json_flat(&json);
        adl_json_object(&json);
        adl_json_put_string(&json, "name", adl_policy_at(i)->name);
        adl_json_put_string(&json, "summary", adl_policy_at(i)->summary);
        adl_json_end(&json);
    }
    adl_json_end(&json);
    adl_text_char(text, '\n');
}

static void put_policy(struct adl_text *text, const struct adl_policy_ops *ops)
{
    char value[ADL_REFUSAL_SIZE];
    adl_text_printf(text, "%s: %s\n\noptions (--set %s.OPTION=VALUE, or the group `policy` of a scenario):\n",
                    ops->name, ops->summary, ops->name);
    for (uint32_t i = 0; i < adl_policy_option_count(ops); i++) {
        const struct adl_policy_option *option = adl_policy_option_at(ops, i);
        adl_text_printf(text, "  %-20s %s; default %s\n", option->name, adl_policy_option_describe(option, value),
                        adl_policy_option_default(option));
        adl_text_printf(text, "  %-20s %s\n", "", option->help);
        if (option->source)
            adl_text_printf(text, "  %-20s source: %s\n", "", option->source);
    }
}

static void put_policy_json(struct adl_text *text, const struct adl_policy_ops *ops)
{
    char value[ADL_REFUSAL_SIZE];
    struct adl_json json = adl_json_start(text, true);
    adl_json_object(&json);
    adl_json_put_string(&json, "name", ops->name);
    adl_json_put_string(&json, "summary", ops->summary);
    adl_json_key(&json, "options");
    adl_json_array(&json);
    for (uint32_t i = 0; i < adl_policy_option_count(ops); i++) {
        const struct adl_policy_option *option = adl_policy_option_at(ops, i);
        adl_json_flat(&json);
        adl_json_object(&json);
        adl_json_put_string(&json, "name", option->name);
        adl_json_put_string(&json, "value", adl_policy_option_describe(option, value));
        adl_json_put_string(&json, "default", option->value);
        adl_json_put_string(&json, "help", option->help);
        if (option->source)
            adl_json_put_string(&json, "source", option->source);
        adl_json_end(&json);
    }
    adl_json_end(&json);
    adl_json_end(&json);
    adl_text_char(text, '\n');
}

static int refuse_name(const char *name, struct adl_error *err)
{
    struct adl_suggest suggest = {.word = name};
    char phrase[ADL_PHRASE_SIZE], quoted[ADL_QUOTE_SIZE];
    for (uint32_t i = 0; i < adl_policy_count(); i++)
        adl_suggest_offer(&suggest, adl_policy_at(i)->name);
    return adl_fail(err, ADL_EINVAL, "there is no policy %s%s (`adlro policies` lists them)", adl_quote(name, quoted),
                    adl_suggest_phrase(&suggest, phrase));
}

static int run(int argc, char **argv)
{
    struct options o = {false};
    struct adl_operands operands;
    struct adl_text text = {0};
    struct adl_error err;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    const char *name = operands.count > 0 ? operands.items[0] : NULL;
    const struct adl_policy_ops *ops = name ? adl_policy_find(name) : NULL;
    int status = name && !ops ? refuse_name(name, &err) : 0;
    if (status == 0 && ops)
        (o.json ? put_policy_json : put_policy)(&text, ops);
    else if (status == 0)
        (o.json ? put_list_json : put_list)(&text);
    if (status == 0)
        status = adl_output_write("-", &text, &err);
    adl_text_clear(&text);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_policies = {&verb, run};
