/* Tests of base/rng and base/real: streams, moments, and logarithm and exponential against the C library. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/real.h"
#include "base/rng.h"

#define assert_near(actual, expected, tolerance) assert_true(fabs((actual) - (expected)) <= (tolerance))

static const double tiny = 0x1.0p-1074; /* the distance between two subnormal numbers */

/* Distance of a double from a long double, in units of the last place at that value. */
static double ulps(double actual, long double expected)
{
    int exponent;
    frexpl(expected, &exponent);
    const double unit = exponent - 53 > -1074 ? ldexp(1.0, exponent - 53) : tiny;
    return (double)(fabsl((long double)actual - expected) / (long double)unit);
}

static void log_is_within_two_ulp_of_the_truth(double x)
{
    const double error = ulps(adl_log(x), logl((long double)x));
    if (!(error <= 2.0))
        fail_msg("log(%a) is %.3f ulp off", x, error);
}

static void exp_is_within_two_ulp_of_the_truth(double x)
{
    const double error = ulps(adl_exp(x), expl((long double)x));
    if (!(error <= 2.0))
        fail_msg("exp(%a) is %.3f ulp off", x, error);
}

static void log_is_right_to_two_ulp_over_the_whole_range(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "log");
    for (int exponent = -1074; exponent <= 1023; exponent++)
        for (int i = 0; i < 100; i++)
            log_is_within_two_ulp_of_the_truth(ldexp(1.0 + adl_rng_uniform(&rng), exponent));
    log_is_within_two_ulp_of_the_truth(DBL_MAX);
    log_is_within_two_ulp_of_the_truth(DBL_MIN);
    log_is_within_two_ulp_of_the_truth(tiny);
}

static void log_is_right_to_two_ulp_close_to_one(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 2, "log");
    assert_true(adl_log(1.0) == 0.0);
    for (int exponent = -52; exponent < 0; exponent++)
        for (int i = 0; i < 1000; i++) {
            const double away = ldexp(1.0 + adl_rng_uniform(&rng), exponent);
            log_is_within_two_ulp_of_the_truth(1.0 + away);
            if (away < 1.0)
                log_is_within_two_ulp_of_the_truth(1.0 - away);
        }
}

static void log_of_zero_is_minus_infinity(void **state)
{
    (void)state;
    assert_true(adl_log(0.0) == -HUGE_VAL);
}

static void exp_is_right_to_two_ulp_over_the_whole_range(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 3, "exp");
    for (int i = 0; i < 150000; i++)
        exp_is_within_two_ulp_of_the_truth(-745.0 + adl_rng_uniform(&rng) * (745.0 + 709.7));
    for (int exponent = -60; exponent < 6; exponent++)
        for (int i = 0; i < 500; i++) {
            const double x = ldexp(1.0 + adl_rng_uniform(&rng), exponent);
            exp_is_within_two_ulp_of_the_truth(x);
            exp_is_within_two_ulp_of_the_truth(-x);
        }
    assert_true(adl_exp(0.0) == 1.0);
}

static void exp_saturates_at_both_ends(void **state)
{
    (void)state;
    assert_true(adl_exp(800.0) == HUGE_VAL);
    assert_true(adl_exp(1e300) == HUGE_VAL);
    assert_true(adl_exp(HUGE_VAL) == HUGE_VAL);
    assert_true(adl_exp(-800.0) == 0.0);
    assert_true(adl_exp(-1e300) == 0.0);
    assert_true(adl_exp(-HUGE_VAL) == 0.0);
}

static void several_at_once_are_the_same_bits_as_one_by_one(void **state)
{
    (void)state;
    struct adl_rng rng;
    double logs[37], exps[37], one_by_one[2][37];
    adl_rng_seed(&rng, 1, "each");
    for (int i = 0; i < 37; i++) {
        logs[i] = i == 0 ? 0 : i == 1 ? 0x1p-1060 : adl_rng_uniform(&rng) * 3;
        exps[i] = i == 0 ? 800 : i == 1 ? -800 : i == 2 ? -740 : 40 * adl_rng_uniform(&rng) - 20;
        one_by_one[0][i] = adl_log(logs[i]);
        one_by_one[1][i] = adl_exp(exps[i]);
    }
    adl_log_each(logs, 37);
    adl_exp_each(exps, 37);
    assert_memory_equal(logs, one_by_one[0], sizeof logs);
    assert_memory_equal(exps, one_by_one[1], sizeof exps);
}

