#include "http/sha256.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t word, int bits)
{
    return word >> bits | word << (32 - bits);
}

/* FIPS 180-4, 6.2.2. */
static void take_block(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], v[8];
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (size_t i = 16; i < 64; i++)
        w[i] = (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10) + w[i - 7] +
               (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 16];
    memcpy(v, state, sizeof v);
    for (size_t i = 0; i < 64; i++) {
        const uint32_t e = v[4], a = v[0];
        const uint32_t t1 =
            v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + round_constants[i] + w[i];
        const uint32_t t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += v[i];
}

void adl_sha256_start(struct adl_sha256 *hash)
{
    *hash = (struct adl_sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void adl_sha256_add(struct adl_sha256 *hash, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    while (size > 0) {
        const size_t held = (size_t)(hash->size % 64);
        const size_t taken = size < 64 - held ? size : 64 - held;
        memcpy(hash->block + held, bytes, taken);
        hash->size += taken;
        bytes += taken;
        size -= taken;
        if (held + taken == 64)
            take_block(hash->state, hash->block);
    }
}

void adl_sha256_end(struct adl_sha256 *hash, uint8_t ret_digest[ADL_SHA256_SIZE])
{
    static const uint8_t padding[64] = {0x80};
    const uint64_t bits = hash->size * 8;
    uint8_t length[8];
    for (size_t i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    adl_sha256_add(hash, padding, 1 + (119 - (size_t)(hash->size % 64)) % 64);
    adl_sha256_add(hash, length, sizeof length);
    for (size_t i = 0; i < ADL_SHA256_SIZE; i++)
        ret_digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
    memset(hash, 0, sizeof *hash);
}
