/* engine: the event loop: event -> state -> policy -> validation -> command -> world, one instant after the other. */
#ifndef ADLRO_ENGINE_ENGINE_H
#define ADLRO_ENGINE_ENGINE_H

#include "base/error.h"
#include "engine/world.h"
#include "model/scenario.h"
#include "policy/policy.h"
#include "predict/belief.h"
#include "state/state.h"

/* Observes a run. It sees events before they change the state, commands after they did. Any function may be NULL; a
 * negative return ends the run. */
struct adl_engine;
struct adl_drift;

struct adl_observer {
    void *self;
    void (*bind)(void *self, const struct adl_engine *engine); /* when the engine is created */
    int (*event)(void *self, const struct adl_event *event, const struct adl_state *state);
    int (*command)(void *self, const struct adl_command *command, const uint32_t *gpus, const struct adl_state *state);
    int (*decided)(void *self, uint64_t hash,
                   const struct adl_state *state); /* the decision of an instant is complete */
};

#define ADL_OBSERVERS_MAX 4

struct adl_engine_config {
    const struct adl_cluster *cluster;
    const struct adl_policy_ops *policy;
    struct adl_policy_config policy_config;
    uint64_t seed;
    bool learned; /* run times are predicted from completed jobs (regime learned), not from users' limits */
    const struct adl_world_ops *world_ops;
    void *world;                                      /* outlives the engine */
    struct adl_observer observers[ADL_OBSERVERS_MAX]; /* outlive the engine */
    uint32_t observer_count;
    bool belief_unread; /* nobody but the policy reads adl_engine_belief: what it does not read either is not learned */
    bool reasons_unread; /* nobody reads the reasons of commands: they may be left out */
    bool ignore_drift;   /* GPUs and types are believed to be as fast as ever, unless the caller tells otherwise */
    int64_t (*clock_ns)(void); /* for decision times only, never for decisions; NULL = not measured */
};

struct adl_engine_counts {
    uint64_t events;
    uint64_t decisions; /* calls of policy.decide */
    uint64_t commands;
    uint64_t refused;   /* commands that failed validation or that the world refused */
    uint64_t plan_hash; /* over every command, in order */
    struct adl_error last_refusal;
    /* Wall time of every sixteenth decision, up to a fixed number. */
    const float *decision_ns;
    size_t decision_count;
};

int adl_engine_create(const struct adl_engine_config *config, struct adl_engine **ret, struct adl_error *err);
void adl_engine_destroy(struct adl_engine *engine); /* accepts NULL */

/* One instant: 1; 0 if the world has ended; negative on failure. */
int adl_engine_step(struct adl_engine *engine, struct adl_error *err);

/* Until the world ends: 0 or negative. */
int adl_engine_run(struct adl_engine *engine, struct adl_error *err);

/* The loop in parts, for a caller that decides instead of a policy. Advance: to the next instant that allows a
 * decision: 1, 0 if the world has ended, negative on failure. Act: executes a plan up to the first command that is
 * refused, which is counted. Settle: the decision of this instant is complete. */
int adl_engine_advance(struct adl_engine *engine, struct adl_error *err);
int adl_engine_act(struct adl_engine *engine, const struct adl_plan *plan, bool *ret_refused, struct adl_error *err);
int adl_engine_settle(struct adl_engine *engine, struct adl_error *err);

/* A job that was given its GPUs by adl_engine_act has run on them since this time in the past: it was adopted. */
void adl_engine_began(struct adl_engine *engine, uint32_t slot, int64_t start_us);

/* As after create, with another seed, for a world that restarts. Memory is kept; reserve allocates it in advance for
 * that many live jobs. */
int adl_engine_reset(struct adl_engine *engine, uint64_t seed, struct adl_error *err);
int adl_engine_reserve(struct adl_engine *engine, size_t jobs); /* 0 or ADL_ENOMEM */

