/* world_sim: the simulated world: what truly happens to jobs on GPUs that share, fail, age and draw power. */
#ifndef ADLRO_SIM_WORLD_SIM_H
#define ADLRO_SIM_WORLD_SIM_H

#include "engine/world.h"
#include "model/scenario.h"
#include "sim/source.h"

enum adl_regime {
    ADL_REGIME_DECLARED, /* a submission says what its user said */
    ADL_REGIME_ORACLE,   /* and the true run time on each GPU type, for bounds */
    ADL_REGIME_LEARNED,  /* what its user said; the engine makes of it what similar jobs took (predict/similar.h) */
    ADL_REGIME_COUNT,
};

const char *adl_regime_name(int regime);
int adl_regime_find(const char *name); /* -1 if there is none */

struct adl_world_sim;

extern const struct adl_world_ops adl_world_sim_ops;

/* The scenario outlives the world. Its jobs come from the scenario's workload. */
int adl_world_sim_create(const struct adl_scenario *scenario, uint64_t seed, int regime, struct adl_world_sim **ret,
                         struct adl_error *err);

/* The same with jobs from elsewhere; the source is the world's from now on, also if this fails. */
int adl_world_sim_create_from(const struct adl_scenario *scenario, struct adl_job_source source, uint64_t seed,
                              int regime, struct adl_world_sim **ret, struct adl_error *err);

/* Begins anew with another seed; the source must be able to rewind. Memory is kept; reserve takes it beforehand for as
 * many jobs a run. */
int adl_world_sim_reset(struct adl_world_sim *world, uint64_t seed, struct adl_error *err);
int adl_world_sim_reserve(struct adl_world_sim *world, size_t jobs); /* 0 or ADL_ENOMEM */
void adl_world_sim_destroy(struct adl_world_sim *world);             /* accepts NULL */

#endif
