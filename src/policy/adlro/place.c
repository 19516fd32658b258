#include "policy/adlro/place.h"

#include "policy/mechanism/reason.h"
#include "predict/belief.h"

#include <math.h>
#include <stdio.h>

/* Of the jobs that have ended: while fewer have ended since, what is expected of a waiting job is taken to be the same.
 */
#define SAME_SHARE 0.002

static double factor_of(const struct adl_place_view *view, uint32_t slot, enum adl_rank_output output)
{
    return view->factors ? view->factors->jobs[slot].it.of[output] : 1;
}

static double price_of(const struct adl_place_view *view, const struct adl_place *place, uint32_t slot, uint32_t type)
{
    const struct adl_job_spec *spec = &view->state->jobs[slot].spec;
    const double price = view->price_weight * factor_of(view, slot, ADL_RANK_PRICES) * view->prices->of[type];
    return place->due ? 0 : price * spec->gpus + (view->energy ? adl_energy_price(view->energy, spec, type, price) : 0);
}

static double wait_weight_of(const struct adl_place_view *view, uint32_t slot)
{
    return view->wait_weight * factor_of(view, slot, ADL_RANK_WAITING) *
           (1 + (view->energy ? adl_energy_wait_price(view->energy) : 0));
}

static void note_now(struct adl_place *place, uint32_t type, double cost_us)
{
    if (place->now_type != ADL_NONE && place->now_cost_us <= cost_us)
        return;
    place->now_type = type;
    place->now_cost_us = cost_us;
}

static void expect(const struct adl_rank_time *rank_time, const struct adl_state *state, uint32_t slot,
                   struct adl_place *place)
{
    place->learned = state->belief ? adl_belief_count(state->belief) : 0;
    place->rest_us = adl_rest_us(state, slot);
    place->need_us = adl_rest_cost_us(state, slot);
    place->rank_us = adl_rank_time_us(rank_time, state, slot, place->rest_us);
}

struct adl_place adl_place_begin(const struct adl_rank_time *rank_time, const struct adl_state *state, uint32_t slot)
{
    struct adl_place place = {.opening.start_us = INT64_MAX};
    expect(rank_time, state, slot, &place);
    return place;
}

void adl_place_expect(const struct adl_rank_time *rank_time, const struct adl_state *state, uint32_t slot,
                      struct adl_place *place)
{
    const uint64_t learned = state->belief ? adl_belief_count(state->belief) : 0;
    if (!state->belief || learned - place->learned > (uint64_t)(SAME_SHARE * (double)learned))
        expect(rank_time, state, slot, place);
}

/* Offers a type. Types where the job cannot start now are left out if they cost more than the best so far. */
static void offer_type(const struct adl_place_view *view, const struct adl_rest_factors *factors, uint32_t type,
                       bool all, struct adl_place *place)
{
    const uint32_t slot = factors->slot;
    const struct adl_state *state = view->state;
    const double each = 1 + price_of(view, place, slot, type), wait_weight = wait_weight_of(view, slot);
    const bool any = all || place->opening.start_us == INT64_MAX ||
                     adl_free_profile_free_now(view->profile, type) >= state->jobs[slot].spec.gpus;
    struct adl_opening opening;
    adl_free_profile_find(view->profile, type,
                          &(struct adl_seek){factors, place->rest_us, view->delay_weight, each / wait_weight,
                                             any ? HUGE_VAL : place->cost_us / wait_weight},
                          &opening);
    if (opening.start_us == INT64_MAX)
        return;
    const double cost_us =
        wait_weight * adl_opening_wait_us(&opening, state->now_us, view->delay_weight) + (double)opening.run_us * each;
    if (opening.start_us == state->now_us)
        note_now(place, type, cost_us);
    if (place->opening.start_us == INT64_MAX || cost_us < place->cost_us ||
        (cost_us == place->cost_us && type < place->type)) {
        place->next_cost_us = place->cost_us;
        place->opening = opening;
        place->type = type;
        place->cost_us = cost_us;
    } else if (place->next_cost_us == 0 || cost_us < place->next_cost_us) {
        place->next_cost_us = cost_us;
    }
}

/* all: the cost on the next best type is known, too. */
static void offer_types(const struct adl_place_view *view, uint32_t slot, bool all, struct adl_place *place)
{
    const uint32_t eligible = view->state->jobs[slot].eligible, last = 1u << place->type & eligible;
    *place = (struct adl_place){.opening.start_us = INT64_MAX,
                                .type = place->type,
                                .now_type = ADL_NONE,
                                .rest_us = place->rest_us,
                                .need_us = place->need_us,
                                .rank_us = place->rank_us,
                                .learned = place->learned,
                                .rank = place->rank,
                                .due = place->due};
    const struct adl_rest_factors factors = adl_rest_factors(view->corrections, view->state, slot);
    if (last) /* likely to be the best again */
        offer_type(view, &factors, place->type, all, place);
    for (uint32_t left = eligible & ~last; left; left &= left - 1)
        offer_type(view, &factors, (uint32_t)__builtin_ctz(left), all, place);
}

void adl_place_choose(const struct adl_place_view *view, uint32_t slot, struct adl_place *place)
{
    offer_types(view, slot, false, place);
    if (place->opening.start_us == view->state->now_us && !view->reasons_unread)
        offer_types(view, slot, true, place);
}

