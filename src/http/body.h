/* body: untrusted JSON, checked strictly against RFC 8259 before the library parses it.
 *
 * Also refused, because they can hide content: invalid UTF-8, \u0000, duplicate keys; and deeper nesting or more keys
 * than any valid request has. */
#ifndef ADLRO_HTTP_BODY_H
#define ADLRO_HTTP_BODY_H

#include "base/error.h"

#include <stddef.h>

#define ADL_BODY_DEPTH_MAX 32
#define ADL_BODY_KEY_MAX   1024 /* in one object */

struct cJSON;

/* data need not end with a zero. The caller deletes *ret. */
int adl_body_parse(const char *data, size_t size, struct cJSON **ret, struct adl_error *err);

#endif
