/* hash: 64-bit fingerprints of plans, workloads and shapes. Not cryptographic. */
#ifndef ADLRO_BASE_HASH_H
#define ADLRO_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t adl_hash_start(void)
{
    return 0x243f6a8885a308d3u;
}

/* Mixes one word; order matters. */
static inline uint64_t adl_hash_u64(uint64_t hash, uint64_t word)
{
    uint64_t x = (hash ^ word) * 0x9fb21c651e98df25u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ (x >> 29);
}

static inline uint64_t adl_hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    hash = adl_hash_u64(hash, size);
    while (size > 0) {
        uint64_t word = 0;
        const size_t take = size < 8 ? size : 8;
        memcpy(&word, bytes, take);
        hash = adl_hash_u64(hash, word);
        bytes += take;
        size -= take;
    }
    return hash;
}

#endif
