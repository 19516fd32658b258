/* experience: what happened in some episodes, decision by decision, as training wants it: what was seen, which action
 * was taken, and what it turned out to be worth. */
#ifndef ADLRO_RL_EXPERIENCE_H
#define ADLRO_RL_EXPERIENCE_H

#include "base/error.h"
#include "base/index.h"
#include <adlro/adlro.h>

#include <stddef.h>

#define ADL_REPLICAS_MAX 64

/* One decision; what was seen is in the rows of struct adl_experience. */
struct adl_transition {
    double reward;         /* for the time until the next decision of the episode, or its end */
    double elapsed_s;      /* that time */
    double value;          /* of the action that the policy would take here, as far as known when it was taken */
    double worth;          /* what this action turned out to be worth; set by adl_experience_settle */
    double luck;           /* how much more that was than expected; likewise */
    double time_s;         /* when, since the episode began */
    uint32_t next;         /* the next decision of the episode, or ADL_NONE */
    uint32_t action_first; /* all that was offered: rows of actions and of member_offset */
    uint16_t action_count;
    uint16_t action;  /* the one taken */
    uint16_t replica; /* which of the episodes played side by side */
};

struct adl_experience {
    size_t gpu_size, state_size, action_size; /* numbers in a row */
    size_t count;
    float *gpus;             /* [count][gpu_size] all GPUs */
    float *state;            /* [count][state_size] */
    float *actions;          /* [action_count][action_size] */
    uint32_t *member_offset; /* [action_count + 1] */
    int32_t *members;
    struct adl_transition *lessons;
    size_t gpus_capacity, state_capacity, actions_capacity, offsets_capacity, members_capacity, lessons_capacity;
    size_t action_count, member_count;
};

void adl_experience_init(struct adl_experience *ret, const struct adlro_shape *shape);
void adl_experience_clear(struct adl_experience *experience); /* frees; accepts a zeroed one */
static inline void adl_experience_forget(struct adl_experience *experience)
{
    experience->count = experience->action_count = experience->member_count = 0;
}

/* Adds what environment `index` shows, and the action taken there; *ret_at is its place. 0 or ADL_ENOMEM. */
int adl_experience_add(struct adl_experience *experience, const struct adlro_shape *shape,
                       const struct adlro_buffers *buffers, uint32_t index, int32_t action, uint32_t *ret_at);

/* Works out what each action was worth: rewards until a decision, then in part what followed and in part what the
 * policy expected to follow (Q(lambda), Peng and Williams 1996). What followed counts after explored actions as well:
 * one start among several matters little, and where half of them are explored there would be next to nothing left.
 * Rewards fade with time as exp(-t / horizon_s). */
void adl_experience_settle(struct adl_experience *experience, double horizon_s, double trace);

/* Where all episodes played side by side met the same jobs: takes off each worth the luck that the others had from the
 * same time on. What is left tells actions apart better, because jobs that come are the most of it, and stays right on
 * average, because the others' luck does not depend on this action (Mao et al. 2019, "Variance reduction for
 * reinforcement learning in input-driven environments"). */
void adl_experience_share_luck(struct adl_experience *experience, uint32_t replicas);

#endif
