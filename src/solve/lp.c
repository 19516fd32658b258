#include "solve/lp.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#include <coin/Clp_C_Interface.h>

struct adl_lp {
    Clp_Simplex *model;
};

int adl_lp_create(struct adl_lp **ret)
{
    struct adl_lp *lp = calloc(1, sizeof *lp);
    if (!lp || !(lp->model = Clp_newModel())) {
        free(lp);
        return ADL_ENOMEM;
    }
    *ret = lp;
    return 0;
}

void adl_lp_destroy(struct adl_lp *lp)
{
    if (!lp)
        return;
    Clp_deleteModel(lp->model);
    free(lp);
}

static int outcome_of(int status)
{
    switch (status) {
    case 0:
        return ADL_LP_OPTIMAL;
    case 1:
        return ADL_LP_INFEASIBLE;
    case 2:
        return ADL_LP_UNBOUNDED;
    case 3:
        return ADL_LP_STOPPED;
    default:
        return ADL_LP_FAILED;
    }
}

struct adl_lp_answer adl_lp_solve(struct adl_lp *lp, const struct adl_lp_problem *problem, uint32_t iterations_max,
                                  unsigned char *basis, double *ret_values)
{
    /* A new model each time: a used one keeps more state than a basis, and equal calls would differ. */
    Clp_deleteModel(lp->model);
    Clp_Simplex *model = lp->model = Clp_newModel();
    Clp_setLogLevel(model, 0);
    Clp_loadProblem(model, problem->columns, problem->rows, problem->start, problem->index, problem->value,
                    problem->column_lower, problem->column_upper, problem->objective, problem->row_lower,
                    problem->row_upper);
    Clp_copyinStatus(model, basis);
    Clp_setMaximumIterations(model, (int)iterations_max);
    Clp_primal(model, 0);
    memcpy(basis, Clp_statusArray(model), (size_t)problem->columns + (size_t)problem->rows);
    const double *values = Clp_getColSolution(model);
    memcpy(ret_values, values, (size_t)problem->columns * sizeof *ret_values);
    return (struct adl_lp_answer){.outcome = outcome_of(Clp_status(model)),
                                  .objective = Clp_getObjValue(model),
                                  .iterations = (uint32_t)Clp_getIterationCount(model)};
}

void adl_lp_prices(const struct adl_lp *lp, double *ret_prices)
{
    memcpy(ret_prices, Clp_dualRowSolution(lp->model), (size_t)Clp_numberRows(lp->model) * sizeof *ret_prices);
}
