/* memory: the most recent hypervectors, and which of them are nearest to a query.
 *
 * A ring: when it is full, the newest replaces the oldest. The place of a vector is an index into the caller's own
 * tables. */
#ifndef ADLRO_HDC_MEMORY_H
#define ADLRO_HDC_MEMORY_H

#include "base/error.h"
#include "hdc/hypervector.h"

struct adl_memory;

struct adl_neighbour {
    uint32_t place;
    uint32_t distance; /* bits */
};

#define ADL_NEIGHBOURS_MAX 1024

/* ops NULL: the best for this processor. */
int adl_memory_create(uint32_t capacity, const struct adl_hyper_ops *ops, struct adl_memory **ret,
                      struct adl_error *err);
void adl_memory_destroy(struct adl_memory *memory);                         /* accepts NULL */
void adl_memory_copy(struct adl_memory *to, const struct adl_memory *from); /* of the same capacity */

uint32_t adl_memory_add(struct adl_memory *memory, const struct adl_hypervector *vector); /* the place it took */
uint32_t adl_memory_count(const struct adl_memory *memory);
uint32_t adl_memory_oldest(const struct adl_memory *memory); /* its place; the others follow in a ring */

/* Up to `most` nearest neighbours in order of distance, ties newest first; returns their number. most is at most
 * ADL_NEIGHBOURS_MAX; ret has room for as many. */
uint32_t adl_memory_nearest(struct adl_memory *memory, const struct adl_hypervector *query, uint32_t most,
                            struct adl_neighbour *ret);

/* The same, searched among the candidates nearest by their first 512 bits (at least most, at most
 * ADL_NEIGHBOURS_MAX), which reads a sixteenth of the memory. Their order is exact; a near one may be missed. */
uint32_t adl_memory_nearest_quickly(struct adl_memory *memory, const struct adl_hypervector *query, uint32_t candidates,
                                    uint32_t most, struct adl_neighbour *ret);

#endif
