/* tune: searches the options of a policy on recent jobs, and says honestly whether that found something better. */
#include "base/suggest.h"
#include "cli/cli.h"
#include "experiment/policy_choice.h"
#include "experiment/trace_supply.h"
#include "experiment/tuning.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *policy, *objective, *cluster, *out, *throughputs;
    int64_t trials, parts, first_seed, seed, jobs, threads;
    double budget_s;
    int regime;
};

#define AT(field) offsetof(struct options, field)

static const struct adl_option table[] = {
    {"policy", 'p', ADL_OPTION_TEXT, AT(policy), 0, 0, NULL, "P", "policy whose options are tuned"},
    {"objective", 0, ADL_OPTION_TEXT, AT(objective), 0, 0, NULL, "NAME",
     "what is to become better: fast, balanced, frugal, or weights such as tail:1,energy:0.5"},
    {"cluster", 0, ADL_OPTION_TEXT, AT(cluster), 0, 0, NULL, "FILE",
     "cluster on which the jobs of a trace are played; without it the operand is a scenario"},
    {"regime", 0, ADL_OPTION_NAME, AT(regime), 0, 0, adl_regime_names, "NAME",
     "what policies know of run times: declared (users' limits), learned (similar jobs) or oracle (truth)"},
    {"trials", 'n', ADL_OPTION_INT, AT(trials), 1, 100000, NULL, "N", "candidates that are tried"},
    {"budget", 0, ADL_OPTION_REAL, AT(budget_s), 0, 1e6, NULL, "S",
     "seconds after which no further candidate is tried; 0 = no limit; the result then depends on the machine"},
    {"parts", 0, ADL_OPTION_INT, AT(parts), 4, 1000, NULL, "N",
     "parts of the history, in order of time: the first half to search on, the second to check; of a scenario: seeds"},
    {"first-seed", 0, ADL_OPTION_INT, AT(first_seed), 0, 9e15, NULL, "K", "of a scenario: seeds are K .. K+parts-1"},
    {"seed", 0, ADL_OPTION_INT, AT(seed), 0, 9e15, NULL, "K", "of the candidates: the same seed tries the same ones"},
    {"jobs", 0, ADL_OPTION_INT, AT(jobs), 0, 1e9, NULL, "N",
     "jobs of each run of a scenario, or first rows of a trace; 0 = all"},
    {"threads", 0, ADL_OPTION_INT, AT(threads), 0, 64, NULL, "N", "0 = all cores; the result does not depend on it"},
    {"throughputs", 0, ADL_OPTION_TEXT, AT(throughputs), 0, 0, NULL, "FILE",
     "JSON with measured steps/s by GPU type and job"},
    {"out", 'o', ADL_OPTION_TEXT, AT(out), 0, 0, NULL, "FILE",
     "write what was found, if it is better, as a variant for --variants"},
};

static const struct adl_verb verb = {
    .name = "tune",
    .summary = "Searches better options of a policy by playing recent jobs, a trace or a scenario, in the simulator, "
               "and checks what it found on jobs that the search has not seen.",
    .operands = "SCENARIO|TRACE",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro tune paper16 --objective balanced --trials 40\n"
               "adlro tune jobs.csv --cluster cluster.yaml --regime learned --out tuned.yaml",
};

static int find_policy(const char *name, const struct adl_policy_ops **ret, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    struct adl_suggest suggest = {.word = name};
    *ret = adl_policy_find(name);
    for (uint32_t i = 0; !*ret && i < adl_policy_count(); i++)
        adl_suggest_offer(&suggest, adl_policy_at(i)->name);
    return *ret ? 0
                : adl_fail(err, ADL_EINVAL, "there is no policy %s%s", adl_quote(name, quoted),
                           adl_suggest_phrase(&suggest, phrase));
}

/* ---- what was found ---- */

static bool has_objective(const struct options *o)
{
    return adl_policy_option_find(adl_policy_find(o->policy), "objective") != NULL;
}

