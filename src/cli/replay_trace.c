/* replay_trace: a trace of jobs under several policies on a cluster: the output of compare, and how many rows were
 * used. */
#include "base/suggest.h"
#include "cli/belief_file.h"
#include "cli/cli.h"
#include "cli/quantity.h"
#include "cli/replay.h"
#include "cli/reports.h"
#include "experiment/learning.h"
#include "experiment/run.h"
#include "experiment/trace_supply.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const adl_time_unit_names[] = {"own", "s", "ms", "min", "h", NULL};
static const double unit_s[] = {0, 1, 1e-3, 60, 3600};

/* State of one replay. */
struct replay {
    const char *path;
    const struct adl_replay_options *options;
    struct adl_trace_options trace;
    struct adl_cli_choices choices;
    struct adl_scenario scenario;
    struct adl_trace_account account;
    struct adl_belief_file belief;
    int regime;
    int64_t site_limit_us;
};

static int find_format(const char *name, int *ret, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE], known[160] = "";
    struct adl_suggest suggest = {.word = name};
    *ret = name ? adl_trace_format_find(name) : ADL_TRACE_AUTO;
    if (*ret >= 0)
        return 0;
    for (int i = ADL_TRACE_AUTO + 1; i < ADL_TRACE_FORMAT_COUNT; i++) {
        adl_suggest_offer(&suggest, adl_trace_format_name(i));
        adl_list_append(known, sizeof known, adl_trace_format_name(i));
    }
    return adl_fail(err, ADL_EINVAL, "there is no trace format %s%s (formats: %s)", adl_quote(name, quoted),
                    adl_suggest_phrase(&suggest, phrase), known);
}

/* The scenario is named after the trace: its file's name without folder and extensions. */
static void name_scenario(struct replay *replay)
{
    const char *slash = strrchr(replay->path, '/'), *name = slash ? slash + 1 : replay->path;
    char *description = replay->scenario.description, cluster[sizeof replay->scenario.description];
    size_t length = strcspn(name, ".");
    length = length ? length : strlen(name);
    if (length >= sizeof replay->scenario.name)
        length = sizeof replay->scenario.name - 1;
    memcpy(cluster, description, sizeof cluster);
    snprintf(description, sizeof replay->scenario.description, "a trace on the cluster %s. %.300s",
             replay->scenario.name, cluster);
    memset(replay->scenario.name, 0, sizeof replay->scenario.name);
    memcpy(replay->scenario.name, name, length);
}

static bool left_out(int reason)
{
    return reason != ADL_TRACE_USED && reason != ADL_TRACE_OUT_OF_ORDER;
}

static void put_account_json(const void *self, struct adl_json *json)
{
    const struct replay *replay = self;
    const struct adl_trace_account *account = &replay->account;
    adl_json_key(json, "trace");
    adl_json_object(json);
    adl_json_put_string(json, "file", replay->path);
    adl_json_put_string(json, "format", adl_trace_format_name(account->format));
    adl_json_key(json, "rows");
    adl_json_flat(json);
    adl_json_object(json);
    for (int i = 0; i < ADL_TRACE_REASON_COUNT; i++) {
        adl_json_key(json, adl_trace_reason_name(i));
        adl_json_uint(json, account->rows[i]);
    }
    adl_json_end(json);
    adl_json_put_uint(json, "jobs", account->jobs);
    adl_json_put_uint(json, "without_limit", account->without_limit);
    adl_json_end(json);
}

/* Why rows were left out, if the user can do something about it; otherwise an empty text. */
static const char *advise(const struct replay *replay, char *ret, size_t size)
{
    const struct adl_trace_account *account = &replay->account;
    const struct adl_cluster *cluster = &replay->scenario.cluster;
    char quoted[ADL_QUOTE_SIZE], known[120] = "";
    ret[0] = '\0';
    for (uint32_t i = 0; i < cluster->type_count; i++)
        adl_list_append(known, sizeof known, cluster->types[i].name);
    if (account->unknown_line > 0)
        snprintf(ret, size, "line %" PRIu64 " asks for GPU type %s, the cluster's types are %s", account->unknown_line,
                 adl_quote(account->unknown_types, quoted), known);
    else if (account->format == ADL_TRACE_SACCT && account->rows[ADL_TRACE_NO_GPU] > 0 && account->jobs == 0)
        snprintf(ret, size, "sacct lists GPUs only on clusters with AccountingStorageTRES=gres/gpu");
    return ret;
}

