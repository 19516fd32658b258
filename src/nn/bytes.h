/* bytes: numbers as little-endian bytes, whatever the machine. */
#ifndef ADLRO_NN_BYTES_H
#define ADLRO_NN_BYTES_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void adl_bytes_put_u32(struct adl_text *text, uint32_t value)
{
    char bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(value >> 8 * i & 0xff);
    adl_text_bytes(text, bytes, sizeof bytes);
}

static inline void adl_bytes_put_u64(struct adl_text *text, uint64_t value)
{
    adl_bytes_put_u32(text, (uint32_t)(value & 0xffffffff));
    adl_bytes_put_u32(text, (uint32_t)(value >> 32));
}

static inline void adl_bytes_put_floats(struct adl_text *text, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        adl_bytes_put_u32(text, bits);
    }
}

static inline uint32_t adl_bytes_u32(const void *bytes)
{
    const unsigned char *at = bytes;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t adl_bytes_u64(const void *bytes)
{
    return adl_bytes_u32(bytes) | (uint64_t)adl_bytes_u32((const unsigned char *)bytes + 4) << 32;
}

static inline void adl_bytes_floats(const void *bytes, size_t count, float *ret)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = adl_bytes_u32((const unsigned char *)bytes + 4 * i);
        memcpy(&ret[i], &bits, sizeof bits);
    }
}

/* FNV-1a: finds damage, not forgery. */
static inline uint64_t adl_bytes_checksum(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

#endif
