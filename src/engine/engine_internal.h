/* engine_internal: private header of the engine: engine.c (the loop), engine_copy.c and engine_adopt.c. */
#ifndef ADLRO_ENGINE_ENGINE_INTERNAL_H
#define ADLRO_ENGINE_ENGINE_INTERNAL_H

#include "engine/correction.h"
#include "engine/engine.h"
#include "engine/validate.h"

/* Policies that learn, at most. */
#define LEARNERS_MAX 8

/* A former policy, kept for what it has learned. */
struct adl_former_policy {
    const struct adl_policy_ops *ops;
    void *policy;
};

struct adl_engine {
    struct adl_engine_config config;
    struct adl_state *state;
    struct adl_validator *validator;
    struct adl_belief *belief;
    struct adl_correction correction;
    void *policy;
    struct adl_former_policy learners[LEARNERS_MAX]; /* one of each kind, except the policy's; unused: ops NULL */
    struct adl_plan plan;
    struct adl_engine_counts counts;
    float *decision_ns; /* [TIMED_MAX] */
    uint64_t instant_hash;
    bool observes_decisions; /* an observer has decided() */
    bool fetches;            /* jobs of upcoming events are fetched from memory in time */
    bool observer_failed;
    int64_t wakes_us[ADL_WAKES_MAX]; /* that were asked for last, a ring */
    uint32_t wake_count;
    int64_t preempted_us;     /* the time of the last preemption ... */
    uint32_t preempted_count; /* ... and how many there were at that time since the last submission */
};

/* engine.c */
int adl_engine_enqueue(struct adl_engine *engine, uint32_t slot); /* with the policy's rank; 0 or ADL_ENOMEM */

#endif
