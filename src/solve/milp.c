#include "solve/milp.h"

#include "base/index.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <coin/Clp_C_Interface.h>

#define INTEGER_TOLERANCE 1e-6 /* of integrality */
#define ROW_TOLERANCE     1e-6 /* of feasibility, for rounded values, relative to a row's limit above 1 */

/* A column whose bounds were narrowed, and the side to be tried next. */
struct branch {
    int column;
    bool other_tried;
    bool up_first;
    double at; /* the fractional value */
    double lower, upper;
    double bound; /* of the node that was split */
};

struct search {
    Clp_Simplex *model;
    const struct adl_lp_problem *problem;
    const bool *integer;
    struct adl_milp_limits limits;
    struct branch *branches;
    size_t depth, capacity;
    double *lower, *upper; /* [column] the solver's own, changed in place */
    double *best_values;   /* [column] */
    double *row_sums;      /* [row] scratch */
    double best;           /* HUGE_VAL: none yet */
    double pruned_bound;   /* the least bound of pruned nodes */
    double limit_bound;    /* of nodes left open at a limit */
    uint32_t nodes, iterations;
    bool failed, stopped;
};

/* ---- solutions ---- */

/* The objective of the values if they are feasible and integral, else HUGE_VAL. */
static double value_of(struct search *self, const double *values)
{
    const struct adl_lp_problem *p = self->problem;
    double sum = 0;
    memset(self->row_sums, 0, (size_t)p->rows * sizeof *self->row_sums);
    for (int c = 0; c < p->columns; c++) {
        if (values[c] < p->column_lower[c] - ROW_TOLERANCE || values[c] > p->column_upper[c] + ROW_TOLERANCE ||
            (self->integer[c] && fabs(values[c] - floor(values[c] + 0.5)) > INTEGER_TOLERANCE))
            return HUGE_VAL;
        sum += p->objective[c] * values[c];
        for (int i = p->start[c]; i < p->start[c + 1]; i++)
            self->row_sums[p->index[i]] += p->value[i] * values[c];
    }
    for (int r = 0; r < p->rows; r++) {
        const double lower = p->row_lower[r], upper = p->row_upper[r], sum_r = self->row_sums[r];
        if ((lower > -HUGE_VAL && sum_r < lower - ROW_TOLERANCE * fmax(1, fabs(lower))) ||
            (upper < HUGE_VAL && sum_r > upper + ROW_TOLERANCE * fmax(1, fabs(upper))))
            return HUGE_VAL;
    }
    return sum;
}

static void consider_solution(struct search *self, const double *values, double *rounded)
{
    const int columns = self->problem->columns;
    for (int c = 0; c < columns; c++)
        rounded[c] = self->integer[c] ? floor(values[c] + 0.5) : values[c];
    const double value = value_of(self, rounded);
    if (value < self->best) {
        self->best = value;
        memcpy(self->best_values, rounded, (size_t)columns * sizeof *rounded);
    }
}

/* A node with a bound at or above this is pruned. */
static double cutoff(const struct search *self)
{
    return self->best == HUGE_VAL ? HUGE_VAL : self->best - fmax(self->limits.gap, 1e-9) * fabs(self->best) - 1e-9;
}

/* ---- the tree ---- */

/* The column to branch on: of those that serve most, the one nearest to one half; -1 if all are integral. */
static int fractional_column(const struct search *self, const double *values)
{
    int best = -1;
    double most = 0;
    for (int c = 0; c < self->problem->columns; c++) {
        if (!self->integer[c])
            continue;
        const double off = fabs(values[c] - floor(values[c] + 0.5));
        const double score = off * (1e-3 + fabs(self->problem->objective[c]));
        if (off > INTEGER_TOLERANCE && score > most) {
            most = score;
            best = c;
        }
    }
    return best;
}

static bool push(struct search *self, int column, double at, double bound)
{
    if (adl_grow((void **)&self->branches, &self->capacity, self->depth + 1, sizeof *self->branches) < 0)
        return false;
    self->branches[self->depth++] = (struct branch){.column = column,
                                                    .at = at,
                                                    .up_first = at - floor(at) >= 0.3,
                                                    .lower = self->lower[column],
                                                    .upper = self->upper[column],
                                                    .bound = bound};
    return true;
}

static void enter_side(struct search *self, const struct branch *branch, bool up)
{
    self->lower[branch->column] = up ? ceil(branch->at) : branch->lower;
    self->upper[branch->column] = up ? branch->upper : floor(branch->at);
}

/* Leaves finished sides and enters the next one that is not pruned; false if there is none. */
static bool next_side(struct search *self)
{
    while (self->depth > 0) {
        struct branch *branch = &self->branches[self->depth - 1];
        if (!branch->other_tried) {
            branch->other_tried = true;
            if (branch->bound < cutoff(self)) {
                enter_side(self, branch, !branch->up_first);
                return true;
            }
            self->pruned_bound = fmin(self->pruned_bound, branch->bound);
        }
        self->lower[branch->column] = branch->lower;
        self->upper[branch->column] = branch->upper;
        self->depth--;
    }
    return false;
}

/* Stops at a limit: the present node and the open sides remain unexplored. */
static void stop(struct search *self, double bound)
{
    self->stopped = true;
    self->limit_bound = bound;
    for (size_t i = 0; i < self->depth; i++)
        if (!self->branches[i].other_tried)
            self->limit_bound = fmin(self->limit_bound, self->branches[i].bound);
}

