#include "base/bitmap.h"

#include "base/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int adl_bitmap_create(struct adl_bitmap *ret, uint32_t size)
{
    struct adl_bitmap map = {.size = size};
    size_t words[ADL_BITMAP_LEVELS], total = 0;
    size_t bits = size ? size : 1;
    do {
        assert(map.levels < ADL_BITMAP_LEVELS);
        words[map.levels] = (bits + 63) / 64;
        bits = words[map.levels];
        total += words[map.levels++];
    } while (bits > 1);
    uint64_t *memory = calloc(total, sizeof *memory);
    if (!memory)
        return ADL_ENOMEM;
    for (uint32_t l = 0; l < map.levels; l++) {
        map.level[l] = memory;
        memory += words[l];
    }
    *ret = map;
    return 0;
}

void adl_bitmap_clear(struct adl_bitmap *map)
{
    free(map->level[0]);
    *map = (struct adl_bitmap){0};
}

void adl_bitmap_copy(struct adl_bitmap *to, const struct adl_bitmap *from)
{
    assert(to->size == from->size);
    const size_t words = (size_t)(from->level[from->levels - 1] - from->level[0]) + 1; /* the last level has one */
    memcpy(to->level[0], from->level[0], words * sizeof *from->level[0]);
}

uint32_t adl_bitmap_next(const struct adl_bitmap *map, uint32_t from)
{
    if (from >= map->size)
        return ADL_NONE;
    /* Up until a word has a member at or after the position, then down to its least. */
    uint32_t l = 0, index = from, bits = map->size;
    uint64_t word = map->level[0][index / 64] & (UINT64_MAX << (index % 64));
    while (!word) {
        index = index / 64 + 1;
        bits = (bits + 63) / 64;
        if (++l == map->levels || index >= bits)
            return ADL_NONE;
        word = map->level[l][index / 64] & (UINT64_MAX << (index % 64));
    }
    for (;;) {
        index = index / 64 * 64 + (uint32_t)__builtin_ctzll(word);
        if (l == 0)
            return index;
        l--;
        word = map->level[l][index];
        index *= 64;
    }
}
