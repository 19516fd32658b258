#include "solve/relaxation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNITS_PER_W 0x1p20 /* of power in a packing */
#define SURPLUS_MIN 1e-9   /* reduced-cost tolerance, as a share of the mean saving */
#define PASSES_MAX  100

int adl_relaxation_init(struct adl_relaxation *self, uint32_t groups, uint32_t pools, uint32_t offers)
{
    const size_t rows = (size_t)groups + pools + 1, o = (size_t)offers + 1;
    *self = (struct adl_relaxation){0};
    self->offers = calloc(o, sizeof *self->offers);
    self->integer = calloc(o, sizeof *self->integer);
    self->within = calloc(o, sizeof *self->within);
    self->start = calloc(o + 1, sizeof *self->start);
    self->index = calloc(4 * o, sizeof *self->index);
    self->value = calloc(4 * o, sizeof *self->value);
    self->lower = calloc(o, sizeof *self->lower);
    self->upper = calloc(o, sizeof *self->upper);
    self->objective = calloc(o, sizeof *self->objective);
    self->row_lower = calloc(rows, sizeof *self->row_lower);
    self->row_upper = calloc(rows, sizeof *self->row_upper);
    self->values = calloc(o, sizeof *self->values);
    self->row_prices = calloc(rows, sizeof *self->row_prices);
    self->basis = calloc(rows + o, sizeof *self->basis);
    self->solver_basis = calloc(rows + o, sizeof *self->solver_basis);
    if (self->offers && self->integer && self->within && self->start && self->index && self->value && self->lower &&
        self->upper && self->objective && self->row_lower && self->row_upper && self->values && self->row_prices &&
        self->basis && self->solver_basis && adl_lp_create(&self->lp) == 0)
        return 0;
    adl_relaxation_clear(self);
    return ADL_ENOMEM;
}

void adl_relaxation_clear(struct adl_relaxation *self)
{
    adl_lp_destroy(self->lp);
    free(self->offers);
    free(self->integer);
    free(self->within);
    free(self->start);
    free(self->index);
    free(self->value);
    free(self->lower);
    free(self->upper);
    free(self->objective);
    free(self->row_lower);
    free(self->row_upper);
    free(self->values);
    free(self->row_prices);
    free(self->basis);
    free(self->solver_basis);
    *self = (struct adl_relaxation){0};
}

static void add_entry(struct adl_relaxation *self, uint32_t row, double value)
{
    int *end = &self->start[self->problem.columns];
    self->index[*end] = (int)row;
    self->value[(*end)++] = value;
}

static void add_column(struct adl_relaxation *self, const struct adl_packing *packing, uint32_t o)
{
    const struct adl_allotment_problem *problem = packing->problem;
    const struct adl_offer *offer = &problem->offers[o];
    const int c = self->problem.columns++;
    const uint32_t a = offer->group[0], b = offer->group[1];
    self->start[c + 1] = self->start[c];
    add_entry(self, a, a == b ? 2 : 1);
    if (b != ADL_NONE && b != a)
        add_entry(self, b, 1);
    if (offer->gpus > 0)
        add_entry(self, problem->group_count + offer->pool, offer->gpus);
    if (packing->power[o] > 0)
        add_entry(self, problem->group_count + problem->pool_count, (double)packing->power[o] / UNITS_PER_W);
    self->objective[c] = -packing->saving[o];
    self->lower[c] = 0;
    self->upper[c] = HUGE_VAL;
    self->integer[c] = true;
    self->values[c] = 0;
    self->offers[c] = o;
    self->within[o] = true;
    self->basis[self->problem.rows + c] = ADL_LP_AT_LOWER;
}

