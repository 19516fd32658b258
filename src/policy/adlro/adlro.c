/* adlro: planned places for waiting jobs, prices for GPU types, and learned speeds.
 *
 * At each decision the first waiting jobs in order of rank are planned onto the profile of what is believed to be free
 * (policy/adlro/profile.h). Each goes where its cost is least:
 *   wait + rest of the run + price_weight * price(type) * GPUs * rest of the run + delay_weight * delay of planned
 * jobs. If that place is free now the job starts, else it waits and keeps its place: it waits for the right type if
 * that is cheaper, however many GPUs of other types are idle. Jobs after the first of the queue may start on GPUs that
 * are left.
 *
 * The rank, highest first, is (1 + (wait / rest)^2) / (rest * GPUs): jobs that are soon done first, and those that have
 * waited long for what they need. docs/flagship.md has what was tried. */
#include "base/real.h"
#include "policy/adlro/corrections.h"
#include "policy/adlro/moves.h"
#include "policy/adlro/prices.h"
#include "policy/adlro/profile.h"
#include "policy/adlro/rest.h"
#include "policy/mechanism/reason.h"
#include "policy/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Jobs after the planned ones that are looked at in one decision. */
#define LEFTOVER_MAX 256

/* Of a new run time, in the average of run times. */
#define TYPICAL_SHARE 0.01

struct ranked {
    double score;
    uint32_t slot;
};

/* Where a waiting job is planned. */
struct place {
    struct adl_opening opening; /* start_us INT64_MAX: nowhere */
    uint32_t type, now_type;    /* now_type: the cheapest type where it could start at once, or ADL_NONE */
    double cost_us, next_cost_us, now_cost_us; /* here; on the next best type (0: none); on now_type */
    double rest_us;                            /* on its best type, when it was last planned */
    bool guarded;
};

struct adlro {
    double price_weight, delay_weight, tail_guard;
    uint32_t planned_max;
    struct adl_corrections *corrections;
    struct adl_free_profile *profile;
    struct adl_type_prices prices;
    struct adl_moves moves;
    bool may_move;
    int64_t switch_us;
    struct ranked *ranked; /* grown when a job joins, as all that follow */
    struct place *places;  /* [slot] */
    uint64_t *lane_left;   /* [lane] the decision that found no place for its jobs */
    size_t ranked_capacity, place_capacity, lane_capacity;
    uint32_t *planned; /* jobs that wait at a planned place, of the last decision */
    uint32_t planned_count;
    double typical_us;              /* average run time of completed jobs; 0: none has completed */
    double waits[ADL_TYPES_MAX];    /* jobs that the plan lets wait for a type */
    int64_t last_us[ADL_TYPES_MAX]; /* when the last of them starts */
    bool guards;                    /* a job of this plan is guarded: nobody may delay it */
    bool failed;
    uint64_t decision;
    int64_t settled_us; /* nothing more to do until one of these changes */
    uint64_t settled_releases, settled_sequence;
};

struct adlro_options {
    double price_weight, delay_weight, tail_guard;
    int64_t planned_jobs;
    bool moves;
};

static const struct adl_policy_option options[] = {
    {.name = "price_weight",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct adlro_options, price_weight),
     .value = "2",
     .range = {.min = 0, .max = 1e6},
     .help = "weight of the price of a GPU type: high = jobs leave a scarce type to those that gain most there"},
    {.name = "delay_weight",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct adlro_options, delay_weight),
     .value = "0.3",
     .range = {.min = 0, .max = 1e6},
     .help = "weight of the delay that a start causes to a job that is planned there"},
    {.name = "tail_guard",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct adlro_options, tail_guard),
     .value = "0",
     .range = {.min = 0.1, .max = 1e6, .or_zero = true},
     .help = "jobs that waited this many times the sum of a typical run time and their own go first; 0 = off"},
    {.name = "planned_jobs",
     .type = ADL_POLICY_INTEGER,
     .offset = offsetof(struct adlro_options, planned_jobs),
     .value = "64",
     .range = {.min = 1, .max = 4096},
     .help = "waiting jobs that get a planned place, in order of rank"},
    {.name = "moves",
     .type = ADL_POLICY_BOOL,
     .offset = offsetof(struct adlro_options, moves),
     .value = "true",
     .help = "stop running jobs that end earlier on free GPUs of another type, and start them there"},
};

