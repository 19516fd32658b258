#include "rl/experience.h"

#include "base/real.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The share of the other replicas' advantage that is subtracted. Not all of it: what remains tells how good states are,
 * which replicas in similar states cannot tell each other. */
#define SHARED_ADVANTAGE 0.8

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
    free(experience->member_offset);
    free(experience->members);
    free(experience->transitions);
    *experience = (struct adl_experience){0};
}

/* One more than needed of what there may be nothing of: no array is NULL. */
static int grow(struct adl_experience *e, size_t actions, size_t members)
{
    const size_t count = e->count + 1, rows = e->action_count + actions;
    return adl_grow((void **)&e->gpus, &e->gpus_capacity, count * e->gpu_size + 1, sizeof *e->gpus) ||
                   adl_grow((void **)&e->state, &e->state_capacity, count * e->state_size, sizeof *e->state) ||
                   adl_grow((void **)&e->actions, &e->actions_capacity, rows * e->action_size, sizeof *e->actions) ||
                   adl_grow((void **)&e->member_offset, &e->offsets_capacity, rows + 1, sizeof *e->member_offset) ||
                   adl_grow((void **)&e->members, &e->members_capacity, e->member_count + members + 1,
                            sizeof *e->members) ||
                   adl_grow((void **)&e->transitions, &e->transitions_capacity, count, sizeof *e->transitions)
               ? ADL_ENOMEM
               : 0;
}

int adl_experience_add(struct adl_experience *e, const struct adlro_shape *shape, const struct adlro_buffers *buffers,
                       uint32_t index, int32_t action, uint32_t *ret_at)
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
    e->transitions[e->count] = (struct adl_transition){.next = ADL_NONE,
                                                       .action_first = (uint32_t)e->action_count,
                                                       .action_count = (uint16_t)actions,
                                                       .action = (uint16_t)action};
    e->action_count += actions;
    e->member_count += members;
    *ret_at = (uint32_t)e->count++;
    return 0;
}

void adl_experience_set_targets(struct adl_experience *e, double horizon_s, double trace)
{
    /* A decision's successor was added after it, so that a backward pass finds it done. */
    for (size_t i = e->count; i-- > 0;) {
        struct adl_transition *transition = &e->transitions[i];
        const double discount = adl_exp(-transition->elapsed_s / horizon_s);
        /* The reward is spread evenly over the time: its discount is the mean of exp over that time. */
        const double mean_discount =
            transition->elapsed_s > 0 ? (1.0 - discount) * horizon_s / transition->elapsed_s : 1.0;
        transition->return_target = transition->reward * mean_discount;
        if (transition->next != ADL_NONE) {
            const struct adl_transition *next = &e->transitions[transition->next];
            transition->return_target += discount * ((1.0 - trace) * next->value + trace * next->return_target);
        }
        transition->advantage = transition->return_target - transition->value;
    }
}

/* The last decision of each replica at or before the time of the current one. */
struct cursors {
    uint32_t at[ADL_REPLICAS_MAX];
};

static void advance(const struct adl_experience *e, struct cursors *cursors, uint32_t replica, double time_s)
{
    uint32_t *at = &cursors->at[replica];
    while (e->transitions[*at].next != ADL_NONE && e->transitions[e->transitions[*at].next].time_s <= time_s)
        *at = e->transitions[*at].next;
}

/* Each replica's first decision; ADL_NONE if it has none. */
static void find_first(const struct adl_experience *e, uint32_t replicas, struct cursors *ret)
{
    for (uint32_t r = 0; r < replicas; r++)
        ret->at[r] = ADL_NONE;
    for (size_t i = e->count; i-- > 0;)
        ret->at[e->transitions[i].replica] = (uint32_t)i;
}

void adl_experience_subtract_baseline(struct adl_experience *e, uint32_t replicas)
{
    struct cursors first;
    assert(replicas <= ADL_REPLICAS_MAX);
    find_first(e, replicas, &first);
    for (uint32_t r = 0; r < replicas; r++) {
        struct cursors cursors = first;
        for (uint32_t i = first.at[r]; i != ADL_NONE; i = e->transitions[i].next) {
            double advantage = 0, others = 0;
            for (uint32_t o = 0; o < replicas; o++) {
                if (o == r || first.at[o] == ADL_NONE)
                    continue;
                advance(e, &cursors, o, e->transitions[i].time_s);
                advantage += e->transitions[cursors.at[o]].advantage;
                others++;
            }
            if (others > 0)
                e->transitions[i].return_target -= SHARED_ADVANTAGE * advantage / others;
        }
    }
}

void adl_experience_set_scale(struct adl_experience *experience)
{
    const double count = experience->count ? (double)experience->count : 1;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < experience->count; i++)
        sum += experience->transitions[i].return_target;
    for (size_t i = 0; i < experience->count; i++) {
        const double off = experience->transitions[i].return_target - sum / count;
        squares += off * off;
    }
    experience->value_offset = sum / count;
    experience->value_scale = squares > 0 ? sqrt(squares / count) : 1;
}
