/* whatif: what would be different if a job, the policy or the cluster were: on a running service, or in a scenario,
 * trace or recording at some time. */
#include "base/json.h"
#include "base/suggest.h"
#include "cli/begin.h"
#include "cli/cli.h"
#include "cli/client/client.h"
#include "cli/client/job_form.h"
#include "cli/client/job_number.h"
#include "cli/display.h"
#include "cli/quantity.h"
#include "cli/whatif/answer.h"
#include "cli/whatif/pause.h"
#include "experiment/run.h"
#include "sim/world_sim.h"
#include "twin/change.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HORIZON_S  (30 * 86400.0)
#define EVENTS_MAX 200000

struct options {
    struct adl_client_options client;
    const char *job, *types, *time, *instead, *add_nodes, *drain, *at, *submit;
    int64_t gpus;
    double priority;
    int64_t futures;
    bool json;
    /* of scenarios, traces and recordings */
    const char *cluster, *policy, *throughputs;
    struct adl_choice_options choice;
    int regime;
    int64_t seed, jobs;
};

static const char *const regimes[] = {"declared", "learned", NULL};
static const int regime_of[] = {ADL_REGIME_DECLARED, ADL_REGIME_LEARNED};

#define AT(field)                               offsetof(struct options, field)
#define TEXT(name, letter, member, value, help) ADL_ROW_TEXT(struct options, member, name, letter, value, help)

static const struct adl_option table[] = {
    TEXT("job", 'j', job, "JOB", "the job that is meant; without any change: what would start it sooner"),
    TEXT("types", 0, types, "TYPES", "its GPU types: +a100 as well, 'a100|v100' instead"),
    {"gpus", 'G', ADL_OPTION_INT, AT(gpus), 1, ADL_JOB_GPUS_MAX, NULL, "N", "its number of GPUs"},
    {"priority", 0, ADL_OPTION_REAL, AT(priority), 0, 1, NULL, "P", "its priority, 0 to 1"},
    TEXT("time", 't', time, "TIME", "its time limit, as Slurm's --time"),
    TEXT("instead", 0, instead, "POLICY", "another policy decides; on a service --policy means the same"),
    TEXT("add-nodes", 0, add_nodes, "NODES", "2xa100:8: two more nodes with eight a100 each"),
    TEXT("drain", 0, drain, "NODE[@TIME]", "the node takes no more jobs, from a time on: volta-1@18:00, volta-1@8h"),
    TEXT("submit", 0, submit, "SCRIPT", "service: a job that is not submitted yet, and what would start it sooner"),
    TEXT(
        "at", 0, at, "TIME",
        "scenario, trace, recording: the time in the run, 6h (unless given: when the job has been submitted); service: "
        "the time of --drain"),
    {"futures", 0, ADL_OPTION_INT, AT(futures), ADL_WHATIF_LEAST, 256, NULL, "N",
     "futures that are played with each change"},
    {"json", 0, ADL_OPTION_FLAG, AT(json), 0, 0, NULL, NULL, "print the answer as JSON"},
    TEXT("policy", 'p', policy, "POLICY", "scenario, trace: the policy that decides; service: see --instead"),
    TEXT("cluster", 'c', cluster, "FILE", "trace: the cluster that its jobs run on"),
    ADL_CHOICE_ROWS(struct options, choice, "scenario, trace: " ADL_SET_HELP, "scenario, trace: " ADL_VARIANTS_HELP),
    {"regime", 0, ADL_OPTION_NAME, AT(regime), 0, 0, regimes, "NAME",
     "scenario, trace: what policies know of run times: declared or learned"},
    {"seed", 's', ADL_OPTION_INT, AT(seed), 0, 9e15, NULL, "K", "scenario: the seed of the run"},
    {"jobs", 0, ADL_OPTION_INT, AT(jobs), 0, 1e9, NULL, "N", "scenario, trace: only so many jobs; 0 = all"},
    TEXT("throughputs", 0, throughputs, "FILE", "scenario, trace, recording: JSON with measured steps/s"),
    ADL_CLIENT_ROWS(struct options),
};

