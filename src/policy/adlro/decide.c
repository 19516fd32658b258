/* The decision of policy adlro: the order of waiting jobs, their places, then moves and stops of running ones. */
#include "policy/adlro/adlro_internal.h"
#include "policy/adlro/effort.h"

#include <math.h>
#include <string.h>

#define LEFTOVER_MAX 256 /* jobs after the planned ones that are looked at in one decision */

/* ---- the order ---- */

double adl_adlro_score(struct adlro *self, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    const double fair = adl_fairness_factor(&self->fairness, spec->user);
    const struct adl_job_outlook outlook = {.corrections = self->corrections,
                                            .prices = &self->prices,
                                            .typical_us = self->typical_us,
                                            .rest_us = self->places[slot].rest_us,
                                            .need_us = self->places[slot].need_us};
    return fair * adl_job_factors_find(&self->factors, state, &outlook, slot)->of[ADL_RANK_SCORE] *
           adl_ranking_score(fair * (double)adl_state_waited_us(state, slot), self->places[slot].rank_us,
                             adl_ranking_size(spec));
}

/* It starts in this plan, or GPUs are held for it. */
static bool is_served(const struct adlro *self, const struct adl_plan *plan, uint32_t slot)
{
    for (uint32_t i = 0; i < plan->command_count; i++)
        if (plan->commands[i].job == slot)
            return true;
    return adl_moves_hold_for(&self->moves, slot);
}

/* Ranks all waiting jobs that the plan does not start yet. */
static void rank_queue(struct adlro *self, const struct adl_state *state, const struct adl_plan *plan)
{
    const struct adl_queue *queue = &state->queue;
    adl_ranking_begin(&self->ranking, adl_adlro_sequence(self, state));
    adl_stops_begin(&self->stops);
    for (uint32_t i = 0; i < queue->heap_count; i++)
        for (uint32_t s = queue->lanes[queue->heap[i]].jobs.first; s != ADL_NONE; s = queue->nodes[s].next)
            if (!self->places[s].due && !is_served(self, plan, s)) {
                adl_ranking_add(&self->ranking, adl_adlro_score(self, state, s), s);
                adl_stops_offer(&self->stops, self->places, s);
            }
    adl_ranking_sort(&self->ranking, state);
}

/* The job whose turn is next; ADL_NONE if all had theirs. */
static uint32_t next_job(struct adlro *self, const struct adl_state *state, const struct adl_plan *plan)
{
    uint32_t slot;
    do
        slot = adl_ranking_next(&self->ranking, state);
    while (slot != ADL_NONE && (state->jobs[slot].phase != ADL_PHASE_PENDING || is_served(self, plan, slot)));
    return slot;
}

/* ---- the plan ---- */

static struct adl_place_view view_of(const struct adlro *self, const struct adl_state *state,
                                     const struct adl_plan *plan)
{
    return (struct adl_place_view){.state = state,
                                   .profile = self->profile,
                                   .corrections = self->corrections,
                                   .prices = &self->prices,
                                   .energy = adl_energy_priced(self->energy),
                                   .factors = &self->factors,
                                   .price_weight = self->price_weight,
                                   .delay_weight = self->delay_weight,
                                   .wait_weight = ADL_WAIT_WEIGHT,
                                   .reasons_unread = plan->reasons_unread};
}

/* Starts a job at the place that was chosen for it. */
static int start(struct adlro *self, const struct adl_state *state, uint32_t slot, struct adl_plan *plan)
{
    const struct adl_place *place = &self->places[slot];
    uint32_t *gpus = adl_plan_gpus(plan, state->jobs[slot].spec.gpus);
    if (!gpus || !adl_free_profile_take(self->profile, slot, place->type, &place->opening, gpus) ||
        adl_plan_start(plan, slot, state->jobs[slot].spec.gpus))
        return ADL_EREFUSED;
    if (!plan->reasons_unread)
        adl_plan_because(plan, adl_place_reason(state, slot, self->places, self->planned, self->planned_count,
                                                &self->due, self->ranked));
    return 0;
}

