#include "report/page_table.h"

#include "report/figure.h"
#include "report/svg.h"

#include <inttypes.h>
#include <math.h>

void adl_page_put_figure(struct adl_text *text, const char *figure)
{
    if (*figure == '-') {
        adl_text_put(text, figure[1] ? "\u2212" : "\u2013");
        figure++;
    }
    adl_text_put(text, figure);
}

static void put_row_head(struct adl_text *text, const struct adl_comparison *comparison, uint32_t policy)
{
    char names[ADL_CLASS_SIZE];
    adl_text_printf(text, "<tr class=\"%s\"><th scope=\"row\"><span class=\"swatch\"></span><span class=\"n\" title=\"",
                    adl_svg_series(names, policy, "row"));
    adl_html_put(text, comparison->policies[policy].name);
    adl_text_put(text, "\">");
    adl_html_put(text, comparison->policies[policy].name);
    adl_text_put(text, "</span></th>");
}

#define COLUMNS_MAX 8

/* Two tables are easier to read than one of fifteen columns, and fit a page. Reward and wall time are in JSON and CSV
 * alone. */
static const int tables[2][COLUMNS_MAX] = {
    {ADL_METRIC_JCT_MEAN, ADL_METRIC_JCT_P99, ADL_METRIC_WAIT_MEAN, ADL_METRIC_SLOWDOWN_MEAN, ADL_METRIC_THROUGHPUT,
     ADL_METRIC_SLA, ADL_METRIC_MAKESPAN, ADL_COLUMN_COUNT},
    {ADL_METRIC_UTILIZATION, ADL_METRIC_EFFICIENCY, ADL_COLUMN_EVICTIONS, ADL_COLUMN_LOST, ADL_METRIC_ENERGY,
     ADL_METRIC_HYPERSCORE, ADL_METRIC_DECISION_P50, ADL_METRIC_DECISION_P99},
};

/* Of the columns of a table those that say something about these runs. */
static size_t columns_choose(int ret[COLUMNS_MAX], const struct adl_comparison *comparison, int table)
{
    size_t count = 0;
    for (size_t i = 0; i < COLUMNS_MAX; i++)
        if (tables[table][i] < ADL_COLUMN_COUNT && adl_column_shown(comparison, tables[table][i]))
            ret[count++] = tables[table][i];
    return count;
}

static bool has_change_column(const struct adl_comparison *comparison, int column)
{
    return column == ADL_METRIC_JCT_MEAN && adl_comparison_rows(comparison) > 1;
}

/* Figures of two or more seeds are followed by space for marks of significance; headings align with them. */
static const char *mark_room(const struct adl_comparison *comparison, int column)
{
    return comparison->policy_count > 1 && comparison->seed_count > 1 && column < ADL_METRIC_FIRST_TIMING
               ? "<sup></sup>"
               : "";
}

static void put_figure_heads(struct adl_text *text, const struct adl_comparison *comparison, const int *columns,
                             size_t count)
{
    adl_text_put(text, "<thead><tr><th scope=\"col\">policy</th>");
    for (size_t i = 0; i < count; i++) {
        const struct adl_scale scale = adl_scale_metric(comparison, columns[i]);
        const char *room = mark_room(comparison, columns[i]);
        adl_text_put(text, "<th scope=\"col\" title=\"");
        adl_html_put(text, adl_column_info(columns[i])->about);
        adl_text_put(text, "\">");
        adl_html_put(text, adl_column_info(columns[i])->label);
        adl_text_printf(text, "%s<small>", room);
        if (*scale.unit)
            adl_html_put(text, scale.unit);
        else
            adl_text_put(text, "&#160;");
        adl_text_printf(text, "%s</small></th>", room);
        if (has_change_column(comparison, columns[i])) {
            adl_text_put(text, "<th scope=\"col\">vs ");
            adl_html_put_cut(text, comparison->policies[0].name, 12);
            adl_text_put(text, "<small>%</small></th>");
        }
    }
    adl_text_put(text, "</tr></thead>\n");
}

