/* The median of a stream, against the middle of the sorted values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/median.h"
#include "base/rng.h"

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void nothing_has_the_median_0(void **unused)
{
    (void)unused;
    const struct adl_median none = {0};
    assert_true(adl_median_value(&none) == 0);
}

static void the_median_is_within_a_tenth_of_the_middle_value(void **unused)
{
    (void)unused;
    for (uint32_t round = 0; round < 100; round++) {
        struct adl_median median = {0};
        struct adl_rng rng;
        double values[99];
        const uint32_t count = 1 + 2 * (round % 50);
        adl_rng_seed(&rng, round, "median");
        for (uint32_t i = 0; i < count; i++) {
            values[i] = exp(adl_rng_uniform(&rng) * 40);
            adl_median_add(&median, values[i]);
        }
        qsort(values, count, sizeof *values, by_value);
        assert_true(fabs(adl_median_value(&median) / values[count / 2] - 1) < 0.1);
    }
}

static void values_that_are_out_of_range_count_at_its_ends(void **unused)
{
    (void)unused;
    struct adl_median median = {0};
    adl_median_add(&median, -1);
    assert_true(adl_median_value(&median) == 1);
    for (int i = 0; i < 2; i++)
        adl_median_add(&median, 1e300);
    assert_true(adl_median_value(&median) > 1e19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_the_median_0),
        cmocka_unit_test(the_median_is_within_a_tenth_of_the_middle_value),
        cmocka_unit_test(values_that_are_out_of_range_count_at_its_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