static void put_account(struct adl_text *text, const void *self)
{
    const struct replay *replay = self;
    const struct adl_trace_account *account = &replay->account;
    const uint64_t used = account->rows[ADL_TRACE_USED];
    uint64_t others = 0;
    char advice[320];
    adl_text_printf(text, "\nTrace (%s): %" PRIu64 " rows used", adl_trace_format_name(account->format), account->jobs);
    if (account->jobs < used)
        adl_text_printf(text, " of %" PRIu64 " (--jobs)", used);
    for (int i = 0; i < ADL_TRACE_REASON_COUNT; i++)
        others += left_out(i) ? account->rows[i] : 0;
    adl_text_printf(text, ", %" PRIu64 " left out%s\n", others, others ? ":" : ".");
    for (int i = 0; i < ADL_TRACE_REASON_COUNT; i++)
        if (left_out(i) && account->rows[i] > 0)
            adl_text_printf(text, "  %10" PRIu64 "  %s\n", account->rows[i], adl_trace_reason_name(i));
    if (*advise(replay, advice, sizeof advice))
        adl_text_printf(text, "The first of unknown_type: %s.\n", advice);
    if (account->rows[ADL_TRACE_OUT_OF_ORDER] > 0)
        adl_text_printf(text, "Rows sorted because they were not in order of submission: %" PRIu64 ".\n",
                        account->rows[ADL_TRACE_OUT_OF_ORDER]);
    if (account->without_limit > 0)
        adl_text_printf(text, "Rows without a time limit: %" PRIu64 ".\n", account->without_limit);
}

static int no_jobs(const struct replay *replay, struct adl_error *err)
{
    char reasons[160] = "", advice[200];
    for (int i = 0; i < ADL_TRACE_REASON_COUNT; i++) {
        char one[80];
        snprintf(one, sizeof one, "%" PRIu64 " %.50s", replay->account.rows[i], adl_trace_reason_name(i));
        if (left_out(i) && replay->account.rows[i] > 0)
            adl_list_append(reasons, sizeof reasons, one);
    }
    return adl_fail(err, ADL_EINVAL, "%.120s: no row can be used on this cluster (%s)%s%s", replay->path,
                    *reasons ? reasons : "there is none", *advise(replay, advice, sizeof advice) ? "; " : "", advice);
}

static int compare(struct replay *replay, struct adl_trace_supply *supply, struct adl_error *err)
{
    const struct adl_replay_options *o = replay->options;
    const struct adl_job_supply jobs = adl_trace_supply_jobs(supply);
    struct adl_comparison comparison = {0};
    const struct adl_comparison_request request = {
        .scenario = &replay->scenario,
        .supply = &jobs,
        .policies = replay->choices.choices.policies,
        .policy_count = replay->choices.choices.count,
        .first_seed = 1,
        .seed_count = 1,
        .regime = replay->regime,
        .threads = o->threads ? (uint32_t)o->threads : adl_cli_cores(),
        .timelines = o->html != NULL,
        .actual = true,
        .belief = replay->belief.bytes,
        .belief_size = replay->belief.size,
    };
    const struct adl_report_more more = {put_account_json, replay};
    const struct adl_reports reports = {.json = o->json,
                                        .csv = o->csv,
                                        .html = o->html,
                                        .timing = !o->no_timing,
                                        .stdout_taken = adl_output_is_stdout(o->export),
                                        .more = &more,
                                        .below_table = put_account,
                                        .self = replay};
    int status = adl_reports_compare(request, &comparison, err);
    replay->account = adl_trace_supply_account(supply);
    replay->scenario.workload.jobs = replay->account.jobs;
    if (status == 0 && replay->scenario.workload.jobs == 0)
        status = no_jobs(replay, err);
    comparison.belief = replay->belief.note.data;
    comparison.limits =
        (struct adl_limits_given){replay->account.jobs, replay->account.without_limit, replay->site_limit_us};
    if (status == 0)
        status = adl_reports_write(&reports, &comparison, err);
    adl_comparison_clear(&comparison);
    return status;
}

