/* adlro: scheduling on a simulated GPU cluster as an environment for agents: reset(seed), step(action).
 *
 * The caller owns every buffer; after create nothing is allocated. An environment here is a vector of several, each
 * with its own clock: step moves all of them, step_one one of them. Different environments may be used by different
 * threads at a time; one environment by one thread.
 *
 * A decision: GPUs are free and jobs wait that fit. An action starts one job on one type of GPU. No job starves: the
 * oldest job holds a promise, and starts that would delay it are not offered. Moments at which there is but one thing
 * to do are passed through without asking.
 *
 *     struct adlro_config config = {.scenario = "scenarios/paper16.yaml", .count = 8};
 *     struct adlro_environment *env;
 *     char error[ADLRO_ERROR_SIZE];
 *     if (adlro_create(&config, &env, error)) ...
 */
#ifndef ADLRO_ADLRO_H
#define ADLRO_ADLRO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ADLRO_ERROR_SIZE 400

struct adlro_environment;

enum adlro_observation {
    ADLRO_OBSERVATION_ALL,   /* every feature of the schema */
    ADLRO_OBSERVATION_PAPER, /* what the first source's network sees; the job at hand is the oldest that fits */
};

/* Zeros are the defaults. */
struct adlro_config {
    const char *scenario; /* path of the file */
    uint32_t count;       /* environments side by side; 0 = 1 */
    uint64_t jobs;        /* of an episode; 0 = as the scenario says */
    int observation;      /* enum adlro_observation */
    int oracle;           /* 1: run times are known exactly, for bounds */
    double load;          /* multiplies the rate of arrivals; 0 = 1 */
    double tail;          /* weight of long completion times in the reward; 0 = the first source's reward */
};

struct adlro_shape {
    uint32_t count;
    uint32_t gpus, gpu_features;
    uint32_t state_features;
    uint32_t actions, action_features; /* at most so many actions */
    uint32_t members;                  /* GPUs of all actions of one decision, at most */
};

/* Buffers of the caller. Those of environment i begin at i times the size in brackets. */
struct adlro_buffers {
    float *gpus;            /* [gpus * gpu_features] each 0..1, or -1 where a value is missing */
    float *state;           /* [state_features] */
    float *actions;         /* [actions * action_features] */
    uint8_t *mask;          /* [actions] 1: may be chosen; the first action_count are */
    int32_t *action_count;  /* [1] */
    int32_t *member_offset; /* [actions + 1] GPUs of action a: members[member_offset[a]] .. */
    int32_t *members;       /* [members] */
    double *reward;         /* [1] for the time since the last decision, minus seconds */
    double *elapsed_s;      /* [1] that time */
    uint8_t *done;          /* [1] the episode has ended: reset it */
};

struct adlro_result {
    uint64_t jobs;
    double jct_mean_s, jct_p99_s, throughput_jobs_per_h, gpu_utilization, makespan_s, reward;
};

/* All are 0, or negative with a text in error (which may be NULL); a failed create leaves *ret alone. */
int adlro_create(const struct adlro_config *config, struct adlro_environment **ret, char error[ADLRO_ERROR_SIZE]);
void adlro_destroy(struct adlro_environment *environment); /* accepts NULL */

void adlro_shape(const struct adlro_environment *environment, struct adlro_shape *ret);

/* Plays episodes, oldest job first, to learn the spread of features that have no natural range. Without it they are
 * scaled by very wide ranges. */
int adlro_fit(struct adlro_environment *environment, uint64_t first_seed, uint32_t episodes,
              char error[ADLRO_ERROR_SIZE]);

/* Begins an episode; equal seeds give equal jobs. Observations go to the buffers. */
int adlro_reset(struct adlro_environment *environment, uint32_t index, uint64_t seed,
                const struct adlro_buffers *buffers, char error[ADLRO_ERROR_SIZE]);

/* Acts and goes on to the next decision or the end. Environments that are done are left alone and get no more reward.
 * An action that is not offered is an error and changes nothing, in no environment. */
int adlro_step(struct adlro_environment *environment, const int32_t *actions, const struct adlro_buffers *buffers,
               char error[ADLRO_ERROR_SIZE]);
int adlro_step_one(struct adlro_environment *environment, uint32_t index, int32_t action,
                   const struct adlro_buffers *buffers, char error[ADLRO_ERROR_SIZE]);

/* The figures of an episode so far, as `adlro compare` computes them. */
void adlro_result(struct adlro_environment *environment, uint32_t index, struct adlro_result *ret);

#ifdef __cplusplus
}
#endif

#endif
