#include "report/arena/arena_chart.h"

#include "report/figure.h"
#include "report/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_SIZE   160
#define CHARACTER_PX 7.6
#define LINE_PX      15.0
#define DOT_PX       6.0
#define OWN_DOT_PX   8.0
#define RATIO_MAX    2.5 /* of the axes; points beyond it are drawn at the edge */

/* A policy in a plot. */
struct point {
    uint32_t policy;
    uint32_t workloads; /* of which these are geometric means */
    double x, y;        /* relative to the best: 1 or more */
    double x_px, y_px;
    bool front; /* no other is better in both */
};

struct box {
    double left, top, right, bottom;
};

struct plot {
    const struct adl_arena *arena;
    int metric;
    bool small;
    uint32_t workloads; /* that count */
    size_t count;
    struct point *points;
    struct box *labels; /* placed so far */
    size_t label_count;
    struct adl_axis x, y;
    double width, height;
};

static const struct adl_arena_cell *cell_at(const struct adl_arena *arena, uint32_t workload, uint32_t policy)
{
    return &arena->cells[(size_t)workload * arena->policy_count + policy];
}

/* The least mean of the policies that are done; 0 if there is none above 0. */
static double least_mean(const struct adl_arena *arena, uint32_t workload, int metric)
{
    double least = 0;
    for (uint32_t i = 0; i < arena->policy_count; i++) {
        const struct adl_arena_cell *cell = cell_at(arena, workload, i);
        const double mean = cell->metrics[metric].mean;
        if (cell->state == ADL_ARENA_DONE && mean > 0 && isfinite(mean) && !(least > 0 && least <= mean))
            least = mean;
    }
    return least;
}

/* Adds a workload to the sums of logarithms of a policy. */
static void add_workload(struct point *point, const struct adl_arena *arena, uint32_t workload, int metric)
{
    const struct adl_arena_cell *cell = cell_at(arena, workload, point->policy);
    const double x = cell->metrics[ADL_METRIC_JCT_MEAN].mean / least_mean(arena, workload, ADL_METRIC_JCT_MEAN);
    const double y = cell->metrics[metric].mean / least_mean(arena, workload, metric);
    if (cell->state != ADL_ARENA_DONE || !(x > 0 && y > 0) || !isfinite(x) || !isfinite(y))
        return;
    point->x += log(x);
    point->y += log(y);
    point->workloads++;
}

static void collect(struct plot *plot, uint32_t workload)
{
    const struct adl_arena *arena = plot->arena;
    const uint32_t first = workload == ADL_NONE ? 0 : workload;
    const uint32_t end = workload == ADL_NONE ? arena->workload_count : workload + 1;
    for (uint32_t i = 0; i < arena->policy_count; i++) {
        struct point point = {.policy = i};
        for (uint32_t w = first; w < end; w++)
            add_workload(&point, arena, w, plot->metric);
        if (point.workloads == 0)
            continue;
        point.x = exp(point.x / point.workloads);
        point.y = exp(point.y / point.workloads);
        plot->workloads = point.workloads > plot->workloads ? point.workloads : plot->workloads;
        plot->points[plot->count++] = point;
    }
}

static bool dominates(const struct point *a, const struct point *b)
{
    return a->x <= b->x && a->y <= b->y && (a->x < b->x || a->y < b->y);
}

/* A policy that was not done everywhere neither is on the front nor keeps another off it. */
static void find_front(struct plot *plot)
{
    for (size_t i = 0; i < plot->count; i++) {
        struct point *point = &plot->points[i];
        point->front = point->workloads == plot->workloads;
        for (size_t j = 0; j < plot->count && point->front; j++)
            point->front = plot->points[j].workloads < plot->workloads || !dominates(&plot->points[j], point);
    }
}

static int compare_points(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    return p->x < q->x ? -1 : p->x > q->x ? 1 : (p->y > q->y) - (p->y < q->y);
}

static struct adl_axis axis_of(double least, double largest, double from_px, double to_px)
{
    const double end = fmax(1.1, fmin(largest, fmax(RATIO_MAX, 1.3 * least)));
    return (struct adl_axis){
        .lo = pow(end, -0.08), .hi = pow(end, 1.06), .from_px = from_px, .to_px = to_px, .log = true};
}

static void lay_out(struct plot *plot)
{
    double x[2] = {INFINITY, 1}, y[2] = {INFINITY, 1};
    for (size_t i = 0; i < plot->count; i++) {
        x[0] = fmin(x[0], plot->points[i].x);
        x[1] = fmax(x[1], plot->points[i].x);
        y[0] = fmin(y[0], plot->points[i].y);
        y[1] = fmax(y[1], plot->points[i].y);
    }
    plot->width = plot->small ? 300 : 560;
    plot->height = plot->small ? 250 : 440;
    plot->x = axis_of(x[0], x[1], 44, plot->width - 10);
    plot->y = axis_of(y[0], y[1], plot->height - 46, 28);
    for (size_t i = 0; i < plot->count; i++) {
        plot->points[i].x_px = adl_axis_px(&plot->x, plot->points[i].x);
        plot->points[i].y_px = adl_axis_px(&plot->y, plot->points[i].y);
    }
}

