#include "solve/swaps.h"

#include <math.h>

/* A gain below this share of the total saving may be rounding and does not count. */
#define GAIN_MIN 1e-10
/* How many candidates for giving way are tried, the cheapest first. */
#define VICTIMS 3
/* Offers whose surplus is further below 0 than this share of the mean saving are not tried. */
#define SURPLUS_NEAR 0.02

/* Of a list of taken offers the one with the (rank + 1)-th least surplus; within `pool`, surplus per GPU. */
static uint32_t victim_of(const struct adl_prices *self, const struct adl_packing *packing, const uint32_t *taken,
                          uint32_t count, uint32_t pool, uint32_t except, uint32_t rank)
{
    uint32_t best[VICTIMS];
    double least[VICTIMS];
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t t = taken[i];
        if (t == except)
            continue;
        const struct adl_offer *offer = &packing->problem->offers[t];
        double loss = self->surplus[t];
        if (offer->pool == pool && offer->gpus > 0)
            loss /= offer->gpus;
        uint32_t at = found < VICTIMS ? found++ : VICTIMS;
        for (; at > 0 && (loss < least[at - 1] || (loss == least[at - 1] && t < best[at - 1])); at--)
            if (at < VICTIMS) {
                least[at] = least[at - 1];
                best[at] = best[at - 1];
            }
        if (at < VICTIMS) {
            least[at] = loss;
            best[at] = t;
        }
    }
    return found == 0 ? ADL_NONE : best[rank < found ? rank : found - 1];
}

static bool lacks_job(const struct adl_packing *packing, const struct adl_offer *offer, uint32_t group)
{
    return packing->waiting[group] < adl_offer_jobs(offer, group);
}

/* Of all taken offers the one with the least surplus per watt. */
static uint32_t least_surplus_per_watt(const struct adl_prices *self, const struct adl_packing *packing,
                                       uint32_t except)
{
    uint32_t best = ADL_NONE;
    double least = HUGE_VAL;
    for (uint32_t p = 0; p < packing->problem->pool_count; p++)
        for (uint32_t i = 0; i < packing->pool_taken_count[p]; i++) {
            const uint32_t t = packing->pool_taken[packing->pool_begin[p] + i];
            if (t == except || packing->power[t] == 0)
                continue;
            const double loss = self->surplus[t] / (double)packing->power[t];
            if (loss < least) {
                least = loss;
                best = t;
            }
        }
    return best;
}

/* Gives back the offers that conflict with this one. */
static bool make_room(const struct adl_prices *self, struct adl_packing *packing, uint32_t o, uint32_t rank)
{
    const struct adl_offer *offer = &packing->problem->offers[o];
    for (int i = 0; i < 2; i++) {
        const uint32_t g = offer->group[i];
        while (g != ADL_NONE && lacks_job(packing, offer, g)) {
            const uint32_t t = victim_of(self, packing, &packing->group_taken[packing->group_begin[g]],
                                         packing->group_taken_count[g], ADL_NONE, o, i == 0 ? rank : 0);
            if (t == ADL_NONE || !adl_packing_change(packing, t, -1))
                return false;
        }
    }
    const uint32_t p = offer->pool;
    while (packing->gpus[p] < offer->gpus) {
        const uint32_t t = victim_of(self, packing, &packing->pool_taken[packing->pool_begin[p]],
                                     packing->pool_taken_count[p], p, o, rank);
        if (t == ADL_NONE || !adl_packing_change(packing, t, -1))
            return false;
    }
    while (packing->power_left < packing->power[o]) {
        const uint32_t t = least_surplus_per_watt(self, packing, o);
        if (t == ADL_NONE || !adl_packing_change(packing, t, -1))
            return false;
    }
    return true;
}

/* Waiting jobs of a group take the best offers that fit. */
static bool place_again(struct adl_packing *packing, uint32_t g)
{
    const uint32_t *offers = packing->group_offers;
    for (uint32_t i = packing->group_begin[g]; i < packing->group_begin[g + 1] && packing->waiting[g] > 0; i++)
        while (adl_packing_fits(packing, offers[i]))
            if (!adl_packing_change(packing, offers[i], 1))
                return false;
    return true;
}

