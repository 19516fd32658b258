/* milp: mixed-integer linear programs, minimized by branch and bound on the simplex method of COIN-OR CLP
 * (docs/decisions/0007-own-branch-and-bound.md says why it is our own). Only this file and solve/lp.c use the solver.
 *
 * As there: the solver allocates as it works, has no time limit and prints nothing; work is limited in nodes and
 * simplex iterations, so equal calls give equal results, also from several threads at once. */
#ifndef ADLRO_SOLVE_MILP_H
#define ADLRO_SOLVE_MILP_H

#include "solve/lp.h"

#include <stdbool.h>

struct adl_milp_limits {
    uint32_t nodes;      /* of the tree; 0 = the root alone */
    uint32_t iterations; /* of the simplex, over all nodes */
    double gap;          /* stop when the best solution is within this share of the bound */
};

enum adl_milp_outcome {
    ADL_MILP_OPTIMAL,    /* within the requested gap */
    ADL_MILP_FEASIBLE,   /* at a limit, with a solution */
    ADL_MILP_NONE,       /* at a limit, without one */
    ADL_MILP_INFEASIBLE, /* there is none */
    ADL_MILP_FAILED,     /* unbounded, or numerical trouble */
};

struct adl_milp_answer {
    int outcome;      /* enum adl_milp_outcome */
    double objective; /* of ret_values, if there is a solution */
    double bound;     /* no solution costs less; -HUGE_VAL if unknown */
    uint32_t nodes;
};

/* integer is [columns]: which must be integers. start is [columns], an initial solution, or NULL. ret_values is
 * [columns], untouched unless there is a solution. */
struct adl_milp_answer adl_milp_solve(const struct adl_lp_problem *problem, const bool *integer, const double *start,
                                      const struct adl_milp_limits *limits, double *ret_values);

#endif
