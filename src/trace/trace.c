#include "trace/trace.h"

#include "base/suggest.h"
#include "trace/trace_internal.h"
#include "trace/trace_lines.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A row of the index: 54 bits of time, 34 of line, 40 of offset, so that sorting the numbers sorts the rows by time,
 * and rows of equal time as in the file. */
struct entry {
    uint64_t high; /* time << 10 | line >> 24 */
    uint64_t low;  /* line << 40 | offset */
};
#define OFFSET_BITS   40
#define LINE_LOW_BITS 24
#define LINE_BITS     34

struct adl_trace {
    struct adl_lines lines;
    const struct adl_trace_form *form;
    int format;
    double unit_s;
    bool strict;
    int16_t column[ADL_TRACE_COLUMNS_MAX];
    uint32_t cell_count; /* of the header */
    uint64_t data_offset;
    uint64_t data_line;
    struct adl_cells cells; /* of the current line */
    uint64_t counts[ADL_TRACE_REASON_COUNT];
    int64_t first_us;
    int64_t last_us;     /* of the row returned last, as in the file */
    struct entry *index; /* owned; NULL = the file is sorted */
    uint64_t row_count;  /* usable rows, before any is rejected */
    uint64_t row_next;   /* rows returned so far */
};

static const struct adl_trace_form *const forms[ADL_TRACE_FORMAT_COUNT] = {
    [ADL_TRACE_CSV] = &adl_trace_form_csv,       [ADL_TRACE_PHILLY] = &adl_trace_form_philly,
    [ADL_TRACE_OPENB] = &adl_trace_form_openb,   [ADL_TRACE_GAVEL] = &adl_trace_form_gavel,
    [ADL_TRACE_HELIOS] = &adl_trace_form_helios, [ADL_TRACE_SWF] = &adl_trace_form_swf,
    [ADL_TRACE_SACCT] = &adl_trace_form_sacct,
};

const char *adl_trace_format_name(int format)
{
    if (format == ADL_TRACE_AUTO)
        return "auto";
    return format > ADL_TRACE_AUTO && format < ADL_TRACE_FORMAT_COUNT ? forms[format]->name : "?";
}

int adl_trace_format_find(const char *name)
{
    for (int format = 0; format < ADL_TRACE_FORMAT_COUNT; format++)
        if (strcmp(name, adl_trace_format_name(format)) == 0)
            return format;
    return -1;
}

const char *adl_trace_reason_name(int reason)
{
    static const char *const names[ADL_TRACE_REASON_COUNT] = {
        [ADL_TRACE_USED] = "used",
        [ADL_TRACE_NO_GPU] = "no_gpu",
        [ADL_TRACE_BAD_TIME] = "bad_time",
        [ADL_TRACE_UNKNOWN_TYPE] = "unknown_type",
        [ADL_TRACE_NEVER_FITS] = "never_fits",
        [ADL_TRACE_NOT_STARTED] = "not_started",
        [ADL_TRACE_MALFORMED] = "malformed",
        [ADL_TRACE_OUT_OF_ORDER] = "out_of_order",
    };
    return reason >= 0 && reason < ADL_TRACE_REASON_COUNT ? names[reason] : "?";
}

/* ---- header and format ---- */

static bool is_blank_line(const struct adl_line *line)
{
    return !line->too_long && line->text[strspn(line->text, " \t")] == '\0' && strlen(line->text) == line->size;
}

/* The column that the header lacks, as text, or NULL with every column bound. */
static const char *bind_columns(const struct adl_trace_form *form, const struct adl_cells *header,
                                int16_t column[ADL_TRACE_COLUMNS_MAX])
{
    assert(form->column_count <= ADL_TRACE_COLUMNS_MAX);
    const char *missing = NULL;
    for (uint32_t c = 0; c < form->column_count; c++) {
        column[c] = -1;
        for (uint32_t i = 0; i < header->count && column[c] < 0; i++)
            if (strcasecmp(header->at[i], form->columns[c].name) == 0)
                column[c] = (int16_t)i;
        if (column[c] < 0 && form->columns[c].required && !missing)
            missing = form->columns[c].name;
    }
    if (!missing && form->missing)
        missing = form->missing(column);
    return missing;
}

