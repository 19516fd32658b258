/* chart_gantt: Gantt charts: a bar for each run of a job on a GPU, or heat strips for large clusters. */
#include "report/chart.h"

#include "report/figure.h"
#include "report/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEFT_PX      136.0
#define RIGHT_PX     1082.0
#define TOP_PX       6.0
#define GAP_PX       5.0 /* between banks */
#define FOOT_PX      48.0
#define LANES        2 /* jobs that share a GPU */
#define NAME_COLUMNS 15
#define HEAT_LEVELS  5

/* Neighbouring segments drawn as one bar. */
struct group {
    double from_px, to_px;
    double time_us[ADL_KIND_COUNT];
    uint64_t job_id;
    uint32_t segments; /* 0 = no group */
    bool cut;
};

struct gantt {
    struct adl_segment *segments; /* owned; by GPU, then by start */
    size_t segment_count;
    double px_per_us;
    double least_px; /* narrower bars are merged */
    double pitch;
    double *row_y; /* [gpu], owned */
    const struct adl_cluster *cluster;
};

bool adl_chart_gantt_is_heat(const struct adl_cluster *cluster, uint32_t *ret_banks_per_row)
{
    *ret_banks_per_row = (cluster->bank_count + ADL_CHART_ROWS_MAX - 1) / ADL_CHART_ROWS_MAX;
    return cluster->gpu_count > ADL_CHART_ROWS_MAX;
}

