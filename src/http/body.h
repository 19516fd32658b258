/* body: JSON from outside, held to the letter of RFC 8259 before the library sees it.
 *
 * Refused as well, for what they hide: text that is not UTF-8, \u0000, an object's key twice; and what is nested deeper
 * or has more keys than anything of ours. */
#ifndef ADLRO_HTTP_BODY_H
#define ADLRO_HTTP_BODY_H

#include "base/error.h"

#include <stddef.h>

#define ADL_BODY_DEPTH_MAX 32
#define ADL_BODY_KEY_MAX   1024 /* in one object */

struct cJSON;

/* data need not end with a zero. ret is the caller's to cJSON_Delete(). */
int adl_body_parse(const char *data, size_t size, struct cJSON **ret, struct adl_error *err);

#endif
