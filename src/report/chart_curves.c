/* chart_curves: charts with a curve or a cloud of points for each policy. */
#include "report/chart.h"

#include "report/figure.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PANEL_LEFT_PX   58.0
#define PANEL_RIGHT_PX  542.0
#define PANEL_BOTTOM_PX 286.0
#define PANEL_HEIGHT_PX 336.0
#define WIDE_LEFT_PX    136.0
#define WIDE_RIGHT_PX   1082.0
#define POINTS_MAX      3000 /* in a cloud */

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The finite times of a timeline, ascending; NULL if there are none. The caller frees it. */
static float *sorted_jct_s(struct adl_text *text, const struct adl_timeline *timeline, size_t *ret_count)
{
    *ret_count = 0;
    if (!timeline || timeline->job_count == 0)
        return NULL;
    float *values = malloc(timeline->job_count * sizeof *values);
    if (!values) {
        text->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < timeline->job_count; i++)
        if (isfinite(timeline->jct_s[i]))
            values[(*ret_count)++] = timeline->jct_s[i];
    qsort(values, *ret_count, sizeof *values, compare_floats);
    return values;
}

static void put_cdf_curve(struct adl_text *text, const float *values, size_t count, const struct adl_axis *x,
                          const struct adl_axis *y, double factor)
{
    double last_px = adl_axis_px(x, values[0] * factor);
    adl_svg_point(text, last_px, y->from_px);
    for (size_t i = 0; i < count; i++) {
        const double px = adl_axis_px(x, values[i] * factor);
        if (px - last_px < 1 && i + 1 < count && i > 0)
            continue;
        adl_svg_point(text, px, adl_axis_px(y, 100.0 * (double)(i + 1) / (double)count));
        last_px = px;
    }
}

/* The x axis of the distribution: logarithmic, with ticks in units of time, if the range is wide. */
static bool cdf_axis(const struct adl_comparison *comparison, struct adl_axis *ret_axis, struct adl_scale *ret_scale)
{
    double lo = INFINITY, hi = 0;
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        const struct adl_timeline *timeline = comparison->policies[i].timeline;
        for (size_t job = 0; timeline && job < timeline->job_count; job++) {
            const double jct_s = timeline->jct_s[job];
            if (isfinite(jct_s) && jct_s > hi)
                hi = jct_s;
            if (jct_s > 0 && jct_s < lo)
                lo = jct_s;
        }
    }
    if (!(hi > 0))
        return false;
    const bool wide = hi / lo > 40;
    *ret_scale = wide ? (struct adl_scale){.factor = 1, .unit = "t"} : adl_scale_time(hi);
    *ret_axis = wide ? adl_axis_log_time(fmax(lo, hi / 1e7), hi, PANEL_LEFT_PX, PANEL_RIGHT_PX)
                     : adl_axis_linear(0, hi * ret_scale->factor, PANEL_LEFT_PX, PANEL_RIGHT_PX, 6);
    return true;
}

bool adl_chart_cdf(struct adl_text *text, const struct adl_comparison *comparison)
{
    struct adl_axis x;
    struct adl_scale scale;
    if (!cdf_axis(comparison, &x, &scale))
        return false;
    const struct adl_axis y = adl_axis_linear(0, 100, PANEL_BOTTOM_PX, 12, 5);
    adl_svg_open(text, ADL_CHART_PANEL_PX, PANEL_HEIGHT_PX, "Distribution of job completion times by policy",
                 "For each policy the share of jobs that completed within a time; further left and up is better.", &x,
                 scale.unit);
    adl_svg_axis_y(text, &y, 5, PANEL_LEFT_PX, PANEL_RIGHT_PX);
    adl_svg_axis_x(text, &x, 6, 12, PANEL_BOTTOM_PX);
    char title[64] = "time from submission to end";
    if (!x.log)
        snprintf(title + 27, sizeof title - 27, ", %s", scale.unit);
    adl_svg_label(text, "axis end", PANEL_RIGHT_PX, PANEL_HEIGHT_PX - 6, title);
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        size_t count;
        float *values = sorted_jct_s(text, comparison->policies[i].timeline, &count);
        if (count > 0) {
            adl_svg_curve_open(text, i, comparison->policies[i].name, &y, "%");
            put_cdf_curve(text, values, count, &x, &y, scale.factor);
            adl_svg_curve_close(text);
        }
        free(values);
    }
    adl_svg_close(text);
    return true;
}

