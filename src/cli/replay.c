/* replay: runs a recording through the same core again: every decision must be as recorded. Or a trace of jobs, see
 * replay_trace.c: a file whose first line is not the header of a recording. */
#include "cli/replay.h"
#include "base/json.h"
#include "cli/belief_file.h"
#include "cli/cli.h"
#include "engine/engine.h"
#include "engine/world_log.h"
#include "experiment/recording.h"
#include "experiment/run.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* adl_regime_names, and auto at ADL_REGIME_COUNT. */
static const char *const regimes[] = {"declared", "oracle", "learned", "auto", NULL};

#define AT(field) offsetof(struct adl_replay_options, field)

static const struct adl_option table[] = {
    {"json", 0, ADL_OPTION_TEXT, AT(json), 0, 0, NULL, "FILE",
     "write all figures as JSON (- is standard output, instead of the table)"},
    {"cluster", 'c', ADL_OPTION_TEXT, AT(cluster), 0, 0, NULL, "FILE",
     "trace: the cluster to run its jobs on: a YAML file, or the name of a shipped cluster or scenario"},
    {"policies", 'p', ADL_OPTION_TEXT, AT(policies), 0, 0, NULL, "P[,P...]",
     "trace: policies; the first is the baseline for the others"},
    ADL_CHOICE_ROWS(struct adl_replay_options, choice, "trace: " ADL_SET_HELP, "trace: " ADL_VARIANTS_HELP),
    {"model", 'm', ADL_OPTION_TEXT, AT(model), 0, 0, NULL, "FILE",
     "network from `adlro train` that its policy (dqn, market or adlro) uses instead of the shipped one"},
    {"format", 0, ADL_OPTION_TEXT, AT(format), 0, 0, NULL, "NAME",
     "trace: csv, philly, openb, gavel, helios, swf or sacct, if its first lines do not tell"},
    {"time-unit", 0, ADL_OPTION_NAME, AT(time_unit), 0, 0, adl_time_unit_names, "UNIT",
     "trace: unit of its times if the format does not define it: s, ms, min, h; own = the format's usual one"},
    {"throughputs", 0, ADL_OPTION_TEXT, AT(throughputs), 0, 0, NULL, "FILE",
     "JSON with measured steps/s by GPU type and job: for a recording whose scenario names it; for a trace whose "
     "jobs give their work in steps"},
    {"belief", 0, ADL_OPTION_TEXT, AT(belief), 0, 0, NULL, "FILE",
     ADL_BELIEF_HELP "; of a recording: the one that it was made with"},
    {"learn", 0, ADL_OPTION_TEXT, AT(learn), 0, 0, NULL, "FILE",
     "trace: write what its jobs teach, for --belief, and run nothing; GPU types count only with --cluster"},
    {"strict", 0, ADL_OPTION_FLAG, AT(strict), 0, 0, NULL, NULL,
     "trace: treat a row that cannot be used as an error instead of counting it"},
    {"jobs", 0, ADL_OPTION_INT, AT(jobs), 0, 1e9, NULL, "N", "trace: only the first N jobs; 0 = all"},
    {"regime", 0, ADL_OPTION_NAME, AT(regime), 0, 0, regimes, "NAME",
     "trace: what policies know of run times: declared (users' limits), learned (similar jobs), oracle (truth), or "
     "auto: declared if the trace has limits, else learned"},
    {"site-limit", 0, ADL_OPTION_TEXT, AT(site_limit), 0, 0, NULL, "TIME",
     "trace: the limit that policies are told of jobs without one, as Slurm's --time; no job is ended at it"},
    {"threads", 0, ADL_OPTION_INT, AT(threads), 0, 64, NULL, "N",
     "trace: 0 = all cores; the result does not depend on it"},
    {"csv", 0, ADL_OPTION_TEXT, AT(csv), 0, 0, NULL, "FILE", "trace: write a row per policy"},
    {"html", 0, ADL_OPTION_TEXT, AT(html), 0, 0, NULL, "FILE", "trace: write one self-contained page with plots"},
    {"export", 0, ADL_OPTION_TEXT, AT(export), 0, 0, NULL, "FILE",
     "trace: convert it to adlro's own CSV; without --cluster nothing else is done"},
    {"no-timing", 0, ADL_OPTION_FLAG, AT(no_timing), 0, 0, NULL, NULL,
     "leave wall-clock figures out of JSON and CSV, so that equal runs give equal bytes"},
};

static const struct adl_verb verb = {
    .name = "replay",
    .summary = "Runs a recording through the decision core again and checks that every decision is the same; or "
               "runs the jobs of a trace under several policies and reports how they differ.",
    .operands = "RECORDING|TRACE",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .alias = {"policy", "policies"},
    .example = "adlro simulate paper16 --log run.log && adlro replay run.log\n"
               "adlro replay month.csv --cluster pool64 --policies fcfs,easy\n"
               "adlro replay year.sacct --learn belief.db",
};

