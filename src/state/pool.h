/* pool: which GPUs are free, indexed so that a fitting bank is found without scanning the others.
 *
 * Free means: up, and no job on it. For each GPU type and each number f, the banks of that type with exactly f free
 * GPUs are a bitmap; best fit is the first bank of the first non-empty bitmap at or above the demand. */
#ifndef ADLRO_STATE_POOL_H
#define ADLRO_STATE_POOL_H

#include "base/bitmap.h"
#include "model/cluster.h"

#include <assert.h>

struct adl_pool {
    const struct adl_cluster *cluster;
    uint64_t *free_mask;                     /* [bank] bit i: GPU gpu_first + i is free */
    uint8_t *free_count;                     /* [bank] bits set in it */
    struct adl_bitmap *banks[ADL_TYPES_MAX]; /* [type][f], f = 1..widest[type]: banks with f free GPUs */
    uint64_t counts[ADL_TYPES_MAX];          /* [type] bit f - 1: some bank has f free GPUs */
    uint32_t widest[ADL_TYPES_MAX];          /* GPUs of the largest bank of the type */
    uint32_t free_gpus[ADL_TYPES_MAX];
    struct adl_bitmap half[ADL_TYPES_MAX]; /* GPUs that hold one job and may take a second */
};

int adl_pool_create(struct adl_pool *ret, const struct adl_cluster *cluster); /* all GPUs free; 0 or ADL_ENOMEM */
void adl_pool_clear(struct adl_pool *pool);                                   /* frees; accepts a zeroed one */
void adl_pool_reset(struct adl_pool *pool);                                   /* all GPUs free again */
void adl_pool_copy(struct adl_pool *to, const struct adl_pool *from);         /* of the same cluster */
void adl_pool_flip(struct adl_pool *pool, uint32_t bank, uint64_t mask);      /* take or give */

/* All of mask must be free. */
static inline void adl_pool_take(struct adl_pool *pool, uint32_t bank, uint64_t mask)
{
    assert((pool->free_mask[bank] & mask) == mask);
    adl_pool_flip(pool, bank, mask);
}

/* None of mask may be free. */
static inline void adl_pool_give(struct adl_pool *pool, uint32_t bank, uint64_t mask)
{
    assert((pool->free_mask[bank] & mask) == 0);
    adl_pool_flip(pool, bank, mask);
}

static inline uint32_t adl_pool_bank_free(const struct adl_pool *pool, uint32_t bank)
{
    return pool->free_count[bank];
}

#endif
