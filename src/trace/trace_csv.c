/* trace_csv: our own CSV, read and written; docs/traces.md describes the columns. */
#include "base/text.h"
#include "trace/trace_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define STEPS_MAX 1e15

enum {
    ID,
    SUBMIT,
    GPUS,
    DURATION,
    LIMIT,
    DEADLINE,
    GPU_MILLI,
    CPU_MILLI,
    MEMORY_MIB,
    PRIORITY,
    STEPS,
    USER,
    NAME,
    TYPES,
    START,
    END,
    COLUMN_COUNT
};

static const struct adl_trace_column columns[COLUMN_COUNT] = {
    [ID] = {"id", true},
    [SUBMIT] = {"submit", true},
    [GPUS] = {"gpus", true},
    [DURATION] = {"duration", false},
    [LIMIT] = {"limit", false},
    [DEADLINE] = {"deadline", false},
    [GPU_MILLI] = {"gpu_milli", false},
    [CPU_MILLI] = {"cpu_milli", false},
    [MEMORY_MIB] = {"memory_mib", false},
    [PRIORITY] = {"priority", false},
    [STEPS] = {"steps", false},
    [USER] = {"user", false},
    [NAME] = {"name", false},
    [TYPES] = {"types", false},
    [START] = {"start", false},
    [END] = {"end", false},
};

static const char *missing(const int16_t *column)
{
    return column[DURATION] < 0 && column[STEPS] < 0 ? "the column 'duration' or 'steps'" : NULL;
}

/* ---- reading ---- */

/* Of an optional column; an empty cell leaves *ret unchanged. */
static int take_optional_time(const struct adl_trace_reading *reading, int column, int64_t *ret_us)
{
    const char *text = adl_trace_cell(reading, column);
    if (*text == '\0')
        return ADL_TRACE_USED;
    return adl_trace_take_time(reading, columns[column].name, text, reading->unit_s, ret_us);
}

static int take_optional_count(const struct adl_trace_reading *reading, int column, uint32_t max, uint32_t *ret)
{
    const char *text = adl_trace_cell(reading, column);
    return *text == '\0' ? ADL_TRACE_USED : adl_trace_take_count(reading, columns[column].name, text, max, ret);
}

static int take_optional_real(const struct adl_trace_reading *reading, int column, double max, double *ret)
{
    const char *text = adl_trace_cell(reading, column);
    if (*text == '\0')
        return ADL_TRACE_USED;
    double value;
    if (!adl_cell_real(text, &value) || !(value >= 0 && value <= max))
        return adl_trace_refuse(reading, ADL_TRACE_MALFORMED, "%s has to be a number from 0 to %.0f",
                                columns[column].name, max);
    *ret = value;
    return ADL_TRACE_USED;
}

static int read_demand(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    uint32_t cpu_milli = 0;
    uint32_t memory_mib = 0;
    int reason = adl_trace_take_gpus(reading, "gpus", adl_trace_cell(reading, GPUS), &ret->gpus);
    if (reason == ADL_TRACE_USED)
        reason = take_optional_count(reading, GPU_MILLI, 1000, &ret->gpu_milli);
    if (reason == ADL_TRACE_USED && ret->gpu_milli == 0)
        return adl_trace_refuse(reading, ADL_TRACE_NO_GPU, "the job uses no share of its GPUs (gpu_milli is 0)");
    if (reason == ADL_TRACE_USED)
        reason = take_optional_count(reading, CPU_MILLI, INT32_MAX, &cpu_milli);
    if (reason == ADL_TRACE_USED)
        reason = take_optional_count(reading, MEMORY_MIB, INT32_MAX, &memory_mib);
    if (reason == ADL_TRACE_USED)
        reason = take_optional_real(reading, PRIORITY, 1, &ret->priority);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_take_types(reading, "types", adl_trace_cell(reading, TYPES), ret->types);
    ret->cpu_milli = (int32_t)cpu_milli;
    ret->memory_mib = (int32_t)memory_mib;
    return reason;
}

static int read_times(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    int reason =
        adl_trace_take_time(reading, "submit", adl_trace_cell(reading, SUBMIT), reading->unit_s, &ret->submit_us);
    if (reason == ADL_TRACE_USED)
        reason = take_optional_time(reading, LIMIT, &ret->limit_us);
    if (reason == ADL_TRACE_USED)
        reason = take_optional_time(reading, DEADLINE, &ret->deadline_us);
    if (reason == ADL_TRACE_USED)
        reason = take_optional_time(reading, START, &ret->start_us);
    if (reason == ADL_TRACE_USED)
        reason = take_optional_time(reading, END, &ret->end_us);
    if (reason == ADL_TRACE_USED)
        reason = take_optional_real(reading, STEPS, STEPS_MAX, &ret->steps);
    if (reason != ADL_TRACE_USED)
        return reason;
    const char *duration = adl_trace_cell(reading, DURATION);
    if (*duration == '\0' && ret->steps > 0)
        return ADL_TRACE_USED;
    if (*duration == '\0')
        return adl_trace_refuse(reading, ADL_TRACE_BAD_TIME, "neither duration nor steps are given");
    reason = adl_trace_take_time(reading, "duration", duration, reading->unit_s, &ret->duration_us);
    return reason == ADL_TRACE_USED ? adl_trace_check_duration(reading, ret->duration_us) : reason;
}

