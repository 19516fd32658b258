#include "rl/experience.h"

#include "base/real.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Most of the luck that others had is taken off, not all: what remains tells how good states are, which replicas that
 * are in similar ones cannot tell each other. */
#define SHARED_LUCK 0.8

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
    free(experience->lessons);
    *experience = (struct adl_experience){0};
}

static int grow(struct adl_experience *e, size_t actions, size_t members)
{
    const size_t count = e->count + 1, rows = e->action_count + actions;
    return adl_grow((void **)&e->gpus, &e->gpus_capacity, count * e->gpu_size, sizeof *e->gpus) ||
                   adl_grow((void **)&e->state, &e->state_capacity, count * e->state_size, sizeof *e->state) ||
                   adl_grow((void **)&e->actions, &e->actions_capacity, rows * e->action_size, sizeof *e->actions) ||
                   adl_grow((void **)&e->member_offset, &e->offsets_capacity, rows + 1, sizeof *e->member_offset) ||
                   adl_grow((void **)&e->members, &e->members_capacity, e->member_count + members,
                            sizeof *e->members) ||
                   adl_grow((void **)&e->lessons, &e->lessons_capacity, count, sizeof *e->lessons)
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
    e->lessons[e->count] = (struct adl_transition){.next = ADL_NONE,
                                                   .action_first = (uint32_t)e->action_count,
                                                   .action_count = (uint16_t)actions,
                                                   .action = (uint16_t)action};
    e->action_count += actions;
    e->member_count += members;
    *ret_at = (uint32_t)e->count++;
    return 0;
}

void adl_experience_settle(struct adl_experience *e, double horizon_s, double trace)
{
    /* A decision's successor was added after it: backwards, it is always done already. */
    for (size_t i = e->count; i-- > 0;) {
        struct adl_transition *lesson = &e->lessons[i];
        const double fade = adl_exp(-lesson->elapsed_s / horizon_s);
        /* The reward fell evenly over the time: its own fading is the mean of exp over it. */
        const double evenly = lesson->elapsed_s > 0 ? (1.0 - fade) * horizon_s / lesson->elapsed_s : 1.0;
        lesson->worth = lesson->reward * evenly;
        if (lesson->next != ADL_NONE) {
            const struct adl_transition *next = &e->lessons[lesson->next];
            lesson->worth += fade * ((1.0 - trace) * next->value + trace * next->worth);
        }
        lesson->luck = lesson->worth - lesson->value;
    }
}

/* The last decision of each replica, in the order of time, up to the time of the one at hand. */
struct cursors {
    uint32_t at[ADL_REPLICAS_MAX];
};

static void advance(const struct adl_experience *e, struct cursors *cursors, uint32_t replica, double time_s)
{
    uint32_t *at = &cursors->at[replica];
    while (e->lessons[*at].next != ADL_NONE && e->lessons[e->lessons[*at].next].time_s <= time_s)
        *at = e->lessons[*at].next;
}

/* Each replica's first decision; ADL_NONE where there is none. */
static void find_first(const struct adl_experience *e, uint32_t replicas, struct cursors *ret)
{
    for (uint32_t r = 0; r < replicas; r++)
        ret->at[r] = ADL_NONE;
    for (size_t i = e->count; i-- > 0;)
        ret->at[e->lessons[i].replica] = (uint32_t)i;
}

void adl_experience_share_luck(struct adl_experience *e, uint32_t replicas)
{
    struct cursors first;
    assert(replicas <= ADL_REPLICAS_MAX);
    find_first(e, replicas, &first);
    for (uint32_t r = 0; r < replicas; r++) {
        struct cursors cursors = first;
        for (uint32_t i = first.at[r]; i != ADL_NONE; i = e->lessons[i].next) {
            double luck = 0, others = 0;
            for (uint32_t o = 0; o < replicas; o++) {
                if (o == r || first.at[o] == ADL_NONE)
                    continue;
                advance(e, &cursors, o, e->lessons[i].time_s);
                luck += e->lessons[cursors.at[o]].luck;
                others++;
            }
            if (others > 0)
                e->lessons[i].worth -= SHARED_LUCK * luck / others;
        }
    }
}
