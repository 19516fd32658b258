/* hypervector_avx2: the expensive operations on 256 bits at a time. CMakeLists.txt compiles only this file for AVX2;
 * adl_hyper_ops_best() checks whether the processor has it. */
#include "hdc/hypervector.h"

#if defined(__AVX2__)

#include <immintrin.h>

#define PLANES 8

/* Bits set in each byte of x, by a table of the sixteen half bytes (Mula, Kurz and Lemire, "Faster population counts
 * using AVX2 instructions", Computer Journal 61, 2018). */
static inline __m256i count_bytes(__m256i x)
{
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i here = _mm256_shuffle_epi8(table, _mm256_and_si256(x, low));
    const __m256i there = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), low));
    return _mm256_add_epi8(here, there);
}

/* A byte counts up to 8 a step, so 16 steps stay below 256. */
static inline __m256i add_steps(const uint64_t *a, const uint64_t *b, size_t steps, __m256i sum)
{
    __m256i bytes = _mm256_setzero_si256();
    for (size_t s = 0; s < steps; s++) {
        const __m256i x = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(a + 4 * s)),
                                           _mm256_loadu_si256((const __m256i *)(const void *)(b + 4 * s)));
        bytes = _mm256_add_epi8(bytes, count_bytes(x));
    }
    return _mm256_add_epi64(sum, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
}

static inline uint32_t sum_of(__m256i sum)
{
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    return (uint32_t)(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
}

static void distances(const uint64_t *query, const uint64_t *rows, size_t count, uint32_t *ret)
{
    for (size_t r = 0; r < count; r++) {
        const uint64_t *row = rows + r * ADL_HYPER_WORDS;
        const __m256i half = add_steps(query, row, ADL_HYPER_WORDS / 8, _mm256_setzero_si256());
        ret[r] = sum_of(add_steps(query + ADL_HYPER_WORDS / 2, row + ADL_HYPER_WORDS / 2, ADL_HYPER_WORDS / 8, half));
    }
}

static void distances_prefix(const uint64_t *query, const uint64_t *rows, size_t count, uint32_t *ret)
{
    for (size_t r = 0; r < count; r++)
        ret[r] = sum_of(add_steps(query, rows + r * ADL_HYPER_PREFIX, ADL_HYPER_PREFIX / 4, _mm256_setzero_si256()));
}

static inline __m256i vote_planes(const struct adl_hypervector *vectors, const uint8_t *weights, uint32_t count,
                                  uint32_t votes, uint32_t at)
{
    const __m256i ones = _mm256_set1_epi64x(-1);
    const uint32_t enough = votes / 2 + 1;
    const int used = 32 - __builtin_clz(votes); /* digits that the sum can have */
    __m256i planes[PLANES], more = _mm256_setzero_si256(), equal = ones;
    for (int p = 0; p < PLANES; p++)
        planes[p] = _mm256_setzero_si256();
    for (uint32_t v = 0; v < count; v++)
        for (uint32_t left = weights[v]; left; left &= left - 1) {
            __m256i carry = _mm256_loadu_si256((const __m256i *)(const void *)(vectors[v].words + at));
            for (int p = __builtin_ctz(left); p < used; p++) {
                const __m256i next = _mm256_and_si256(planes[p], carry);
                planes[p] = _mm256_xor_si256(planes[p], carry);
                carry = next;
            }
        }
    for (int p = used - 1; p >= 0; p--) {
        const __m256i digit = enough >> p & 1 ? ones : _mm256_setzero_si256();
        more = _mm256_or_si256(more, _mm256_and_si256(equal, _mm256_andnot_si256(digit, planes[p])));
        equal = _mm256_andnot_si256(_mm256_xor_si256(planes[p], digit), equal);
    }
    return _mm256_or_si256(more, equal);
}

static void majority(const struct adl_hypervector *vectors, const uint8_t *weights, uint32_t count, uint32_t votes,
                     struct adl_hypervector *ret)
{
    for (uint32_t w = 0; w < ADL_HYPER_WORDS; w += 4)
        _mm256_storeu_si256((__m256i *)(void *)(ret->words + w), vote_planes(vectors, weights, count, votes, w));
}

const struct adl_hyper_ops *adl_hyper_ops_avx2(void)
{
    static const struct adl_hyper_ops avx2 = {"avx2", distances, distances_prefix, majority};
    return &avx2;
}

#else

const struct adl_hyper_ops *adl_hyper_ops_avx2(void)
{
    return NULL;
}

#endif
