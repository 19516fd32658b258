/* slurm: checks a Slurm cluster's configuration before adlro is installed there, and reports what has to change. */
#include "base/json.h"
#include "cli/cli.h"
#include "cli/display.h"
#include "cli/slurm/slurm_check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct options {
    const char *conf;
    const char *partitions;
    const char *types;
    const char *diff;
    const char *slurmctld;
    bool json;
};

#define DEFAULT_CONF "/etc/slurm/slurm.conf"

static const struct adl_option table[] = {
    ADL_ROW_TEXT(struct options, conf, "conf", 'c', "FILE", "the slurm.conf to check; gres.conf is beside it"),
    ADL_ROW_TEXT(struct options, partitions, "partitions", 'p', "P[,P...]",
                 "the partitions that adlro is to schedule; by default all that have GPUs"),
    ADL_ROW_TEXT(struct options, types, "types", 0, "LIST",
                 "types of GPUs that have none yet, as 'v[0-3]=volta;t0=turing'"),
    ADL_ROW_TEXT(struct options, diff, "diff", 0, "FILE",
                 "write the diff to this file (-: to standard output, and nothing else)"),
    ADL_ROW_TEXT(struct options, slurmctld, "slurmctld", 0, "FILE", "the program to ask for Slurm's version"),
    ADL_ROW_FLAG(struct options, json, "json", 0, "as JSON"),
};

static const struct adl_verb verb = {
    .name = "slurm",
    .summary =
        "Checks a Slurm cluster's configuration before adlro is installed there: what has to change, as a diff for "
        "`patch -d / -p1`, and what to know. Nothing is changed. Exits with 1 if something has to change, else 0.",
    .operands = "check",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro slurm check --conf /etc/slurm/slurm.conf --partitions gpu\n"
               "adlro slurm check --partitions gpu --diff - | patch -d / -p1",
};

/* ---- the version ---- */