static int read_catalogue(void *text, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    char *copy = strdup(text);
    if (!copy)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %s", path);
    *ret_text = copy;
    *ret_size = strlen(copy);
    return 0;
}

static int report(const struct adl_engine *engine, const struct adl_recording_head *head,
                  const struct adl_world_log *world, const char *json, struct adl_error *err)
{
    const struct adl_engine_counts *counts = adl_engine_counts(engine);
    struct adl_text text = {0};
    char hash[20];
    snprintf(hash, sizeof hash, "%016" PRIx64, counts->plan_hash);
    if (json) {
        struct adl_json out = adl_json_start(&text, true);
        adl_json_object(&out);
        adl_json_put_string(&out, "policy", head->policy);
        adl_json_put_uint(&out, "events", counts->events);
        adl_json_put_uint(&out, "decisions", world->decisions);
        adl_json_key(&out, "reasoned"); /* decisions with reasons in the recording */
        adl_json_uint(&out, world->reasoned);
        adl_json_key(&out, "reasons_differ"); /* from those given now */
        adl_json_uint(&out, world->differ);
        adl_json_put_uint(&out, "commands", counts->commands);
        adl_json_put_string(&out, "plan_hash", hash);
        adl_json_end(&out);
        adl_text_char(&text, '\n');
    } else {
        adl_text_printf(
            &text, "%s on seed %" PRIu64 ": %" PRIu64 " events, %" PRIu64 " decisions, all as recorded (plan %s)\n",
            head->policy, head->seed, counts->events, world->decisions, hash);
        if (world->differ > 0)
            adl_text_printf(&text,
                            "the reasons given for %" PRIu64 " of %" PRIu64 " decisions differ from the recorded\n",
                            world->differ, world->reasoned);
    }
    const int status = adl_output_write(json ? json : "-", &text, err);
    adl_text_clear(&text);
    return status;
}

/* Only the belief that the recorded run started with gives its decisions again. */
static int take_belief(const struct adl_recording_head *head, const char *path, const struct adl_belief_terms *terms,
                       struct adl_engine *engine, struct adl_error *err)
{
    struct adl_belief_file file = {0};
    char sealed[20];
    if (head->belief && !path)
        return adl_fail(err, ADL_EINVAL,
                        "the recorded run started with a belief of checksum %.16s: give the file as --belief FILE",
                        head->belief);
    int status = adl_belief_file_read(path, terms, strcmp(head->regime, "learned") == 0, &file, err);
    adl_belief_file_seal(&file, sealed);
    if (status == 0 && path && (!head->belief || strcmp(sealed, head->belief) != 0))
        status = adl_fail(err, ADL_EINVAL, "%.150s has checksum %s, and the recorded run started with %.16s%s", path,
                          sealed, head->belief ? head->belief : "no belief", head->belief ? ": another belief" : "");
    if (status == 0 && path)
        status = adl_belief_decode(adl_engine_belief(engine), NULL, file.bytes, file.size, terms, &file.account, err);
    adl_belief_file_clear(&file);
    return status;
}

static int run_recording(struct adl_recording *recording, const struct adl_recording_head *head,
                         const struct adl_policy_ops *policy, const struct adl_scenario *scenario,
                         const struct adl_replay_options *o, struct adl_error *err)
{
    struct adl_engine *engine = NULL;
    struct adl_world_log world = {.source = {recording, adl_recording_next}};
    const struct adl_engine_config config = {.cluster = &scenario->cluster,
                                             .policy = policy,
                                             .policy_config = adl_run_policy_config(scenario),
                                             .seed = head->seed,
                                             .learned = strcmp(head->regime, "learned") == 0,
                                             .world_ops = &adl_world_log_ops,
                                             .world = &world};
    adl_recording_set_types(recording, scenario->cluster.type_count);
    const struct adl_belief_terms terms = adl_run_terms(scenario, NULL);
    int status = adl_engine_create(&config, &engine, err);
    if (status == 0)
        status = take_belief(head, o->belief, &terms, engine, err);
    if (status == 0) {
        status = adl_engine_run(engine, err);
        if (status)
            adl_recording_blame(recording, status, err);
    }
    if (status == 0)
        status = report(engine, head, &world, o->json, err);
    adl_engine_destroy(engine);
    return status;
}

/* What the policy was told beyond the scenario; a recording may come from anywhere. */
static int take_settings(const char *settings, const struct adl_policy_ops *policy, struct adl_scenario *scenario,
                         struct adl_error *err)
{
    for (const char *at = settings; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n')) {
        const size_t length = strcspn(at, "\n"), name_length = strcspn(at, "=\n");
        char name[ADL_NAME_SIZE], value[ADL_POLICY_VALUE_SIZE], reason[ADL_POLICY_REASON_SIZE] = "is not complete";
        const bool fits = name_length < length && name_length < sizeof name && length - name_length <= sizeof value;
        snprintf(name, sizeof name, "%.*s", fits ? (int)name_length : 0, at);
        snprintf(value, sizeof value, "%.*s", fits ? (int)(length - name_length - 1) : 0, at + name_length + 1);
        const struct adl_policy_option *option = fits ? adl_policy_option_find(policy, name) : NULL;
        if (!option || !adl_policy_option_check(option, value, &scenario->cluster, reason))
            return adl_fail(err, ADL_EINVAL, "the recording's settings of policy %s: '%s' %s", policy->name, name,
                            option ? reason : "is not an option of this version");
        if (adl_scenario_add_setting(scenario, name, value))
            return adl_fail(err, ADL_ENOMEM, "out of memory");
    }
    return 0;
}

