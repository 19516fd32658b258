/* target: the path and query of a request, taken apart strictly.
 *
 * What is refused: anything but origin form ("/path?query"), bytes that RFC 3986 wants escaped, escapes that are not
 * two hexadecimal digits, control characters and %00, text that is not UTF-8, segments that are empty, "." or ".." or
 * hold an escaped slash, a query name twice, and whatever is beyond the bounds below. */
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

/* Points into itself: not to be copied. */
struct adl_target {
    uint32_t segment_count; /* 0 for "/" */
    uint32_t pair_count;
    const char *segments[ADL_TARGET_SEGMENT_MAX];
    struct adl_target_pair pairs[ADL_TARGET_PAIR_MAX];
    char text[ADL_TARGET_SIZE_MAX + 1]; /* what the pointers above point to, decoded */
};

/* On failure target holds nothing. */
int adl_target_parse(struct adl_target *target, const char *raw, struct adl_error *err);

const char *adl_target_query(const struct adl_target *target, const char *name); /* NULL: not given */

#endif