enum { INFEASIBLE = 1, STOPPED = 3, ERRORS = 4 }; /* statuses of the solver; 0 is optimal */

static int run_simplex(struct search *self, bool dual)
{
    if (self->iterations >= self->limits.iterations)
        return STOPPED;
    const uint32_t left = self->limits.iterations - self->iterations;
    Clp_setMaximumIterations(self->model, left < INT_MAX ? (int)left : INT_MAX);
    if (dual)
        Clp_dual(self->model, 0);
    else
        Clp_primal(self->model, 0);
    self->iterations += (uint32_t)Clp_getIterationCount(self->model);
    return Clp_status(self->model);
}

/* Solves the relaxation of the present node. If one simplex method fails, the other may succeed. */
static int relax(struct search *self, bool root)
{
    const int status = run_simplex(self, !root);
    return status == ERRORS ? run_simplex(self, root) : status;
}

/* One node: bounds it, takes it as a solution, or branches. False if the search stops early. */
static bool visit(struct search *self, double *scratch)
{
    const bool root = self->depth == 0;
    const double above = root ? -HUGE_VAL : self->branches[self->depth - 1].bound;
    if (!root && self->nodes >= self->limits.nodes) {
        stop(self, above);
        return false;
    }
    self->nodes += !root;
    const int status = relax(self, root);
    if (status == INFEASIBLE)
        return true;
    if (status == STOPPED) {
        stop(self, above);
        return false;
    }
    if (status != 0) {
        self->failed = true;
        return false;
    }
    const double *values = Clp_getColSolution(self->model);
    const double bound = fmax(above, Clp_getObjValue(self->model));
    if (bound >= cutoff(self)) {
        self->pruned_bound = fmin(self->pruned_bound, bound);
        return true;
    }
    const int column = fractional_column(self, values);
    if (column < 0) {
        consider_solution(self, values, scratch);
        self->pruned_bound = fmin(self->pruned_bound, bound);
        return true;
    }
    if (!push(self, column, values[column], bound)) {
        self->failed = true;
        return false;
    }
    return true;
}

/* Depth first, the nearer side first. */
static void search(struct search *self, double *scratch)
{
    for (bool inside = true; inside;) {
        const size_t depth = self->depth;
        if (!visit(self, scratch))
            return;
        if (self->depth > depth) {
            const struct branch *branch = &self->branches[self->depth - 1];
            enter_side(self, branch, branch->up_first);
        } else {
            inside = next_side(self);
        }
    }
}

static struct adl_milp_answer answer_of(const struct search *self)
{
    struct adl_milp_answer answer = {.objective = self->best, .bound = -HUGE_VAL, .nodes = self->nodes};
    const bool found = self->best < HUGE_VAL;
    const double bound = fmin(fmin(self->best, self->pruned_bound), self->limit_bound);
    if (self->failed) {
        answer.outcome = found ? ADL_MILP_FEASIBLE : ADL_MILP_FAILED;
        return answer;
    }
    if (!found && !self->stopped && self->pruned_bound == HUGE_VAL) {
        answer.outcome = ADL_MILP_INFEASIBLE;
        return answer;
    }
    answer.bound = bound;
    const bool near = found && self->best - bound <= fmax(self->limits.gap, 1e-9) * fabs(self->best) + 2e-9;
    answer.outcome = near ? ADL_MILP_OPTIMAL : found ? ADL_MILP_FEASIBLE : ADL_MILP_NONE;
    return answer;
}

static bool load(struct search *self)
{
    const struct adl_lp_problem *p = self->problem;
    if (!(self->model = Clp_newModel()))
        return false;
    Clp_setLogLevel(self->model, 0);
    Clp_loadProblem(self->model, p->columns, p->rows, p->start, p->index, p->value, p->column_lower, p->column_upper,
                    p->objective, p->row_lower, p->row_upper);
    self->lower = Clp_columnLower(self->model);
    self->upper = Clp_columnUpper(self->model);
    return true;
}

struct adl_milp_answer adl_milp_solve(const struct adl_lp_problem *problem, const bool *integer, const double *start,
                                      const struct adl_milp_limits *limits, double *ret_values)
{
    struct search self = {.problem = problem,
                          .integer = integer,
                          .limits = *limits,
                          .best = HUGE_VAL,
                          .pruned_bound = HUGE_VAL,
                          .limit_bound = HUGE_VAL};
    double *scratch = calloc((size_t)problem->columns + 1, sizeof *scratch);
    self.best_values = calloc((size_t)problem->columns + 1, sizeof *self.best_values);
    self.row_sums = calloc((size_t)problem->rows + 1, sizeof *self.row_sums);
    self.failed = !scratch || !self.best_values || !self.row_sums || !load(&self);
    if (!self.failed) {
        if (start)
            consider_solution(&self, start, scratch);
        search(&self, scratch);
    }
    const struct adl_milp_answer answer = answer_of(&self);
    if (self.best_values && self.best < HUGE_VAL)
        memcpy(ret_values, self.best_values, (size_t)problem->columns * sizeof *ret_values);
    if (self.model)
        Clp_deleteModel(self.model);
    free(self.branches);
    free(self.best_values);
    free(self.row_sums);
    free(scratch);
    return answer;
}
