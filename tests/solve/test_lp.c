/* The solver behind solve/lp.h: known optima, random programs against their corners, warm starts, limits. */
#include "base/rng.h"
#include "solve/lp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Two variables x, y >= 0 under rows a x + b y <= c. */
#define ROWS_MAX 40

struct plane {
    int rows;
    double a[ROWS_MAX], b[ROWS_MAX], c[ROWS_MAX];
    double cost[2];
    int start[3], index[2 * ROWS_MAX];
    double value[2 * ROWS_MAX], lower[2], upper[2], row_lower[ROWS_MAX];
};

/* The basis to start cold with: all columns at their lower bound, all rows basic. */
static void basis_reset(unsigned char *basis, int columns, int rows)
{
    memset(basis, ADL_LP_AT_LOWER, (size_t)columns);
    memset(basis + columns, ADL_LP_BASIC, (size_t)rows);
}

static struct adl_lp_problem problem_of(struct plane *plane)
{
    int entries = 0;
    for (int column = 0; column < 2; column++) {
        plane->start[column] = entries;
        plane->lower[column] = 0;
        plane->upper[column] = HUGE_VAL;
        for (int r = 0; r < plane->rows; r++) {
            plane->index[entries] = r;
            plane->value[entries++] = column ? plane->b[r] : plane->a[r];
            plane->row_lower[r] = -HUGE_VAL;
        }
    }
    plane->start[2] = entries;
    return (struct adl_lp_problem){.rows = plane->rows,
                                   .columns = 2,
                                   .start = plane->start,
                                   .index = plane->index,
                                   .value = plane->value,
                                   .column_lower = plane->lower,
                                   .column_upper = plane->upper,
                                   .objective = plane->cost,
                                   .row_lower = plane->row_lower,
                                   .row_upper = plane->c};
}

static bool feasible(const struct plane *plane, double x, double y)
{
    for (int r = 0; r < plane->rows; r++)
        if (plane->a[r] * x + plane->b[r] * y > plane->c[r] + 1e-7)
            return false;
    return x >= -1e-7 && y >= -1e-7;
}

/* The least cost at any crossing of two borders; HUGE_VAL if none is feasible. */
static double best_corner(const struct plane *plane)
{
    double best = HUGE_VAL;
    const int rows = plane->rows;
    for (int i = 0; i < rows + 2; i++)
        for (int j = 0; j < i; j++) {
            const double a = i < rows ? plane->a[i] : i == rows, b = i < rows ? plane->b[i] : i > rows;
            const double d = j < rows ? plane->a[j] : j == rows, e = j < rows ? plane->b[j] : j > rows;
            const double c = i < rows ? plane->c[i] : 0, f = j < rows ? plane->c[j] : 0;
            const double det = a * e - b * d;
            if (fabs(det) < 1e-9)
                continue;
            const double x = (c * e - b * f) / det, y = (a * f - c * d) / det;
            const double cost = plane->cost[0] * x + plane->cost[1] * y;
            if (feasible(plane, x, y) && cost < best)
                best = cost;
        }
    return best;
}

static struct plane random_plane(struct adl_rng *rng)
{
    struct plane plane = {.rows = 1 + (int)adl_rng_below(rng, ROWS_MAX - 1)};
    for (int r = 0; r < plane.rows; r++) {
        plane.a[r] = 0.1 + adl_rng_uniform(rng);
        plane.b[r] = 0.1 + adl_rng_uniform(rng);
        plane.c[r] = 1 + 9 * adl_rng_uniform(rng);
    }
    for (int i = 0; i < 2; i++)
        plane.cost[i] = -adl_rng_uniform(rng);
    return plane;
}

static void random_programs_reach_their_best_corner(void **state)
{
    (void)state;
    struct adl_lp *lp = NULL;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "lp");
    assert_int_equal(adl_lp_create(&lp), 0);
    for (int round = 0; round < 300; round++) {
        struct plane plane = random_plane(&rng);
        const struct adl_lp_problem problem = problem_of(&plane);
        unsigned char basis[2 + ROWS_MAX];
        double values[2];
        basis_reset(basis, 2, plane.rows);
        const struct adl_lp_answer answer = adl_lp_solve(lp, &problem, 1000, basis, values);
        assert_int_equal(answer.outcome, ADL_LP_OPTIMAL);
        assert_true(feasible(&plane, values[0], values[1]));
        assert_true(fabs(answer.objective - best_corner(&plane)) < 1e-6);
        assert_true(fabs(answer.objective - plane.cost[0] * values[0] - plane.cost[1] * values[1]) < 1e-9);
    }
    adl_lp_destroy(lp);
}

static void a_program_solved_again_from_its_basis_takes_no_iterations(void **state)
{
    (void)state;
    struct adl_lp *lp = NULL;
    struct adl_rng rng;
    uint32_t cold = 0, warm = 0;
    adl_rng_seed(&rng, 2, "lp");
    assert_int_equal(adl_lp_create(&lp), 0);
    for (int round = 0; round < 100; round++) {
        struct plane plane = random_plane(&rng);
        const struct adl_lp_problem problem = problem_of(&plane);
        unsigned char basis[2 + ROWS_MAX];
        double first[2], second[2];
        basis_reset(basis, 2, plane.rows);
        cold += adl_lp_solve(lp, &problem, 1000, basis, first).iterations;
        warm += adl_lp_solve(lp, &problem, 1000, basis, second).iterations;
        assert_true(fabs(first[0] - second[0]) < 1e-9 && fabs(first[1] - second[1]) < 1e-9);
    }
    assert_true(cold > 0);
    assert_int_equal(warm, 0);
    adl_lp_destroy(lp);
}

