#include "policy/dqn/actions.h"

#include "base/copy.h"
#include "policy/mechanism/preemption_victims.h"

#include <stdlib.h>
#include <string.h>

/* Others are preempted for the oldest job once it has waited this many times the cost of stopping and resuming one. */
#define PREEMPT_AFTER_COSTS 20

int adl_actions_create(const struct adl_cluster *cluster, bool share, int64_t preemption_us, struct adl_actions **ret)
{
    struct adl_actions *actions = calloc(1, sizeof *actions);
    if (!actions)
        return ADL_ENOMEM;
    actions->share = share;
    actions->preempt_after_us = PREEMPT_AFTER_COSTS * preemption_us;
    actions->reserved_job = ADL_NONE;
    /* Room for every action to be a gang of medium size; actions beyond it are not listed. */
    actions->gpu_capacity = cluster->gpu_count + ADL_ACTIONS_MAX * 16;
    actions->gpus = malloc(actions->gpu_capacity * sizeof *actions->gpus);
    actions->reserved_gpus = malloc((cluster->gpu_count + 1) * sizeof *actions->reserved_gpus);
    actions->victims = malloc((cluster->gpu_count + 1) * sizeof *actions->victims);
    if (!actions->gpus || !actions->reserved_gpus || !actions->victims ||
        adl_forecast_create(cluster, 1, &actions->forecast)) {
        adl_actions_destroy(actions);
        return ADL_ENOMEM;
    }
    *ret = actions;
    return 0;
}

void adl_actions_destroy(struct adl_actions *actions)
{
    if (!actions)
        return;
    adl_forecast_destroy(actions->forecast);
    free(actions->gpus);
    free(actions->reserved_gpus);
    free(actions->victims);
    free(actions);
}

void adl_actions_copy(struct adl_actions *to, const struct adl_actions *from)
{
    const struct adl_actions own = *to;
    *to = *from;
    to->forecast = own.forecast;
    to->victims = own.victims; /* of one decision */
    adl_forecast_copy(to->forecast, from->forecast);
    ADL_COPY_ARRAY(to, own, from, gpus, from->gpu_count);
    ADL_COPY_ARRAY(to, own, from, reserved_gpus, from->reserved_count);
}

static void add(struct adl_actions *actions, const struct adl_state *state, uint32_t slot, uint32_t type, bool shared)
{
    const uint16_t gpus = state->jobs[slot].spec.gpus;
    actions->list[actions->count++] = (struct adl_action){
        .job = slot, .gpu_offset = actions->gpu_count, .gpu_count = gpus, .type = (uint16_t)type, .shared = shared};
    actions->gpu_count += gpus;
}

/* Lists the starts of a job, on each type where it fits without delaying the reservation. */
static void add_starts(struct adl_actions *actions, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    const bool held = actions->has_reservation && slot != actions->head;
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        if (actions->count == ADL_ACTIONS_MAX || actions->gpu_count + job->spec.gpus > actions->gpu_capacity)
            return;
        const struct adl_hold hold = {&actions->reservation, held,
                                      state->now_us + adl_state_remaining_us(state, slot, type)};
        uint32_t *gpus = &actions->gpus[actions->gpu_count];
        if (state->pool.free_gpus[type] >= job->spec.gpus && adl_fit_find(state, slot, type, &hold, gpus))
            add(actions, state, slot, type, false);
        else if (actions->share && adl_fit_share(state, slot, type, &hold, gpus))
            add(actions, state, slot, type, true);
    }
}

/* Only while the head does not fit: forecasts are for jobs that have to wait. */
static void reserve_for_head(struct adl_actions *actions, const struct adl_state *state)
{
    uint32_t count;
    adl_forecast_clear(actions->forecast);
    actions->has_reservation = adl_forecast_reserve(actions->forecast, state, actions->head);
    if (actions->has_reservation)
        actions->reservation = *adl_forecast_reservations(actions->forecast, &count);
}

/* Lists the head on GPUs of younger jobs, on the type where it would run shortest. */
static void add_preemption(struct adl_actions *actions, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[actions->head];
    int64_t least_us = INT64_MAX;
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        const int64_t time_us = adl_state_remaining_us(state, actions->head, type);
        if (time_us >= least_us || job->spec.gpus > actions->gpu_capacity ||
            !adl_preemption_victims_find(state, actions->head, type, actions->gpus))
            continue;
        least_us = time_us;
        actions->count = actions->gpu_count = 0;
        add(actions, state, actions->head, type, false);
        actions->list[0].preempts = true;
    }
    if (actions->count > 0)
        adl_preemption_victims_find(state, actions->head, actions->list[0].type, actions->gpus);
}

