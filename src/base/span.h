/* span: ranges of indices in Slurm's notation: "7", "0-9", "0-9:2". */
#ifndef ADLRO_BASE_SPAN_H
#define ADLRO_BASE_SPAN_H

#include <stdint.h>

struct adl_span {
    uint32_t first, last; /* first <= last */
    uint32_t step;        /* at least 1 */
    uint32_t width;       /* digits of the first, with its leading zeros */
};

/* Reads the span at *at and moves *at behind it. NULL, or what is wrong with it: "a range goes down". */
const char *adl_span_read(const char **at, struct adl_span *ret);

#endif
