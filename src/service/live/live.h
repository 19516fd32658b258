/* live: the world that the service's engine runs in. Its events are requests of clients and reports of the executor;
 * its commands go to the executor.
 *
 * The service writes everything to the store first, in groups with one sync each, and only then answers, passes it to
 * the engine, or acts. It refuses a request that it could not write, and retries a report. */
#ifndef ADLRO_SERVICE_LIVE_H
#define ADLRO_SERVICE_LIVE_H

#include "executor/clock.h"
#include "executor/executor.h"
#include "service/service_state.h"

struct adl_live_config {
    struct adl_service_state *shared; /* the caller fills all but its job table and GPUs */
    struct adl_store *store;
    struct adl_executor executor;
    const struct adl_service_clock *clock;
    bool advice_only;      /* decisions are published, and nothing is executed */
    bool no_submission;    /* jobs come only from the cluster underneath */
    uint32_t jobs_max;     /* live ones */
    float priority_max;    /* that users may ask for; administrators may ask for any */
    int64_t time_limit_us; /* of jobs that have none */
    uint32_t jobs_per_user;
    uint64_t bytes_per_user; /* of the state */
    int64_t retention_us;    /* of samples */
    int64_t jobs_retention_us;
    bool root_jobs; /* root may submit */
    bool any_user;  /* jobs of other users than ours can be run */
    /* Reads configuration and model again; text for people. Called with the lock held. 1: another engine is needed, so
     * next_event ends the world; 0: done. */
    int (*reload)(void *context, char *ret_text, size_t size, struct adl_error *err);
    /* Another policy decides: the fallback, or the configured one again. Called with the lock held. 1: next_event ends
     * the world. */
    int (*switch_policy)(void *context, bool fall_back, struct adl_error *err);
    void *context;
    void (*say)(const char *text); /* to the service log; NULL: nowhere */
};

struct adl_live;

extern const struct adl_world_ops adl_live_ops;

/* Reads the live jobs from the store. */
int adl_live_create(const struct adl_live_config *config, struct adl_live **ret, struct adl_error *err);
void adl_live_destroy(struct adl_live *live); /* accepts NULL */

/* Once, with the engine that was created on this world: jobs that held GPUs hold them again. The lock is held. */
int adl_live_adopt(struct adl_live *live, struct adl_engine *engine, struct adl_error *err);

/* The engine gets what was learned about jobs before. Once, before it adopts jobs, and for an engine that learns in
 * place of one that did not. drift: with what was found about GPUs and types, which such an engine has already; an
 * engine that does not learn gets that. */
void adl_live_belief_load(struct adl_live *live, bool drift);

/* Submissions of before a restart. Once, before the engine adopts jobs. */
void adl_live_recent_load(struct adl_live *live);

/* What is known of a policy that shadows, or was promoted. Once, before the first engine. */
void adl_live_shadow_load(struct adl_live *live);

/* A power limit that was requested before a restart. Once, before the first engine. */
void adl_live_power_load(struct adl_live *live);

/* Slow GPUs that the engine knows now are not announced again. Once, after that. */
void adl_live_health_begin(struct adl_live *live);

/* Writes what was learned about jobs and GPUs, and recent submissions, before the service ends or an engine takes over
 * that does not learn. The lock is held, and the engine has no events before it. */
void adl_live_belief_keep(struct adl_live *live);

/* Time of the last event in the store; 0 = none. */
int64_t adl_live_latest_us(struct adl_store *store);

/* The same for an engine that replaces another: all jobs stay as they are. The lock is held. */
int adl_live_move(struct adl_live *live, struct adl_engine *engine, struct adl_error *err);

/* next_event ends the world at the next call. From any thread. */
void adl_live_end(struct adl_live *live);
bool adl_live_ending(const struct adl_live *live);

#endif
