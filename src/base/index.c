#include "base/index.h"

#include "base/error.h"

#include <stdlib.h>

int adl_grow(void **array, size_t *capacity, size_t count, size_t size)
{
    if (count <= *capacity)
        return 0;
    size_t grown = *capacity ? *capacity : 256;
    while (grown < count) {
        if (grown > SIZE_MAX / 2 / size)
            return ADL_ENOMEM;
        grown *= 2;
    }
    void *moved = realloc(*array, grown * size);
    if (!moved)
        return ADL_ENOMEM;
    *array = moved;
    *capacity = grown;
    return 0;
}