bool adl_place_keep(const struct adl_place_view *view, uint32_t slot, struct adl_place *place)
{
    const struct adl_state *state = view->state;
    const struct adl_opening *opening = &place->opening;
    if (place->due || opening->start_us == INT64_MAX || opening->start_us <= state->now_us)
        return false;
    const double cost_us = wait_weight_of(view, slot) * (double)(opening->start_us - state->now_us) +
                           (double)opening->run_us * (1 + price_of(view, place, slot, place->type));
    const uint32_t types = adl_free_profile_room_types(view->profile, slot);
    const struct adl_rest_factors factors =
        types ? adl_rest_factors(view->corrections, state, slot) : (struct adl_rest_factors){.slot = slot};
    for (uint32_t left = types; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        if (place->rest_us * adl_rest_factor_on(&factors, type) * (1 + price_of(view, place, slot, type)) < cost_us)
            return false;
    }
    place->cost_us = cost_us;
    return true;
}

/* The cost of a job on a type where it would wait at least as long as all planned there. */
static double cost_behind(const struct adl_place_view *view, const struct adl_place *place,
                          const struct adl_rest_factors *factors, uint32_t type, int64_t last_us)
{
    const int64_t wait_us = last_us > view->state->now_us ? last_us - view->state->now_us : 0;
    const double run_us = place->rest_us * adl_rest_factor_on(factors, type);
    return (double)wait_us + run_us * (1 + price_of(view, place, factors->slot, type));
}

void adl_place_leftover(const struct adl_place_view *view, uint32_t slot, const int64_t *last_us,
                        struct adl_place *place)
{
    const struct adl_state *state = view->state;
    *place = (struct adl_place){.opening.start_us = INT64_MAX,
                                .now_type = ADL_NONE,
                                .rest_us = place->rest_us,
                                .need_us = place->need_us,
                                .rank_us = place->rank_us,
                                .learned = place->learned,
                                .rank = place->rank};
    const struct adl_rest_factors factors = adl_rest_factors(view->corrections, state, slot);
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        struct adl_opening opening = {.start_us = INT64_MAX};
        double cost_us = cost_behind(view, place, &factors, type, last_us[type]);
        if (adl_free_profile_free_now(view->profile, type) >= state->jobs[slot].spec.gpus)
            adl_free_profile_find_now(view->profile, &factors, type, place->rest_us, &opening);
        const bool now = opening.start_us == state->now_us;
        if (now)
            cost_us = (double)opening.run_us * (1 + price_of(view, place, slot, type));
        if (place->cost_us == 0 || cost_us < place->cost_us) {
            place->next_cost_us = place->cost_us;
            place->cost_us = cost_us;
            place->type = type;
            place->opening = now ? opening : (struct adl_opening){.start_us = INT64_MAX};
        } else if (place->next_cost_us == 0 || cost_us < place->next_cost_us) {
            place->next_cost_us = cost_us;
        }
    }
}

/* The job that waits for the GPUs that a start at a place takes: the first one planned there, or ADL_NONE. */
static uint32_t delayed_by(const struct adl_state *state, const struct adl_place *place, const struct adl_place *places,
                           const uint32_t *planned, uint32_t count)
{
    uint32_t found = ADL_NONE;
    const struct adl_bank *banks = state->cluster->banks;
    for (uint32_t i = 0; i < count; i++) {
        const struct adl_place *other = &places[planned[i]];
        const bool here = place->opening.bank == ADL_NONE || other->opening.bank == ADL_NONE
                              ? other->type == place->type
                              : banks[other->opening.bank].node == banks[place->opening.bank].node;
        if (here && (found == ADL_NONE || other->opening.start_us < places[found].opening.start_us))
            found = planned[i];
    }
    return found;
}

struct adl_reason adl_place_reason(const struct adl_state *state, uint32_t slot, const struct adl_place *places,
                                   const uint32_t *planned, uint32_t count, const struct adl_due *due, uint32_t ranked)
{
    const struct adl_place *place = &places[slot];
    const uint32_t first = count > 0 ? planned[0] : ADL_NONE;
    struct adl_reason reason =
        adl_reason_make(ADL_RULE_PLANNED, first, place->cost_us * 1e-6, place->next_cost_us * 1e-6);
    reason.passed = first != ADL_NONE;
    const uint32_t delayed = place->opening.delay_us > 0 ? delayed_by(state, place, places, planned, count) : ADL_NONE;
    if (delayed != ADL_NONE) { /* else a job that moves: it keeps what it holds */
        reason = adl_reason_make(ADL_RULE_DELAYS, delayed, reason.value, reason.against);
        reason.delay_s = (double)place->opening.delay_us * 1e-6;
    }
    for (uint32_t i = 0; place->due && i < due->count; i++)
        if (due->slots[i] == slot)
            reason = adl_reason_make(ADL_RULE_DUE, ADL_NONE, due->late_us[i] * 1e-6, due->slack_us[i] * 1e-6);
    reason.rank = place->rank;
    reason.ranked = ranked;
    return reason;
}

void adl_place_explain(const struct adl_place *place, uint32_t ranked, const struct adl_state *state, uint32_t slot,
                       char *ret, size_t size)
{
    if (place->opening.start_us == INT64_MAX || place->opening.start_us <= state->now_us) {
        adl_reason_waiting(state, slot, ret, size);
        return;
    }
    const char *type = state->cluster->types[place->type].name;
    char until[ADL_REASON_FIGURE_SIZE], gain[ADL_REASON_FIGURE_SIZE];
    adl_reason_time((double)(place->opening.start_us - state->now_us) * 1e-6, until);
    if (place->now_type == ADL_NONE || place->now_type == place->type) {
        snprintf(ret, size, "plan: it waits for %s, planned to start in %s if no other comes first; rank %u of %u",
                 type, until, place->rank, ranked);
        return;
    }
    adl_reason_time((place->now_cost_us - place->cost_us) * 1e-6, gain);
    snprintf(ret, size,
             "plan: it waits for %s, planned to start in %s if no other comes first: %s cheaper than to start on %s "
             "now; rank %u of %u",
             type, until, gain, state->cluster->types[place->now_type].name, place->rank, ranked);
}
