/* report_json: a comparison for programs. docs and scripts rely on its keys. */
#ifndef ADLRO_REPORT_REPORT_JSON_H
#define ADLRO_REPORT_REPORT_JSON_H

#include "base/json.h"
#include "base/text.h"
#include "experiment/comparison.h"

#include <stdbool.h>

/* Members that the caller adds to the outer object. */
struct adl_report_more {
    void (*put)(const void *self, struct adl_json *json);
    const void *self;
};

/* Without timing, the metrics from ADL_METRIC_FIRST_TIMING on are left out, so that two runs give equal bytes. more may
 * be NULL. */
void adl_report_json(struct adl_text *text, const struct adl_comparison *comparison, bool timing,
                     const struct adl_report_more *more);

#endif
