/* packing: an allotment under construction: the offers taken, free GPUs and power, waiting jobs, and an undo log.
 *
 * Savings are relative to "all wait": an offer's saving is its jobs' cost of waiting minus its own cost, so the
 * cheapest allotment saves most, and an offer that saves nothing is never taken. Power is in integral 2^-20 W, rounded
 * up, so that undoing is exact. Nothing is allocated after init. */
#ifndef ADLRO_SOLVE_PACKING_H
#define ADLRO_SOLVE_PACKING_H

#include "solve/allotment.h"

struct adl_packing_change {
    uint32_t offer;
    int32_t times; /* negative: given back */
};

/* Most changes of one try of local search; a try that needs more is abandoned. */
#define ADL_PACKING_CHANGES_MAX 256

struct adl_packing {
    uint32_t groups_max, pools_max, offers_max;
    const struct adl_allotment_problem *problem;
    uint32_t *times;               /* [offer] */
    double *saving;                /* [offer]; 0: it never pays, or never fits */
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

    /* The offers taken, by group and by pool, in the sections of group_begin and pool_begin. */
    uint32_t *group_taken, *group_taken_count;
    uint32_t *pool_taken, *pool_taken_count;
    uint32_t *taken_place; /* [3 * offer]: in the lists of its groups and of its pool */

    struct adl_packing_change changes[ADL_PACKING_CHANGES_MAX];
    uint32_t change_count;

    uint64_t *keys, *keys_other; /* scratch of the sort */
};

int adl_packing_init(struct adl_packing *packing, uint32_t groups, uint32_t pools, uint32_t offers); /* or ADL_ENOMEM */
void adl_packing_clear(struct adl_packing *packing);

/* Resets: all jobs wait, and the order is that of the problem. */
void adl_packing_begin(struct adl_packing *packing, const struct adl_allotment_problem *problem);
/* Orders by score, [offer], highest first, ties by index; nothing may be taken. */
void adl_packing_order(struct adl_packing *packing, const double *score);
void adl_packing_empty(struct adl_packing *packing);

/* How many more times the offer fits, at most `most`. */
uint32_t adl_packing_room(const struct adl_packing *packing, uint32_t offer, uint32_t most);

/* How many times it fits if nothing else is taken. */
uint32_t adl_packing_most(const struct adl_packing *packing, uint32_t offer);

/* Takes what fits of a given solution; of everything else, in order. */
void adl_packing_apply(struct adl_packing *packing, const uint32_t *times);
void adl_packing_fill(struct adl_packing *packing);

/* Takes an offer that fits, or gives it back, and logs it. False, with nothing done, if the log is full since the last
 * adl_packing_keep. */
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
