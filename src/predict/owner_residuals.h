/* owner_residuals: how run times relate to predictions for the jobs of one owner whose predictions are about as long.
 *
 * Owners differ: one submits long jobs in hundreds after days of short ones. Each owner (user and group) and scale, a
 * factor of 64 of the 90th percentile, has a histogram of scores as all jobs have one (predict/residuals.h). It is
 * shrunk to that of all jobs. A new one takes the place of the least of its set when the memory is full. Nothing
 * allocates after creation. */
#ifndef ADLRO_PREDICT_OWNER_RESIDUALS_H
#define ADLRO_PREDICT_OWNER_RESIDUALS_H

#include "predict/packing.h"
#include "predict/residuals.h"

struct adl_owner_residuals;

int adl_owner_residuals_create(struct adl_owner_residuals **ret);     /* 0 or ADL_ENOMEM */
void adl_owner_residuals_destroy(struct adl_owner_residuals *owners); /* accepts NULL */
void adl_owner_residuals_copy(struct adl_owner_residuals *to, const struct adl_owner_residuals *from);
void adl_owner_residuals_reset(struct adl_owner_residuals *owners);

/* Names a histogram; never 0. */
uint64_t adl_owner_residuals_key(uint64_t owner, const struct adl_shape *shape, double predicted_us);

void adl_owner_residuals_learn(struct adl_owner_residuals *owners, uint64_t key, const struct adl_shape *shape,
                               double ratio);

/* The distribution of its jobs: `all`, or a mean of it and its own in *room. */
const struct adl_residuals *adl_owner_residuals_find(const struct adl_owner_residuals *owners, uint64_t key,
                                                     const struct adl_residuals *all, struct adl_residuals *room);

/* Kept only where users mean the same. The reader is one that has learned nothing. */
void adl_owner_residuals_encode(const struct adl_owner_residuals *owners, struct adl_text *ret);
void adl_owner_residuals_decode(struct adl_owner_residuals *owners, struct adl_unpack *from, bool same_users);

#endif
