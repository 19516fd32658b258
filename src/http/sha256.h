/* sha256: the hash of FIPS 180-4, for tokens at rest and entity tags. */
#ifndef ADLRO_HTTP_SHA256_H
#define ADLRO_HTTP_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define ADL_SHA256_SIZE 32

struct adl_sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes taken so far */
    uint8_t block[64];
};

void adl_sha256_start(struct adl_sha256 *hash);
void adl_sha256_add(struct adl_sha256 *hash, const void *data, size_t size);
void adl_sha256_end(struct adl_sha256 *hash, uint8_t ret_digest[ADL_SHA256_SIZE]); /* wipes the hash */

#endif
