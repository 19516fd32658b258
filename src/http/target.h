/* target: the path and query of a request, parsed strictly.
 *
 * Refuses anything but origin form ("/path?query"), bytes that RFC 3986 requires to be escaped, malformed escapes,
 * control characters and %00, invalid UTF-8, segments that are empty, "." or ".." or contain an escaped slash,
 * duplicate query names, and anything beyond the limits below. */
#ifndef ADLRO_HTTP_TARGET_H
#define ADLRO_HTTP_TARGET_H

#include "base/error.h"

#include <stdint.h>

#define ADL_TARGET_SIZE_MAX    2048
#define ADL_TARGET_SEGMENT_MAX 12
#define ADL_TARGET_PAIR_MAX    16

struct adl_target_pair {
    const char *name;  /* letters, digits, '_', '-' and '.' */
    const char *value; /* "" if there was none */
};

/* Points into itself: must not be copied. */
struct adl_target {
    uint32_t segment_count; /* 0 for "/" */
    uint32_t pair_count;
    const char *segments[ADL_TARGET_SEGMENT_MAX];
    struct adl_target_pair pairs[ADL_TARGET_PAIR_MAX];
    char text[ADL_TARGET_SIZE_MAX + 1]; /* decoded; the pointers above point into it */
};

/* On failure target holds nothing. */
int adl_target_parse(struct adl_target *target, const char *raw, struct adl_error *err);

const char *adl_target_query(const struct adl_target *target, const char *name); /* NULL: not given */

#endif
