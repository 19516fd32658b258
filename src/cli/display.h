/* display: untrusted text, escaped for the terminal; tables that fit its width. */
#ifndef ADLRO_CLI_DISPLAY_H
#define ADLRO_CLI_DISPLAY_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

struct cJSON;

/* Replaces control characters (C1 too), characters that change the direction of writing, and invalid UTF-8 by '?', and
 * line feeds and tabs by blanks. At most columns characters; a text that is cut ends in "..". */
void adl_display_put(struct adl_text *text, const char *string, size_t columns);
#define ADL_DISPLAY_ALL SIZE_MAX

/* The same, padded with blanks to the width. */
void adl_display_pad(struct adl_text *text, const char *string, size_t columns);

/* The document unchanged, with a line feed; characters that a terminal would obey are escaped as in JSON. */
void adl_display_json(struct adl_text *text, const struct cJSON *json);

size_t adl_display_columns(void); /* of the terminal on stdout, or ADL_DISPLAY_ALL without one */

/* Members of an untrusted object: a string or "", a number or fallback. */
const char *adl_member_text(const struct cJSON *object, const char *name);
double adl_member_number(const struct cJSON *object, const char *name, double fallback);
int adl_member_flag(const struct cJSON *object, const char *name); /* 1 only for true */

#define ADL_TABLE_COLUMNS_MAX 12

struct adl_table_column {
    const char *title;
    size_t most;  /* largest width, even if there is space for more; 0 = no limit */
    int right;    /* aligned to the right */
    size_t least; /* smallest width, on a narrow terminal; 0 = it is never cut */
};

/* Cells row by row, column_count each; the strings are escaped. The last column gets the remaining width. */
void adl_table_print(struct adl_text *text, const struct adl_table_column *columns, size_t column_count,
                     const char *const *cells, size_t row_count, size_t width);

#endif
