#include "report/notes.h"

#include "report/figure.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROUND_LONG 3 /* rounds of more than this many median run times deserve a warning */

void adl_notes_put_name(struct adl_text *text, const char *name)
{
    while (*name) {
        const size_t length = adl_utf8_length(name);
        if (length == 0)
            adl_text_put(text, "\ufffd");
        else if ((unsigned char)*name < 0x20 || *name == 0x7f)
            adl_text_char(text, ' ');
        else
            adl_text_bytes(text, name, length);
        name += length ? length : 1;
    }
}

void adl_notes_put_cluster(struct adl_text *text, const struct adl_cluster *cluster)
{
    const char *between = ": ";
    adl_text_printf(text, "%" PRIu32 " GPU%s on %" PRIu32 " node%s", cluster->gpu_count,
                    cluster->gpu_count == 1 ? "" : "s", cluster->node_count, cluster->node_count == 1 ? "" : "s");
    for (uint32_t i = 0; i < cluster->type_count; i++) {
        if (cluster->type_gpus[i] == 0)
            continue;
        adl_text_printf(text, "%s%" PRIu32 " \u00d7 ", between, cluster->type_gpus[i]);
        adl_notes_put_name(text, cluster->types[i].name);
        between = ", ";
    }
}

static void note_seeds(struct adl_text *text, const struct adl_comparison *comparison)
{
    if (comparison->seed_count == 1) {
        adl_text_printf(text, "One seed (%" PRIu64 "): no intervals and no tests.\n", comparison->first_seed);
        return;
    }
    adl_text_printf(text,
                    "%" PRIu32 " seeds (%" PRIu64 " to %" PRIu64
                    "), the same for every policy; \u00b1 is half the 95 %% "
                    "confidence interval of the mean (Student's t).\n",
                    comparison->seed_count, comparison->first_seed,
                    comparison->first_seed + (comparison->seed_count ? comparison->seed_count - 1 : 0));
}

static void note_regime(struct adl_text *text, const struct adl_comparison *comparison)
{
    const struct adl_limits_given *limits = &comparison->limits;
    if (!comparison->regime)
        return;
    adl_text_put(text, "Information regime ");
    adl_notes_put_name(text, comparison->regime);
    adl_text_printf(text, "%s%s.\n", comparison->told ? ": " : "", comparison->told ? comparison->told : "");
    if (comparison->belief) {
        adl_text_put(text, "Every run starts with a belief: ");
        adl_notes_put_name(text, comparison->belief);
        adl_text_put(text, ".\n");
    }
    if (limits->jobs == 0)
        return;
    char site[ADL_FIGURE_SIZE];
    const double share = 1 - (double)limits->without / (double)limits->jobs;
    adl_text_printf(text, "%.1f %% of the jobs have a time limit of their user", 100 * share);
    if (limits->without > 0)
        adl_text_printf(text, "; the limit of the others is the site's, %s, and no job is ended at that",
                        adl_figure_print_duration(site, (double)limits->site_us * 1e-6));
    adl_text_put(text, ".\n");
}

static void note_significance(struct adl_text *text, const struct adl_comparison *comparison)
{
    if (comparison->policy_count < 2 || comparison->seed_count < 2)
        return;
    adl_text_put(text, "* p < 0.05, ** p < 0.01, *** p < 0.001 against ");
    adl_notes_put_name(text, comparison->policies[0].name);
    adl_text_put(text, ": Wilcoxon signed rank over the seeds, two-sided, Holm-corrected over policies and metrics");
    adl_text_put(text, comparison->seed_count < 6 ? "; fewer than 6 seeds are too few to tell.\n" : ".\n");
}

static void note_bound(struct adl_text *text, const struct adl_comparison *comparison)
{
    const double bound = comparison->bound_jct_s.mean;
    const uint32_t best = adl_comparison_best(comparison, ADL_NONE);
    char number[ADL_FIGURE_SIZE];
    if (!isfinite(bound) || bound <= 0)
        return;
    adl_text_printf(text, "No schedule, even one that knows the future, has a mean JCT below %s on these workloads",
                    adl_figure_print_duration(number, bound));
    if (comparison->bound == ADL_BOUND_LP)
        adl_text_put(text, " (by a time-indexed linear program)");
    if (best != ADL_NONE) {
        const double ratio = comparison->policies[best].metrics[ADL_METRIC_JCT_MEAN].mean / bound;
        adl_text_put(text, "; ");
        adl_notes_put_name(text, comparison->policies[best].name);
        adl_text_printf(text, " is at %s times that bound", adl_figure_print_short(number, ratio));
    }
    adl_text_put(text, ".\n");
}

