/* training_page: learning curves: return, loss, and the held-out figures with lines for the baselines. */
#include "report/training_report.h"

#include "report/chart.h"
#include "report/figure.h"
#include "report/page_frame.h"
#include "report/page_table.h"
#include "report/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define LEFT_PX    66.0
#define RIGHT_PX   542.0
#define TOP_PX     12.0
#define BOTTOM_PX  286.0
#define HEIGHT_PX  336.0
#define POINTS_MAX 240 /* of a curve; more rounds are averaged */

/* Series have the colours of policies on other pages: 0 is grey, for the baseline. */
#define SERIES_DQN 1

static uint32_t baseline_series(uint32_t baseline)
{
    return baseline == 0 ? 0 : baseline + 1;
}

struct panel {
    enum adl_training_column column;
    const char *title, *about;
    const char *name;
};

/* One chart's axes and unit. A value v is drawn at v * scale.factor + offset. */
struct plot {
    const struct adl_training_log *log;
    struct adl_axis x, y;
    struct adl_scale scale;
    double offset;
};

/* The policy with the shortest mean completion time; NULL without baselines. */
static const struct adl_training_baseline *best_peer(const struct adl_training_log *log)
{
    const struct adl_training_baseline *best = NULL;
    for (uint32_t i = 0; i < log->baseline_count; i++) {
        const struct adl_training_baseline *baseline = &log->baselines[i];
        if (!best || baseline->result.value[ADL_METRIC_JCT_MEAN] < best->result.value[ADL_METRIC_JCT_MEAN])
            best = baseline;
    }
    return best;
}

static void widen(double value, double *lo, double *hi)
{
    if (!isfinite(value))
        return;
    *lo = fmin(*lo, value);
    *hi = fmax(*hi, value);
}

/* The mean of a column over rounds first .. end-1; NAN if they have no values. */
static double mean_of(const struct adl_training_log *log, enum adl_training_column column, size_t first, size_t end)
{
    double sum = 0, count = 0;
    for (size_t i = first; i < end; i++) {
        const double value = log->rows[i].value[column];
        sum += isfinite(value) ? value : 0;
        count += isfinite(value);
    }
    return count > 0 ? sum / count : NAN;
}

static size_t stride_of(const struct adl_training_log *log)
{
    return log->row_count / POINTS_MAX + 1;
}

static void curve_range(const struct adl_training_log *log, enum adl_training_column column, double *lo, double *hi)
{
    const size_t stride = stride_of(log);
    for (size_t i = 0; i < log->row_count; i += stride)
        widen(mean_of(log, column, i, i + stride < log->row_count ? i + stride : log->row_count), lo, hi);
}

static struct adl_scale scale_for(enum adl_training_column column, double largest)
{
    const int metric = adl_training_column_metric(column);
    if (metric == ADL_METRIC_UTILIZATION)
        return (struct adl_scale){.factor = 100, .unit = "%", .decimals = 1};
    if (metric >= 0)
        return adl_scale_time(largest);
    return (struct adl_scale){.factor = 1, .unit = ""};
}

static struct adl_axis axis_x(const struct adl_training_log *log)
{
    const double last = log->rows[log->row_count - 1].value[ADL_TRAINING_EPISODES];
    return (struct adl_axis){.lo = 0, .hi = last, .from_px = LEFT_PX, .to_px = RIGHT_PX};
}

/* False if there is nothing to show. */
static bool make_plot(const struct adl_training_log *log, const struct panel *panel, struct plot *ret)
{
    const int metric = adl_training_column_metric(panel->column);
    double lo = INFINITY, hi = -INFINITY;
    curve_range(log, panel->column, &lo, &hi);
    if (!(lo <= hi))
        return false;
    for (uint32_t i = 0; metric >= 0 && i < log->baseline_count; i++)
        widen(log->baselines[i].result.value[metric], &lo, &hi);
    *ret = (struct plot){.log = log, .x = axis_x(log), .scale = scale_for(panel->column, hi)};
    ret->y = adl_axis_linear(lo * ret->scale.factor, hi * ret->scale.factor, BOTTOM_PX, TOP_PX, 5);
    return true;
}

static void put_curve(struct adl_text *text, const struct plot *plot, enum adl_training_column column, uint32_t series,
                      const char *name)
{
    const struct adl_training_log *log = plot->log;
    const size_t stride = stride_of(log);
    adl_svg_curve_open(text, series, name, &plot->y, plot->scale.unit);
    for (size_t i = 0; i < log->row_count; i += stride) {
        const size_t end = i + stride < log->row_count ? i + stride : log->row_count;
        const double value = mean_of(log, column, i, end) * plot->scale.factor + plot->offset;
        if (isfinite(value))
            adl_svg_point(text, adl_axis_px(&plot->x, log->rows[end - 1].value[ADL_TRAINING_EPISODES]),
                          adl_axis_px(&plot->y, value));
    }
    adl_svg_curve_close(text);
}