/* The regression line, clipped to the plot. */
static void put_fit(struct adl_text *text, const struct adl_regression *fit, double factor, const struct adl_axis *x,
                    const struct adl_axis *y, double from, double to)
{
    const double slope = fit->slope / 100 * factor, start = fit->intercept * factor;
    if (fit->count < ADL_REGRESSION_POINTS_MIN || !isfinite(slope) || !isfinite(start))
        return;
    if (fabs(slope) > 0) {
        const double at_lo = (y->lo - start) / slope, at_hi = (y->hi - start) / slope;
        from = fmax(from, fmin(at_lo, at_hi));
        to = fmin(to, fmax(at_lo, at_hi));
    }
    if (from < to)
        adl_svg_line(text, "fit", adl_axis_px(x, from), adl_axis_px(y, start + slope * from), adl_axis_px(x, to),
                     adl_axis_px(y, start + slope * to));
}

static void put_cloud(struct adl_text *text, const struct adl_comparison *comparison, double factor,
                      const struct adl_axis *x, const struct adl_axis *y)
{
    const uint64_t points = (uint64_t)comparison->policy_count * comparison->seed_count;
    const uint32_t stride = (uint32_t)(points / POINTS_MAX + 1);
    char names[ADL_CLASS_SIZE];
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        for (uint32_t seed = 0; seed < comparison->seed_count; seed += stride) {
            const double *value = comparison->policies[i].runs[seed].value;
            if (isfinite(value[ADL_METRIC_UTILIZATION]) && isfinite(value[ADL_METRIC_JCT_MEAN] * factor))
                adl_svg_circle(text, adl_svg_series(names, i, "point"),
                               adl_axis_px(x, value[ADL_METRIC_UTILIZATION] * 100),
                               adl_axis_px(y, value[ADL_METRIC_JCT_MEAN] * factor), 4);
        }
    }
}

bool adl_chart_scatter(struct adl_text *text, const struct adl_comparison *comparison)
{
    const struct adl_scale scale = adl_scale_metric(comparison, ADL_METRIC_JCT_MEAN);
    double x_lo = INFINITY, x_hi = -INFINITY, y_lo = INFINITY, y_hi = -INFINITY;
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        for (uint32_t seed = 0; seed < comparison->seed_count; seed++) {
            const double *value = comparison->policies[i].runs[seed].value;
            const double use = value[ADL_METRIC_UTILIZATION] * 100, jct = value[ADL_METRIC_JCT_MEAN] * scale.factor;
            if (!isfinite(use) || !isfinite(jct))
                continue;
            x_lo = fmin(x_lo, use);
            x_hi = fmax(x_hi, use);
            y_lo = fmin(y_lo, jct);
            y_hi = fmax(y_hi, jct);
        }
    }
    if (!(x_lo <= x_hi) || !(y_hi > 0))
        return false;
    const struct adl_axis x = adl_axis_linear(x_lo, x_hi, PANEL_LEFT_PX, PANEL_RIGHT_PX, 6);
    const struct adl_axis y = adl_axis_linear(y_lo, y_hi, PANEL_BOTTOM_PX, 34, 5);
    adl_svg_open(text, ADL_CHART_PANEL_PX, PANEL_HEIGHT_PX, "Mean job completion time against GPU utilization",
                 "A point for each policy and seed, and the regression line over all of them.", NULL, "");
    adl_svg_axis_y(text, &y, 5, PANEL_LEFT_PX, PANEL_RIGHT_PX);
    adl_svg_axis_x(text, &x, 6, 34, PANEL_BOTTOM_PX);
    char title[64];
    snprintf(title, sizeof title, "mean JCT, %s", scale.unit);
    adl_svg_label(text, "axis", 6, 17, title);
    adl_svg_label(text, "axis end", PANEL_RIGHT_PX, PANEL_HEIGHT_PX - 6, "GPUs busy, %");
    put_cloud(text, comparison, scale.factor, &x, &y);
    put_fit(text, &comparison->jct_on_utilization, scale.factor, &x, &y, x_lo, x_hi);
    adl_svg_close(text);
    return true;
}

double adl_chart_end_s(const struct adl_comparison *comparison)
{
    double end_s = 0;
    for (uint32_t i = 0; i < comparison->policy_count; i++)
        if (comparison->policies[i].timeline)
            end_s = fmax(end_s, (double)comparison->policies[i].timeline->end_us / 1e6);
    return end_s;
}