/* The job waits at its place. */
static void add_planned(struct adlro *self, uint32_t slot)
{
    const struct adl_place *place = &self->places[slot];
    self->planned[self->planned_count++] = slot;
    self->waits[place->type]++;
    if (place->opening.start_us > self->last_us[place->type])
        self->last_us[place->type] = place->opening.start_us;
}

/* The job starts if its cheapest place is free now, else it keeps that place. */
static int plan_job(struct adlro *self, const struct adl_state *state, uint32_t slot, struct adl_plan *plan)
{
    struct adl_place *place = &self->places[slot];
    const struct adl_place_view view = view_of(self, state, plan);
    place->rank = ++self->turn;
    adl_place_expect(&self->rank_time, state, slot, place);
    adl_place_choose(&view, slot, place);
    if (place->opening.start_us == state->now_us)
        return start(self, state, slot, plan);
    if (place->opening.start_us == INT64_MAX)
        return 0;
    place->opening.reserved = place->due && !self->reserved;
    self->reserved |= place->opening.reserved;
    adl_free_profile_take(self->profile, slot, place->type, &place->opening, NULL);
    add_planned(self, slot);
    return 0;
}

/* How many jobs wait, relative to those that have a place: the others are taken to want the same types. */
static double waiting_ratio(const struct adlro *self)
{
    return self->planned_count > 0 ? 1 + (double)adl_ranking_left(&self->ranking) / self->planned_count : 1;
}

/* When the last of all waiting jobs starts on each type. With the last planned one alone GPUs of other types would idle
 * while hundreds of jobs wait for the same few. */
static void expect_last(const struct adlro *self, const struct adl_state *state, int64_t ret_us[ADL_TYPES_MAX])
{
    const double ratio = waiting_ratio(self);
    for (uint32_t t = 0; t < state->cluster->type_count; t++) {
        const double wait_us = ratio * (double)(self->last_us[t] - state->now_us);
        ret_us[t] = state->now_us + (wait_us > 0 ? (int64_t)fmin(wait_us, ADL_REMAINING_MAX_US) : 0);
    }
}

/* A job behind the planned ones: 1 if it starts, else 0, or a failure. */
static int try_leftover(struct adlro *self, const struct adl_state *state, uint32_t slot, const int64_t *last_us,
                        struct adl_plan *plan)
{
    const struct adl_place_view view = view_of(self, state, plan);
    adl_place_leftover(&view, slot, last_us, &self->places[slot]);
    if (self->places[slot].opening.start_us == INT64_MAX)
        return 0;
    return start(self, state, slot, plan) ? ADL_EREFUSED : 1;
}

/* The jobs behind the planned ones, in order of rank; a lane is left at its first job that does not start. */
static int plan_leftover(struct adlro *self, const struct adl_state *state, struct adl_plan *plan)
{
    uint32_t lanes = state->queue.heap_count;
    int64_t last_us[ADL_TYPES_MAX];
    expect_last(self, state, last_us);
    for (uint32_t n = 0, slot; n < LEFTOVER_MAX && lanes > 0 && (slot = next_job(self, state, plan)) != ADL_NONE; n++) {
        const uint32_t lane = state->jobs[slot].lane;
        self->places[slot].rank = ++self->turn;
        if (self->lane_left[lane] == self->decision)
            continue;
        const int started =
            adl_free_profile_room_for(self->profile, slot) ? try_leftover(self, state, slot, last_us, plan) : 0;
        if (started < 0)
            return started;
        if (!started) {
            self->lane_left[lane] = self->decision;
            lanes--;
        }
    }
    return 0;
}

static void update_prices(struct adlro *self, const struct adl_state *state)
{
    const double ratio = waiting_ratio(self);
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        self->waits[t] *= ratio;
    adl_type_prices_update(&self->prices, state->cluster, self->waits, self->plans);
    self->plans = 0;
}

static bool is_settled(const struct adlro *self, const struct adl_state *state)
{
    return self->settled_us == state->now_us && self->settled_releases == state->releases &&
           self->settled_sequence == adl_adlro_sequence(self, state);
}

