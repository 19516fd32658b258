#include "report/figure.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int decimals_for(double shown)
{
    return shown >= 999.5 ? 0 : shown >= 99.95 ? 1 : shown >= 1 ? 2 : 3;
}

static struct adl_scale scale_of(double largest, double factor, const char *unit)
{
    return (struct adl_scale){.factor = factor, .unit = unit, .decimals = decimals_for(fabs(largest) * factor)};
}

struct adl_scale adl_scale_time(double largest_s)
{
    const double largest = fabs(largest_s);
    if (largest > 0 && largest < 0.5)
        return scale_of(largest, 1e3, "ms");
    if (!(largest >= 9999.5))
        return scale_of(largest, 1, "s");
    if (largest < 3.6e6)
        return scale_of(largest, 1 / 3600.0, "h");
    return scale_of(largest, 1 / 86400.0, "d");
}

struct adl_scale adl_scale_energy(double largest_j)
{
    static const char *const units[] = {"J", "kJ", "MJ", "GJ", "TJ"};
    double factor = 1;
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && fabs(largest_j) * factor >= 999.5) {
        factor /= 1000;
        unit++;
    }
    return scale_of(largest_j, factor, units[unit]);
}

const struct adl_metric_info *adl_column_info(int column)
{
    static const struct adl_metric_info counters[] = {
        {"evictions", "evictions", "a run", "preemptions and failures of running jobs in a run, mean over seeds", -1},
        {"lost_gpu_s", "GPU time lost", "GPU-s",
         "GPU time lost by preemptions in a run: work to repeat, and the time to stop and restart; mean over seeds",
         -1},
    };
    return column < ADL_METRIC_COUNT ? &adl_metric_table[column] : &counters[column - ADL_METRIC_COUNT];
}

double adl_column_mean(const struct adl_comparison *comparison, uint32_t policy, int column)
{
    const struct adl_policy_result *result = &comparison->policies[policy];
    if (column < ADL_METRIC_COUNT)
        return result->metrics[column].mean;
    if (adl_is_actual(comparison, policy))
        return NAN; /* no trace has them */
    const struct adl_result totals = adl_policy_totals(result, comparison->seed_count);
    return (double)(column == ADL_COLUMN_EVICTIONS ? totals.evictions : totals.lost_gpu_s) / comparison->seed_count;
}

/* The largest absolute mean of the policies. */
static double column_largest(const struct adl_comparison *comparison, int column)
{
    double largest = 0;
    for (uint32_t i = 0; i < adl_comparison_rows(comparison); i++) {
        const double mean = fabs(adl_column_mean(comparison, i, column));
        if (isfinite(mean) && mean > largest)
            largest = mean;
    }
    return largest;
}

static bool has_sla(const struct adl_comparison *comparison)
{
    for (uint32_t i = 0; i < comparison->policy_count; i++)
        if (adl_policy_totals(&comparison->policies[i], comparison->seed_count).sla_jobs > 0)
            return true;
    return false;
}

static bool has_several_types(const struct adl_cluster *cluster)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < cluster->type_count; i++)
        used += cluster->type_gpus[i] > 0;
    return used > 1;
}

bool adl_column_shown(const struct adl_comparison *comparison, int column)
{
    switch (column) {
    case ADL_METRIC_SLA:
        return has_sla(comparison);
    case ADL_METRIC_EFFICIENCY:
        return has_several_types(&comparison->scenario->cluster);
    case ADL_METRIC_ENERGY:
        return column_largest(comparison, column) > 0;
    case ADL_METRIC_HYPERSCORE:
        return comparison->policy_count > 1 || !comparison->references_from;
    case ADL_COLUMN_LOST:
        return column_largest(comparison, ADL_COLUMN_EVICTIONS) > 0;
    default:
        return true;
    }
}

