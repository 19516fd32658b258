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

static void distances_prefix(const uint64_t *query, const uint64_t *rows, size_t count, uint32_t *ret)
{
    for (size_t r = 0; r < count; r++) {
        const uint64_t *row = rows + r * ADL_HYPER_PREFIX;
        const __m512i low = count_different(query, row), high = count_different(query + 8, row + 8);
        ret[r] = (uint32_t)_mm512_reduce_add_epi64(_mm512_add_epi64(low, high));
    }
}

_Static_assert(ADL_HYPER_PREFIX == 16, "a prefix is two registers");

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