static void log_undoes_exp(void **state)
{
    (void)state;
    for (int i = -1900; i <= 1900; i++) {
        const double x = i * 0.37;
        assert_near(adl_log(adl_exp(x)), x, 1e-15 + 2e-16 * fabs(x));
    }
}

static void equal_seeds_and_purposes_give_equal_streams(void **state)
{
    (void)state;
    struct adl_rng a, b;
    for (uint64_t seed = 0; seed < 50; seed++) {
        adl_rng_seed(&a, seed, "jobs");
        adl_rng_seed(&b, seed, "jobs");
        for (int i = 0; i < 50; i++)
            assert_true(adl_rng_next(&a) == adl_rng_next(&b));
    }
}

/* Mean agreement of bits: 32 of 64 for independent streams, with a standard error of 4 / sqrt(draws). */
static double agreement(struct adl_rng a, struct adl_rng b, int draws)
{
    double bits = 0;
    for (int i = 0; i < draws; i++)
        bits += 64 - __builtin_popcountll(adl_rng_next(&a) ^ adl_rng_next(&b));
    return bits / draws;
}

static void streams_of_other_purposes_and_seeds_are_unrelated(void **state)
{
    (void)state;
    static const char *const purposes[] = {"jobs", "arrivals", "faults", "telemetry", "job", "jobs ", "", "sboj"};
    const int count = sizeof purposes / sizeof *purposes;
    struct adl_rng a, b;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            for (uint64_t seed = 0; seed < 3; seed++) {
                adl_rng_seed(&a, 0, purposes[i]);
                adl_rng_seed(&b, seed, purposes[j]);
                if (i != j || seed != 0)
                    assert_near(agreement(a, b, 2000), 32.0, 6 * 4.0 / sqrt(2000.0));
            }
}

static void drawing_from_one_stream_does_not_shift_another(void **state)
{
    (void)state;
    struct adl_rng jobs, faults, expected;
    adl_rng_seed(&jobs, 7, "jobs");
    adl_rng_seed(&faults, 7, "faults");
    adl_rng_seed(&expected, 7, "jobs");
    for (int i = 0; i < 100; i++) {
        adl_rng_normal(&faults);
        assert_true(adl_rng_next(&jobs) == adl_rng_next(&expected));
    }
}

static void the_generator_is_the_published_xoshiro256plusplus(void **state)
{
    (void)state;
    /* By hand from the definition with state 1, 2, 3, 4: rotl(1 + 4, 23) + 1, then one step on. */
    struct adl_rng rng = {{1, 2, 3, 4}};
    assert_true(adl_rng_next(&rng) == 41943041u);
    assert_true(rng.s[0] == 7 && rng.s[1] == 0 && rng.s[2] == 262146 && rng.s[3] == UINT64_C(211106232532992));
    assert_true(adl_rng_next(&rng) == 58720359u);
}

static void uniforms_lie_in_the_half_open_unit_interval_and_spread_evenly(void **state)
{
    (void)state;
    enum { DRAWS = 200000, CELLS = 50 };
    struct adl_rng rng;
    int cells[CELLS] = {0};
    double sum = 0, square = 0;
    adl_rng_seed(&rng, 1, "uniform");
    for (int i = 0; i < DRAWS; i++) {
        const double u = adl_rng_uniform(&rng);
        assert_true(u >= 0.0 && u < 1.0);
        cells[(int)(u * CELLS)]++;
        sum += u;
        square += u * u;
    }
    assert_near(sum / DRAWS, 0.5, 0.003);
    assert_near(square / DRAWS, 1.0 / 3, 0.003);
    for (int i = 0; i < CELLS; i++)
        assert_near((double)cells[i], (double)DRAWS / CELLS, 5 * sqrt((double)DRAWS / CELLS));
}

