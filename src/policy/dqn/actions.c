#include "policy/dqn/actions.h"

#include "base/copy.h"
#include "base/real.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_MAX 256 /* waiting jobs, and running ones, whose run times make the typical one */

int adl_actions_create(const struct adl_cluster *cluster, const struct adl_dqn_options *options, int64_t preemption_us,
                       struct adl_actions **ret)
{
    struct adl_actions *actions = calloc(1, sizeof *actions);
    if (!actions)
        return ADL_ENOMEM;
    actions->share = options->share;
    actions->lambda = options->lambda;
    actions->guard = options->guard;
    /* Room for every action to be a gang of medium size; actions beyond it are not listed. */
    actions->gpu_capacity = cluster->gpu_count + ADL_ACTIONS_MAX * 16;
    actions->gpus = malloc(actions->gpu_capacity * sizeof *actions->gpus);
    if (!actions->gpus || adl_outlook_create(cluster, preemption_us, &actions->outlook) ||
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
    adl_outlook_clear(&actions->outlook);
    free(actions->gpus);
    free(actions);
}

int adl_actions_copy(struct adl_actions *to, const struct adl_actions *from)
{
    const struct adl_actions own = *to;
    if (adl_outlook_copy(&to->outlook, &from->outlook))
        return ADL_ENOMEM;
    const struct adl_outlook outlook = to->outlook;
    *to = *from;
    to->outlook = outlook;
    to->forecast = own.forecast;
    adl_forecast_copy(to->forecast, from->forecast);
    ADL_COPY_ARRAY(to, own, from, gpus, from->gpu_count);
    return 0;
}

void adl_actions_reset(struct adl_actions *actions)
{
    adl_outlook_reset(&actions->outlook);
}

/* ---- what the queue is like ---- */

/* Adds waiting jobs to the sums of logarithms of run times, and to prices. */
static uint32_t survey_queue(struct adl_actions *actions, const struct adl_state *state, double *sum)
{
    double jobs[ADL_TYPES_MAX] = {0};
    uint32_t count = 0;
    memset(actions->price, 0, sizeof actions->price);
    memset(actions->slower, 0, sizeof actions->slower);
    for (uint32_t i = 0; i < state->queue.heap_count; i++) {
        const struct adl_lane *lane = &state->queue.lanes[state->queue.heap[i]];
        const uint32_t first = lane->jobs.first;
        const int64_t best_us = adl_state_shortest_us(state, first);
        for (uint32_t s = first; s != ADL_NONE && count < SAMPLE_MAX; s = state->nodes[s].next, count++)
            *sum += adl_log((double)state->nodes[s].weight + 1);
        for (uint32_t left = state->jobs[first].eligible; left; left &= left - 1) {
            const uint32_t type = (uint32_t)__builtin_ctz(left);
            const int64_t here_us = adl_state_remaining_us(state, first, type);
            actions->slower[type] += lane->jobs.count * adl_log((double)(here_us + 1) / (double)(best_us + 1));
            jobs[type] += lane->jobs.count;
            if (here_us == best_us && state->cluster->type_gpus[type] > 0)
                actions->price[type] += (double)lane->jobs.count * lane->shape.gpus / state->cluster->type_gpus[type];
        }
    }
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        actions->slower[t] /= jobs[t] > 0 ? jobs[t] : 1;
    return count;
}

static void survey(struct adl_actions *actions, const struct adl_state *state)
{
    double sum = 0;
    uint32_t count = survey_queue(actions, state, &sum), running = 0;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        for (uint32_t s = state->running[t].first; s != ADL_NONE && running < SAMPLE_MAX;
             s = state->nodes[s].next, running++)
            sum += adl_log((double)adl_state_shortest_us(state, s) + 1);
    actions->typical_us = adl_exp(sum / (count + running > 0 ? count + running : 1));
}

/* ---- the list ---- */

static struct adl_action_job candidate(const struct adl_actions *actions, const struct adl_state *state, uint32_t slot)
{
    return (struct adl_action_job){slot, actions->outlook.places[slot].rest_us + 1,
                                   adl_outlook_rank(&actions->outlook, state, slot)};
}

static void add(struct adl_actions *actions, const struct adl_state *state, const struct adl_action_job *it,
                uint32_t type, bool shared)
{
    const uint16_t gpus = state->jobs[it->slot].spec.gpus;
    const uint32_t *members = &actions->gpus[actions->gpu_count];
    const bool across =
        gpus > 1 && adl_gpu_node_of(state->cluster, members[0]) != adl_gpu_node_of(state->cluster, members[gpus - 1]);
    const double rest_us = adl_outlook_rest_us(&actions->outlook, state, it->slot, type, across);
    actions->list[actions->count++] =
        (struct adl_action){.job = it->slot,
                            .gpu_offset = actions->gpu_count,
                            .gpu_count = gpus,
                            .type = (uint16_t)type,
                            .shared = shared,
                            .rest_us = rest_us,
                            .best_us = it->best_us,
                            .rate = it->rate,
                            .cost_us = adl_outlook_cost_us(&actions->outlook, state, it->slot, type, across)};
    actions->gpu_count += gpus;
}

/* The planned GPUs, if they do: the plan does not know of jobs beside others on one GPU, nor which GPUs a reservation
 * holds. */
static bool take_planned(const struct adl_actions *actions, const struct adl_state *state, uint32_t slot, uint32_t type,
                         uint32_t *ret_gpus)
{
    const struct adl_planned_start *start = adl_outlook_start(&actions->outlook, slot, type);
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    if (!start || actions->has_reservation)
        return false;
    for (uint32_t i = 0, here = 1; i < spec->gpus; i++, here++) {
        const uint32_t gpu = start->gpus[i], node = adl_gpu_node_of(state->cluster, gpu);
        if (i > 0 && adl_gpu_node_of(state->cluster, start->gpus[i - 1]) != node)
            here = 1;
        if (state->gpus[gpu].job[0] != ADL_NONE || state->gpus[gpu].down ||
            state->nodes_use[node].free_cores < (int64_t)spec->cpu_cores * here ||
            state->nodes_use[node].free_memory_mib < (int64_t)spec->memory_mib * here)
            return false;
    }
    memcpy(ret_gpus, start->gpus, spec->gpus * sizeof *ret_gpus);
    return true;
}

/* Lists the starts of a job, on each type where it fits without delaying the reservation. */
static void add_starts(struct adl_actions *actions, const struct adl_state *state, const struct adl_action_job *it)
{
    const struct adl_job *job = &state->jobs[it->slot];
    const uint32_t first = actions->count;
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        if (actions->count == ADL_ACTION_STARTS || actions->gpu_count + job->spec.gpus > actions->gpu_capacity)
            break;
        const struct adl_hold hold = {&actions->reservation, actions->has_reservation,
                                      state->now_us + adl_state_remaining_us(state, it->slot, type)};
        uint32_t *gpus = &actions->gpus[actions->gpu_count];
        if (take_planned(actions, state, it->slot, type, gpus)) {
            add(actions, state, it, type, false);
            actions->list[actions->count - 1].planned = true;
        } else if (state->pool.free_gpus[type] >= job->spec.gpus && adl_fit_find(state, it->slot, type, &hold, gpus)) {
            add(actions, state, it, type, false);
            actions->list[actions->count - 1].planned =
                actions->has_reservation && adl_outlook_start(&actions->outlook, it->slot, type);
        } else if (actions->share && adl_fit_share(state, it->slot, type, &hold, gpus))
            add(actions, state, it, type, true);
    }
    if (actions->count == first)
        return;
    const struct adl_place *place = &actions->outlook.places[it->slot];
    const bool placed = place->opening.start_us != INT64_MAX;
    for (uint32_t c = first; c < actions->count; c++) {
        struct adl_action *action = &actions->list[c];
        action->least_cost_us = placed && place->cost_us < action->cost_us ? place->cost_us : action->cost_us;
    }
}

