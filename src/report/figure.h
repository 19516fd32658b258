/* figure: numbers of a comparison formatted for people: one unit a column, few digits, marks of significance. */
#ifndef ADLRO_REPORT_FIGURE_H
#define ADLRO_REPORT_FIGURE_H

#include "experiment/comparison.h"

#include <stdbool.h>

#define ADL_FIGURE_SIZE 24

/* How a number is shown: value * factor, in unit, with that many decimals. */
struct adl_scale {
    double factor;
    const char *unit;
    int decimals;
};

/* The columns of tables: the metrics, and two counters as means over the seeds. */
enum adl_column { ADL_COLUMN_EVICTIONS = ADL_METRIC_COUNT, ADL_COLUMN_LOST, ADL_COLUMN_COUNT };

const struct adl_metric_info *adl_column_info(int column);
double adl_column_mean(const struct adl_comparison *comparison, uint32_t policy, int column);
/* False if the column says nothing about these runs: SLA if no job has one, allocation efficiency with one GPU type,
 * energy without meters, HyperScore of a policy against itself, lost GPU time if no job was evicted. */
bool adl_column_shown(const struct adl_comparison *comparison, int column);

/* A regression over fewer points (policies times seeds) is not shown. */
#define ADL_REGRESSION_POINTS_MIN 30

/* The unit that suits the largest of several numbers. */
struct adl_scale adl_scale_time(double largest_s);
struct adl_scale adl_scale_energy(double largest_j);
/* For one column over all policies: ratios in percent, times and energies in a suitable unit. */
struct adl_scale adl_scale_metric(const struct adl_comparison *comparison, int column);

/* At most 9 characters, "-" if it is not a number. Returns ret. */
const char *adl_figure_print(char ret[ADL_FIGURE_SIZE], double value, struct adl_scale scale);
/* Always with a sign; at most 9 characters; for changes in percent. */
const char *adl_figure_print_change(char ret[ADL_FIGURE_SIZE], double percent);
/* "0.034", "< 0.001". */
const char *adl_figure_print_p(char ret[ADL_FIGURE_SIZE], double p);
/* Three digits and the unit that fits: "850 ms", "25.8 s", "3.1 h". */
const char *adl_figure_print_duration(char ret[ADL_FIGURE_SIZE], double time_s);
/* Three digits and k, M, G or T if that is shorter. */
const char *adl_figure_print_short(char ret[ADL_FIGURE_SIZE], double value);

/* "***" for p < 0.001, "**" for p < 0.01, "*" for p < 0.05, else "". */
const char *adl_significance(double p);

/* Change of value against base in percent; not finite if undefined. */
double adl_change_percent(double value, double base);

/* The counters of all seeds added up; its other members are 0. */
struct adl_result adl_policy_totals(const struct adl_policy_result *policy, uint32_t seed_count);

/* The policy with the least mean JCT, preferring those that leave no job unfinished; not policy except (ADL_NONE: any).
 * ADL_NONE if there is none with a finite mean. */
uint32_t adl_comparison_best(const struct adl_comparison *comparison, uint32_t except);

/* True if the speed of some class of jobs on this GPU type is modelled from specifications. */
bool adl_scenario_type_modelled(const struct adl_scenario *scenario, uint32_t type);

/* The index of the i-th row of a table: what happened, if it is known, and then the policies. */
uint32_t adl_comparison_row(const struct adl_comparison *comparison, uint32_t i);
bool adl_is_actual(const struct adl_comparison *comparison, uint32_t index);

#endif
