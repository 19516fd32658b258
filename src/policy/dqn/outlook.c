#include "policy/dqn/outlook.h"

#include "base/copy.h"
#include "base/fetch.h"
#include "base/index.h"
#include "predict/belief.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The defaults of policy adlro. */
#define PRICE_WEIGHT 4
#define DELAY_WEIGHT 0.3

/* Of the jobs that have ended: while fewer have ended since, what is expected of a waiting job is taken to be the same.
 */
#define SAME_SHARE 0.02

int adl_outlook_create(const struct adl_cluster *cluster, int64_t preemption_us, struct adl_outlook *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->outdated = true;
    ret->reserved = ADL_NONE;
    ret->gpu_count = cluster->gpu_count;
    for (uint32_t b = 0; b < cluster->bank_count; b++)
        if (ret->widest[cluster->banks[b].type] < cluster->banks[b].gpu_count)
            ret->widest[cluster->banks[b].type] = cluster->banks[b].gpu_count;
    ret->gpus = malloc((cluster->gpu_count + 1) * sizeof *ret->gpus);
    if (ret->gpus && adl_corrections_create(cluster, ADL_ACROSS_LEAST, &ret->corrections) == 0 &&
        adl_free_profile_create(cluster, ret->corrections, preemption_us, &ret->profile) == 0)
        return 0;
    adl_outlook_clear(ret);
    return ADL_ENOMEM;
}

void adl_outlook_clear(struct adl_outlook *outlook)
{
    adl_free_profile_destroy(outlook->profile);
    adl_corrections_destroy(outlook->corrections);
    adl_ranking_clear(&outlook->ranking);
    free(outlook->places);
    free(outlook->gpus);
    memset(outlook, 0, sizeof *outlook);
}

void adl_outlook_reset(struct adl_outlook *outlook)
{
    adl_corrections_reset(outlook->corrections);
    adl_free_profile_reset(outlook->profile);
    memset(&outlook->prices, 0, sizeof outlook->prices);
    outlook->outdated = true;
}

int adl_outlook_copy(struct adl_outlook *to, const struct adl_outlook *from)
{
    if (adl_ranking_reserve(&to->ranking, from->ranking.capacity) ||
        adl_grow((void **)&to->places, &to->place_capacity, from->place_capacity, sizeof *to->places))
        return ADL_ENOMEM;
    adl_corrections_copy(to->corrections, from->corrections);
    adl_free_profile_copy(to->profile, from->profile);
    const struct adl_outlook own = *to;
    *to = *from;
    to->corrections = own.corrections;
    to->profile = own.profile;
    to->ranking = own.ranking; /* of one plan */
    to->place_capacity = own.place_capacity;
    ADL_COPY_ARRAY(to, own, from, places, from->place_capacity);
    ADL_COPY_ARRAY(to, own, from, gpus, from->gpu_count);
    for (uint32_t i = 0; i < to->start_count; i++)
        to->starts[i].gpus = to->gpus + (from->starts[i].gpus - from->gpus);
    return 0;
}

int adl_outlook_reserve(struct adl_outlook *outlook, size_t jobs)
{
    return adl_ranking_reserve(&outlook->ranking, jobs) ||
                   adl_grow((void **)&outlook->places, &outlook->place_capacity, jobs, sizeof *outlook->places)
               ? ADL_ENOMEM
               : 0;
}

void adl_outlook_join(struct adl_outlook *outlook, const struct adl_state *state, uint32_t slot)
{
    if (adl_ranking_reserve(&outlook->ranking, (size_t)state->queue.count + 1) ||
        adl_grow((void **)&outlook->places, &outlook->place_capacity, (size_t)slot + 1, sizeof *outlook->places))
        outlook->failed = true;
    else
        outlook->places[slot] = (struct adl_place){.opening.start_us = INT64_MAX,
                                                   .rest_us = adl_rest_us(state, slot),
                                                   .learned = state->belief ? adl_belief_count(state->belief) : 0};
}

void adl_outlook_observe(struct adl_outlook *outlook, const struct adl_event *event, const struct adl_state *state)
{
    if (event->kind == ADL_EVENT_FINISH)
        adl_rest_learn(outlook->corrections, event, state, 0);
    if (event->kind == ADL_EVENT_FINISH || event->kind == ADL_EVENT_EVICT)
        adl_free_profile_forget_job(outlook->profile, state, event->job);
}

double adl_outlook_rank(const struct adl_outlook *outlook, const struct adl_state *state, uint32_t slot)
{
    return adl_ranking_score((double)adl_state_waited_us(state, slot), outlook->places[slot].rest_us,
                             sqrt(state->jobs[slot].spec.gpus));
}

