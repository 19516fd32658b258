/* chart_rows: charts with a row for each policy, GPU type or metric. */
#include "report/chart.h"

#include "report/figure.h"
#include "report/headline.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>

#define NAME_COLUMNS 21
#define LEFT_PX      166.0
#define RIGHT_PX     478.0
#define EDGE_PX      554.0

struct rows {
    double top, pitch, bottom, height;
};

static struct rows rows_lay_out(uint32_t count, double top)
{
    const double pitch = fmax(20, fmin(60, 240.0 / (count ? count : 1)));
    const double bottom = top + pitch * count;
    return (struct rows){.top = top, .pitch = pitch, .bottom = bottom, .height = bottom + 48};
}

static double row_y(const struct rows *rows, uint32_t row)
{
    return rows->top + (row + 0.5) * rows->pitch;
}

static void put_row_name(struct adl_text *text, const char *class_names, const struct rows *rows, uint32_t row,
                         const char *name)
{
    adl_text_printf(text, "<text class=\"%s\"", class_names);
    adl_svg_attribute(text, "x", LEFT_PX - 12);
    adl_svg_attribute(text, "y", row_y(rows, row) + 4.5);
    adl_text_char(text, '>');
    adl_html_put_cut(text, name, NAME_COLUMNS);
    adl_text_put(text, "</text>\n");
}

static void put_whisker(struct adl_text *text, uint32_t policy, const struct adl_axis *axis, double y, double lo,
                        double hi)
{
    char names[ADL_CLASS_SIZE];
    const double from = adl_axis_px(axis, lo), to = adl_axis_px(axis, hi);
    if (!isfinite(lo) || !isfinite(hi) || to - from < 0.3)
        return;
    adl_svg_series(names, policy, "whisker");
    adl_svg_line(text, names, from, y, to, y);
    adl_svg_line(text, names, from, y - 4, from, y + 4);
    adl_svg_line(text, names, to, y - 4, to, y + 4);
}

static void put_axis_title(struct adl_text *text, const struct rows *rows, const char *what, const char *unit)
{
    char title[80];
    snprintf(title, sizeof title, "%.40s, %.16s", what, unit);
    adl_svg_label(text, "axis end", RIGHT_PX, rows->height - 6, title);
}

/* The range of the intervals of a metric, in display units. */
static bool metric_range(const struct adl_comparison *comparison, int metric, double factor, double *ret_lo,
                         double *ret_hi)
{
    double lo = INFINITY, hi = -INFINITY;
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        const struct adl_summary *summary = &comparison->policies[i].metrics[metric];
        if (!isfinite(summary->mean * factor))
            continue;
        lo = fmin(lo, (isfinite(summary->lo) ? summary->lo : summary->mean) * factor);
        hi = fmax(hi, (isfinite(summary->hi) ? summary->hi : summary->mean) * factor);
    }
    if (!(lo <= hi))
        return false;
    *ret_lo = lo;
    *ret_hi = hi;
    return true;
}

static void put_bound(struct adl_text *text, const struct rows *rows, const struct adl_axis *axis, double bound)
{
    const double x = adl_axis_px(axis, bound);
    adl_svg_line(text, "bound", x, rows->top - 6, x, rows->bottom);
    adl_svg_label(text, x > (LEFT_PX + RIGHT_PX) / 2 ? "axis end" : "axis", x, rows->top - 11,
                  "clairvoyant lower bound");
}

bool adl_chart_jct(struct adl_text *text, const struct adl_comparison *comparison)
{
    const struct adl_scale scale = adl_scale_metric(comparison, ADL_METRIC_JCT_MEAN);
    const double bound = comparison->bound_jct_s.mean * scale.factor;
    const bool bounded = isfinite(bound) && bound > 0;
    char names[ADL_CLASS_SIZE], number[ADL_FIGURE_SIZE];
    double lo, hi;
    if (!metric_range(comparison, ADL_METRIC_JCT_MEAN, scale.factor, &lo, &hi))
        return false;
    if (bounded)
        lo = fmin(lo, bound);
    const struct rows rows = rows_lay_out(comparison->policy_count, bounded ? 32 : 10);
    const struct adl_axis axis = adl_axis_linear(lo, hi, LEFT_PX, RIGHT_PX, 5);
    adl_svg_open(text, ADL_CHART_PANEL_PX, rows.height, "Mean job completion time by policy",
                 "A dot for the mean over seeds, a line for its 95 % confidence interval, a dashed line for "
                 "the bound.",
                 NULL, "");
    adl_svg_axis_x(text, &axis, 5, rows.top, rows.bottom);
    put_axis_title(text, &rows, "mean JCT", scale.unit);
    if (bounded)
        put_bound(text, &rows, &axis, bound);
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        const struct adl_summary *summary = &comparison->policies[i].metrics[ADL_METRIC_JCT_MEAN];
        const double y = row_y(&rows, i);
        put_row_name(text, adl_svg_series(names, i, "name end"), &rows, i, comparison->policies[i].name);
        adl_svg_label(text, adl_svg_series(names, i, "value end"), EDGE_PX, y + 4.5,
                      adl_figure_print(number, summary->mean, scale));
        if (!isfinite(summary->mean))
            continue;
        put_whisker(text, i, &axis, y, summary->lo * scale.factor, summary->hi * scale.factor);
        adl_svg_circle(text, adl_svg_series(names, i, "dot"), adl_axis_px(&axis, summary->mean * scale.factor), y, 5.5);
    }
    adl_svg_close(text);
    return true;
}

