/* Integer programs: random small ones against all their solutions, the outcomes at limits and without solutions, a
 * start, and equal bits from equal calls, also in two threads. */
#include "base/rng.h"
#include "solve/milp.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COLUMNS 24
#define ROWS    10

/* A dense program whose arrays are its own. */
struct program {
    struct adl_lp_problem lp;
    int start[COLUMNS + 1], index[COLUMNS * ROWS];
    double value[COLUMNS * ROWS], lower[COLUMNS], upper[COLUMNS], cost[COLUMNS], row_lower[ROWS], row_upper[ROWS];
    bool integer[COLUMNS];
};

static struct program *program_of(int columns, int rows)
{
    struct program *p = calloc(1, sizeof *p);
    assert_non_null(p);
    for (int c = 0; c <= columns; c++)
        p->start[c] = c * rows;
    for (int c = 0; c < columns; c++) {
        p->integer[c] = true;
        for (int r = 0; r < rows; r++)
            p->index[c * rows + r] = r;
    }
    p->lp = (struct adl_lp_problem){rows,     columns,  p->start, p->index,     p->value,
                                    p->lower, p->upper, p->cost,  p->row_lower, p->row_upper};
    return p;
}

static struct program *random_program(struct adl_rng *rng, int columns, int rows, int most)
{
    struct program *p = program_of(columns, rows);
    for (int c = 0; c < columns; c++) {
        p->cost[c] = 2 * adl_rng_uniform(rng) - 1.5;
        p->lower[c] = adl_rng_below(rng, 4) ? 0 : -1;
        p->upper[c] = 1 + adl_rng_below(rng, (uint32_t)most);
        for (int r = 0; r < rows; r++)
            p->value[c * rows + r] = adl_rng_below(rng, 3) ? 1 + adl_rng_below(rng, 9) : 0;
    }
    for (int r = 0; r < rows; r++) {
        p->row_upper[r] = 2 + 8 * adl_rng_below(rng, 3);
        p->row_lower[r] = adl_rng_below(rng, 3) ? -HUGE_VAL : p->row_upper[r] - adl_rng_below(rng, 3);
    }
    return p;
}

static bool fits(const struct adl_lp_problem *p, const double *x)
{
    for (int r = 0; r < p->rows; r++) {
        double sum = 0;
        for (int c = 0; c < p->columns; c++)
            sum += p->value[c * p->rows + r] * x[c];
        if (sum < p->row_lower[r] - 1e-6 || sum > p->row_upper[r] + 1e-6)
            return false;
    }
    return true;
}

static double cost_of(const struct adl_lp_problem *p, const double *x)
{
    double cost = 0;
    for (int c = 0; c < p->columns; c++)
        cost += p->objective[c] * x[c];
    return cost;
}

static double least_cost(const struct adl_lp_problem *p, double *x, int from)
{
    if (from == p->columns)
        return fits(p, x) ? cost_of(p, x) : HUGE_VAL;
    double least = HUGE_VAL;
    for (x[from] = p->column_lower[from]; x[from] <= p->column_upper[from]; x[from]++)
        least = fmin(least, least_cost(p, x, from + 1));
    return least;
}

static const struct adl_milp_limits ample = {.nodes = 100000, .iterations = 1000000};

static void random_programs_reach_the_least_of_all_solutions(void **state)
{
    (void)state;
    struct adl_rng rng;
    uint32_t infeasible = 0, branched = 0;
    adl_rng_seed(&rng, 1, "milp");
    for (int round = 0; round < 3000; round++) {
        struct program *p = random_program(&rng, 1 + round % 5, 1 + round % 4, 3);
        double x[COLUMNS], scratch[COLUMNS];
        const double least = least_cost(&p->lp, scratch, 0);
        const struct adl_milp_answer answer = adl_milp_solve(&p->lp, p->integer, NULL, &ample, x);
        if (least == HUGE_VAL) {
            assert_int_equal(answer.outcome, ADL_MILP_INFEASIBLE);
            infeasible++;
        } else {
            assert_int_equal(answer.outcome, ADL_MILP_OPTIMAL);
            assert_true(fabs(answer.objective - least) < 1e-6);
            assert_true(fabs(answer.bound - least) < 1e-6);
            assert_true(fits(&p->lp, x) && fabs(cost_of(&p->lp, x) - least) < 1e-6);
            for (int c = 0; c < p->lp.columns; c++)
                assert_true(x[c] == floor(x[c]) && x[c] >= p->lower[c] && x[c] <= p->upper[c]);
        }
        branched += answer.nodes > 0;
        free(p);
    }
    assert_true(infeasible > 100 && branched > 300);
}

