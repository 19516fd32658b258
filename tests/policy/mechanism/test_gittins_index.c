/* Tests of the Gittins index: cases by hand, and the cost against all ways to serve a job until some time. */
#include "base/rng.h"
#include "policy/mechanism/gittins_index.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct adl_gittins_index learned(const double *ratios, int count)
{
    struct adl_gittins_index index;
    adl_gittins_index_init(&index);
    for (int i = 0; i < count; i++)
        adl_gittins_index_learn(&index, ratios[i]);
    return index;
}

static void assert_cost(const struct adl_gittins_index *index, double u, double expected)
{
    const double cost = adl_gittins_index_cost(index, u);
    if (fabs(cost - expected) > 1e-9 * (1 + expected))
        fail_msg("after %g the cost is %g, not %g", u, cost, expected);
}

/* Before anything ended: what is left of the prediction, and beyond it as long again. */
static void nothing_learned_means_the_prediction(void **unused)
{
    (void)unused;
    const struct adl_gittins_index index = learned(NULL, 0);
    assert_cost(&index, 0, 1);
    assert_cost(&index, 0.25, 0.75);
    assert_cost(&index, 3, 3);
}

/* Ratios 1, 1/4, 1/4 and 64. Until 1/4: (4 * 1/4) / 2; until 1: (1/2 + 2) / 3 = 5/6; until 64: 65.5 / 4. After 1/4 one
 * ends at 1, one at 64: until 1 (3/4 + 3/4) / 1. */
static void a_job_that_outlives_the_short_ones_costs_more(void **unused)
{
    (void)unused;
    const struct adl_gittins_index index = learned((double[]){0.25, 0.25, 64}, 3);
    assert_cost(&index, 0, 0.5);
    assert_cost(&index, 0.25, 1.5);
    assert_cost(&index, 1, 63);
}

static double naive_cost(const double *ratios, int count, double u)
{
    double best = HUGE_VAL;
    for (int v = 0; v < count; v++) {
        double served = 0, ended = 0;
        for (int i = 0; i < count; i++)
            if (ratios[i] > u) {
                served += fmin(ratios[i], ratios[v]) - u;
                ended += ratios[i] <= ratios[v];
            }
        if (ratios[v] > u)
            best = fmin(best, served / ended);
    }
    return best == HUGE_VAL ? u : best;
}

static void the_cost_is_the_least_over_all_times_to_stop(void **unused)
{
    (void)unused;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "gittins");
    for (int round = 0; round < 300; round++) {
        double ratios[21] = {1};
        const int count = 1 + (int)adl_rng_below(&rng, 20);
        for (int i = 1; i <= count; i++)
            ratios[i] = exp2(((double)adl_rng_below(&rng, 97) - 64) / 4);
        const struct adl_gittins_index index = learned(&ratios[1], count);
        for (int i = 0; i < 20; i++) {
            const double u = i == 0 ? 0 : exp2(((double)adl_rng_below(&rng, 97) - 64) / 4 + 0.1);
            assert_cost(&index, u, naive_cost(ratios, count + 1, u));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_learned_means_the_prediction),
        cmocka_unit_test(a_job_that_outlives_the_short_ones_costs_more),
        cmocka_unit_test(the_cost_is_the_least_over_all_times_to_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
