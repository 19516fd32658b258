/* Tests of feedback/statistics: published tables, closed forms, enumeration, and properties. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "metrics/statistics.h"

#define assert_near(actual, expected, tolerance) assert_true(fabs((actual) - (expected)) <= (tolerance))
#define assert_close(actual, expected, relative) assert_near(actual, expected, (relative)*fabs(expected))
#define LENGTH(array)                            (sizeof(array) / sizeof((array)[0]))

static const double PI = 3.14159265358979323846;

static void student_t_quantiles_are_those_of_the_table(void **state)
{
    (void)state;
    static const double table[][2] = {
        {0.5, 164.557673480489},  {1, 12.7062047361747},      {2, 4.30265272974946},  {3, 3.18244630528371},
        {5, 2.57058183563632},    {9, 2.26215716279821},      {10, 2.22813885198627}, {19, 2.09302405440831},
        {29, 2.0452296421327},    {30, 2.04227245630124},     {99, 1.98421695158642}, {100, 1.98397151852355},
        {1000, 1.96233908082641}, {100000, 1.95998770753461},
    };
    for (size_t i = 0; i < LENGTH(table); i++)
        assert_close(adl_student_t_quantile(table[i][0]), table[i][1], 1e-10);
    assert_near(adl_student_t_quantile(1e300), 1.959964, 1e-6);
    assert_true(isinf(adl_student_t_quantile(0.0)));
}

static void student_t_tails_are_those_of_the_table(void **state)
{
    (void)state;
    static const double table[][3] = {
        {0.1, 4, 0.9251558409394533},   {2, 7, 0.08561932856297608},       {4, 9, 0.003110428310385855},
        {10, 3, 0.00212839905841415},   {25, 19, 5.326859187347013e-16},   {1.5, 2.5, 0.2478364530862963},
        {3, 1e6, 0.002699862541421797}, {50, 200, 5.420575479782486e-115}, {1e-8, 5, 0.9999999924078662},
    };
    for (size_t i = 0; i < LENGTH(table); i++) {
        assert_close(adl_student_t_p(table[i][0], table[i][1]), table[i][2], 1e-9);
        assert_true(adl_student_t_p(-table[i][0], table[i][1]) == adl_student_t_p(table[i][0], table[i][1]));
    }
    for (double t = 0.0; t < 50.0; t += 0.37) {
        assert_near(adl_student_t_p(t, 1), 1.0 - 2.0 / PI * atan(t), 1e-13);
        assert_near(adl_student_t_p(t, 2), 1.0 - t / sqrt(2.0 + t * t), 1e-13);
    }
}

static void student_t_tail_at_the_ends_is_one_and_zero(void **state)
{
    (void)state;
    assert_true(adl_student_t_p(0.0, 7) == 1.0);
    assert_true(adl_student_t_p(HUGE_VAL, 7) == 0.0);
    assert_true(adl_student_t_p(1e200, 7) == 0.0);
    assert_true(adl_student_t_p(3.0, 0.0) == 1.0);
}

static void summary_of_four_values_is_the_hand_computed_one(void **state)
{
    (void)state;
    const double values[] = {2, 4, 4, 6};
    const struct adl_summary summary = adl_summarize(values, 4);
    assert_near(summary.mean, 4.0, 1e-15);
    assert_near(summary.sd, sqrt(8.0 / 3.0), 1e-14);
    const double half = 3.18244630528371 * sqrt(8.0 / 3.0) / 2.0;
    assert_near(summary.lo, 4.0 - half, 1e-11);
    assert_near(summary.hi, 4.0 + half, 1e-11);
}

static void summary_without_spread_is_exactly_the_value(void **state)
{
    (void)state;
    const double values[] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
    for (size_t count = 1; count <= 7; count++) {
        const struct adl_summary summary = adl_summarize(values, count);
        assert_true(summary.mean == 0.1 && summary.sd == 0.0 && summary.lo == 0.1 && summary.hi == 0.1);
    }
    const struct adl_summary none = adl_summarize(values, 0);
    assert_true(none.mean == 0.0 && none.sd == 0.0 && none.lo == 0.0 && none.hi == 0.0);
}

static void interval_covers_the_true_mean_about_95_times_in_100(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 7, "coverage");
    int covered = 0;
    for (int trial = 0; trial < 4000; trial++) {
        double values[5];
        for (size_t i = 0; i < 5; i++)
            values[i] = 3.0 + 2.0 * adl_rng_normal(&rng);
        const struct adl_summary summary = adl_summarize(values, 5);
        covered += summary.lo <= 3.0 && 3.0 <= summary.hi;
    }
    assert_in_range(covered, 3740, 3860); /* 3800, with a standard deviation of 14 */
}

