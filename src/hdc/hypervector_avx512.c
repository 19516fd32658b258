/* hypervector_avx512: distances with the population count of AVX-512, 512 bits at a time. CMakeLists.txt compiles only
 * this file for it; adl_hyper_ops_best() checks whether the processor has it. */
#include "hdc/hypervector.h"

#if defined(__AVX512VPOPCNTDQ__)

#include <immintrin.h>

#define PLANES 8

static inline __m512i count_different(const uint64_t *a, const uint64_t *b)
{
    return _mm512_popcnt_epi64(
        _mm512_xor_si512(_mm512_loadu_si512((const void *)a), _mm512_loadu_si512((const void *)b)));
}

static void distances(const uint64_t *query, const uint64_t *rows, size_t count, uint32_t *ret)
{
    for (size_t r = 0; r < count; r++) {
        const uint64_t *row = rows + r * ADL_HYPER_WORDS;
        __m512i sum = _mm512_setzero_si512(), other = _mm512_setzero_si512();
        for (size_t w = 0; w < ADL_HYPER_WORDS; w += 16) {
            sum = _mm512_add_epi64(sum, count_different(query + w, row + w));
            other = _mm512_add_epi64(other, count_different(query + w + 8, row + w + 8));
        }
        ret[r] = (uint32_t)_mm512_reduce_add_epi64(_mm512_add_epi64(sum, other));
    }
}

/* Sums of pairs of numbers of two registers, in turn. */
static inline __m512i add_pairs(__m512i a, __m512i b)
{
    return _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/* Sums of neighbouring quarters: two of a, then two of b. */
static inline __m512i add_quarters(__m512i a, __m512i b)
{
    return _mm512_add_epi64(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
}

/* Eight rows at a time, so that their sums are added up together. */
static void distances_prefix(const uint64_t *query, const uint64_t *rows, size_t count, uint32_t *ret)
{
    size_t r = 0;
    for (; r + 8 <= count; r += 8) {
        __m512i v[8];
        for (size_t i = 0; i < 8; i++)
            v[i] = count_different(query, rows + (r + i) * ADL_HYPER_PREFIX);
        const __m512i low = add_quarters(add_pairs(v[0], v[1]), add_pairs(v[2], v[3]));
        const __m512i high = add_quarters(add_pairs(v[4], v[5]), add_pairs(v[6], v[7]));
        _mm256_storeu_si256((__m256i *)(void *)(ret + r), _mm512_cvtepi64_epi32(add_quarters(low, high)));
    }
    for (; r < count; r++)
        ret[r] = (uint32_t)_mm512_reduce_add_epi64(count_different(query, rows + r * ADL_HYPER_PREFIX));
}

_Static_assert(ADL_HYPER_PREFIX == 8, "a prefix is one register");

/* As in hypervector.c: the votes of 512 bits at a time, counted in planes of binary digits. */
static inline __m512i vote_planes(const struct adl_hypervector *vectors, const uint8_t *weights, uint32_t count,
                                  uint32_t votes, uint32_t at)
{
    const int used = 32 - __builtin_clz(votes); /* digits that the sum can have */
    __m512i planes[PLANES], more = _mm512_setzero_si512(), equal = _mm512_set1_epi64(-1);
    for (int p = 0; p < PLANES; p++)
        planes[p] = _mm512_setzero_si512();
    for (uint32_t v = 0; v < count; v++)
        for (uint32_t left = weights[v]; left; left &= left - 1) {
            __m512i carry = _mm512_loadu_si512((const void *)(vectors[v].words + at));
            for (int p = __builtin_ctz(left); p < used; p++) {
                const __m512i next = _mm512_and_si512(planes[p], carry);
                planes[p] = _mm512_xor_si512(planes[p], carry);
                carry = next;
            }
        }
    for (int p = used - 1; p >= 0; p--) {
        const __m512i digit = _mm512_set1_epi64((votes / 2 + 1) >> p & 1 ? -1 : 0);
        more = _mm512_or_si512(more, _mm512_and_si512(equal, _mm512_andnot_si512(digit, planes[p])));
        equal = _mm512_andnot_si512(_mm512_xor_si512(planes[p], digit), equal);
    }
    return _mm512_or_si512(more, equal);
}

static void majority(const struct adl_hypervector *vectors, const uint8_t *weights, uint32_t count, uint32_t votes,
                     struct adl_hypervector *ret)
{
    for (uint32_t w = 0; w < ADL_HYPER_WORDS; w += 8)
        _mm512_storeu_si512((void *)(ret->words + w), vote_planes(vectors, weights, count, votes, w));
}

const struct adl_hyper_ops *adl_hyper_ops_avx512(void)
{
    static const struct adl_hyper_ops avx512 = {"avx512", distances, distances_prefix, majority};
    return &avx512;
}

#else

const struct adl_hyper_ops *adl_hyper_ops_avx512(void)
{
    return NULL;
}

#endif
