#include "slurm/usage.h"

#include "base/hash.h"
#include "base/index.h"

#include <stdlib.h>
#include <string.h>

void adl_usage_clear(struct adl_usage *tally)
{
    free(tally->keys);
    free(tally->amounts);
    free(tally->table);
    *tally = (struct adl_usage){0};
}

void adl_usage_empty(struct adl_usage *tally, uint32_t width)
{
    tally->width = width;
    tally->count = 0;
    if (tally->table)
        memset(tally->table, 0, tally->table_size * sizeof *tally->table);
}

/* Where the key is, or would be. The table is never full. */
static size_t place_of(const struct adl_usage *tally, uint64_t key)
{
    size_t at = (size_t)adl_hash_u64(adl_hash_start(), key) & (tally->table_size - 1);
    while (tally->table[at] != 0 && tally->keys[tally->table[at] - 1] != key)
        at = (at + 1) & (tally->table_size - 1);
    return at;
}

/* At least half of the table stays free. */
static int make_room(struct adl_usage *tally)
{
    const size_t wanted = tally->count + 1;
    if (adl_grow((void **)&tally->keys, &tally->keys_capacity, wanted, sizeof *tally->keys) != 0 ||
        adl_grow((void **)&tally->amounts, &tally->amounts_capacity, wanted * tally->width, sizeof *tally->amounts) !=
            0)
        return -1;
    if (2 * wanted <= tally->table_size)
        return 0;
    const size_t size = tally->table_size > 0 ? 2 * tally->table_size : 64;
    uint32_t *table = calloc(size, sizeof *table);
    if (!table)
        return -1;
    free(tally->table);
    tally->table = table;
    tally->table_size = size;
    for (size_t i = 0; i < tally->count; i++)
        table[place_of(tally, tally->keys[i])] = (uint32_t)i + 1;
    return 0;
}

const uint64_t *adl_usage_find(const struct adl_usage *tally, uint64_t key)
{
    if (tally->count == 0)
        return NULL;
    const uint32_t found = tally->table[place_of(tally, key)];
    return found > 0 ? tally->amounts + (size_t)(found - 1) * tally->width : NULL;
}

uint64_t *adl_usage_at(struct adl_usage *tally, uint64_t key)
{
    if (make_room(tally) != 0)
        return NULL;
    const size_t at = place_of(tally, key);
    if (tally->table[at] == 0) {
        tally->keys[tally->count] = key;
        memset(tally->amounts + tally->count * tally->width, 0, tally->width * sizeof *tally->amounts);
        tally->table[at] = (uint32_t)++tally->count;
    }
    return tally->amounts + (size_t)(tally->table[at] - 1) * tally->width;
}