enum moment_field { MOMENT_BUSY, MOMENT_PENDING };

/* The step function's mean in each of equal bins over 0..end_us; returns how many of them the timeline
 * reaches. */
static size_t bin_moments(const struct adl_timeline *timeline, enum moment_field field, double end_us,
                          double ret_bins[ADL_CHART_BINS])
{
    const double bin_us = end_us / ADL_CHART_BINS;
    double covered[ADL_CHART_BINS] = {0};
    for (size_t i = 0; i < ADL_CHART_BINS; i++)
        ret_bins[i] = 0;
    for (size_t i = 0; i < timeline->moment_count; i++) {
        const struct adl_moment *moment = &timeline->moments[i];
        const int64_t until_us = i + 1 < timeline->moment_count ? timeline->moments[i + 1].time_us : timeline->end_us;
        const double value = field == MOMENT_BUSY ? moment->busy_gpus : moment->pending_jobs;
        double from_us = fmax(0, (double)moment->time_us);
        const double to_us = fmin(end_us, (double)until_us);
        size_t bin = (size_t)fmin(from_us / bin_us, ADL_CHART_BINS - 1);
        while (from_us < to_us && bin < ADL_CHART_BINS) {
            const double stop_us = bin + 1 < ADL_CHART_BINS ? fmin(to_us, (double)(bin + 1) * bin_us) : to_us;
            const double share = fmax(0, stop_us - from_us);
            ret_bins[bin] += value * share;
            covered[bin] += share;
            from_us = stop_us;
            bin++;
        }
    }
    size_t reached = 0;
    for (size_t i = 0; i < ADL_CHART_BINS; i++) {
        if (covered[i] > 0) {
            ret_bins[i] /= covered[i];
            reached = i + 1;
        }
    }
    return reached;
}

static void put_steps(struct adl_text *text, const double *bins, size_t count, double factor, const struct adl_axis *y)
{
    const double pitch = (WIDE_RIGHT_PX - WIDE_LEFT_PX) / ADL_CHART_BINS;
    for (size_t i = 0; i < count; i++)
        adl_svg_point(text, WIDE_LEFT_PX + ((double)i + 0.5) * pitch, adl_axis_px(y, bins[i] * factor));
}

static struct adl_axis time_axis(double end_s, struct adl_scale *ret_scale)
{
    *ret_scale = adl_scale_time(end_s);
    return (struct adl_axis){.lo = 0, .hi = end_s * ret_scale->factor, .from_px = WIDE_LEFT_PX, .to_px = WIDE_RIGHT_PX};
}

static void put_time_title(struct adl_text *text, double height, const struct adl_scale *scale)
{
    char title[64];
    snprintf(title, sizeof title, "time since the start, %s", scale->unit);
    adl_svg_label(text, "axis end", WIDE_RIGHT_PX, height - 6, title);
}

static void put_strip(struct adl_text *text, const struct adl_comparison *comparison, uint32_t policy, double top,
                      double pitch, double end_us)
{
    const struct adl_timeline *timeline = comparison->policies[policy].timeline;
    const struct adl_axis y = {.lo = 0, .hi = 100, .from_px = top + pitch - 6, .to_px = top + 6};
    const double factor = 100.0 / (timeline->gpu_count ? timeline->gpu_count : 1);
    double bins[ADL_CHART_BINS], sum = 0;
    char names[ADL_CLASS_SIZE], label[ADL_FIGURE_SIZE], mean[ADL_FIGURE_SIZE];
    const size_t count = bin_moments(timeline, MOMENT_BUSY, end_us, bins);
    adl_svg_line(text, "grid", WIDE_LEFT_PX, y.to_px, WIDE_RIGHT_PX, y.to_px);
    adl_svg_line(text, "grid", WIDE_LEFT_PX, adl_axis_px(&y, 50), WIDE_RIGHT_PX, adl_axis_px(&y, 50));
    adl_svg_line(text, "base", WIDE_LEFT_PX, y.from_px, WIDE_RIGHT_PX, y.from_px);
    adl_text_printf(text, "<text class=\"%s\"", adl_svg_series(names, policy, "name end"));
    adl_svg_attribute(text, "x", WIDE_LEFT_PX - 12);
    adl_svg_attribute(text, "y", top + pitch / 2 + 5);
    adl_text_char(text, '>');
    adl_html_put_cut(text, comparison->policies[policy].name, 14);
    adl_text_put(text, "</text>\n");
    if (count == 0)
        return;
    adl_text_printf(text, "<polygon class=\"%s\" points=\"", adl_svg_series(names, policy, "area"));
    const double half = (WIDE_RIGHT_PX - WIDE_LEFT_PX) / ADL_CHART_BINS / 2;
    adl_svg_point(text, WIDE_LEFT_PX + half, y.from_px);
    put_steps(text, bins, count, factor, &y);
    adl_svg_point(text, WIDE_LEFT_PX + half * (2 * (double)count - 1), y.from_px);
    adl_svg_curve_close(text);
    adl_svg_curve_open(text, policy, comparison->policies[policy].name, &y, "%");
    put_steps(text, bins, count, factor, &y);
    adl_svg_curve_close(text);
    for (size_t i = 0; i < count; i++)
        sum += bins[i] * factor;
    const struct adl_scale percent = {.factor = 1, .decimals = 1};
    snprintf(label, sizeof label, "%.12s %%", adl_figure_print(mean, sum / (double)count, percent));
    adl_svg_label(text, adl_svg_series(names, policy, "value end"), ADL_CHART_WIDE_PX - 6, top + pitch / 2 + 5, label);
}

