/* page_table: the tables of a report's page: figures with intervals and significance, counts, definitions. */
#ifndef ADLRO_REPORT_PAGE_TABLE_H
#define ADLRO_REPORT_PAGE_TABLE_H

#include "base/text.h"
#include "experiment/comparison.h"

void adl_page_put_figures(struct adl_text *text, const struct adl_comparison *comparison);
void adl_page_put_counts(struct adl_text *text, const struct adl_comparison *comparison);
void adl_page_put_policies(struct adl_text *text, const struct adl_comparison *comparison);
/* What the columns of the figures mean. */
void adl_page_put_metrics(struct adl_text *text, const struct adl_comparison *comparison);

/* A printed figure, with a typographic minus sign, and a dash if it is not a number. */
void adl_page_put_figure(struct adl_text *text, const char *figure);

#endif
