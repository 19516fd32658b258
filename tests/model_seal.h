/* model_seal: makes bytes pass for a whole model's file, so that tests get past its checksum. */
#ifndef ADLRO_TESTS_MODEL_SEAL_H
#define ADLRO_TESTS_MODEL_SEAL_H

#include <stddef.h>
#include <stdint.h>

static inline void put_le64(unsigned char *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (unsigned char)(value >> 8 * i & 0xff);
}

/* Size and checksum as they should be; at least 32 bytes. */
static inline void model_seal(unsigned char *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    put_le64(bytes + 16, size);
    for (size_t i = 0; i < size - 8; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    put_le64(bytes + size - 8, hash);
}

#endif
