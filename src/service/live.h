/* live: the world the service runs in: events are what people want and what executor report, commands go to the
 * executor.
 *
 * Whatever happens is written to the store first, in groups with one sync each, and only then acknowledged, shown to
 * the engine or acted on. What cannot be written is refused (requests) or tried again (reports). */
#ifndef ADLRO_SERVICE_LIVE_H
#define ADLRO_SERVICE_LIVE_H

#include "executor/clock.h"
#include "executor/executor.h"
#include "service/service_state.h"

struct adl_live_config {
    struct adl_service_state *shared; /* all but its job table and GPUs is filled by the caller */
    struct adl_store *store;
    struct adl_executor executor;
    const struct adl_service_clock *clock;
    bool advice_only;      /* decisions are told and not carried out */
    bool no_submission;    /* jobs come from the cluster underneath alone */
    uint32_t jobs_max;     /* live ones */
    float priority_max;    /* that users may ask for; administrators may ask for any */
    int64_t time_limit_us; /* of jobs that do not say one */
    uint32_t jobs_per_user;
    uint64_t bytes_per_user; /* of the state */
    int64_t retention_us;    /* of samples */
    int64_t jobs_retention_us;
    bool root_jobs; /* root may submit */
    bool any_user;  /* jobs of other users than ours can be run */
    /* Reads configuration and model anew; text for people. Called with the lock held. 1: another engine is needed, so
     * next_event says that the world ends; 0: all is done. */
    int (*reload)(void *context, char *ret_text, size_t size, struct adl_error *err);
    void *context;
    void (*say)(const char *text); /* for whoever looks after the service; NULL: nobody */
};

struct adl_live;

extern const struct adl_world_ops adl_live_ops;

/* Reads the live jobs from the store. */
int adl_live_create(const struct adl_live_config *config, struct adl_live **ret, struct adl_error *err);
void adl_live_destroy(struct adl_live *live); /* accepts NULL */

/* Once, with the engine that was created on this world: jobs that held GPUs get them again. The lock is held. */
int adl_live_adopt(struct adl_live *live, struct adl_engine *engine, struct adl_error *err);

/* When the last thing happened that the store knows of; 0 = nothing yet. */
int64_t adl_live_latest_us(struct adl_store *store);

/* The same for an engine that takes the place of another: all jobs are as they were. The lock is held. */
int adl_live_move(struct adl_live *live, struct adl_engine *engine, struct adl_error *err);

/* next_event ends the world at the next call. From any thread. */
void adl_live_end(struct adl_live *live);
bool adl_live_ending(const struct adl_live *live);

#endif
