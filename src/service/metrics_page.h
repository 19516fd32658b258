/* metrics_page: /metrics: queue, GPUs, decisions and the service itself, for Prometheus. */
#ifndef ADLRO_SERVICE_METRICS_PAGE_H
#define ADLRO_SERVICE_METRICS_PAGE_H

#include "base/text.h"
#include "http/http.h"
#include "service/service_state.h"

/* Takes the service state's lock while it copies. http NULL: without metrics of the HTTP server. */
int adl_metrics_page_write(struct adl_service_state *shared, const struct adl_http_counts *http, bool openmetrics,
                           struct adl_text *text, struct adl_error *err);

#endif