static int compare_segments(const void *a, const void *b)
{
    const struct adl_segment *x = a, *y = b;
    if (x->gpu != y->gpu)
        return x->gpu < y->gpu ? -1 : 1;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

/* Appends one bar if text is not NULL. Lane 1 covers the lower half of the row. */
static void put_group(struct adl_text *text, const struct gantt *gantt, const struct group *group, uint32_t gpu,
                      int lane)
{
    int kind = 0;
    if (!text)
        return;
    for (int i = 1; i < ADL_KIND_COUNT; i++)
        if (group->time_us[i] > group->time_us[kind])
            kind = i;
    const double height = gantt->pitch - 1;
    adl_text_printf(text, "<rect class=\"g%d%s\"", kind, group->cut ? " x" : "");
    adl_svg_attribute(text, "x", group->from_px);
    adl_svg_attribute(text, "y", gantt->row_y[gpu] + (lane ? height / 2 : 0));
    adl_svg_attribute(text, "width", fmax(0.4, group->to_px - group->from_px));
    adl_svg_attribute(text, "height", lane ? height / 2 : height);
    if (group->segments == 1)
        adl_text_printf(text, " data-j=\"%" PRIu64 "\"", group->job_id);
    adl_text_put(text, "/>\n");
}

/* Closes the bars that are open at the end of a GPU's row; returns how many. */
static size_t close_row(struct adl_text *text, const struct gantt *gantt, struct group lanes[LANES], uint32_t gpu)
{
    size_t bars = 0;
    for (int lane = 0; lane < LANES; lane++) {
        if (lanes[lane].segments) {
            put_group(text, gantt, &lanes[lane], gpu, lane);
            bars++;
        }
        lanes[lane] = (struct group){0};
    }
    return bars;
}

/* A bar is closed once it is wide enough or a visible gap follows, so that a row has at most about width /
 * least_px bars. Returns how many bars there are; appends them if text is not NULL. */
static size_t walk_bars(struct adl_text *text, const struct gantt *gantt)
{
    struct group lanes[LANES] = {{0}};
    size_t bars = 0;
    for (size_t i = 0; i < gantt->segment_count; i++) {
        const struct adl_segment *segment = &gantt->segments[i];
        const double from = fmin(RIGHT_PX, LEFT_PX + (double)segment->start_us * gantt->px_per_us);
        const double to = fmin(RIGHT_PX, LEFT_PX + (double)segment->end_us * gantt->px_per_us);
        const int lane = lanes[0].segments && from < lanes[0].to_px - 1e-6 ? 1 : 0;
        struct group *group = &lanes[lane];
        if (group->segments &&
            (group->to_px - group->from_px >= gantt->least_px || from - group->to_px >= gantt->least_px)) {
            put_group(text, gantt, group, segment->gpu, lane);
            bars++;
            *group = (struct group){0};
        }
        if (group->segments == 0)
            *group = (struct group){.from_px = from, .to_px = to, .job_id = segment->job_id};
        group->segments++;
        group->to_px = fmax(group->to_px, to);
        group->cut = segment->cut != 0;
        group->time_us[segment->kind < ADL_KIND_COUNT ? segment->kind : 0] +=
            (double)(segment->end_us - segment->start_us);
        if (i + 1 == gantt->segment_count || gantt->segments[i + 1].gpu != segment->gpu)
            bars += close_row(text, gantt, lanes, segment->gpu);
    }
    return bars;
}

/* Node above type if there is space for two lines, else both in one. */
static void put_bank_name(struct adl_text *text, const struct adl_cluster *cluster, const struct adl_bank *bank,
                          double y, double height)
{
    const char *node = cluster->nodes[bank->node].name, *type = cluster->types[bank->type].name;
    char both[2 * ADL_NAME_SIZE + 2];
    snprintf(both, sizeof both, "%s %s", node, type);
    const bool two_lines = height >= 34;
    adl_text_put(text, "<text class=\"name end\"");
    adl_svg_attribute(text, "x", LEFT_PX - 12);
    adl_svg_attribute(text, "y", y + height / 2 + (two_lines ? -3 : 4));
    adl_text_char(text, '>');
    adl_html_put_cut(text, two_lines ? node : both, NAME_COLUMNS);
    adl_text_put(text, "</text>\n");
    if (!two_lines)
        return;
    adl_text_put(text, "<text class=\"tick end\"");
    adl_svg_attribute(text, "x", LEFT_PX - 12);
    adl_svg_attribute(text, "y", y + height / 2 + 13);
    adl_text_char(text, '>');
    adl_html_put_cut(text, type, NAME_COLUMNS);
    adl_text_put(text, "</text>\n");
}

static double time_axis_put(struct adl_text *text, double end_s, double height, const char *label, const char *about)
{
    const struct adl_scale scale = adl_scale_time(end_s);
    const struct adl_axis x = {.lo = 0, .hi = end_s * scale.factor, .from_px = LEFT_PX, .to_px = RIGHT_PX};
    char title[64];
    adl_svg_open(text, ADL_CHART_WIDE_PX, height, label, about, &x, scale.unit);
    adl_svg_axis_x(text, &x, 10, TOP_PX, height - FOOT_PX);
    snprintf(title, sizeof title, "time since the start, %s", scale.unit);
    adl_svg_label(text, "axis end", RIGHT_PX, height - 6, title);
    return (RIGHT_PX - LEFT_PX) / (end_s * 1e6);
}

/* Sets the positions of the rows; returns their total height. */
static double rows_lay_out(struct gantt *gantt)
{
    double y = TOP_PX;
    for (uint32_t bank = 0; bank < gantt->cluster->bank_count; bank++) {
        const struct adl_bank *at = &gantt->cluster->banks[bank];
        for (uint32_t i = 0; i < at->gpu_count; i++)
            gantt->row_y[at->gpu_first + i] = y + i * gantt->pitch;
        y += at->gpu_count * gantt->pitch + GAP_PX;
    }
    return y;
}

static void put_bank_names(struct adl_text *text, const struct gantt *gantt)
{
    double free_from = 0; /* names are at least a line apart */
    for (uint32_t bank = 0; bank < gantt->cluster->bank_count; bank++) {
        const struct adl_bank *at = &gantt->cluster->banks[bank];
        const double y = gantt->row_y[at->gpu_first], height = at->gpu_count * gantt->pitch;
        adl_svg_rect(text, "lane", LEFT_PX, y - 1, RIGHT_PX - LEFT_PX, height + 1);
        if (y + height / 2 < free_from)
            continue;
        put_bank_name(text, gantt->cluster, at, y, height);
        free_from = y + height / 2 + (height >= 34 ? 30 : 15);
    }
}

static bool gantt_put(struct adl_text *text, struct gantt *gantt, const struct adl_timeline *timeline, double end_s)
{
    for (size_t i = 0; i < timeline->segment_count; i++) {
        const struct adl_segment *segment = &timeline->segments[i];
        if (segment->gpu < gantt->cluster->gpu_count && segment->end_us > segment->start_us)
            gantt->segments[gantt->segment_count++] = *segment;
    }
    qsort(gantt->segments, gantt->segment_count, sizeof *gantt->segments, compare_segments);
    gantt->pitch = gantt->cluster->gpu_count <= 16 ? 17 : gantt->cluster->gpu_count <= 32 ? 13 : 9;
    gantt->px_per_us =
        time_axis_put(text, end_s, rows_lay_out(gantt) + FOOT_PX, "What ran on each GPU over time",
                      "A row for each GPU, a bar for each run of a job on it, coloured by the kind of job.");
    put_bank_names(text, gantt);
    gantt->least_px = 0.5;
    while (walk_bars(NULL, gantt) > ADL_CHART_RECTS_MAX)
        gantt->least_px *= 2;
    adl_text_put(text, "<g class=\"bars\">\n");
    walk_bars(text, gantt);
    adl_text_put(text, "</g>\n");
    adl_svg_close(text);
    return true;
}

/* Adds the time a segment keeps one GPU busy to the bins of its row. */
static void heat_add(double *bins, size_t bin_count, double bin_us, const struct adl_segment *segment)
{
    double from_us = fmax(0, (double)segment->start_us);
    const double to_us = (double)segment->end_us;
    for (size_t bin = (size_t)(from_us / bin_us); bin < bin_count && from_us < to_us; bin++) {
        const double stop_us = fmin(to_us, (double)(bin + 1) * bin_us);
        bins[bin] += fmax(0, stop_us - from_us);
        from_us = stop_us;
    }
}

static void put_heat_row(struct adl_text *text, const double *bins, size_t bin_count, double full_us, double y,
                         double pitch)
{
    const double width = (RIGHT_PX - LEFT_PX) / (double)bin_count;
    size_t start = 0;
    int level = 0;
    char names[ADL_CLASS_SIZE];
    for (size_t bin = 0; bin <= bin_count; bin++) {
        const double share = bin < bin_count ? fmin(1, bins[bin] / full_us) : 0;
        const int next = bin < bin_count ? (int)ceil(share * HEAT_LEVELS - 1e-9) : -1;
        if (bin > 0 && next == level)
            continue;
        if (level > 0 && bin > start) {
            snprintf(names, sizeof names, "h%d", level);
            adl_svg_rect(text, names, LEFT_PX + (double)start * width, y, (double)(bin - start) * width, pitch - 1);
        }
        start = bin;
        level = next;
    }
}

static bool heat_put(struct adl_text *text, const struct adl_cluster *cluster, const struct adl_timeline *timeline,
                     double end_s, uint32_t banks_per_row)
{
    const uint32_t rows = (cluster->bank_count + banks_per_row - 1) / banks_per_row;
    const size_t bin_count = ADL_CHART_RECTS_MAX / rows < ADL_CHART_BINS ? ADL_CHART_RECTS_MAX / rows : ADL_CHART_BINS;
    const double bin_us = end_s * 1e6 / (double)bin_count, pitch = rows <= 32 ? 16 : 11;
    double *bins = calloc((size_t)rows * bin_count, sizeof *bins), free_from = 0;
    if (!bins) {
        text->failed = true;
        return false;
    }
    for (size_t i = 0; i < timeline->segment_count; i++) {
        const struct adl_segment *segment = &timeline->segments[i];
        if (segment->gpu < cluster->gpu_count)
            heat_add(bins + cluster->gpu_bank[segment->gpu] / banks_per_row * bin_count, bin_count, bin_us, segment);
    }
    time_axis_put(text, end_s, TOP_PX + rows * pitch + FOOT_PX, "How busy each bank of GPUs was over time",
                  "A strip for each bank of GPUs, darker where more of them were busy.");
    for (uint32_t row = 0; row < rows; row++) {
        const uint32_t first = row * banks_per_row;
        const uint32_t end = first + banks_per_row < cluster->bank_count ? first + banks_per_row : cluster->bank_count;
        const double y = TOP_PX + row * pitch;
        uint32_t gpus = 0;
        for (uint32_t bank = first; bank < end; bank++)
            gpus += cluster->banks[bank].gpu_count;
        adl_svg_rect(text, "lane", LEFT_PX, y, RIGHT_PX - LEFT_PX, pitch - 1);
        put_heat_row(text, bins + row * bin_count, bin_count, gpus * bin_us, y, pitch);
        if (y >= free_from) {
            put_bank_name(text, cluster, &cluster->banks[first], y, pitch);
            free_from = y + 15;
        }
    }
    adl_svg_close(text);
    free(bins);
    return true;
}

bool adl_chart_gantt(struct adl_text *text, const struct adl_comparison *comparison, uint32_t policy)
{
    const struct adl_cluster *cluster = &comparison->scenario->cluster;
    const struct adl_timeline *timeline =
        policy < comparison->policy_count ? comparison->policies[policy].timeline : NULL;
    const double end_s = adl_chart_end_s(comparison);
    uint32_t banks_per_row;
    if (!timeline || timeline->segment_count == 0 || !(end_s > 0) || cluster->gpu_count == 0)
        return false;
    if (adl_chart_gantt_is_heat(cluster, &banks_per_row))
        return heat_put(text, cluster, timeline, end_s, banks_per_row);
    struct gantt gantt = {.cluster = cluster};
    gantt.segments = malloc(timeline->segment_count * sizeof *gantt.segments);
    gantt.row_y = malloc(cluster->gpu_count * sizeof *gantt.row_y);
    bool done = false;
    if (gantt.segments && gantt.row_y)
        done = gantt_put(text, &gantt, timeline, end_s);
    else
        text->failed = true;
    free(gantt.segments);
    free(gantt.row_y);
    return done;
}
