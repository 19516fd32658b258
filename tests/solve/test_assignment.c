/* Minimum-cost matching against every matching there is, and its prices' consequences for problems too large for that.
 */
#include "base/error.h"
#include "base/rng.h"
#include "solve/assignment.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SMALL 7

/* Best over all ways to give the rows from `row` on a free column or none: most rows first, then the least cost. */
static void try_all(const double *cost, uint32_t rows, uint32_t columns, uint32_t row, uint32_t used, uint32_t matched,
                    double sum, uint32_t *best_matched, double *best_sum)
{
    if (row == rows) {
        if (matched > *best_matched || (matched == *best_matched && sum < *best_sum)) {
            *best_matched = matched;
            *best_sum = sum;
        }
        return;
    }
    try_all(cost, rows, columns, row + 1, used, matched, sum, best_matched, best_sum);
    for (uint32_t c = 0; c < columns; c++)
        if (!(used >> c & 1) && cost[row * columns + c] < HUGE_VAL)
            try_all(cost, rows, columns, row + 1, used | 1u << c, matched + 1, sum + cost[row * columns + c],
                    best_matched, best_sum);
}

/* Every column once, no forbidden pair, the sum as told; how many rows are matched. */
static uint32_t check_matching(const double *cost, uint32_t rows, uint32_t columns, const uint32_t *matched, double sum)
{
    bool *taken = calloc(columns + 1, sizeof *taken);
    double seen = 0;
    uint32_t count = 0;
    assert_non_null(taken);
    for (uint32_t r = 0; r < rows; r++) {
        if (matched[r] == ADL_NONE)
            continue;
        assert_true(matched[r] < columns);
        assert_false(taken[matched[r]]);
        assert_true(cost[r * columns + matched[r]] < HUGE_VAL);
        taken[matched[r]] = true;
        seen += cost[r * columns + matched[r]];
        count++;
    }
    free(taken);
    assert_true(seen == sum);
    return count;
}

static void draw_costs(struct adl_rng *rng, double *cost, uint32_t count, uint32_t range, uint32_t forbidden)
{
    for (uint32_t i = 0; i < count; i++)
        cost[i] = adl_rng_below(rng, 10) < forbidden ? HUGE_VAL : (double)adl_rng_below(rng, range) - 0.25 * range;
}

static void small_matchings_are_the_best_of_all(void **state)
{
    (void)state;
    struct adl_assignment *assignment = NULL;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "assignment");
    assert_int_equal(adl_assignment_create(SMALL, SMALL, &assignment), 0);
    for (int round = 0; round < 3000; round++) {
        const uint32_t rows = adl_rng_below(&rng, SMALL), columns = 1 + adl_rng_below(&rng, SMALL - 1);
        double cost[SMALL * SMALL], best_sum = 0;
        uint32_t matched[SMALL], best_matched = 0;
        draw_costs(&rng, cost, rows * columns, round % 2 ? 4 : 1000, round % 3 == 0 ? 3 : 0);
        const double sum = adl_assignment_solve(assignment, cost, rows, columns, NULL, matched);
        const uint32_t count = check_matching(cost, rows, columns, matched, sum);
        try_all(cost, rows, columns, 0, 0, 0, 0, &best_matched, &best_sum);
        assert_int_equal(count, best_matched);
        /* With rows left over, which of them are matched is decided by their order and not by cost. */
        if (count == rows)
            assert_true(sum == best_sum);
        else
            assert_true(sum >= best_sum);
    }
    adl_assignment_destroy(assignment);
}

static void of_rows_that_compete_for_too_few_columns_the_earlier_are_matched(void **state)
{
    (void)state;
    const double cost[] = {5, 9, 1, 1, 0, 0};
    uint32_t matched[3];
    struct adl_assignment *assignment = NULL;
    assert_int_equal(adl_assignment_create(3, 2, &assignment), 0);
    assert_true(adl_assignment_solve(assignment, cost, 3, 2, NULL, matched) == 6);
    assert_int_equal(matched[0], 0);
    assert_int_equal(matched[1], 1);
    assert_int_equal(matched[2], ADL_NONE);
    adl_assignment_destroy(assignment);
}

/* No two rows gain by an exchange, and none by moving to a column that nobody has: true of every optimum. */
static void large_matchings_cannot_be_improved_by_an_exchange(void **state)
{
    (void)state;
    enum { ROWS = 128, COLUMNS = 700 };
    double *cost = malloc(sizeof *cost * ROWS * COLUMNS);
    uint32_t matched[ROWS];
    bool taken[COLUMNS] = {false};
    struct adl_assignment *assignment = NULL;
    struct adl_rng rng;
    adl_rng_seed(&rng, 2, "assignment");
    assert_non_null(cost);
    assert_int_equal(adl_assignment_create(ROWS, COLUMNS, &assignment), 0);
    draw_costs(&rng, cost, ROWS * COLUMNS, 1000000, 0);
    const double sum = adl_assignment_solve(assignment, cost, ROWS, COLUMNS, NULL, matched);
    assert_int_equal(check_matching(cost, ROWS, COLUMNS, matched, sum), ROWS);
    for (uint32_t r = 0; r < ROWS; r++)
        taken[matched[r]] = true;
    for (uint32_t r = 0; r < ROWS; r++) {
        const double *own = &cost[r * COLUMNS];
        for (uint32_t c = 0; c < COLUMNS; c++)
            assert_true(taken[c] || own[c] >= own[matched[r]]);
        for (uint32_t q = 0; q < r; q++) {
            const double *other = &cost[q * COLUMNS];
            assert_true(own[matched[q]] + other[matched[r]] >= own[matched[r]] + other[matched[q]]);
        }
    }
    adl_assignment_destroy(assignment);
    free(cost);
}

