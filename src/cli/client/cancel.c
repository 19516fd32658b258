/* cancel: cancels pending and running jobs. */
#include "cli/client/jobs_act.h"

#include <limits.h>

static const struct adl_option table[] = {
    ADL_ROW_TEXT(struct adl_jobs_act_options, reason, "reason", 0, "TEXT", "reason to be recorded"),
    ADL_JOBS_ACT_ROWS,
};

static const struct adl_verb verb = {
    .name = "cancel",
    .summary = "Cancels jobs: a pending one at once, a running one by SIGTERM and, after the grace time, SIGKILL.",
    .operands = "JOB...",
    .operands_min = 1,
    .operands_max = INT_MAX,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro cancel 12\nadlro cancel 12_3 14 --reason 'wrong data'",
};

static int run(int argc, char **argv)
{
    static const struct adl_jobs_act act = {.verb = &verb, .method = "DELETE", .suffix = "", .done = "cancelled"};
    struct adl_jobs_act_options o = {.reason = NULL};
    struct adl_operands operands;
    int code;
    return adl_cli_parse(&verb, argc, argv, &o, &operands, &code) ? adl_jobs_act(&act, &o, &operands) : code;
}

const struct adl_command_verb adl_verb_cancel = {&verb, run};