/* If it was asked for. */
static int export_trace(const struct replay *replay, struct adl_error *err)
{
    const struct adl_replay_options *o = replay->options;
    return o->export ? adl_trace_export(replay->path, &replay->trace, (uint64_t)o->jobs, o->export, err) : 0;
}

/* ---- learning from a trace ---- */

static int write_learned(struct replay *replay, struct adl_trace_supply *supply, struct adl_error *err)
{
    const struct adl_replay_options *o = replay->options;
    const struct adl_job_supply jobs = adl_trace_supply_jobs(supply);
    char run[ADL_NAME_SIZE + 8], origin[ADL_ORIGIN_SIZE];
    struct adl_text learned = {0};
    uint64_t taught = 0;
    snprintf(run, sizeof run, "trace %s", replay->scenario.name);
    adl_belief_file_origin(&replay->belief, run, origin);
    const struct adl_learning learning = {&jobs, &replay->scenario, replay->belief.bytes, replay->belief.size, origin};
    int status = adl_learning_run(&learning, &learned, &taught, err);
    replay->account = adl_trace_supply_account(supply);
    if (status == 0 && taught == 0)
        status = no_jobs(replay, err);
    if (status == 0)
        status = adl_output_write(o->learn, &learned, err);
    if (status == 0) {
        struct adl_text text = {0};
        put_account(&text, replay);
        fprintf(stderr, "%s: learned from %" PRIu64 " jobs, %zu bytes, checksum %016" PRIx64 "%s", o->learn, taught,
                learned.size, adl_belief_seal(learned.data, learned.size), text.data ? text.data : "\n");
        adl_text_clear(&text);
    }
    adl_text_clear(&learned);
    return status;
}

/* Without a cluster nothing is known of the GPUs on which the jobs ran. */
static int learn(struct replay *replay, struct adl_error *err)
{
    const struct adl_replay_options *o = replay->options;
    struct adl_trace_supply *supply = NULL;
    struct adl_throughputs *throughputs = NULL;
    int status = o->throughputs ? adl_throughputs_load(o->throughputs, &throughputs, err) : 0;
    if (status == 0)
        status = o->cluster ? adl_cluster_load(o->cluster, &replay->scenario, err)
                            : adl_learning_any_cluster(&replay->scenario.cluster, err);
    if (status == 0) {
        const struct adl_trace_plan plan = {replay->path, replay->trace,     &replay->scenario,
                                            throughputs,  (uint64_t)o->jobs, replay->site_limit_us};
        name_scenario(replay);
        status = adl_trace_supply_create(&plan, &supply, err);
    }
    const struct adl_job_supply jobs = {0};
    const struct adl_belief_terms terms = adl_run_terms(&replay->scenario, &jobs);
    if (status == 0)
        status = adl_belief_file_read(o->belief, &terms, true, &replay->belief, err);
    if (status == 0)
        status = write_learned(replay, supply, err);
    adl_trace_supply_destroy(supply);
    adl_throughputs_destroy(throughputs);
    adl_belief_file_clear(&replay->belief);
    adl_scenario_clear(&replay->scenario);
    return status;
}