static void put_baselines(struct adl_text *text, const struct plot *plot, int metric)
{
    for (uint32_t i = 0; i < plot->log->baseline_count; i++) {
        const double value = plot->log->baselines[i].result.value[metric] * plot->scale.factor;
        if (!isfinite(value))
            continue;
        adl_svg_curve_open(text, baseline_series(i), plot->log->baselines[i].name, &plot->y, plot->scale.unit);
        adl_svg_point(text, LEFT_PX, adl_axis_px(&plot->y, value));
        adl_svg_point(text, RIGHT_PX, adl_axis_px(&plot->y, value));
        adl_svg_curve_close(text);
    }
}

static void open_panel(struct adl_text *text, const struct plot *plot, const char *title, const char *about)
{
    char whole[96];
    snprintf(whole, sizeof whole, "%.80s%s%s", title, *plot->scale.unit ? ", " : "", plot->scale.unit);
    adl_text_put(text, "<figure>");
    adl_page_put_caption(text, whole, about);
    adl_svg_open(text, ADL_CHART_PANEL_PX, HEIGHT_PX, title, about, &plot->x, "episodes");
    adl_svg_axis_y(text, &plot->y, 5, LEFT_PX, RIGHT_PX);
    adl_svg_axis_x(text, &plot->x, 5, TOP_PX, BOTTOM_PX);
    adl_svg_label(text, "axis end", RIGHT_PX, HEIGHT_PX - 6, "episodes");
}

static void put_best(struct adl_text *text, const struct plot *plot, enum adl_training_column column)
{
    const struct adl_training_row *best = adl_training_log_best(plot->log);
    char names[ADL_CLASS_SIZE];
    if (best)
        adl_svg_circle(text, adl_svg_series(names, SERIES_DQN, "dot"),
                       adl_axis_px(&plot->x, best->value[ADL_TRAINING_EPISODES]),
                       adl_axis_px(&plot->y, best->value[column] * plot->scale.factor + plot->offset), 6);
}

/* The mean completion time relative to that of the best peer, with nothing else that would set the scale. */
static void put_gap(struct adl_text *text, const struct adl_training_log *log)
{
    const struct adl_training_baseline *peer = best_peer(log);
    double lo = INFINITY, hi = -INFINITY;
    char title[96];
    curve_range(log, ADL_TRAINING_HELD_JCT_MEAN, &lo, &hi);
    if (!peer || !(peer->result.value[ADL_METRIC_JCT_MEAN] > 0) || !(lo <= hi))
        return;
    const double base_s = peer->result.value[ADL_METRIC_JCT_MEAN];
    struct plot plot = {
        .log = log, .x = axis_x(log), .scale = {.factor = 100 / base_s, .unit = "%", .decimals = 1}, .offset = -100};
    widen(base_s, &lo, &hi);
    plot.y = adl_axis_linear(lo * plot.scale.factor - 100, hi * plot.scale.factor - 100, BOTTOM_PX, TOP_PX, 5);
    snprintf(title, sizeof title, "Mean completion time against %.40s, the best peer", peer->name);
    open_panel(text, &plot, title, "held out; 0 is the best peer, below it is better; the dot is the best model");
    adl_svg_curve_open(text, baseline_series((uint32_t)(peer - log->baselines)), peer->name, &plot.y, "%");
    adl_svg_point(text, LEFT_PX, adl_axis_px(&plot.y, 0));
    adl_svg_point(text, RIGHT_PX, adl_axis_px(&plot.y, 0));
    adl_svg_curve_close(text);
    put_curve(text, &plot, ADL_TRAINING_HELD_JCT_MEAN, SERIES_DQN, "dqn");
    put_best(text, &plot, ADL_TRAINING_HELD_JCT_MEAN);
    adl_svg_close(text);
    adl_text_put(text, "</figure>\n");
}

static void put_panel(struct adl_text *text, const struct adl_training_log *log, const struct panel *panel)
{
    struct plot plot;
    const int metric = adl_training_column_metric(panel->column);
    if (!make_plot(log, panel, &plot))
        return;
    open_panel(text, &plot, panel->title, panel->about);
    if (metric >= 0)
        put_baselines(text, &plot, metric);
    put_curve(text, &plot, panel->column, SERIES_DQN, panel->name);
    if (metric >= 0)
        put_best(text, &plot, panel->column);
    adl_svg_close(text);
    adl_text_put(text, "</figure>\n");
}

static void put_header(struct adl_text *text, const struct adl_training_log *log)
{
    const double done = log->row_count ? log->rows[log->row_count - 1].value[ADL_TRAINING_EPISODES] : 0;
    adl_text_printf(text, "<header>\n<p class=\"kicker\">Training of the policy %s</p>\n<h1>", log->policy);
    adl_html_put(text, log->scenario->name);
    adl_text_put(text, "</h1>\n");
    if (log->scenario->description[0]) {
        adl_text_put(text, "<p class=\"lead\">");
        adl_html_put(text, log->scenario->description);
        adl_text_put(text, "</p>\n");
    }
    adl_text_printf(
        text,
        "<ul class=\"facts\"><li>network %s</li><li>%" PRIu64 " of %" PRIu64 " episodes</li><li>%" PRIu64
        " jobs an episode</li><li>%" PRIu32 " validation seeds</li><li>seed %" PRIu64 "</li></ul>\n</header>\n",
        log->network, (uint64_t)done, log->episodes, log->scenario->workload.jobs, log->validation_episodes, log->seed);
}