static void begin(struct adlro *self, const struct adl_state *state)
{
    const bool joined = self->settled_sequence != adl_adlro_sequence(self, state);
    self->looks = self->looks + 1 < adl_effort_looks_apart(state->cluster) ? self->looks + 1 : 0;
    self->settled_us = state->now_us;
    self->settled_releases = state->releases;
    self->settled_sequence = adl_adlro_sequence(self, state);
    self->decision++;
    self->planned_count = 0;
    self->turn = 0;
    self->reserved = false;
    memset(self->waits, 0, sizeof self->waits);
    memset(self->last_us, 0, sizeof self->last_us);
    adl_free_profile_begin(self->profile, state, joined || self->looks == 0);
    adl_energy_begin(self->energy, state);
    if (state->queue.count == 0 && self->objective.energy > 0)
        adl_type_prices_update(&self->prices, state->cluster, self->waits, 1);
}

/* Jobs that have stopped to move start first, on the GPUs that were held for them. */
static int finish_moves(struct adlro *self, const struct adl_state *state, struct adl_plan *plan)
{
    struct adl_move it;
    while (adl_moves_next_start(&self->moves, state, self->profile, &it)) {
        struct adl_place *place = &self->places[it.slot];
        *place = (struct adl_place){.opening = it.target,
                                    .type = it.type,
                                    .now_type = ADL_NONE,
                                    .cost_us = (double)it.target.run_us,
                                    .rest_us = place->rest_us,
                                    .need_us = place->need_us,
                                    .rank_us = place->rank_us,
                                    .learned = place->learned};
        if (start(self, state, it.slot, plan))
            return ADL_EREFUSED;
    }
    adl_moves_hold(&self->moves, state, self->profile);
    return 0;
}

static void list_due(struct adlro *self, const struct adl_state *state)
{
    for (uint32_t i = 0; i < self->due.count; i++)
        self->places[self->due.slots[i]].due = false;
    adl_due_list(&self->due, state, self->typical_us);
}

/* Due jobs are planned before all others; the number of them, or a failure. */
static int plan_due(struct adlro *self, const struct adl_state *state, struct adl_plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->due.count && count < self->planned_max; i++) {
        const uint32_t slot = self->due.slots[i];
        if (state->jobs[slot].phase != ADL_PHASE_PENDING || is_served(self, plan, slot))
            continue;
        self->places[slot].due = true;
        if (plan_job(self, state, slot, plan))
            return ADL_EREFUSED;
        count++;
    }
    return (int)count;
}

/* It keeps the place of an earlier decision. One GPU that comes free later takes nothing from those that are free now:
 * the profile has to know of gangs only. */
static bool keep_job(struct adlro *self, const struct adl_state *state, uint32_t slot, const struct adl_plan *plan)
{
    const struct adl_place_view view = view_of(self, state, plan);
    if (!adl_place_keep(&view, slot, &self->places[slot]))
        return false;
    if (state->jobs[slot].spec.gpus > 1)
        adl_free_profile_take(self->profile, slot, self->places[slot].type, &self->places[slot].opening, NULL);
    self->places[slot].rank = ++self->turn;
    add_planned(self, slot);
    return true;
}

static int plan_ranked(struct adlro *self, const struct adl_state *state, uint32_t due, bool whole,
                       struct adl_plan *plan)
{
    const uint32_t most = whole ? self->planned_max : adl_ranking_part(&self->ranking, self->planned_max);
    uint32_t searches = due;
    for (uint32_t n = due, slot; n < self->planned_max && searches < most; n++) {
        if (!whole && (!self->ranks || self->planned_count >= ADL_STOPS_WAITING) &&
            !adl_free_profile_any_offered(self->profile))
            return 0;
        if ((slot = next_job(self, state, plan)) == ADL_NONE)
            return 0;
        if (!whole && keep_job(self, state, slot, plan))
            continue;
        if (plan_job(self, state, slot, plan))
            return ADL_EREFUSED;
        searches++;
    }
    return 0;
}

