/* environment_internal: an environment of include/adlro/adlro.h from the inside, for the files that create it, step it
 * and ask policies about it. */
#ifndef ADLRO_RL_ENVIRONMENT_INTERNAL_H
#define ADLRO_RL_ENVIRONMENT_INTERNAL_H

#include "engine/engine.h"
#include "metrics/reward.h"
#include "policy/dqn/actions.h"
#include "policy/dqn/observation.h"
#include "policy/dqn/typical_time.h"
#include "rl/environment.h"
#include "rl/trace_episodes.h"
#include "sim/world_sim.h"

#include <stdatomic.h>

/* One environment of the vector. */
struct adl_environment_cell {
    struct adl_actions *actions;
    struct adl_world_sim *world;
    struct adl_engine *engine;
    const struct adl_state *state; /* the engine's */
    struct adl_metrics *metrics;
    bool planned; /* the observation has what the outlook of actions knows */
    bool done;
    bool truncated;     /* done, with jobs left */
    uint64_t decisions; /* of this episode */
    int64_t decided_us;
    double reward; /* since the last decision */
    struct adl_reward reward_terms;
    struct adl_typical_time typical; /* observation plain; the others have it from the queue */
    const float *rows;               /* where the rows of actions were written last, and how many */
    uint32_t row_count;
};

/* What an environment loaded, for it and its clones. */
struct adl_environment_input {
    struct adl_scenario scenario;
    struct adl_trace_episodes *episodes; /* NULL: jobs are drawn from the scenario's workload */
    atomic_uint holders;
};

/* A policy that was asked what it would do. */
struct adl_environment_advisor;

#define ADL_ADVISORS_MAX 32

struct adlro_environment {
    const struct adl_scenario *scenario;
    struct adl_environment_input *input; /* scenario points into it; NULL: the caller owns the scenario */
    struct adlro_config config;          /* for clones; without names of files */
    int regime;                          /* enum adl_regime */
    size_t jobs;                         /* of an episode */
    struct adlro_shape shape;
    enum adl_observation_kind observation;
    struct adl_normalizer normalizer;
    bool learning; /* the normalizer is fitted to observations */
    struct adl_observation rows;
    struct adl_plan plan;
    struct adl_environment_cell *cells;
    uint32_t ahead;           /* the cell that is stepped next, whose memory is fetched meanwhile; ADL_NONE: none */
    struct adl_engine *blank; /* that has learned nothing: episodes begin like that; NULL if none learns */
    struct adl_environment_advisor *advisors[ADL_ADVISORS_MAX];
};

/* Copies the text of a failure to the caller; returns the status. */
int adl_environment_report(const struct adl_error *err, int status, char *error);

int adl_environment_copy_cell(struct adl_environment_cell *to, const struct adl_environment_cell *from,
                              struct adl_error *err);

/* environment_fetch.c: what points to the memory of a cell, some time before the rest; then, of the cell ahead, its
 * jobs, what its plan reads, and where its observation is written. */
void adl_environment_fetch_heads(const struct adlro_environment *environment, uint32_t index);
void adl_environment_fetch_jobs(const struct adlro_environment *environment);
void adl_environment_fetch_plan(const struct adlro_environment *environment);
void adl_environment_fetch_buffers(const struct adlro_environment *environment, const struct adlro_buffers *buffers);

void adl_environment_dismiss(struct adlro_environment *environment); /* frees its advisors */

#endif