/* The first line of what arrives within two seconds. */
static void read_line(int fd, char *line, size_t size)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    size_t used = 0;
    while (used + 1 < size && poll(&wait, 1, 2000) == 1) {
        const ssize_t got = read(fd, line + used, size - 1 - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    line[used] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

/* `slurmctld -V`, without a shell; false if there is no such program or it prints nothing. */
static bool ask_version(const char *program, char *ret, size_t size)
{
    static char flag[] = "-V";
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t child;
    char name[] = "slurmctld", *const arguments[] = {name, flag, NULL};
    if (pipe(ends) != 0)
        return false;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    const int failed = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *ret = '\0';
    if (!failed) {
        int status;
        read_line(ends[0], ret, size);
        kill(child, SIGKILL); /* its answer is complete */
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    close(ends[0]);
    return *ret != '\0';
}

/* ---- the report ---- */

static const char *const level_names[ADL_FINDING_LEVELS] = {"change", "warn", "ok"};

#define COLUMNS 100
#define INDENT  8

static void put_wrapped(struct adl_text *text, const char *words)
{
    struct adl_text safe = {0};
    size_t column = 0;
    adl_display_put(&safe, words, ADL_DISPLAY_ALL);
    for (const char *word = safe.data ? safe.data : ""; *word;) {
        const size_t length = strcspn(word, " ");
        if (column == 0 || column + 1 + length > COLUMNS) {
            adl_text_put(text, column ? "\n" : "");
            adl_text_repeat(text, ' ', INDENT);
            column = INDENT;
        } else {
            adl_text_char(text, ' ');
            column++;
        }
        adl_text_bytes(text, word, length);
        column += length;
        word += length;
        word += *word == ' ';
    }
    adl_text_char(text, '\n');
    adl_text_clear(&safe);
}

static void put_finding(struct adl_text *text, const struct adl_finding *finding)
{
    adl_text_printf(text, "%-*s", INDENT, level_names[finding->level]);
    adl_text_put(text, finding->subject);
    if (finding->path) {
        adl_text_put(text, "  ");
        adl_display_put(text, finding->path, ADL_DISPLAY_ALL);
        if (finding->line)
            adl_text_printf(text, ":%u", finding->line);
    }
    adl_text_char(text, '\n');
    put_wrapped(text, finding->text);
}

static void put_partitions(struct adl_text *text, const struct adl_slurm_check *check)
{
    size_t count = 0;
    for (size_t i = 0; i < check->layout.partition_count; i++)
        if (check->ours[i]) {
            adl_text_put(text, count++ ? ", " : "Partitions for adlro: ");
            adl_display_put(text, check->layout.partitions[i].name, 60);
        }
    adl_text_put(text, count ? "\n\n" : "");
}

static void put_summary(struct adl_text *text, const struct adl_slurm_check *check)
{
    const size_t changes = adl_slurm_check_count(check, ADL_FINDING_CHANGE);
    size_t edited = 0;
    for (size_t i = 0; i < check->finding_count; i++)
        edited += check->findings[i].edited;
    adl_text_printf(text, "\n%zu to change, %zu to know, %zu as it should be.\n", changes,
                    adl_slurm_check_count(check, ADL_FINDING_WARN), adl_slurm_check_count(check, ADL_FINDING_OK));
    if (edited < changes)
        adl_text_printf(text, "The diff cannot make %zu of these changes: see above.\n", changes - edited);
    if (edited > 0)
        adl_text_put(text, "The diff, for `patch -d / -p1` (--diff FILE writes it alone):\n\n");
}

static void put_report(struct adl_text *text, const struct adl_slurm_check *check, const struct adl_text *diff)
{
    put_partitions(text, check);
    for (size_t i = 0; i < check->finding_count; i++)
        put_finding(text, &check->findings[i]);
    put_summary(text, check);
    adl_text_bytes(text, diff->data ? diff->data : "", diff->size);
}

static void put_finding_json(struct adl_json *json, const struct adl_finding *finding)
{
    adl_json_object(json);
    adl_json_key(json, "level");
    adl_json_string(json, level_names[finding->level]);
    adl_json_key(json, "subject");
    adl_json_string(json, finding->subject);
    adl_json_key(json, "file");
    adl_json_string(json, finding->path);
    adl_json_key(json, "line");
    if (finding->line)
        adl_json_uint(json, finding->line);
    else
        adl_json_null(json);
    adl_json_key(json, "text");
    adl_json_string(json, finding->text);
    adl_json_key(json, "in_diff");
    adl_json_bool(json, finding->edited);
    adl_json_end(json);
}

static void put_json(struct adl_text *text, const struct adl_slurm_check *check, const struct adl_text *diff)
{
    struct adl_json json = adl_json_start(text, true);
    adl_json_object(&json);
    adl_json_key(&json, "conf");
    adl_json_string(&json, check->request.conf);
    adl_json_key(&json, "version");
    adl_json_string(&json, check->request.version);
    adl_json_key(&json, "partitions");
    adl_json_array(&json);
    for (size_t i = 0; i < check->layout.partition_count; i++)
        if (check->ours[i])
            adl_json_string(&json, check->layout.partitions[i].name);
    adl_json_end(&json);
    for (int level = 0; level < ADL_FINDING_LEVELS; level++) {
        adl_json_key(&json, level_names[level]);
        adl_json_uint(&json, adl_slurm_check_count(check, level));
    }
    adl_json_key(&json, "findings");
    adl_json_array(&json);
    for (size_t i = 0; i < check->finding_count; i++)
        put_finding_json(&json, &check->findings[i]);
    adl_json_end(&json);
    adl_json_key(&json, "diff");
    adl_json_string(&json, diff->data ? diff->data : "");
    adl_json_end(&json);
    adl_text_char(text, '\n');
}

static int report(const struct options *o, const struct adl_slurm_check *check, struct adl_error *err)
{
    struct adl_text text = {0}, diff = {0};
    const bool alone = adl_output_is_stdout(o->diff);
    int status = adl_slurm_check_diff(check, &diff, err);
    if (status == 0 && o->diff)
        status = adl_output_write(o->diff, &diff, err);
    if (status == 0 && !alone) {
        if (o->json)
            put_json(&text, check, &diff);
        else
            put_report(&text, check, &diff);
        status = adl_output_write("-", &text, err);
    }
    adl_text_clear(&text);
    adl_text_clear(&diff);
    return status;
}

static int check_operands(const struct options *o, const struct adl_operands *operands, struct adl_error *err)
{
    if (strcmp(operands->items[0], "check") != 0)
        return adl_fail(err, ADL_EINVAL, "there is only `adlro slurm check`, got '%.60s'", operands->items[0]);
    if (o->json && adl_output_is_stdout(o->diff))
        return adl_fail(err, ADL_EINVAL, "two outputs would go to standard output: --json and --diff -");
    return adl_outputs_check(&o->diff, 1, o->conf, err);
}

static int run(int argc, char **argv)
{
    struct options o = {.conf = DEFAULT_CONF, .slurmctld = "slurmctld"};
    struct adl_operands operands;
    struct adl_slurm_check check = {.has_gres = false};
    struct adl_error err;
    char version[128];
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    int status = check_operands(&o, &operands, &err);
    if (status == 0) {
        const bool known = ask_version(o.slurmctld, version, sizeof version);
        const struct adl_slurm_check_request request = {
            .conf = o.conf, .partitions = o.partitions, .types = o.types, .version = known ? version : NULL};
        status = adl_slurm_check_run(&request, &check, &err);
    }
    if (status == 0)
        status = report(&o, &check, &err);
    const size_t changes = status ? 0 : adl_slurm_check_count(&check, ADL_FINDING_CHANGE);
    adl_slurm_check_clear(&check);
    if (status)
        return adl_cli_fail(&verb, status, &err);
    return changes > 0 ? ADL_EXIT_FAILED : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_slurm = {&verb, run};
