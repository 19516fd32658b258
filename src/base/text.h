/* text: a growing byte buffer for reports, JSON and pages.
 *
 * An out-of-memory error is sticky: later appends do nothing, and the writer checks once, at the end, with
 * adl_text_status(). Numbers are written with a point whatever the locale says. */
#ifndef ADLRO_BASE_TEXT_H
#define ADLRO_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A zeroed struct is an empty text. */
struct adl_text {
    char *data; /* owned; followed by a zero byte that size does not count; NULL while nothing was appended */
    size_t size;
    size_t capacity;
    bool failed;
};

void adl_text_clear(struct adl_text *text);       /* frees; accepts a zeroed one; leaves an empty text */
int adl_text_status(const struct adl_text *text); /* 0, or ADL_ENOMEM if anything is missing from it */

void adl_text_bytes(struct adl_text *text, const char *data, size_t size);
void adl_text_put(struct adl_text *text, const char *string);
void adl_text_char(struct adl_text *text, char c);
void adl_text_repeat(struct adl_text *text, char c, size_t count);
void adl_text_truncate(struct adl_text *text, size_t size); /* back to an earlier size */

/* For words and whole numbers; %f, %e and %g would follow the locale, so numbers with a fraction go through
 * the two functions below. */
void adl_text_printf(struct adl_text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void adl_text_real(struct adl_text *text, double value);                /* shortest form that reads back as the same */
void adl_text_fixed(struct adl_text *text, double value, int decimals); /* as %.*f */

#define ADL_NUMBER_SIZE 400 /* holds any double with up to 60 digits after the point */

/* As snprintf("%.*f") for conversion 'f', and alike for 'e' and 'g', but with a point in every locale.
 * Returns the length. digits 0..60. */
size_t adl_number_print(char ret[ADL_NUMBER_SIZE], char conversion, int digits, double value);

/* The bytes of the UTF-8 character at the start of string (zero-terminated): 1..4, or 0 if it is not one; 0
 * at the end. */
size_t adl_utf8_length(const char *string);
bool adl_utf8_is_valid(const char *string); /* all of it */
/* Characters in a string, a byte that is not UTF-8 counting as one. */
size_t adl_utf8_count(const char *string);

#endif