static void destroy(void *policy)
{
    struct adlro *self = policy;
    if (!self)
        return;
    adl_free_profile_destroy(self->profile);
    adl_corrections_destroy(self->corrections);
    free(self->ranked);
    free(self->places);
    free(self->lane_left);
    free(self->planned);
    free(self);
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    const struct adlro_options *own = config->options;
    struct adlro *self = calloc(1, sizeof *self);
    if (self)
        self->planned = calloc((size_t)own->planned_jobs, sizeof *self->planned);
    if (!self || !self->planned || adl_corrections_create(cluster, &self->corrections) ||
        adl_free_profile_create(cluster, self->corrections, config->preemption_us, &self->profile)) {
        destroy(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy adlro");
    }
    self->price_weight = own->price_weight;
    self->delay_weight = own->delay_weight;
    self->tail_guard = own->tail_guard;
    self->may_move = own->moves;
    self->switch_us = config->preemption_us;
    self->planned_max = (uint32_t)own->planned_jobs;
    self->settled_us = INT64_MIN;
    *ret_policy = self;
    return 0;
}

static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    struct adlro *self = policy;
    if (adl_grow((void **)&self->ranked, &self->ranked_capacity, (size_t)state->queue.count + 1,
                 sizeof *self->ranked) ||
        adl_grow((void **)&self->places, &self->place_capacity, (size_t)slot + 1, sizeof *self->places) ||
        adl_grow((void **)&self->lane_left, &self->lane_capacity, (size_t)state->queue.lane_count + 1,
                 sizeof *self->lane_left))
        self->failed = true;
    else
        self->places[slot] = (struct place){.opening.start_us = INT64_MAX, .rest_us = adl_rest_us(state, slot)};
    return state->jobs[slot].submit_us;
}

/* Learns from a job that completed in its first attempt. */
static void learn(struct adlro *self, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    if (job->phase != ADL_PHASE_RUNNING || job->attempts != 1 || event->outcome.end != ADL_END_COMPLETED ||
        event->time_us <= job->start_us || job->expected_us <= job->start_us)
        return;
    const double run_us = (double)(event->time_us - job->start_us);
    const bool across = job->spec.gpus > 1 && adl_state_spans_nodes(state, event->job);
    adl_corrections_learn(self->corrections, &job->spec, job->type, across,
                          adl_log(run_us) - adl_log((double)(job->expected_us - job->start_us)));
    self->typical_us = self->typical_us > 0 ? self->typical_us + TYPICAL_SHARE * (run_us - self->typical_us) : run_us;
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct adlro *self = policy;
    if (event->kind != ADL_EVENT_FINISH && event->kind != ADL_EVENT_EVICT)
        return;
    if (event->kind == ADL_EVENT_FINISH) {
        learn(self, event, state);
        adl_moves_forget(&self->moves, event->job);
    }
    adl_free_profile_forget_job(self->profile, state, event->job);
}

/* ---- the order ---- */

static double score_of(struct adlro *self, const struct adl_state *state, uint32_t slot)
{
    struct place *place = &self->places[slot];
    const double wait_us = (double)adl_state_waited_us(state, slot), rest_us = place->rest_us + 1;
    const double waits = wait_us / rest_us, score = (1 + waits * waits) / (rest_us * state->jobs[slot].spec.gpus);
    place->guarded = self->tail_guard > 0 && wait_us > self->tail_guard * (self->typical_us + rest_us);
    return place->guarded ? wait_us / (self->typical_us + rest_us) * 1e12 : score; /* scores are below 1e6 / us */
}

static bool before(const struct adl_state *state, const struct ranked *a, const struct ranked *b)
{
    return a->score > b->score ||
           (a->score == b->score && adl_order_before(&state->queue.nodes[a->slot], &state->queue.nodes[b->slot]));
}

