/* bitmap: a set of small numbers that finds its next member in a few steps, however large and empty it is.
 *
 * Level 0 has a bit per number; a bit of each further level says whether a word below it has any. Unlike a linked list
 * its order does not depend on history: equal sets give equal answers. */
#ifndef ADLRO_BASE_BITMAP_H
#define ADLRO_BASE_BITMAP_H

#include "base/index.h"

#include <assert.h>
#include <stdint.h>

#define ADL_BITMAP_LEVELS 4

struct adl_bitmap {
    uint64_t *level[ADL_BITMAP_LEVELS]; /* one allocation, owned by level[0] */
    uint32_t levels;
    uint32_t size;
};

int adl_bitmap_create(struct adl_bitmap *ret, uint32_t size); /* holds 0..size-1, empty; 0 or ADL_ENOMEM */
void adl_bitmap_clear(struct adl_bitmap *map);                /* frees; accepts a zeroed one */
void adl_bitmap_copy(struct adl_bitmap *to, const struct adl_bitmap *from); /* of the same size */
uint32_t adl_bitmap_next(const struct adl_bitmap *map, uint32_t from);      /* least member >= from, or ADL_NONE */

static inline void adl_bitmap_add(struct adl_bitmap *map, uint32_t index)
{
    assert(index < map->size);
    for (uint32_t l = 0; l < map->levels; l++) {
        uint64_t *word = &map->level[l][index / 64];
        const uint64_t old = *word;
        *word = old | (UINT64_C(1) << (index % 64));
        if (old)
            return;
        index /= 64;
    }
}

static inline void adl_bitmap_remove(struct adl_bitmap *map, uint32_t index)
{
    assert(index < map->size);
    for (uint32_t l = 0; l < map->levels; l++) {
        uint64_t *word = &map->level[l][index / 64];
        *word &= ~(UINT64_C(1) << (index % 64));
        if (*word)
            return;
        index /= 64;
    }
}

static inline int adl_bitmap_empty(const struct adl_bitmap *map)
{
    return map->level[map->levels - 1][0] == 0;
}

#endif