static const struct adl_verb verb = {
    .name = "whatif",
    .summary = "Plays futures of a running service, or of a scenario, trace or recording at some time, with and "
               "without a change, and says what differs: for a job, for all jobs, for energy.",
    .operands = "[SCENARIO|TRACE|RECORDING]",
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro whatif --job 12 --types +a100\n"
               "adlro whatif --drain volta-1 --at 18:00\n"
               "adlro whatif mixed64 --at 6h --policy adlro --job 300 --gpus 2\n"
               "adlro whatif month.sacct --cluster mycluster.yaml --at 2-12 --policy easy --instead adlro",
};

/* ---- a run of our own ---- */

/* "NODE" or "NODE@TIME", the time in the run. */
static int read_drain(const struct options *o, int64_t now_us, char node[ADL_NAME_SIZE], struct adl_change_words *words,
                      struct adl_error *err)
{
    const char *at = o->drain ? strchr(o->drain, '@') : NULL;
    int64_t time_s = 0;
    if (!o->drain)
        return 0;
    snprintf(node, ADL_NAME_SIZE, "%.*s", at ? (int)(at - o->drain) : (int)strlen(o->drain), o->drain);
    words->drain = node;
    const int status = at ? adl_duration_read(at + 1, "--drain NODE@TIME", &time_s, err) : 0;
    words->drain_us = at ? time_s * 1000000 : now_us;
    words->drain_in_us = words->drain_us - now_us;
    if (status == 0 && words->drain_us < now_us)
        return adl_fail(err, ADL_EINVAL, "--drain %.60s: that time is past; the run is at %.2f h", o->drain,
                        (double)now_us / 3.6e9);
    return status;
}

static int read_words(const struct options *o, const struct adl_scenario *scenario, struct adl_change_words *ret,
                      struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    *ret = (struct adl_change_words){
        .types = o->types, .gpus = o->gpus, .priority = o->priority, .add_nodes = o->add_nodes};
    if (o->instead) {
        ret->policy = adl_policy_find(o->instead);
        ret->policy_config = adl_run_policy_config(scenario);
        if (!ret->policy)
            return adl_fail(err, ADL_EINVAL, "there is no policy %s (`adlro policies` lists them)",
                            adl_quote(o->instead, quoted));
    }
    return o->time ? adl_duration_read(o->time, "--time", &ret->limit_s, err) : 0;
}

static void put_answer(const struct adl_pause_view *view, const struct options *o, const struct adl_whatif *whatif,
                       const struct adl_answer *alternatives, uint32_t count, bool advice, struct adl_text *ret)
{
    struct adl_json json = adl_json_start(ret, true);
    const bool of_job = o->job != NULL;
    adl_json_object(&json);
    adl_json_put_real(&json, "time_s", (double)adl_engine_state(view->fork.engine)->now_us * 1e-6);
    adl_json_put_string(&json, "policy", adl_engine_config(view->fork.engine)->policy->name);
    adl_json_put_string(&json, "job", o->job);
    adl_json_put_bool(&json, "advice", advice);
    adl_whatif_put(&json, whatif, of_job, alternatives, count,
                   advice ? adl_whatif_cheapest(alternatives, count, whatif) : ADL_NONE);
    adl_json_end(&json);
    adl_text_char(ret, '\n');
}