/* The best model's figure, large, and its change against a baseline: in percentage points for ratios, else in
 * percent. */
static void put_card(struct adl_text *text, const struct adl_training_row *best, enum adl_training_column column,
                     const struct adl_training_baseline *baseline)
{
    const int metric = adl_training_column_metric(column);
    const double value = best->value[column], base = baseline->result.value[metric];
    const bool points = metric == ADL_METRIC_UTILIZATION;
    const struct adl_scale scale = scale_for(column, fmax(value, base));
    const double change = points ? (value - base) * 100 : adl_change_percent(value, base);
    const int gain = fabs(change) < 0.05 ? 0 : (change > 0) == (adl_metric_table[metric].better > 0) ? 1 : -1;
    char number[ADL_FIGURE_SIZE];
    adl_text_put(text, "<div class=\"card\"><h3>");
    adl_html_put(text, adl_metric_table[metric].label);
    adl_text_put(text, "</h3><p class=\"big\">");
    adl_page_put_figure(text, adl_figure_print(number, value, scale));
    adl_text_printf(text, " <small>%s</small></p><p><span class=\"change %s\">", scale.unit,
                    gain > 0   ? "up"
                    : gain < 0 ? "down"
                               : "dim");
    adl_page_put_figure(text, adl_figure_print_change(number, change));
    adl_text_printf(text, "%s</span> <span class=\"dim\">against ", points ? " points" : " %");
    adl_html_put(text, baseline->name);
    adl_text_put(text, "</span></p></div>\n");
}

static void put_cards(struct adl_text *text, const struct adl_training_log *log)
{
    const struct adl_training_row *best = adl_training_log_best(log);
    const struct adl_training_baseline *peer = best_peer(log);
    if (!best || !peer)
        return;
    adl_text_printf(text,
                    "<p class=\"headline\">The best model, of episode %" PRIu64
                    ", on held-out seeds, against %s, the best of its peers</p>\n",
                    (uint64_t)best->value[ADL_TRAINING_EPISODES], peer->name);
    adl_text_put(text, "<div class=\"cards\">\n");
    put_card(text, best, ADL_TRAINING_HELD_JCT_MEAN, peer);
    put_card(text, best, ADL_TRAINING_HELD_JCT_P99, peer);
    put_card(text, best, ADL_TRAINING_HELD_UTILIZATION, peer);
    if (peer != &log->baselines[0])
        put_card(text, best, ADL_TRAINING_HELD_JCT_MEAN, &log->baselines[0]);
    adl_text_put(text, "</div>\n");
}

static void put_key(struct adl_text *text, uint32_t series, const char *name)
{
    adl_text_printf(text,
                    "<label class=\"s%" PRIu32
                    " d0\"><input type=\"checkbox\" checked autocomplete=\"off\" data-k=\"%" PRIu32
                    "\"><span class=\"swatch\"></span>",
                    series, series);
    adl_html_put(text, name);
    adl_text_put(text, "</label>\n");
}

static void put_legend(struct adl_text *text, const struct adl_training_log *log)
{
    adl_text_put(text, "<div class=\"legend\" role=\"group\" aria-label=\"policies\">\n");
    put_key(text, SERIES_DQN, log->policy);
    for (uint32_t i = 0; i < log->baseline_count; i++)
        put_key(text, baseline_series(i), log->baselines[i].name);
    adl_text_put(text, "</div>\n");
}

void adl_training_html(struct adl_text *text, const struct adl_training_log *log)
{
    const struct panel panels[] = {
        {ADL_TRAINING_HELD_JCT_MEAN, "Mean job completion time", "held out; lower is better; the dot is the best model",
         log->policy},
        {ADL_TRAINING_HELD_JCT_P99, "99th percentile of completion times", "held out; lower is better", log->policy},
        {ADL_TRAINING_HELD_UTILIZATION, "GPUs busy", "held out; higher is better", log->policy},
        {ADL_TRAINING_HELD_RETURN, "Return of an episode",
         "held out; relative to the warm start, which has -1; higher is better", log->policy},
        {ADL_TRAINING_LOSS, "Loss", "mean over a round", "loss"},
    };
    adl_page_open(text, log->scenario->name, "training of a policy");
    put_header(text, log);
    adl_text_put(text, "<main>\n");
    put_cards(text, log);
    put_legend(text, log);
    adl_text_put(text, "<h2>Over the course of training</h2>\n<div class=\"grid\">\n");
    put_gap(text, log);
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++)
        put_panel(text, log, &panels[i]);
    adl_text_put(text, "</div>\n</main>\n");
    adl_page_close(text);
}
