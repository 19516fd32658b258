/* usage: a row of amounts for each key. */
#ifndef ADLRO_SLURM_USAGE_H
#define ADLRO_SLURM_USAGE_H

#include <stddef.h>
#include <stdint.h>

struct adl_usage {
    uint32_t width;
    size_t count;
    uint64_t *keys;    /* [count] */
    uint64_t *amounts; /* [count][width] */
    uint32_t *table;   /* [table_size] position + 1 of a key, 0 = none */
    size_t keys_capacity, amounts_capacity, table_size;
};

void adl_usage_clear(struct adl_usage *usage);                 /* frees; accepts a zeroed one */
void adl_usage_empty(struct adl_usage *usage, uint32_t width); /* keeps its memory */

/* The row of the key, zero if it is new; valid until the next call. NULL: out of memory. */
uint64_t *adl_usage_at(struct adl_usage *usage, uint64_t key);
const uint64_t *adl_usage_find(const struct adl_usage *usage, uint64_t key); /* NULL: none */

#endif
