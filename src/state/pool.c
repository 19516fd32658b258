#include "state/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int create_type(struct adl_pool *pool, uint32_t type)
{
    const struct adl_cluster *cluster = pool->cluster;
    for (uint32_t b = 0; b < cluster->bank_count; b++)
        if (cluster->banks[b].type == type && cluster->banks[b].gpu_count > pool->widest[type])
            pool->widest[type] = cluster->banks[b].gpu_count;
    pool->banks[type] = calloc(pool->widest[type] + 1, sizeof *pool->banks[type]);
    if (!pool->banks[type])
        return ADL_ENOMEM;
    for (uint32_t f = 1; f <= pool->widest[type]; f++)
        if (adl_bitmap_create(&pool->banks[type][f], cluster->bank_count))
            return ADL_ENOMEM;
    return adl_bitmap_create(&pool->half[type], cluster->gpu_count);
}

int adl_pool_create(struct adl_pool *ret, const struct adl_cluster *cluster)
{
    struct adl_pool pool = {.cluster = cluster};
    int status = 0;
    pool.free_mask = calloc(cluster->bank_count + 1, sizeof *pool.free_mask);
    pool.free_count = calloc(cluster->bank_count + 1, sizeof *pool.free_count);
    if (!pool.free_mask || !pool.free_count)
        status = ADL_ENOMEM;
    for (uint32_t t = 0; t < cluster->type_count && status == 0; t++)
        status = create_type(&pool, t);
    if (status) {
        adl_pool_clear(&pool);
        return status;
    }
    for (uint32_t b = 0; b < cluster->bank_count; b++)
        adl_pool_give(&pool, b, UINT64_MAX >> (64 - cluster->banks[b].gpu_count));
    *ret = pool;
    return 0;
}

void adl_pool_clear(struct adl_pool *pool)
{
    for (uint32_t t = 0; t < ADL_TYPES_MAX; t++) {
        for (uint32_t f = 1; pool->banks[t] && f <= pool->widest[t]; f++)
            adl_bitmap_clear(&pool->banks[t][f]);
        free(pool->banks[t]);
        adl_bitmap_clear(&pool->half[t]);
    }
    free(pool->free_mask);
    free(pool->free_count);
    *pool = (struct adl_pool){0};
}

void adl_pool_copy(struct adl_pool *to, const struct adl_pool *from)
{
    const uint32_t banks = from->cluster->bank_count;
    memcpy(to->free_mask, from->free_mask, banks * sizeof *to->free_mask);
    memcpy(to->free_count, from->free_count, banks * sizeof *to->free_count);
    for (uint32_t t = 0; t < from->cluster->type_count; t++) {
        for (uint32_t f = 1; f <= from->widest[t]; f++)
            adl_bitmap_copy(&to->banks[t][f], &from->banks[t][f]);
        adl_bitmap_copy(&to->half[t], &from->half[t]);
    }
    memcpy(to->counts, from->counts, sizeof to->counts);
    memcpy(to->free_gpus, from->free_gpus, sizeof to->free_gpus);
}

/* Population count by sums of 2, 4, 8 bits: needs no instruction that old processors lack. */
static uint32_t bits_in(uint64_t mask)
{
    mask -= mask >> 1 & 0x5555555555555555u;
    mask = (mask & 0x3333333333333333u) + (mask >> 2 & 0x3333333333333333u);
    mask = (mask + (mask >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (uint32_t)(mask * 0x0101010101010101u >> 56);
}

void adl_pool_flip(struct adl_pool *pool, uint32_t bank, uint64_t mask)
{
    const uint32_t type = pool->cluster->banks[bank].type, old = pool->free_count[bank];
    struct adl_bitmap *banks = pool->banks[type];
    uint64_t counts = pool->counts[type];
    pool->free_mask[bank] ^= mask;
    const uint32_t new = bits_in(pool->free_mask[bank]);
    assert(old <= ADL_BANK_GPUS_MAX && new <= ADL_BANK_GPUS_MAX);
    pool->free_count[bank] = (uint8_t) new;
    if (old) {
        adl_bitmap_remove(&banks[old], bank);
        counts &= ~((uint64_t)adl_bitmap_empty(&banks[old]) << (old - 1));
    }
    if (new) {
        adl_bitmap_add(&banks[new], bank);
        counts |= UINT64_C(1) << (new - 1);
    }
    pool->counts[type] = counts;
    pool->free_gpus[type] = pool->free_gpus[type] - old + new;
}

void adl_pool_reset(struct adl_pool *pool)
{
    const struct adl_cluster *cluster = pool->cluster;
    for (uint32_t b = 0; b < cluster->bank_count; b++)
        adl_pool_give(pool, b, UINT64_MAX >> (64 - cluster->banks[b].gpu_count) & ~pool->free_mask[b]);
    for (uint32_t t = 0; t < cluster->type_count; t++)
        for (uint32_t g; (g = adl_bitmap_next(&pool->half[t], 0)) != ADL_NONE;)
            adl_bitmap_remove(&pool->half[t], g);
}
