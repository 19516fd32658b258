/* relaxation: the linear program of an allotment, over those offers that matter.
 *
 * Minimizes -saving; a row for each group, each pool and, under a cap, the power in watts. Offers far too many to be
 * all columns enter as their surplus at the prices of the last solution calls for them (column generation). */
#ifndef ADLRO_SOLVE_RELAXATION_H
#define ADLRO_SOLVE_RELAXATION_H

#include "solve/lp.h"
#include "solve/prices.h"

struct adl_relaxation {
    struct adl_lp *lp;
    struct adl_lp_problem problem; /* of the columns so far; its arrays are those below */
    uint32_t *offers;              /* [column] */
    bool *integer;                 /* [column] all are */
    bool *within;                  /* [offer] it is a column */
    int *start, *index;
    double *value, *lower, *upper, *objective, *row_lower, *row_upper;
    double *values;       /* [column] */
    double *row_prices;   /* [row] */
    unsigned char *basis; /* [row], then [column] */
    unsigned char *solver_basis;
};

int adl_relaxation_init(struct adl_relaxation *relaxation, uint32_t groups, uint32_t pools, uint32_t offers);
void adl_relaxation_clear(struct adl_relaxation *relaxation);

/* The rows of the packing's problem, and the columns of offers with at least that surplus or that are taken. */
void adl_relaxation_load(struct adl_relaxation *relaxation, const struct adl_packing *packing,
                         const struct adl_prices *prices, double surplus_min);

/* Solves it over all offers, beginning with the columns loaded, and makes prices and amounts those of the solution;
 * false if the limit of iterations or the solver's trouble ended it before, with prices that are far off. Adds the
 * iterations it took. */
bool adl_relaxation_solve(struct adl_relaxation *relaxation, const struct adl_packing *packing,
                          struct adl_prices *prices, uint32_t iterations_max, uint32_t *iterations);

#endif
