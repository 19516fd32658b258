/* compare: several policies on the same seeds of a scenario. */
#include "cli/belief_file.h"
#include "cli/choices.h"
#include "cli/cli.h"
#include "cli/reports.h"
#include "experiment/run.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *policies;
    struct adl_choice_options choice;
    int64_t seeds;
    int64_t first_seed;
    int64_t threads; /* 0 = all cores */
    int64_t jobs;    /* 0 = the scenario's */
    int regime;
    int bound;
    const char *model;
    const char *throughputs;
    const char *belief;
    const char *json, *csv, *html;
    bool no_timing;
};

#define AT(field) offsetof(struct options, field)

static const struct adl_option table[] = {
    {"policies", 'p', ADL_OPTION_TEXT, AT(policies), 0, 0, NULL, "P[,P...]",
     "policies; the first is the baseline for the others"},
    ADL_CHOICE_ROWS(struct options, choice, ADL_SET_HELP, ADL_VARIANTS_HELP),
    {"seeds", 'n', ADL_OPTION_INT, AT(seeds), 1, 100000, NULL, "N", "runs of each policy, on the same seeds"},
    {"first-seed", 0, ADL_OPTION_INT, AT(first_seed), 0, 9e15, NULL, "K", "seeds are K .. K+N-1"},
    {"regime", 0, ADL_OPTION_NAME, AT(regime), 0, 0, adl_regime_names, "NAME",
     "what policies know of run times: declared (users' limits), learned (similar jobs) or oracle (truth)"},
    {"belief", 0, ADL_OPTION_TEXT, AT(belief), 0, 0, NULL, "FILE", ADL_BELIEF_HELP ", the same for every run"},
    {"bound", 0, ADL_OPTION_NAME, AT(bound), 0, 0, adl_bound_names, "NAME",
     "lower bound on the mean JCT: relaxed, or lp, which is higher and takes seconds for each seed"},
    {"model", 'm', ADL_OPTION_TEXT, AT(model), 0, 0, NULL, "FILE",
     "network from `adlro train` that its policy (dqn, market or adlro) uses instead of the shipped one"},
    {"throughputs", 0, ADL_OPTION_TEXT, AT(throughputs), 0, 0, NULL, "FILE",
     "JSON with measured steps/s by GPU type and job, for scenarios whose job classes name it"},
    {"jobs", 0, ADL_OPTION_INT, AT(jobs), 0, 1e9, NULL, "N",
     "jobs per run instead of the scenario's number; 0 = the scenario's"},
    {"threads", 0, ADL_OPTION_INT, AT(threads), 0, 64, NULL, "N", "0 = all cores; the result does not depend on it"},
    {"json", 0, ADL_OPTION_TEXT, AT(json), 0, 0, NULL, "FILE",
     "write all figures as JSON (- is standard output, instead of the table)"},
    {"csv", 0, ADL_OPTION_TEXT, AT(csv), 0, 0, NULL, "FILE", "write a row per policy and seed"},
    {"html", 0, ADL_OPTION_TEXT, AT(html), 0, 0, NULL, "FILE", "write one self-contained page with plots"},
    {"no-timing", 0, ADL_OPTION_FLAG, AT(no_timing), 0, 0, NULL, NULL,
     "leave wall-clock figures out of JSON and CSV, so that equal runs give equal bytes"},
};

static const struct adl_verb verb = {
    .name = "compare",
    .summary = "Runs several policies on the same seeds of a scenario and reports how they differ, with intervals and "
               "significance.",
    .operands = "SCENARIO",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .alias = {"policy", "policies"},
    .example = "adlro compare paper16 --policies fcfs,static,easy --seeds 30 --html report.html",
};

static int run_comparison(const struct options *o, const struct adl_scenario *scenario,
                          const struct adl_policy_choices *choices, const struct adl_belief_file *belief,
                          struct adl_error *err)
{
    struct adl_comparison comparison = {0};
    const struct adl_comparison_request request = {
        .scenario = scenario,
        .policies = choices->policies,
        .policy_count = choices->count,
        .first_seed = (uint64_t)o->first_seed,
        .seed_count = (uint32_t)o->seeds,
        .regime = o->regime,
        .bound = o->bound,
        .threads = o->threads ? (uint32_t)o->threads : adl_cli_cores(),
        .timelines = o->html != NULL,
        .belief = belief->bytes,
        .belief_size = belief->size,
    };
    const struct adl_reports reports = {.json = o->json, .csv = o->csv, .html = o->html, .timing = !o->no_timing};
    int status = adl_reports_compare(request, &comparison, err);
    comparison.belief = belief->note.data;
    if (status == 0)
        status = adl_reports_write(&reports, &comparison, err);
    adl_comparison_clear(&comparison);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {.policies = "fcfs,static,sjf,easy", .seeds = 30, .first_seed = 1};
    struct adl_operands operands;
    struct adl_error err;
    struct adl_cli_choices choices = {0};
    struct adl_scenario scenario = {0};
    struct adl_belief_file belief = {0};
    char *model = NULL;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    const char *outputs[] = {o.json, o.csv, o.html};
    int status = adl_outputs_check(outputs, 3, operands.items[0], &err);
    if (status == 0)
        status = adl_scenario_load_measured(operands.items[0], o.throughputs, &scenario, NULL, &err);
    if (status == 0)
        status = adl_cli_choices_make(&o.choice, o.policies, ADL_POLICY_CHOICES_MAX, &scenario, &choices, &err);
    if (status == 0)
        status = adl_cli_model(o.model, &scenario, &model, &err);
    if (status == ADL_EIO)
        status = ADL_EINVAL; /* a wrong file name */
    if (o.jobs > 0)
        adl_scenario_set_jobs(&scenario, (uint64_t)o.jobs);
    const struct adl_belief_terms terms = adl_run_terms(&scenario, NULL);
    if (status == 0)
        status = adl_belief_file_read(o.belief, &terms, o.regime == ADL_REGIME_LEARNED, &belief, &err);
    adl_belief_file_warn_seeds(&belief, scenario.name, (uint64_t)o.first_seed, (uint64_t)o.seeds);
    if (status == 0)
        status = run_comparison(&o, &scenario, &choices.choices, &belief, &err);
    adl_belief_file_clear(&belief);
    adl_cli_choices_clear(&choices);
    adl_scenario_clear(&scenario);
    free(model);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_compare = {&verb, run};
