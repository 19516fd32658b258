/* world_sim: the simulated world: what truly happens to jobs on GPUs that share, fail, age and draw power. */
#ifndef ADLRO_SIM_WORLD_SIM_H
#define ADLRO_SIM_WORLD_SIM_H

#include "engine/world.h"
#include "model/scenario.h"
#include "sim/source.h"

#include <stdbool.h>

enum adl_regime {
    ADL_REGIME_DECLARED, /* a submission says what its user said */
    ADL_REGIME_ORACLE,   /* and the true run time on each GPU type, for bounds */
    ADL_REGIME_LEARNED,  /* what its user said; the engine makes of it what similar jobs took (predict/similar.h) */
    ADL_REGIME_COUNT,
};

const char *adl_regime_name(int regime);

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

/* live.c: the same world as one that is lived in: its time is given from outside, jobs come and go by hand, it never
 * ends. Commands are carried out at the time of the last event or, after advance gave none, at that of the call. A
 * world that was advanced once is advanced ever after. */

/* 1 and the next event that is due at time_us; 0 if there is none, and it is time_us now; negative on failure.
 * Counters (METER) follow each telemetry. The slot of a job that ended is not used again before release. */
int adl_world_sim_advance(struct adl_world_sim *world, int64_t time_us, struct adl_event *ret, struct adl_error *err);
int64_t adl_world_sim_now_us(const struct adl_world_sim *world);
int64_t adl_world_sim_next_us(struct adl_world_sim *world); /* when advance has an event; INT64_MAX: never by itself */

/* A job comes now; there is no SUBMIT of it. One that waits goes without a word. 0 or ADL_ENOMEM. */
int adl_world_sim_inject(struct adl_world_sim *world, const struct adl_true_job *truth, uint32_t *ret_slot);
void adl_world_sim_withdraw(struct adl_world_sim *world, uint32_t slot);
void adl_world_sim_release(struct adl_world_sim *world, uint32_t slot); /* after its FINISH */

/* On GPUs of which one has failed and the caller does not know yet it does not start: EVICT comes. */
int adl_world_sim_start(struct adl_world_sim *world, uint32_t slot, const uint32_t *gpus, uint16_t gpu_count,
                        struct adl_error *err);
/* A job that holds GPUs goes: FINISH as CANCELLED comes at once; or, if it is to run again, EVICT once its checkpoint
 * is written. One whose FINISH was given, or whose EVICT, is left as it is. */
int adl_world_sim_stop(struct adl_world_sim *world, uint32_t slot, bool requeue, struct adl_error *err);

int64_t adl_world_sim_start_us(const struct adl_world_sim *world, uint32_t slot);  /* of its last attempt */
double adl_world_sim_energy_j(struct adl_world_sim *world, uint32_t gpu);          /* by its counter, up to now */
int64_t adl_world_sim_memory_mib(const struct adl_world_sim *world, uint32_t gpu); /* that jobs use on it */

#endif
