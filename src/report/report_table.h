/* report_table: a comparison for the terminal: service and machine, a block each, never wider than 100
 * columns. */
#ifndef ADLRO_REPORT_REPORT_TABLE_H
#define ADLRO_REPORT_REPORT_TABLE_H

#include "base/text.h"
#include "experiment/comparison.h"

#define ADL_TABLE_COLUMNS 100

void adl_report_table(struct adl_text *text, const struct adl_comparison *comparison);

#endif