static int play(const struct options *o, const struct adl_pause *pause, struct adl_text *ret, struct adl_error *err)
{
    const struct adl_pause_view view = adl_pause_view(pause);
    const struct adl_state *state = adl_engine_state(view.fork.engine);
    struct adl_answer alternatives[ADL_CHANGES_MAX] = {0};
    struct adl_change_words words;
    struct adl_whatif whatif;
    char node[ADL_NAME_SIZE];
    const struct adl_whatif_config config = {.fork = view.fork,
                                             .recent = view.recent,
                                             .seed = 1,
                                             .futures = (uint32_t)o->futures,
                                             .horizon_s = HORIZON_S,
                                             .events_max = EVENTS_MAX,
                                             .of_job = o->job != NULL,
                                             .job = view.job};
    int status = read_words(o, view.scenario, &words, err);
    if (status == 0)
        status = read_drain(o, state->now_us, node, &words, err);
    if (status)
        return status;
    const bool advice = !adl_change_words_any(&words);
    uint32_t count = advice ? adl_whatif_choices(&config, 1, alternatives) : 1;
    if (!advice)
        status = adl_change_read(&words, state->cluster, &alternatives[0].change, err);
    if (status == 0)
        status = adl_whatif_play(&config, alternatives, count, &whatif, err);
    if (status == 0)
        put_answer(&view, o, &whatif, alternatives, count, advice, ret);
    return status;
}

static int ask_run(const struct options *o, const char *path, struct adl_text *ret, struct adl_error *err)
{
    struct adl_pause *pause = NULL;
    int64_t at_s = -1;
    struct adl_pause_request request = {.path = path,
                                        .cluster = o->cluster,
                                        .policy = o->policy ? o->policy : "easy",
                                        .choice = o->choice,
                                        .throughputs = o->throughputs,
                                        .regime = regime_of[o->regime],
                                        .seed = o->seed,
                                        .jobs = o->jobs,
                                        .job = o->job};
    if (o->submit)
        return adl_fail(err, ADL_EINVAL,
                        "--submit asks a running service: leave %.100s out. In a scenario, trace or recording --job "
                        "names one of its jobs, and --types, --gpus, --time and --priority change it",
                        path);
    if (!o->job && !o->at)
        return adl_fail(err, ADL_EINVAL, "give the time in the run as --at TIME, or a job as --job JOB");
    int status = o->at ? adl_duration_read(o->at, "--at", &at_s, err) : 0;
    request.at_us = at_s < 0 ? -1 : at_s * 1000000;
    if (status == 0)
        status = adl_pause_open(&request, &pause, err);
    if (status == 0)
        status = play(o, pause, ret, err);
    adl_pause_close(pause);
    return status;
}

/* ---- a service ---- */

static int add_drain(const struct options *o, struct adl_client *client, cJSON *body, struct adl_error *err)
{
    char node[ADL_NAME_SIZE];
    const char *at = strchr(o->drain, '@'), *when = at ? at + 1 : o->at;
    int64_t now_s = 0, time_s = 0;
    snprintf(node, sizeof node, "%.*s", at ? (int)(at - o->drain) : (int)strlen(o->drain), o->drain);
    cJSON_AddStringToObject(body, "drain", node);
    int status = when ? adl_client_now(client, &now_s, err) : 0;
    if (status == 0 && when)
        status = adl_begin_read(when, "--at", now_s, &time_s, err);
    if (status == 0 && when)
        cJSON_AddNumberToObject(body, "drain_s", (double)time_s);
    return status;
}

static int add_script(const struct options *o, struct adl_client *client, cJSON *body, struct adl_error *err)
{
    char script[4096], *operands[] = {script};
    struct adl_job_form form = {0};
    struct adl_text warnings = {0};
    cJSON *job = NULL;
    snprintf(script, sizeof script, "%s", o->submit);
    if (access(script, R_OK))
        return adl_fail(err, ADL_EINVAL, "--submit: the script %.200s cannot be read: %s", script, strerror(errno));
    const int status = adl_job_form_build(&form, operands, 1, false, client, &job, &warnings, err);
    adl_text_clear(&warnings);
    if (status == 0)
        cJSON_AddItemToObject(body, "submit", job);
    return status;
}