/* Student 1908: hours of sleep gained with two drugs, ten patients. */
static const double SLEEP_A[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
static const double SLEEP_B[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

static void sleep_data_give_the_published_p_values(void **state)
{
    (void)state;
    struct adl_paired paired;
    assert_int_equal(adl_compare_pairs(SLEEP_A, SLEEP_B, 10, &paired), 0);
    assert_near(paired.difference, -1.58, 1e-12);
    assert_near(paired.t_p, 0.002833, 5e-7);
    assert_near(paired.wilcoxon_p, 0.009091, 5e-7); /* a zero and a tie: the normal approximation */
}

static void swapping_the_pair_negates_the_difference_and_keeps_p(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "swap");
    double a[60], b[60];
    for (size_t count = 0; count <= 60; count++) {
        for (size_t i = 0; i < count; i++) {
            a[i] = adl_rng_normal(&rng) + 0.3;
            b[i] = i % 9 == 8 ? a[i] : adl_rng_normal(&rng);
        }
        struct adl_paired there, back;
        assert_int_equal(adl_compare_pairs(a, b, count, &there), 0);
        assert_int_equal(adl_compare_pairs(b, a, count, &back), 0);
        assert_true(there.difference == -back.difference);
        assert_true(there.t_p == back.t_p && there.wilcoxon_p == back.wilcoxon_p);
        assert_true(there.t_p >= 0.0 && there.t_p <= 1.0 && there.wilcoxon_p > 0.0 && there.wilcoxon_p <= 1.0);
    }
}

/* Differences 1..count, negative where the bit is set; the negative ranks then sum to what the bits say. */
static double signed_rank_of(uint32_t negative, size_t count)
{
    double a[64] = {0};
    double b[64] = {0};
    for (size_t i = 0; i < count; i++)
        (negative >> i & 1 ? b : a)[i] = (double)(i + 1);
    struct adl_paired paired;
    assert_int_equal(adl_compare_pairs(a, b, count, &paired), 0);
    return paired.wilcoxon_p;
}

static void signed_rank_p_values_are_those_of_the_table(void **state)
{
    (void)state;
    assert_true(signed_rank_of(0, 1) == 1.0);
    assert_true(signed_rank_of(0, 5) == 0.0625);
    assert_true(signed_rank_of(0, 6) == 0.03125);
    assert_true(signed_rank_of(1u << 2, 8) == 0.0390625);    /* W = 3 */
    assert_true(signed_rank_of(1u << 3, 8) == 0.0546875);    /* W = 4 */
    assert_true(signed_rank_of(1u << 7, 10) == 0.048828125); /* W = 8 */
    /* The two-sided 5 % critical values of the usual table: 52 for 20 pairs, 89 for 25. */
    assert_true(signed_rank_of(1u << 19 | 1u << 18 | 1u << 12, 20) <= 0.05);
    assert_true(signed_rank_of(1u << 19 | 1u << 18 | 1u << 13, 20) > 0.05);
    assert_true(signed_rank_of(1u << 24 | 1u << 23 | 1u << 22 | 1u << 16, 25) <= 0.05);
    assert_true(signed_rank_of(1u << 24 | 1u << 23 | 1u << 22 | 1u << 17, 25) > 0.05);
}

static void exact_signed_rank_equals_enumeration_of_all_signs(void **state)
{
    (void)state;
    const size_t count = 9;
    int sums[512];
    for (uint32_t signs = 0; signs < 512; signs++) {
        sums[signs] = 0;
        for (int i = 0; i < 9; i++)
            sums[signs] += signs >> i & 1 ? i + 1 : 0;
    }
    for (uint32_t signs = 0; signs < 512; signs++) {
        const int distance = sums[signs] * 2 > 45 ? sums[signs] * 2 - 45 : 45 - sums[signs] * 2;
        int as_extreme = 0;
        for (uint32_t other = 0; other < 512; other++) {
            const int twice = sums[other] * 2 - 45;
            as_extreme += (twice < 0 ? -twice : twice) >= distance;
        }
        assert_near(signed_rank_of(signs, count), as_extreme / 512.0, 1e-15);
    }
}

static void signed_rank_of_many_pairs_is_the_corrected_normal_tail(void **state)
{
    (void)state;
    const double sd = sqrt(30.0 * 31.0 * 61.0 / 24.0);
    assert_close(signed_rank_of(0, 30), erfc((232.5 - 0.5) / sd / sqrt(2.0)), 1e-12);
    /* 30 + 29 + 28 + 27 + 23 = 137 */
    const uint32_t signs = 1u << 29 | 1u << 28 | 1u << 27 | 1u << 26 | 1u << 22;
    assert_close(signed_rank_of(signs, 30), erfc((232.5 - 137.0 - 0.5) / sd / sqrt(2.0)), 1e-12);

    /* All of one size: the ranks are all 2.5, the sum of the positive ones 7.5 of 10. */
    const double a[] = {1, 1, 1, 0};
    const double b[] = {0, 0, 0, 1};
    struct adl_paired paired;
    assert_int_equal(adl_compare_pairs(a, b, 4, &paired), 0);
    const double variance = 4.0 * 5.0 * 9.0 / 24.0 - (64.0 - 4.0) / 48.0;
    assert_close(paired.wilcoxon_p, erfc((2.5 - 0.5) / sqrt(variance) / sqrt(2.0)), 1e-13);
}

static void exact_and_normal_signed_rank_agree_where_they_meet(void **state)
{
    (void)state;
    const uint32_t signs = 1u << 24 | 1u << 21 | 1u << 13 | 1u << 2; /* W = 25 + 22 + 14 + 3 = 64 of 25 pairs */
    const double sd = sqrt(25.0 * 26.0 * 51.0 / 24.0);
    assert_near(signed_rank_of(signs, 25), erfc((162.5 - 64.0 - 0.5) / sd / sqrt(2.0)), 2e-3);
    assert_close(signed_rank_of(signs, 25), 0.0067255496978759766, 1e-15);
}

static void pairs_that_tell_nothing_have_p_one(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4};
    const double b[] = {0, 1, 2, 3};
    struct adl_paired paired;
    assert_int_equal(adl_compare_pairs(NULL, NULL, 0, &paired), 0);
    assert_true(paired.difference == 0.0 && paired.t_p == 1.0 && paired.wilcoxon_p == 1.0);
    assert_int_equal(adl_compare_pairs(a, b, 1, &paired), 0);
    assert_true(paired.difference == 1.0 && paired.t_p == 1.0 && paired.wilcoxon_p == 1.0);
    assert_int_equal(adl_compare_pairs(a, a, 4, &paired), 0);
    assert_true(paired.difference == 0.0 && paired.t_p == 1.0 && paired.wilcoxon_p == 1.0);
    assert_int_equal(adl_compare_pairs(a, b, 4, &paired), 0);
    assert_true(paired.difference == 1.0 && paired.t_p == 0.0); /* a difference without spread is certain */
}

