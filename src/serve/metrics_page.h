/* metrics_page: /metrics: how the queue, the GPUs, the decisions and the service itself do, for Prometheus. */
#ifndef ADLRO_SERVE_METRICS_PAGE_H
#define ADLRO_SERVE_METRICS_PAGE_H

#include "base/text.h"
#include "serve/desk.h"
#include "serve/http.h"

/* Takes the desk's lock while it copies what it shows. http NULL: nothing is said of it. */
int adl_metrics_page_write(struct adl_desk *desk, const struct adl_http_counts *http, bool openmetrics,
                           struct adl_text *text, struct adl_error *err);

#endif
