#include "policy/adlro/chains.h"

#include <stdlib.h>

#define LOOKED_AT  8    /* waiting jobs, the first in rank */
#define LEAST_GAIN 0.05 /* of the cost of the waiting job at its planned place */

/* The best chain for one waiting job. */
struct chain {
    const struct adl_relocation *away; /* of the running job; NULL: there is no chain that pays */
    uint32_t bank;                     /* that it leaves */
    int64_t run_us;
    double saved_us, lost_us; /* by the waiting job; by the running one */
};

int adl_chains_create(struct adl_chains *ret, const struct adl_cluster *cluster)
{
    *ret = (struct adl_chains){.known = calloc((size_t)cluster->gpu_count + 1, sizeof *ret->known)};
    return ret->known ? 0 : ADL_ENOMEM;
}

void adl_chains_clear(struct adl_chains *chains)
{
    free(chains->known);
    *chains = (struct adl_chains){0};
}

/* Where a running job could go, computed once in a search; NULL: nowhere. */
static const struct adl_relocation *relocation_of(struct adl_chains *chains, const struct adl_moves_view *view,
                                                  uint32_t slot)
{
    struct adl_known_relocation *known = &chains->known[view->state->jobs[slot].first_gpu];
    if (known->search != chains->search) {
        known->search = chains->search;
        known->found = adl_moves_find(view, slot, &known->it);
    }
    return known->found ? &known->it : NULL;
}

/* Its GPUs, all in one bank, and what its node has beside them suffice for the waiting job. */
static bool makes_room(const struct adl_moves_view *view, const struct adl_moves *moves, uint32_t slot,
                       const struct adl_job_spec *waiting)
{
    const struct adl_state *state = view->state;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    const uint32_t bank = state->cluster->gpu_bank[state->jobs[slot].first_gpu];
    if (spec->gpus < waiting->gpus || !adl_moves_may_stop(state, slot) ||
        (spec->gpus > 1 && adl_state_spans_nodes(state, slot)) || adl_state_neighbour(state, slot) != ADL_NONE ||
        adl_moves_hold_in(moves, state->cluster, state->cluster->banks[bank].node))
        return false;
    const struct adl_room room = adl_free_profile_room(view->profile, bank);
    return room.cores + (int64_t)spec->cpu_cores * spec->gpus >= (int64_t)waiting->cpu_cores * waiting->gpus &&
           room.memory_mib + (int64_t)spec->memory_mib * spec->gpus >= (int64_t)waiting->memory_mib * waiting->gpus;
}

/* Looks at running jobs of a type on which the waiting job would save that much. */
static void find_on_type(struct adl_chains *chains, const struct adl_moves *moves, const struct adl_moves_view *view,
                         const struct adl_job_spec *spec, uint32_t type, struct chain offer, struct chain *best)
{
    const struct adl_state *state = view->state;
    uint32_t looked_at = 0;
    for (uint32_t s = state->running[type].last; s != ADL_NONE && looked_at < ADL_MOVES_LOOKED_AT;
         s = state->nodes[s].previous, looked_at++) {
        if (!makes_room(view, moves, s, spec))
            continue;
        offer.away = relocation_of(chains, view, s);
        if (!offer.away)
            continue;
        offer.lost_us = offer.away->there_us - offer.away->here_us + offer.away->margin_us;
        if (offer.saved_us - offer.lost_us <= best->saved_us - best->lost_us)
            continue;
        offer.bank = state->cluster->gpu_bank[state->jobs[s].first_gpu];
        *best = offer;
    }
}

static void find_chain(struct adl_chains *chains, const struct adl_moves *moves, const struct adl_moves_view *view,
                       uint32_t slot, const struct adl_place *place, struct chain *best)
{
    const struct adl_job *job = &view->state->jobs[slot];
    *best = (struct chain){.away = NULL};
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        const double run_us = place->rest_us * adl_rest_factor(view->corrections, view->state, slot, type, false);
        const double cost_us = (double)view->switch_us + adl_moves_cost_us(view, slot, type, run_us);
        const struct chain offer = {.run_us = 1 + (int64_t)run_us,
                                    .saved_us = place->cost_us * (1 - LEAST_GAIN) - cost_us};
        if (offer.saved_us > best->saved_us - best->lost_us)
            find_on_type(chains, moves, view, &job->spec, type, offer, best);
    }
}

static int begin_chain(struct adl_moves *moves, const struct adl_moves_view *view, const struct chain *chain,
                       uint32_t slot, struct adl_plan *plan)
{
    const struct adl_reason reason =
        adl_reason_make(ADL_RULE_MOVES_FOR, slot, chain->saved_us * 1e-6, chain->lost_us * 1e-6);
    if (adl_moves_begin(moves, view, &chain->away->move, reason, plan))
        return ADL_EREFUSED;
    moves->list[moves->count++] = (struct adl_move){
        slot, view->state->cluster->banks[chain->bank].type, {.run_us = chain->run_us, .bank = chain->bank}, true};
    return 0;
}

int adl_chains_decide(struct adl_chains *chains, struct adl_moves *moves, const struct adl_moves_view *view,
                      const uint32_t *waiting, uint32_t count, const struct adl_place *places, struct adl_plan *plan)
{
    int begun = 0;
    chains->search++;
    for (uint32_t i = 0; i < count && i < LOOKED_AT && moves->count + 2 <= ADL_MOVES_MAX; i++) {
        struct chain best;
        find_chain(chains, moves, view, waiting[i], &places[waiting[i]], &best);
        if (!best.away)
            continue;
        if (begin_chain(moves, view, &best, waiting[i], plan))
            return ADL_EREFUSED;
        begun++;
        chains->search++; /* less is free now */
    }
    return begun;
}