/* Most decisions of a long queue take the jobs in the order, and those as due, that an earlier one found. */
static int plan_queue(struct adlro *self, const struct adl_state *state, bool had_free, struct adl_plan *plan)
{
    self->ranked = state->queue.count - plan->command_count;
    self->plans += had_free; /* else it is only looked for jobs to stop, at every submission */
    const bool whole = had_free && (uint64_t)self->plans * self->planned_max >=
                                       (uint64_t)self->ranked * adl_effort_plans_apart(state->cluster);
    self->ranks = whole || self->ranking.sequence != adl_adlro_sequence(self, state);
    if (self->ranks)
        list_due(self, state);
    const int due = plan_due(self, state, plan);
    if (due < 0)
        return due;
    if (self->ranks) {
        adl_fairness_update(&self->fairness, state, self->typical_us);
        rank_queue(self, state, plan);
    } else {
        adl_ranking_again(&self->ranking);
    }
    if (plan_ranked(self, state, (uint32_t)due, whole, plan))
        return ADL_EREFUSED;
    if (whole)
        update_prices(self, state);
    return adl_free_profile_any_offered(self->profile) ? plan_leftover(self, state, plan) : 0;
}

static bool is_planned(const struct adlro *self, uint32_t slot)
{
    uint32_t i = 0;
    while (i < self->planned_count && self->planned[i] != slot)
        i++;
    return i < self->planned_count;
}

/* Jobs for which others may be stopped have to be planned; the number of them that wait, or a failure. */
static int plan_preemptors(struct adlro *self, const struct adl_state *state, struct adl_plan *plan,
                           uint32_t ret[ADL_STOPS_WAITING])
{
    int count = 0;
    for (uint32_t i = 0; i < self->stops.least_count; i++) {
        const uint32_t slot = self->stops.least[i];
        if (state->jobs[slot].phase != ADL_PHASE_PENDING || is_served(self, plan, slot))
            continue;
        if (!is_planned(self, slot) && plan_job(self, state, slot, plan))
            return ADL_EREFUSED;
        if (is_planned(self, slot))
            ret[count++] = slot;
    }
    return count;
}

/* Lets running jobs make room for waiting ones, by a move or a stop, or, if there are none, move for their own sake. */
static int stop_jobs(struct adlro *self, const struct adl_state *state, struct adl_plan *plan)
{
    const struct adl_moves_view view = {.state = state,
                                        .profile = self->profile,
                                        .corrections = self->corrections,
                                        .prices = &self->prices,
                                        .energy = adl_energy_priced(self->energy),
                                        .due = &self->due,
                                        .price_weight = self->price_weight,
                                        .stop_margin = self->stop_margin,
                                        .switch_us = self->switch_us};
    const bool may_move = self->may_move && self->looks == 0 && adl_free_profile_any_offered(self->profile);
    const int chained = may_move ? adl_chains_decide(&self->chains, &self->moves, &view, self->planned,
                                                     self->planned_count, self->places, plan)
                                 : 0;
    if (chained < 0)
        return chained;
    uint32_t waiting[ADL_STOPS_WAITING];
    int stopped = self->may_stop && (self->ranks || self->looks == 0) && chained == 0
                      ? plan_preemptors(self, state, plan, waiting)
                      : 0;
    if (stopped > 0)
        stopped = adl_stops_decide(&self->stops, &self->moves, &view, waiting, (uint32_t)stopped, self->places, plan);
    if (stopped != 0)
        return stopped < 0 ? stopped : 0;
    return may_move ? adl_moves_decide(&self->moves, &view, plan) : 0;
}

int adl_adlro_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct adlro *self = policy;
    if (self->failed)
        return ADL_ENOMEM;
    if ((state->queue.count == 0 && !self->may_move) || is_settled(self, state))
        return 0;
    begin(self, state);
    const bool had_free = adl_free_profile_any_offered(self->profile);
    self->ranks = false;
    if (!had_free && !self->may_stop)
        return 0;
    int status = finish_moves(self, state, plan);
    if (status == 0 && state->queue.count > plan->command_count)
        status = plan_queue(self, state, had_free, plan);
    return status == 0 ? stop_jobs(self, state, plan) : status;
}
