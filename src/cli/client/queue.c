/* queue: pending and running jobs, as squeue lists them, with the reason why each pending one waits. */
#include "cli/cli.h"
#include "cli/client/client.h"
#include "cli/client/jobs_table.h"
#include "cli/client/start_time.h"
#include "cli/display.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

enum { STATE_LIVE, STATE_ALL, STATE_PENDING = 3 };
static const char *const states[] = {"live", "all", "ended", "PD", "R", "CD", "F", "CA", "TO", NULL};

struct options {
    struct adl_client_options client;
    const char *user;
    bool me;
    int state;
    bool all;
    bool start;
    bool no_header;
    bool json;
};

static const struct adl_option table[] = {
    ADL_ROW_TEXT(struct options, user, "user", 'u', "USER", "only this user's jobs"),
    ADL_ROW_FLAG(struct options, me, "me", 0, "only your own jobs"),
    {"state", 't', ADL_OPTION_NAME, offsetof(struct options, state), 0, 0, states, "STATE",
     "pending, running, completed, failed, cancelled, timed out; live is the first two, ended the others"},
    ADL_ROW_FLAG(struct options, all, "all", 'a', "also jobs that have ended, newest first"),
    ADL_ROW_FLAG(struct options, start, "start", 0,
                 "pending jobs in order of their expected starts; START_P90: in 9 of 10 cases by then"),
    ADL_ROW_FLAG(struct options, no_header, "no-header", 0, "without the line of titles"),
    ADL_ROW_FLAG(struct options, json, "json", 0, "print JSON, as the service returns it"),
    ADL_CLIENT_ROWS(struct options),
};

static const struct adl_verb verb = {
    .name = "queue",
    .summary = "Lists pending and running jobs; in brackets, why a job waits.",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro queue\nadlro queue --me --all\nadlro queue --start",
};

static int add_user(struct adl_client *client, const struct options *o, struct adl_text *query, struct adl_error *err)
{
    cJSON *me = NULL;
    const int status = o->me ? adl_client_get(client, "/v1/whoami", &me, err) : 0;
    if (status)
        return status;
    if (o->me || o->user) {
        adl_text_put(query, "&user=");
        adl_client_escape(query, o->me ? adl_member_text(me, "user") : o->user);
    }
    cJSON_Delete(me);
    return 0;
}

/* On standard error, so that the table can be read by programs. */
static void say_basis(struct adl_client *client)
{
    struct adl_error err;
    struct adl_text text = {0};
    cJSON *cluster = NULL;
    if (adl_client_get(client, "/v1/cluster", &cluster, &err))
        return;
    adl_starts_say_basis(&text, cluster);
    if (text.data)
        fprintf(stderr, "%s\n", text.data);
    adl_text_clear(&text);
    cJSON_Delete(cluster);
}

static int list(struct adl_client *client, const struct options *o, struct adl_text *text, struct adl_error *err)
{
    struct adl_text query = {0};
    cJSON *answer = NULL;
    adl_text_printf(&query, "state=%s", states[o->all ? STATE_ALL : o->state]);
    int status = add_user(client, o, &query, err);
    if (status == 0 && adl_text_status(&query))
        status = adl_fail(err, ADL_ENOMEM, "out of memory");
    if (status == 0)
        status = adl_client_jobs(client, query.data, &answer, err);
    adl_text_clear(&query);
    if (status)
        return status;
    if (o->json)
        adl_display_json(text, answer);
    else if (o->start)
        adl_starts_table(text, cJSON_GetObjectItemCaseSensitive(answer, "jobs"), adl_display_columns());
    else
        adl_jobs_table(text, cJSON_GetObjectItemCaseSensitive(answer, "jobs"), adl_display_columns());
    cJSON_Delete(answer);
    if (o->start && !o->json && !o->no_header)
        say_basis(client);
    return 0;
}

static int run(int argc, char **argv)
{
    struct options o = {.state = STATE_LIVE};
    struct adl_operands operands;
    struct adl_client *client = NULL;
    struct adl_text text = {0};
    struct adl_error err;
    int code, status;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    if (o.me && o.user)
        status = adl_fail(&err, ADL_EINVAL, "--me and --user are two users; give one");
    else if (o.all && o.state != STATE_LIVE)
        status = adl_fail(&err, ADL_EINVAL, "--all and --state are two choices; give one");
    else if (o.start && (o.all || (o.state != STATE_LIVE && o.state != STATE_PENDING)))
        status = adl_fail(&err, ADL_EINVAL, "--start lists pending jobs; leave --all and --state out");
    else
        status = adl_client_create(&o.client, &client, &err);
    if (status == 0)
        status = list(client, &o, &text, &err);
    if (status == 0 && o.no_header && !o.json && text.data) {
        const char *rest = strchr(text.data, '\n') + 1;
        const size_t skip = (size_t)(rest - text.data);
        memmove(text.data, rest, text.size - skip);
        adl_text_truncate(&text, text.size - skip);
    }
    if (status == 0)
        status = adl_output_write("-", &text, &err);
    adl_text_clear(&text);
    adl_client_destroy(client);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_queue = {&verb, run};