/* Becomes equal to another engine, which stays as it is: with equal worlds both decide alike. Both were created with
 * the same cluster, policy and options; each keeps its world and observers. Between two steps. What former policies
 * have learned is not copied. ADL_ENOMEM leaves it fit only for another copy, a reset, or to be destroyed. */
int adl_engine_copy(struct adl_engine *to, const struct adl_engine *from, struct adl_error *err);
const struct adl_engine_config *adl_engine_config(const struct adl_engine *engine); /* as it was created */

/* Takes over the state of another engine, which stays as it is: its policy may be another one, and its cluster may have
 * further nodes of the same types behind the other's. It knows all that the other knows of jobs, and of drift, too, if
 * the cluster is the same; else as much as the other believes: create it with ignore_drift then. It has decided nothing
 * yet. If it was used before, it has forgotten all but what its policy has learned. */
int adl_engine_adopt(struct adl_engine *to, const struct adl_engine *from, struct adl_error *err);

/* Changes of a copy before it is played. Tell: an event that no world reports. Change: a waiting job asks for something
 * else; it keeps its slot, its time of submission, its work done, and its prediction times what the change does to a
 * new one. ADL_EINVAL: it can never run like that. */
int adl_engine_tell(struct adl_engine *engine, const struct adl_event *event, struct adl_error *err);
int adl_engine_change_job(struct adl_engine *engine, uint32_t slot, const struct adl_job_spec *spec,
                          struct adl_error *err);

/* It is this time, and nothing has happened since the last event: of a copy that begins a future. */
void adl_engine_set_now(struct adl_engine *engine, int64_t now_us);

/* Times, not yet reached, at which the policy asked to be woken: the last ones that it asked for. Returns how many. */
#define ADL_WAKES_MAX 8
uint32_t adl_engine_wakes(const struct adl_engine *engine, int64_t ret_us[ADL_WAKES_MAX]);

/* Takes over what an engine of the same cluster has learned about jobs, even if its policy differs: what a policy has
 * learned is kept until the same policy is used again. Before the first event; from may only be destroyed afterwards.
 */
void adl_engine_inherit(struct adl_engine *engine, struct adl_engine *from);

/* What it has learned about jobs: to be read, written as bytes, or replaced by bytes (adl_belief_decode). */
struct adl_belief *adl_engine_belief(struct adl_engine *engine);
/* The same and what was found about drift, as one. */
void adl_engine_encode(const struct adl_engine *engine, const struct adl_belief_terms *terms, struct adl_text *ret);
int adl_engine_decode_drift(struct adl_engine *engine, const void *bytes, size_t size,
                            const struct adl_belief_terms *terms, struct adl_belief_account *ret,
                            struct adl_error *err); /* that alone */
int adl_engine_decode(struct adl_engine *engine, const void *bytes, size_t size, const struct adl_belief_terms *terms,
                      struct adl_belief_account *ret, struct adl_error *err);
double adl_engine_round_s(const struct adl_engine *engine); /* the present length of the policy's rounds; 0 = none */

/* Why a job waits, as text: from the policy, or else from the state (policy/mechanism/reason.h). */
void adl_engine_explain(const struct adl_engine *engine, uint32_t slot, char *ret, size_t size);

/* What is known of GPUs and types that are no longer as fast as they were; NULL if that is ignored. */
const struct adl_drift *adl_engine_drift(const struct adl_engine *engine);

/* Sets believed speeds, as the engine does itself unless it ignores drift: of a GPU relative to its type, and of a type
 * relative to when it was first seen. */
void adl_engine_set_gpu_speed(struct adl_engine *engine, uint32_t gpu, double speed);
void adl_engine_set_type_speed(struct adl_engine *engine, uint32_t type, double speed);

const struct adl_state *adl_engine_state(const struct adl_engine *engine);
const struct adl_engine_counts *adl_engine_counts(const struct adl_engine *engine);

#endif