uint32_t adl_actions_overdue(const struct adl_actions *actions, const struct adl_state *state)
{
    const struct adl_queue *queue = &state->queue;
    double most = actions->guard;
    uint32_t found = ADL_NONE;
    for (uint32_t i = 0; i < queue->heap_count; i++) {
        const struct adl_lane *lane = &queue->lanes[queue->heap[i]];
        const double waits = (double)adl_state_waited_us(state, lane->jobs.first);
        if (waits <= most * (actions->typical_us + (double)lane->first_weight))
            continue;
        most = waits / (actions->typical_us + (double)lane->first_weight);
        found = lane->jobs.first;
    }
    return found;
}

void adl_actions_reserve(struct adl_actions *actions, const struct adl_state *state)
{
    uint32_t count;
    adl_forecast_clear(actions->forecast);
    actions->has_reservation = adl_forecast_reserve(actions->forecast, state, actions->reserved);
    if (actions->has_reservation)
        actions->reservation = *adl_forecast_reservations(actions->forecast, &count);
}

static uint32_t shortest_of(const struct adl_state *state, uint32_t lane)
{
    const struct adl_order *jobs = &state->queue.lanes[lane].jobs;
    return adl_order_next_light(state->nodes, jobs, ADL_NONE, state->nodes[jobs->root].least);
}

bool adl_actions_possible(const struct adl_actions *actions, const struct adl_state *state)
{
    bool some = actions->share;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        some |= state->pool.free_gpus[t] > 0;
    return some;
}

