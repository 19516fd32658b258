#include "policy/adlro/moves.h"

#include "state/stop.h"

#include <math.h>

#define LEAST_GAIN 0.05 /* of the cost where it is */

bool adl_moves_hold_in(const struct adl_moves *moves, const struct adl_cluster *cluster, uint32_t node)
{
    for (uint32_t i = 0; i < moves->count; i++)
        if (cluster->banks[moves->list[i].target.bank].node == node)
            return true;
    return false;
}

void adl_moves_forget(struct adl_moves *moves, uint32_t slot)
{
    for (uint32_t i = 0; i < moves->count; i++)
        if (moves->list[i].slot == slot)
            moves->list[i--] = moves->list[--moves->count];
}

/* A job that holds GPUs of the bank is being stopped. */
static bool is_leaving(const struct adl_state *state, uint32_t bank)
{
    const struct adl_bank *it = &state->cluster->banks[bank];
    for (uint32_t gpu = it->gpu_first; gpu < it->gpu_first + it->gpu_count; gpu++)
        for (uint32_t i = 0; i < ADL_GPU_JOBS_MAX && state->gpus[gpu].job[i] != ADL_NONE; i++)
            if (state->jobs[state->gpus[gpu].job[i]].phase == ADL_PHASE_STOPPING)
                return true;
    return false;
}

bool adl_moves_next_start(struct adl_moves *moves, const struct adl_state *state, struct adl_free_profile *profile,
                          struct adl_move *ret)
{
    for (uint32_t i = 0; i < moves->count; i++) {
        struct adl_move move = moves->list[i];
        if (state->jobs[move.slot].phase != ADL_PHASE_PENDING)
            continue;
        adl_free_profile_find_in(profile, move.slot, move.target.bank, move.target.run_us, &move.target);
        if (move.target.start_us != state->now_us)
            continue;
        moves->list[i] = moves->list[--moves->count];
        *ret = move;
        return true;
    }
    return false;
}

void adl_moves_hold(struct adl_moves *moves, const struct adl_state *state, struct adl_free_profile *profile)
{
    for (uint32_t i = 0; i < moves->count; i++) {
        struct adl_move *move = &moves->list[i];
        struct adl_opening opening;
        const bool pending = state->jobs[move->slot].phase == ADL_PHASE_PENDING;
        const bool leaves = pending && move->cleared && is_leaving(state, move->target.bank);
        adl_free_profile_find_in(profile, move->slot, move->target.bank, move->target.run_us, &opening);
        const bool free_now = opening.start_us == state->now_us;
        if (leaves && !free_now) /* from now on: nobody takes what is free there already */
            opening = (struct adl_opening){state->now_us + 1, move->target.run_us, 0, true, move->target.bank, 0};
        if (free_now || leaves)
            adl_free_profile_take(profile, move->slot, move->type, &opening, moves->gpus);
        if (free_now ? move->cleared : !leaves)
            moves->list[i--] = moves->list[--moves->count];
    }
}

double adl_moves_cost_us(const struct adl_moves_view *view, uint32_t slot, uint32_t type, double rest_us)
{
    const struct adl_job_spec *spec = &view->state->jobs[slot].spec;
    const double price = view->price_weight * view->prices->of[type];
    return rest_us * (1 + price * spec->gpus + (view->energy ? adl_energy_price(view->energy, spec, type, price) : 0));
}

/* Some type has GPUs free on which the rest of its run, however long, would cost less. */
static bool may_gain(const struct adl_moves_view *view, uint32_t slot)
{
    const struct adl_job *job = &view->state->jobs[slot];
    struct adl_rest_factors factors = {0};
    double here = 0;
    for (uint32_t left = job->eligible & ~(1u << job->type); left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        if (adl_free_profile_offered(view->profile, type) < job->spec.gpus)
            continue;
        const bool across = job->spec.gpus > 1 && adl_state_spans_nodes(view->state, slot);
        if (here == 0) {
            factors = adl_rest_factors(view->corrections, view->state, slot);
            here = (1 - LEAST_GAIN) * adl_moves_cost_us(view, slot, job->type, 1) *
                   adl_rest_factor(view->corrections, view->state, slot, job->type, across);
        }
        if (adl_moves_cost_us(view, slot, type, adl_rest_factor_on(&factors, type)) < here)
            return true;
    }
    return false;
}