/* Tries a copy of the line, because splitting modifies it. */
static bool form_matches(const struct adl_trace_form *form, const struct adl_line *line, char *copy)
{
    if (form->comment && line->text[0] == form->comment)
        return true;
    struct adl_cells cells;
    int16_t column[ADL_TRACE_COLUMNS_MAX];
    memcpy(copy, line->text, line->size + 1);
    if (!adl_cells_cut(&cells, copy, form->separator, form->quotes))
        return false;
    return form->has_header ? bind_columns(form, &cells, column) == NULL : form->matches(&cells);
}

/* What is wrong with a line that looks like output of sacct; "" for others. */
static const char *sacct_hint(const char *line)
{
    const bool has_bars = strchr(line, '|') != NULL;
    while (*line == ' ')
        line++;
    if (strncasecmp(line, "JobID", 5) == 0)
        return has_bars ? "; of sacct's columns JobID, State, Submit, ElapsedRaw, AllocTRES and ReqTRES are needed"
                        : "; sacct needs the option --parsable2";
    if (has_bars && *line >= '0' && *line <= '9')
        return "; sacct has to print its line of column names: without --noheader";
    return "";
}

static int fail_undetected(const struct adl_trace *trace, const struct adl_line *line, struct adl_error *err)
{
    char shown[ADL_QUOTE_SIZE];
    char names[80] = "";
    for (int format = ADL_TRACE_AUTO + 1; format < ADL_TRACE_FORMAT_COUNT; format++)
        adl_list_append(names, sizeof names, forms[format]->name);
    return adl_fail(err, ADL_EINVAL, "%.120s:%" PRIu64 ": the line does not begin any known format (%s): %s%s",
                    trace->lines.name, line->number, names, adl_quote(line->text, shown), sacct_hint(line->text));
}

static int detect(struct adl_trace *trace, const struct adl_line *line, struct adl_error *err)
{
    char *copy = malloc(line->size + 1);
    if (!copy)
        return adl_fail(err, ADL_ENOMEM, "%s: no memory for its first line", trace->lines.name);
    for (int format = ADL_TRACE_AUTO + 1; format < ADL_TRACE_FORMAT_COUNT && !trace->form; format++) {
        if (form_matches(forms[format], line, copy)) {
            trace->format = format;
            trace->form = forms[format];
        }
    }
    free(copy);
    return trace->form ? 0 : fail_undetected(trace, line, err);
}

static int read_header(struct adl_trace *trace, const struct adl_line *line, struct adl_error *err)
{
    char shown[ADL_QUOTE_SIZE];
    const char *name = trace->lines.name;
    const struct adl_trace_form *form = trace->form;
    adl_quote(line->text, shown);
    if (line->too_long || !adl_cells_cut(&trace->cells, line->text, form->separator, form->quotes))
        return adl_fail(err, ADL_EINVAL, "%s:%" PRIu64 ": is not a line of column names for %s: %s", name, line->number,
                        form->name, shown);
    const char *missing = bind_columns(form, &trace->cells, trace->column);
    if (missing) {
        const bool is_name = !strchr(missing, ' '); /* else a choice of columns, as text */
        return adl_fail(err, ADL_EINVAL, "%s:%" PRIu64 ": %s needs %s%s%s; the line of column names is %s", name,
                        line->number, form->name, is_name ? "the column '" : "", missing, is_name ? "'" : "", shown);
    }
    trace->cell_count = trace->cells.count;
    trace->data_offset = trace->lines.offset;
    trace->data_line = trace->lines.line;
    return 0;
}

static void skip_byte_order_mark(struct adl_line *line)
{
    if (line->number == 1 && strncmp(line->text, "\xef\xbb\xbf", 3) == 0) {
        line->text += 3;
        line->size -= 3;
    }
}

/* Reads the header, if there is one, and determines format and unit. */
static int read_start(struct adl_trace *trace, struct adl_error *err)
{
    struct adl_line line;
    for (;;) {
        const int status = adl_lines_next(&trace->lines, &line, err);
        if (status < 0)
            return status;
        if (status == 0)
            return adl_fail(err, ADL_EINVAL, "%s:%" PRIu64 ": the trace is empty", trace->lines.name,
                            trace->lines.line);
        skip_byte_order_mark(&line);
        if (is_blank_line(&line))
            continue;
        if (!trace->form) {
            const int found = detect(trace, &line, err);
            if (!trace->form)
                return found;
        }
        if (!trace->form->comment || line.text[0] != trace->form->comment)
            break;
    }
    return trace->form->has_header ? read_header(trace, &line, err) : 0;
}