void adl_outlook_fetch(const struct adl_outlook *outlook, const struct adl_state *state, uint32_t slots)
{
    adl_fetch(outlook->places, slots * sizeof *outlook->places);
    adl_fetch(outlook->ranking.jobs, slots * sizeof *outlook->ranking.jobs);
    adl_corrections_fetch(outlook->corrections);
    adl_free_profile_fetch(outlook->profile);
    if (state->belief)
        adl_belief_fetch(state->belief, slots);
}

static bool waits(const struct adl_state *state, uint32_t slot)
{
    return state->jobs[slot].phase == ADL_PHASE_PENDING;
}

static bool holds(const struct adl_outlook *outlook, const struct adl_state *state, uint32_t overdue)
{
    return !outlook->outdated && outlook->planned_us == state->now_us && outlook->planned_releases == state->releases &&
           outlook->planned_sequence == state->queue.next_sequence &&
           (outlook->reserved == ADL_NONE || waits(state, outlook->reserved)) &&
           (overdue == ADL_NONE || overdue == outlook->reserved);
}

static void rank_queue(struct adl_outlook *outlook, const struct adl_state *state)
{
    const struct adl_queue *queue = &state->queue;
    adl_ranking_begin(&outlook->ranking, state->queue.next_sequence);
    for (uint32_t i = 0; i < queue->heap_count; i++)
        for (uint32_t s = queue->lanes[queue->heap[i]].jobs.first; s != ADL_NONE; s = queue->nodes[s].next) {
            outlook->places[s].opening.start_us = INT64_MAX;
            adl_ranking_add(&outlook->ranking, adl_outlook_rank(outlook, state, s), s);
        }
    adl_ranking_sort(&outlook->ranking, state);
}

/* ---- the job that nobody may delay ---- */

/* Types of which enough GPUs are near each other for the jobs of a lane. */
static uint32_t types_of(const struct adl_outlook *outlook, const struct adl_state *state, const struct adl_lane *lane)
{
    const bool spans = lane->shape.flags & ADL_JOB_SPAN;
    uint32_t types = state->jobs[lane->jobs.first].eligible;
    for (uint32_t left = types; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        if (lane->shape.gpus > (spans ? state->cluster->type_gpus[type] : outlook->widest[type]))
            types &= ~(1u << type);
    }
    return types;
}

/* Run time on the best of these types, relative to the job's best type. */
static double least_factor(const struct adl_outlook *outlook, const struct adl_state *state, uint32_t slot,
                           uint32_t types)
{
    double least = HUGE_VAL;
    for (uint32_t left = types; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        const bool across = state->jobs[slot].spec.gpus > outlook->widest[type];
        const double factor = adl_rest_factor(outlook->corrections, state, slot, type, across);
        least = factor < least ? factor : least;
    }
    return least;
}

static void add_running(struct adl_outlook *outlook, const struct adl_state *state)
{
    for (uint32_t t = 0; t < state->cluster->type_count; t++) {
        double work_us = 0;
        for (uint32_t s = state->running[t].first; s != ADL_NONE; s = state->nodes[s].next) {
            const int64_t rest_us = state->jobs[s].expected_us - state->now_us;
            work_us += rest_us > 0 ? (double)rest_us * state->jobs[s].spec.gpus : 0;
        }
        if (work_us > 0)
            adl_bottleneck_add(&outlook->bottleneck, 1u << t, work_us, 0);
    }
}

static void add_waiting(struct adl_outlook *outlook, const struct adl_state *state)
{
    const struct adl_queue *queue = &state->queue;
    for (uint32_t i = 0; i < queue->heap_count; i++) {
        const struct adl_lane *lane = &queue->lanes[queue->heap[i]];
        const uint32_t types = types_of(outlook, state, lane);
        double rest_us = 0;
        for (uint32_t s = lane->jobs.first; s != ADL_NONE; s = queue->nodes[s].next)
            rest_us += outlook->places[s].rest_us;
        if (types)
            adl_bottleneck_add(&outlook->bottleneck, types,
                               rest_us * lane->shape.gpus * least_factor(outlook, state, lane->jobs.first, types),
                               lane->jobs.count);
    }
}

/* The first in rank of the jobs that can run on no type but these. */
static uint32_t first_within(const struct adl_outlook *outlook, const struct adl_state *state, uint32_t types)
{
    const struct adl_queue *queue = &state->queue;
    uint32_t first = ADL_NONE;
    double most = 0;
    for (uint32_t i = 0; i < queue->heap_count; i++) {
        const struct adl_lane *lane = &queue->lanes[queue->heap[i]];
        const uint32_t own = types_of(outlook, state, lane);
        if (own == 0 || own & ~types)
            continue;
        for (uint32_t s = lane->jobs.first; s != ADL_NONE; s = queue->nodes[s].next) {
            const double rank = adl_outlook_rank(outlook, state, s);
            first = rank > most ? s : first;
            most = rank > most ? rank : most;
        }
    }
    return first;
}

