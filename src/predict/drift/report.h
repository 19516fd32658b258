/* report: what was found about GPUs and types, as text. */
#ifndef ADLRO_PREDICT_DRIFT_REPORT_H
#define ADLRO_PREDICT_DRIFT_REPORT_H

#include "base/text.h"
#include "predict/drift/drift.h"

/* One line for each type that changed and each GPU that is slow; one if there are none. Times are days and hours since
 * the run began. */
void adl_drift_report(const struct adl_drift *drift, const struct adl_cluster *cluster, struct adl_text *ret);

#endif
