#include "cli/client/top_frame.h"

#include "cli/client/gpus_table.h"
#include "cli/client/jobs_table.h"
#include "cli/display.h"
#include "cli/quantity.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_ROWS 2
#define NARROW    40
#define WIDE      110 /* columns for history */

static void span(struct adl_frame *frame, int column, int length, int tone)
{
    if (frame->span_count < ADL_SPANS_MAX && length > 0)
        frame->spans[frame->span_count++] = (struct adl_frame_span){frame->rows, column, length, tone};
}

/* Appends line as the next row, cut to the width, and empties it. */
static void put_line(struct adl_frame *frame, struct adl_text *line, int columns)
{
    while (line->size > 0 && line->data[line->size - 1] == ' ')
        adl_text_truncate(line, line->size - 1);
    adl_display_put(&frame->text, line->data ? line->data : "", (size_t)columns);
    adl_text_char(&frame->text, '\n');
    frame->rows++;
    frame->text.failed = frame->text.failed || line->failed;
    adl_text_clear(line);
}

static int column_of(const struct adl_text *line)
{
    return line->data ? (int)adl_utf8_count(line->data) : 0;
}

/* "[||||| ]", coloured by how full it is. */
static void put_bar(struct adl_frame *frame, struct adl_text *line, double share, int width)
{
    const double within = share < 0 ? 0 : share > 1 ? 1 : share;
    const int filled = (int)(within * width + 0.5);
    adl_text_char(line, '[');
    span(frame, column_of(line), filled, ADL_TONE_GOOD);
    adl_text_repeat(line, '|', (size_t)filled);
    adl_text_repeat(line, ' ', (size_t)(width - filled));
    adl_text_char(line, ']');
}

static void put_head(struct adl_frame *frame, const struct adl_top_view *view)
{
    struct adl_text line = {0};
    char moment[ADL_DURATION_SIZE];
    const double energy_j = adl_member_number(view->cluster, "energy_j", -1);
    const double power_w = adl_member_number(view->cluster, "power_w", -1);
    const cJSON *counts = cJSON_GetObjectItemCaseSensitive(view->cluster, "counts");
    const double gpus = adl_member_number(counts, "gpus", 0), busy = adl_member_number(counts, "busy", 0);
    span(frame, 0, view->columns, ADL_TONE_TITLE);
    adl_text_put(&line, "adlro");
    if (view->cluster) {
        adl_text_printf(&line, "  %s  ", adl_moment_print(adl_member_number(view->cluster, "now_s", 0), moment));
        adl_policy_line(&line, view->cluster);
    }
    put_line(frame, &line, view->columns);
    adl_text_put(&line, "GPUs ");
    put_bar(frame, &line, gpus > 0 ? busy / gpus : 0, 20);
    adl_text_printf(&line, " %.0f/%.0f busy   jobs %.0f running, %.0f pending   power ", busy, gpus,
                    adl_member_number(counts, "running", 0), adl_member_number(counts, "pending", 0));
    if (power_w >= 0)
        adl_text_printf(&line, "%.0f W", power_w);
    else
        adl_text_char(&line, '-');
    if (energy_j > 0) {
        adl_text_put(&line, "   energy ");
        adl_text_fixed(&line, energy_j / 3.6e6, 3);
        adl_text_put(&line, " kWh");
    }
    put_line(frame, &line, view->columns);
}

static int state_tone(const char *state)
{
    if (strcmp(state, "busy") == 0)
        return ADL_TONE_GOOD;
    if (strcmp(state, "idle") == 0)
        return ADL_TONE_DIM;
    return strcmp(state, "lost") == 0 ? ADL_TONE_BAD : ADL_TONE_WARN;
}

static void put_measure(struct adl_text *line, const cJSON *gpu, const char *name, double scale, const char *unit,
                        int width)
{
    char text[32] = "-";
    const double value = adl_member_number(gpu, name, -1);
    if (value >= 0 && value < 1e9)
        snprintf(text, sizeof text, "%.0f%s", value * scale, unit);
    adl_text_printf(line, "%*s", width, text);
}

/* Widths, from the content and the screen. */
struct widths {
    int node, type, bar;
};

