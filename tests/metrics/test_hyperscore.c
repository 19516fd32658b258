/* Tests of feedback/hyperscore: the formula in another form, its ends and its order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "metrics/hyperscore.h"

#define assert_near(actual, expected, tolerance) assert_true(fabs((actual) - (expected)) <= (tolerance))

/* sigma(5 ln v - ln 2) = v^5 / (v^5 + 2). */
static double reference(double v)
{
    return 100.0 * (1.0 + pow(pow(v, 5.0) / (pow(v, 5.0) + 2.0), 2.1));
}

static void the_best_run_scores_what_the_formula_says(void **state)
{
    (void)state;
    const double sigma = 1.0 / (1.0 + exp(log(2.0)));
    assert_near(adl_hyperscore(1.0), 100.0 * (1.0 + pow(sigma, 2.1)), 1e-12);
    assert_near(adl_hyperscore(1.0), 109.9551, 5e-5);
}

static void the_score_is_the_formula_everywhere(void **state)
{
    (void)state;
    for (int i = 1; i <= 1000; i++)
        assert_near(adl_hyperscore(i / 1000.0), reference(i / 1000.0), 1e-11);
}

static void a_higher_v_never_scores_lower(void **state)
{
    (void)state;
    double last = adl_hyperscore(0.0);
    for (int i = 1; i <= 5000; i++) {
        const double score = adl_hyperscore(i / 5000.0);
        assert_true(score >= last);
        assert_true(i < 500 || score > last);
        last = score;
    }
}

static void v_beyond_its_range_scores_like_the_end(void **state)
{
    (void)state;
    assert_true(adl_hyperscore(7.0) == adl_hyperscore(1.0));
    assert_true(adl_hyperscore(0.0) == adl_hyperscore(1e-6));
    assert_true(adl_hyperscore(-3.0) == adl_hyperscore(1e-6));
    assert_true(adl_hyperscore(NAN) == adl_hyperscore(1e-6));
    assert_near(adl_hyperscore(0.0), 100.0, 1e-12);
}

static void v_is_the_geometric_mean_of_the_five_terms(void **state)
{
    (void)state;
    const struct adl_score_terms terms = {0.9, 0.5, 0.7, 1.0, 0.3};
    assert_near(adl_score_v(&terms), pow(0.9 * 0.5 * 0.7 * 1.0 * 0.3, 0.2), 1e-14);
    const struct adl_score_terms best = {1, 1, 1, 1, 1};
    assert_true(adl_score_v(&best) == 1.0);
}

static void each_term_alone_moves_v(void **state)
{
    (void)state;
    const struct adl_score_terms terms[] = {
        {.jct = 0.5, .throughput = 1, .utilization = 1, .sla = 1, .energy = 1},
        {.jct = 1, .throughput = 0.5, .utilization = 1, .sla = 1, .energy = 1},
        {.jct = 1, .throughput = 1, .utilization = 0.5, .sla = 1, .energy = 1},
        {.jct = 1, .throughput = 1, .utilization = 1, .sla = 0.5, .energy = 1},
        {.jct = 1, .throughput = 1, .utilization = 1, .sla = 1, .energy = 0.5},
    };
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++)
        assert_near(adl_score_v(&terms[i]), pow(0.5, 0.2), 1e-14);
}

static void terms_beyond_their_range_count_like_the_end(void **state)
{
    (void)state;
    const struct adl_score_terms above = {2.0, 1.0000001, 5.0, 1.0, HUGE_VAL};
    assert_true(adl_score_v(&above) == 1.0);
    const struct adl_score_terms below = {0.0, -1.0, NAN, 1e-9, 1e-6};
    assert_near(adl_score_v(&below), 1e-6, 1e-20);
    const struct adl_score_terms mixed = {0.0, 1.0, 1.0, 1.0, 1.0};
    assert_near(adl_score_v(&mixed), pow(1e-6, 0.2), 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_run_scores_what_the_formula_says),
        cmocka_unit_test(the_score_is_the_formula_everywhere),
        cmocka_unit_test(a_higher_v_never_scores_lower),
        cmocka_unit_test(v_beyond_its_range_scores_like_the_end),
        cmocka_unit_test(v_is_the_geometric_mean_of_the_five_terms),
        cmocka_unit_test(each_term_alone_moves_v),
        cmocka_unit_test(terms_beyond_their_range_count_like_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
