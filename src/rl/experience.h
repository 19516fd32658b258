/* experience: the transitions of some episodes as training needs them: the observation, the action taken, and its
 * return target. */
#ifndef ADLRO_RL_EXPERIENCE_H
#define ADLRO_RL_EXPERIENCE_H

#include "base/error.h"
#include "base/index.h"
#include <adlro/adlro.h>

#include <stddef.h>

#define ADL_REPLICAS_MAX 64

/* One decision; its observation is in the rows of struct adl_experience. */
struct adl_transition {
    double reward;         /* until the next decision of the episode, or its end */
    double elapsed_s;      /* that time */
    double value;          /* estimate of the greedy action's value when this one was taken */
    double return_target;  /* of this action; set by adl_experience_set_targets */
    double advantage;      /* return target minus value; likewise */
    double time_s;         /* when, since the episode began */
    uint32_t next;         /* the next decision of the episode, or ADL_NONE */
    uint32_t action_first; /* the actions offered: rows of actions and of member_offset */
    uint16_t action_count;
    uint16_t action;  /* the one taken */
    uint16_t replica; /* which of the parallel episodes */
};

struct adl_experience {
    size_t gpu_size, state_size, action_size; /* numbers in a row */
    size_t count;
    float *gpus;             /* [count][gpu_size] all GPUs */
    float *state;            /* [count][state_size] */
    float *actions;          /* [action_count][action_size] */
    uint32_t *member_offset; /* [action_count + 1] */
    int32_t *members;
    struct adl_transition *transitions;
    size_t gpus_capacity, state_capacity, actions_capacity, offsets_capacity, members_capacity, transitions_capacity;
    size_t action_count, member_count;
    double value_offset, value_scale; /* a network's output times scale plus offset is a value; scale 0 = not yet set */
};

void adl_experience_init(struct adl_experience *ret, const struct adlro_shape *shape);
void adl_experience_clear(struct adl_experience *experience); /* frees; accepts a zeroed one */
static inline void adl_experience_reset(struct adl_experience *experience)
{
    experience->count = experience->action_count = experience->member_count = 0;
}

/* Adds the observation of environment `index` and the action taken there; *ret_at is its index. 0 or ADL_ENOMEM. */
int adl_experience_add(struct adl_experience *experience, const struct adlro_shape *shape,
                       const struct adlro_buffers *buffers, uint32_t index, int32_t action, uint32_t *ret_at);

/* Sets the return targets: the lambda-return of Q(lambda) (Peng and Williams 1996). Traces are not cut at explored
 * actions: one start among several matters little, and with half of the actions explored hardly any trace would be
 * left. Rewards are discounted by exp(-t / horizon_s). */
void adl_experience_set_targets(struct adl_experience *experience, double horizon_s, double trace);

/* Sets offset and scale so that these return targets correspond to outputs of about unit size. */
void adl_experience_set_scale(struct adl_experience *experience);

/* For parallel episodes with the same jobs: subtracts from each return target the advantage that the others had from
 * the same time on. This input-dependent baseline reduces variance, most of which comes from the arriving jobs, and
 * adds no bias, because the others' advantage does not depend on this action (Mao et al. 2019, "Variance reduction for
 * reinforcement learning in input-driven environments"). */
void adl_experience_subtract_baseline(struct adl_experience *experience, uint32_t replicas);

#endif