static void sift(const struct adl_state *state, struct ranked *heap, uint32_t count, uint32_t at)
{
    const struct ranked item = heap[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && before(state, &heap[child + 1], &heap[child]);
        if (!before(state, &heap[child], &item))
            break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

static bool starts(const struct adl_plan *plan, uint32_t slot)
{
    for (uint32_t i = 0; i < plan->command_count; i++)
        if (plan->commands[i].job == slot)
            return true;
    return false;
}

/* All waiting jobs that the plan does not start yet, as a heap with the first in rank on top; returns their number. */
static uint32_t gather(struct adlro *self, const struct adl_state *state, const struct adl_plan *plan)
{
    const struct adl_queue *queue = &state->queue;
    uint32_t count = 0;
    for (uint32_t i = 0; i < queue->heap_count; i++)
        for (uint32_t s = queue->lanes[queue->heap[i]].jobs.first; s != ADL_NONE; s = queue->nodes[s].next)
            if (!starts(plan, s))
                self->ranked[count++] = (struct ranked){score_of(self, state, s), s};
    for (uint32_t i = count / 2; i-- > 0;)
        sift(state, self->ranked, count, i);
    return count;
}

static uint32_t pop(struct adlro *self, const struct adl_state *state, uint32_t *count)
{
    const uint32_t slot = self->ranked[0].slot;
    self->ranked[0] = self->ranked[--*count];
    if (*count > 0)
        sift(state, self->ranked, *count, 0);
    return slot;
}

/* ---- the plan ---- */

static double price_of(const struct adlro *self, const struct adl_state *state, uint32_t slot, uint32_t type)
{
    return self->places[slot].guarded ? 0 : self->price_weight * self->prices.of[type] * state->jobs[slot].spec.gpus;
}

static void note_now(struct place *place, uint32_t type, double cost_us)
{
    if (place->now_type != ADL_NONE && place->now_cost_us <= cost_us)
        return;
    place->now_type = type;
    place->now_cost_us = cost_us;
}

/* Finds the cheapest opening of all types. */
static void choose(struct adlro *self, const struct adl_state *state, uint32_t slot)
{
    struct place *place = &self->places[slot];
    const double delay_weight = self->guards ? HUGE_VAL : self->delay_weight;
    *place = (struct place){.opening.start_us = INT64_MAX,
                            .now_type = ADL_NONE,
                            .rest_us = adl_rest_us(state, slot),
                            .guarded = place->guarded};
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        struct adl_opening opening;
        adl_free_profile_find(self->profile, slot, place->rest_us, type, delay_weight, &opening);
        if (opening.start_us == INT64_MAX)
            continue;
        const double cost_us = adl_opening_wait_us(&opening, state->now_us, delay_weight) +
                               (double)opening.run_us * (1 + price_of(self, state, slot, type));
        if (opening.start_us == state->now_us)
            note_now(place, type, cost_us);
        if (place->opening.start_us == INT64_MAX || cost_us < place->cost_us) {
            place->next_cost_us = place->cost_us;
            place->opening = opening;
            place->type = type;
            place->cost_us = cost_us;
        } else if (place->next_cost_us == 0 || cost_us < place->next_cost_us) {
            place->next_cost_us = cost_us;
        }
    }
}

/* The job that waits for the GPUs that a start takes: the first one planned there. */
static uint32_t delayed_by(const struct adlro *self, const struct adl_state *state, const struct place *place)
{
    uint32_t found = ADL_NONE;
    const struct adl_bank *banks = state->cluster->banks;
    for (uint32_t i = 0; i < self->planned_count; i++) {
        const struct place *other = &self->places[self->planned[i]];
        const bool here = place->opening.bank == ADL_NONE || other->opening.bank == ADL_NONE
                              ? other->type == place->type
                              : banks[other->opening.bank].node == banks[place->opening.bank].node;
        if (here && (found == ADL_NONE || other->opening.start_us < self->places[found].opening.start_us))
            found = self->planned[i];
    }
    return found;
}

/* Starts a job at the place that was chosen for it. */
static int start(struct adlro *self, const struct adl_state *state, uint32_t slot, struct adl_plan *plan)
{
    const struct place *place = &self->places[slot];
    uint32_t *gpus = adl_plan_gpus(plan, state->jobs[slot].spec.gpus);
    if (!gpus || !adl_free_profile_take(self->profile, slot, place->type, &place->opening, gpus) ||
        adl_plan_start(plan, slot, state->jobs[slot].spec.gpus))
        return ADL_EREFUSED;
    struct adl_reason reason = adl_reason_make(ADL_RULE_PLANNED, self->planned_count > 0 ? self->planned[0] : ADL_NONE,
                                               place->cost_us * 1e-6, place->next_cost_us * 1e-6);
    reason.passed = self->planned_count > 0;
    if (place->opening.delay_us > 0)
        reason = adl_reason_make(ADL_RULE_DELAYS, delayed_by(self, state, place), place->cost_us * 1e-6,
                                 (double)place->opening.delay_us * 1e-6);
    adl_plan_because(plan, reason);
    return 0;
}

/* The job starts if its cheapest place is free now, else it keeps that place. */
static int plan_job(struct adlro *self, const struct adl_state *state, uint32_t slot, struct adl_plan *plan)
{
    const struct place *place = &self->places[slot];
    choose(self, state, slot);
    if (place->opening.start_us == state->now_us)
        return start(self, state, slot, plan);
    if (place->opening.start_us == INT64_MAX)
        return 0;
    adl_free_profile_take(self->profile, slot, place->type, &place->opening, NULL);
    self->planned[self->planned_count++] = slot;
    self->guards |= place->guarded;
    self->waits[place->type]++;
    if (place->opening.start_us > self->last_us[place->type])
        self->last_us[place->type] = place->opening.start_us;
    return 0;
}

/* The cost of a job on a type where it would wait at least as long as all planned there. */
static double cost_behind(const struct adlro *self, const struct adl_state *state, uint32_t slot, uint32_t type)
{
    const int64_t wait_us = self->last_us[type] > state->now_us ? self->last_us[type] - state->now_us : 0;
    const double run_us = self->places[slot].rest_us * adl_rest_factor(self->corrections, state, slot, type, false);
    return (double)wait_us + run_us * (1 + price_of(self, state, slot, type));
}

/* A job behind the planned ones starts if it delays none of them and would be served no better behind them. */
static int try_leftover(struct adlro *self, const struct adl_state *state, uint32_t slot, struct adl_plan *plan)
{
    struct place *place = &self->places[slot];
    struct adl_opening best = {.start_us = INT64_MAX};
    *place = (struct place){.opening.start_us = INT64_MAX, .now_type = ADL_NONE, .rest_us = place->rest_us};
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        struct adl_opening opening = {.start_us = INT64_MAX};
        double cost_us = cost_behind(self, state, slot, type);
        if (adl_free_profile_free_now(self->profile, type) >= state->jobs[slot].spec.gpus)
            adl_free_profile_find(self->profile, slot, place->rest_us, type, HUGE_VAL, &opening);
        const bool now = opening.start_us == state->now_us;
        if (now)
            cost_us = (double)opening.run_us * (1 + price_of(self, state, slot, type));
        if (place->cost_us == 0 || cost_us < place->cost_us) {
            place->next_cost_us = place->cost_us;
            place->cost_us = cost_us;
            place->type = type;
            best = now ? opening : (struct adl_opening){.start_us = INT64_MAX};
        } else if (place->next_cost_us == 0 || cost_us < place->next_cost_us) {
            place->next_cost_us = cost_us;
        }
    }
    if (best.start_us == INT64_MAX)
        return 0;
    place->opening = best;
    return start(self, state, slot, plan) ? ADL_EREFUSED : 1;
}