/* Lists the job with reserved GPUs once the victims have left; until then nothing, because they may leave at any
 * moment. A reservation that cannot be used any more is dropped. True if there is one. */
static bool serve_reservation(struct adl_actions *actions, const struct adl_state *state)
{
    if (actions->reserved_job == ADL_NONE)
        return false;
    const struct adl_job *job =
        actions->reserved_job < state->job_capacity ? &state->jobs[actions->reserved_job] : NULL;
    const bool waits = job && job->phase == ADL_PHASE_PENDING && job->spec.id == actions->reserved_job_id;
    for (uint32_t i = 0; i < actions->reserved_count && waits; i++) {
        const uint32_t holder = state->gpus[actions->reserved_gpus[i]].job[0];
        if (holder != ADL_NONE && state->jobs[holder].phase == ADL_PHASE_STOPPING)
            return true;
    }
    const uint32_t reserved_job = actions->reserved_job;
    actions->reserved_job = ADL_NONE;
    if (!waits || !adl_preemption_victims_ready(state, reserved_job, actions->reserved_gpus))
        return false;
    memcpy(actions->gpus, actions->reserved_gpus, actions->reserved_count * sizeof *actions->gpus);
    add(actions, state, reserved_job, adl_gpu_type_of(state->cluster, actions->reserved_gpus[0]), false);
    actions->list[0].after_preemption = true;
    return true;
}

static uint32_t shortest_of(const struct adl_state *state, uint32_t lane)
{
    const struct adl_order *jobs = &state->queue.lanes[lane].jobs;
    return adl_order_next_light(state->nodes, jobs, ADL_NONE, state->nodes[jobs->root].least);
}

static bool something_free(const struct adl_actions *actions, const struct adl_state *state)
{
    bool some = actions->share;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        some |= state->pool.free_gpus[t] > 0;
    return some;
}

void adl_actions_find(struct adl_actions *actions, const struct adl_state *state)
{
    const struct adl_queue *queue = &state->queue;
    actions->count = actions->gpu_count = 0;
    actions->has_reservation = false;
    actions->head = adl_queue_head(queue);
    if (actions->head == ADL_NONE || serve_reservation(actions, state))
        return;
    add_starts(actions, state, actions->head);
    if (actions->count > 0)
        return; /* other starts could delay it: it goes first, on any type */
    if (state->now_us - state->jobs[actions->head].submit_us >= actions->preempt_after_us)
        add_preemption(actions, state);
    if (actions->count > 0 || !something_free(actions, state))
        return;
    reserve_for_head(actions, state);
    uint32_t lanes = 0;
    adl_walk_begin(queue);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE && lanes < ADL_ACTION_LANES; adl_walk_leave(queue)) {
        if (!actions->share && !adl_fit_room(state, slot))
            continue;
        lanes++;
        const uint32_t shortest = shortest_of(state, state->jobs[slot].lane);
        if (slot != actions->head)
            add_starts(actions, state, slot);
        if (shortest != slot)
            add_starts(actions, state, shortest);
    }
}

void adl_actions_keep_first_job(struct adl_actions *actions)
{
    uint32_t kept = 0;
    for (uint32_t c = 0; c < actions->count; c++)
        if (actions->list[c].job == actions->list[0].job)
            actions->list[kept++] = actions->list[c];
    actions->count = kept;
}

int adl_actions_execute(struct adl_actions *actions, const struct adl_state *state, const struct adl_action *action,
                        const uint32_t *gpus, struct adl_plan *plan)
{
    if (!action->preempts) {
        uint32_t *room = adl_plan_gpus(plan, action->gpu_count);
        if (!room)
            return ADL_EREFUSED;
        memcpy(room, gpus, action->gpu_count * sizeof *room);
        const int started = adl_plan_start(plan, action->job, action->gpu_count);
        if (started == 0)
            adl_plan_because(
                plan, adl_reason_make(action->after_preemption ? ADL_RULE_CLEARED : ADL_RULE_AGENT, ADL_NONE, 0, 0));
        return started;
    }
    const uint32_t victims = adl_preemption_victims_list(state, gpus, action->gpu_count, actions->victims);
    actions->reserved_job = action->job;
    actions->reserved_job_id = state->jobs[action->job].spec.id;
    actions->reserved_count = action->gpu_count;
    memcpy(actions->reserved_gpus, gpus, action->gpu_count * sizeof *actions->reserved_gpus);
    int status = 0;
    for (uint32_t v = 0; v < victims && status == 0; v++) {
        status = adl_plan_preempt(plan, actions->victims[v]);
        if (status == 0)
            adl_plan_because(plan, adl_preemption_victims_reason(state, actions->victims[v], action->job));
    }
    return status;
}
