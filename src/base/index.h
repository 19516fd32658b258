/* index: 32-bit positions in tables, and growing the tables. */
#ifndef ADLRO_BASE_INDEX_H
#define ADLRO_BASE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define ADL_NONE UINT32_MAX /* no job, no GPU, no bank */

#define ADL_LINE 64 /* bytes of a line of the cache */

/* adl_grow() where that is due. */
int adl_grow_to(void **array, size_t *capacity, size_t count, size_t size);

/* Makes *array hold at least count elements of the given size, doubling from *capacity; new elements are not set. 0 or
 * ADL_ENOMEM, with nothing changed. If elements are whole lines of the cache, each begins on one. Inline, because it is
 * asked of each job and seldom due. */
static inline int adl_grow(void **array, size_t *capacity, size_t count, size_t size)
{
    return count <= *capacity ? 0 : adl_grow_to(array, capacity, count, size);
}

/* The same of an array whose first elements alone were set: the others are not touched. */
int adl_grow_from(void **array, size_t *capacity, size_t set, size_t count, size_t size);

/* As calloc, at the beginning of a line of the cache: for tables of which a few neighbours are read at a time. */
void *adl_lines(size_t count, size_t size);

#endif