static int write_body(const struct options *o, struct adl_client *client, cJSON *body, struct adl_error *err)
{
    const char *instead = o->instead ? o->instead : o->policy;
    uint64_t id = 0;
    int64_t limit_s = 0;
    int status = o->job ? adl_job_number_find(client, o->job, &id, NULL, err) : 0;
    if (status == 0 && o->time)
        status = adl_duration_read(o->time, "--time", &limit_s, err);
    if (status == 0 && o->job)
        cJSON_AddNumberToObject(body, "job", (double)id);
    if (o->types)
        cJSON_AddStringToObject(body, "types", o->types);
    if (o->gpus > 0)
        cJSON_AddNumberToObject(body, "gpus", (double)o->gpus);
    if (o->priority >= 0)
        cJSON_AddNumberToObject(body, "priority", o->priority);
    if (limit_s > 0)
        cJSON_AddNumberToObject(body, "time_limit_s", (double)limit_s);
    if (instead)
        cJSON_AddStringToObject(body, "policy", instead);
    if (o->add_nodes)
        cJSON_AddStringToObject(body, "add_nodes", o->add_nodes);
    cJSON_AddNumberToObject(body, "futures", (double)o->futures);
    if (status == 0 && o->drain)
        status = add_drain(o, client, body, err);
    if (status == 0 && o->submit)
        status = add_script(o, client, body, err);
    return status;
}

static int ask_service(const struct options *o, struct adl_text *ret, struct adl_error *err)
{
    struct adl_client *client = NULL;
    cJSON *body = cJSON_CreateObject(), *answer = NULL;
    if (o->at && !o->drain) {
        cJSON_Delete(body);
        return adl_fail(err, ADL_EINVAL, "--at is the time of --drain on a service, or the time in a SCENARIO's run");
    }
    int status = body ? adl_client_create(&o->client, &client, err) : adl_fail(err, ADL_ENOMEM, "out of memory");
    if (status == 0)
        status = write_body(o, client, body, err);
    if (status == 0)
        status = adl_client_call(client, "POST", "/v1/whatif", body, &answer, err);
    char *printed = status == 0 ? cJSON_Print(answer) : NULL;
    if (printed)
        adl_text_put(ret, printed);
    cJSON_free(printed);
    cJSON_Delete(answer);
    cJSON_Delete(body);
    adl_client_destroy(client);
    return status;
}

/* ---- both ---- */

static int show(const struct options *o, const struct adl_text *answer, struct adl_error *err)
{
    struct adl_text text = {0};
    cJSON *document = cJSON_Parse(answer->data ? answer->data : "");
    if (!document)
        return adl_fail(err, ADL_EIO, "the answer is no JSON");
    if (o->json)
        adl_display_json(&text, document);
    else
        adl_answer_print(&text, document, o->submit ? "" : o->job);
    const int status = adl_output_write("-", &text, err);
    adl_text_clear(&text);
    cJSON_Delete(document);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {.priority = -1, .futures = 16, .seed = 1, .regime = 1};
    struct adl_operands operands;
    struct adl_text answer = {0};
    struct adl_error err;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    const bool service = operands.count == 0;
    const bool changes = o.types || o.gpus > 0 || o.priority >= 0 || o.time;
    int status = 0;
    if (changes && !o.job && !o.submit)
        status = adl_fail(&err, ADL_EINVAL, "--types, --gpus, --priority and --time change a job: name it with --job");
    else if (!o.job && !o.submit && !o.instead && !o.add_nodes && !o.drain && !(service && o.policy))
        status = adl_fail(
            &err, ADL_EINVAL,
            "give a change (--policy or --instead, --add-nodes, --drain) or a job (--job, --submit); `adlro whatif "
            "--help` has examples");
    if (status == 0)
        status = service ? ask_service(&o, &answer, &err) : ask_run(&o, operands.items[0], &answer, &err);
    if (status == 0)
        status = show(&o, &answer, &err);
    adl_text_clear(&answer);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_whatif = {&verb, run};