static void impossible_and_boundless_programs_are_told_apart(void **state)
{
    (void)state;
    struct adl_lp *lp = NULL;
    unsigned char basis[3];
    double values[2];
    struct plane plane = {.rows = 1, .a = {1}, .b = {1}, .c = {-1}, .cost = {1, 1}};
    assert_int_equal(adl_lp_create(&lp), 0);
    struct adl_lp_problem problem = problem_of(&plane);
    basis_reset(basis, 2, 1);
    assert_int_equal(adl_lp_solve(lp, &problem, 1000, basis, values).outcome, ADL_LP_INFEASIBLE);
    plane = (struct plane){.rows = 1, .a = {1}, .b = {-1}, .c = {1}, .cost = {-1, -1}};
    problem = problem_of(&plane);
    basis_reset(basis, 2, 1);
    assert_int_equal(adl_lp_solve(lp, &problem, 1000, basis, values).outcome, ADL_LP_UNBOUNDED);
    adl_lp_destroy(lp);
    adl_lp_destroy(NULL);
}

/* A transport problem: enough corners that two iterations do not suffice. */
static void work_is_limited_in_iterations(void **state)
{
    (void)state;
    enum { SIDE = 12, COLUMNS = SIDE * SIDE, ROWS = 2 * SIDE };
    static int start[COLUMNS + 1], index[2 * COLUMNS];
    static double value[2 * COLUMNS], lower[COLUMNS], upper[COLUMNS], cost[COLUMNS], rows_lower[ROWS], rows_upper[ROWS];
    static double values[COLUMNS];
    unsigned char basis[COLUMNS + ROWS];
    struct adl_lp *lp = NULL;
    struct adl_rng rng;
    adl_rng_seed(&rng, 3, "lp");
    for (int i = 0; i < COLUMNS; i++) {
        start[i] = 2 * i;
        index[2 * i] = i / SIDE;
        index[2 * i + 1] = SIDE + i % SIDE;
        value[2 * i] = value[2 * i + 1] = 1;
        upper[i] = HUGE_VAL;
        cost[i] = adl_rng_uniform(&rng);
    }
    start[COLUMNS] = 2 * COLUMNS;
    for (int r = 0; r < ROWS; r++)
        rows_lower[r] = rows_upper[r] = 1;
    const struct adl_lp_problem problem = {ROWS,  COLUMNS, start, index,      value,
                                           lower, upper,   cost,  rows_lower, rows_upper};
    assert_int_equal(adl_lp_create(&lp), 0);
    basis_reset(basis, COLUMNS, ROWS);
    const struct adl_lp_answer cut = adl_lp_solve(lp, &problem, 2, basis, values);
    assert_int_equal(cut.outcome, ADL_LP_STOPPED);
    const struct adl_lp_answer whole = adl_lp_solve(lp, &problem, 10000, basis, values);
    assert_int_equal(whole.outcome, ADL_LP_OPTIMAL);
    assert_true(whole.iterations > 2);
    adl_lp_destroy(lp);
}

/* A cover of many rows by few columns each: degenerate, so that the solver perturbs and what it keeps would tell. */
static void an_lp_that_was_used_answers_as_a_new_one(void **state)
{
    (void)state;
    enum { COLUMNS = 4000, ROWS = 500 };
    static int start[COLUMNS + 1], index[3 * COLUMNS];
    static double value[3 * COLUMNS], lower[COLUMNS], upper[COLUMNS], cost[COLUMNS], rows_lower[ROWS], rows_upper[ROWS];
    static double values[4][COLUMNS];
    static unsigned char basis[COLUMNS + ROWS];
    struct adl_lp_answer answers[4];
    struct adl_lp *lp = NULL;
    struct adl_rng rng;
    adl_rng_seed(&rng, 4, "lp");
    for (int i = 0; i < COLUMNS; i++) {
        start[i] = 3 * i;
        for (int j = 0; j < 3; j++) {
            index[3 * i + j] = j * (ROWS / 3) + (int)adl_rng_below(&rng, ROWS / 3);
            value[3 * i + j] = 1;
        }
        upper[i] = HUGE_VAL;
        cost[i] = -adl_rng_uniform(&rng);
    }
    start[COLUMNS] = 3 * COLUMNS;
    for (int r = 0; r < ROWS; r++) {
        rows_lower[r] = -HUGE_VAL;
        rows_upper[r] = 1;
    }
    const struct adl_lp_problem problem = {ROWS,  COLUMNS, start, index,      value,
                                           lower, upper,   cost,  rows_lower, rows_upper};
    assert_int_equal(adl_lp_create(&lp), 0);
    for (int i = 0; i < 4; i++) {
        basis_reset(basis, COLUMNS, ROWS);
        answers[i] = adl_lp_solve(lp, &problem, 100000, basis, values[i]);
        assert_int_equal(answers[i].outcome, ADL_LP_OPTIMAL);
        assert_int_equal(answers[i].iterations, answers[0].iterations);
        assert_memory_equal(values[i], values[0], sizeof values[0]);
    }
    adl_lp_destroy(lp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_reach_their_best_corner),
        cmocka_unit_test(a_program_solved_again_from_its_basis_takes_no_iterations),
        cmocka_unit_test(impossible_and_boundless_programs_are_told_apart),
        cmocka_unit_test(work_is_limited_in_iterations),
        cmocka_unit_test(an_lp_that_was_used_answers_as_a_new_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