static int set_unit(struct adl_trace *trace, double unit_s, struct adl_error *err)
{
    if (unit_s != 0 && !(unit_s >= 1e-6 && unit_s <= 86400 * 7))
        return adl_fail(err, ADL_EINVAL, "%s: a unit of time has to be from 0.000001 s to a week", trace->lines.name);
    trace->unit_s = unit_s == 0 ? 1 : unit_s;
    if (trace->unit_s != 1 && !trace->form->leaves_unit)
        return adl_fail(err, ADL_EINVAL, "%s: times in %s are in seconds; another unit is for csv and helios",
                        trace->lines.name, trace->form->name);
    return 0;
}

/* ---- rows ---- */

/* A reason, or ADL_TRACE_IGNORED; why may be NULL. */
static int read_line(struct adl_trace *trace, struct adl_line *line, struct adl_trace_row *ret, struct adl_error *why)
{
    const struct adl_trace_form *form = trace->form;
    const struct adl_trace_reading reading = {
        .cells = &trace->cells,
        .column = trace->column,
        .line = line->number,
        .unit_s = trace->unit_s,
        .why = why,
    };
    *ret =
        (struct adl_trace_row){.line = line->number, .gpu_milli = 1000, .priority = -1, .start_us = -1, .end_us = -1};
    if (line->too_long)
        return adl_trace_refuse(&reading, ADL_TRACE_MALFORMED, "the line is longer than %u bytes", ADL_LINE_MAX);
    skip_byte_order_mark(line);
    if (strlen(line->text) != line->size)
        return adl_trace_refuse(&reading, ADL_TRACE_MALFORMED, "the line holds a zero byte");
    if (is_blank_line(line) || (form->comment && line->text[0] == form->comment))
        return ADL_TRACE_IGNORED;
    if (!adl_cells_cut(&trace->cells, line->text, form->separator, form->quotes))
        return adl_trace_refuse(&reading, ADL_TRACE_MALFORMED, "more than %d fields, or a quote that does not close",
                                ADL_CELLS_MAX);
    const bool loose = form->loose_end && trace->column[form->column_count - 1] == (int32_t)trace->cell_count - 1;
    if (form->has_header && trace->cells.count != trace->cell_count &&
        !(loose && trace->cells.count > trace->cell_count))
        return adl_trace_refuse(&reading, ADL_TRACE_MALFORMED, "%u fields where the header has %u", trace->cells.count,
                                trace->cell_count);
    const int reason = form->read(&reading, ret);
    assert(reason != ADL_TRACE_USED || (ret->gpus > 0 && ret->submit_us >= 0 && ret->submit_us <= ADL_TRACE_TIME_MAX));
    assert(reason != ADL_TRACE_USED || ret->duration_us > 0 || (ret->duration_us == 0 && ret->steps > 0));
    return reason;
}

static int fail_row(const struct adl_trace *trace, uint64_t line, int reason, const char *why, struct adl_error *err)
{
    return adl_fail(err, ADL_EINVAL, "%s:%" PRIu64 ": %s: %s", trace->lines.name, line, adl_trace_reason_name(reason),
                    why);
}

/* Counts the rows; a strict reader stops at the first that it cannot use. */
static int scan(struct adl_trace *trace, struct adl_error *err)
{
    struct adl_error why = {{0}};
    struct adl_error *const wanted = trace->strict ? &why : NULL;
    struct adl_line line;
    struct adl_trace_row row;
    int64_t above_us = 0;
    int status;
    adl_lines_seek(&trace->lines, trace->data_offset, trace->data_line);
    while ((status = adl_lines_next(&trace->lines, &line, err)) > 0) {
        int reason = read_line(trace, &line, &row, wanted);
        if (reason == ADL_TRACE_IGNORED)
            continue;
        trace->counts[reason]++;
        if (reason == ADL_TRACE_USED && row.submit_us < above_us) {
            reason = ADL_TRACE_OUT_OF_ORDER;
            trace->counts[reason]++;
            adl_fail(wanted, 0, "the row was submitted before the one above it");
        }
        if (reason != ADL_TRACE_USED && trace->strict)
            return fail_row(trace, line.number, reason, why.text, err);
        if (reason != ADL_TRACE_USED && reason != ADL_TRACE_OUT_OF_ORDER)
            continue;
        if (trace->counts[ADL_TRACE_USED] == 1 || row.submit_us < trace->first_us)
            trace->first_us = row.submit_us;
        above_us = row.submit_us;
    }
    return status;
}