/* True if no policy does better in this column, and some policy does worse. */
static bool is_best(const struct adl_comparison *comparison, uint32_t policy, int column)
{
    const double mean = adl_column_mean(comparison, policy, column);
    const int better = adl_column_info(column)->better;
    bool ahead = false;
    if (adl_is_actual(comparison, policy))
        return false;
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        const double gain = (mean - adl_column_mean(comparison, i, column)) * better;
        if (gain < 0)
            return false;
        ahead = ahead || gain > 0;
    }
    return ahead;
}

static const char *mark_of(const struct adl_comparison *comparison, uint32_t policy, int column)
{
    if (policy == 0 || comparison->seed_count < 2 || column >= ADL_METRIC_FIRST_TIMING)
        return "";
    return adl_significance(comparison->policies[policy].versus_first[column].wilcoxon_p);
}

/* The tooltip of a figure: spread, interval, tests. */
static void put_details(struct adl_text *text, const struct adl_comparison *comparison, uint32_t policy, int metric,
                        struct adl_scale scale)
{
    const struct adl_summary *summary = &comparison->policies[policy].metrics[metric];
    const struct adl_paired *paired = &comparison->policies[policy].versus_first[metric];
    char number[ADL_FIGURE_SIZE];
    adl_text_printf(text, " title=\"sd %s", adl_figure_print(number, summary->sd, scale));
    adl_text_printf(text, ", 95 %% CI %s", adl_figure_print(number, summary->lo, scale));
    adl_text_printf(text, " to %s", adl_figure_print(number, summary->hi, scale));
    if (policy > 0 && metric < ADL_METRIC_FIRST_TIMING) {
        adl_text_printf(text, "; difference %s", adl_figure_print(number, paired->difference, scale));
        adl_text_put(text, ", p (Wilcoxon) ");
        adl_html_put(text, adl_figure_print_p(number, paired->wilcoxon_p));
        adl_text_put(text, ", p (t) ");
        adl_html_put(text, adl_figure_print_p(number, paired->t_p));
    }
    adl_text_char(text, '"');
}

static void put_change_cell(struct adl_text *text, const struct adl_comparison *comparison, uint32_t policy)
{
    const double mean = comparison->policies[policy].metrics[ADL_METRIC_JCT_MEAN].mean;
    const double change = adl_change_percent(mean, comparison->policies[0].metrics[ADL_METRIC_JCT_MEAN].mean);
    char number[ADL_FIGURE_SIZE];
    if (policy == 0 || !isfinite(change)) {
        adl_text_put(text, "<td class=\"dim\">\u2013</td>");
        return;
    }
    adl_text_printf(text, "<td class=\"change %s\">", change < -0.05 ? "up" : change > 0.05 ? "down" : "dim");
    adl_page_put_figure(text, adl_figure_print_change(number, change));
    adl_text_put(text, "</td>");
}

static void put_half_interval(struct adl_text *text, const struct adl_summary *summary, struct adl_scale scale)
{
    char number[ADL_FIGURE_SIZE];
    if (!isfinite(summary->hi - summary->lo))
        return;
    adl_text_put(text, " <small>\u00b1 ");
    adl_page_put_figure(text, adl_figure_print(number, (summary->hi - summary->lo) / 2, scale));
    adl_text_put(text, "</small>");
}

static void put_figure_cell(struct adl_text *text, const struct adl_comparison *comparison, uint32_t policy, int column)
{
    const struct adl_scale scale = adl_scale_metric(comparison, column);
    const bool timing = column >= ADL_METRIC_FIRST_TIMING && column < ADL_METRIC_COUNT;
    const bool several = comparison->seed_count > 1 && column < ADL_METRIC_COUNT;
    const char *mark = mark_of(comparison, policy, column);
    char number[ADL_FIGURE_SIZE];
    adl_text_printf(text, "<td%s",
                    timing                                ? " class=\"t\""
                    : is_best(comparison, policy, column) ? " class=\"best\""
                                                          : "");
    if (several)
        put_details(text, comparison, policy, column, scale);
    adl_text_char(text, '>');
    adl_page_put_figure(text, adl_figure_print(number, adl_column_mean(comparison, policy, column), scale));
    if (several && !timing)
        put_half_interval(text, &comparison->policies[policy].metrics[column], scale);
    if (*mark)
        adl_text_printf(text, "<sup>%s</sup>", mark);
    else
        adl_text_put(text, mark_room(comparison, column));
    adl_text_put(text, "</td>");
}