/* Keeps the candidates in order, the highest rate first; few, so by insertion. */
static void add_candidate(struct adl_actions *actions, const struct adl_state *state, uint32_t slot)
{
    const struct adl_action_job it = candidate(actions, state, slot);
    uint32_t at = actions->candidate_count++;
    for (; at > 0 && actions->candidates[at - 1].rate < it.rate; at--)
        actions->candidates[at] = actions->candidates[at - 1];
    actions->candidates[at] = it;
}

/* Neither reserved nor planned to start now. */
static bool is_new(const struct adl_actions *actions, uint32_t slot)
{
    bool planned = slot == actions->reserved;
    for (uint32_t i = 0; i < actions->outlook.start_count; i++)
        planned |= actions->outlook.starts[i].slot == slot;
    return !planned;
}

/* Jobs that are planned to start now; of each lane, the oldest and the shortest. */
static void find_candidates(struct adl_actions *actions, const struct adl_state *state)
{
    const struct adl_queue *queue = &state->queue;
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < actions->outlook.start_count; i++)
        if (state->jobs[actions->outlook.starts[i].slot].phase == ADL_PHASE_PENDING &&
            actions->outlook.starts[i].slot != actions->reserved)
            add_candidate(actions, state, actions->outlook.starts[i].slot);
    adl_walk_begin(queue);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE && lanes < ADL_ACTION_LANES; adl_walk_leave(queue)) {
        if (!actions->share && !adl_fit_room(state, slot))
            continue;
        lanes++;
        const uint32_t shortest = shortest_of(state, state->jobs[slot].lane);
        if (is_new(actions, slot))
            add_candidate(actions, state, slot);
        if (shortest != slot && is_new(actions, shortest))
            add_candidate(actions, state, shortest);
    }
}

/* Like the start with the lowest rate, but at the least cost. */
static void add_wait(struct adl_actions *actions)
{
    struct adl_action wait = actions->list[actions->count - 1];
    bool none_planned = true;
    wait.waits = true;
    wait.gpu_offset = actions->gpu_count;
    wait.gpu_count = 0;
    wait.cost_us = wait.least_cost_us;
    for (uint32_t c = 0; c < actions->count; c++)
        none_planned &= !actions->list[c].planned;
    wait.planned = none_planned;
    actions->list[actions->count++] = wait;
}

void adl_actions_find(struct adl_actions *actions, const struct adl_state *state)
{
    actions->count = actions->gpu_count = actions->candidate_count = 0;
    actions->has_reservation = false;
    actions->overdue = actions->reserved = ADL_NONE;
    actions->head = adl_queue_head(&state->queue);
    if (actions->head == ADL_NONE || actions->outlook.failed || !adl_actions_possible(actions, state))
        return;
    survey(actions, state);
    actions->overdue = adl_actions_overdue(actions, state);
    adl_outlook_find(&actions->outlook, state, actions->overdue, actions->lambda);
    actions->reserved = actions->outlook.reserved;
    if (actions->reserved != ADL_NONE) {
        const struct adl_action_job first = candidate(actions, state, actions->reserved);
        add_starts(actions, state, &first);
        if (actions->count > 0)
            return; /* other starts could delay it */
        adl_actions_reserve(actions, state);
    }
    find_candidates(actions, state);
    for (uint32_t i = 0; i < actions->candidate_count && actions->count < ADL_ACTION_STARTS; i++)
        add_starts(actions, state, &actions->candidates[i]);
    if (actions->count > 0 && state->busy_gpus > 0)
        add_wait(actions);
}

void adl_actions_keep_one_job(struct adl_actions *actions, const struct adl_state *state)
{
    uint32_t kept = 0, oldest = ADL_NONE;
    for (uint32_t c = 0; c < actions->count; c++)
        if (oldest == ADL_NONE || state->jobs[actions->list[c].job].submit_us < state->jobs[oldest].submit_us)
            oldest = actions->list[c].job;
    for (uint32_t c = 0; c < actions->count; c++)
        if (actions->list[c].job == oldest && !actions->list[c].waits)
            actions->list[kept++] = actions->list[c];
    actions->count = kept;
}

int adl_actions_execute(struct adl_actions *actions, const struct adl_action *action, struct adl_plan *plan)
{
    actions->outlook.outdated |= !action->planned && !action->waits;
    if (action->waits)
        return 0;
    uint32_t *room = adl_plan_gpus(plan, action->gpu_count);
    if (!room)
        return ADL_EREFUSED;
    memcpy(room, &actions->gpus[action->gpu_offset], action->gpu_count * sizeof *room);
    const int started = adl_plan_start(plan, action->job, action->gpu_count);
    if (started == 0)
        adl_plan_because(plan, adl_reason_make(ADL_RULE_AGENT, ADL_NONE, 0, 0));
    return started;
}
