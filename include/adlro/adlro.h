/* adlro: scheduling on a simulated GPU cluster as an environment for agents: reset(seed), step(action).
 *
 * The caller owns every buffer; after create nothing is allocated. An environment here is a vector of several, each
 * with its own clock: step moves all of them, step_one one of them. Different environments may be used by different
 * threads at the same time, one environment by one thread.
 *
 * A decision is due when GPUs are free and waiting jobs fit on them. An action starts one job on one GPU type, or
 * waits for the next event. No job starves: one that is overdue holds a reservation, and starts that would delay it are
 * not offered. The environment acts by itself where only one action is possible.
 *
 *     struct adlro_config config = {.size = sizeof config, .scenario = "scenarios/paper16.yaml", .count = 8};
 *     struct adlro_environment *env;
 *     char error[ADLRO_ERROR_SIZE];
 *     if (adlro_create(&config, &env, error)) ...
 *
 * Structs grow at their end only. Those that you pass in begin with their size, so that a program keeps working with
 * a newer library; 0 stands for the members of version 0.1. Those that the library fills are passed with their size. */
#ifndef ADLRO_ADLRO_H
#define ADLRO_ADLRO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; adlro_version() is that of the library in use. */
#define ADLRO_VERSION_MAJOR                       0
#define ADLRO_VERSION_MINOR                       1
#define ADLRO_VERSION_PATCH                       0
#define ADLRO_VERSION_NUMBER(major, minor, patch) (((major)*1000 + (minor)) * 1000 + (patch))
/* For #if. */
#define ADLRO_VERSION ADLRO_VERSION_NUMBER(ADLRO_VERSION_MAJOR, ADLRO_VERSION_MINOR, ADLRO_VERSION_PATCH)

#define ADLRO_ERROR_SIZE 400

struct adlro_environment;

enum adlro_observation {
    ADLRO_OBSERVATION_ALL,     /* every feature of docs/features.md */
    ADLRO_OBSERVATION_PAPER,   /* the state of the ADLRO paper: utilization of each GPU; queue length; priority and kind
                                * of the oldest job that fits, which alone may be started */
    ADLRO_OBSERVATION_ACTIONS, /* as ALL, but without rows for GPUs and without the GPUs that actions name */
    ADLRO_OBSERVATION_PLAIN,   /* as ACTIONS, but without the plan of policy adlro: fewer features, and starts that only
                                * the plan would list are not offered; about ten times as many decisions a second */
};

/* Rows of an observation. */
enum adlro_row {
    ADLRO_ROW_GPU,    /* one for each GPU */
    ADLRO_ROW_STATE,  /* one for all */
    ADLRO_ROW_ACTION, /* one for each action */
};

/* Zeros are the defaults. */
struct adlro_config {
    size_t size;          /* sizeof of this struct; 0 = the members up to tail */
    const char *scenario; /* path of the file, or the name of a shipped scenario */
    uint32_t count;       /* environments side by side; 0 = 1 */
    uint64_t jobs;        /* of an episode; 0 = as the scenario says */
    int observation;      /* enum adlro_observation */
    int oracle;           /* 1: run times are known exactly, for bounds */
    double load;          /* multiplies the arrival rate; 0 = 1 */
    double tail;          /* weight of long completion times in the reward; 0 = the reward of the ADLRO paper */

    /* Recorded jobs (docs/traces.md) instead of the scenario's workload: scenario is then a cluster. Every episode is
     * the whole trace or, if jobs is set, that many consecutive jobs from a place that the seed draws. */
    const char *trace;
    const char *throughputs; /* JSON with measured steps/s, for scenarios and traces that need it (gavel108) */
    int learned;             /* 1: run times are predicted from completed jobs, not from users' limits; always so for
                              * a trace in which no job has a limit */
    uint64_t max_decisions;  /* an episode is truncated after that many decisions; 0 = never */
    double max_s;            /* ... and after this time in the simulation */
};

struct adlro_shape {
    uint32_t count;
    uint32_t gpus, gpu_features;
    uint32_t state_features;
    uint32_t actions, action_features; /* actions: the most that one decision offers */
    uint32_t members;                  /* the most GPUs that all actions of one decision name together */
};

/* Buffers of the caller. Those of environment i begin at i times the count in brackets. */
struct adlro_buffers {
    size_t size;            /* sizeof of this struct; 0 = the members up to done */
    float *gpus;            /* [gpus * gpu_features] each 0..1, or -1 where a value is missing */
    float *state;           /* [state_features] */
    float *actions;         /* [actions * action_features] 0 in rows that are not offered. A step writes only those that
                             * are not 0 yet, so leave them as they are until a reset */
    uint8_t *mask;          /* [actions] 1: may be chosen; the first action_count are */
    int32_t *action_count;  /* [1] */
    int32_t *member_offset; /* [actions + 1] GPUs of action a: members[member_offset[a]] .. */
    int32_t *members;       /* [members] */
    double *reward;         /* [1] since the last decision, in seconds, never positive */
    double *elapsed_s;      /* [1] since the last decision */
    uint8_t *done;          /* [1] the episode has ended: reset it */
    uint8_t *truncated;     /* [1] it ended at max_decisions or max_s, with jobs left: gpus, state, actions and mask
                             * show where, for the value of that state; may be NULL */
};