/* Grid lines and labels at round ratios that are far enough from each other. */
static void put_axis(struct adl_text *text, const struct plot *plot, bool vertical)
{
    static const double ratios[] = {1, 1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 1.75, 2,   2.5, 3,   4,
                                    5, 7,    10,   15,  20,  30,  50,  70,   100, 200, 500, 1000};
    const struct adl_axis *axis = vertical ? &plot->y : &plot->x;
    double last = -1e9;
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios && ratios[i] <= axis->hi; i++) {
        const double px = adl_axis_px(axis, ratios[i]);
        char number[ADL_FIGURE_SIZE];
        if (fabs(px - last) < (vertical ? 30 : 44))
            continue;
        last = px;
        adl_figure_print_short(number, ratios[i]);
        if (vertical) {
            adl_svg_line(text, "grid", plot->x.from_px, px, plot->x.to_px, px);
            adl_svg_label(text, "tick end", plot->x.from_px - 7, px + 4.5, number);
        } else {
            adl_svg_line(text, "grid", px, plot->y.to_px, px, plot->y.from_px);
            adl_svg_label(text, "tick mid", px, plot->y.from_px + 19, number);
        }
    }
}

/* A line through the policies that no other beats in both. */
static void put_front(struct adl_text *text, const struct plot *plot)
{
    double y_px = plot->y.to_px;
    adl_text_put(text, "<polyline class=\"front\" points=\"");
    for (size_t i = 0; i < plot->count; i++) {
        const struct point *point = &plot->points[i];
        if (!point->front)
            continue;
        adl_svg_point(text, point->x_px, y_px);
        adl_svg_point(text, point->x_px, point->y_px);
        y_px = point->y_px;
    }
    adl_svg_point(text, plot->x.to_px, y_px);
    adl_text_put(text, "\"/>\n");
}

static bool is_ours(const struct plot *plot, const struct point *point)
{
    return point->policy == plot->arena->ours;
}

static void put_dot(struct adl_text *text, const struct plot *plot, const struct point *point)
{
    char x[ADL_FIGURE_SIZE], y[ADL_FIGURE_SIZE];
    const struct adl_scale scale = {.factor = 1, .decimals = 2};
    adl_text_printf(text, "<circle class=\"pt%s%s%s\"", is_ours(plot, point) ? " own" : "", point->front ? " on" : "",
                    point->workloads < plot->workloads ? " part" : "");
    adl_svg_attribute(text, "cx", point->x_px);
    adl_svg_attribute(text, "cy", point->y_px);
    adl_svg_attribute(text, "r", is_ours(plot, point) ? OWN_DOT_PX : plot->small ? DOT_PX - 1 : DOT_PX);
    adl_text_put(text, "><title>");
    adl_html_put(text, plot->arena->policies[point->policy].name);
    adl_text_put(text, ": mean JCT ");
    adl_text_printf(text, "%s \u00d7, ", adl_figure_print(x, point->x, scale));
    adl_html_put(text, adl_metric_table[plot->metric].label);
    adl_text_printf(text, " %s \u00d7 the best", adl_figure_print(y, point->y, scale));
    if (point->workloads < plot->workloads)
        adl_text_printf(text, ", on %" PRIu32 " of %" PRIu32 " workloads", point->workloads, plot->workloads);
    adl_text_put(text, "</title></circle>\n");
}

