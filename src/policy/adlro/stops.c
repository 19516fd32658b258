#include "policy/adlro/stops.h"

#include "policy/adlro/ranking.h"
#include "state/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_AT 32 /* running jobs of each type, those that are predicted to end last */

/* Of the time that a running job has left: so long that is taken to be the same. Of the cost of a waiting job's place:
 * so long nobody is looked for again whose GPUs it could take. */
#define KEPT_SHARE 0.0625

/* Run time that a victim needs for each of its attempts, relative to the job that it is stopped for. */
#define LEAST_RATIO 1.5

/* Its rank, relative to that which the victim would have. */
#define LEAST_RANK 2

/* Running jobs of one bank that may be stopped, those that need most run time first. */
struct victims {
    struct victim {
        uint32_t slot, gpus; /* gpus: in this bank */
        double need_us;
    } list[ADL_BANK_GPUS_MAX];
    uint32_t count;
};

/* Where a waiting job would run. */
struct capture {
    struct victims victims;
    uint32_t bank; /* ADL_NONE: nowhere */
    int64_t run_us;
    double need_us; /* run time that a completion costs there */
    double cost_us; /* without what its victims lose */
    double share;   /* its need relative to that of its victims: less is better */
};

/* For whom a capture is looked for. */
struct search {
    struct adl_stops *stops;
    const struct adl_moves_view *view;
    uint32_t slot;
    const struct adl_place *place;
    double score; /* its rank */
};

int adl_stops_create(struct adl_stops *ret, const struct adl_cluster *cluster)
{
    *ret = (struct adl_stops){.seen = calloc((size_t)cluster->bank_count + 1, sizeof *ret->seen),
                              .needs = calloc((size_t)cluster->gpu_count + 1, sizeof *ret->needs),
                              .gpus = cluster->gpu_count};
    return ret->seen && ret->needs ? 0 : ADL_ENOMEM;
}

void adl_stops_copy(struct adl_stops *to, const struct adl_stops *from)
{
    memcpy(to->needs, from->needs, from->gpus * sizeof *to->needs);
    memcpy(to->tried, from->tried, sizeof to->tried);
    memcpy(to->least, from->least, sizeof to->least);
    to->least_count = from->least_count;
}

void adl_stops_clear(struct adl_stops *stops)
{
    free(stops->seen);
    free(stops->needs);
    *stops = (struct adl_stops){0};
}

/* Run time that a running job needs to complete where it is. */
static double left_us(const struct adl_moves_view *view, uint32_t slot)
{
    const struct adl_job *job = &view->state->jobs[slot];
    const bool across = job->spec.gpus > 1 && adl_state_spans_nodes(view->state, slot);
    return adl_rest_cost_us(view->state, slot) *
           adl_rest_factor(view->corrections, view->state, slot, job->type, across);
}

/* The same, as it was a short while ago: the belief takes its time. */
static double known_left_us(const struct search *search, uint32_t slot)
{
    const struct adl_state *state = search->view->state;
    const struct adl_job *job = &state->jobs[slot];
    struct adl_stop_need *need = &search->stops->needs[job->first_gpu];
    if (need->slot == slot && need->start_us == job->start_us && state->now_us < need->until_us)
        return need->left_us;
    const double left = left_us(search->view, slot);
    *need = (struct adl_stop_need){slot, job->start_us, state->now_us + 1 + (int64_t)(KEPT_SHARE * left), left};
    return left;
}

void adl_stops_begin(struct adl_stops *stops)
{
    stops->least_count = 0;
}

void adl_stops_offer(struct adl_stops *stops, const struct adl_place *places, uint32_t slot)
{
    const double own_us = places[slot].need_us;
    uint32_t *least = stops->least, at = stops->least_count;
    if (at == ADL_STOPS_WAITING && !(own_us < places[least[--at]].need_us))
        return;
    stops->least_count += at == stops->least_count;
    for (; at > 0 && own_us < places[least[at - 1]].need_us; at--)
        least[at] = least[at - 1];
    least[at] = slot;
}

/* Run time that a running job with left_us to go needs to complete, less the price of a stop. */
static double need_us(const struct search *search, uint32_t slot, double left)
{
    const struct adl_moves_view *view = search->view;
    return left - (double)adl_stop_price_us(view->state, slot, view->switch_us, view->stop_margin);
}

