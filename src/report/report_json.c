#include "report/report_json.h"

#include "base/json.h"
#include "report/figure.h"
#include "report/notes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_summary(struct adl_json *json, const char *key, const struct adl_summary *summary)
{
    adl_json_key(json, key);
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_put_real(json, "mean", summary->mean);
    adl_json_put_real(json, "sd", summary->sd);
    adl_json_key(json, "ci95");
    adl_json_array(json);
    adl_json_real(json, summary->lo);
    adl_json_real(json, summary->hi);
    adl_json_end(json);
    adl_json_end(json);
}

static void put_paired(struct adl_json *json, const char *key, const struct adl_paired *paired)
{
    adl_json_key(json, key);
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_put_real(json, "difference", paired->difference);
    adl_json_put_real(json, "t_p", paired->t_p);
    adl_json_put_real(json, "wilcoxon_p", paired->wilcoxon_p);
    adl_json_end(json);
}

static void put_regression(struct adl_json *json, const struct adl_regression *fit)
{
    adl_json_key(json, "jct_on_utilization");
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_put_real(json, "slope", fit->slope);
    adl_json_put_real(json, "intercept", fit->intercept);
    adl_json_put_real(json, "r2", fit->r2);
    adl_json_put_real(json, "slope_p", fit->slope_p);
    adl_json_put_uint(json, "count", fit->count);
    adl_json_end(json);
}

static void put_counters(struct adl_json *json, const struct adl_result *totals)
{
    adl_json_put_uint(json, "jobs", totals->jobs);
    adl_json_put_uint(json, "timeouts", totals->timeouts);
    adl_json_put_uint(json, "sla_jobs", totals->sla_jobs);
    adl_json_put_uint(json, "evictions", totals->evictions);
    adl_json_put_uint(json, "lost_gpu_s", totals->lost_gpu_s);
    adl_json_put_uint(json, "events", totals->events);
    adl_json_put_uint(json, "decisions", totals->decisions);
    adl_json_put_uint(json, "refused", totals->refused);
    adl_json_put_uint(json, "unfinished", totals->unfinished);
}

/* As hexadecimal strings: most programs read JSON numbers as doubles, which hold 53 bits. */
static void put_plan_hashes(struct adl_json *json, const struct adl_policy_result *policy, uint32_t seed_count)
{
    adl_json_key(json, "plan_hashes");
    adl_json_array(json);
    for (uint32_t i = 0; i < seed_count; i++) {
        char hash[17];
        snprintf(hash, sizeof hash, "%016" PRIx64, policy->runs[i].plan_hash);
        adl_json_string(json, hash);
    }
    adl_json_end(json);
}

static void put_quarters(struct adl_json *json, const struct adl_policy_result *policy)
{
    adl_json_key(json, "quarters");
    adl_json_array(json);
    for (int q = 0; q < ADL_RUN_QUARTERS; q++) {
        adl_json_object(json);
        for (int f = 0; f < ADL_RUN_QUARTER_FIGURES; f++)
            put_summary(json, adl_run_quarter_figure_name(f), &policy->quarters[q][f]);
        adl_json_end(json);
    }
    adl_json_end(json);
    adl_json_key(json, "third_quarter_versus_first");
    adl_json_object(json);
    for (int f = 0; f < ADL_RUN_QUARTER_FIGURES; f++)
        put_paired(json, adl_run_quarter_figure_name(f), &policy->third_versus_first[f]);
    adl_json_end(json);
}

/* Values as text, as --set takes them. */
static void put_options(struct adl_json *json, const char *options)
{
    adl_json_key(json, "options");
    adl_json_flat(json);
    adl_json_object(json);
    for (const char *at = options; *at; at += strcspn(at, "\n") + 1) {
        const int name = (int)strcspn(at, "="), whole = (int)strcspn(at, "\n");
        char key[ADL_NAME_SIZE];
        struct adl_text value = {0};
        snprintf(key, sizeof key, "%.*s", name, at);
        adl_text_bytes(&value, at + name + 1, (size_t)(whole - name - 1));
        adl_json_put_string(json, key, value.data ? value.data : "");
        adl_text_clear(&value);
    }
    adl_json_end(json);
}

/* Of a policy with rounds: their length, and the warning of the notes if they are long. */
static void put_round(struct adl_json *json, const struct adl_comparison *comparison, uint32_t index,
                      const struct adl_result *totals)
{
    struct adl_text warning = {0};
    if (totals->round_s <= 0)
        return;
    adl_json_put_real(json, "round_s", totals->round_s);
    if (adl_notes_put_round(&warning, comparison, index) && adl_text_status(&warning) == 0)
        adl_json_put_string(json, "warning", warning.data);
    adl_text_clear(&warning);
}

