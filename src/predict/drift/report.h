/* report: what was found about GPUs and types, as text. */
#ifndef ADLRO_PREDICT_DRIFT_REPORT_H
#define ADLRO_PREDICT_DRIFT_REPORT_H

#include "base/text.h"
#include "predict/drift/drift.h"

/* How times are written: those of a simulation are days and hours since it began, those of a service are dates. */
struct adl_drift_times {
    void (*put)(const void *context, int64_t time_us, struct adl_text *ret);
    const void *context;
};

/* A sentence, without the end of a line. */
void adl_drift_say_gpu(const struct adl_cluster *cluster, uint32_t gpu, const struct adl_gpu_drift *found,
                       const struct adl_drift_times *times, struct adl_text *ret);
void adl_drift_say_type(const struct adl_cluster *cluster, uint32_t type, const struct adl_type_drift *found,
                        const struct adl_drift_times *times, struct adl_text *ret);

/* One line for each type that changed and each GPU that is slow; one if there are none. Times are days and hours since
 * the run began. */
void adl_drift_report(const struct adl_drift *drift, const struct adl_cluster *cluster, struct adl_text *ret);

#endif