/* Maximize x + y under 2x + 2y <= 5 with y free to be any number: x = 2, y = 0.5. */
static void columns_that_need_not_be_whole_are_not(void **state)
{
    (void)state;
    struct program *p = program_of(2, 1);
    double x[2] = {0};
    p->value[0] = p->value[1] = 2;
    p->row_lower[0] = -HUGE_VAL;
    p->row_upper[0] = 5;
    p->upper[0] = p->upper[1] = HUGE_VAL;
    p->cost[0] = -1.5;
    p->cost[1] = -1;
    p->integer[1] = false;
    const struct adl_milp_answer answer = adl_milp_solve(&p->lp, p->integer, NULL, &ample, x);
    assert_int_equal(answer.outcome, ADL_MILP_OPTIMAL);
    assert_true(fabs(x[0] - 2) < 1e-9 && fabs(x[1] - 0.5) < 1e-7);
    free(p);
}

/* The relaxation has solutions, whole numbers are none of them: 2x = 1. */
static void programs_without_whole_solutions_are_infeasible(void **state)
{
    (void)state;
    struct program *p = program_of(1, 1);
    double x[1] = {77};
    p->value[0] = 2;
    p->row_lower[0] = p->row_upper[0] = 1;
    p->upper[0] = 10;
    assert_int_equal(adl_milp_solve(&p->lp, p->integer, NULL, &ample, x).outcome, ADL_MILP_INFEASIBLE);
    assert_true(x[0] == 77);
    free(p);
}

static void boundless_programs_fail(void **state)
{
    (void)state;
    struct program *p = program_of(1, 1);
    double x[1] = {77};
    p->value[0] = -1;
    p->row_lower[0] = -HUGE_VAL;
    p->row_upper[0] = 1;
    p->upper[0] = HUGE_VAL;
    p->cost[0] = -1;
    const struct adl_milp_answer answer = adl_milp_solve(&p->lp, p->integer, NULL, &ample, x);
    assert_int_equal(answer.outcome, ADL_MILP_FAILED);
    assert_true(answer.bound == -HUGE_VAL && x[0] == 77);
    free(p);
}

/* Hard enough that a node does not settle it. */
static struct program *knapsacks(uint64_t seed)
{
    struct adl_rng rng;
    struct program *p = program_of(COLUMNS, ROWS);
    adl_rng_seed(&rng, seed, "knapsacks");
    for (int c = 0; c < COLUMNS; c++) {
        p->cost[c] = -1 - adl_rng_uniform(&rng);
        p->upper[c] = 2;
        for (int r = 0; r < ROWS; r++)
            p->value[c * ROWS + r] = 10 + 10 * adl_rng_uniform(&rng);
    }
    for (int r = 0; r < ROWS; r++) {
        p->row_lower[r] = -HUGE_VAL;
        p->row_upper[r] = 200;
    }
    return p;
}

