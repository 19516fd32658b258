#include "policy/dqn/actions.h"

#include "policy/mechanism/preemption_victims.h"

#include <stdlib.h>
#include <string.h>

/* The oldest job has others stopped for it when it has waited this many times what stopping and resuming one costs. */
#define TAKE_AFTER_COSTS 20

int adl_actions_create(const struct adl_cluster *cluster, const struct adl_policy_config *config,
                       struct adl_actions **ret)
{
    struct adl_actions *choices = calloc(1, sizeof *choices);
    if (!choices)
        return ADL_ENOMEM;
    choices->share = config->share;
    choices->take_after_us = TAKE_AFTER_COSTS * config->preemption_us;
    choices->claimant = ADL_NONE;
    /* Room for every choice to be a gang of middling size; what finds no room is not offered. */
    choices->gpu_capacity = cluster->gpu_count + ADL_ACTIONS_MAX * 16;
    choices->gpus = malloc(choices->gpu_capacity * sizeof *choices->gpus);
    choices->claim = malloc((cluster->gpu_count + 1) * sizeof *choices->claim);
    choices->victims = malloc((cluster->gpu_count + 1) * sizeof *choices->victims);
    if (!choices->gpus || !choices->claim || !choices->victims || adl_forecast_create(cluster, 1, &choices->forecast)) {
        adl_actions_destroy(choices);
        return ADL_ENOMEM;
    }
    *ret = choices;
    return 0;
}

void adl_actions_destroy(struct adl_actions *choices)
{
    if (!choices)
        return;
    adl_forecast_destroy(choices->forecast);
    free(choices->gpus);
    free(choices->claim);
    free(choices->victims);
    free(choices);
}

static void add(struct adl_actions *choices, const struct adl_state *state, uint32_t slot, uint32_t type, bool shared)
{
    const uint16_t gpus = state->jobs[slot].spec.gpus;
    choices->list[choices->count++] = (struct adl_action){
        .job = slot, .gpu_offset = choices->gpu_count, .gpu_count = gpus, .type = (uint16_t)type, .shared = shared};
    choices->gpu_count += gpus;
}

/* Offers a job on each type where it fits beside the promise. */
static void offer(struct adl_actions *choices, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    const bool held = choices->promised && slot != choices->head;
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        if (choices->count == ADL_ACTIONS_MAX || choices->gpu_count + job->spec.gpus > choices->gpu_capacity)
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

/* Asked only while the head does not fit: a forecast is of jobs that have to wait. */
static void promise_head(struct adl_actions *choices, const struct adl_state *state)
{
    uint32_t count;
    adl_forecast_clear(choices->forecast);
    choices->promised = adl_forecast_reserve(choices->forecast, state, choices->head);
    if (choices->promised)
        choices->promise = *adl_forecast_reservations(choices->forecast, &count);
}

/* The head on GPUs of younger jobs, on the type where it would run shortest. */
static void offer_taking(struct adl_actions *choices, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[choices->head];
    int64_t least_us = INT64_MAX;
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        const int64_t time_us = adl_state_remaining_us(state, choices->head, type);
        if (time_us >= least_us || job->spec.gpus > choices->gpu_capacity ||
            !adl_preemption_victims_find(state, choices->head, type, choices->gpus))
            continue;
        least_us = time_us;
        choices->count = choices->gpu_count = 0;
        add(choices, state, choices->head, type, false);
        choices->list[0].takes = true;
    }
    if (choices->count > 0)
        adl_preemption_victims_find(state, choices->head, choices->list[0].type, choices->gpus);
}

/* The claimant, once the jobs in its way are gone; while they are not, nothing at all, for they may leave at any
 * moment. A claim that cannot come true any more is given up. True if there is one. */
