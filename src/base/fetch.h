/* fetch: begins to load memory that is read soon, so that nobody waits for it then.
 *
 * Always inline: gcc takes a function that does nothing else for one without effects, and drops its calls where it sees
 * its body. */
#ifndef ADLRO_BASE_FETCH_H
#define ADLRO_BASE_FETCH_H

#include "base/index.h"

#define ADL_FETCH_MAX 16384 /* bytes at a time: more would drive out what is at hand */

/* The first of these bytes, to the second level of the cache. */
__attribute__((always_inline)) static inline void adl_fetch(const void *at, size_t bytes)
{
    const char *line = at;
    for (size_t i = 0; i < bytes && i < ADL_FETCH_MAX; i += ADL_LINE)
        __builtin_prefetch(line + i, 0, 2);
}

#endif
