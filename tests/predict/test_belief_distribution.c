/* Tests of the distribution of residuals: what it says after what it has learned, and that its reads agree. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "predict/owner_residuals.h"
#include "predict/residuals.h"

static struct adl_residuals learned(const double *ratios, int count, int times)
{
    const struct adl_shape one = adl_shape_linear(1);
    struct adl_residuals residuals;
    adl_residuals_init(&residuals);
    for (int t = 0; t < times; t++)
        for (int i = 0; i < count; i++)
            adl_residuals_learn(&residuals, &one, ratios[i]);
    return residuals;
}

/* A heavy tail: most end soon, some take long. */
static struct adl_residuals heavy(void)
{
    return learned((double[]){0.05, 0.1, 0.1, 0.2, 0.3, 0.5, 0.8, 1.5, 6, 40}, 10, 100);
}

static void quantiles_are_those_of_what_was_learned(void **unused)
{
    (void)unused;
    const struct adl_shape one = adl_shape_linear(1);
    const struct adl_residuals residuals = learned((double[]){0.25, 0.5, 1, 2, 4}, 5, 200);
    for (int i = 0; i < 5; i++) {
        const double expected = exp2(i - 2), found = adl_residuals_quantile(&residuals, &one, 0, 0.1 + 0.2 * i);
        assert_true(fabs(log(found / expected)) < 0.1);
    }
}

static void the_scale_of_a_job_stretches_its_distribution(void **unused)
{
    (void)unused;
    const struct adl_shape half = adl_shape_linear(0.5);
    const struct adl_shape one = adl_shape_linear(1);
    const struct adl_residuals residuals = heavy();
    for (double q = 0.1; q < 0.95; q += 0.1) {
        const double whole = adl_residuals_quantile(&residuals, &one, 0, q);
        assert_true(fabs(log(adl_residuals_quantile(&residuals, &half, 0, q)) - 0.5 * log(whole)) < 1e-9);
    }
}

static void probability_and_quantile_are_inverse(void **unused)
{
    (void)unused;
    const struct adl_shape one = adl_shape_linear(1);
    const struct adl_residuals residuals = heavy();
    for (double u = 0; u < 1e4; u = u * 1.7 + 0.01)
        for (double q = 0.02; q < 1; q += 0.07) {
            const double rest = adl_residuals_quantile(&residuals, &one, u, q);
            const double p = adl_residuals_within(&residuals, &one, u, rest);
            if (fabs(p - q) > 1e-6)
                fail_msg("after %g the quantile %g is %g, whose probability is %g", u, q, rest, p);
        }
}

static void a_job_that_has_run_longer_ends_later(void **unused)
{
    (void)unused;
    const struct adl_shape one = adl_shape_linear(1);
    const struct adl_residuals residuals = heavy();
    for (double q = 0.05; q < 1; q += 0.1) {
        double before = 0;
        for (double u = 0; u < 1e5; u = u * 1.1 + 0.001) {
            const double end = u + adl_residuals_quantile(&residuals, &one, u, q);
            if (end < before * (1 - 1e-9))
                fail_msg("quantile %g: after %g it ends at %g, before at %g", q, u, end, before);
            before = end;
        }
    }
}

static void a_job_that_outlives_the_short_ones_costs_more(void **unused)
{
    (void)unused;
    const struct adl_shape one = adl_shape_linear(1);
    const struct adl_residuals residuals = heavy();
    const double young = adl_residuals_cost(&residuals, &one, 0), old = adl_residuals_cost(&residuals, &one, 2);
    assert_true(young < 0.4 && old > 4);
    assert_true(young < adl_residuals_mean(&residuals, &one, 0));
    assert_true(adl_residuals_mean(&residuals, &one, 2) > adl_residuals_mean(&residuals, &one, 0));
}

/* The least over all times to stop at, from the probabilities and a sum of small steps. */
static double naive_cost(const struct adl_residuals *residuals, const struct adl_shape *shape, double u)
{
    double best = HUGE_VAL, served = 0, before = 0;
    for (double t = 1e-4; t < 3e3; t *= 1.001) {
        const double p = adl_residuals_within(residuals, shape, u, t);
        served += (t - before) * (1 - p);
        before = t;
        if (p > 1e-6)
            best = fmin(best, served / p);
    }
    return best;
}

