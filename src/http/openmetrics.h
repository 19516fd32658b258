/* openmetrics: writes a page of metrics, in OpenMetrics text or in the older format of Prometheus.
 *
 *     adl_metrics_family(&page, "adlro_jobs_started", ADL_METRIC_COUNTER, NULL, "Jobs started.");
 *     adl_metrics_value(&page, labels, 1, 42);
 *     ...
 *     adl_metrics_end(&page);
 *
 * Names are in base units, and a unit is the end of the name; counters get their "_total" here. A mistake of the caller
 * (a malformed or repeated name, a negative counter) fails the page, and its status says which. */
#ifndef ADLRO_HTTP_OPENMETRICS_H
#define ADLRO_HTTP_OPENMETRICS_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADL_OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define ADL_PROMETHEUS_TYPE  "text/plain; version=0.0.4; charset=utf-8"

enum adl_metric_type {
    ADL_METRIC_GAUGE,
    ADL_METRIC_COUNTER,
    ADL_METRIC_HISTOGRAM,
};

struct adl_metric_label {
    const char *name;
    const char *value; /* any bytes; invalid UTF-8 becomes U+FFFD */
};

/* A zeroed struct with the first two set starts a page. */
struct adl_metrics_page {
    struct adl_text *text; /* not owned */
    bool openmetrics;      /* whether the client accepts OpenMetrics, see below */
    /* Private to the writer. */
    int type;
    const char *name;
    uint32_t name_count;
    uint64_t name_hashes[256];
    int status;
    struct adl_error err;
};

bool adl_metrics_accepts(const char *accept); /* whether an Accept header, or NULL, asks for OpenMetrics */

/* The caller owns name, which has to last until the next family. unit may be NULL. */
void adl_metrics_family(struct adl_metrics_page *page, const char *name, int type, const char *unit, const char *help);
void adl_metrics_value(struct adl_metrics_page *page, const struct adl_metric_label *labels, size_t label_count,
                       double value);

/* bounds: increasing, finite; counts: one more than bounds, not cumulative, the last above all bounds. */
void adl_metrics_histogram(struct adl_metrics_page *page, const struct adl_metric_label *labels, size_t label_count,
                           const double *bounds, const uint64_t *counts, size_t bound_count, double sum);

int adl_metrics_end(struct adl_metrics_page *page, struct adl_error *err);

#endif
