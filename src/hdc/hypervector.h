/* hypervector: binary vectors of 8,192 bits and their operations.
 *
 * Two vectors drawn at random differ in half of their bits, give or take 45. Binding (XOR) makes a vector unlike both
 * of its parts and is its own inverse; bundling (majority) makes one that is like all of its parts; rotating makes one
 * that is unlike the original and keeps distances (Kanerva, "Hyperdimensional computing", Cognitive Computation 1,
 * 2009). */
#ifndef ADLRO_HDC_HYPERVECTOR_H
#define ADLRO_HDC_HYPERVECTOR_H

#include <stddef.h>
#include <stdint.h>

#define ADL_HYPER_BITS        8192
#define ADL_HYPER_WORDS       (ADL_HYPER_BITS / 64)
#define ADL_HYPER_VOTES_MAX   255 /* sum of the weights of a bundle */
#define ADL_HYPER_PREFIX_BITS 512
#define ADL_HYPER_PREFIX                                                                                               \
    (ADL_HYPER_PREFIX_BITS / 64) /* words; an unbiased sample, because no code here prefers some bits */

struct adl_hypervector {
    uint64_t words[ADL_HYPER_WORDS];
};

/* The expensive operations, specialized for processors; all give the same bits. */
struct adl_hyper_ops {
    const char *name;
    /* Hamming distances of one query to count rows that follow each other; rows are of ADL_HYPER_WORDS words, or of
     * ADL_HYPER_PREFIX in distances_prefix. ret: [count]. */
    void (*distances)(const uint64_t *query, const uint64_t *rows, size_t count, uint32_t *ret);
    void (*distances_prefix)(const uint64_t *query, const uint64_t *rows, size_t count, uint32_t *ret);
    /* Weighted majority of count vectors; votes: the sum of the weights, odd, so that there is no tie. */
    void (*majority)(const struct adl_hypervector *vectors, const uint8_t *weights, uint32_t count, uint32_t votes,
                     struct adl_hypervector *ret);
};

const struct adl_hyper_ops *adl_hyper_ops_plain(void);
const struct adl_hyper_ops *adl_hyper_ops_avx2(void);   /* NULL where they were not built */
const struct adl_hyper_ops *adl_hyper_ops_avx512(void); /* the same */
const struct adl_hyper_ops *adl_hyper_ops_best(void);   /* for this processor */

/* The vector of a symbol; other symbols and other seeds have unrelated ones. */
void adl_hypervector_item(uint64_t seed, uint64_t symbol, struct adl_hypervector *ret);

/* ret may be one of the arguments, except in rotate. */
void adl_hypervector_bind(const struct adl_hypervector *a, const struct adl_hypervector *b,
                          struct adl_hypervector *ret);
void adl_hypervector_rotate(const struct adl_hypervector *vector, uint32_t bits, struct adl_hypervector *ret);

/* a where mask has 0, b where it has 1. */
void adl_hypervector_mix(const struct adl_hypervector *a, const struct adl_hypervector *b,
                         const struct adl_hypervector *mask, struct adl_hypervector *ret);

uint32_t adl_hypervector_distance(const struct adl_hyper_ops *ops, const struct adl_hypervector *a,
                                  const struct adl_hypervector *b);

/* Weighted majority, at least one vector, weights at least 1 and ADL_HYPER_VOTES_MAX - 1 together. Where the votes are
 * equal the bit is that of a fixed random vector, which has one vote if their number would be even. vectors has room
 * for one more and weights as well: the fixed one takes it. */
void adl_hypervector_bundle(const struct adl_hyper_ops *ops, struct adl_hypervector *vectors, uint8_t *weights,
                            uint32_t count, struct adl_hypervector *ret);

/* masks: [count], mask i has i * bits / count bits set, all of those of mask i - 1 among them, at random places. */
void adl_hypervector_masks(uint64_t seed, uint32_t bits, uint32_t count, struct adl_hypervector *ret);

#endif