static void load_rows(struct adl_relaxation *self, const struct adl_packing *packing)
{
    const struct adl_allotment_problem *problem = packing->problem;
    const uint32_t groups = problem->group_count, pools = problem->pool_count;
    for (uint32_t g = 0; g < groups; g++)
        self->row_upper[g] = problem->group_jobs[g];
    for (uint32_t p = 0; p < pools; p++)
        self->row_upper[groups + p] = problem->pool_gpus[p];
    self->row_upper[groups + pools] = packing->power_cap < INT64_MAX ? (double)packing->power_cap / UNITS_PER_W : 0;
    for (uint32_t r = 0; r <= groups + pools; r++)
        self->row_lower[r] = -HUGE_VAL;
    self->problem = (struct adl_lp_problem){.rows = (int)(groups + pools + 1),
                                            .start = self->start,
                                            .index = self->index,
                                            .value = self->value,
                                            .column_lower = self->lower,
                                            .column_upper = self->upper,
                                            .objective = self->objective,
                                            .row_lower = self->row_lower,
                                            .row_upper = self->row_upper};
    memset(self->basis, ADL_LP_BASIC, (size_t)self->problem.rows);
    memset(self->within, 0, problem->offer_count * sizeof *self->within);
    self->start[0] = 0;
}

void adl_relaxation_load(struct adl_relaxation *self, const struct adl_packing *packing,
                         const struct adl_prices *prices, double surplus_min)
{
    load_rows(self, packing);
    for (uint32_t i = 0; i < packing->order_count; i++) {
        const uint32_t o = packing->order[i];
        if (packing->times[o] > 0 || prices->surplus[o] >= surplus_min)
            add_column(self, packing, o);
    }
}

/* The solver's basis has columns first; here they come last, because their number grows. */
static int solve_columns(struct adl_relaxation *self, uint32_t iterations_max, uint32_t *iterations)
{
    const size_t rows = (size_t)self->problem.rows, columns = (size_t)self->problem.columns;
    memcpy(self->solver_basis, self->basis + rows, columns);
    memcpy(self->solver_basis + columns, self->basis, rows);
    const struct adl_lp_answer answer =
        adl_lp_solve(self->lp, &self->problem, iterations_max, self->solver_basis, self->values);
    memcpy(self->basis + rows, self->solver_basis, columns);
    memcpy(self->basis, self->solver_basis + columns, rows);
    *iterations += answer.iterations;
    return answer.outcome;
}

static double price_of(double row_price)
{
    return row_price < 0 ? -row_price : 0;
}

static void read_prices(struct adl_relaxation *self, const struct adl_packing *packing, struct adl_prices *prices)
{
    const uint32_t groups = packing->problem->group_count, pools = packing->problem->pool_count;
    adl_lp_prices(self->lp, self->row_prices);
    for (uint32_t g = 0; g < groups; g++)
        prices->job[g] = price_of(self->row_prices[g]);
    for (uint32_t p = 0; p < pools; p++)
        prices->gpu[p] = price_of(self->row_prices[groups + p]);
    prices->watt = price_of(self->row_prices[groups + pools]) / UNITS_PER_W;
    adl_prices_apply(prices, packing);
}

/* Adds the columns with positive surplus; returns their number. */
static uint32_t add_improving_columns(struct adl_relaxation *self, const struct adl_packing *packing,
                                      const struct adl_prices *prices)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < packing->order_count; i++) {
        const uint32_t o = packing->order[i];
        if (self->within[o] || prices->surplus[o] <= SURPLUS_MIN * prices->mean)
            continue;
        add_column(self, packing, o);
        count++;
    }
    return count;
}

bool adl_relaxation_solve(struct adl_relaxation *self, const struct adl_packing *packing, struct adl_prices *prices,
                          uint32_t iterations_max, uint32_t *iterations)
{
    bool finished = false;
    for (int pass = 0; pass < PASSES_MAX && *iterations < iterations_max && !finished; pass++) {
        if (solve_columns(self, iterations_max - *iterations, iterations) != ADL_LP_OPTIMAL)
            return false;
        read_prices(self, packing, prices);
        finished = add_improving_columns(self, packing, prices) == 0;
    }
    memset(prices->amount, 0, packing->problem->offer_count * sizeof *prices->amount);
    for (int c = 0; c < self->problem.columns; c++)
        prices->amount[self->offers[c]] = self->values[c] + 1e-7; /* an integer may come out slightly smaller */
    return finished;
}