static int read_row(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    int reason = adl_trace_take_id(reading, "id", adl_trace_cell(reading, ID), ret->id);
    if (reason == ADL_TRACE_USED)
        reason = read_demand(reading, ret);
    if (reason == ADL_TRACE_USED)
        reason = read_times(reading, ret);
    adl_trace_take_word(ret->user, adl_trace_cell(reading, USER));
    adl_trace_take_word(ret->name, adl_trace_cell(reading, NAME));
    return reason;
}

const struct adl_trace_form adl_trace_form_csv = {
    .name = "csv",
    .separator = ',',
    .comment = '#',
    .quotes = true,
    .has_header = true,
    .leaves_unit = true,
    .columns = columns,
    .column_count = COLUMN_COUNT,
    .missing = missing,
    .read = read_row,
};

/* ---- writing ---- */

/* In seconds, with as many decimals as needed. */
static void put_time(struct adl_text *text, int64_t time_us)
{
    assert(time_us >= 0);
    adl_text_printf(text, "%" PRId64, time_us / 1000000);
    int64_t rest = time_us % 1000000;
    if (rest == 0)
        return;
    adl_text_char(text, '.');
    for (int64_t place = 100000; rest > 0; rest %= place, place /= 10)
        adl_text_char(text, (char)('0' + rest / place));
}

/* 0 = not given: an empty cell. */
static void put_optional_time(struct adl_text *text, int64_t time_us)
{
    if (time_us > 0)
        put_time(text, time_us);
}

/* -1 = not known: an empty cell. */
static void put_known_time(struct adl_text *text, int64_t time_us)
{
    if (time_us >= 0)
        put_time(text, time_us);
}

static void put_optional_int(struct adl_text *text, int64_t value)
{
    if (value > 0)
        adl_text_printf(text, "%" PRId64, value);
}

static void put_word(struct adl_text *text, const char *word)
{
    const size_t size = strlen(word);
    const bool plain = size == 0 || (!strpbrk(word, ",\"\n\r") && word[0] != '#' && word[0] != ' ' &&
                                     word[size - 1] != ' ' && word[0] != '\t' && word[size - 1] != '\t');
    if (plain) {
        adl_text_put(text, word);
        return;
    }
    adl_text_char(text, '"');
    for (; *word; word++) {
        if (*word == '"')
            adl_text_char(text, '"');
        adl_text_char(text, *word);
    }
    adl_text_char(text, '"');
}

void adl_trace_write_head(struct adl_text *text)
{
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (c > 0)
            adl_text_char(text, ',');
        adl_text_put(text, columns[c].name);
    }
    adl_text_char(text, '\n');
}

static void put_cell(struct adl_text *text, const struct adl_trace_row *row, int column)
{
    switch (column) {
    case ID:
        put_word(text, row->id);
        break;
    case SUBMIT:
        put_time(text, row->submit_us);
        break;
    case GPUS:
        put_optional_int(text, row->gpus);
        break;
    case DURATION:
        put_optional_time(text, row->duration_us);
        break;
    case LIMIT:
        put_optional_time(text, row->limit_us);
        break;
    case DEADLINE:
        put_optional_time(text, row->deadline_us);
        break;
    case GPU_MILLI:
        put_optional_int(text, row->gpu_milli);
        break;
    case CPU_MILLI:
        put_optional_int(text, row->cpu_milli);
        break;
    case MEMORY_MIB:
        put_optional_int(text, row->memory_mib);
        break;
    case PRIORITY:
        if (row->priority >= 0)
            adl_text_real(text, row->priority);
        break;
    case STEPS:
        if (row->steps > 0)
            adl_text_real(text, row->steps);
        break;
    case USER:
        put_word(text, row->user);
        break;
    case NAME:
        put_word(text, row->name);
        break;
    case TYPES:
        put_word(text, row->types);
        break;
    case START:
        put_known_time(text, row->start_us);
        break;
    case END:
        put_known_time(text, row->end_us);
        break;
    default:
        assert(column == COLUMN_COUNT && "a column that is not written");
    }
}

void adl_trace_write_row(struct adl_text *text, const struct adl_trace_row *row)
{
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (c > 0)
            adl_text_char(text, ',');
        put_cell(text, row, c);
    }
    adl_text_char(text, '\n');
}
