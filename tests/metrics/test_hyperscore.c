/* Tests of metrics/hyperscore: the formula in another form, values computed by hand, and its order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "metrics/hyperscore.h"

#define assert_near(actual, expected, tolerance) assert_true(fabs((actual) - (expected)) <= (tolerance))

#define TERMS 6

/* Terms in the order jct, p99, throughput, energy, slowdown, sla. */
static double v_of(const double term[TERMS])
{
    const struct adl_score_terms terms = {term[0], term[1], term[2], term[3], term[4], term[5]};
    return adl_score_v(&terms);
}

/* sigma(5 ln v - ln 2) = v^5 / (v^5 + 2). */
static double reference(double v)
{
    return 100.0 * (1.0 + pow(pow(v, 5.0) / (pow(v, 5.0) + 2.0), 2.1));
}

static void a_run_equal_to_the_references_scores_what_the_formula_says(void **state)
{
    (void)state;
    const double sigma = 1.0 / (1.0 + exp(log(2.0)));
    const struct adl_score_figures easy = {65, 205, 2218, 1.1, 9.7, 0.9};
    const struct adl_score_terms terms = adl_score_relate(&easy, &easy);
    assert_true(adl_score_v(&terms) == 1.0);
    assert_near(adl_hyperscore(1.0), 100.0 * (1.0 + pow(sigma, 2.1)), 1e-12);
    assert_near(adl_hyperscore(1.0), 109.9551, 5e-5);
}

static void the_score_is_the_formula_below_and_above_1(void **state)
{
    (void)state;
    for (int i = 1; i <= 3000; i++)
        assert_near(adl_hyperscore(i / 1000.0), reference(i / 1000.0), 1e-11);
}

static void a_higher_v_never_scores_lower(void **state)
{
    (void)state;
    double last = adl_hyperscore(0.0);
    for (int i = 1; i <= 10000; i++) {
        const double score = adl_hyperscore(i / 5000.0);
        assert_true(score >= last);
        assert_true(i < 500 || score > last);
        last = score;
    }
}

static void v_beyond_its_range_scores_like_the_end(void **state)
{
    (void)state;
    assert_true(adl_hyperscore(HUGE_VAL) == adl_hyperscore(1e6));
    assert_true(adl_hyperscore(0.0) == adl_hyperscore(1e-6));
    assert_true(adl_hyperscore(-3.0) == adl_hyperscore(1e-6));
    assert_true(adl_hyperscore(NAN) == adl_hyperscore(1e-6));
    assert_near(adl_hyperscore(0.0), 100.0, 1e-12);
    assert_near(adl_hyperscore(1e6), 200.0, 1e-12);
}

/* The example of docs/metrics.md. */
static void the_example_worked_by_hand_scores_126_35(void **state)
{
    (void)state;
    const struct adl_score_figures references = {60, 200, 2000, 1.0, 10, 0}, run = {40, 250, 2000, 1.0, 5, 0};
    const struct adl_score_terms terms = adl_score_relate(&run, &references);
    assert_near(terms.jct, 1.5, 1e-15);
    assert_near(terms.p99, 0.8, 1e-15);
    assert_true(terms.throughput == 1.0 && terms.energy == 1.0 && terms.slowdown == 2.0 && terms.sla == 0.0);
    assert_near(adl_score_v(&terms), 1.1765, 5e-5);
    assert_near(adl_hyperscore(adl_score_v(&terms)), 126.35, 5e-3);
}

static void v_is_the_weighted_geometric_mean_of_all_six_terms(void **state)
{
    (void)state;
    const double term[TERMS] = {1.3, 0.7, 0.9, 1.1, 2.0, 0.5};
    const double product =
        pow(1.3, 0.30) * pow(0.7, 0.20) * pow(0.9, 0.15) * pow(1.1, 0.15) * pow(2.0, 0.10) * pow(0.5, 0.10);
    assert_near(v_of(term), product, 1e-14);
}

static void each_term_alone_moves_v_by_its_weight(void **state)
{
    (void)state;
    static const double weight[TERMS] = {0.30, 0.20, 0.15, 0.15, 0.10, 0.10};
    for (int i = 0; i < TERMS; i++) {
        double term[TERMS] = {1, 1, 1, 1, 1, 1};
        term[i] = 2;
        assert_near(v_of(term), pow(2, weight[i]), 1e-14);
    }
}

