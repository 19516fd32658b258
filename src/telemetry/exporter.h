/* exporter: GPUs on the pages of dcgm-exporter and of AMD's device-metrics-exporter. */
#ifndef ADLRO_TELEMETRY_EXPORTER_H
#define ADLRO_TELEMETRY_EXPORTER_H

#include "telemetry/telemetry_source.h"

/* State between pages. */
struct adl_exporter;

struct adl_exporter *adl_exporter_create(void);           /* NULL when out of memory */
void adl_exporter_destroy(struct adl_exporter *exporter); /* accepts NULL */

/* Reads one page into the source's devices and samples. index identifies the page: a GPU stays with its page. host is
 * the server's name, for GPUs without a host on the page; NULL: this machine, whatever the page says. Updates faults
 * and devices of the status. Negative: ADL_ENOMEM, or ADL_EINVAL if it is not an exporter's page. */
int adl_exporter_read(struct adl_exporter *exporter, struct adl_telemetry_source *source, uint32_t index,
                      const char *host, const char *data, size_t size, int64_t now_us,
                      struct adl_telemetry_status *status, struct adl_error *err);

#endif