static bool overlap(const struct box *a, const struct box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

static bool is_free(const struct plot *plot, const struct box *box)
{
    if (box->left < plot->x.from_px + 2 || box->right > plot->width - 2 || box->top < plot->y.to_px - 10 ||
        box->bottom > plot->y.from_px - 1)
        return false;
    for (size_t i = 0; i < plot->label_count; i++)
        if (overlap(box, &plot->labels[i]))
            return false;
    for (size_t i = 0; i < plot->count; i++) {
        const struct point *point = &plot->points[i];
        const double r = is_ours(plot, point) ? OWN_DOT_PX : DOT_PX;
        const struct box dot = {point->x_px - r, point->y_px - r, point->x_px + r, point->y_px + r};
        if (overlap(box, &dot))
            return false;
    }
    return true;
}

/* The label's box in one of sixteen directions, its nearest edge or corner that far from the point. */
static struct box box_at(const struct point *point, double wide, int direction, double far_px)
{
    const double angle = direction * 0.39269908169872414; /* pi / 8 */
    const double dx = cos(angle), dy = sin(angle);
    const double x = point->x_px + dx * (far_px + wide / 2), y = point->y_px + dy * (far_px + LINE_PX / 2);
    return (struct box){x - wide / 2, y - LINE_PX / 2, x + wide / 2, y + LINE_PX / 2};
}

/* The policy's name, with its ratios if it is beyond the axes. */
static void label_print(char ret[LABEL_SIZE], const struct plot *plot, const struct point *point)
{
    const struct adl_scale scale = {.factor = 1, .decimals = 1};
    const bool x_beyond = point->x > plot->x.hi, y_beyond = point->y > plot->y.hi;
    char x[ADL_FIGURE_SIZE] = "", y[ADL_FIGURE_SIZE] = "";
    if (x_beyond)
        adl_figure_print(x, point->x, scale);
    if (y_beyond)
        adl_figure_print(y, point->y, scale);
    snprintf(ret, LABEL_SIZE, "%.60s%s%s%s%s%s%s", plot->arena->policies[point->policy].name,
             x_beyond ? " \u2192 " : "", x, x_beyond ? " \u00d7" : "", y_beyond ? " \u2191 " : "", y,
             y_beyond ? " \u00d7" : "");
}

static const char *label_class(const struct plot *plot, const struct point *point)
{
    return is_ours(plot, point) ? "name mid halo own" : point->front ? "name mid halo" : "tick mid halo";
}

/* Names the point where there is space, with a line to it from far away; nothing if there is no space. */
static void put_label(struct adl_text *text, struct plot *plot, const struct point *point)
{
    static const int directions[] = {0, 8, 12, 4, 14, 2, 10, 6, 15, 1, 13, 11, 3, 5, 9, 7};
    static const double distances_px[] = {9, 16, 26, 38, 52, 70};
    const double dot_px = is_ours(plot, point) ? OWN_DOT_PX - DOT_PX + 1 : 0;
    char name[LABEL_SIZE];
    label_print(name, plot, point);
    const double wide = (double)adl_utf8_count(name) * CHARACTER_PX;
    const size_t distances = plot->small ? 3 : sizeof distances_px / sizeof *distances_px;
    for (size_t i = 0; i < distances; i++)
        for (size_t j = 0; j < sizeof directions / sizeof *directions; j++) {
            const struct box box = box_at(point, wide, directions[j], distances_px[i] + dot_px);
            if (!is_free(plot, &box))
                continue;
            const double x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
            if (distances_px[i] > 20)
                adl_svg_line(text, "leader", point->x_px, point->y_px, fmax(box.left, fmin(point->x_px, box.right)),
                             fmax(box.top + 2, fmin(point->y_px, box.bottom - 2)));
            adl_svg_label(text, label_class(plot, point), x, y + 4.5, name);
            plot->labels[plot->label_count++] = box;
            return;
        }
}

/* Ours first, then the front, then, if there is space for them, the others. */
static void put_points(struct adl_text *text, struct plot *plot)
{
    for (int turn = 2; turn >= (plot->small ? 1 : 0); turn--)
        for (size_t i = 0; i < plot->count; i++) {
            const struct point *point = &plot->points[i];
            if ((is_ours(plot, point) ? 2 : point->front ? 1 : 0) == turn)
                put_label(text, plot, point);
        }
    for (size_t i = 0; i < plot->count; i++)
        if (!is_ours(plot, &plot->points[i]))
            put_dot(text, plot, &plot->points[i]);
    for (size_t i = 0; i < plot->count; i++)
        if (is_ours(plot, &plot->points[i]))
            put_dot(text, plot, &plot->points[i]);
}

static void put_plot(struct adl_text *text, struct plot *plot)
{
    char title[96];
    qsort(plot->points, plot->count, sizeof *plot->points, compare_points);
    find_front(plot);
    lay_out(plot);
    snprintf(title, sizeof title, "Mean JCT against %.40s, relative to the best", adl_metric_table[plot->metric].label);
    adl_svg_open(
        text, plot->width, plot->height, title,
        "A point for each policy; nearer to the lower left corner is better. The line joins the policies that no "
        "other beats in both.",
        NULL, "");
    put_axis(text, plot, true);
    put_axis(text, plot, false);
    snprintf(title, sizeof title, "%.40s, \u00d7 best", adl_metric_table[plot->metric].label);
    adl_svg_label(text, "axis", 4, 13, title);
    adl_svg_label(text, "axis end", plot->x.to_px, plot->height - 6, "mean JCT, \u00d7 best");
    put_front(text, plot);
    put_points(text, plot);
    adl_svg_close(text);
}

bool adl_arena_chart_pareto(struct adl_text *text, const struct adl_arena *arena, int metric, uint32_t workload)
{
    struct plot plot = {.arena = arena, .metric = metric, .small = workload != ADL_NONE};
    plot.points = calloc((size_t)arena->policy_count + 1, sizeof *plot.points);
    plot.labels = calloc((size_t)arena->policy_count + 1, sizeof *plot.labels);
    if (plot.points && plot.labels)
        collect(&plot, workload);
    else
        text->failed = true;
    if (plot.count > 0)
        put_plot(text, &plot);
    free(plot.points);
    free(plot.labels);
    return plot.count > 0;
}
