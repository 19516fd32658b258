/* directory: what the auctioneer has heard of agents' loads, and whom it asks. It knows nothing else of them.
 *
 * The banks of a type lie in one array, ordered by the number of GPUs that were last heard to be free, so that a bank
 * is drawn, and a new load noted, without a look at the others. */
#ifndef ADLRO_POLICY_MARKET_DIRECTORY_H
#define ADLRO_POLICY_MARKET_DIRECTORY_H

#include "base/rng.h"
#include "model/cluster.h"
#include "policy/market/message.h"

#include <assert.h>

/* GPUs of a bank, and what its node has when it is empty. */
struct adl_bank_size {
    int32_t gpus, cores, memory_mib;
};

/* What was heard of a bank, and what it is: half a line of the cache. */
struct adl_directory_bank {
    struct adl_bank_load load; /* the last */
    uint32_t busy_position;    /* in busy, or ADL_NONE */
    uint32_t agent;            /* that has it; set by the caller */
    uint16_t type, gpus;
};
static_assert(ADL_LINE % sizeof(struct adl_directory_bank) == 0, "no bank is on two lines");

struct adl_directory {
    const struct adl_cluster *cluster;
    struct adl_directory_bank *banks;
    uint32_t *members;                                     /* banks, type by type */
    uint32_t *position;                                    /* [bank] in members; dense, as others' places change too */
    uint32_t *busy;                                        /* banks of which a queue was heard */
    uint32_t first[ADL_TYPES_MAX + 1];                     /* [type] in members */
    uint32_t bounds[ADL_TYPES_MAX][ADL_BANK_GPUS_MAX + 2]; /* [type][free] where those with so many free begin */
    uint32_t widest[ADL_TYPES_MAX];                        /* GPUs of the largest bank */
    struct adl_bank_size least[ADL_TYPES_MAX];             /* no bank of the type has less */
    uint64_t free_gpus[ADL_TYPES_MAX];                     /* heard to be free */
    uint64_t waiting[ADL_TYPES_MAX];                       /* jobs heard to wait for the type */
    double price[ADL_TYPES_MAX];                           /* of the type: waiting jobs for each GPU, averaged */
    uint32_t busy_count;
};

int adl_directory_create(struct adl_directory *ret, const struct adl_cluster *cluster); /* all free; 0 or ADL_ENOMEM */
void adl_directory_clear(struct adl_directory *directory);                           /* frees; accepts a zeroed one */
void adl_directory_copy(struct adl_directory *to, const struct adl_directory *from); /* of the same cluster */

void adl_directory_hear(struct adl_directory *directory, const struct adl_bank_load *load);

/* A job was announced: prices follow what waits. */
void adl_directory_reprice(struct adl_directory *directory);

/* A bank of the type: at random among those heard to have the fewest free GPUs that suffice, if there are any; else the
 * one that was heard to open first of two at random. */
uint32_t adl_directory_draw(const struct adl_directory *directory, uint32_t type, uint32_t gpus, struct adl_rng *rng);

/* True if the bank could hold the job when its node is empty. */
bool adl_directory_suits(const struct adl_directory *directory, uint32_t bank, const struct adl_announced *job);

/* Any bank of the type. */
uint32_t adl_directory_any(const struct adl_directory *directory, uint32_t type, struct adl_rng *rng);

/* The bank of the type with the n-th most free GPUs, as heard; ADL_NONE: there are not so many banks. */
uint32_t adl_directory_emptiest(const struct adl_directory *directory, uint32_t type, uint32_t n);

/* True if a bank of the type was heard to have so many GPUs free. */
bool adl_directory_has_free(const struct adl_directory *directory, uint32_t type, uint32_t gpus);

/* A bank of another type where jobs run, as heard; at random, or ADL_NONE if a few tries found none. */
uint32_t adl_directory_runs(const struct adl_directory *directory, uint32_t type, struct adl_rng *rng);

/* A bank of which a queue was heard, at random, or ADL_NONE. */
uint32_t adl_directory_busy(const struct adl_directory *directory, struct adl_rng *rng);

#endif