static bool refill_pool(struct adl_packing *packing, uint32_t p)
{
    for (uint32_t i = packing->pool_begin[p];
         i < packing->pool_begin[p + 1] && packing->gpus[p] > 0 && packing->waiting_jobs > 0; i++) {
        const uint32_t o = packing->pool_offers[i];
        while (adl_packing_fits(packing, o))
            if (!adl_packing_change(packing, o, 1))
                return false;
    }
    return true;
}

static bool reassign(struct adl_packing *packing)
{
    const struct adl_offer *offers = packing->problem->offers;
    const uint32_t given_back = packing->change_count - 1;
    for (uint32_t i = 0; i < given_back; i++)
        for (int j = 0; j < 2; j++) {
            const uint32_t g = offers[packing->changes[i].offer].group[j];
            if (g != ADL_NONE && !place_again(packing, g))
                return false;
        }
    for (uint32_t i = 0; i < given_back; i++)
        if (!refill_pool(packing, offers[packing->changes[i].offer].pool))
            return false;
    return true;
}

static bool attempt(const struct adl_prices *self, struct adl_packing *packing, uint32_t o, uint32_t rank)
{
    const double before = packing->saved;
    if (make_room(self, packing, o, rank) && adl_packing_fits(packing, o) && adl_packing_change(packing, o, 1) &&
        reassign(packing) && packing->saved > before + GAIN_MIN * before) {
        adl_packing_keep(packing);
        return true;
    }
    adl_packing_undo(packing);
    return false;
}

/* The offer of a group that saves most of those that fit, or ADL_NONE. */
static uint32_t best_that_fits(const struct adl_packing *packing, uint32_t g)
{
    uint32_t best = ADL_NONE;
    for (uint32_t i = packing->group_begin[g]; i < packing->group_begin[g + 1]; i++) {
        const uint32_t o = packing->group_offers[i];
        if ((best == ADL_NONE || packing->saving[o] > packing->saving[best]) && adl_packing_fits(packing, o))
            best = o;
    }
    return best;
}

/* Gives one offer back and lets each of its jobs take the best that fits; true if that improves the saving. */
static bool move(struct adl_packing *packing, uint32_t taken)
{
    const struct adl_offer *offer = &packing->problem->offers[taken];
    const double before = packing->saved;
    bool done = adl_packing_change(packing, taken, -1);
    for (int i = 0; i < 2 && done && offer->group[i] != ADL_NONE; i++) {
        const uint32_t o = best_that_fits(packing, offer->group[i]);
        done = o == ADL_NONE || adl_packing_change(packing, o, 1);
    }
    if (done && packing->saved > before + GAIN_MIN * before) {
        adl_packing_keep(packing);
        return true;
    }
    adl_packing_undo(packing);
    return false;
}

/* Moves jobs to free GPUs, regardless of prices; returns the number of tries, at most `most`. */
static uint32_t move_all(struct adl_packing *packing, uint32_t most, bool *ret_better)
{
    uint32_t done = 0;
    for (uint32_t p = 0; p < packing->problem->pool_count; p++)
        for (uint32_t i = 0; i < packing->pool_taken_count[p] && done < most; i++, done++)
            while (i < packing->pool_taken_count[p] && move(packing, packing->pool_taken[packing->pool_begin[p] + i]) &&
                   ++done < most)
                *ret_better = true;
    return done;
}

uint32_t adl_swaps_run(const struct adl_prices *self, struct adl_packing *packing, uint32_t most)
{
    uint32_t done = 0;
    const double floor = -SURPLUS_NEAR * self->mean;
    for (bool better = true; better && done < most;) {
        better = false;
        for (uint32_t i = 0; i < packing->order_count && done < most; i++) {
            const uint32_t o = packing->order[i];
            if (self->surplus[o] < floor)
                break;
            for (uint32_t rank = 0; rank < VICTIMS; rank++)
                for (bool paid = true; paid && done < most; done++) {
                    paid = attempt(self, packing, o, rank);
                    better = better || paid;
                }
        }
        done += move_all(packing, most - done, &better);
    }
    return done;
}