static bool room_for(const struct adlro *self, const struct adl_state *state, uint32_t slot)
{
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1)
        if (adl_free_profile_free_now(self->profile, (uint32_t)__builtin_ctz(left)) >= state->jobs[slot].spec.gpus)
            return true;
    return false;
}

/* The jobs behind the planned ones, in order of rank; a lane is left at its first job that does not start. */
static int plan_leftover(struct adlro *self, const struct adl_state *state, uint32_t left, struct adl_plan *plan)
{
    for (uint32_t n = 0; n < LEFTOVER_MAX && left > 0; n++) {
        const uint32_t slot = pop(self, state, &left), lane = state->jobs[slot].lane;
        if (self->lane_left[lane] == self->decision)
            continue;
        const int started = room_for(self, state, slot) ? try_leftover(self, state, slot, plan) : 0;
        if (started < 0)
            return started;
        if (!started)
            self->lane_left[lane] = self->decision;
    }
    return 0;
}

static bool any_free(const struct adlro *self, const struct adl_state *state)
{
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        if (adl_free_profile_free_now(self->profile, t) > 0)
            return true;
    return false;
}

/* Jobs that no place was looked for are counted as if they wanted the same types as those planned. */
static void update_prices(struct adlro *self, const struct adl_state *state, uint32_t unplanned)
{
    const double more = self->planned_count > 0 ? 1 + (double)unplanned / self->planned_count : 1;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        self->waits[t] *= more;
    adl_type_prices_update(&self->prices, state->cluster, self->waits);
}

