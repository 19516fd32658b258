/* policies: lists them. */
#include "base/json.h"
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
    .summary = "Lists the scheduling policies with a line each.",
    .options = table,
    .option_count = 1,
    .example = "adlro policies",
};

static int run(int argc, char **argv)
{
    struct options o = {false};
    struct adl_operands operands;
    struct adl_text text = {0};
    struct adl_error err;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    struct adl_json json = adl_json_start(&text, true);
    if (o.json)
        adl_json_array(&json);
    for (uint32_t i = 0; i < adl_policy_count(); i++) {
        const struct adl_policy_ops *ops = adl_policy_at(i);
        if (!o.json) {
            adl_text_printf(&text, "%-13s %s\n", ops->name, ops->summary);
            continue;
        }
        adl_json_flat(&json);
        adl_json_object(&json);
        adl_json_put_string(&json, "name", ops->name);
        adl_json_put_string(&json, "summary", ops->summary);
        adl_json_end(&json);
    }
    if (o.json) {
        adl_json_end(&json);
        adl_text_char(&text, '\n');
    }
    const int status = adl_output_write("-", &text, &err);
    adl_text_clear(&text);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_policies = {&verb, run};