static void add_victim(struct victims *victims, uint32_t slot, double need)
{
    uint32_t at = victims->count++;
    for (; at > 0 && victims->list[at - 1].need_us < need; at--)
        victims->list[at] = victims->list[at - 1];
    victims->list[at] = (struct victim){.slot = slot, .gpus = 1, .need_us = need};
}

static struct victim *find_victim(struct victims *victims, uint32_t slot)
{
    for (uint32_t v = 0; v < victims->count; v++)
        if (victims->list[v].slot == slot)
            return &victims->list[v];
    return NULL;
}

/* The victim would wait behind the job, with room to spare: else it would start again before long. */
static bool outranks(const struct search *search, uint32_t victim, double left)
{
    const struct adl_job *its = &search->view->state->jobs[victim];
    const double waited_us = (double)(its->start_us - its->submit_us - its->attained_us);
    return search->score > LEAST_RANK * adl_ranking_score(waited_us, left, adl_ranking_size(&its->spec));
}

static void list_victims(const struct search *search, uint32_t bank, double least_us, struct victims *ret)
{
    const struct adl_state *state = search->view->state;
    const struct adl_bank *it = &state->cluster->banks[bank];
    uint32_t refused = ADL_NONE; /* the last one: its other GPUs are mostly the next */
    ret->count = 0;
    for (uint32_t gpu = it->gpu_first; gpu < it->gpu_first + it->gpu_count; gpu++) {
        const struct adl_gpu_use *use = &state->gpus[gpu];
        if (use->down || use->job[0] == ADL_NONE || use->job[0] == refused || use->job[1] != ADL_NONE ||
            !adl_moves_may_stop(state, use->job[0]) || adl_due_holds(search->view->due, state, use->job[0]))
            continue;
        struct victim *known = find_victim(ret, use->job[0]);
        if (known) {
            known->gpus++;
            continue;
        }
        const double left = known_left_us(search, use->job[0]), need = need_us(search, use->job[0], left);
        if (need > least_us * state->jobs[use->job[0]].attempts && outranks(search, use->job[0], left))
            add_victim(ret, use->job[0], need);
        else
            refused = use->job[0];
    }
}

static bool suffices(const struct adl_room *room, const struct adl_job_spec *spec)
{
    return room->gpus >= spec->gpus && room->cores >= (int64_t)spec->cpu_cores * spec->gpus &&
           room->memory_mib >= (int64_t)spec->memory_mib * spec->gpus;
}

/* Adds what a victim holds of the bank and its node, or takes it away again (sign -1). */
static void add_room(const struct adl_state *state, const struct victim *victim, int sign, struct adl_room *room)
{
    const struct adl_job_spec *its = &state->jobs[victim->slot].spec;
    const int64_t gpus = sign * (int64_t)victim->gpus;
    room->gpus += gpus;
    room->cores += its->cpu_cores * gpus;
    room->memory_mib += its->memory_mib * gpus;
}

/* Keeps the first victims that make room for the job, without those that the later ones made needless; false if all do
 * not make room. */
static bool keep_victims(const struct adl_moves_view *view, uint32_t slot, uint32_t bank, struct victims *victims)
{
    const struct adl_state *state = view->state;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    struct adl_room room = adl_free_profile_room(view->profile, bank);
    uint32_t count = 0;
    while (count < victims->count && !suffices(&room, spec))
        add_room(state, &victims->list[count++], 1, &room);
    victims->count = count;
    if (count == 0 || !suffices(&room, spec))
        return false;
    for (uint32_t v = count - 1; v-- > 0;) {
        struct adl_room without = room;
        add_room(state, &victims->list[v], -1, &without);
        if (!suffices(&without, spec))
            continue;
        room = without;
        memmove(&victims->list[v], &victims->list[v + 1], (--victims->count - v) * sizeof *victims->list);
    }
    return true;
}

/* Offers a bank: it is the best so far if the job gains there more than its victims lose, and they need most. */
static void offer_bank(const struct search *search, uint32_t bank, struct capture *offer, struct capture *best)
{
    const struct adl_moves_view *view = search->view;
    double cost_us = offer->cost_us;
    list_victims(search, bank, LEAST_RATIO * offer->need_us, &offer->victims);
    if (!keep_victims(view, search->slot, bank, &offer->victims))
        return;
    offer->share = 0;
    for (uint32_t v = 0; v < offer->victims.count; v++) {
        const struct victim *victim = &offer->victims.list[v];
        cost_us += offer->need_us + (double)adl_stop_cost_us(view->state, victim->slot, view->switch_us);
        offer->share += offer->need_us / victim->need_us;
    }
    if (cost_us > search->place->cost_us || offer->share >= best->share)
        return;
    *best = *offer;
    best->bank = bank;
}

