/* display: words of others, shown without letting them steer the terminal; tables that fit into its width. */
#ifndef ADLRO_CLI_DISPLAY_H
#define ADLRO_CLI_DISPLAY_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

struct cJSON;

/* Control characters, C1 ones too, marks that turn the direction of writing, and what is not UTF-8 become '?'. A line
 * feed or tab becomes a blank. At most columns characters; what is cut ends in "..". */
void adl_display_put(struct adl_text *text, const char *string, size_t columns);
#define ADL_DISPLAY_ALL SIZE_MAX

/* The same, padded with blanks to the width. */
void adl_display_pad(struct adl_text *text, const char *string, size_t columns);

/* The document as it came, with a line feed; what a terminal would obey is escaped as JSON does it. */
void adl_display_json(struct adl_text *text, const struct cJSON *json);

size_t adl_display_columns(void); /* of the terminal on stdout, or ADL_DISPLAY_ALL where there is none */

/* Members of an object, of whatever came: a string or "", a number or fallback. */
const char *adl_member_text(const struct cJSON *object, const char *name);
double adl_member_number(const struct cJSON *object, const char *name, double fallback);
int adl_member_flag(const struct cJSON *object, const char *name); /* 1 only for true */

#define ADL_TABLE_COLUMNS_MAX 12

struct adl_table_column {
    const char *title;
    size_t most;  /* width beyond which it is cut even where there is room; 0 = none */
    int right;    /* aligned to the right */
    size_t least; /* it may be cut down to this if the terminal is narrow; 0 = never */
};

/* Cells row by row, column_count each; the strings are shown safely. The last column gets what width is left. */
void adl_table_print(struct adl_text *text, const struct adl_table_column *columns, size_t column_count,
                     const char *const *cells, size_t row_count, size_t width);

#endif
