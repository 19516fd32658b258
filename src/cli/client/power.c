/* power: what all GPUs together may draw: shown, set for a time, or given back to the schedule. */
#include "cli/cli.h"
#include "cli/client/client.h"
#include "cli/display.h"
#include "cli/quantity.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct adl_client_options client;
    const char *time;
    bool json;
};

static const struct adl_option table[] = {
    ADL_ROW_TEXT(struct options, time, "for", 0, "TIME",
                 "how long, 3h, 90m or seconds; then the schedule counts again"),
    ADL_ROW_FLAG(struct options, json, "json", 0, "print JSON, as the service returns it"),
    ADL_CLIENT_ROWS(struct options),
};

static const struct adl_verb verb = {
    .name = "power",
    .summary = "Shows what all GPUs together may draw, or sets it: watts, off (no limit), or schedule (as the "
               "configuration says). Setting it is for administrators.",
    .operands = "[WATTS|off|schedule]",
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro power\nadlro power 30000 --for 3h\nadlro power schedule",
};

/* Seconds; negative: it is no such time. */
static double read_span(const char *text)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    const double unit = strcmp(end, "h") == 0                   ? 3600
                        : strcmp(end, "m") == 0                 ? 60
                        : *end == '\0' || strcmp(end, "s") == 0 ? 1
                                                                : -1;
    return end != text && value > 0 ? value * unit : -1;
}

static int make_body(const struct options *o, const char *limit, cJSON **ret, struct adl_error *err)
{
    char *end = NULL;
    const double watts = strtod(limit, &end), time_s = o->time ? read_span(o->time) : 0;
    const bool number = end != limit && *end == '\0' && watts >= 1;
    if (time_s < 0)
        return adl_fail(err, ADL_EINVAL, "--for must be a time such as 3h, 90m or 600 (seconds), got '%.50s'", o->time);
    if (!number && strcmp(limit, "off") != 0 && strcmp(limit, "schedule") != 0)
        return adl_fail(err, ADL_EINVAL,
                        "the limit must be a number of watts such as 30000, off or schedule, got '%.50s'", limit);
    *ret = cJSON_CreateObject();
    if (strcmp(limit, "schedule") == 0)
        cJSON_AddNullToObject(*ret, "limit_w");
    else
        cJSON_AddNumberToObject(*ret, "limit_w", number ? watts : 0);
    if (time_s > 0)
        cJSON_AddNumberToObject(*ret, "for_s", time_s);
    return 0;
}

/* Who set the limit, and until when; nothing if nobody did. */
static void print_source(struct adl_text *text, const cJSON *answer)
{
    const double until_s = adl_member_number(answer, "until_s", 0);
    const char *source = adl_member_text(answer, "source");
    char moment[ADL_DURATION_SIZE];
    if (strcmp(source, "none") == 0)
        return;
    adl_text_put(text, " (");
    adl_display_put(text, source, ADL_DISPLAY_ALL);
    if (until_s > 0)
        adl_text_printf(text, ", until %s", adl_moment_print(until_s, moment));
    adl_text_put(text, ")");
}

static void print_entry(struct adl_text *text, const cJSON *entry)
{
    const int minute = (int)adl_member_number(entry, "minute", 0);
    const double limit_w = adl_member_number(entry, "limit_w", 0);
    adl_text_printf(text, "%02d:%02d  ", minute / 60, minute % 60);
    if (limit_w > 0)
        adl_text_printf(text, "%.0f W\n", limit_w);
    else
        adl_text_put(text, "no limit\n");
}

static void print(struct adl_text *text, const cJSON *answer)
{
    const double limit_w = adl_member_number(answer, "limit_w", 0);
    const cJSON *entry;
    if (limit_w > 0)
        adl_text_printf(text, "All GPUs together may draw %.0f W", limit_w);
    else
        adl_text_put(text, "There is no power limit");
    print_source(text, answer);
    adl_text_put(text, "\n");
    if (!adl_member_flag(answer, "followed")) {
        adl_text_put(text, "Policy ");
        adl_display_put(text, adl_member_text(answer, "policy"), ADL_DISPLAY_ALL);
        adl_text_put(text, " cannot follow one; gogh can\n");
    }
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(answer, "schedule"))
    {
        print_entry(text, entry);
    }
}

static int run(int argc, char **argv)
{
    struct options o = {.time = NULL};
    struct adl_operands operands;
    struct adl_client *client = NULL;
    struct adl_text text = {0};
    struct adl_error err;
    cJSON *answer = NULL, *body = NULL;
    int code, status;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    if (operands.count == 0 && o.time)
        status = adl_fail(&err, ADL_EINVAL, "--for needs a limit");
    else
        status = operands.count ? make_body(&o, operands.items[0], &body, &err) : 0;
    if (status == 0)
        status = adl_client_create(&o.client, &client, &err);
    if (status == 0)
        status = body ? adl_client_call(client, "POST", "/v1/power-limit", body, &answer, &err)
                      : adl_client_get(client, "/v1/power-limit", &answer, &err);
    if (status == 0) {
        if (o.json)
            adl_display_json(&text, answer);
        else
            print(&text, answer);
        status = adl_output_write("-", &text, &err);
    }
    adl_text_clear(&text);
    cJSON_Delete(answer);
    cJSON_Delete(body);
    adl_client_destroy(client);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_power = {&verb, run};
