#include "slurm/usage.h"

#include "base/hash.h"
#include "base/index.h"

#include <stdlib.h>
#include <string.h>

void adl_usage_clear(struct adl_usage *usage)
{
    free(usage->keys);
    free(usage->amounts);
    free(usage->table);
    *usage = (struct adl_usage){0};
}

void adl_usage_empty(struct adl_usage *usage, uint32_t width)
{
    usage->width = width;
    usage->count = 0;
    if (usage->table)
        memset(usage->table, 0, usage->table_size * sizeof *usage->table);
}

/* Where the key is, or would be. The table is never full. */
static size_t place_of(const struct adl_usage *usage, uint64_t key)
{
    size_t at = (size_t)adl_hash_u64(adl_hash_start(), key) & (usage->table_size - 1);
    while (usage->table[at] != 0 && usage->keys[usage->table[at] - 1] != key)
        at = (at + 1) & (usage->table_size - 1);
    return at;
}

/* At least half of the table stays free. */
static int make_room(struct adl_usage *usage)
{
    const size_t wanted = usage->count + 1;
    if (adl_grow((void **)&usage->keys, &usage->keys_capacity, wanted, sizeof *usage->keys) != 0 ||
        adl_grow((void **)&usage->amounts, &usage->amounts_capacity, wanted * usage->width, sizeof *usage->amounts) !=
            0)
        return -1;
    if (2 * wanted <= usage->table_size)
        return 0;
    const size_t size = usage->table_size > 0 ? 2 * usage->table_size : 64;
    uint32_t *table = calloc(size, sizeof *table);
    if (!table)
        return -1;
    free(usage->table);
    usage->table = table;
    usage->table_size = size;
    for (size_t i = 0; i < usage->count; i++)
        table[place_of(usage, usage->keys[i])] = (uint32_t)i + 1;
    return 0;
}

const uint64_t *adl_usage_find(const struct adl_usage *usage, uint64_t key)
{
    if (usage->count == 0)
        return NULL;
    const uint32_t found = usage->table[place_of(usage, key)];
    return found > 0 ? usage->amounts + (size_t)(found - 1) * usage->width : NULL;
}

uint64_t *adl_usage_at(struct adl_usage *usage, uint64_t key)
{
    if (make_room(usage) != 0)
        return NULL;
    const size_t at = place_of(usage, key);
    if (usage->table[at] == 0) {
        usage->keys[usage->count] = key;
        memset(usage->amounts + usage->count * usage->width, 0, usage->width * sizeof *usage->amounts);
        usage->table[at] = (uint32_t)++usage->count;
    }
    return usage->amounts + (size_t)(usage->table[at] - 1) * usage->width;
}
