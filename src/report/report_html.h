/* report_html: a comparison as one self-contained page: no requests, readable without script, on any screen and on
 * paper. */
#ifndef ADLRO_REPORT_REPORT_HTML_H
#define ADLRO_REPORT_REPORT_HTML_H

#include "base/text.h"
#include "experiment/comparison.h"

/* Charts over time and distributions need the policies' timelines; without them they are left out. */
void adl_report_html(struct adl_text *text, const struct adl_comparison *comparison);

#endif
