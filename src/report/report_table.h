/* report_table: a comparison for the terminal: service and machine, a block each, never wider than 120 columns, without
 * columns that say nothing; then the headline and the notes. */
#ifndef ADLRO_REPORT_REPORT_TABLE_H
#define ADLRO_REPORT_REPORT_TABLE_H

#include "base/text.h"
#include "experiment/comparison.h"

#define ADL_TABLE_COLUMNS 120 /* of figures; prose has ADL_PROSE_COLUMNS */

void adl_report_table(struct adl_text *text, const struct adl_comparison *comparison);

#endif