/* A mean of counts: whole for one seed, and if it is large or 0. */
static struct adl_scale scale_count(const struct adl_comparison *comparison, double largest, double factor,
                                    const char *unit)
{
    const double shown = largest * factor;
    const bool whole = !(shown > 0) || shown >= 99.95 || (comparison->seed_count == 1 && factor >= 1);
    return (struct adl_scale){.factor = factor, .unit = unit, .decimals = whole ? 0 : 1};
}

struct adl_scale adl_scale_metric(const struct adl_comparison *comparison, int column)
{
    const double largest = column_largest(comparison, column);
    switch (column) {
    case ADL_METRIC_JCT_MEAN:
    case ADL_METRIC_JCT_P99:
    case ADL_METRIC_WAIT_MEAN:
    case ADL_METRIC_MAKESPAN:
    case ADL_METRIC_WALL:
        return adl_scale_time(largest);
    case ADL_METRIC_ENERGY:
        return adl_scale_energy(largest);
    case ADL_METRIC_UTILIZATION:
    case ADL_METRIC_SLA:
    case ADL_METRIC_EFFICIENCY:
        return (struct adl_scale){.factor = 100, .unit = "%", .decimals = 1};
    case ADL_METRIC_DECISION_P50:
    case ADL_METRIC_DECISION_P99:
        return scale_of(largest, 1, "\u00b5s");
    case ADL_METRIC_THROUGHPUT:
        return scale_of(largest, 1, "jobs/h");
    case ADL_METRIC_SLOWDOWN_MEAN:
        return scale_of(largest, 1, "\u00d7");
    case ADL_COLUMN_EVICTIONS:
        return scale_count(comparison, largest, 1, "a run");
    case ADL_COLUMN_LOST:
        return largest >= 9999.5 ? scale_count(comparison, largest, 1 / 3600.0, "GPU-h")
                                 : scale_count(comparison, largest, 1, "GPU-s");
    default:
        return scale_of(largest, 1, adl_metric_table[column].unit);
    }
}

/* Formats any number in at most 9 characters. */
static const char *figure_fit(char ret[ADL_FIGURE_SIZE], double shown, int decimals, bool sign)
{
    char number[ADL_NUMBER_SIZE];
    if (!isfinite(shown)) {
        memcpy(ret, "-", 2);
        return ret;
    }
    const double half_unit = 0.5 / pow(10, decimals);
    if (fabs(shown) < half_unit)
        shown = 0; /* "0.0", not "-0.0" */
    const bool large = fabs(shown) >= 999999.5;
    adl_number_print(number, large ? 'e' : 'f', large ? 1 : decimals, shown);
    snprintf(ret, ADL_FIGURE_SIZE, "%s%.20s", sign && shown > 0 ? "+" : "", number);
    return ret;
}

const char *adl_figure_print(char ret[ADL_FIGURE_SIZE], double value, struct adl_scale scale)
{
    return figure_fit(ret, value * scale.factor, fabs(value * scale.factor) >= 9999.5 ? 0 : scale.decimals, false);
}

const char *adl_figure_print_change(char ret[ADL_FIGURE_SIZE], double percent)
{
    return figure_fit(ret, percent, fabs(percent) >= 999.95 ? 0 : 1, true);
}

const char *adl_figure_print_p(char ret[ADL_FIGURE_SIZE], double p)
{
    char number[ADL_NUMBER_SIZE];
    if (!isfinite(p)) {
        memcpy(ret, "-", 2);
    } else if (p < 0.001) {
        snprintf(ret, ADL_FIGURE_SIZE, "< 0.001");
    } else {
        adl_number_print(number, 'f', p < 0.1 ? 3 : 2, p);
        snprintf(ret, ADL_FIGURE_SIZE, "%.20s", number);
    }
    return ret;
}

