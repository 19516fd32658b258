/* paragraphs: prose for the terminal, broken into lines. */
#ifndef ADLRO_REPORT_PARAGRAPHS_H
#define ADLRO_REPORT_PARAGRAPHS_H

#include "base/text.h"

#define ADL_PROSE_COLUMNS 100

/* Appends the paragraphs, each a line of the other text, broken between words; the lines of a paragraph after its first
 * are indented. */
void adl_paragraphs_put(struct adl_text *text, const struct adl_text *paragraphs, size_t indent);

#endif