static void put_figure_table(struct adl_text *text, const struct adl_comparison *comparison, int table)
{
    int columns[COLUMNS_MAX];
    const size_t count = columns_choose(columns, comparison, table);
    adl_text_put(text, "<table>\n");
    put_figure_heads(text, comparison, columns, count);
    adl_text_put(text, "<tbody>\n");
    for (uint32_t row = 0; row < adl_comparison_rows(comparison); row++) {
        const uint32_t policy = adl_comparison_row(comparison, row);
        put_row_head(text, comparison, policy);
        for (size_t i = 0; i < count; i++) {
            put_figure_cell(text, comparison, policy, columns[i]);
            if (has_change_column(comparison, columns[i]))
                put_change_cell(text, comparison, policy);
        }
        adl_text_put(text, "</tr>\n");
    }
    adl_text_put(text, "</tbody></table>\n");
}

void adl_page_put_figures(struct adl_text *text, const struct adl_comparison *comparison)
{
    adl_text_put(text, "<div class=\"scroll\">\n");
    put_figure_table(text, comparison, 0);
    put_figure_table(text, comparison, 1);
    adl_text_put(text, "</div>\n");
}

void adl_page_put_counts(struct adl_text *text, const struct adl_comparison *comparison)
{
    adl_text_put(text,
                 "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">policy</th><th scope=\"col\">jobs ended"
                 "</th><th scope=\"col\">at their limit</th><th scope=\"col\">unfinished</th><th scope=\"col\">"
                 "evictions</th><th scope=\"col\">GPU-s lost</th><th scope=\"col\">decisions</th><th "
                 "scope=\"col\">refused</th><th scope=\"col\">"
                 "events</th></tr></thead>\n<tbody>\n");
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        const struct adl_result sum = adl_policy_totals(&comparison->policies[i], comparison->seed_count);
        const uint64_t counts[] = {sum.jobs,       sum.timeouts,  sum.unfinished, sum.evictions,
                                   sum.lost_gpu_s, sum.decisions, sum.refused,    sum.events};
        put_row_head(text, comparison, i);
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++)
            adl_text_printf(text, "<td>%" PRIu64 "</td>", counts[j]);
        adl_text_put(text, "</tr>\n");
    }
    adl_text_put(text, "</tbody></table></div>\n");
}

void adl_page_put_policies(struct adl_text *text, const struct adl_comparison *comparison)
{
    adl_text_put(text, "<dl>\n");
    for (uint32_t i = 0; i < adl_comparison_rows(comparison); i++) {
        adl_text_put(text, "<dt>");
        adl_html_put(text, comparison->policies[i].name);
        adl_text_put(text, "</dt><dd>");
        adl_html_put(text, comparison->policies[i].summary ? comparison->policies[i].summary : "");
        adl_text_put(text, "</dd>\n");
    }
    adl_text_put(text, "</dl>\n");
}

void adl_page_put_metrics(struct adl_text *text, const struct adl_comparison *comparison)
{
    adl_text_put(text, "<dl>\n");
    for (int table = 0; table < 2; table++) {
        int columns[COLUMNS_MAX];
        const size_t count = columns_choose(columns, comparison, table);
        for (size_t i = 0; i < count; i++) {
            const struct adl_metric_info *info = adl_column_info(columns[i]);
            adl_text_put(text, "<dt>");
            adl_html_put(text, info->label);
            adl_text_put(text, "</dt><dd>");
            adl_html_put(text, info->about);
            adl_text_put(text, info->better < 0 ? " (lower is better)" : info->better > 0 ? " (higher is better)" : "");
            adl_text_put(text, "</dd>\n");
        }
    }
    adl_text_put(text, "</dl>\n");
}