struct adlro_result {
    uint64_t jobs;
    double jct_mean_s, jct_p99_s, throughput_jobs_per_h, gpu_utilization, makespan_s, reward;
    double energy_j;                   /* of all GPUs */
    double sla_attainment;             /* share of the jobs with an SLA that met it; 1 if none has one */
    uint64_t sla_jobs;                 /* that have ended */
    double wait_mean_s, slowdown_mean; /* slowdown: completion time / run time on the fastest GPUs */
    uint64_t timeouts, evictions;      /* jobs that reached their limit; stops by failed GPUs */
};

enum adlro_scale {
    ADLRO_SCALE_FLAG,       /* 0 or 1 */
    ADLRO_SCALE_LINEAR,     /* low..high onto 0..1 */
    ADLRO_SCALE_LOG,        /* the same, logarithmic */
    ADLRO_SCALE_SPREAD,     /* by the quartiles that adlro_fit learned; before, low..high onto 0..1 */
    ADLRO_SCALE_SPREAD_LOG, /* the same, logarithmic */
};

/* What a column of an observation is, as docs/features.md has it. */
struct adlro_feature {
    const char *name;   /* "queue_of_gpus" */
    const char *source; /* "job", "telemetry", "cluster", "state" or "belief" */
    const char *unit;   /* "" if it has none */
    double low, high;   /* values beyond are clipped to this, in the unit; an observation has 0..1, or -1 if missing */
    int scale;          /* enum adlro_scale */
    double stale_s;     /* older values are missing; 0 = never */
};

const char *adlro_version(void); /* of the library: "MAJOR.MINOR.PATCH" */

/* The name of a feature as in docs/features.md: observation is an enum adlro_observation, row an enum adlro_row. NULL
 * where the row has no such feature. */
const char *adlro_feature_name(int observation, int row, uint32_t index);

/* All that there is to know of it: 0, or -1 where the row has no such feature. */
int adlro_feature(int observation, int row, uint32_t index, struct adlro_feature *ret, size_t size);

/* Functions that return int return 0, or a negative status with a text in error (which may be NULL). A create that
 * fails leaves *ret alone. */
int adlro_create(const struct adlro_config *config, struct adlro_environment **ret, char error[ADLRO_ERROR_SIZE]);
void adlro_destroy(struct adlro_environment *environment); /* accepts NULL */

void adlro_shape(const struct adlro_environment *environment, struct adlro_shape *ret, size_t size);

/* Plays episodes, oldest job first, to learn the spread of features that have no natural range. Until then these are
 * scaled by very wide ranges. */
int adlro_fit(struct adlro_environment *environment, uint64_t first_seed, uint32_t episodes,
              char error[ADLRO_ERROR_SIZE]);

/* Begins an episode and writes the first observation to the buffers. Equal seeds give equal jobs. */
int adlro_reset(struct adlro_environment *environment, uint32_t index, uint64_t seed,
                const struct adlro_buffers *buffers, char error[ADLRO_ERROR_SIZE]);

/* Acts, and advances to the next decision or the end of the episode. Environments that are done stay as they are and
 * get no more reward. An action that was not offered is an error that changes nothing in any environment. */
int adlro_step(struct adlro_environment *environment, const int32_t *actions, const struct adlro_buffers *buffers,
               char error[ADLRO_ERROR_SIZE]);
int adlro_step_one(struct adlro_environment *environment, uint32_t index, int32_t action,
                   const struct adlro_buffers *buffers, char error[ADLRO_ERROR_SIZE]);

/* For search: a copy of all environments, in the middle of their episodes. Equal actions then have equal outcomes in
 * both, and neither notices what is done to the other. */
int adlro_clone(const struct adlro_environment *environment, struct adlro_environment **ret,
                char error[ADLRO_ERROR_SIZE]);

/* Environment index becomes what environment from_index of a clone (or of the environment that this one was cloned
 * from, or of this one) is, and shows it in the buffers, with a reward of 0. from stays as it is. Memory is kept:
 * restoring again and again allocates nothing. After a failure for lack of memory, reset or restore it. */
int adlro_restore(struct adlro_environment *environment, uint32_t index, const struct adlro_environment *from,
                  uint32_t from_index, const struct adlro_buffers *buffers, char error[ADLRO_ERROR_SIZE]);

