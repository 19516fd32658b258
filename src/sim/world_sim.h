/* world_sim: the simulated world: jobs on GPUs that are shared, fail, age and draw power. */
#ifndef ADLRO_SIM_WORLD_SIM_H
#define ADLRO_SIM_WORLD_SIM_H

#include "engine/world.h"
#include "model/scenario.h"
#include "sim/source.h"

#include <stdbool.h>

enum adl_regime {
    ADL_REGIME_DECLARED, /* a submission has what its user declared */
    ADL_REGIME_ORACLE,   /* and the true run time on each GPU type, for lower bounds */
    ADL_REGIME_LEARNED,  /* as declared; the engine predicts run times from similar jobs (predict/similar.h) */
    ADL_REGIME_COUNT,
};

extern const char *const adl_regime_names[]; /* ended by NULL */
const char *adl_regime_name(int regime);

/* What policies are told in the regime: a clause for reports, as docs/information.md has it. */
const char *adl_regime_told(int regime);

struct adl_world_sim;

extern const struct adl_world_ops adl_world_sim_ops;

/* The scenario outlives the world. Its jobs come from the scenario's workload. */
int adl_world_sim_create(const struct adl_scenario *scenario, uint64_t seed, int regime, struct adl_world_sim **ret,
                         struct adl_error *err);

/* The same with another source of jobs. Takes ownership of the source, even if it fails. */
int adl_world_sim_create_from(const struct adl_scenario *scenario, struct adl_job_source source, uint64_t seed,
                              int regime, struct adl_world_sim **ret, struct adl_error *err);

/* Restarts with another seed; the source must be able to rewind. Memory is kept; reserve allocates it in advance for
 * that many jobs a run. */
int adl_world_sim_reset(struct adl_world_sim *world, uint64_t seed, struct adl_error *err);
int adl_world_sim_reserve(struct adl_world_sim *world, size_t jobs); /* 0 or ADL_ENOMEM */
void adl_world_sim_destroy(struct adl_world_sim *world);             /* accepts NULL */

/* Becomes equal to another world, which stays as it is: with equal commands both go on alike. Both were created with
 * the same scenario, and with sources of the same kind that can be copied. */
int adl_world_sim_copy(struct adl_world_sim *to, const struct adl_world_sim *from, struct adl_error *err);

/* adopt.c: a world that begins in the middle of things. Begin empties it and sets the time, GPUs may be slow or down,
 * jobs wait or run; its source must be able to rewind. All its jobs are of class 0 of the scenario. Then it goes on as
 * any other. Memory is kept. */
struct adl_adopted_job {
    const struct adl_true_job *truth; /* of the whole job, with spanning_us */
    double remaining, saved;          /* share of the work left now, and when this attempt began */
    uint32_t attempts;
    int64_t run_us;       /* earlier attempts */
    int64_t start_us;     /* of this attempt */
    const uint32_t *gpus; /* that it holds; NULL: it waits */
    bool stopping;        /* it was told to stop */
};

int adl_world_sim_begin_at(struct adl_world_sim *world, int64_t now_us, uint64_t seed, struct adl_error *err);
/* All 0 or ADL_ENOMEM. speed: relative to others of its type. Jobs are adopted in ascending order of slots. */
int adl_world_sim_adopt_gpu(struct adl_world_sim *world, uint32_t gpu, double speed, bool down);
int adl_world_sim_adopt_wake(struct adl_world_sim *world, int64_t time_us);                /* that a policy asked for */
int adl_world_sim_adopt_drain(struct adl_world_sim *world, uint32_t gpu, int64_t time_us); /* for good, from then on */
/* The GPU will be down from then, or is already, until then; for scenarios whose own faults are none. */
int adl_world_sim_adopt_fault(struct adl_world_sim *world, uint32_t gpu, int64_t from_us, int64_t to_us);
int adl_world_sim_adopt(struct adl_world_sim *world, uint32_t slot, const struct adl_adopted_job *from);

/* live.c: the same world driven from outside: the caller sets the time and adds and removes jobs; it never ends.
 * Commands take effect at the time of the last event or, if advance returned none, at the time of that call. A world
 * that was advanced once must be driven by advance from then on. */

/* 1 and the next event due by time_us; 0 if there is none, and the time is now time_us; negative on failure.
 * Counters (METER) follow each telemetry. The slot of a job that ended is not reused before release. */
int adl_world_sim_advance(struct adl_world_sim *world, int64_t time_us, struct adl_event *ret, struct adl_error *err);
int64_t adl_world_sim_now_us(const struct adl_world_sim *world);
int64_t adl_world_sim_next_us(struct adl_world_sim *world); /* when advance has an event; INT64_MAX: never by itself */

/* Adds a job now, without a SUBMIT event. 0 or ADL_ENOMEM. Withdraw removes a waiting job, without an event. */
int adl_world_sim_inject(struct adl_world_sim *world, const struct adl_true_job *truth, uint32_t *ret_slot);
void adl_world_sim_withdraw(struct adl_world_sim *world, uint32_t slot);
void adl_world_sim_release(struct adl_world_sim *world, uint32_t slot); /* after its FINISH */

/* If one of the GPUs has failed and the caller does not know yet, the job does not start: EVICT follows. */
int adl_world_sim_start(struct adl_world_sim *world, uint32_t slot, const uint32_t *gpus, uint16_t gpu_count,
                        struct adl_error *err);
/* Stops a job that holds GPUs: FINISH as CANCELLED follows at once or, with requeue, EVICT once its checkpoint is
 * written. No effect on a job whose FINISH or EVICT was reported. */
int adl_world_sim_stop(struct adl_world_sim *world, uint32_t slot, bool requeue, struct adl_error *err);

int64_t adl_world_sim_start_us(const struct adl_world_sim *world, uint32_t slot); /* of its last attempt */
/* When a job that holds GPUs ends if nothing changes; INT64_MAX: it holds none, or is being stopped. */
int64_t adl_world_sim_end_us(const struct adl_world_sim *world, uint32_t slot);
double adl_world_sim_energy_j(struct adl_world_sim *world, uint32_t gpu);          /* by its counter, up to now */
int64_t adl_world_sim_memory_mib(const struct adl_world_sim *world, uint32_t gpu); /* that jobs use on it */

#endif