static int wider(int width, const char *text, int most)
{
    const int count = (int)adl_utf8_count(text);
    return count <= width ? width : count < most ? count : most;
}

static struct widths widths_of(const struct adl_top_view *view)
{
    const bool wide = view->columns >= WIDE;
    struct widths widths = {.node = 4, .type = 4, .bar = wide ? 20 : 8};
    const cJSON *node, *gpu;
    cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(view->cluster, "nodes"))
    {
        widths.node = wider(widths.node, adl_member_text(node, "name"), wide ? 20 : 10);
        cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(node, "gpus"))
        {
            widths.type = wider(widths.type, adl_member_text(gpu, "type"), wide ? 20 : 10);
        }
    }
    return widths;
}

/* "  3/16G" */
static void put_memory(struct adl_text *line, const cJSON *gpu)
{
    char used[16] = "-";
    const double used_mib = adl_member_number(gpu, "memory_used_mib", -1);
    if (used_mib >= 0 && used_mib < 1e9)
        snprintf(used, sizeof used, "%.0f", used_mib / 1024);
    adl_text_printf(line, "%5s/%-4.0f", used, adl_member_number(gpu, "memory_mib", 0) / 1024);
}

/* "  0 box v100 busy     [||||||||] 53%  212/300W  61C   3/16  ▁▃▇█  12 ann train" */
static void put_gpu(struct adl_frame *frame, const struct adl_top_view *view, const struct widths *widths,
                    const cJSON *node, const cJSON *gpu)
{
    struct adl_text line = {0};
    char most[16] = "";
    const double temperature_c = adl_member_number(gpu, "temperature_c", -1);
    const double max_w = adl_member_number(gpu, "max_w", 0);
    adl_text_printf(&line, "%3.0f ", adl_member_number(gpu, "gpu", 0));
    adl_display_pad(&line, adl_member_text(node, "name"), (size_t)widths->node);
    adl_text_char(&line, ' ');
    adl_display_pad(&line, adl_member_text(gpu, "type"), (size_t)widths->type);
    adl_text_char(&line, ' ');
    span(frame, column_of(&line), 8, state_tone(adl_member_text(gpu, "state")));
    adl_display_pad(&line, adl_member_text(gpu, "state"), 8);
    adl_text_char(&line, ' ');
    put_bar(frame, &line, adl_member_number(gpu, "utilization", -1), widths->bar);
    put_measure(&line, gpu, "utilization", 100, "%", 5);
    put_measure(&line, gpu, "power_w", 1, "", 5);
    if (max_w > 0)
        snprintf(most, sizeof most, "/%.0fW", max_w);
    adl_text_printf(&line, "%-6s", most);
    if (temperature_c >= 80)
        span(frame, column_of(&line), 5, temperature_c >= 90 ? ADL_TONE_BAD : ADL_TONE_WARN);
    put_measure(&line, gpu, "temperature_c", 1, "C", 5);
    put_memory(&line, gpu);
    if (view->history && view->columns >= WIDE) {
        adl_text_put(&line, "  ");
        adl_top_history_put(&line, view->history, (int)adl_member_number(gpu, "gpu", 0), view->utf8);
    }
    adl_text_put(&line, "  ");
    adl_gpu_users(&line, gpu);
    put_line(frame, &line, view->columns);
}

/* The first of count lines to show, if room lines are shown and the cursor has to be among them. */
static int window(int *cursor, int count, int room)
{
    if (*cursor >= count)
        *cursor = count - 1;
    if (*cursor < 0)
        *cursor = 0;
    const int first = *cursor - room / 2;
    return first < 0 || count <= room ? 0 : first > count - room ? count - room : first;
}

