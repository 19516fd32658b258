/* packing: an allotment while it is being changed: what is taken, what is still free, who waits, and how to undo it.
 *
 * Everything is counted from "all wait": an offer's saving is what its jobs would cost waiting less what it costs, so
 * the cheapest allotment saves most, and an offer that saves nothing is never taken. Power is in whole 2^-20 W, rounded
 * up, so that taking and undoing leaves no rounding behind. Nothing is allocated after create. */
#ifndef ADLRO_SOLVE_PACKING_H
#define ADLRO_SOLVE_PACKING_H

#include "solve/allotment.h"

struct adl_packing_change {
    uint32_t offer;
    int32_t times; /* negative: given back */
};

/* More than one try to improve ever changes; a try that would is given up. */
#define ADL_PACKING_CHANGES_MAX 256

struct adl_packing {
    uint32_t groups_max, pools_max, offers_max;
    const struct adl_allotment_problem *problem;
    uint32_t *times;               /* [offer] */
    double *saving;                /* [offer]; 0: it is never worth it, or never fits */
    int64_t *power;                /* [offer] in 2^-20 W; 0 without a cap */
    uint32_t *waiting;             /* [group] jobs */
    uint32_t *gpus;                /* [pool] free */
    uint32_t waiting_jobs;         /* in all */
    int64_t power_left, power_cap; /* in 2^-20 W; INT64_MAX = no cap */
    double saved, saved_kept;      /* now, and at the last adl_packing_keep */

    uint32_t *order; /* usable offers, the most promising first */
    uint32_t order_count;
    uint32_t *group_begin, *group_offers; /* [group + 1], offers of a group in that order */
    uint32_t *pool_begin, *pool_offers;   /* [pool + 1], offers of a pool in that order */

    /* What is taken, by group and by pool, in the sections of group_begin and pool_begin. */
    uint32_t *group_taken, *group_taken_count;
    uint32_t *pool_taken, *pool_taken_count;
    uint32_t *taken_place; /* [3 * offer]: in the lists of its groups and of its pool */

    struct adl_packing_change changes[ADL_PACKING_CHANGES_MAX];
    uint32_t change_count;

    uint64_t *keys, *keys_other; /* scratch of the sort */
};

int adl_packing_init(struct adl_packing *packing, uint32_t groups, uint32_t pools, uint32_t offers); /* or ADL_ENOMEM */
void adl_packing_clear(struct adl_packing *packing);

/* All wait, and the order is that of the problem. */
void adl_packing_begin(struct adl_packing *packing, const struct adl_allotment_problem *problem);
/* Orders by how much each promises, [offer], the most first, of equals the earlier; nothing may be taken. */
void adl_packing_order(struct adl_packing *packing, const double *promise);
void adl_packing_empty(struct adl_packing *packing);

/* How often more the offer fits, at most `most` times. */
uint32_t adl_packing_room(const struct adl_packing *packing, uint32_t offer, uint32_t most);

/* How often it fits at most, with nothing else taken. */
uint32_t adl_packing_most(const struct adl_packing *packing, uint32_t offer);

/* Takes what fits of a plan, then of everything else, in order. */
void adl_packing_follow(struct adl_packing *packing, const uint32_t *times);
void adl_packing_fill(struct adl_packing *packing);

/* Takes an offer that has room, or gives it back, and remembers it. False, with nothing done, if too much was changed
 * since the last adl_packing_keep. */
bool adl_packing_change(struct adl_packing *packing, uint32_t offer, int32_t times);
void adl_packing_keep(struct adl_packing *packing);
void adl_packing_undo(struct adl_packing *packing); /* all since the last adl_packing_keep */

/* The cost of the allotment, summed in the order of groups and offers. */
double adl_packing_cost(const struct adl_packing *packing);

static inline bool adl_offer_is_pair(const struct adl_offer *offer)
{
    return offer->group[1] != ADL_NONE;
}

/* How many jobs of a group it serves. */
static inline uint32_t adl_offer_jobs(const struct adl_offer *offer, uint32_t group)
{
    return (uint32_t)(offer->group[0] == group) + (uint32_t)(offer->group[1] == group);
}

static inline bool adl_packing_fits(const struct adl_packing *packing, uint32_t o)
{
    const struct adl_offer *offer = &packing->problem->offers[o];
    const uint32_t a = offer->group[0], b = offer->group[1];
    return packing->gpus[offer->pool] >= offer->gpus && packing->waiting[a] > (uint32_t)(a == b) &&
           (b == ADL_NONE || packing->waiting[b] > 0) && packing->power_left >= packing->power[o];
}

#endif