static void put_policy(struct adl_json *json, const struct adl_comparison *comparison, uint32_t index, int metric_count)
{
    const struct adl_policy_result *policy = &comparison->policies[index];
    const struct adl_result totals = adl_policy_totals(policy, comparison->seed_count);
    adl_json_object(json);
    adl_json_put_string(json, "name", policy->name);
    if (policy->variant_of)
        adl_json_put_string(json, "variant_of", policy->variant_of);
    if (policy->options)
        put_options(json, policy->options);
    adl_json_key(json, "metrics");
    adl_json_object(json);
    for (int i = 0; i < metric_count; i++)
        put_summary(json, adl_metric_table[i].name, &policy->metrics[i]);
    adl_json_end(json);
    if (index > 0) {
        adl_json_key(json, "versus_first");
        adl_json_object(json);
        for (int i = 0; i < metric_count; i++)
            put_paired(json, adl_metric_table[i].name, &policy->versus_first[i]);
        adl_json_end(json);
    }
    put_regression(json, &policy->jct_on_utilization);
    put_quarters(json, policy);
    put_counters(json, &totals);
    adl_json_put_real(json, "run_median_s", totals.run_median_s);
    put_round(json, comparison, index, &totals);
    put_plan_hashes(json, policy, comparison->seed_count);
    adl_json_end(json);
}

/* What happened, if the trace tells. */
static void put_actual(struct adl_json *json, const struct adl_comparison *comparison)
{
    const struct adl_actual *actual = &comparison->actual;
    struct adl_text warning = {0};
    if (actual->jobs == 0)
        return;
    adl_json_key(json, ADL_ACTUAL_NAME);
    adl_json_object(json);
    adl_json_key(json, "metrics");
    adl_json_object(json);
    for (int i = 0; i < ADL_METRIC_FIRST_TIMING; i++)
        put_summary(json, adl_metric_table[i].name, &comparison->policies[comparison->policy_count].metrics[i]);
    adl_json_end(json);
    adl_json_put_uint(json, "jobs", actual->jobs);
    adl_json_put_uint(json, "without_times", actual->without);
    adl_json_put_uint(json, "gpus_most", actual->gpus_most);
    adl_notes_put_actual(&warning, comparison);
    adl_json_put_string(json, "warning", warning.data ? warning.data : "");
    adl_text_clear(&warning);
    adl_json_end(json);
}

static void put_modelled(struct adl_json *json, const struct adl_scenario *scenario)
{
    adl_json_key(json, "modelled");
    adl_json_array(json);
    for (uint32_t i = 0; i < scenario->cluster.type_count; i++)
        if (scenario->cluster.type_gpus[i] > 0 && adl_scenario_type_modelled(scenario, i))
            adl_json_string(json, scenario->cluster.types[i].name);
    adl_json_end(json);
}

static void put_information(struct adl_json *json, const struct adl_comparison *comparison)
{
    const struct adl_limits_given *limits = &comparison->limits;
    const double share = limits->jobs > 0 ? 1 - (double)limits->without / (double)limits->jobs : 1;
    adl_json_key(json, "information");
    adl_json_object(json);
    adl_json_put_string(json, "told", comparison->told);
    if (comparison->belief)
        adl_json_put_string(json, "belief", comparison->belief);
    adl_json_put_real(json, "limit_share", share);
    if (limits->without > 0)
        adl_json_put_real(json, "site_limit_s", (double)limits->site_us * 1e-6);
    adl_json_end(json);
}

/* What HyperScore is relative to; a figure that is 0 does not count. */
static void put_references(struct adl_json *json, const struct adl_comparison *comparison)
{
    const struct adl_score_figures *references = &comparison->references;
    adl_json_key(json, "references");
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_put_string(json, "from", comparison->references_from ? comparison->references_from : "scenario");
    adl_json_put_real(json, "jct_s", references->jct_s);
    adl_json_put_real(json, "p99_s", references->p99_s);
    adl_json_put_real(json, "jobs_per_h", references->jobs_per_h);
    adl_json_put_real(json, "energy_mj", references->energy_mj);
    adl_json_put_real(json, "slowdown", references->slowdown);
    adl_json_put_real(json, "sla", references->sla);
    adl_json_end(json);
}

void adl_report_json(struct adl_text *text, const struct adl_comparison *comparison, bool timing,
                     const struct adl_report_more *more)
{
    struct adl_json json = adl_json_start(text, true);
    adl_json_object(&json);
    adl_json_put_string(&json, "scenario", comparison->scenario->name);
    adl_json_put_string(&json, "regime", comparison->regime);
    put_information(&json, comparison);
    adl_json_put_uint(&json, "seeds", comparison->seed_count);
    adl_json_put_uint(&json, "first_seed", comparison->first_seed);
    adl_json_put_string(&json, "bound", adl_bound_names[comparison->bound]);
    put_summary(&json, "bound_jct_s", &comparison->bound_jct_s);
    put_regression(&json, &comparison->jct_on_utilization);
    put_references(&json, comparison);
    put_modelled(&json, comparison->scenario);
    if (more)
        more->put(more->self, &json);
    put_actual(&json, comparison);
    adl_json_key(&json, "policies");
    adl_json_array(&json);
    for (uint32_t i = 0; i < comparison->policy_count; i++)
        put_policy(&json, comparison, i, timing ? ADL_METRIC_COUNT : ADL_METRIC_FIRST_TIMING);
    adl_json_end(&json);
    adl_json_end(&json);
    adl_text_char(text, '\n');
}
