#include "base/index.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* As realloc, at the beginning of a line. */
static void *move_to_line(void *array, size_t bytes, size_t grown)
{
    void *moved = aligned_alloc(ADL_LINE, grown);
    if (moved && bytes > 0)
        memcpy(moved, array, bytes);
    if (moved)
        free(array);
    return moved;
}

int adl_grow_to(void **array, size_t *capacity, size_t count, size_t size)
{
    return adl_grow_from(array, capacity, *capacity, count, size);
}

int adl_grow_from(void **array, size_t *capacity, size_t set, size_t count, size_t size)
{
    if (count <= *capacity)
        return 0;
    size_t grown = *capacity ? *capacity : 256;
    while (grown < count) {
        if (grown > SIZE_MAX / 2 / size)
            return ADL_ENOMEM;
        grown *= 2;
    }
    void *moved = size % ADL_LINE == 0 ? move_to_line(*array, set * size, grown * size) : realloc(*array, grown * size);
    if (!moved)
        return ADL_ENOMEM;
    *array = moved;
    *capacity = grown;
    return 0;
}

void *adl_lines(size_t count, size_t size)
{
    if (count > (SIZE_MAX - ADL_LINE) / size)
        return NULL;
    const size_t bytes = (count * size + ADL_LINE - 1) / ADL_LINE * ADL_LINE;
    void *lines = aligned_alloc(ADL_LINE, bytes);
    return lines ? memset(lines, 0, bytes) : NULL;
}
