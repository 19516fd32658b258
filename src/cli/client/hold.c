/* hold: the verbs that change jobs: hold, release, requeue, priority. */
#include "base/range.h"
#include "cli/client/jobs_act.h"

#include <cjson/cJSON.h>
#include <limits.h>

static const struct adl_option table[] = {ADL_JOBS_ACT_ROWS};
#define OPTION_COUNT (sizeof table / sizeof *table)

static int run_act(const struct adl_jobs_act *act, int argc, char **argv)
{
    struct adl_jobs_act_options o = {.reason = NULL};
    struct adl_operands operands;
    int code;
    return adl_cli_parse(act->verb, argc, argv, &o, &operands, &code) ? adl_jobs_act(act, &o, &operands) : code;
}

static const struct adl_verb hold = {
    .name = "hold",
    .summary = "Keeps pending jobs from starting until they are released.",
    .operands = "JOB...",
    .operands_min = 1,
    .operands_max = INT_MAX,
    .options = table,
    .option_count = OPTION_COUNT,
    .example = "adlro hold 12 13",
};

static int run_hold(int argc, char **argv)
{
    static const struct adl_jobs_act act = {.verb = &hold, .method = "POST", .suffix = "/hold", .done = "held"};
    return run_act(&act, argc, argv);
}

const struct adl_command_verb adl_verb_hold = {&hold, run_hold};

static const struct adl_verb release = {
    .name = "release",
    .summary = "Releases held jobs; only administrators can release what an administrator holds.",
    .operands = "JOB...",
    .operands_min = 1,
    .operands_max = INT_MAX,
    .options = table,
    .option_count = OPTION_COUNT,
    .example = "adlro release 12",
};

static int run_release(int argc, char **argv)
{
    static const struct adl_jobs_act act = {
        .verb = &release, .method = "POST", .suffix = "/release", .done = "released"};
    return run_act(&act, argc, argv);
}

const struct adl_command_verb adl_verb_release = {&release, run_release};

static const struct adl_verb requeue = {
    .name = "requeue",
    .summary =
        "Puts jobs back into the queue, to run again from the start under the same number: jobs that have ended, "
        "and running jobs, which are stopped.",
    .operands = "JOB...",
    .operands_min = 1,
    .operands_max = INT_MAX,
    .options = table,
    .option_count = OPTION_COUNT,
    .example = "adlro requeue 12",
};

static int run_requeue(int argc, char **argv)
{
    static const struct adl_jobs_act act = {
        .verb = &requeue, .method = "POST", .suffix = "/requeue", .done = "requeued", .ended = true};
    return run_act(&act, argc, argv);
}

const struct adl_command_verb adl_verb_requeue = {&requeue, run_requeue};

static const struct adl_verb priority = {
    .name = "priority",
    .summary = "Changes the priority of jobs, 0 to 1, higher is more urgent: users may lower it, administrators may "
               "also raise it.",
    .operands = "JOB... VALUE",
    .operands_min = 2,
    .operands_max = INT_MAX,
    .options = table,
    .option_count = OPTION_COUNT,
    .example = "adlro priority 12 0.2",
};

static int run_priority(int argc, char **argv)
{
    static const struct adl_range range = {.min = 0, .max = 1};
    struct adl_jobs_act act = {.verb = &priority, .method = "PATCH", .suffix = "", .done = "changed"};
    struct adl_jobs_act_options o = {.reason = NULL};
    struct adl_operands operands;
    struct adl_error err;
    char reason[ADL_REFUSAL_SIZE];
    double value;
    int code;
    if (!adl_cli_parse(&priority, argc, argv, &o, &operands, &code))
        return code;
    if (!adl_range_read_real(operands.items[--operands.count], &range, &value, reason))
        return adl_cli_fail(&priority, adl_fail(&err, ADL_EINVAL, "the priority %s", reason), &err);
    cJSON *body = cJSON_CreateObject();
    cJSON_AddNumberToObject(body, "priority", value);
    act.body = body;
    code = adl_jobs_act(&act, &o, &operands);
    cJSON_Delete(body);
    return code;
}

const struct adl_command_verb adl_verb_priority = {&priority, run_priority};
