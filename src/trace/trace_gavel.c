/* trace_gavel: the .trace files of Gavel (7 or 10 fields) and of Shockwave, which extends it (12 fields).
 *
 * The work is given in steps; their duration follows from throughputs, in another file. */
#include "trace/trace_internal.h"

#include <string.h>

#define STEPS_MAX 1e15

/* Positions of the fields we read, by the number of fields; -1 = not in that form. */
static const struct layout {
    uint32_t count;
    int steps;
    int scale;
    int slo; /* deadline in run times; negative = none */
    int duration;
    int arrival;
} layouts[] = {
    {7, 4, 6, -1, -1, 5},
    {10, 5, 6, 8, -1, 9},
    {12, 5, 6, 9, 10, 11},
};

static const struct layout *find_layout(const struct adl_cells *cells)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].count == cells->count)
            return &layouts[i];
    return NULL;
}

static bool matches(const struct adl_cells *cells)
{
    const struct layout *layout = find_layout(cells);
    double number;
    return layout && adl_cell_real(cells->at[layout->steps], &number) &&
           adl_cell_real(cells->at[layout->scale], &number) && adl_cell_real(cells->at[layout->arrival], &number);
}

static int read_deadline(const struct adl_trace_reading *reading, const char *text, struct adl_trace_row *ret)
{
    double slo;
    if (!adl_cell_real(text, &slo))
        return adl_trace_refuse(reading, ADL_TRACE_MALFORMED, "the SLO is not a number");
    const double deadline_us = slo * (double)ret->duration_us;
    if (deadline_us > (double)ADL_TRACE_TIME_MAX)
        return adl_trace_refuse(reading, ADL_TRACE_BAD_TIME, "the SLO is more than 285 years after the submission");
    ret->deadline_us = deadline_us > 0 ? (int64_t)deadline_us : 0;
    return ADL_TRACE_USED;
}

static int read_row(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    const struct adl_cells *cells = reading->cells;
    const struct layout *layout = find_layout(cells);
    if (!layout)
        return adl_trace_refuse(reading, ADL_TRACE_MALFORMED, "a line has 7, 10 or 12 tab-separated fields, not %u",
                                cells->count);
    adl_trace_number_id(reading, ret->id);
    adl_trace_take_word(ret->name, cells->at[0]);
    int reason = adl_trace_take_gpus(reading, "the scale factor", cells->at[layout->scale], &ret->gpus);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_take_time(reading, "the arrival time", cells->at[layout->arrival], 1, &ret->submit_us);
    if (reason != ADL_TRACE_USED)
        return reason;
    if (!adl_cell_real(cells->at[layout->steps], &ret->steps) || !(ret->steps <= STEPS_MAX))
        return adl_trace_refuse(reading, ADL_TRACE_MALFORMED, "the total steps are not a plausible number");
    if (!(ret->steps > 0))
        return adl_trace_refuse(reading, ADL_TRACE_BAD_TIME, "the total steps are not more than 0");
    if (layout->duration < 0)
        return ADL_TRACE_USED;
    reason = adl_trace_take_time(reading, "the duration", cells->at[layout->duration], 1, &ret->duration_us);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_check_duration(reading, ret->duration_us);
    if (reason == ADL_TRACE_USED)
        reason = read_deadline(reading, cells->at[layout->slo], ret);
    return reason;
}

const struct adl_trace_form adl_trace_form_gavel = {
    .name = "gavel",
    .separator = '\t',
    .matches = matches,
    .read = read_row,
};
