#include "hdc/hypervector.h"

#include "base/hash.h"
#include "base/rng.h"

#include <assert.h>
#include <string.h>

#define TIE_SEED UINT64_C(0x7469655f766f7465)
#define PLANES   8 /* binary digits of ADL_HYPER_VOTES_MAX */

static inline void distances(const uint64_t *query, const uint64_t *rows, size_t count, size_t words, uint32_t *ret)
{
    for (size_t r = 0; r < count; r++) {
        const uint64_t *row = rows + r * words;
        int distance = 0;
        for (size_t w = 0; w < words; w++)
            distance += __builtin_popcountll(query[w] ^ row[w]);
        ret[r] = (uint32_t)distance;
    }
}

static void distances_whole(const uint64_t *query, const uint64_t *rows, size_t count, uint32_t *ret)
{
    distances(query, rows, count, ADL_HYPER_WORDS, ret);
}

static void distances_prefix(const uint64_t *query, const uint64_t *rows, size_t count, uint32_t *ret)
{
    distances(query, rows, count, ADL_HYPER_PREFIX, ret);
}

/* The votes of 64 bits at a time, their counts as binary digits in planes: planes[p] holds digit p of each. */
static void majority(const struct adl_hypervector *vectors, const uint8_t *weights, uint32_t count, uint32_t votes,
                     struct adl_hypervector *ret)
{
    const uint32_t enough = votes / 2 + 1;
    for (uint32_t w = 0; w < ADL_HYPER_WORDS; w++) {
        uint64_t planes[PLANES] = {0}, more = 0, equal = ~UINT64_C(0);
        for (uint32_t v = 0; v < count; v++)
            for (uint32_t left = weights[v]; left; left &= left - 1) {
                uint64_t carry = vectors[v].words[w];
                for (int p = __builtin_ctz(left); p < PLANES; p++) {
                    const uint64_t next = planes[p] & carry;
                    planes[p] ^= carry;
                    carry = next;
                }
            }
        for (int p = PLANES - 1; p >= 0; p--) {
            const uint64_t digit = enough >> p & 1 ? ~UINT64_C(0) : 0;
            more |= equal & planes[p] & ~digit;
            equal &= ~(planes[p] ^ digit);
        }
        ret->words[w] = more | equal;
    }
}

static const struct adl_hyper_ops plain = {"plain", distances_whole, distances_prefix, majority};

const struct adl_hyper_ops *adl_hyper_ops_plain(void)
{
    return &plain;
}

const struct adl_hyper_ops *adl_hyper_ops_best(void)
{
#if defined(__x86_64__)
    if (adl_hyper_ops_avx512() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq"))
        return adl_hyper_ops_avx512();
    if (adl_hyper_ops_avx2() && __builtin_cpu_supports("avx2"))
        return adl_hyper_ops_avx2();
#endif
    return adl_hyper_ops_plain();
}

void adl_hypervector_item(uint64_t seed, uint64_t symbol, struct adl_hypervector *ret)
{
    struct adl_rng rng;
    adl_rng_seed(&rng, adl_hash_u64(adl_hash_u64(adl_hash_start(), seed), symbol), "item");
    for (uint32_t w = 0; w < ADL_HYPER_WORDS; w++)
        ret->words[w] = adl_rng_next(&rng);
}

void adl_hypervector_bind(const struct adl_hypervector *a, const struct adl_hypervector *b, struct adl_hypervector *ret)
{
    for (uint32_t w = 0; w < ADL_HYPER_WORDS; w++)
        ret->words[w] = a->words[w] ^ b->words[w];
}

void adl_hypervector_rotate(const struct adl_hypervector *vector, uint32_t bits, struct adl_hypervector *ret)
{
    const uint32_t words = bits / 64, rest = bits % 64;
    for (uint32_t w = 0; w < ADL_HYPER_WORDS; w++) {
        const uint64_t high = vector->words[(w + words) % ADL_HYPER_WORDS];
        const uint64_t low = vector->words[(w + words + 1) % ADL_HYPER_WORDS];
        ret->words[w] = rest ? high << rest | low >> (64 - rest) : high;
    }
}

void adl_hypervector_mix(const struct adl_hypervector *a, const struct adl_hypervector *b,
                         const struct adl_hypervector *mask, struct adl_hypervector *ret)
{
    for (uint32_t w = 0; w < ADL_HYPER_WORDS; w++)
        ret->words[w] = a->words[w] ^ ((a->words[w] ^ b->words[w]) & mask->words[w]);
}

uint32_t adl_hypervector_distance(const struct adl_hyper_ops *ops, const struct adl_hypervector *a,
                                  const struct adl_hypervector *b)
{
    uint32_t distance;
    ops->distances(a->words, b->words, 1, &distance);
    return distance;
}

void adl_hypervector_bundle(const struct adl_hyper_ops *ops, struct adl_hypervector *vectors, uint8_t *weights,
                            uint32_t count, struct adl_hypervector *ret)
{
    uint32_t votes = 0;
    for (uint32_t v = 0; v < count; v++)
        votes += weights[v];
    assert(count > 0 && votes < ADL_HYPER_VOTES_MAX);
    if (votes % 2 == 0) {
        adl_hypervector_item(TIE_SEED, 0, &vectors[count]);
        weights[count++] = 1;
        votes++;
    }
    ops->majority(vectors, weights, count, votes, ret);
}

void adl_hypervector_masks(uint64_t seed, uint32_t bits, uint32_t count, struct adl_hypervector *ret)
{
    uint16_t places[ADL_HYPER_BITS] = {0};
    struct adl_rng rng;
    adl_rng_seed(&rng, seed, "masks");
    for (uint32_t i = 0; i < ADL_HYPER_BITS; i++) { /* a shuffle, from the inside out */
        const uint32_t other = adl_rng_below(&rng, i + 1);
        places[i] = places[other];
        places[other] = (uint16_t)i;
    }
    memset(ret, 0, count * sizeof *ret);
    for (uint32_t m = 1; m < count; m++) {
        ret[m] = ret[m - 1];
        for (uint32_t i = (m - 1) * bits / count; i < m * bits / count; i++)
            ret[m].words[places[i] / 64] |= UINT64_C(1) << places[i] % 64;
    }
}