static void put_gpus(struct adl_frame *frame, struct adl_top_view *view, const struct adl_top_gpu *list, int count,
                     int room)
{
    struct adl_text line = {0};
    const struct widths widths = widths_of(view);
    const int first = window(&view->cursor[ADL_PANE_GPUS], count, room);
    span(frame, 0, view->columns, ADL_TONE_TITLE);
    adl_text_printf(&line, "GPU %-*s %-*s STATE    %-*s  POWER      TEMP  MEM/GiB  %s", widths.node, "NODE",
                    widths.type, "TYPE", widths.bar + 7, "UTILIZATION",
                    view->history && view->columns >= WIDE ? "LATELY        " : "");
    adl_text_printf(&line, "JOBS  %s", adl_top_sort_names[view->sort]);
    if (count > room)
        adl_text_printf(&line, "  %d-%d of %d", first + 1, first + room, count);
    put_line(frame, &line, view->columns);
    for (int at = first; at < count && at < first + room; at++) {
        if (view->rows && view->pane == ADL_PANE_GPUS && at == view->cursor[ADL_PANE_GPUS])
            span(frame, 0, view->columns, ADL_TONE_CURSOR);
        put_gpu(frame, view, &widths, list[at].node, list[at].gpu);
    }
}

/* The lines of the table of jobs: the titles, and those around the cursor. */
static void put_jobs(struct adl_frame *frame, struct adl_top_view *view, int room)
{
    struct adl_text table = {0};
    const int count = cJSON_GetArraySize(view->jobs), first = window(&view->cursor[ADL_PANE_JOBS], count, room);
    int row = -1; /* that of the titles */
    adl_jobs_table(&table, view->jobs, (size_t)view->columns);
    for (char *at = table.data; at && *at; row++) {
        char *end = strchr(at, '\n');
        *end = '\0';
        if (row < 0 || (row >= first && row < first + room)) {
            struct adl_text line = {0};
            if (row < 0)
                span(frame, 0, view->columns, ADL_TONE_TITLE);
            else if (view->rows && view->pane == ADL_PANE_JOBS && row == view->cursor[ADL_PANE_JOBS])
                span(frame, 0, view->columns, ADL_TONE_CURSOR);
            adl_text_put(&line, at);
            put_line(frame, &line, view->columns);
        }
        at = end + 1;
    }
    frame->text.failed = frame->text.failed || table.failed;
    adl_text_clear(&table);
}

static void put_foot(struct adl_frame *frame, const struct adl_top_view *view)
{
    struct adl_text line = {0};
    adl_text_put(&line,
                 view->prompt
                     ? view->prompt
                     : "q quit  tab GPUs/jobs  arrows, pgup, pgdn move  s sort  / filter  c cancel  h hold  r release");
    span(frame, 0, view->columns, view->prompt ? ADL_TONE_WARN : ADL_TONE_DIM);
    put_line(frame, &line, view->columns);
}

void adl_top_frame(struct adl_top_view *view, struct adl_frame *ret)
{
    struct adl_text line = {0};
    struct adl_top_gpu *list = NULL;
    const int gpus = adl_top_gpus_list(view->cluster, view->sort, view->filter ? view->filter : "", &list);
    const int jobs = cJSON_GetArraySize(view->jobs);
    *ret = (struct adl_frame){.rows = 0};
    view->columns = view->columns < NARROW ? NARROW : view->columns;
    put_head(ret, view);
    if (view->trouble) {
        span(ret, 0, view->columns, ADL_TONE_BAD);
        adl_text_put(&line, view->trouble);
        put_line(ret, &line, view->columns);
    } else {
        if (view->filter && *view->filter) {
            adl_text_put(&line, "only lines with '");
            adl_display_put(&line, view->filter, ADL_DISPLAY_ALL);
            adl_text_put(&line, "' (/ changes it)");
        }
        put_line(ret, &line, view->columns);
    }
    /* Of the screen: a title for each pane, a line between them, one at the foot. GPUs get what they need up to half.
     */
    int room = view->rows ? view->rows - ret->rows - 4 : gpus + jobs;
    room = room < 2 ? 2 : room;
    const int half = jobs < room / 2 ? room - jobs : room / 2;
    const int for_gpus = gpus < half || !view->rows ? gpus : half;
    put_gpus(ret, view, list, gpus, for_gpus);
    free(list);
    put_line(ret, &line, view->columns);
    put_jobs(ret, view, room - for_gpus);
    while (view->rows && ret->rows < view->rows - 1)
        put_line(ret, &line, view->columns);
    if (view->rows)
        put_foot(ret, view);
}

void adl_frame_clear(struct adl_frame *frame)
{
    adl_text_clear(&frame->text);
}