static void the_cost_is_the_least_over_all_times_to_stop(void **unused)
{
    (void)unused;
    const struct adl_residuals residuals = heavy();
    for (double scale = 0.25; scale <= 1; scale *= 2) {
        const struct adl_shape shape = adl_shape_linear(scale);
        for (double u = 0; u < 10; u = u * 2 + 0.1) {
            const double cost = adl_residuals_cost(&residuals, &shape, u), naive = naive_cost(&residuals, &shape, u);
            if (fabs(log(cost / naive)) > 0.1)
                fail_msg("scale %g, after %g: the cost is %g, not %g", scale, u, cost, naive);
        }
    }
}

static void beyond_all_bins_a_job_takes_as_long_again(void **unused)
{
    (void)unused;
    const struct adl_shape one = adl_shape_linear(1);
    const struct adl_residuals residuals = heavy();
    const double u = 1e6;
    assert_true(adl_residuals_quantile(&residuals, &one, u, 0.5) == u);
    assert_true(adl_residuals_within(&residuals, &one, u, u) == 0.5);
    assert_true(adl_residuals_mean(&residuals, &one, u) == u && adl_residuals_cost(&residuals, &one, u) == u);
}

static void absurd_residuals_move_no_more_than_their_share(void **unused)
{
    (void)unused;
    const struct adl_shape one = adl_shape_linear(1);
    struct adl_residuals residuals = learned((double[]){1}, 1, 1000);
    const double absurd[] = {NAN, HUGE_VAL, 0, 1e300, 1e-300};
    for (int i = 0; i < 5; i++)
        adl_residuals_learn(&residuals, &one, absurd[i]);
    assert_true(fabs(adl_residuals_quantile(&residuals, &one, 0, 0.5) - 1) < 0.06);
    assert_true(fabs(adl_residuals_quantile(&residuals, &one, 0, 0.9) - 1) < 0.12);
    for (double u = 0; u < 1e300; u = u * 1e10 + 1e-10)
        for (double scale = 0.05; scale < 10; scale *= 3) {
            const struct adl_shape shape = adl_shape_linear(scale);
            assert_true(isfinite(adl_residuals_cost(&residuals, &shape, u)));
            assert_true(isfinite(adl_residuals_mean(&residuals, &shape, u)));
            assert_true(adl_residuals_quantile(&residuals, &shape, u, 0.99) >= 0);
        }
}

/* Predictions become three times too long, and twice as uncertain, half way. */
static void coverage_holds_on_a_stream_that_shifts(void **unused)
{
    (void)unused;
    const struct adl_shape one = adl_shape_linear(1);
    enum { JOBS = 20000 };
    struct adl_residuals residuals;
    struct adl_rng rng;
    int half = 0, most = 0;
    adl_rng_seed(&rng, 1, "shift");
    adl_residuals_init(&residuals);
    for (int j = 0; j < JOBS; j++) {
        const double z = j < JOBS / 2 ? adl_rng_normal(&rng) : 2 * adl_rng_normal(&rng) - 1.1, ratio = exp(z);
        half += ratio >= adl_residuals_quantile(&residuals, &one, 0, 0.25) &&
                ratio <= adl_residuals_quantile(&residuals, &one, 0, 0.75);
        most += ratio >= adl_residuals_quantile(&residuals, &one, 0, 0.05) &&
                ratio <= adl_residuals_quantile(&residuals, &one, 0, 0.95);
        adl_residuals_learn(&residuals, &one, ratio);
    }
    if (fabs((double)half / JOBS - 0.5) > 0.03 || fabs((double)most / JOBS - 0.9) > 0.03)
        fail_msg("50 %% intervals cover %.1f %%, 90 %% intervals %.1f %%", 100.0 * half / JOBS, 100.0 * most / JOBS);
}

