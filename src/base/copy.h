/* copy: copies of structs that own arrays. The target keeps its own arrays, which get the contents. */
#ifndef ADLRO_BASE_COPY_H
#define ADLRO_BASE_COPY_H

#include <stddef.h>
#include <string.h>

static inline void *adl_copy_bytes(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
    return to;
}

/* After `own = *to; *to = *from`: to has its own array again, with the first count elements of from's. */
#define ADL_COPY_ARRAY(to, own, from, array, count)                                                                    \
    ((to)->array = adl_copy_bytes((own).array, (from)->array, (size_t)(count) * sizeof *(own).array))

#endif
