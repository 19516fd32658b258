/* replay: a recorded run once more, through the same core: every decision must come out as recorded. */
#include "base/json.h"
#include "cli/cli.h"
#include "engine/engine.h"
#include "engine/world_log.h"
#include "experiment/run.h"
#include "ingest/recording.h"
#include "ingest/scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    bool json;
};

static const struct adl_option table[] = {
    {"json", 0, ADL_OPTION_FLAG, offsetof(struct options, json), 0, 0, NULL, NULL, "report as JSON"},
};

static const struct adl_verb verb = {
    .name = "replay",
    .summary = "Plays a recording back through the decision core and checks that every decision comes out the same.",
    .operands = "RECORDING",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = 1,
    .example = "adlro simulate scenarios/paper16.yaml --log run.log && adlro replay run.log",
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

static int report(const struct adl_engine *engine, const struct adl_recording_head *head, uint64_t decisions, bool json,
                  struct adl_error *err)
{
    const struct adl_engine_counts *counts = adl_engine_counts(engine);
    struct adl_text text = {0};
    char hash[20];
    snprintf(hash, sizeof hash, "%016" PRIx64, counts->plan_hash);
    if (json) {
        struct adl_json out = adl_json_start(&text, true);
        adl_json_object(&out);
        adl_json_key(&out, "policy");
        adl_json_string(&out, head->policy);
        adl_json_key(&out, "events");
        adl_json_uint(&out, counts->events);
        adl_json_key(&out, "decisions");
        adl_json_uint(&out, decisions);
        adl_json_key(&out, "commands");
        adl_json_uint(&out, counts->commands);
        adl_json_key(&out, "plan_hash");
        adl_json_string(&out, hash);
        adl_json_end(&out);
        adl_text_char(&text, '\n');
    } else {
        adl_text_printf(
            &text, "%s on seed %" PRIu64 ": %" PRIu64 " events, %" PRIu64 " decisions, all as recorded (plan %s)\n",
            head->policy, head->seed, counts->events, decisions, hash);
    }
    const int status = adl_output_write("-", &text, err);
    adl_text_clear(&text);
    return status;
}

static int replay(struct adl_recording *recording, const struct adl_recording_head *head, bool json,
                  struct adl_error *err)
{
    char *catalogue = strdup(head->catalogue);
    const struct adl_scenario_source source = {read_catalogue, catalogue};
    const struct adl_policy_ops *policy = adl_policy_find(head->policy);
    struct adl_scenario scenario = {0};
    struct adl_engine *engine = NULL;
    if (!catalogue)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    int status = policy ? 0
                        : adl_fail(err, ADL_EINVAL, "the recording was made with policy '%s', which this version lacks",
                                   head->policy);
    if (status == 0)
        status = adl_scenario_parse(head->name, head->scenario, strlen(head->scenario), &source, &scenario, err);
    free(catalogue);
    if (status)
        return status;
    adl_recording_set_types(recording, scenario.cluster.type_count);
    struct adl_world_log world = {.source = {recording, adl_recording_next}};
    const struct adl_engine_config config = {.cluster = &scenario.cluster,
                                             .policy = policy,
                                             .policy_config = adl_run_policy_config(&scenario),
                                             .seed = head->seed,
                                             .world_ops = &adl_world_log_ops,
                                             .world = &world};
    status = adl_engine_create(&config, &engine, err);
    if (status == 0) {
        status = adl_engine_run(engine, err);
        if (status)
            adl_recording_blame(recording, status, err);
    }
    if (status == 0)
        status = report(engine, head, world.decisions, json, err);
    adl_engine_destroy(engine);
    adl_scenario_clear(&scenario);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {false};
    struct adl_operands operands;
    struct adl_error err;
    struct adl_recording *recording = NULL;
    struct adl_recording_head head;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    const char *path = operands.items[0];
    FILE *file = fopen(path, "rb");
    if (!file) {
        adl_fail(&err, ADL_EINVAL, "cannot read %s: %s", path, strerror(errno));
        return adl_cli_fail(&verb, ADL_EINVAL, &err);
    }
    int status = adl_recording_open(path, file, &recording, &head, &err);
    if (status == 0)
        status = replay(recording, &head, o.json, &err);
    adl_recording_close(recording);
    fclose(file);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_replay = {&verb, run};