/* "--set adlro.price_weight=3 --set ..." */
static void print_sets(const struct options *o, const char *settings)
{
    struct adl_policy_setting setting;
    if (has_objective(o) && strcmp(o->objective, ADL_OBJECTIVE_DEFAULT) != 0)
        printf(" --set %s.objective=%s", o->policy, o->objective);
    for (const char *at = settings; (at = adl_policy_setting_next(at, &setting));)
        printf(" --set %s.%s=%s", o->policy, setting.name, setting.value);
    printf("\n");
}

static void print_figures(const struct adl_tuning *found)
{
    static const char *const names[ADL_TUNING_FIGURES] = {"mean JCT, s", "p99 JCT, s", "energy, MJ"};
    static const double units[ADL_TUNING_FIGURES] = {1, 1, 1e-6};
    printf("  %-12s %12s %12s\n", "", "as it is", "tuned");
    for (int i = 0; i < ADL_TUNING_FIGURES; i++)
        printf("  %-12s %12.5g %12.5g\n", names[i], found->before[i] * units[i], found->after[i] * units[i]);
}

static void report(const struct options *o, const struct adl_tuning *found)
{
    printf("%u candidates were tried on the first %lld parts. ", found->trials, (long long)(o->parts / 2));
    if (!found->settings[0]) {
        printf("None was better there.\nNo better found: keep %s as it is.\n", o->policy);
        return;
    }
    printf("The best gained %.1f %% there (95 %%: %.1f to %.1f).\n", 100 * found->searched.mean,
           100 * found->searched.lo, 100 * found->searched.hi);
    printf("On the other %lld parts, which the search has not seen, it gained %.1f %% (95 %%: %.1f to %.1f):\n",
           (long long)(o->parts / 2), 100 * found->gain.mean, 100 * found->gain.lo, 100 * found->gain.hi);
    print_figures(found);
    if (found->better)
        printf("Use it with:");
    else
        printf("No better found: that may be chance. Keep %s as it is. It was:", o->policy);
    print_sets(o, found->settings);
}

static int write_variant(const struct options *o, const struct adl_tuning *found, struct adl_error *err)
{
    struct adl_policy_setting setting;
    struct adl_text text = {0};
    if (!o->out || !found->better)
        return 0;
    adl_text_printf(&text, "variants:\n  %s-tuned:\n    policy: %s\n", o->policy, o->policy);
    if (has_objective(o))
        adl_text_printf(&text, "    objective: \"%s\"\n", o->objective);
    for (const char *at = found->settings; (at = adl_policy_setting_next(at, &setting));)
        adl_text_printf(&text, "    %s: %s\n", setting.name, setting.value);
    int status = adl_text_status(&text);
    status = status ? adl_fail(err, status, "out of memory for %.200s", o->out) : adl_output_write(o->out, &text, err);
    adl_text_clear(&text);
    if (status == 0)
        printf("%s has it as the variant %s-tuned: --variants %s --policies %s-tuned\n", o->out, o->policy, o->out,
               o->policy);
    return status;
}

/* ---- the work ---- */

static int tune(const struct options *o, const struct adl_scenario *scenario, const struct adl_job_supply *supply,
                struct adl_error *err)
{
    const struct adl_policy_ops *policy = NULL;
    struct adl_objective objective;
    struct adl_tuning found;
    struct adl_progress progress;
    char reason[ADL_POLICY_REASON_SIZE], settings[ADL_POLICY_TEXT_SIZE * 2];
    int status = find_policy(o->policy, &policy, err);
    if (status == 0 && !adl_objective_read(o->objective, &objective, reason, sizeof reason))
        status = adl_fail(err, ADL_EINVAL, "--objective%s%s", reason[0] == '.' ? "" : " ", reason);
    if (status == 0 && strlen(o->objective) >= ADL_POLICY_TEXT_SIZE)
        status = adl_fail(err, ADL_EINVAL, "--objective is too long");
    if (status)
        return status;
    struct adl_policy_ops told = *policy;
    snprintf(settings, sizeof settings, "objective=%s\n", o->objective);
    told.settings = adl_policy_option_find(policy, "objective") ? settings : policy->settings;
    adl_progress_begin(&progress, "candidates");
    const struct adl_tuning_request request = {.scenario = scenario,
                                               .supply = supply,
                                               .policy = &told,
                                               .objective = objective,
                                               .first_seed = supply ? 0 : (uint64_t)o->first_seed,
                                               .seed_count = (uint32_t)o->parts,
                                               .trials = (uint32_t)o->trials,
                                               .budget_s = o->budget_s,
                                               .seed = (uint64_t)o->seed,
                                               .regime = o->regime,
                                               .threads = o->threads ? (uint32_t)o->threads : adl_cli_cores(),
                                               .progress = adl_progress_show,
                                               .progress_self = &progress};
    status = adl_tuning_run(&request, &found, err);
    adl_progress_end(&progress);
    if (status)
        return status;
    report(o, &found);
    return write_variant(o, &found, err);
}

