#include "policy/dqn/plain_actions.h"

/* A start that may be listed. */
struct start {
    int64_t work_us; /* predicted GPU time on its best type */
    uint32_t slot;
    uint32_t gpu_offset;
    uint16_t type;
    bool shared;
};

/* Those with the least work, in order. */
struct starts {
    struct start list[ADL_ACTION_STARTS];
    uint32_t count;
    uint32_t most_free; /* GPUs of the type that has most */
};

static bool before(const struct adl_state *state, const struct start *a, const struct start *b)
{
    if (a->work_us != b->work_us)
        return a->work_us < b->work_us;
    if (a->slot != b->slot)
        return state->nodes[a->slot].sequence < state->nodes[b->slot].sequence;
    return a->type < b->type;
}

static void insert(struct starts *starts, const struct adl_state *state, const struct start *start)
{
    uint32_t at = starts->count;
    if (at == ADL_ACTION_STARTS && !before(state, start, &starts->list[at - 1]))
        return;
    at -= at == ADL_ACTION_STARTS;
    starts->count = at + 1;
    for (; at > 0 && before(state, start, &starts->list[at - 1]); at--)
        starts->list[at] = starts->list[at - 1];
    starts->list[at] = *start;
}

static struct start make_start(const struct adl_state *state, uint32_t slot, uint32_t type, uint32_t gpu_offset,
                               bool shared)
{
    return (struct start){.work_us = state->nodes[slot].weight * state->jobs[slot].spec.gpus,
                          .slot = slot,
                          .gpu_offset = gpu_offset,
                          .type = (uint16_t)type,
                          .shared = shared};
}

enum place { PLACE_NONE, PLACE_FREE, PLACE_SHARED };

/* Writes GPUs of a type for a job behind those that are used. */
static enum place find_place(const struct adl_actions *actions, const struct adl_state *state, uint32_t slot,
                             uint32_t type)
{
    const uint32_t gpus = state->jobs[slot].spec.gpus;
    const struct adl_hold hold = {&actions->reservation, actions->has_reservation,
                                  state->now_us + adl_state_remaining_us(state, slot, type)};
    if (actions->gpu_count + gpus > actions->gpu_capacity)
        return PLACE_NONE;
    uint32_t *room = &actions->gpus[actions->gpu_count];
    if (state->pool.free_gpus[type] >= gpus && adl_fit_find(state, slot, type, &hold, room))
        return PLACE_FREE;
    return actions->share && adl_fit_share(state, slot, type, &hold, room) ? PLACE_SHARED : PLACE_NONE;
}

/* Where a job fits, one more may fit, too: another of its lane, which asks for the same. */
static void add_starts(struct adl_actions *actions, const struct adl_state *state, uint32_t slot, uint32_t other,
                       struct starts *starts)
{
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        const enum place place = find_place(actions, state, slot, type);
        const uint32_t offset = actions->gpu_count;
        if (place == PLACE_NONE)
            continue;
        const struct start one = make_start(state, slot, type, offset, place == PLACE_SHARED);
        actions->gpu_count += state->jobs[slot].spec.gpus;
        insert(starts, state, &one);
        if (other == ADL_NONE)
            continue;
        const struct start two = make_start(state, other, type, offset, place == PLACE_SHARED);
        insert(starts, state, &two);
    }
}

/* With a reservation a shorter job may fit where the oldest of the lane does not. */
static void add_lane(struct adl_actions *actions, const struct adl_state *state, const struct adl_lane *lane,
                     struct starts *starts)
{
    const uint32_t oldest = lane->jobs.first;
    if (!actions->share && (lane->shape.gpus > starts->most_free || !adl_fit_room(state, oldest)))
        return;
    uint32_t shortest = adl_order_next_light(state->nodes, &lane->jobs, ADL_NONE, state->nodes[lane->jobs.root].least);
    shortest = shortest == oldest ? ADL_NONE : shortest;
    if (!actions->has_reservation) {
        add_starts(actions, state, oldest, shortest, starts);
        return;
    }
    if (oldest != actions->overdue)
        add_starts(actions, state, oldest, ADL_NONE, starts);
    if (shortest != ADL_NONE && shortest != actions->overdue)
        add_starts(actions, state, shortest, ADL_NONE, starts);
}

/* All lanes or, if there are many, those with the oldest jobs. */
static void add_lanes(struct adl_actions *actions, const struct adl_state *state, struct starts *starts)
{
    const struct adl_queue *queue = &state->queue;
    if (queue->heap_count <= ADL_ACTION_LANES) {
        for (uint32_t i = 0; i < queue->heap_count; i++)
            add_lane(actions, state, &queue->lanes[queue->heap[i]], starts);
        return;
    }
    uint32_t lanes = 0;
    adl_walk_begin(queue);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE && lanes < ADL_ACTION_LANES; adl_walk_leave(queue)) {
        add_lane(actions, state, &queue->lanes[state->jobs[slot].lane], starts);
        lanes += actions->share || adl_fit_room(state, slot);
    }
}

static void list(struct adl_actions *actions, const struct adl_state *state, const struct starts *starts)
{
    for (uint32_t i = 0; i < starts->count; i++) {
        const struct start *it = &starts->list[i];
        actions->list[i] = (struct adl_action){.job = it->slot,
                                               .gpu_offset = it->gpu_offset,
                                               .gpu_count = state->jobs[it->slot].spec.gpus,
                                               .type = it->type,
                                               .shared = it->shared,
                                               .rest_us = (double)adl_state_remaining_us(state, it->slot, it->type),
                                               .best_us = (double)state->nodes[it->slot].weight};
    }
    actions->count = starts->count;
}

static void list_wait(struct adl_actions *actions)
{
    struct adl_action *wait = &actions->list[actions->count];
    *wait = actions->list[actions->count - 1];
    wait->waits = true;
    wait->gpu_offset = actions->gpu_count;
    wait->gpu_count = 0;
    actions->count++;
}

void adl_plain_actions_find(struct adl_actions *actions, const struct adl_state *state, double typical_us)
{
    struct starts starts;
    starts.count = starts.most_free = 0;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        if (state->pool.free_gpus[t] > starts.most_free)
            starts.most_free = state->pool.free_gpus[t];
    actions->count = actions->gpu_count = 0;
    actions->has_reservation = false;
    actions->overdue = actions->reserved = ADL_NONE;
    actions->head = adl_queue_head(&state->queue);
    if (actions->head == ADL_NONE || actions->outlook.failed || !adl_actions_possible(actions, state))
        return;
    actions->typical_us = typical_us;
    actions->overdue = actions->reserved = adl_actions_overdue(actions, state);
    if (actions->overdue != ADL_NONE) {
        add_starts(actions, state, actions->overdue, ADL_NONE, &starts);
        list(actions, state, &starts);
        if (actions->count > 0)
            return; /* other starts could delay it */
        adl_actions_reserve(actions, state);
    }
    add_lanes(actions, state, &starts);
    list(actions, state, &starts);
    if (actions->count > 0 && state->busy_gpus > 0)
        list_wait(actions);
}