static const struct adl_policy_ops *find_policy(const struct adl_cli_plugins *plugins, const char *name)
{
    for (uint32_t i = 0; plugins && i < plugins->count; i++)
        if (strcmp(plugins->policies[i]->name, name) == 0)
            return plugins->policies[i];
    return adl_policy_find(name);
}

int adl_replay_prepare(const struct adl_recording_head *head, const char *throughputs_path,
                       const struct adl_cli_plugins *plugins, const struct adl_policy_ops **ret_policy,
                       struct adl_scenario *ret, struct adl_error *err)
{
    char *catalogue = strdup(head->catalogue);
    struct adl_throughputs *throughputs = NULL;
    const struct adl_policy_ops *policy = find_policy(plugins, head->policy);
    if (!catalogue)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    int status =
        policy
            ? 0
            : adl_fail(err, ADL_EINVAL,
                       "the recording was made with policy '%s', which this version lacks (--policy-plugin loads one)",
                       head->policy);
    if (status == 0 && throughputs_path)
        status = adl_throughputs_load(throughputs_path, &throughputs, err);
    const struct adl_scenario_source source = {
        .read = read_catalogue, .context = catalogue, .throughputs = throughputs};
    if (status == 0)
        status = adl_scenario_parse(head->name, head->scenario, strlen(head->scenario), &source, ret, err);
    if (status == 0 && policy && head->settings)
        status = take_settings(head->settings, policy, ret, err);
    adl_throughputs_destroy(throughputs);
    free(catalogue);
    if (status == 0)
        *ret_policy = policy;
    return status;
}

static int replay(struct adl_recording *recording, const struct adl_recording_head *head,
                  const struct adl_replay_options *o, struct adl_error *err)
{
    char *model = NULL;
    const struct adl_policy_ops *policy = NULL;
    struct adl_scenario scenario = {0};
    struct adl_cli_plugins plugins = {0};
    int status = adl_cli_plugins_load(&o->choice.plugins, &plugins, err);
    if (status == 0)
        status = adl_replay_prepare(head, o->throughputs, &plugins, &policy, &scenario, err);
    if (status == 0)
        status = adl_cli_model(o->model, &scenario, &model, err);
    if (status == ADL_EIO)
        status = ADL_EINVAL; /* a wrong file name */
    if (status == 0)
        status = run_recording(recording, head, policy, &scenario, o, err);
    adl_cli_plugins_unload(&plugins);
    adl_scenario_clear(&scenario);
    free(model);
    return status;
}

/* A recording is lines of JSON; no trace begins with a brace. */
static bool is_recording(FILE *file)
{
    const int first = getc(file);
    ungetc(first, file);
    return first == '{';
}

/* Options whose help begins with "trace:" do not apply to a recording, which has its own cluster, jobs and policy. */
static int refuse_for_traces(const char *path, uint64_t seen, struct adl_error *err)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if ((seen >> i & 1) && strncmp(table[i].help, "trace:", 6) == 0)
            return adl_fail(err, ADL_EINVAL,
                            "%.150s is a recording, which has its own cluster, jobs and policy: --%s is for traces "
                            "(`adlro compare SCENARIO --policies ...` runs a scenario under other policies)",
                            path, table[i].name);
    return 0;
}

static int replay_recording(const char *path, FILE *file, const struct adl_replay_options *o, uint64_t seen,
                            struct adl_error *err)
{
    struct adl_recording *recording = NULL;
    struct adl_recording_head head;
    int status = refuse_for_traces(path, seen, err);
    status = status ? status : adl_outputs_check(&o->json, 1, path, err);
    status = status ? status : adl_recording_open(path, file, &recording, &head, err);
    status = status ? status : replay(recording, &head, o, err);
    adl_recording_close(recording);
    return status;
}

static int run(int argc, char **argv)
{
    struct adl_replay_options o = {.policies = "fcfs,sjf,easy", .regime = ADL_REGIME_COUNT};
    struct adl_operands operands;
    struct adl_error err;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    const char *path = operands.items[0];
    FILE *file = fopen(path, "rb");
    if (!file) {
        adl_fail(&err, ADL_EINVAL, "cannot read %s: %s", path, strerror(errno));
        return adl_cli_fail(&verb, ADL_EINVAL, &err);
    }
    const bool recorded = is_recording(file);
    int status = recorded ? replay_recording(path, file, &o, operands.seen, &err) : 0;
    fclose(file);
    if (!recorded)
        status = adl_replay_trace(path, &o, &err);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_replay = {&verb, run};