bool adl_chart_energy(struct adl_text *text, const struct adl_comparison *comparison)
{
    const struct adl_scale scale = adl_scale_metric(comparison, ADL_METRIC_ENERGY);
    char names[ADL_CLASS_SIZE], number[ADL_FIGURE_SIZE];
    double lo, hi;
    if (!metric_range(comparison, ADL_METRIC_ENERGY, scale.factor, &lo, &hi) || !(hi > 0))
        return false;
    const struct rows rows = rows_lay_out(comparison->policy_count, 10);
    const struct adl_axis axis = adl_axis_linear(0, hi, LEFT_PX, RIGHT_PX, 5);
    adl_svg_open(text, ADL_CHART_PANEL_PX, rows.height, "Energy by policy",
                 "A bar for the mean over seeds with its 95 % confidence interval.", NULL, "");
    adl_svg_axis_x(text, &axis, 5, rows.top, rows.bottom);
    put_axis_title(text, &rows, "energy of all GPUs", scale.unit);
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        const struct adl_summary *summary = &comparison->policies[i].metrics[ADL_METRIC_ENERGY];
        const double y = row_y(&rows, i), thick = fmin(22, rows.pitch * 0.6);
        put_row_name(text, adl_svg_series(names, i, "name end"), &rows, i, comparison->policies[i].name);
        adl_svg_label(text, adl_svg_series(names, i, "value end"), EDGE_PX, y + 4.5,
                      adl_figure_print(number, summary->mean, scale));
        if (!isfinite(summary->mean))
            continue;
        adl_svg_rect(text, adl_svg_series(names, i, "bar"), LEFT_PX, y - thick / 2,
                     adl_axis_px(&axis, summary->mean * scale.factor) - LEFT_PX, thick);
        put_whisker(text, i, &axis, y, summary->lo * scale.factor, summary->hi * scale.factor);
    }
    adl_svg_close(text);
    return true;
}

/* Mean over the GPUs of one type in the first seed, or NAN. */
static double type_energy_j(const struct adl_comparison *comparison, uint32_t policy, uint32_t type)
{
    const struct adl_cluster *cluster = &comparison->scenario->cluster;
    const struct adl_timeline *timeline = comparison->policies[policy].timeline;
    double sum = 0;
    uint32_t count = 0;
    if (!timeline || !timeline->gpu_energy_j)
        return NAN;
    for (uint32_t gpu = 0; gpu < cluster->gpu_count && gpu < timeline->gpu_count; gpu++) {
        if (adl_gpu_type_of(cluster, gpu) == type) {
            sum += timeline->gpu_energy_j[gpu];
            count++;
        }
    }
    return count ? sum / count : NAN;
}

bool adl_chart_energy_by_type(struct adl_text *text, const struct adl_comparison *comparison)
{
    const struct adl_cluster *cluster = &comparison->scenario->cluster;
    double largest = 0;
    uint32_t row_count = 0;
    char names[ADL_CLASS_SIZE];
    for (uint32_t type = 0; type < cluster->type_count; type++) {
        row_count += cluster->type_gpus[type] > 0;
        for (uint32_t i = 0; i < comparison->policy_count; i++)
            largest = fmax(largest, type_energy_j(comparison, i, type));
    }
    if (!(largest > 0) || !isfinite(largest))
        return false;
    const struct adl_scale scale = adl_scale_energy(largest);
    const struct rows rows = rows_lay_out(row_count, 10);
    const struct adl_axis axis = adl_axis_linear(0, largest * scale.factor, LEFT_PX, EDGE_PX - 14, 6);
    adl_svg_open(text, ADL_CHART_PANEL_PX, rows.height, "Mean energy of a GPU, by type and policy",
                 "A row for each GPU type and in it a dot for each policy, first seed.", NULL, "");
    adl_svg_axis_x(text, &axis, 6, rows.top, rows.bottom);
    put_axis_title(text, &rows, "energy of one GPU", scale.unit);
    uint32_t row = 0;
    for (uint32_t type = 0; type < cluster->type_count; type++) {
        if (cluster->type_gpus[type] == 0)
            continue;
        put_row_name(text, "name end", &rows, row, cluster->types[type].name);
        adl_svg_line(text, "grid", LEFT_PX, row_y(&rows, row), EDGE_PX - 14, row_y(&rows, row));
        for (uint32_t i = 0; i < comparison->policy_count; i++) {
            const double energy_j = type_energy_j(comparison, i, type);
            if (isfinite(energy_j))
                adl_svg_circle(text, adl_svg_series(names, i, "dot"), adl_axis_px(&axis, energy_j * scale.factor),
                               row_y(&rows, row), 5.5);
        }
        row++;
    }
    adl_svg_close(text);
    return true;
}