static void limits_end_the_search_with_what_there_is(void **state)
{
    (void)state;
    struct program *p = knapsacks(1);
    double x[COLUMNS], best[COLUMNS];
    const double zeros[COLUMNS] = {0};
    struct adl_milp_limits limits = ample;
    const struct adl_milp_answer whole = adl_milp_solve(&p->lp, p->integer, NULL, &limits, best);
    assert_int_equal(whole.outcome, ADL_MILP_OPTIMAL);
    assert_true(whole.nodes > 100);
    for (limits.nodes = 0; limits.nodes < 100; limits.nodes += 33) {
        const struct adl_milp_answer cut = adl_milp_solve(&p->lp, p->integer, zeros, &limits, x);
        assert_int_equal(cut.outcome, ADL_MILP_FEASIBLE);
        assert_true(cut.nodes <= limits.nodes && fits(&p->lp, x));
        assert_true(cut.bound <= whole.objective + 1e-9 && whole.objective <= cut.objective + 1e-9);
    }
    limits.nodes = 0;
    x[0] = 77;
    const struct adl_milp_answer none = adl_milp_solve(&p->lp, p->integer, NULL, &limits, x);
    assert_int_equal(none.outcome, ADL_MILP_NONE);
    assert_true(none.bound <= whole.objective && none.bound > -HUGE_VAL && x[0] == 77);
    limits = (struct adl_milp_limits){.nodes = 1000, .iterations = 1};
    const struct adl_milp_answer short_cut = adl_milp_solve(&p->lp, p->integer, NULL, &limits, x);
    assert_int_equal(short_cut.outcome, ADL_MILP_NONE);
    assert_true(short_cut.bound == -HUGE_VAL);
    free(p);
}

static void a_start_and_a_gap_save_work(void **state)
{
    (void)state;
    struct program *p = knapsacks(2);
    double x[COLUMNS], y[COLUMNS];
    const struct adl_milp_answer cold = adl_milp_solve(&p->lp, p->integer, NULL, &ample, x);
    const struct adl_milp_answer warm = adl_milp_solve(&p->lp, p->integer, x, &ample, y);
    assert_int_equal(warm.outcome, ADL_MILP_OPTIMAL);
    assert_true(warm.nodes < cold.nodes && fabs(warm.objective - cold.objective) < 1e-9);
    struct adl_milp_limits loose = ample;
    loose.gap = 0.02;
    const struct adl_milp_answer near = adl_milp_solve(&p->lp, p->integer, NULL, &loose, y);
    assert_int_equal(near.outcome, ADL_MILP_OPTIMAL);
    assert_true(near.nodes < cold.nodes && near.objective <= cold.objective * 0.98);
    assert_true(near.bound <= cold.objective + 1e-9 && near.objective - near.bound <= -0.02 * near.objective + 1e-6);
    x[0] += 100; /* no solution: left aside */
    assert_int_equal(adl_milp_solve(&p->lp, p->integer, x, &ample, y).nodes, cold.nodes);
    free(p);
}

struct run {
    double values[4][COLUMNS];
    struct adl_milp_answer answers[4];
};

static void *run_some(void *argument)
{
    struct run *run = argument;
    const struct adl_milp_limits limits = {.nodes = 400, .iterations = 5000};
    for (uint64_t i = 0; i < 4; i++) {
        struct program *p = knapsacks(10 + i);
        run->answers[i] = adl_milp_solve(&p->lp, p->integer, NULL, &limits, run->values[i]);
        free(p);
    }
    return NULL;
}

static void equal_calls_give_equal_bits_also_in_two_threads(void **state)
{
    (void)state;
    static struct run runs[4];
    pthread_t threads[2];
    run_some(&runs[0]);
    run_some(&runs[1]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_some, &runs[2 + i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 1; i < 4; i++) {
        assert_memory_equal(runs[0].values, runs[i].values, sizeof runs[0].values);
        for (int j = 0; j < 4; j++) {
            assert_true(runs[0].answers[j].nodes > 0);
            assert_int_equal(runs[0].answers[j].nodes, runs[i].answers[j].nodes);
            assert_true(runs[0].answers[j].bound == runs[i].answers[j].bound);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_reach_the_least_of_all_solutions),
        cmocka_unit_test(columns_that_need_not_be_whole_are_not),
        cmocka_unit_test(programs_without_whole_solutions_are_infeasible),
        cmocka_unit_test(boundless_programs_fail),
        cmocka_unit_test(limits_end_the_search_with_what_there_is),
        cmocka_unit_test(a_start_and_a_gap_save_work),
        cmocka_unit_test(equal_calls_give_equal_bits_also_in_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
