#include "rl/experience.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void adl_experience_init(struct adl_experience *ret, const struct adlro_shape *shape)
{
    *ret = (struct adl_experience){.gpu_size = (size_t)shape->gpus * shape->gpu_features,
                                   .state_size = shape->state_features,
                                   .action_size = shape->action_features};
}

void adl_experience_clear(struct adl_experience *experience)
{
    free(experience->gpus);
    free(experience->state);
    free(experience->actions);
    free(experience->targets);
    free(experience->member_offset);
    free(experience->members);
    free(experience->decisions);
    *experience = (struct adl_experience){0};
}

/* One more than needed of what there may be nothing of: no array is NULL. */
static int grow(struct adl_experience *e, size_t actions, size_t members)
{
    const size_t count = e->count + 1, rows = e->action_count + actions;
    return adl_grow((void **)&e->gpus, &e->gpus_capacity, count * e->gpu_size + 1, sizeof *e->gpus) ||
                   adl_grow((void **)&e->state, &e->state_capacity, count * e->state_size, sizeof *e->state) ||
                   adl_grow((void **)&e->actions, &e->actions_capacity, rows * e->action_size, sizeof *e->actions) ||
                   adl_grow((void **)&e->targets, &e->targets_capacity, rows, sizeof *e->targets) ||
                   adl_grow((void **)&e->member_offset, &e->offsets_capacity, rows + 1, sizeof *e->member_offset) ||
                   adl_grow((void **)&e->members, &e->members_capacity, e->member_count + members + 1,
                            sizeof *e->members) ||
                   adl_grow((void **)&e->decisions, &e->decisions_capacity, count, sizeof *e->decisions)
               ? ADL_ENOMEM
               : 0;
}

int adl_experience_add(struct adl_experience *e, const struct adlro_shape *shape, const struct adlro_buffers *buffers,
                       uint32_t index, int32_t greedy, float **ret_targets)
{
    const int32_t *offset = &buffers->member_offset[(size_t)index * (shape->actions + 1)];
    const size_t actions = (size_t)buffers->action_count[index], members = (size_t)offset[actions];
    if (grow(e, actions, members))
        return ADL_ENOMEM;
    memcpy(&e->gpus[e->count * e->gpu_size], &buffers->gpus[index * e->gpu_size], e->gpu_size * sizeof *e->gpus);
    memcpy(&e->state[e->count * e->state_size], &buffers->state[index * e->state_size],
           e->state_size * sizeof *e->state);
    memcpy(&e->actions[e->action_count * e->action_size],
           &buffers->actions[(size_t)index * shape->actions * shape->action_features],
           actions * e->action_size * sizeof *e->actions);
    memcpy(&e->members[e->member_count], &buffers->members[(size_t)index * shape->members],
           members * sizeof *e->members);
    for (size_t a = 0; a <= actions; a++)
        e->member_offset[e->action_count + a] = (uint32_t)(e->member_count + (size_t)offset[a]);
    for (size_t a = 0; a < actions; a++)
        e->targets[e->action_count + a] = NAN;
    *ret_targets = &e->targets[e->action_count];
    e->decisions[e->count++] = (struct adl_tried_decision){
        .action_first = (uint32_t)e->action_count, .action_count = (uint16_t)actions, .greedy = (uint16_t)greedy};
    e->action_count += actions;
    e->member_count += members;
    return 0;
}