static void below_reaches_every_number_below_the_count_and_no_other(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "below");
    for (uint32_t count = 1; count <= 40; count++) {
        uint64_t seen = 0;
        for (int i = 0; i < 1000; i++) {
            const uint32_t drawn = adl_rng_below(&rng, count);
            assert_true(drawn < count);
            seen |= UINT64_C(1) << drawn;
        }
        assert_true(seen == (UINT64_C(1) << count) - 1);
    }
    for (int i = 0; i < 1000; i++)
        assert_true(adl_rng_below(&rng, UINT32_MAX) < UINT32_MAX);
}

static void normals_have_the_moments_of_the_normal_distribution(void **state)
{
    (void)state;
    enum { DRAWS = 300000 };
    struct adl_rng rng;
    double moment[5] = {0};
    int within_one = 0, within_two = 0;
    adl_rng_seed(&rng, 1, "normal");
    for (int i = 0; i < DRAWS; i++) {
        const double x = adl_rng_normal(&rng);
        double power = 1;
        for (int k = 1; k <= 4; k++)
            moment[k] += power *= x;
        within_one += fabs(x) < 1;
        within_two += fabs(x) < 2;
    }
    /* Five standard errors: 1, sqrt 2, sqrt 15 and sqrt 96 over the root of the number of draws. */
    const double error = 5 / sqrt((double)DRAWS);
    assert_near(moment[1] / DRAWS, 0.0, error);
    assert_near(moment[2] / DRAWS, 1.0, error * sqrt(2));
    assert_near(moment[3] / DRAWS, 0.0, error * sqrt(15));
    assert_near(moment[4] / DRAWS, 3.0, error * sqrt(96));
    assert_near((double)within_one / DRAWS, 0.682689, error * 0.5);
    assert_near((double)within_two / DRAWS, 0.954500, error * 0.25);
}

static void exponentials_have_the_moments_of_the_exponential_distribution(void **state)
{
    (void)state;
    enum { DRAWS = 300000 };
    struct adl_rng rng;
    double sum = 0, square = 0;
    int beyond_two = 0;
    adl_rng_seed(&rng, 1, "exponential");
    for (int i = 0; i < DRAWS; i++) {
        const double x = adl_rng_exponential(&rng);
        assert_true(x >= 0 && x < HUGE_VAL);
        sum += x;
        square += x * x;
        beyond_two += x > 2;
    }
    const double error = 5 / sqrt((double)DRAWS);
    assert_near(sum / DRAWS, 1.0, error);
    assert_near(square / DRAWS, 2.0, error * sqrt(20));
    assert_near((double)beyond_two / DRAWS, exp(-2), error * 0.35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_is_right_to_two_ulp_over_the_whole_range),
        cmocka_unit_test(log_is_right_to_two_ulp_close_to_one),
        cmocka_unit_test(log_of_zero_is_minus_infinity),
        cmocka_unit_test(exp_is_right_to_two_ulp_over_the_whole_range),
        cmocka_unit_test(exp_saturates_at_both_ends),
        cmocka_unit_test(log_undoes_exp),
        cmocka_unit_test(several_at_once_are_the_same_bits_as_one_by_one),
        cmocka_unit_test(equal_seeds_and_purposes_give_equal_streams),
        cmocka_unit_test(streams_of_other_purposes_and_seeds_are_unrelated),
        cmocka_unit_test(drawing_from_one_stream_does_not_shift_another),
        cmocka_unit_test(the_generator_is_the_published_xoshiro256plusplus),
        cmocka_unit_test(uniforms_lie_in_the_half_open_unit_interval_and_spread_evenly),
        cmocka_unit_test(below_reaches_every_number_below_the_count_and_no_other),
        cmocka_unit_test(normals_have_the_moments_of_the_normal_distribution),
        cmocka_unit_test(exponentials_have_the_moments_of_the_exponential_distribution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
