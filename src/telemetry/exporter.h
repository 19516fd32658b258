/* exporter: GPUs on the pages of dcgm-exporter and of AMD's device-metrics-exporter. */
#ifndef ADLRO_TELEMETRY_EXPORTER_H
#define ADLRO_TELEMETRY_EXPORTER_H

#include "telemetry/telemetry_source.h"

/* What is kept from page to page. */
struct adl_exporter;

struct adl_exporter *adl_exporter_create(void);           /* NULL when out of memory */
void adl_exporter_destroy(struct adl_exporter *exporter); /* accepts NULL */

/* Reads one page into the source's devices and samples. index tells pages apart: a GPU keeps to its own. host is who
 * serves it, for GPUs of which the page names none; NULL: this machine, whatever the page names. The status gets faults
 * and devices. Negative: ADL_ENOMEM, or ADL_EINVAL if it is not an exporter's page. */
int adl_exporter_read(struct adl_exporter *exporter, struct adl_telemetry_source *source, uint32_t index,
                      const char *host, const char *data, size_t size, int64_t now_us,
                      struct adl_telemetry_status *status, struct adl_error *err);

#endif