bool adl_chart_utilization(struct adl_text *text, const struct adl_comparison *comparison)
{
    const double end_s = adl_chart_end_s(comparison);
    uint32_t count = 0, row = 0;
    for (uint32_t i = 0; i < comparison->policy_count; i++)
        count += comparison->policies[i].timeline && comparison->policies[i].timeline->moment_count > 0;
    if (!(end_s > 0) || count == 0)
        return false;
    struct adl_scale scale;
    const struct adl_axis x = time_axis(end_s, &scale);
    const double pitch = count > 8 ? 48 : 68, top = 6, bottom = top + pitch * count;
    adl_svg_open(text, ADL_CHART_WIDE_PX, bottom + 48, "Share of GPUs busy over time by policy",
                 "A strip for each policy, from 0 at the bottom to 100 percent at the top.", &x, scale.unit);
    adl_svg_axis_x(text, &x, 10, top, bottom);
    put_time_title(text, bottom + 48, &scale);
    for (uint32_t i = 0; i < comparison->policy_count; i++)
        if (comparison->policies[i].timeline && comparison->policies[i].timeline->moment_count > 0)
            put_strip(text, comparison, i, top + pitch * row++, pitch, end_s * 1e6);
    adl_svg_close(text);
    return true;
}

bool adl_chart_queue(struct adl_text *text, const struct adl_comparison *comparison)
{
    const double end_s = adl_chart_end_s(comparison), height = 316, bottom = height - 50;
    double bins[ADL_CHART_BINS], largest = 0;
    bool any = false;
    for (uint32_t i = 0; end_s > 0 && i < comparison->policy_count; i++) {
        if (!comparison->policies[i].timeline)
            continue;
        const size_t count = bin_moments(comparison->policies[i].timeline, MOMENT_PENDING, end_s * 1e6, bins);
        any = any || count > 0;
        for (size_t bin = 0; bin < count; bin++)
            largest = fmax(largest, bins[bin]);
    }
    if (!any)
        return false;
    struct adl_scale scale;
    const struct adl_axis x = time_axis(end_s, &scale), y = adl_axis_linear(0, largest, bottom, 12, 5);
    adl_svg_open(text, ADL_CHART_WIDE_PX, height, "Jobs waiting over time by policy",
                 "A line for each policy: how many jobs were submitted and have not started.", &x, scale.unit);
    adl_svg_axis_y(text, &y, 5, WIDE_LEFT_PX, WIDE_RIGHT_PX);
    adl_svg_axis_x(text, &x, 10, 12, bottom);
    put_time_title(text, height, &scale);
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        if (!comparison->policies[i].timeline)
            continue;
        const size_t count = bin_moments(comparison->policies[i].timeline, MOMENT_PENDING, end_s * 1e6, bins);
        if (count == 0)
            continue;
        adl_svg_curve_open(text, i, comparison->policies[i].name, &y, "jobs");
        put_steps(text, bins, count, 1, &y);
        adl_svg_curve_close(text);
    }
    adl_svg_close(text);
    return true;
}