static int fail_changed(const struct adl_trace *trace, uint64_t line, struct adl_error *err)
{
    return adl_fail(err, ADL_EIO, "%s:%" PRIu64 ": the file changed while it was read", trace->lines.name, line);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return (x->low > y->low) - (x->low < y->low);
}

static int build_index(struct adl_trace *trace, struct adl_error *err)
{
    const uint64_t count = trace->row_count;
    uint64_t filled = 0;
    struct adl_line line;
    struct adl_trace_row row;
    int status;
    trace->index = count <= SIZE_MAX / sizeof *trace->index ? malloc(count * sizeof *trace->index) : NULL;
    if (!trace->index)
        return adl_fail(err, ADL_ENOMEM, "%s: no memory to sort %" PRIu64 " rows", trace->lines.name, count);
    adl_lines_seek(&trace->lines, trace->data_offset, trace->data_line);
    while ((status = adl_lines_next(&trace->lines, &line, err)) > 0) {
        if (line.number >> LINE_BITS || line.offset >> OFFSET_BITS)
            return adl_fail(err, ADL_EINVAL, "%s: too large to be sorted here: sort it by time first",
                            trace->lines.name);
        if (read_line(trace, &line, &row, NULL) != ADL_TRACE_USED)
            continue;
        if (filled == count)
            return fail_changed(trace, line.number, err);
        trace->index[filled++] = (struct entry){
            .high = (uint64_t)row.submit_us << (LINE_BITS - LINE_LOW_BITS) | line.number >> LINE_LOW_BITS,
            .low = line.number << OFFSET_BITS | line.offset,
        };
    }
    if (status < 0)
        return status;
    if (filled != count)
        return fail_changed(trace, trace->lines.line, err);
    qsort(trace->index, count, sizeof *trace->index, compare_entries);
    return 0;
}

/* ---- the reader ---- */

/* trace->lines is open. */
static int prepare(struct adl_trace *trace, const struct adl_trace_options *options, struct adl_error *err)
{
    if (options->format < 0 || options->format >= ADL_TRACE_FORMAT_COUNT)
        return adl_fail(err, ADL_EINVAL, "%s: there is no trace format %d", trace->lines.name, options->format);
    trace->format = options->format;
    trace->form = forms[options->format];
    trace->strict = options->strict;
    trace->data_line = 1;
    int status = read_start(trace, err);
    if (status == 0)
        status = set_unit(trace, options->unit_s, err);
    if (status == 0)
        status = scan(trace, err);
    trace->row_count = trace->counts[ADL_TRACE_USED];
    if (status == 0 && trace->counts[ADL_TRACE_OUT_OF_ORDER] > 0)
        status = build_index(trace, err);
    adl_lines_seek(&trace->lines, trace->data_offset, trace->data_line);
    return status;
}

static int finish_open(struct adl_trace *trace, int status, const struct adl_trace_options *options,
                       struct adl_trace **ret, struct adl_error *err)
{
    if (status == 0)
        status = prepare(trace, options, err);
    if (status < 0) {
        adl_trace_close(trace);
        return status;
    }
    *ret = trace;
    return 0;
}

static struct adl_trace *create(const char *name, struct adl_error *err)
{
    struct adl_trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        adl_fail(err, ADL_ENOMEM, "%s: no memory for its reader", name);
    return trace;
}

int adl_trace_open(const char *path, const struct adl_trace_options *options, struct adl_trace **ret,
                   struct adl_error *err)
{
    struct adl_trace *trace = create(path, err);
    if (!trace)
        return ADL_ENOMEM;
    return finish_open(trace, adl_lines_open(&trace->lines, path, err), options, ret, err);
}