#define CHANGE_LIMIT 100.0 /* percent: bars are clipped there; their labels are not */

/* Metrics of the chart: those of tables that do not depend on the machine. */
static size_t change_metrics(const struct adl_comparison *comparison, int ret[ADL_METRIC_FIRST_TIMING])
{
    size_t count = 0;
    for (int metric = 0; metric <= ADL_METRIC_HYPERSCORE; metric++)
        if (adl_column_shown(comparison, metric))
            ret[count++] = metric;
    return count;
}

static double change_of(const struct adl_comparison *comparison, const struct adl_headline *headline, int metric)
{
    return adl_change_percent(adl_column_mean(comparison, headline->policy, metric),
                              adl_column_mean(comparison, headline->peer, metric));
}

static void put_change(struct adl_text *text, const struct adl_comparison *comparison,
                       const struct adl_headline *headline, int metric, const struct rows *rows, uint32_t row,
                       const struct adl_axis *axis)
{
    const double change = change_of(comparison, headline, metric);
    const double y = row_y(rows, row), thick = fmin(16, rows->pitch * 0.66);
    const int better = adl_metric_table[metric].better;
    const char *mark = comparison->seed_count > 1 ? adl_significance(headline->metric_p[metric]) : "";
    char number[ADL_FIGURE_SIZE], label[64];
    put_row_name(text, "name end", rows, row, adl_metric_table[metric].label);
    if (!isfinite(change)) {
        adl_svg_label(text, "tick", axis->from_px + 6, y + 4.5, "\u2013");
        return;
    }
    const double shown = fmax(axis->lo, fmin(axis->hi, change));
    const double zero = adl_axis_px(axis, 0), end = adl_axis_px(axis, shown);
    const char *side = better == 0 || fabs(change) < 0.05 ? "even" : (change > 0) == (better > 0) ? "good" : "bad";
    char names[ADL_CLASS_SIZE];
    snprintf(names, sizeof names, "%s%s", side, *mark || comparison->seed_count < 2 ? "" : " weak");
    adl_svg_rect(text, names, fmin(zero, end), y - thick / 2, fabs(end - zero), thick);
    snprintf(label, sizeof label, "%s %% %s", adl_figure_print_change(number, change), mark);
    /* A label that would leave the plot is placed at the zero line, on the empty side. */
    if (change >= 0)
        adl_svg_label(text, end > EDGE_PX - 100 ? "tick end" : "tick", end > EDGE_PX - 100 ? zero - 6 : end + 6,
                      y + 4.5, label);
    else
        adl_svg_label(text, end < LEFT_PX + 100 ? "tick" : "tick end", end < LEFT_PX + 100 ? zero + 6 : end - 6,
                      y + 4.5, label);
}

bool adl_chart_change(struct adl_text *text, const struct adl_comparison *comparison)
{
    struct adl_headline headline;
    const int status = adl_headline_compute(comparison, &headline);
    text->failed = text->failed || status == ADL_ENOMEM;
    if (status)
        return false;
    int metrics[ADL_METRIC_FIRST_TIMING];
    const size_t count = change_metrics(comparison, metrics);
    double lo = 0, hi = 0;
    for (size_t i = 0; i < count; i++) {
        const double change = change_of(comparison, &headline, metrics[i]);
        lo = isfinite(change) ? fmin(lo, change) : lo;
        hi = isfinite(change) ? fmax(hi, change) : hi;
    }
    if (!(lo < hi))
        return false;
    /* Space for a label beside the longest bar on either side. */
    lo = fmax(lo, -CHANGE_LIMIT);
    hi = fmin(hi, CHANGE_LIMIT);
    const double span = hi - lo;
    struct rows rows = rows_lay_out((uint32_t)count, 10);
    const struct adl_axis axis = adl_axis_linear(fmin(lo, -0.1 * span), fmax(hi, 0.1 * span), LEFT_PX, EDGE_PX - 14, 6);
    adl_svg_open(text, ADL_CHART_PANEL_PX, rows.height,
                 "Change of every metric from the best of the others to the last policy",
                 "A bar for each metric; the colour shows whether the change is an improvement.", NULL, "");
    adl_svg_axis_x(text, &axis, 6, rows.top, rows.bottom);
    put_axis_title(text, &rows, "relative change", "%");
    for (size_t i = 0; i < count; i++)
        put_change(text, comparison, &headline, metrics[i], &rows, (uint32_t)i, &axis);
    adl_svg_line(text, "base", adl_axis_px(&axis, 0), rows.top, adl_axis_px(&axis, 0), rows.bottom);
    adl_svg_close(text);
    return true;
}
