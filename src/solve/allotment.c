#include "solve/allotment.h"

#include "solve/packing.h"
#include "solve/swaps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct adl_allotment {
    struct adl_packing packing;
    struct adl_swaps swaps;
};

int adl_allotment_create(uint32_t groups, uint32_t pools, uint32_t offers, struct adl_allotment **ret)
{
    struct adl_allotment *self = calloc(1, sizeof *self);
    if (!self)
        return ADL_ENOMEM;
    if (adl_packing_init(&self->packing, groups, pools, offers) < 0 ||
        adl_swaps_init(&self->swaps, groups, pools, offers) < 0) {
        adl_allotment_destroy(self);
        return ADL_ENOMEM;
    }
    *ret = self;
    return 0;
}

void adl_allotment_destroy(struct adl_allotment *self)
{
    if (!self)
        return;
    adl_packing_clear(&self->packing);
    adl_swaps_clear(&self->swaps);
    free(self);
}

/* From the plan or from nothing, whichever begins better. */
static void begin(struct adl_packing *packing, const uint32_t *times)
{
    adl_packing_fill(packing);
    const double from_nothing = packing->saved;
    adl_packing_empty(packing);
    adl_packing_follow(packing, times);
    adl_packing_fill(packing);
    if (packing->saved >= from_nothing)
        return;
    adl_packing_empty(packing);
    adl_packing_fill(packing);
}

void adl_allotment_solve(struct adl_allotment *self, const struct adl_allotment_problem *problem,
                         const struct adl_allotment_limits *limits, uint32_t *times, struct adl_allotment_answer *ret)
{
    struct adl_packing *packing = &self->packing;
    struct adl_allotment_answer answer = {.bound = -HUGE_VAL, .by = ADL_ALLOTMENT_GREEDY};
    adl_packing_begin(packing, problem);
    begin(packing, times);
    answer.swaps = adl_swaps_run(&self->swaps, packing, limits->swaps);
    answer.cost = adl_packing_cost(packing);
    memcpy(times, packing->times, problem->offer_count * sizeof *times);
    *ret = answer;
}