static void note_regression(struct adl_text *text, const struct adl_comparison *comparison)
{
    const struct adl_regression *fit = &comparison->jct_on_utilization;
    char slope[ADL_FIGURE_SIZE], r2[ADL_FIGURE_SIZE], p[ADL_FIGURE_SIZE];
    if (fit->count < ADL_REGRESSION_POINTS_MIN || !isfinite(fit->slope) || !isfinite(fit->r2))
        return;
    const bool below = fit->slope_p < 0.001;
    adl_text_printf(text,
                    "Mean JCT on utilization over all policies and seeds (n = %zu): %s s per percentage point, "
                    "R\u00b2 %s, p %s%s.\n",
                    fit->count, adl_figure_print_short(slope, fit->slope / 100),
                    adl_figure_print(r2, fit->r2, (struct adl_scale){.factor = 1, .decimals = 2}), below ? "" : "= ",
                    adl_figure_print_p(p, fit->slope_p));
}

static void note_references(struct adl_text *text, const struct adl_comparison *comparison)
{
    if (!(comparison->references.jct_s > 0) || !adl_column_shown(comparison, ADL_METRIC_HYPERSCORE))
        return;
    adl_text_put(text, "HyperScore compares with ");
    if (comparison->references_from) {
        adl_notes_put_name(text, comparison->references_from);
        adl_text_put(text, ", the first policy, because the scenario has no references for this workload");
    } else {
        adl_text_put(text, "the references in the scenario's file");
    }
    adl_text_put(text, "; a run equal to them scores 109.96.\n");
}

static void note_modelled(struct adl_text *text, const struct adl_scenario *scenario)
{
    const char *before = "Speeds of some or all jobs are modelled from specifications, not measured, on: ";
    bool any = false;
    for (uint32_t i = 0; i < scenario->cluster.type_count; i++) {
        if (scenario->cluster.type_gpus[i] == 0 || !adl_scenario_type_modelled(scenario, i))
            continue;
        adl_text_put(text, before);
        adl_notes_put_name(text, scenario->cluster.types[i].name);
        before = ", ";
        any = true;
    }
    if (any)
        adl_text_put(text, ".\n");
}

static uint64_t totals_counter(const struct adl_result *totals, int counter)
{
    return counter == 0 ? totals->unfinished : counter == 1 ? totals->refused : totals->timeouts;
}

/* Policies that left jobs unfinished, had commands refused or ran jobs into their limits, if any. */
static void note_counters(struct adl_text *text, const struct adl_comparison *comparison)
{
    static const char *const about[] = {
        "Jobs unfinished at the end, in no mean above (all seeds): ",
        "Commands refused by validation, the guard took over (all seeds): ",
        "Jobs ended at their time limit (all seeds): ",
    };
    for (int counter = 0; counter < 3; counter++) {
        const char *before = about[counter];
        bool any = false;
        for (uint32_t i = 0; i < comparison->policy_count; i++) {
            const struct adl_result totals = adl_policy_totals(&comparison->policies[i], comparison->seed_count);
            if (totals_counter(&totals, counter) == 0)
                continue;
            adl_text_put(text, before);
            adl_notes_put_name(text, comparison->policies[i].name);
            adl_text_printf(text, " %" PRIu64, totals_counter(&totals, counter));
            before = ", ";
            any = true;
        }
        if (any)
            adl_text_put(text, ".\n");
    }
}

/* Options that policies were given; nothing if all have their defaults. */
static void note_options(struct adl_text *text, const struct adl_comparison *comparison)
{
    const char *before = "Options that differ from the defaults: ";
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        const struct adl_policy_result *policy = &comparison->policies[i];
        if (!policy->options && !policy->variant_of)
            continue;
        adl_text_put(text, before);
        adl_notes_put_name(text, policy->name);
        if (policy->variant_of)
            adl_text_printf(text, " (%s)", policy->variant_of);
        for (const char *at = policy->options; at && *at; at += strcspn(at, "\n") + 1) {
            adl_text_char(text, ' ');
            adl_text_bytes(text, at, strcspn(at, "\n"));
        }
        before = "; ";
    }
    if (*before == ';')
        adl_text_put(text, ".\n");
}