const char *adl_figure_print_duration(char ret[ADL_FIGURE_SIZE], double time_s)
{
    static const struct {
        double from_s, unit_s;
        const char *unit;
    } units[] = {{86400, 86400, "d"}, {3600, 3600, "h"}, {60, 60, "min"}, {1, 1, "s"}, {0, 1e-3, "ms"}};
    char number[ADL_FIGURE_SIZE];
    if (!isfinite(time_s)) {
        memcpy(ret, "-", 2);
        return ret;
    }
    size_t i = 0;
    while (units[i].from_s > fabs(time_s) * (1 + 1e-9))
        i++;
    if (!(fabs(time_s) > 0))
        snprintf(ret, ADL_FIGURE_SIZE, "0 s");
    else
        snprintf(ret, ADL_FIGURE_SIZE, "%.16s %s", adl_figure_print_short(number, time_s / units[i].unit_s),
                 units[i].unit);
    return ret;
}

const char *adl_figure_print_short(char ret[ADL_FIGURE_SIZE], double value)
{
    static const char *const suffixes[] = {"", "k", "M", "G", "T"};
    char number[ADL_NUMBER_SIZE];
    size_t i = 0;
    double shown = value;
    if (!isfinite(value)) {
        memcpy(ret, "-", 2);
        return ret;
    }
    if (fabs(value) >= 9999.5 && fabs(value) < 999.5e12) {
        while (i + 1 < sizeof suffixes / sizeof *suffixes && fabs(shown) >= 999.5) {
            shown /= 1000;
            i++;
        }
    }
    adl_number_print(number, 'g', fabs(shown) >= 999.5 && fabs(shown) < 9999.5 ? 4 : 3, shown);
    snprintf(ret, ADL_FIGURE_SIZE, "%.16s%s", number, suffixes[i]);
    return ret;
}

const char *adl_significance(double p)
{
    return p < 0.001 ? "***" : p < 0.01 ? "**" : p < 0.05 ? "*" : "";
}

double adl_change_percent(double value, double base)
{
    return (value / base - 1) * 100;
}

struct adl_result adl_policy_totals(const struct adl_policy_result *policy, uint32_t seed_count)
{
    struct adl_result sum = {0};
    for (uint32_t i = 0; i < seed_count; i++) {
        const struct adl_result *run = &policy->runs[i];
        sum.jobs += run->jobs;
        sum.timeouts += run->timeouts;
        sum.sla_jobs += run->sla_jobs;
        sum.evictions += run->evictions;
        sum.lost_gpu_s += run->lost_gpu_s;
        sum.events += run->events;
        sum.decisions += run->decisions;
        sum.refused += run->refused;
        sum.unfinished += run->unfinished;
        sum.round_s += run->round_s / seed_count;
        sum.run_median_s += run->run_median_s / seed_count;
    }
    return sum;
}

bool adl_is_actual(const struct adl_comparison *comparison, uint32_t index)
{
    return index == comparison->policy_count;
}

uint32_t adl_comparison_row(const struct adl_comparison *comparison, uint32_t i)
{
    const uint32_t rows = adl_comparison_rows(comparison);
    return rows == comparison->policy_count ? i : (i + rows - 1) % rows;
}

uint32_t adl_comparison_best(const struct adl_comparison *comparison, uint32_t except)
{
    uint32_t best = ADL_NONE;
    bool best_complete = false;
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        const struct adl_policy_result *policy = &comparison->policies[i];
        const double mean = policy->metrics[ADL_METRIC_JCT_MEAN].mean;
        const bool complete = adl_policy_totals(policy, comparison->seed_count).unfinished == 0;
        if (i == except || !isfinite(mean))
            continue;
        const bool lower = best == ADL_NONE || mean < comparison->policies[best].metrics[ADL_METRIC_JCT_MEAN].mean;
        if (best == ADL_NONE || (complete && !best_complete) || (complete == best_complete && lower)) {
            best = i;
            best_complete = complete;
        }
    }
    return best;
}

bool adl_scenario_type_modelled(const struct adl_scenario *scenario, uint32_t type)
{
    if (scenario->cluster.types[type].modelled)
        return true;
    for (uint32_t i = 0; i < scenario->class_count; i++)
        if (scenario->classes[i].modelled[type] && scenario->classes[i].steps_per_s[type] > 0)
            return true;
    return false;
}