/* What would this policy (`adlro policies`) do here? *ret is the offered action that it would take, or -1 if it would
 * do what no action does (start another job, stop one). The environment stays as it is. The policy sees the state as it
 * is now, and plans as if it began now. The first question for a policy allocates, later ones do as the policy does. */
int adlro_policy_action(struct adlro_environment *environment, uint32_t index, const char *policy, int32_t *ret,
                        char error[ADLRO_ERROR_SIZE]);

/* The figures of an episode so far, as `adlro compare` computes them. */
void adlro_result(struct adlro_environment *environment, uint32_t index, struct adlro_result *ret, size_t size);

/* ---- the agents' axis ----
 *
 * Policy market (docs/market.md) as an environment of many agents: one for each node, or group of nodes. A job is
 * announced to a few of them. Each sees its own GPUs, its own queue and the announcement, and bids; the least bid gets
 * the job. A step is a parallel step: all agents that were asked act at once, each with one number, the logarithm of a
 * factor of its hand-written bid. Agents that were not asked do nothing.
 *
 * Rows are sparse: row r of a step belongs to agent agents[r], so that a step costs the same at any number of agents.
 * No agent has two rows. With actions of 0 the run is that of policy market without learning. */

/* Actions lie between plus and minus this. With the largest, an agent is as good as out of the auction. */
#define ADLRO_AGENTS_ACTION_MAX 20.0

struct adlro_agents;

/* Zeros are the defaults. */
struct adlro_agents_config {
    size_t size;          /* sizeof of this struct; 0 = the members up to settings */
    const char *scenario; /* path of the file, or the name of a shipped scenario */
    uint64_t jobs;        /* of an episode; 0 = as the scenario says */
    int oracle;           /* 1: run times are known exactly, for bounds */
    double load;          /* multiplies the arrival rate; 0 = 1 */
    double tail;          /* weight of long completion times in shared_reward; 0 = the reward of the ADLRO paper */
    const char *settings; /* lines of OPTION=VALUE of policy market (`adlro policies market`); NULL = none */
};

struct adlro_agents_shape {
    uint32_t agents;   /* in the cluster */
    uint32_t rows;     /* the most agents that are asked in one step */
    uint32_t features; /* of an observation */
};

/* Buffers of the caller. */
struct adlro_agents_buffers {
    size_t size;           /* sizeof of this struct; 0 = the members up to done */
    int32_t *row_count;    /* [1] agents that are asked now */
    int32_t *agents;       /* [rows] which ones */
    uint64_t *jobs;        /* [rows] the number of the job that each is asked for */
    float *observations;   /* [rows * features] about 0..1 */
    double *bid_s;         /* [rows] the hand-written bid, in seconds: what action 0 bids */
    uint8_t *won;          /* [rows] of the step before: 1 if that row's agent got the job in it; filled by step */
    double *rewards;       /* [agents] minus the completion times of the jobs that ended on the agent's nodes since the
                            * last step, in seconds; a gang's belongs to the agent of its first GPU. NULL: not wanted */
    double *shared_reward; /* [1] since the last step, as reward of struct adlro_buffers: shared by all agents */
    double *elapsed_s;     /* [1] since the last step */
    uint8_t *done;         /* [1] the episode has ended: reset it */
};

/* The name of a feature as in docs/environment.md; NULL: there is no such feature. */
const char *adlro_agents_feature_name(uint32_t index);

int adlro_agents_create(const struct adlro_agents_config *config, struct adlro_agents **ret,
                        char error[ADLRO_ERROR_SIZE]);
void adlro_agents_destroy(struct adlro_agents *agents); /* accepts NULL */

void adlro_agents_shape(const struct adlro_agents *agents, struct adlro_agents_shape *ret, size_t size);

/* Begins an episode and advances to the first announcement. Equal seeds give equal jobs. */
int adlro_agents_reset(struct adlro_agents *agents, uint64_t seed, const struct adlro_agents_buffers *buffers,
                       char error[ADLRO_ERROR_SIZE]);

/* Acts, one number for each row, and advances to the next announcement or the end of the episode. An action that is not
 * a number, or too large, is an error that changes nothing. */
int adlro_agents_step(struct adlro_agents *agents, const double *actions, const struct adlro_agents_buffers *buffers,
                      char error[ADLRO_ERROR_SIZE]);

/* For search and counterfactual rewards, as adlro_clone and adlro_restore. */
int adlro_agents_clone(const struct adlro_agents *agents, struct adlro_agents **ret, char error[ADLRO_ERROR_SIZE]);
int adlro_agents_restore(struct adlro_agents *agents, const struct adlro_agents *from,
                         const struct adlro_agents_buffers *buffers, char error[ADLRO_ERROR_SIZE]);

/* The figures of the episode so far, as `adlro compare` computes them. */
void adlro_agents_result(struct adlro_agents *agents, struct adlro_result *ret, size_t size);

#ifdef __cplusplus
}
#endif

#endif
