/* relaxation: the linear program of an allotment, over the offers that matter.
 *
 * Minimizes -saving; a row for each group, each pool and, under a cap, the power in watts. There are too many offers to
 * be all columns: one enters if its surplus at the prices of the last solution is positive (column generation). */
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

/* Loads the rows of the packing's problem, and the columns of offers that are taken or have at least that surplus. */
void adl_relaxation_load(struct adl_relaxation *relaxation, const struct adl_packing *packing,
                         const struct adl_prices *prices, double surplus_min);

/* Solves it over all offers, beginning with the columns loaded, and sets prices and amounts to those of the solution;
 * false, with prices far from optimal, if it stopped at the limit of iterations or the solver failed. Adds the
 * iterations it took. */
bool adl_relaxation_solve(struct adl_relaxation *relaxation, const struct adl_packing *packing,
                          struct adl_prices *prices, uint32_t iterations_max, uint32_t *iterations);

#endif