bool adl_moves_find(const struct adl_moves_view *view, uint32_t slot, struct adl_relocation *ret)
{
    const struct adl_job *job = &view->state->jobs[slot];
    const bool across = job->spec.gpus > 1 && adl_state_spans_nodes(view->state, slot);
    const double rest_us =
        (double)(adl_rest_end_us(view->corrections, view->state, slot, view->switch_us) - view->state->now_us);
    const double lost_us = (double)adl_stop_lost_us(view->state, slot), move_us = lost_us + (double)view->switch_us;
    const double best_us =
        (rest_us + lost_us) / adl_rest_factor(view->corrections, view->state, slot, job->type, across);
    ret->here_us = adl_moves_cost_us(view, slot, job->type, rest_us);
    ret->there_us = HUGE_VAL;
    const struct adl_rest_factors factors = adl_rest_factors(view->corrections, view->state, slot);
    ret->margin_us = view->stop_margin * move_us * job->attempts;
    for (uint32_t left = job->eligible & ~(1u << job->type); left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        struct adl_opening opening;
        if (adl_free_profile_offered(view->profile, type) < job->spec.gpus)
            continue;
        const double run_us = best_us * adl_rest_factor_on(&factors, type);
        const double there_us = adl_moves_cost_us(view, slot, type, run_us) + (double)view->switch_us;
        if (there_us >= ret->there_us)
            continue;
        adl_free_profile_find_now(view->profile, &factors, type, best_us, &opening);
        if (opening.start_us != view->state->now_us || opening.bank == ADL_NONE)
            continue;
        ret->there_us = there_us;
        ret->move = (struct adl_move){slot, type, opening, false};
    }
    return ret->there_us < HUGE_VAL;
}

int adl_moves_begin(struct adl_moves *moves, const struct adl_moves_view *view, const struct adl_move *move,
                    struct adl_reason reason, struct adl_plan *plan)
{
    if (adl_plan_preempt(plan, move->slot))
        return ADL_EREFUSED;
    adl_plan_because(plan, reason);
    adl_free_profile_take(view->profile, move->slot, move->type, &move->target, moves->gpus);
    moves->list[moves->count++] = *move;
    return 0;
}

/* Moves a running job if that pays. */
static int try_move(struct adl_moves *moves, const struct adl_moves_view *view, uint32_t slot, struct adl_plan *plan)
{
    struct adl_relocation it = {0};
    if (!adl_moves_find(view, slot, &it) || it.here_us * (1 - LEAST_GAIN) <= it.there_us + it.margin_us)
        return 0;
    return adl_moves_begin(moves, view, &it.move,
                           adl_reason_make(ADL_RULE_MOVES_PLANNED, slot, it.here_us * 1e-6, it.there_us * 1e-6), plan);
}

bool adl_moves_may_stop(const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    return job->phase == ADL_PHASE_RUNNING && (job->spec.flags & ADL_JOB_PREEMPTIBLE) && job->start_us < state->now_us;
}

int adl_moves_decide(struct adl_moves *moves, const struct adl_moves_view *view, struct adl_plan *plan)
{
    const struct adl_state *state = view->state;
    for (uint32_t t = 0; t < state->cluster->type_count; t++) {
        uint32_t looked_at = 0;
        for (uint32_t s = state->running[t].last; s != ADL_NONE && looked_at < ADL_MOVES_LOOKED_AT; looked_at++) {
            const uint32_t slot = s;
            s = state->nodes[s].previous;
            if (moves->count == ADL_MOVES_MAX)
                return 0;
            if (adl_moves_may_stop(state, slot) && !adl_moves_hold_for(moves, slot) && may_gain(view, slot) &&
                try_move(moves, view, slot, plan))
                return ADL_EREFUSED;
        }
    }
    return 0;
}
