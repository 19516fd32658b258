/* report_csv: a comparison for spreadsheets and data frames: one row per policy and seed, in the format of RFC 4180. */
#ifndef ADLRO_REPORT_REPORT_CSV_H
#define ADLRO_REPORT_REPORT_CSV_H

#include "base/text.h"
#include "experiment/comparison.h"

#include <stdbool.h>

/* Without timing, the metrics from ADL_METRIC_FIRST_TIMING on are left out. Values that are not finite are left
 * empty. */
void adl_report_csv(struct adl_text *text, const struct adl_comparison *comparison, bool timing);

#endif
