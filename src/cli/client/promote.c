/* promote: the policy that shadows decides from now on. */
#include "cli/cli.h"
#include "cli/client/client.h"
#include "cli/client/shadow_table.h"

#include <cjson/cJSON.h>

struct options {
    struct adl_client_options client;
    bool force;
    bool json;
};

static const struct adl_option table[] = {
    ADL_ROW_FLAG(struct options, force, "force", 0, "promote it though its gain is not shown; this is logged"),
    ADL_ROW_FLAG(struct options, json, "json", 0, "print JSON, as the service returns it"),
    ADL_CLIENT_ROWS(struct options),
};

static const struct adl_verb verb = {
    .name = "promote",
    .summary = "Puts the policy that shadows in force, once its gain is shown. The policy before shadows it then, and "
               "decides again if it would have done better. For administrators.",
    .operands_max = 0,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro promote",
};

static int run(int argc, char **argv)
{
    struct options o = {.force = false};
    struct adl_operands operands;
    struct adl_client *client = NULL;
    struct adl_error err;
    cJSON *answer = NULL, *body;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    body = cJSON_CreateObject();
    cJSON_AddBoolToObject(body, "force", o.force);
    int status = adl_client_create(&o.client, &client, &err);
    if (status == 0)
        status = adl_client_call(client, "POST", "/v1/promote", body, &answer, &err);
    if (status == 0)
        status = adl_shadow_print(answer, o.json, &err);
    cJSON_Delete(answer);
    cJSON_Delete(body);
    adl_client_destroy(client);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_promote = {&verb, run};
