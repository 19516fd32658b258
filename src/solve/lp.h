/* lp: linear programs, minimized by the simplex method of COIN-OR CLP. Only this file and solve/milp.c use the solver.
 *
 * The solver allocates as it works and ends the process if it gets no memory; callers that solve in a decision say so.
 * It has no time limit, does not depend on a clock and prints nothing; work is limited in iterations, so equal calls
 * give equal results. */
#ifndef ADLRO_SOLVE_LP_H
#define ADLRO_SOLVE_LP_H

#include <stdint.h>

/* Columns are variables. The matrix is by columns: column c has the entries start[c] .. start[c + 1] - 1. */
struct adl_lp_problem {
    int rows, columns;
    const int *start;                                      /* [columns + 1] */
    const int *index;                                      /* [entry] row */
    const double *value;                                   /* [entry] */
    const double *column_lower, *column_upper, *objective; /* [columns]; +-HUGE_VAL = unbounded */
    const double *row_lower, *row_upper;                   /* [rows] */
};

enum adl_lp_outcome {
    ADL_LP_OPTIMAL,
    ADL_LP_INFEASIBLE,
    ADL_LP_UNBOUNDED,
    ADL_LP_STOPPED, /* at the limit of iterations; the values are the best so far and may violate rows */
    ADL_LP_FAILED,  /* numerical trouble */
};

/* Status of a variable or row in a basis. A basis is [columns + rows] of these. */
enum adl_lp_place { ADL_LP_FREE, ADL_LP_BASIC, ADL_LP_AT_UPPER, ADL_LP_AT_LOWER };

struct adl_lp;

int adl_lp_create(struct adl_lp **ret); /* 0 or ADL_ENOMEM */
void adl_lp_destroy(struct adl_lp *lp); /* accepts NULL */

struct adl_lp_answer {
    int outcome; /* enum adl_lp_outcome */
    double objective;
    uint32_t iterations;
};

/* Starts from `basis` and stores the last one there, so that a similar problem then takes few iterations. values is
 * [columns]. */
struct adl_lp_answer adl_lp_solve(struct adl_lp *lp, const struct adl_lp_problem *problem, uint32_t iterations_max,
                                  unsigned char *basis, double *ret_values);

/* The dual prices of the rows in the last solution, [rows]. */
void adl_lp_prices(const struct adl_lp *lp, double *ret_prices);

#endif
