/* drain: takes GPUs out of service once they are free, and puts them back. */
#include "cli/cli.h"
#include "cli/client/client.h"
#include "cli/client/gpus_table.h"
#include "cli/display.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct options {
    struct adl_client_options client;
    const char *reason;
    bool resume;
    bool dry_run;
    bool json;
};

static const struct adl_option table[] = {
    ADL_ROW_TEXT(struct options, reason, "reason", 0, "TEXT", "reason shown to users"),
    ADL_ROW_FLAG(struct options, resume, "resume", 0, "put them back into service"),
    ADL_ROW_FLAG(struct options, dry_run, "dry-run", 0, "only print what would be done"),
    ADL_ROW_FLAG(struct options, json, "json", 0, "print the cluster's new state as JSON"),
    ADL_CLIENT_ROWS(struct options),
};

static const struct adl_verb verb = {
    .name = "drain",
    .summary = "Drains GPUs, given by number, or all GPUs of a node, given by name: no job starts there, running jobs "
               "continue. For "
               "administrators.",
    .operands = "GPU|NODE...",
    .operands_min = 1,
    .operands_max = INT_MAX,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro drain 3 --reason 'fan replaced on Monday'\nadlro drain box --resume",
};

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0' && strlen(text) < 10;
}

/* Whether the cluster has this GPU or node. */
static bool is_there(const cJSON *cluster, const char *name, bool number)
{
    const cJSON *node, *gpu;
    char digits[32];
    cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(cluster, "nodes"))
    {
        if (!number && strcmp(adl_member_text(node, "name"), name) == 0)
            return true;
        cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(node, "gpus"))
        {
            snprintf(digits, sizeof digits, "%.0f", adl_member_number(gpu, "gpu", -1));
            if (number && strcmp(digits, name) == 0)
                return true;
        }
    }
    return false;
}

/* If a node's name is a number, a GPU with that number takes precedence. */
static int drain_one(struct adl_client *client, const struct options *o, const char *name, cJSON **cluster,
                     struct adl_error *err)
{
    const bool number = is_number(name) && is_there(*cluster, name, true);
    struct adl_text path = {0};
    cJSON *answer = NULL, *body = NULL;
    if (!number && !is_there(*cluster, name, false))
        return adl_fail(err, ADL_EABSENT, "there is no GPU or node '%.80s' (`adlro show` lists them)", name);
    if (o->dry_run) {
        printf("%s %s would %s\n", number ? "GPU" : "node", name, o->resume ? "be back in service" : "be drained");
        return 0;
    }
    adl_text_put(&path, number ? "/v1/gpus/" : "/v1/nodes/");
    adl_client_escape(&path, name);
    adl_text_put(&path, o->resume ? "/resume" : "/drain");
    if (!o->resume) {
        body = cJSON_CreateObject();
        cJSON_AddStringToObject(body, "reason", o->reason ? o->reason : "");
    }
    const int status = adl_text_status(&path) ? adl_fail(err, ADL_ENOMEM, "out of memory")
                                              : adl_client_call(client, "POST", path.data, body, &answer, err);
    adl_text_clear(&path);
    cJSON_Delete(body);
    if (status)
        return status;
    cJSON_Delete(*cluster);
    *cluster = answer;
    return 0;
}

static int run(int argc, char **argv)
{
    struct options o = {.resume = false};
    struct adl_operands operands;
    struct adl_client *client = NULL;
    struct adl_text text = {0};
    struct adl_error err;
    cJSON *cluster = NULL;
    int code, worst = ADL_EXIT_DONE;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    int status = adl_client_create(&o.client, &client, &err);
    if (status == 0)
        status = adl_client_get(client, "/v1/cluster", &cluster, &err);
    for (int i = 0; status == 0 && i < operands.count; i++) {
        const int failed = drain_one(client, &o, operands.items[i], &cluster, &err);
        code = failed ? adl_cli_fail(&verb, failed, &err) : ADL_EXIT_DONE;
        worst = code > worst ? code : worst;
    }
    if (status == 0 && o.json)
        adl_display_json(&text, cluster);
    else if (status == 0 && !o.dry_run && worst == ADL_EXIT_DONE)
        adl_gpus_table(&text, cluster, adl_display_columns());
    if (status == 0)
        status = adl_output_write("-", &text, &err);
    adl_text_clear(&text);
    cJSON_Delete(cluster);
    adl_client_destroy(client);
    return status ? adl_cli_fail(&verb, status, &err) : worst;
}

const struct adl_command_verb adl_verb_drain = {&verb, run};
