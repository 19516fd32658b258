/* experience: decisions of which several actions were played to the end, as training needs them: the observation, and
 * for each action that was tried how much better it was than the agent's own choice. */
#ifndef ADLRO_RL_EXPERIENCE_H
#define ADLRO_RL_EXPERIENCE_H

#include "base/error.h"
#include "base/index.h"
#include <adlro/adlro.h>

#include <stddef.h>

/* One decision of which actions were tried; its observation is in the rows of struct adl_experience. */
struct adl_tried_decision {
    uint32_t action_first; /* the actions offered: rows of actions, of targets and of member_offset */
    uint16_t action_count;
    uint16_t greedy; /* the agent's choice, which the others are compared with */
};

struct adl_experience {
    size_t gpu_size, state_size, action_size; /* numbers in a row */
    size_t count;
    float *gpus;             /* [count][gpu_size] all GPUs */
    float *state;            /* [count][state_size] */
    float *actions;          /* [action_count][action_size] */
    float *targets;          /* [action_count] the network's value of this action less that of the greedy one; NAN = not
                              * tried */
    uint32_t *member_offset; /* [action_count + 1] */
    int32_t *members;
    struct adl_tried_decision *decisions;
    size_t gpus_capacity, state_capacity, actions_capacity, targets_capacity, offsets_capacity, members_capacity,
        decisions_capacity;
    size_t action_count, member_count;
};

void adl_experience_init(struct adl_experience *ret, const struct adlro_shape *shape);
void adl_experience_clear(struct adl_experience *experience); /* frees; accepts a zeroed one */
static inline void adl_experience_reset(struct adl_experience *experience)
{
    experience->count = experience->action_count = experience->member_count = 0;
}

/* Adds the observation of environment `index` and the greedy action there; no action has a target yet. *ret_targets:
 * those of its actions, until the next is added. 0 or ADL_ENOMEM. */
int adl_experience_add(struct adl_experience *experience, const struct adlro_shape *shape,
                       const struct adlro_buffers *buffers, uint32_t index, int32_t greedy, float **ret_targets);

#endif