static void equal_distributions_are_called_different_one_time_in_twenty(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 3, "null");
    int by_t = 0, by_rank = 0;
    for (int trial = 0; trial < 4000; trial++) {
        double a[12], b[12];
        for (size_t i = 0; i < 12; i++) {
            a[i] = adl_rng_normal(&rng);
            b[i] = adl_rng_normal(&rng);
        }
        struct adl_paired paired;
        assert_int_equal(adl_compare_pairs(a, b, 12, &paired), 0);
        by_t += paired.t_p < 0.05;
        by_rank += paired.wilcoxon_p < 0.05;
    }
    assert_in_range(by_t, 140, 260);
    assert_in_range(by_rank, 130, 260); /* exact, hence a little below 5 % */
}

static void holm_gives_the_hand_computed_values_in_the_given_order(void **state)
{
    (void)state;
    double p[] = {0.01, 0.04, 0.03, 0.005};
    assert_int_equal(adl_holm(p, 4), 0);
    const double expected[] = {0.03, 0.06, 0.06, 0.02};
    for (size_t i = 0; i < 4; i++)
        assert_near(p[i], expected[i], 1e-15);
    assert_int_equal(adl_holm(p, 0), 0);
    double one = 0.2;
    assert_int_equal(adl_holm(&one, 1), 0);
    assert_true(one == 0.2);
}

static void holm_never_lowers_a_p_value_nor_reorders_two(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 5, "holm");
    for (int trial = 0; trial < 200; trial++) {
        double raw[40] = {0}, p[40];
        const size_t count = 1 + adl_rng_below(&rng, 40);
        for (size_t i = 0; i < count; i++) {
            const double u = adl_rng_uniform(&rng);
            p[i] = raw[i] = i % 5 == 4 ? raw[i - 1] : u * u * u;
        }
        assert_int_equal(adl_holm(p, count), 0);
        for (size_t i = 0; i < count; i++) {
            assert_true(p[i] >= raw[i] && p[i] <= 1.0 && p[i] <= (double)count * raw[i] * (1 + 1e-15));
            for (size_t j = 0; j < count; j++) {
                assert_true(raw[i] > raw[j] || p[i] <= p[j]);
                assert_true(raw[i] != raw[j] || p[i] == p[j]);
            }
        }
    }
}