void adl_trace_close(struct adl_trace *trace)
{
    if (!trace)
        return;
    adl_lines_close(&trace->lines);
    free(trace->index);
    free(trace);
}

static int next_by_index(struct adl_trace *trace, struct adl_trace_row *ret, struct adl_error *err)
{
    const struct entry entry = trace->index[trace->row_next];
    const uint64_t low_mask = ((uint64_t)1 << LINE_LOW_BITS) - 1;
    const uint64_t line_high = entry.high & (((uint64_t)1 << (LINE_BITS - LINE_LOW_BITS)) - 1);
    const uint64_t number = line_high << LINE_LOW_BITS | (entry.low >> OFFSET_BITS & low_mask);
    const uint64_t offset = entry.low & (((uint64_t)1 << OFFSET_BITS) - 1);
    struct adl_line line;
    int status = adl_lines_fetch(&trace->lines, offset, number, &line, err);
    if (status < 0)
        return status;
    if (status == 0 || read_line(trace, &line, ret, NULL) != ADL_TRACE_USED ||
        (uint64_t)ret->submit_us != entry.high >> (LINE_BITS - LINE_LOW_BITS))
        return fail_changed(trace, number, err);
    return 1;
}

static int next_in_order(struct adl_trace *trace, struct adl_trace_row *ret, struct adl_error *err)
{
    struct adl_line line;
    for (;;) {
        const int status = adl_lines_next(&trace->lines, &line, err);
        if (status < 0)
            return status;
        if (status == 0)
            return fail_changed(trace, trace->lines.line, err);
        if (read_line(trace, &line, ret, NULL) != ADL_TRACE_USED)
            continue;
        if (ret->submit_us < trace->first_us || ret->submit_us < trace->last_us)
            return fail_changed(trace, line.number, err);
        return 1;
    }
}

/* Start and end on the clock of the trace. An end that is not given follows from the run time; times that contradict
 * each other are not known. */
static void set_past(struct adl_trace_row *row, int64_t first_us)
{
    if (row->start_us >= row->submit_us && row->end_us < 0 && row->duration_us > 0)
        row->end_us = row->start_us + row->duration_us;
    const bool known = row->start_us >= row->submit_us && row->end_us > row->start_us;
    row->start_us = known ? row->start_us - first_us : -1;
    row->end_us = known ? row->end_us - first_us : -1;
}

int adl_trace_next(struct adl_trace *trace, struct adl_trace_row *ret, struct adl_error *err)
{
    struct adl_trace_row row = {0};
    if (trace->row_next == trace->row_count) /* rows appended since the scan are ignored */
        return 0;
    const int status = trace->index ? next_by_index(trace, &row, err) : next_in_order(trace, &row, err);
    if (status < 0)
        return status;
    trace->row_next++;
    trace->last_us = row.submit_us;
    set_past(&row, trace->first_us);
    row.submit_us -= trace->first_us;
    *ret = row;
    return 1;
}

int adl_trace_reject(struct adl_trace *trace, const struct adl_trace_row *row, int reason, struct adl_error *err)
{
    static const char *const why[ADL_TRACE_REASON_COUNT] = {
        [ADL_TRACE_UNKNOWN_TYPE] = "the cluster has no GPU of a type that the job accepts",
        [ADL_TRACE_NEVER_FITS] = "the job asks for more than the whole cluster has",
    };
    if (reason <= ADL_TRACE_USED || reason >= ADL_TRACE_REASON_COUNT || trace->counts[ADL_TRACE_USED] == 0)
        return adl_fail(err, ADL_EINVAL, "%s:%" PRIu64 ": a row cannot be rejected as %s", trace->lines.name, row->line,
                        adl_trace_reason_name(reason));
    trace->counts[ADL_TRACE_USED]--;
    trace->counts[reason]++;
    if (!trace->strict)
        return 0;
    return fail_row(trace, row->line, reason, why[reason] ? why[reason] : "the job cannot be used", err);
}

const uint64_t *adl_trace_counts(const struct adl_trace *trace)
{
    return trace->counts;
}

int adl_trace_format(const struct adl_trace *trace)
{
    return trace->format;
}
