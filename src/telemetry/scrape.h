/* scrape: fetches the pages of exporters over HTTP, in parallel and within limits.
 *
 * Only http and https, no redirects, no proxies, no compression; at most ADL_SCRAPE_SIZE_MAX bytes of page and
 * ADL_SCRAPE_HEAD_MAX of headers each. TLS certificates are checked against the system's. */
#ifndef ADLRO_TELEMETRY_SCRAPE_H
#define ADLRO_TELEMETRY_SCRAPE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADL_SCRAPE_SIZE_MAX (8u << 20)
#define ADL_SCRAPE_HEAD_MAX (64u << 10)

struct adl_scrape;

/* Refuses an address that is not http or https, or has a user name or password (they would end up in logs). */
int adl_scrape_create(const char *const *urls, uint32_t count, int64_t timeout_us, struct adl_scrape **ret,
                      struct adl_error *err);
void adl_scrape_destroy(struct adl_scrape *scrape); /* accepts NULL */

/* Fetches all pages; returns after the timeout at the latest. */
void adl_scrape_fetch(struct adl_scrape *scrape);

/* The page that the last fetch returned for one address, valid until the next fetch; negative if there is none. */
int adl_scrape_page(const struct adl_scrape *scrape, uint32_t index, const char **ret_data, size_t *ret_size,
                    struct adl_error *err);

const char *adl_scrape_url(const struct adl_scrape *scrape, uint32_t index);
/* NULL = this machine, by a loopback address or the name localhost. */
const char *adl_scrape_host(const struct adl_scrape *scrape, uint32_t index);

#endif
