/* backup: a copy of the service's state, taken while it runs. */
#include "cli/cli.h"
#include "store/store_backup.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

struct options {
    const char *state;
    bool json;
};

static const struct adl_option table[] = {
    ADL_ROW_TEXT(struct options, state, "state", 's', "DIR", "the service's state, as given to `adlro serve`"),
    ADL_ROW_FLAG(struct options, json, "json", 0, "print what the copy holds as JSON"),
};

static const struct adl_verb verb = {
    .name = "backup",
    .summary = "Copies the state of a service, which may be running, to a new folder DEST: everything acknowledged "
               "when the copy began. The copy is checked; `adlro serve --state DEST` runs on it. For the service's own "
               "user and root only.",
    .operands = "DEST",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro backup /backup/adlro-$(date +%F)\nadlro backup copy --state /var/lib/adlro --json",
};

static void print_json(const char *dest, const struct adl_store_backup *backup)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    adl_json_put_string(&json, "path", dest);
    adl_json_put_uint(&json, "bytes", (uint64_t)backup->bytes);
    adl_json_put_uint(&json, "jobs", (uint64_t)backup->jobs);
    adl_json_put_uint(&json, "live_jobs", (uint64_t)backup->live);
    adl_json_put_uint(&json, "last_job", backup->last_job);
    adl_json_end(&json);
    if (adl_text_status(&text) == 0)
        puts(text.data);
    adl_text_clear(&text);
}

static int run(int argc, char **argv)
{
    struct options o = {.state = "/var/lib/adlro"};
    struct adl_operands operands;
    struct adl_store_backup backup;
    struct adl_error err;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    char *dest = operands.items[0];
    while (strlen(dest) > 1 && dest[strlen(dest) - 1] == '/')
        dest[strlen(dest) - 1] = '\0';
    const int status = adl_store_backup(o.state, dest, &backup, &err);
    if (status)
        return adl_cli_fail(&verb, status, &err);
    if (o.json)
        print_json(dest, &backup);
    else
        printf("%s: %lld jobs, %lld of them live, %.1f MiB, checked\n", dest, (long long)backup.jobs,
               (long long)backup.live, (double)backup.bytes / 1048576);
    return fflush(stdout) == 0 ? ADL_EXIT_DONE : ADL_EXIT_FAILED;
}

const struct adl_command_verb adl_verb_backup = {&verb, run};