static bool is_round_set(const struct adl_policy_result *policy)
{
    const char *at = policy->options;
    while (at && *at && strncmp(at, "round_s=", 8) != 0)
        at += strcspn(at, "\n") + 1;
    return at && *at;
}

bool adl_notes_put_round(struct adl_text *text, const struct adl_comparison *comparison, uint32_t index)
{
    const struct adl_policy_result *policy = &comparison->policies[index];
    const struct adl_result means = adl_policy_totals(policy, comparison->seed_count);
    char round[ADL_FIGURE_SIZE], median[ADL_FIGURE_SIZE], times[ADL_FIGURE_SIZE];
    const bool is_long = means.run_median_s > 0 && means.round_s > ROUND_LONG * means.run_median_s;
    adl_figure_print_duration(round, means.round_s);
    adl_figure_print_duration(median, means.run_median_s);
    if (is_long)
        adl_text_put(text, "Warning: rounds of ");
    else
        adl_text_put(text, "Rounds of ");
    adl_notes_put_name(text, policy->name);
    adl_text_printf(text, ": %s, %s; the median run time of its jobs is %s", round,
                    is_round_set(policy) ? "as round_s says" : "chosen by the policy from predicted run times", median);
    if (is_long)
        adl_text_printf(text, ". Rounds are %s times as long, and a job that arrives waits for the next one%s",
                        adl_figure_print_short(times, means.round_s / means.run_median_s),
                        is_round_set(policy) ? " (round_s: 0 lets the policy choose)" : "");
    adl_text_put(text, ".");
    return is_long;
}

static void note_rounds(struct adl_text *text, const struct adl_comparison *comparison)
{
    for (uint32_t i = 0; i < comparison->policy_count; i++)
        if (adl_policy_totals(&comparison->policies[i], comparison->seed_count).round_s > 0) {
            adl_notes_put_round(text, comparison, i);
            adl_text_char(text, '\n');
        }
}

void adl_notes_put_actual(struct adl_text *text, const struct adl_comparison *comparison)
{
    const struct adl_actual *actual = &comparison->actual;
    const uint32_t gpus = comparison->scenario->cluster.gpu_count;
    if (actual->jobs == 0)
        return;
    adl_text_printf(text,
                    "Warning: actual is what happened to %" PRIu64 " jobs, by the start and end times in the trace",
                    actual->jobs);
    if (actual->without > 0)
        adl_text_printf(text, " (%" PRIu64 " more have none)", actual->without);
    adl_text_put(text,
                 "; the policies are simulated. The replay does not know other partitions and jobs without GPUs, "
                 "reservations, limits of users and accounts, jobs that still ran or never started, nodes that were "
                 "added, drained or failed, nor that users submit later when they wait longer. A policy's lead over "
                 "actual is therefore no promise: compare policies with each other. Energy, HyperScore and evictions "
                 "are not in a trace.");
    if (actual->gpus_most > gpus)
        adl_text_printf(text,
                        " These jobs held %" PRIu32 " GPUs at one time and the cluster has %" PRIu32
                        ": it is not the cluster on which they ran.",
                        actual->gpus_most, gpus);
}

static void note_actual(struct adl_text *text, const struct adl_comparison *comparison)
{
    adl_notes_put_actual(text, comparison);
    if (comparison->actual.jobs > 0)
        adl_text_char(text, '\n');
}

void adl_notes_put(struct adl_text *text, const struct adl_comparison *comparison)
{
    note_actual(text, comparison);
    note_seeds(text, comparison);
    note_regime(text, comparison);
    note_options(text, comparison);
    note_rounds(text, comparison);
    note_significance(text, comparison);
    note_bound(text, comparison);
    note_regression(text, comparison);
    note_references(text, comparison);
    note_modelled(text, comparison->scenario);
    note_counters(text, comparison);
}
