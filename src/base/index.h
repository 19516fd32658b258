/* index: 32-bit positions in tables, and growing the tables. */
#ifndef ADLRO_BASE_INDEX_H
#define ADLRO_BASE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define ADL_NONE UINT32_MAX /* no job, no GPU, no bank */

#define ADL_LINE 64 /* bytes of a line of the cache */

/* Makes *array hold at least count elements of the given size, doubling from *capacity; new elements are not set. 0 or
 * ADL_ENOMEM, with nothing changed. If elements are whole lines of the cache, each begins on one. */
int adl_grow(void **array, size_t *capacity, size_t count, size_t size);

#endif
