/* trace_swf: Standard Workload Format 2.2 of the Parallel Workloads Archive: processors are read as GPUs. */
#include "trace/trace_internal.h"

#include <string.h>

enum { /* the format's numbers minus one */
       NUMBER = 0,
       SUBMIT = 1,
       WAIT = 2,
       RUN_TIME = 3,
       ALLOCATED = 4,
       REQUESTED = 7,
       REQUESTED_TIME = 8,
       STATUS = 10,
       USER = 11,
       EXECUTABLE = 13,
       FIELD_COUNT = 18
};

enum { STATUS_PARTIAL = 2, STATUS_PARTIAL_LAST = 4, STATUS_CANCELLED = 5 };

static bool matches(const struct adl_cells *cells)
{
    double number;
    for (uint32_t i = 0; i < cells->count; i++)
        if (!adl_cell_real(cells->at[i], &number))
            return false;
    return cells->count == FIELD_COUNT;
}

static bool is_missing(const char *text)
{
    double value;
    return adl_cell_real(text, &value) && value == -1;
}

static int read_limit(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    const char *text = reading->cells->at[REQUESTED_TIME];
    if (is_missing(text))
        return ADL_TRACE_USED;
    return adl_trace_take_time(reading, "the requested time (field 9)", text, 1, &ret->limit_us);
}

static int read_run_time(const struct adl_trace_reading *reading, double status, struct adl_trace_row *ret)
{
    const char *text = reading->cells->at[RUN_TIME];
    double value;
    if (status == STATUS_CANCELLED && adl_cell_real(text, &value) && value <= 0)
        return adl_trace_refuse(reading, ADL_TRACE_NOT_STARTED, "the job was cancelled before it ran (status 5)");
    const int reason = adl_trace_take_time(reading, "the run time (field 4)", text, 1, &ret->duration_us);
    return reason == ADL_TRACE_USED ? adl_trace_check_duration(reading, ret->duration_us) : reason;
}

/* What happened: the format has the wait. */
static void read_start(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    double wait_s;
    if (adl_cell_real(reading->cells->at[WAIT], &wait_s) && wait_s >= 0 && wait_s < (double)ADL_TRACE_TIME_MAX * 1e-6)
        ret->start_us = ret->submit_us + (int64_t)(wait_s * 1e6 + 0.5);
}

static int read_row(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    char *const *at = reading->cells->at;
    if (reading->cells->count != FIELD_COUNT)
        return adl_trace_refuse(reading, ADL_TRACE_MALFORMED, "a line has 18 fields, not %u", reading->cells->count);
    double status;
    if (!adl_cell_real(at[STATUS], &status))
        return adl_trace_refuse(reading, ADL_TRACE_MALFORMED, "the status (field 11) is not a number");
    if (status >= STATUS_PARTIAL && status <= STATUS_PARTIAL_LAST) /* the whole job has a line of its own */
        return ADL_TRACE_IGNORED;
    const bool asked = !is_missing(at[REQUESTED]);
    if (!asked && is_missing(at[ALLOCATED]))
        return adl_trace_refuse(reading, ADL_TRACE_MALFORMED, "neither requested nor allocated processors are given");
    int reason = adl_trace_take_id(reading, "the job number (field 1)", at[NUMBER], ret->id);
    if (reason == ADL_TRACE_USED)
        reason =
            adl_trace_take_gpus(reading, asked ? "requested processors (field 8)" : "allocated processors (field 5)",
                                at[asked ? REQUESTED : ALLOCATED], &ret->gpus);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_take_time(reading, "the submit time (field 2)", at[SUBMIT], 1, &ret->submit_us);
    if (reason == ADL_TRACE_USED)
        reason = read_run_time(reading, status, ret);
    if (reason == ADL_TRACE_USED)
        reason = read_limit(reading, ret);
    if (reason == ADL_TRACE_USED)
        read_start(reading, ret);
    if (!is_missing(at[USER]))
        adl_trace_take_word(ret->user, at[USER]);
    if (!is_missing(at[EXECUTABLE]))
        adl_trace_take_word(ret->name, at[EXECUTABLE]);
    return reason;
}

const struct adl_trace_form adl_trace_form_swf = {
    .name = "swf",
    .separator = ' ',
    .comment = ';',
    .matches = matches,
    .read = read_row,
};