/* Half of the jobs took half as long as predicted or twice as long, exactly: a shape that knows it says so. */
static void a_shape_says_how_similar_jobs_were_spread(void **unused)
{
    (void)unused;
    const float deciles[] = {-0.7f, -0.7f, -0.7f, -0.7f, 0, 0.7f, 0.7f, 0.7f, 0.7f};
    const struct adl_shape shape = adl_shape_of_deciles(deciles);
    struct adl_residuals residuals;
    adl_residuals_init(&residuals);
    for (int i = 0; i < 1000; i++)
        adl_residuals_learn(&residuals, &shape, exp((i % 2 ? 0.71 : -0.71) + 1e-4 * (i % 16)));
    assert_true(fabs(log(adl_residuals_quantile(&residuals, &shape, 0, 0.25)) + 0.7) < 0.03);
    assert_true(fabs(log(adl_residuals_quantile(&residuals, &shape, 0, 0.75)) - 0.7) < 0.03);
    assert_true(adl_residuals_within(&residuals, &shape, 0.6, 0.9) < 0.05);
    assert_true(adl_residuals_within(&residuals, &shape, 0.6, 1.5) > 0.95);
}

static void equal_sequences_give_equal_bits(void **unused)
{
    (void)unused;
    const struct adl_residuals a = heavy(), b = heavy();
    assert_memory_equal(&a, &b, sizeof a);
}

/* ---- owners ---- */

static double median_of(const struct adl_owner_residuals *owners, uint64_t key, const struct adl_residuals *all,
                        const struct adl_shape *shape)
{
    struct adl_residuals room;
    return adl_residuals_quantile(adl_owner_residuals_find(owners, key, all, &room), shape, 0, 0.5);
}

static void an_owner_whose_jobs_run_longer_than_predicted_is_told_from_others(void **unused)
{
    (void)unused;
    const struct adl_shape shape = adl_shape_linear(1);
    const uint64_t late = adl_owner_residuals_key(1, &shape, 1e9), other = adl_owner_residuals_key(2, &shape, 1e9);
    struct adl_owner_residuals *owners = NULL, *read = NULL;
    struct adl_residuals all;
    struct adl_text bytes = {0};
    assert_true(late != other && late != adl_owner_residuals_key(1, &shape, 1e12));
    assert_int_equal(adl_owner_residuals_create(&owners) + adl_owner_residuals_create(&read), 0);
    adl_residuals_init(&all);
    for (int i = 0; i < 1000; i++) {
        adl_residuals_learn(&all, &shape, 1);
        adl_owner_residuals_learn(owners, late, &shape, 4);
    }
    const double found = median_of(owners, late, &all, &shape);
    assert_true(found > 3.5 && found < 4.5);
    assert_true(fabs(median_of(owners, other, &all, &shape) - 1) < 0.1);
    adl_owner_residuals_encode(owners, &bytes);
    const unsigned char *data = (const unsigned char *)bytes.data;
    adl_owner_residuals_decode(read, &(struct adl_unpack){data, data + bytes.size, false}, false);
    assert_true(fabs(median_of(read, late, &all, &shape) - 1) < 0.1);
    adl_owner_residuals_decode(read, &(struct adl_unpack){data, data + bytes.size, false}, true);
    assert_true(median_of(read, late, &all, &shape) == found);
    struct adl_unpack cut = {data, data + bytes.size - 1, false};
    adl_owner_residuals_decode(read, &cut, true);
    assert_true(cut.failed);
    adl_text_clear(&bytes);
    adl_owner_residuals_destroy(owners);
    adl_owner_residuals_destroy(read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_what_was_learned),
        cmocka_unit_test(the_scale_of_a_job_stretches_its_distribution),
        cmocka_unit_test(probability_and_quantile_are_inverse),
        cmocka_unit_test(a_job_that_has_run_longer_ends_later),
        cmocka_unit_test(a_job_that_outlives_the_short_ones_costs_more),
        cmocka_unit_test(the_cost_is_the_least_over_all_times_to_stop),
        cmocka_unit_test(beyond_all_bins_a_job_takes_as_long_again),
        cmocka_unit_test(absurd_residuals_move_no_more_than_their_share),
        cmocka_unit_test(coverage_holds_on_a_stream_that_shifts),
        cmocka_unit_test(a_shape_says_how_similar_jobs_were_spread),
        cmocka_unit_test(equal_sequences_give_equal_bits),
        cmocka_unit_test(an_owner_whose_jobs_run_longer_than_predicted_is_told_from_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