static void find_capture(const struct search *search, const struct adl_moves *moves, struct capture *best)
{
    struct adl_stops *stops = search->stops;
    const struct adl_moves_view *view = search->view;
    const struct adl_state *state = view->state;
    const struct adl_job *job = &state->jobs[search->slot];
    const double cost_us = search->place->need_us;
    struct capture offer;
    best->bank = ADL_NONE;
    best->share = HUGE_VAL;
    stops->search++;
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        const double factor = adl_rest_factor(view->corrections, state, search->slot, type, false);
        uint32_t looked_at = 0;
        offer.run_us = 1 + (int64_t)(search->place->rest_us * factor);
        offer.need_us = cost_us * factor;
        offer.cost_us = adl_moves_cost_us(view, search->slot, type, offer.need_us);
        if (offer.cost_us + cost_us * factor + (double)view->switch_us > search->place->cost_us)
            continue; /* whomever it stops, it gains too little */
        for (uint32_t s = state->running[type].last; s != ADL_NONE && looked_at < LOOKED_AT;
             s = state->nodes[s].previous, looked_at++) {
            const uint32_t bank = state->cluster->gpu_bank[state->jobs[s].first_gpu];
            if (stops->seen[bank] == stops->search || state->cluster->banks[bank].gpu_count < job->spec.gpus)
                continue;
            stops->seen[bank] = stops->search;
            if (!adl_moves_hold_in(moves, state->cluster, state->cluster->banks[bank].node))
                offer_bank(search, bank, &offer, best);
        }
    }
}

static int stop_victims(const struct capture *capture, uint32_t slot, struct adl_plan *plan)
{
    for (uint32_t v = 0; v < capture->victims.count; v++) {
        const struct victim *victim = &capture->victims.list[v];
        if (adl_plan_preempt(plan, victim->slot))
            return ADL_EREFUSED;
        adl_plan_because(plan,
                         adl_reason_make(ADL_RULE_FOR_SHORTER, slot, victim->need_us * 1e-6, capture->need_us * 1e-6));
    }
    return 0;
}

/* A job that found nobody does not look again at every event. */
static bool was_tried(const struct adl_stops *stops, const struct adl_state *state, uint32_t slot, double cost_us)
{
    for (uint32_t i = 0; i < ADL_STOPS_WAITING; i++) {
        const struct adl_stop_try *it = &stops->tried[i];
        if (it->slot == slot && it->submit_us == state->jobs[slot].submit_us && state->now_us < it->until_us)
            return cost_us <= it->cost_us;
    }
    return false;
}

static void note_try(struct adl_stops *stops, const struct adl_state *state, uint32_t slot, double cost_us)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < ADL_STOPS_WAITING; i++)
        oldest = stops->tried[i].until_us < stops->tried[oldest].until_us ? i : oldest;
    for (uint32_t i = 0; i < ADL_STOPS_WAITING; i++)
        oldest = stops->tried[i].slot == slot ? i : oldest;
    stops->tried[oldest] =
        (struct adl_stop_try){slot, state->jobs[slot].submit_us, state->now_us + 1 + (int64_t)(KEPT_SHARE * cost_us),
                              cost_us * (1 + KEPT_SHARE)};
}

int adl_stops_decide(struct adl_stops *stops, struct adl_moves *moves, const struct adl_moves_view *view,
                     const uint32_t *waiting, uint32_t count, const struct adl_place *places, struct adl_plan *plan)
{
    const struct adl_state *state = view->state;
    for (uint32_t i = 0; i < count && moves->count < ADL_MOVES_MAX; i++) {
        const uint32_t slot = waiting[i];
        struct capture best;
        if (was_tried(stops, state, slot, places[slot].cost_us))
            continue;
        const double score = adl_ranking_score((double)adl_state_waited_us(state, slot), places[slot].need_us,
                                               adl_ranking_size(&state->jobs[slot].spec));
        find_capture(&(struct search){stops, view, slot, &places[slot], score}, moves, &best);
        if (best.bank == ADL_NONE) {
            note_try(stops, state, slot, places[slot].cost_us);
            continue;
        }
        moves->list[moves->count++] = (struct adl_move){
            slot, state->cluster->banks[best.bank].type, {.run_us = best.run_us, .bank = best.bank}, true};
        return stop_victims(&best, slot, plan) ? ADL_EREFUSED : 1;
    }
    return 0;
}