static int run_on_cluster(struct replay *replay, struct adl_error *err)
{
    const struct adl_replay_options *o = replay->options;
    struct adl_throughputs *throughputs = NULL;
    struct adl_trace_supply *supply = NULL;
    char *model = NULL;
    int status = o->throughputs ? adl_throughputs_load(o->throughputs, &throughputs, err) : 0;
    if (status == 0)
        status = adl_cluster_load(o->cluster, &replay->scenario, err);
    if (status == 0)
        status = adl_cli_choices_make(&o->choice, o->policies, ADL_POLICY_CHOICES_MAX, &replay->scenario,
                                      &replay->choices, err);
    if (status == 0)
        status = adl_cli_model(o->model, &replay->scenario, &model, err);
    if (status == ADL_EIO)
        status = ADL_EINVAL; /* a wrong file name */
    if (status == 0)
        status = export_trace(replay, err);
    if (status == 0) {
        const struct adl_trace_plan plan = {replay->path, replay->trace,     &replay->scenario,
                                            throughputs,  (uint64_t)o->jobs, replay->site_limit_us};
        name_scenario(replay);
        status = adl_trace_supply_create(&plan, &supply, err);
    }
    if (status == 0 && o->belief) {
        const struct adl_job_supply jobs = {0};
        const struct adl_belief_terms terms = adl_run_terms(&replay->scenario, &jobs);
        status = adl_belief_file_read(o->belief, &terms, replay->regime == ADL_REGIME_LEARNED, &replay->belief, err);
        adl_belief_file_warn_trace(&replay->belief, replay->scenario.name);
    }
    if (status == 0)
        status = compare(replay, supply, err);
    adl_belief_file_clear(&replay->belief);
    adl_trace_supply_destroy(supply);
    adl_throughputs_destroy(throughputs);
    adl_cli_choices_clear(&replay->choices);
    adl_scenario_clear(&replay->scenario);
    free(model);
    return status;
}

/* A trace without any limit has no regime declared, unless a limit is given for all. */
static int choose_regime(struct replay *replay, struct adl_error *err)
{
    const struct adl_replay_options *o = replay->options;
    bool limits = false;
    int64_t site_s = ADL_SITE_LIMIT_US / 1000000;
    int status = o->site_limit ? adl_duration_read(o->site_limit, "--site-limit", &site_s, err) : 0;
    replay->site_limit_us = site_s * 1000000;
    replay->regime = o->regime;
    if (status == 0 && (o->regime == ADL_REGIME_COUNT || o->regime == ADL_REGIME_DECLARED))
        status = adl_trace_has_limits(replay->path, &replay->trace, &limits, err);
    if (status == 0 && o->regime == ADL_REGIME_COUNT)
        replay->regime = limits ? ADL_REGIME_DECLARED : ADL_REGIME_LEARNED;
    if (status == 0 && o->regime == ADL_REGIME_DECLARED && !limits && !o->site_limit)
        return adl_fail(err, ADL_EINVAL,
                        "%.200s: no job has a time limit, so there is no --regime declared; take learned, oracle, or "
                        "--site-limit TIME as the limit of every job",
                        replay->path);
    return status;
}

int adl_replay_trace(const char *path, const struct adl_replay_options *options, struct adl_error *err)
{
    struct replay replay = {
        .path = path, .options = options, .trace = {.unit_s = unit_s[options->time_unit], .strict = options->strict}};
    const char *outputs[] = {options->json, options->csv, options->html, options->export, options->learn};
    int status = find_format(options->format, &replay.trace.format, err);
    if (status == 0 && !options->cluster && !options->export && !options->learn)
        status = adl_fail(err, ADL_EINVAL,
                          "%.200s:1: not a recording of version 1 (`adlro simulate --log FILE` writes one); a trace of "
                          "jobs needs --cluster FILE",
                          path);
    if (status == 0)
        status = adl_outputs_check(outputs, 5, path, err);
    if (status == 0 && options->learn) {
        status = choose_regime(&replay, err);
        if (status == 0 && options->export)
            status = export_trace(&replay, err);
        return status ? status : learn(&replay, err);
    }
    if (status || !options->cluster)
        return status ? status : export_trace(&replay, err);
    status = choose_regime(&replay, err);
    return status ? status : run_on_cluster(&replay, err);
}