static void a_term_that_is_left_out_leaves_its_weight_to_the_others(void **state)
{
    (void)state;
    assert_near(v_of((const double[TERMS]){2, 2, 2, 2, 2, 0}), 2.0, 1e-14);
    assert_near(v_of((const double[TERMS]){2, 1, 1, 0, 1, 0}), pow(2, 0.30 / 0.75), 1e-14);
    assert_near(v_of((const double[TERMS]){0.6, 0, 0, 0, 0, 0}), 0.6, 1e-14);
    assert_true(v_of((const double[TERMS]){0}) == 1.0);
}

static void a_figure_without_a_reference_is_left_out(void **state)
{
    (void)state;
    const struct adl_score_figures references = {.jct_s = 10, .p99_s = 20, .jobs_per_h = 30, .slowdown = 2},
                                   run = {5, 20, 30, 1e9, 2, 0.1};
    const struct adl_score_terms terms = adl_score_relate(&run, &references);
    assert_true(terms.energy == 0.0 && terms.sla == 0.0);
    assert_near(adl_score_v(&terms), pow(2, 0.30 / 0.75), 1e-14);
}

static void a_figure_that_could_not_be_computed_counts_as_the_worst(void **state)
{
    (void)state;
    const struct adl_score_figures references = {10, 20, 30, 4, 2, 0.9}, run = {0, NAN, NAN, 4, HUGE_VAL, 0};
    const struct adl_score_terms terms = adl_score_relate(&run, &references);
    assert_true(terms.jct == 1e-6 && terms.p99 == 1e-6 && terms.throughput == 1e-6 && terms.energy == 1.0 &&
                terms.slowdown == 1e-6 && terms.sla == 1e-6);
    assert_near(v_of((const double[TERMS]){NAN, -1, 1e-6, 1e-9, 1e-7, 1e-8}), 1e-6, 1e-18);
    assert_near(v_of((const double[TERMS]){HUGE_VAL, 1e6, 1e7, 1e8, 1e6, 1e6}), 1e6, 1e-6);
}

static double random_share(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53;
}

static double score_of(const double figure[TERMS], const struct adl_score_figures *references)
{
    const struct adl_score_figures run = {figure[0], figure[1], figure[2], figure[3], figure[4], figure[5]};
    const struct adl_score_terms terms = adl_score_relate(&run, references);
    return adl_hyperscore(adl_score_v(&terms));
}

static void a_run_that_is_no_worse_in_any_figure_never_scores_lower(void **state)
{
    (void)state;
    static const double sense[TERMS] = {-1, -1, 1, -1, -1, 1};
    uint64_t seed = 16;
    for (int trial = 0; trial < 20000; trial++) {
        const struct adl_score_figures references = {100, 500, 40, trial % 2 ? 3.0 : 0.0, 8, trial % 3 ? 0.8 : 0.0};
        double worse[TERMS], better[TERMS];
        for (int i = 0; i < TERMS; i++) {
            worse[i] = pow(10, 4 * random_share(&seed) - 2);
            better[i] = worse[i] * pow(1 + random_share(&seed), sense[i]);
        }
        assert_true(score_of(better, &references) >= score_of(worse, &references));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_equal_to_the_references_scores_what_the_formula_says),
        cmocka_unit_test(the_score_is_the_formula_below_and_above_1),
        cmocka_unit_test(a_higher_v_never_scores_lower),
        cmocka_unit_test(v_beyond_its_range_scores_like_the_end),
        cmocka_unit_test(the_example_worked_by_hand_scores_126_35),
        cmocka_unit_test(v_is_the_weighted_geometric_mean_of_all_six_terms),
        cmocka_unit_test(each_term_alone_moves_v_by_its_weight),
        cmocka_unit_test(a_term_that_is_left_out_leaves_its_weight_to_the_others),
        cmocka_unit_test(a_figure_without_a_reference_is_left_out),
        cmocka_unit_test(a_figure_that_could_not_be_computed_counts_as_the_worst),
        cmocka_unit_test(a_run_that_is_no_worse_in_any_figure_never_scores_lower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