static bool serve_claim(struct adl_actions *choices, const struct adl_state *state)
{
    if (choices->claimant == ADL_NONE)
        return false;
    const struct adl_job *job = choices->claimant < state->job_capacity ? &state->jobs[choices->claimant] : NULL;
    const bool waits = job && job->phase == ADL_PHASE_PENDING && job->spec.id == choices->claimant_id;
    for (uint32_t i = 0; i < choices->claim_count && waits; i++) {
        const uint32_t holder = state->gpus[choices->claim[i]].job[0];
        if (holder != ADL_NONE && state->jobs[holder].phase == ADL_PHASE_STOPPING)
            return true;
    }
    const uint32_t claimant = choices->claimant;
    choices->claimant = ADL_NONE;
    if (!waits || !adl_preemption_victims_ready(state, claimant, choices->claim))
        return false;
    memcpy(choices->gpus, choices->claim, choices->claim_count * sizeof *choices->gpus);
    add(choices, state, claimant, adl_gpu_type_of(state->cluster, choices->claim[0]), false);
    choices->list[0].cleared = true;
    return true;
}

static uint32_t shortest_of(const struct adl_state *state, uint32_t lane)
{
    const struct adl_order *jobs = &state->queue.lanes[lane].jobs;
    return adl_order_next_light(state->nodes, jobs, ADL_NONE, state->nodes[jobs->root].least);
}

static bool something_free(const struct adl_actions *choices, const struct adl_state *state)
{
    bool some = choices->share;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        some |= state->pool.free_gpus[t] > 0;
    return some;
}

void adl_actions_find(struct adl_actions *choices, const struct adl_state *state)
{
    const struct adl_queue *queue = &state->queue;
    choices->count = choices->gpu_count = 0;
    choices->promised = false;
    choices->head = adl_queue_head(queue);
    if (choices->head == ADL_NONE || serve_claim(choices, state))
        return;
    offer(choices, state, choices->head);
    if (choices->count > 0)
        return; /* what else started could be in its way: it goes first, on whichever type */
    if (state->now_us - state->jobs[choices->head].submit_us >= choices->take_after_us)
        offer_taking(choices, state);
    if (choices->count > 0 || !something_free(choices, state))
        return;
    promise_head(choices, state);
    uint32_t lanes = 0;
    adl_walk_begin(queue);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE && lanes < ADL_ACTION_LANES; adl_walk_leave(queue)) {
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

void adl_actions_keep_first_job(struct adl_actions *choices)
{
    uint32_t kept = 0;
    for (uint32_t c = 0; c < choices->count; c++)
        if (choices->list[c].job == choices->list[0].job)
            choices->list[kept++] = choices->list[c];
    choices->count = kept;
}

int adl_actions_carry_out(struct adl_actions *choices, const struct adl_state *state, const struct adl_action *choice,
                          const uint32_t *gpus, struct adl_plan *plan)
{
    if (!choice->takes) {
        uint32_t *room = adl_plan_gpus(plan, choice->gpu_count);
        if (!room)
            return ADL_EREFUSED;
        memcpy(room, gpus, choice->gpu_count * sizeof *room);
        const int started = adl_plan_start(plan, choice->job, choice->gpu_count);
        if (started == 0)
            adl_plan_because(plan,
                             adl_reason_make(choice->cleared ? ADL_RULE_CLEARED : ADL_RULE_AGENT, ADL_NONE, 0, 0));
        return started;
    }
    const uint32_t victims = adl_preemption_victims_list(state, gpus, choice->gpu_count, choices->victims);
    choices->claimant = choice->job;
    choices->claimant_id = state->jobs[choice->job].spec.id;
    choices->claim_count = choice->gpu_count;
    memcpy(choices->claim, gpus, choice->gpu_count * sizeof *choices->claim);
    int status = 0;
    for (uint32_t v = 0; v < victims && status == 0; v++) {
        status = adl_plan_preempt(plan, choices->victims[v]);
        if (status == 0)
            adl_plan_because(plan, adl_preemption_victims_reason(state, choices->victims[v], choice->job));
    }
    return status;
}