static bool is_settled(const struct adlro *self, const struct adl_state *state)
{
    return self->settled_us == state->now_us && self->settled_releases == state->releases &&
           self->settled_sequence == state->queue.next_sequence;
}

static void begin(struct adlro *self, const struct adl_state *state)
{
    self->settled_us = state->now_us;
    self->settled_releases = state->releases;
    self->settled_sequence = state->queue.next_sequence;
    self->decision++;
    self->planned_count = 0;
    self->guards = false;
    memset(self->waits, 0, sizeof self->waits);
    memset(self->last_us, 0, sizeof self->last_us);
    adl_free_profile_begin(self->profile, state);
}

/* Jobs that have stopped to move start first, on the GPUs that were held for them. */
static int finish_moves(struct adlro *self, const struct adl_state *state, struct adl_plan *plan)
{
    struct adl_move starts[ADL_MOVES_MAX];
    const uint32_t count = adl_moves_hold(&self->moves, state, self->profile, starts);
    for (uint32_t i = 0; i < count; i++) {
        struct place *place = &self->places[starts[i].slot];
        *place = (struct place){.opening = starts[i].target,
                                .type = starts[i].type,
                                .now_type = ADL_NONE,
                                .cost_us = (double)starts[i].target.run_us,
                                .rest_us = place->rest_us};
        if (start(self, state, starts[i].slot, plan))
            return ADL_EREFUSED;
    }
    return 0;
}

static int plan_queue(struct adlro *self, const struct adl_state *state, struct adl_plan *plan)
{
    uint32_t left = gather(self, state, plan);
    for (uint32_t n = 0; n < self->planned_max && left > 0; n++)
        if (plan_job(self, state, pop(self, state, &left), plan))
            return ADL_EREFUSED;
    update_prices(self, state, left);
    return left > 0 && any_free(self, state) ? plan_leftover(self, state, left, plan) : 0;
}

static int move_jobs(struct adlro *self, const struct adl_state *state, struct adl_plan *plan)
{
    const struct adl_moves_view view = {.state = state,
                                        .profile = self->profile,
                                        .corrections = self->corrections,
                                        .prices = &self->prices,
                                        .price_weight = self->price_weight,
                                        .switch_us = self->switch_us};
    return self->may_move && any_free(self, state) ? adl_moves_decide(&self->moves, &view, plan) : 0;
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct adlro *self = policy;
    if (self->failed)
        return ADL_ENOMEM;
    if ((state->queue.count == 0 && !self->may_move) || is_settled(self, state))
        return 0;
    begin(self, state);
    if (!any_free(self, state))
        return 0;
    int status = finish_moves(self, state, plan);
    if (status == 0 && state->queue.count > plan->command_count)
        status = plan_queue(self, state, plan);
    return status == 0 ? move_jobs(self, state, plan) : status;
}

static void explain(void *policy, const struct adl_state *state, uint32_t slot, char *ret, size_t size)
{
    const struct adlro *self = policy;
    const struct place *place = &self->places[slot];
    if (place->opening.start_us == INT64_MAX || place->opening.start_us <= state->now_us) {
        adl_reason_waiting(state, slot, ret, size);
        return;
    }
    const char *type = state->cluster->types[place->type].name;
    char until[ADL_REASON_FIGURE_SIZE], gain[ADL_REASON_FIGURE_SIZE];
    adl_reason_time((double)(place->opening.start_us - state->now_us) * 1e-6, until);
    if (place->now_type == ADL_NONE || place->now_type == place->type) {
        snprintf(ret, size, "plan: it waits for %s, planned to start in %s", type, until);
        return;
    }
    adl_reason_time((place->now_cost_us - place->cost_us) * 1e-6, gain);
    snprintf(ret, size, "plan: it waits for %s, planned to start in %s: %s cheaper than to start on %s now", type,
             until, gain, state->cluster->types[place->now_type].name);
}

const struct adl_policy_ops adl_policy_adlro = {
    .name = "adlro",
    .summary = "planned places, prices for GPU types and learned speeds: a job waits for the right GPUs if that pays",
    .track_running = true,
    ADL_POLICY_OPTIONS(options, struct adlro_options),
    .create = create,
    .destroy = destroy,
    .rank = rank,
    .decide = decide,
    .observe = observe,
    .explain = explain,
};