static void regression_on_three_points_is_the_hand_computed_one(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3};
    const double y[] = {1, 2, 2};
    const struct adl_regression fit = adl_regress(x, y, 3);
    assert_near(fit.slope, 0.5, 1e-15);
    assert_near(fit.intercept, 2.0 / 3.0, 1e-15);
    assert_near(fit.r2, 0.75, 1e-15);
    assert_near(fit.slope_p, 1.0 / 3.0, 1e-13); /* t = sqrt 3 with one degree of freedom */
    assert_int_equal(fit.count, 3);
}

static void regression_on_anscombes_first_set_is_the_published_one(void **state)
{
    (void)state;
    const double x[] = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
    const double y[] = {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68};
    const struct adl_regression fit = adl_regress(x, y, 11);
    assert_close(fit.slope, 0.5000909090909091, 1e-13);
    assert_close(fit.intercept, 3.0000909090909091, 1e-13);
    assert_close(fit.r2, 0.6665424595087749, 1e-13);
    assert_close(fit.slope_p, 0.002169628873078797, 1e-11);
}

static void regression_without_enough_to_go_by_claims_nothing(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3};
    const double same[] = {5, 5, 5};
    struct adl_regression fit = adl_regress(x, x, 0);
    assert_true(fit.slope == 0.0 && fit.intercept == 0.0 && fit.r2 == 0.0 && fit.slope_p == 1.0 && fit.count == 0);
    fit = adl_regress(x, same, 1);
    assert_true(fit.slope == 0.0 && fit.intercept == 5.0 && fit.slope_p == 1.0);
    fit = adl_regress(same, x, 3);
    assert_true(fit.slope == 0.0 && fit.intercept == 2.0 && fit.r2 == 0.0 && fit.slope_p == 1.0);
    fit = adl_regress(x, same, 3);
    assert_true(fit.slope == 0.0 && fit.intercept == 5.0 && fit.r2 == 0.0 && fit.slope_p == 1.0);
    fit = adl_regress(x, x, 2);
    assert_true(fit.slope == 1.0 && fit.intercept == 0.0 && fit.r2 == 1.0 && fit.slope_p == 1.0);
    fit = adl_regress(x, x, 3);
    assert_true(fit.slope == 1.0 && fit.r2 == 1.0 && fit.slope_p == 0.0);
}

static double quantile_of(size_t count, double q)
{
    double values[] = {4, 1, 8, 2, 16}; /* reordered by each call */
    return adl_quantile(values, count, q);
}

static void quantile_interpolates_between_order_statistics(void **state)
{
    (void)state;
    assert_true(quantile_of(5, 0.0) == 1.0);
    assert_true(quantile_of(5, 0.5) == 4.0);
    assert_true(quantile_of(5, 1.0) == 16.0);
    assert_near(quantile_of(5, 0.625), 6.0, 1e-14);
    assert_near(quantile_of(5, 0.99), 8.0 + 0.96 * 8.0, 1e-13);
    assert_near(quantile_of(4, 0.5), 3.0, 1e-14);
    assert_true(quantile_of(1, 0.7) == 4.0);
    assert_true(quantile_of(0, 0.7) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(student_t_quantiles_are_those_of_the_table),
        cmocka_unit_test(student_t_tails_are_those_of_the_table),
        cmocka_unit_test(student_t_tail_at_the_ends_is_one_and_zero),
        cmocka_unit_test(summary_of_four_values_is_the_hand_computed_one),
        cmocka_unit_test(summary_without_spread_is_exactly_the_value),
        cmocka_unit_test(interval_covers_the_true_mean_about_95_times_in_100),
        cmocka_unit_test(sleep_data_give_the_published_p_values),
        cmocka_unit_test(swapping_the_pair_negates_the_difference_and_keeps_p),
        cmocka_unit_test(signed_rank_p_values_are_those_of_the_table),
        cmocka_unit_test(exact_signed_rank_equals_enumeration_of_all_signs),
        cmocka_unit_test(signed_rank_of_many_pairs_is_the_corrected_normal_tail),
        cmocka_unit_test(exact_and_normal_signed_rank_agree_where_they_meet),
        cmocka_unit_test(pairs_that_tell_nothing_have_p_one),
        cmocka_unit_test(equal_distributions_are_called_different_one_time_in_twenty),
        cmocka_unit_test(holm_gives_the_hand_computed_values_in_the_given_order),
        cmocka_unit_test(holm_never_lowers_a_p_value_nor_reorders_two),
        cmocka_unit_test(regression_on_three_points_is_the_hand_computed_one),
        cmocka_unit_test(regression_on_anscombes_first_set_is_the_published_one),
        cmocka_unit_test(regression_without_enough_to_go_by_claims_nothing),
        cmocka_unit_test(quantile_interpolates_between_order_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
