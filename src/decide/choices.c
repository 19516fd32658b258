#include "decide/choices.h"

#include <stdlib.h>

int adl_choices_create(const struct adl_cluster *cluster, bool share, struct adl_choices **ret)
{
    struct adl_choices *choices = calloc(1, sizeof *choices);
    if (!choices)
        return ADL_ENOMEM;
    choices->share = share;
    /* Room for every choice to be a gang of middling size; what finds no room is not offered. */
    choices->gpu_capacity = cluster->gpu_count + ADL_CHOICES_MAX * 16;
    choices->gpus = malloc(choices->gpu_capacity * sizeof *choices->gpus);
    if (!choices->gpus || adl_forecast_create(cluster, 1, &choices->forecast)) {
        adl_choices_destroy(choices);
        return ADL_ENOMEM;
    }
    *ret = choices;
    return 0;
}

void adl_choices_destroy(struct adl_choices *choices)
{
    if (!choices)
        return;
    adl_forecast_destroy(choices->forecast);
    free(choices->gpus);
    free(choices);
}

static void add(struct adl_choices *choices, const struct adl_state *state, uint32_t slot, uint32_t type, bool shared)
{
    const uint16_t gpus = state->jobs[slot].spec.gpus;
    choices->list[choices->count++] = (struct adl_choice){slot, choices->gpu_count, gpus, (uint16_t)type, shared};
    choices->gpu_count += gpus;
}

/* Offers a job on each type where it fits beside the promise. */
static void offer(struct adl_choices *choices, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    const bool held = choices->promised && slot != choices->head;
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        if (choices->count == ADL_CHOICES_MAX || choices->gpu_count + job->spec.gpus > choices->gpu_capacity)
            return;
        const struct adl_hold hold = {&choices->promise, held,
                                      state->now_us + adl_state_remaining_us(state, slot, type)};
        uint32_t *gpus = &choices->gpus[choices->gpu_count];
        if (state->pool.free_gpus[type] >= job->spec.gpus && adl_fit_find(state, slot, type, &hold, gpus))
            add(choices, state, slot, type, false);
        else if (choices->share && adl_fit_share(state, slot, type, &hold, gpus))
            add(choices, state, slot, type, true);
    }
}

static void promise_head(struct adl_choices *choices, const struct adl_state *state)
{
    adl_forecast_clear(choices->forecast);
    choices->promised = adl_forecast_promise(choices->forecast, state, choices->head);
    uint32_t count;
    if (choices->promised)
        choices->promise = *adl_forecast_reservations(choices->forecast, &count);
}

static uint32_t shortest_of(const struct adl_state *state, uint32_t lane)
{
    const struct adl_order *jobs = &state->queue.lanes[lane].jobs;
    return adl_order_next_light(state->nodes, jobs, ADL_NONE, state->nodes[jobs->root].least);
}

static bool something_free(const struct adl_choices *choices, const struct adl_state *state)
{
    bool some = choices->share;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        some |= state->pool.free_gpus[t] > 0;
    return some;
}

void adl_choices_find(struct adl_choices *choices, const struct adl_state *state)
{
    const struct adl_queue *queue = &state->queue;
    choices->count = choices->gpu_count = 0;
    choices->promised = false;
    choices->head = adl_queue_head(queue);
    if (choices->head == ADL_NONE || !something_free(choices, state))
        return;
    if (state->now_us - state->jobs[choices->head].submit_us >= choices->patience_us)
        promise_head(choices, state);
    offer(choices, state, choices->head);
    uint32_t lanes = 0;
    adl_walk_begin(queue);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE && lanes < ADL_CHOICE_LANES; adl_walk_leave(queue)) {
        if (!choices->share && !adl_fit_room(state, slot))
            continue;
        lanes++;
        const uint32_t shortest = shortest_of(state, state->jobs[slot].lane);
        if (slot != choices->head)
            offer(choices, state, slot);
        if (shortest != slot)
            offer(choices, state, shortest);
    }
}

void adl_choices_keep_first_job(struct adl_choices *choices)
{
    uint32_t kept = 0;
    for (uint32_t c = 0; c < choices->count; c++)
        if (choices->list[c].job == choices->list[0].job)
            choices->list[kept++] = choices->list[c];
    choices->count = kept;
}
