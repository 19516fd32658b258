#include "solve/allotment.h"

#include "solve/milp.h"
#include "solve/relaxation.h"
#include "solve/swaps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Offers within this share of the mean saving are columns from the beginning. */
#define COLUMN_NEAR 0.01
/* Offers per row that branch and bound begins with, and how many times deeper it may have to search at most. */
#define COLUMNS_FEW  4
#define COLUMNS_DEEP 2

struct adl_allotment {
    struct adl_packing packing;
    struct adl_prices prices;
    struct adl_relaxation relaxation;
    uint32_t *plan, *best; /* [offer] */
    double *begin_values;  /* [offer] */
};

int adl_allotment_create(uint32_t groups, uint32_t pools, uint32_t offers, struct adl_allotment **ret)
{
    struct adl_allotment *self = calloc(1, sizeof *self);
    if (!self)
        return ADL_ENOMEM;
    self->plan = calloc((size_t)offers + 1, sizeof *self->plan);
    self->best = calloc((size_t)offers + 1, sizeof *self->best);
    self->begin_values = calloc((size_t)offers + 1, sizeof *self->begin_values);
    if (!self->plan || !self->best || !self->begin_values ||
        adl_packing_init(&self->packing, groups, pools, offers) < 0 ||
        adl_prices_init(&self->prices, groups, pools, offers) < 0 ||
        adl_relaxation_init(&self->relaxation, groups, pools, offers) < 0) {
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
    adl_prices_clear(&self->prices);
    adl_relaxation_clear(&self->relaxation);
    free(self->plan);
    free(self->best);
    free(self->begin_values);
    free(self);
}

static double lesser(double a, double b)
{
    return b < a ? b : a;
}

static double greater(double a, double b)
{
    return b > a ? b : a;
}

/* ---- greedy ---- */

/* Rounds the relaxation: the integer parts, then one more for large fractions, then all that fits. */
static void round_amounts(struct adl_allotment *self)
{
    struct adl_packing *packing = &self->packing;
    const double *amount = self->prices.amount;
    adl_packing_empty(packing);
    for (uint32_t i = 0; i < packing->order_count; i++) {
        const uint32_t o = packing->order[i];
        self->plan[o] = amount[o] < INT32_MAX ? (uint32_t)amount[o] : INT32_MAX;
    }
    adl_packing_apply(packing, self->plan);
    for (uint32_t i = 0; i < packing->order_count; i++) {
        const uint32_t o = packing->order[i];
        self->plan[o] = amount[o] > self->plan[o] + 0.3;
    }
    adl_packing_apply(packing, self->plan);
    adl_packing_fill(packing);
}

static void restore(struct adl_allotment *self, const uint32_t *times)
{
    adl_packing_empty(&self->packing);
    adl_packing_apply(&self->packing, times);
}

/* Greedy in the order of the prices, from the initial solution or from nothing, whichever is better, then swaps;
 * returns their number. */
static uint32_t improve(struct adl_allotment *self, const uint32_t *times, uint32_t swaps)
{
    struct adl_packing *packing = &self->packing;
    adl_packing_empty(packing);
    adl_packing_order(packing, self->prices.surplus);
    round_amounts(self);
    const double from_nothing = packing->saved;
    restore(self, times);
    adl_packing_fill(packing);
    if (packing->saved < from_nothing)
        round_amounts(self);
    return adl_swaps_run(&self->prices, packing, swaps);
}

/* ---- exact ---- */

static double all_wait(const struct adl_allotment_problem *problem)
{
    double cost = 0;
    for (uint32_t g = 0; g < problem->group_count; g++)
        cost += problem->group_jobs[g] * problem->wait_cost[g];
    return cost;
}

/* True if no solution is better by more than the gap, or by more than rounding. */
static bool is_near(const struct adl_allotment *self, double saved_bound, double gap)
{
    const struct adl_packing *packing = &self->packing;
    return saved_bound - packing->saved <= gap * fabs(adl_packing_cost(packing)) + 1e-9 * saved_bound;
}

/* The surplus above which there are a few offers per row, so that a node is quick. */
static double surplus_of_few(const struct adl_allotment *self)
{
    const struct adl_packing *packing = &self->packing;
    const uint32_t few = COLUMNS_FEW * (packing->problem->group_count + packing->problem->pool_count);
    return few < packing->order_count ? self->prices.surplus[packing->order[few]] : -HUGE_VAL;
}

/* Takes the solution of branch and bound if it is better. */
static void adopt(struct adl_allotment *self)
{
    struct adl_packing *packing = &self->packing;
    const struct adl_relaxation *relaxation = &self->relaxation;
    const double before = packing->saved;
    memcpy(self->best, packing->times, packing->problem->offer_count * sizeof *self->best);
    memset(self->plan, 0, packing->problem->offer_count * sizeof *self->plan);
    for (int c = 0; c < relaxation->problem.columns; c++)
        self->plan[relaxation->offers[c]] = (uint32_t)(relaxation->values[c] + 0.5);
    restore(self, self->plan);
    if (packing->saved < before)
        restore(self, self->best);
}

/* Branch and bound over the offers with at least that surplus; returns an upper bound on the saving. An allotment with
 * an offer of surplus s < 0 saves no more than saved_bound + s, so an offer that was left out matters only if it could
 * be part of a better solution than the one found. */
static double branch(struct adl_allotment *self, const struct adl_milp_limits *limits, double saved_bound,
                     double surplus_min, uint32_t *nodes)
{
    struct adl_packing *packing = &self->packing;
    struct adl_relaxation *relaxation = &self->relaxation;
    adl_relaxation_load(relaxation, packing, &self->prices, surplus_min);
    for (int c = 0; c < relaxation->problem.columns; c++)
        self->begin_values[c] = packing->times[relaxation->offers[c]];
    const struct adl_milp_answer answer =
        adl_milp_solve(&relaxation->problem, relaxation->integer, self->begin_values, limits, relaxation->values);
    *nodes += answer.nodes;
    if (answer.outcome != ADL_MILP_OPTIMAL && answer.outcome != ADL_MILP_FEASIBLE)
        return saved_bound;
    adopt(self);
    const double of_others = saved_bound + surplus_min,
                 bound = greater(greater(-answer.bound, of_others), packing->saved);
    return lesser(saved_bound, bound);
}

/* First with few offers; then, with a better solution in hand, with all that could still be part of a better one. */
static double branch_twice(struct adl_allotment *self, const struct adl_allotment_limits *limits, uint32_t iterations,
                           double saved_bound, uint32_t *nodes)
{
    const struct adl_packing *packing = &self->packing;
    const double few = surplus_of_few(self);
    struct adl_milp_limits inner = {.nodes = limits->nodes,
                                    .iterations = iterations / 2,
                                    .gap = limits->gap * fabs(adl_packing_cost(packing)) / saved_bound};
    double bound = branch(self, &inner, saved_bound, greater(few, packing->saved - saved_bound), nodes);
    const double needed = packing->saved - saved_bound;
    if (is_near(self, bound, limits->gap) || *nodes >= limits->nodes || needed >= few || needed < COLUMNS_DEEP * few)
        return bound;
    inner.nodes -= *nodes;
    return lesser(bound, branch(self, &inner, saved_bound, needed, nodes));
}

/* Rounds the relaxation's solution and branches if the gap is too large; returns an upper bound on the saving. */
static double improve_and_branch(struct adl_allotment *self, const struct adl_allotment_limits *limits,
                                 uint32_t iterations, double saved_bound, struct adl_allotment_answer *answer)
{
    struct adl_packing *packing = &self->packing;
    const double greedy = packing->saved;
    if (is_near(self, saved_bound, limits->gap))
        return saved_bound;
    memcpy(self->best, packing->times, packing->problem->offer_count * sizeof *self->best);
    answer->swaps += improve(self, self->best, limits->swaps - answer->swaps);
    if (packing->saved < greedy)
        restore(self, self->best);
    if (is_near(self, saved_bound, limits->gap) || iterations == 0)
        return saved_bound;
    return branch_twice(self, limits, iterations, saved_bound, &answer->nodes);
}

/* Bounds by the relaxation and continues from there; if that stopped early, the smoothed prices still give a bound. */
static void solve_exactly(struct adl_allotment *self, const struct adl_allotment_limits *limits,
                          struct adl_allotment_answer *answer)
{
    struct adl_packing *packing = &self->packing;
    const double greedy = packing->saved;
    double saved_bound = adl_prices_bound(&self->prices, packing);
    uint32_t done = 0;
    adl_relaxation_load(&self->relaxation, packing, &self->prices, -COLUMN_NEAR * self->prices.mean);
    if (adl_relaxation_solve(&self->relaxation, packing, &self->prices, limits->iterations, &done)) {
        const uint32_t left = done < limits->iterations ? limits->iterations - done : 0;
        const double relaxed = adl_prices_bound(&self->prices, packing);
        saved_bound = lesser(saved_bound, improve_and_branch(self, limits, left, relaxed, answer));
    }
    answer->optimal = is_near(self, saved_bound, limits->gap);
    answer->by = packing->saved > greedy || answer->optimal ? ADL_ALLOTMENT_EXACT : ADL_ALLOTMENT_GREEDY;
    answer->bound = all_wait(packing->problem) - saved_bound;
}

void adl_allotment_solve(struct adl_allotment *self, const struct adl_allotment_problem *problem,
                         const struct adl_allotment_limits *limits, uint32_t *times, struct adl_allotment_answer *ret)
{
    struct adl_packing *packing = &self->packing;
    struct adl_allotment_answer answer = {.bound = -HUGE_VAL, .by = ADL_ALLOTMENT_GREEDY};
    adl_packing_begin(packing, problem);
    adl_prices_find(&self->prices, packing);
    answer.swaps = improve(self, times, limits->swaps);
    if (limits->nodes > 0)
        solve_exactly(self, limits, &answer);
    answer.cost = adl_packing_cost(packing);
    answer.bound = lesser(answer.bound, answer.cost); /* the sums may differ in their last bits */
    memcpy(times, packing->times, problem->offer_count * sizeof *times);
    *ret = answer;
}
