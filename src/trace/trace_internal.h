/* trace_internal: the parts of a reader of one trace format, and what such readers share.
 *
 * A form converts the cells of one line to a row, or returns the reason why it cannot. */
#ifndef ADLRO_TRACE_TRACE_INTERNAL_H
#define ADLRO_TRACE_TRACE_INTERNAL_H

#include "base/error.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADL_CELLS_MAX         256
#define ADL_TRACE_COLUMNS_MAX 16
#define ADL_TRACE_GPUS_MAX    1000000u                 /* of one job */
#define ADL_TRACE_TIME_MAX    ((int64_t)1 << 53)       /* µs: 285 years; doubles below it are exact */
#define ADL_TRACE_IGNORED     (ADL_TRACE_REASON_COUNT) /* not a job: a comment, a blank line, a step of a job */

struct adl_cells {
    char *at[ADL_CELLS_MAX]; /* into the line; zero-terminated, without blanks around */
    uint32_t count;
};

/* One line, split into cells, and how to read it. */
struct adl_trace_reading {
    const struct adl_cells *cells;
    const int16_t *column; /* the cell of each column of the form; -1 = the file does not have it */
    uint64_t line;
    double unit_s;
    struct adl_error *why; /* for the reason as text; NULL if it is not needed */
};

struct adl_trace_column {
    const char *name;
    bool required;
};

struct adl_trace_form {
    const char *name;
    char separator;   /* ' ' = any run of blanks */
    char comment;     /* first character of comment lines; 0 = there are none */
    bool quotes;      /* cells may be in quotes */
    bool has_header;  /* the first line names the columns */
    bool loose_end;   /* the last of the columns, if it is the file's last, may contain separators */
    bool leaves_unit; /* the format does not define the unit of time: the caller may */
    const struct adl_trace_column *columns;
    uint32_t column_count;
    /* Optional, with a header: what is missing beyond the required columns, or NULL. */
    const char *(*missing)(const int16_t *column);
    /* Without a header: whether this first line has this form. */
    bool (*matches)(const struct adl_cells *cells);
    /* A reason (enum adl_trace_reason) or ADL_TRACE_IGNORED; the row is complete only with ADL_TRACE_USED. On entry the
     * row has line and the values for "not given". submit_us is as in the file. */
    int (*read)(const struct adl_trace_reading *reading, struct adl_trace_row *ret);
};

extern const struct adl_trace_form adl_trace_form_csv;
extern const struct adl_trace_form adl_trace_form_philly;
extern const struct adl_trace_form adl_trace_form_openb;
extern const struct adl_trace_form adl_trace_form_gavel;
extern const struct adl_trace_form adl_trace_form_helios;
extern const struct adl_trace_form adl_trace_form_swf;
extern const struct adl_trace_form adl_trace_form_sacct;

/* Splits the text in place; false if there are too many cells or a quote is not closed. */
bool adl_cells_cut(struct adl_cells *ret, char *text, char separator, bool quotes);

/* The cell of the form's column, "" if the file does not have it. */
const char *adl_trace_cell(const struct adl_trace_reading *reading, int column);

/* Writes why, if it is not NULL, and returns reason. */
int adl_trace_refuse(const struct adl_trace_reading *reading, int reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Text to values, independent of locale, without overflow or trailing characters. */
bool adl_cell_is_none(const char *text); /* empty, or a word for a missing value: None, NaN, Unknown, ... */
bool adl_cell_real(const char *text, double *ret);
bool adl_cell_timestamp(const char *text, int64_t *ret_us); /* YYYY-MM-DD HH:MM:SS with zone or UTC; since 1970 */
bool adl_cell_span(const char *text, int64_t *ret_us);      /* [D-]HH:MM:SS or MM:SS */

/* As above, into a row; they return a reason on failure. what names the value in messages. */
int adl_trace_take_count(const struct adl_trace_reading *reading, const char *what, const char *text, uint32_t max,
                         uint32_t *ret);
int adl_trace_take_gpus(const struct adl_trace_reading *reading, const char *what, const char *text, uint32_t *ret);
/* A number of units, at least 0. */
int adl_trace_take_time(const struct adl_trace_reading *reading, const char *what, const char *text, double unit_s,
                        int64_t *ret_us);
int adl_trace_take_timestamp(const struct adl_trace_reading *reading, const char *what, const char *text,
                             int64_t *ret_us);
int adl_trace_take_id(const struct adl_trace_reading *reading, const char *what, const char *text,
                      char ret[ADL_TRACE_WORD]);
int adl_trace_take_types(const struct adl_trace_reading *reading, const char *what, const char *text,
                         char ret[2 * ADL_TRACE_WORD]);
/* A run time has to be above 0. */
int adl_trace_check_duration(const struct adl_trace_reading *reading, int64_t duration_us);
/* Truncated if long, at a character boundary; control characters become '?'. */
void adl_trace_take_word(char ret[ADL_TRACE_WORD], const char *text);
/* The line number, for formats without ids. */
void adl_trace_number_id(const struct adl_trace_reading *reading, char ret[ADL_TRACE_WORD]);

#endif
