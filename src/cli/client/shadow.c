/* shadow: another policy is compared with the one in force, on the same jobs. */
#include "cli/cli.h"
#include "cli/client/client.h"
#include "cli/client/shadow_table.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    struct adl_client_options client;
    const char *model;
    const char *set;
    double days;
    bool automatic, manual;
    bool json;
};

static const struct adl_option table[] = {
    ADL_ROW_TEXT(struct options, model, "model", 0, "FILE",
                 "start: a trained network of policy dqn or adlro, read by the service"),
    ADL_ROW_TEXT(struct options, set, "set", 0, "OPTION=VALUE,...",
                 "start: options of the policy, as `adlro tune` prints them"),
    {"days", 0, ADL_OPTION_REAL, offsetof(struct options, days), .min = 0, .max = 3650, .value = "N",
     .help = "start: a gain has to be shown over N days before it may be promoted; 0 = 7"},
    ADL_ROW_FLAG(struct options, automatic, "auto", 0, "start: promote it without asking as soon as the gate opens"),
    ADL_ROW_FLAG(struct options, manual, "manual", 0,
                 "start: do not, even if the service's configuration has `gate: auto`"),
    ADL_ROW_FLAG(struct options, json, "json", 0, "print JSON, as the service returns it"),
    ADL_CLIENT_ROWS(struct options),
};

static const struct adl_verb verb = {
    .name = "shadow",
    .summary = "Compares another policy with the one in force on the jobs that the service gets: starts it, shows what "
               "is known, or stops it. Nothing is decided by it before `adlro promote`.",
    .operands = "start POLICY | status | stop",
    .operands_min = 1,
    .operands_max = 2,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro shadow start adlro\nadlro shadow status\nadlro shadow stop",
};

static int add_options(cJSON *body, const char *text, struct adl_error *err)
{
    cJSON *options = cJSON_AddObjectToObject(body, "options");
    char *copy = strdup(text), *save = NULL;
    int status = copy && options ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory");
    for (char *one = copy ? strtok_r(copy, ",", &save) : NULL; one && status == 0; one = strtok_r(NULL, ",", &save)) {
        char *value = strchr(one, '=');
        if (!value) {
            status = adl_fail(err, ADL_EINVAL, "--set: '%.60s' is not OPTION=VALUE", one);
        } else {
            *value++ = '\0';
            cJSON_AddStringToObject(options, one, value);
        }
    }
    free(copy);
    return status;
}

static int start(struct adl_client *client, const struct options *o, const char *policy, cJSON **ret,
                 struct adl_error *err)
{
    cJSON *body = cJSON_CreateObject();
    char path[PATH_MAX] = "";
    int status = 0;
    cJSON_AddStringToObject(body, "policy", policy);
    if (o->model && o->model[0] != '/' && !getcwd(path, sizeof path))
        status = adl_fail(err, ADL_EIO, "the current folder cannot be read");
    if (o->model && status == 0) { /* the service has another current folder */
        const size_t at = o->model[0] == '/' ? 0 : strlen(path);
        snprintf(path + at, sizeof path - at, "%s%s", at > 0 ? "/" : "", o->model);
        cJSON_AddStringToObject(body, "model", path);
    }
    if (o->days > 0)
        cJSON_AddNumberToObject(body, "days", o->days);
    if (o->automatic || o->manual)
        cJSON_AddStringToObject(body, "gate", o->automatic ? "auto" : "manual");
    if (status == 0 && o->set)
        status = add_options(body, o->set, err);
    if (status == 0)
        status = adl_client_call(client, "POST", "/v1/shadow", body, ret, err);
    cJSON_Delete(body);
    return status;
}

static int ask(struct adl_client *client, const struct options *o, const struct adl_operands *operands, cJSON **ret,
               struct adl_error *err)
{
    const char *what = operands->items[0];
    const bool starts = strcmp(what, "start") == 0;
    if (starts != (operands->count == 2))
        return adl_fail(err, ADL_EINVAL,
                        starts ? "start: the name of a policy is missing (`adlro policies` lists them)"
                               : "only start takes the name of a policy");
    if (o->automatic && o->manual)
        return adl_fail(err, ADL_EINVAL, "--auto and --manual are two gates; give one");
    if (starts)
        return start(client, o, operands->items[1], ret, err);
    if (strcmp(what, "stop") == 0)
        return adl_client_call(client, "DELETE", "/v1/shadow", NULL, ret, err);
    if (strcmp(what, "status") == 0)
        return adl_client_get(client, "/v1/shadow", ret, err);
    return adl_fail(err, ADL_EINVAL, "there is no '%.40s' here: start POLICY, status, or stop", what);
}

static int run(int argc, char **argv)
{
    struct options o = {.days = 0};
    struct adl_operands operands;
    struct adl_client *client = NULL;
    struct adl_error err;
    cJSON *answer = NULL;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    int status = adl_client_create(&o.client, &client, &err);
    if (status == 0)
        status = ask(client, &o, &operands, &answer, &err);
    if (status == 0)
        status = adl_shadow_print(answer, o.json, &err);
    cJSON_Delete(answer);
    adl_client_destroy(client);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_shadow = {&verb, run};
