/* trace_helios: the CSV of SenseTime's Helios clusters and, with more columns, of Shanghai AI Lab's Acme. */
#include "trace/trace_internal.h"

#include <limits.h>
#include <string.h>

enum { JOB_ID, USER, NAME, KIND, GPU_NUM, CPU_NUM, STATE, SUBMIT, START, END, DURATION, COLUMN_COUNT };

static const struct adl_trace_column columns[COLUMN_COUNT] = {
    [JOB_ID] = {"job_id", true}, [USER] = {"user", false},         [NAME] = {"jobname", false},
    [KIND] = {"type", false},    [GPU_NUM] = {"gpu_num", true},    [CPU_NUM] = {"cpu_num", false},
    [STATE] = {"state", true},   [SUBMIT] = {"submit_time", true}, [START] = {"start_time", false},
    [END] = {"end_time", false}, [DURATION] = {"duration", false},
};

static const char *missing(const int16_t *column)
{
    if (column[DURATION] < 0 && (column[START] < 0 || column[END] < 0))
        return "the column 'duration', or 'start_time' and 'end_time'";
    return NULL;
}

/* A date and time; or, if times were made relative, a number of units. */
static int take_moment(const struct adl_trace_reading *reading, int column, int64_t *ret_us)
{
    const char *text = adl_trace_cell(reading, column);
    if (strlen(text) > 4 && text[4] == '-')
        return adl_trace_take_timestamp(reading, columns[column].name, text, ret_us);
    return adl_trace_take_time(reading, columns[column].name, text, reading->unit_s, ret_us);
}

/* The authors define the duration as end minus start; Acme's Kalos includes the wait in its column. So the column is
 * used only if one of the two times is missing. */
static int read_duration(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    const bool has_start = !adl_cell_is_none(adl_trace_cell(reading, START));
    const bool has_end = !adl_cell_is_none(adl_trace_cell(reading, END));
    if (has_start && has_end) {
        int64_t start_us = 0;
        int64_t end_us = 0;
        int reason = take_moment(reading, START, &start_us);
        if (reason == ADL_TRACE_USED)
            reason = take_moment(reading, END, &end_us);
        ret->duration_us = end_us - start_us;
        ret->start_us = start_us;
        ret->end_us = end_us;
        return reason;
    }
    if (reading->column[START] >= 0 && !has_start)
        return adl_trace_refuse(reading, ADL_TRACE_NOT_STARTED, "the job never started (no start_time)");
    if (adl_cell_is_none(adl_trace_cell(reading, DURATION)))
        return adl_trace_refuse(reading, ADL_TRACE_NOT_STARTED, "no run time is known");
    return adl_trace_take_time(reading, "duration", adl_trace_cell(reading, DURATION), reading->unit_s,
                               &ret->duration_us);
}

static int read_times(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    const char *state = adl_trace_cell(reading, STATE);
    if (strcmp(state, "PENDING") == 0 || strcmp(state, "RUNNING") == 0)
        return adl_trace_refuse(reading, ADL_TRACE_NOT_STARTED, "no run time is known: the job is %s", state);
    int reason = take_moment(reading, SUBMIT, &ret->submit_us);
    if (reason == ADL_TRACE_USED)
        reason = read_duration(reading, ret);
    if (reason != ADL_TRACE_USED)
        return reason;
    if (ret->duration_us == 0 && strncmp(state, "CANCELLED", 9) == 0)
        return adl_trace_refuse(reading, ADL_TRACE_NOT_STARTED, "the job was cancelled before it ran");
    return adl_trace_check_duration(reading, ret->duration_us);
}

static int read_row(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    int reason = adl_trace_take_id(reading, "job_id", adl_trace_cell(reading, JOB_ID), ret->id);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_take_gpus(reading, "gpu_num", adl_trace_cell(reading, GPU_NUM), &ret->gpus);
    if (reason == ADL_TRACE_USED && !adl_cell_is_none(adl_trace_cell(reading, CPU_NUM))) {
        uint32_t cpus = 0;
        reason = adl_trace_take_count(reading, "cpu_num", adl_trace_cell(reading, CPU_NUM), INT32_MAX / 1000, &cpus);
        ret->cpu_milli = (int32_t)cpus * 1000;
    }
    if (reason == ADL_TRACE_USED)
        reason = read_times(reading, ret);
    adl_trace_take_word(ret->user, adl_trace_cell(reading, USER));
    const char *name = adl_trace_cell(reading, NAME);
    adl_trace_take_word(ret->name, *name ? name : adl_trace_cell(reading, KIND));
    return reason;
}

const struct adl_trace_form adl_trace_form_helios = {
    .name = "helios",
    .separator = ',',
    .quotes = true,
    .has_header = true,
    .leaves_unit = true,
    .columns = columns,
    .column_count = COLUMN_COUNT,
    .missing = missing,
    .read = read_row,
};