static int tune_trace(const struct options *o, const char *path, struct adl_scenario *scenario,
                      const struct adl_throughputs *throughputs, struct adl_error *err)
{
    struct adl_trace_supply *trace = NULL;
    const struct adl_trace_plan plan = {
        .path = path, .scenario = scenario, .throughputs = throughputs, .jobs_max = (uint64_t)o->jobs};
    bool limits = false;
    int status = adl_cluster_load(o->cluster, scenario, err);
    if (status == 0 && o->regime == ADL_REGIME_DECLARED)
        status = adl_trace_has_limits(path, &plan.options, &limits, err);
    if (status == 0 && o->regime == ADL_REGIME_DECLARED && !limits)
        status = adl_fail(err, ADL_EINVAL, "%.200s: no job has a time limit; take --regime learned or oracle", path);
    if (status == 0)
        status = adl_trace_supply_create(&plan, &trace, err);
    if (status)
        return status;
    const struct adl_job_supply all = adl_trace_supply_jobs(trace);
    struct adl_parts parts = {.jobs = &all, .parts = (uint32_t)o->parts};
    const struct adl_job_supply cut = adl_parts_supply(&parts);
    status = adl_parts_count(&parts, err);
    if (status == 0 && parts.count < 10 * (uint64_t)o->parts)
        status = adl_fail(err, ADL_EINVAL, "%.200s: %llu jobs are too few for %lld parts: each needs at least 10", path,
                          (unsigned long long)parts.count, (long long)o->parts);
    if (status == 0)
        status = tune(o, scenario, &cut, err);
    adl_trace_supply_destroy(trace);
    return status;
}

static int tune_scenario(const struct options *o, const char *path, struct adl_scenario *scenario,
                         struct adl_error *err)
{
    const int status = adl_scenario_load_measured(path, o->throughputs, scenario, NULL, err);
    if (status)
        return status;
    if (o->jobs > 0)
        adl_scenario_set_jobs(scenario, (uint64_t)o->jobs);
    return tune(o, scenario, NULL, err);
}

static int run(int argc, char **argv)
{
    struct options o = {.policy = "adlro",
                        .objective = ADL_OBJECTIVE_DEFAULT,
                        .trials = 24,
                        .parts = 16,
                        .first_seed = 1,
                        .seed = 1,
                        .regime = ADL_REGIME_LEARNED};
    struct adl_operands operands;
    struct adl_error err;
    struct adl_scenario scenario = {0};
    struct adl_throughputs *throughputs = NULL;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    const char *outputs[] = {o.out};
    int status = adl_outputs_check(outputs, 1, operands.items[0], &err);
    if (status == 0 && o.throughputs && o.cluster)
        status = adl_throughputs_load(o.throughputs, &throughputs, &err);
    if (status == 0)
        status = o.cluster ? tune_trace(&o, operands.items[0], &scenario, throughputs, &err)
                           : tune_scenario(&o, operands.items[0], &scenario, &err);
    if (status == ADL_EIO)
        status = ADL_EINVAL; /* a wrong file name */
    adl_throughputs_destroy(throughputs);
    adl_scenario_clear(&scenario);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_tune = {&verb, run};