/* Costs k * p of one machine: the matching is the rule of the shortest job first. */
static void places_from_the_end_of_one_queue_order_jobs_by_length(void **state)
{
    (void)state;
    enum { JOBS = 40 };
    double cost[JOBS * JOBS], length[JOBS];
    uint32_t matched[JOBS];
    struct adl_assignment *assignment = NULL;
    struct adl_rng rng;
    adl_rng_seed(&rng, 3, "assignment");
    for (uint32_t r = 0; r < JOBS; r++) {
        length[r] = (double)adl_rng_below(&rng, 1u << 30) * 4096 + r;
        for (uint32_t k = 0; k < JOBS; k++)
            cost[r * JOBS + k] = (k + 1) * length[r];
    }
    assert_int_equal(adl_assignment_create(JOBS, JOBS, &assignment), 0);
    adl_assignment_solve(assignment, cost, JOBS, JOBS, NULL, matched);
    for (uint32_t r = 0; r < JOBS; r++)
        for (uint32_t q = 0; q < JOBS; q++)
            assert_true(length[r] <= length[q] || matched[r] < matched[q]);
    adl_assignment_destroy(assignment);
}

/* Machines of two speeds with ready times: places k on machine m cost k * p + ready, the next choice after place k - 1
 * or the machine ready before. */
static void next_choices_that_wait_for_others_cost_nothing(void **state)
{
    (void)state;
    enum { JOBS = 12, MACHINES = 4, COLUMNS = 2 * MACHINES * JOBS };
    double cost[JOBS * COLUMNS];
    uint32_t after[COLUMNS], matched[JOBS];
    struct adl_assignment *assignment = NULL;
    struct adl_rng rng;
    adl_rng_seed(&rng, 4, "assignment");
    assert_int_equal(adl_assignment_create(JOBS, COLUMNS, &assignment), 0);
    for (int round = 0; round < 300; round++) {
        for (uint32_t type = 0, c = 0; type < 2; type++) {
            double ready[MACHINES] = {adl_rng_below(&rng, 50)};
            for (uint32_t m = 1; m < MACHINES; m++)
                ready[m] = ready[m - 1] + adl_rng_below(&rng, 50);
            double length[JOBS];
            for (uint32_t r = 0; r < JOBS; r++)
                length[r] = 1 + adl_rng_below(&rng, 100);
            for (uint32_t k = 1; k <= JOBS; k++)
                for (uint32_t m = 0; m < MACHINES; m++, c++) {
                    after[c] = m > 0 ? c - 1 : k > 1 ? c - MACHINES : ADL_NONE;
                    for (uint32_t r = 0; r < JOBS; r++)
                        cost[r * COLUMNS + c] = k * length[r] + ready[m];
                }
        }
        const double all = adl_assignment_solve(assignment, cost, JOBS, COLUMNS, NULL, matched);
        const double fewer = adl_assignment_solve(assignment, cost, JOBS, COLUMNS, after, matched);
        assert_true(all == fewer);
        assert_int_equal(check_matching(cost, JOBS, COLUMNS, matched, fewer), JOBS);
    }
    adl_assignment_destroy(assignment);
}

static void nothing_to_match_costs_nothing(void **state)
{
    (void)state;
    struct adl_assignment *assignment = NULL;
    uint32_t matched[1] = {7};
    const double cost[] = {3};
    assert_int_equal(adl_assignment_create(1, 1, &assignment), 0);
    assert_true(adl_assignment_solve(assignment, cost, 0, 1, NULL, matched) == 0);
    assert_int_equal(matched[0], 7);
    assert_true(adl_assignment_solve(assignment, cost, 1, 0, NULL, matched) == 0);
    assert_int_equal(matched[0], ADL_NONE);
    adl_assignment_destroy(assignment);
    adl_assignment_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_matchings_are_the_best_of_all),
        cmocka_unit_test(of_rows_that_compete_for_too_few_columns_the_earlier_are_matched),
        cmocka_unit_test(large_matchings_cannot_be_improved_by_an_exchange),
        cmocka_unit_test(places_from_the_end_of_one_queue_order_jobs_by_length),
        cmocka_unit_test(next_choices_that_wait_for_others_cost_nothing),
        cmocka_unit_test(nothing_to_match_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