static uint32_t choose_reserved(struct adl_outlook *outlook, const struct adl_state *state, double lambda)
{
    if (lambda <= 0)
        return ADL_NONE;
    outlook->bottleneck.count = 0;
    outlook->bottleneck.all = (struct adl_type_set){.types = 0};
    add_running(outlook, state);
    add_waiting(outlook, state);
    const uint32_t types = adl_bottleneck_types(&outlook->bottleneck, state->cluster, lambda);
    return types ? first_within(outlook, state, types) : ADL_NONE;
}

/* ---- the plan ---- */

struct plan {
    double waits[ADL_TYPES_MAX], waiting; /* jobs that are planned to start later, on each type and in all */
    uint32_t gpus;                        /* of those that are planned to start now */
};

/* Jobs that no place was looked for are counted as if they wanted the same types as those planned. */
static void update_prices(struct adl_outlook *outlook, const struct adl_state *state, struct plan *plan)
{
    const double more = plan->waiting > 0 ? 1 + (double)adl_ranking_left(&outlook->ranking) / plan->waiting : 1;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        plan->waits[t] *= more;
    adl_type_prices_update(&outlook->prices, state->cluster, plan->waits, 1);
}

static void expect(const struct adl_state *state, uint32_t slot, struct adl_place *place)
{
    const uint64_t learned = state->belief ? adl_belief_count(state->belief) : 0;
    if (state->belief && learned - place->learned <= (uint64_t)(SAME_SHARE * (double)learned))
        return;
    place->learned = learned;
    place->rest_us = adl_rest_us(state, slot);
}

static void plan_job(struct adl_outlook *outlook, const struct adl_place_view *view, uint32_t slot, struct plan *plan)
{
    const struct adl_state *state = view->state;
    struct adl_place *place = &outlook->places[slot];
    expect(state, slot, place);
    adl_place_choose(view, slot, place);
    if (place->opening.start_us == INT64_MAX)
        return;
    uint32_t *gpus = &outlook->gpus[plan->gpus];
    const bool found = adl_free_profile_take(outlook->profile, slot, place->type, &place->opening, gpus);
    if (place->opening.start_us > state->now_us) {
        plan->waits[place->type]++;
        plan->waiting++;
    } else if (found) {
        outlook->starts[outlook->start_count++] = (struct adl_planned_start){slot, place->type, gpus};
        plan->gpus += state->jobs[slot].spec.gpus;
    }
}

static void plan_all(struct adl_outlook *outlook, const struct adl_state *state)
{
    const struct adl_place_view view = {.state = state,
                                        .profile = outlook->profile,
                                        .corrections = outlook->corrections,
                                        .prices = &outlook->prices,
                                        .price_weight = PRICE_WEIGHT,
                                        .delay_weight = DELAY_WEIGHT,
                                        .wait_weight = ADL_WAIT_WEIGHT};
    struct plan plan = {.waiting = 0};
    outlook->start_count = 0;
    adl_free_profile_begin(outlook->profile, state, true);
    if (outlook->reserved != ADL_NONE)
        plan_job(outlook, &view, outlook->reserved, &plan);
    for (uint32_t n = outlook->reserved != ADL_NONE; n < ADL_OUTLOOK_JOBS && adl_ranking_left(&outlook->ranking) > 0;
         n++) {
        const uint32_t slot = adl_ranking_next(&outlook->ranking, state);
        if (slot != outlook->reserved)
            plan_job(outlook, &view, slot, &plan);
    }
    update_prices(outlook, state, &plan);
}

void adl_outlook_find(struct adl_outlook *outlook, const struct adl_state *state, uint32_t overdue, double lambda)
{
    if (holds(outlook, state, overdue))
        return;
    rank_queue(outlook, state);
    outlook->reserved = overdue != ADL_NONE ? overdue : choose_reserved(outlook, state, lambda);
    plan_all(outlook, state);
    outlook->outdated = false;
    outlook->planned_us = state->now_us;
    outlook->planned_releases = state->releases;
    outlook->planned_sequence = state->queue.next_sequence;
}

const struct adl_planned_start *adl_outlook_start(const struct adl_outlook *outlook, uint32_t slot, uint32_t type)
{
    for (uint32_t i = 0; i < outlook->start_count; i++)
        if (outlook->starts[i].slot == slot && outlook->starts[i].type == type)
            return &outlook->starts[i];
    return NULL;
}

double adl_outlook_rest_us(const struct adl_outlook *outlook, const struct adl_state *state, uint32_t slot,
                           uint32_t type, bool across)
{
    return (outlook->places[slot].rest_us + 1) * adl_rest_factor(outlook->corrections, state, slot, type, across);
}

double adl_outlook_cost_us(const struct adl_outlook *outlook, const struct adl_state *state, uint32_t slot,
                           uint32_t type, bool across)
{
    return adl_outlook_rest_us(outlook, state, slot, type, across) *
           (1 + PRICE_WEIGHT * outlook->prices.of[type] * state->jobs[slot].spec.gpus);
}
