/* What GPUs are believed to draw: the three states, the law of power caps, and loads learned from readings. */
#include "base/rng.h"
#include "predict/loads.h"
#include "predict/power.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct adl_gpu_type v100 = {.name = "v100", .idle_w = 30, .context_w = 36, .max_w = 250};
static const struct adl_gpu_type a40 = {.name = "a40", .idle_w = 30, .context_w = 80, .max_w = 300};

#define assert_near(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))

static double energy(const struct adl_gpu_type *type, double load, double cap_w)
{
    return adl_power_draw_w(type, load, cap_w) / adl_power_cap_speed(type, load, cap_w);
}

static void test_an_uncapped_gpu_draws_between_context_and_max(void **unused)
{
    (void)unused;
    assert_near(adl_power_draw_w(&v100, 0, 0), 36, 1e-9);
    assert_near(adl_power_draw_w(&v100, 0.5, 0), 143, 1e-9);
    assert_near(adl_power_draw_w(&v100, 1, 0), 250, 1e-9);
    assert_near(adl_power_draw_w(&v100, 7, 0), 250, 1e-9);
    assert_near(adl_power_cap_speed(&v100, 1, 0), 1, 0);
    assert_near(adl_power_cap_speed(&v100, 1, 250), 1, 0);
    assert_near(adl_power_cap_speed(&v100, 1, 400), 1, 0);
}

static void test_a_draw_and_its_load_are_inverse(void **unused)
{
    (void)unused;
    for (int eighths = 0; eighths <= 8; eighths++)
        assert_near(adl_power_load(&a40, adl_power_draw_w(&a40, eighths / 8.0, 0)), eighths / 8.0, 1e-12);
    assert_near(adl_power_load(&a40, 10), 0, 0);
    assert_near(adl_power_load(&a40, 1000), 1, 0);
}

/* Zeus, ResNet-50 (222 W uncapped): 1.18 x the time for 0.77 x the energy. */
static void test_a_v100_at_three_fifths_takes_what_zeus_measured(void **unused)
{
    (void)unused;
    const double load = adl_power_load(&v100, 222);
    assert_near(1 / adl_power_cap_speed(&v100, load, 150), 1.18, 0.02);
    assert_near(energy(&v100, load, 150) / energy(&v100, load, 0), 0.77, 0.02);
    assert_near(1 / adl_power_cap_speed(&v100, load, 100), 1.89, 0.25);
}

static void test_energy_is_least_between_two_fifths_and_two_thirds_of_the_limit(void **unused)
{
    (void)unused;
    const struct adl_gpu_type *types[] = {&v100, &a40};
    for (int t = 0; t < 2; t++)
        for (int tenths = 6; tenths <= 10; tenths++) {
            const double load = tenths / 10.0;
            double least = HUGE_VAL;
            int best = 0;
            for (int percent = 30; percent <= 100; percent++)
                if (energy(types[t], load, percent * 0.01 * types[t]->max_w) < least) {
                    least = energy(types[t], load, percent * 0.01 * types[t]->max_w);
                    best = percent;
                }
            assert_in_range(best, 40, 67);
            assert_true(least < 0.9 * energy(types[t], load, 0));
            assert_true(energy(types[t], load, 0.3 * types[t]->max_w) > least);
        }
}

static void test_a_higher_cap_is_never_slower_and_never_draws_less(void **unused)
{
    (void)unused;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "caps");
    for (int i = 0; i < 20000; i++) {
        const double load = adl_rng_uniform(&rng), low_w = 1 + 299 * adl_rng_uniform(&rng),
                     high_w = low_w + (300 - low_w) * adl_rng_uniform(&rng);
        const double speed = adl_power_cap_speed(&a40, load, low_w), power_w = adl_power_draw_w(&a40, load, low_w);
        assert_true(speed > 0 && speed <= 1);
        assert_true(speed <= adl_power_cap_speed(&a40, load, high_w) + 1e-12);
        assert_true(power_w <= adl_power_draw_w(&a40, load, high_w) + 1e-9);
        assert_true(power_w >= a40.context_w && power_w <= adl_power_draw_w(&a40, load, 0) + 1e-9);
        /* Only at the lowest clock, where nothing can be saved, is a cap exceeded. */
        if (low_w >= 0.5 * a40.max_w)
            assert_true(power_w <= low_w + 1e-9);
    }
}

static void test_a_heavier_load_is_slowed_more_and_draws_more(void **unused)
{
    (void)unused;
    for (int cap_w = 100; cap_w <= 250; cap_w += 10)
        for (int percent = 0; percent < 100; percent++) {
            const double load = percent / 100.0;
            assert_true(adl_power_cap_speed(&v100, load + 0.01, cap_w) <=
                        adl_power_cap_speed(&v100, load, cap_w) + 1e-12);
            assert_true(adl_power_draw_w(&v100, load + 0.01, cap_w) >= adl_power_draw_w(&v100, load, cap_w) - 1e-9);
        }
}

static void test_a_cap_below_the_lowest_clock_is_exceeded_and_does_not_stop_the_job(void **unused)
{
    (void)unused;
    assert_near(adl_power_cap_speed(&a40, 1, 60), adl_power_law_fitted.least, 1e-12);
    assert_true(adl_power_draw_w(&a40, 1, 60) > 60);
    assert_near(adl_power_draw_w(&a40, 1, 60), adl_power_draw_w(&a40, 1, 80), 1e-12);
}

static void test_a_pair_loads_a_gpu_by_the_work_that_is_done(void **unused)
{
    (void)unused;
    assert_near(adl_power_load_of_pair(0.4, 1, 0.3, 1), 0.7, 1e-12);
    assert_near(adl_power_load_of_pair(0.8, 0.5, 0.6, 0.5), 0.7, 1e-12);
    assert_near(adl_power_load_of_pair(0.9, 1, 0.9, 1), 1, 0);
    assert_near(adl_power_load_of_pair(0.9, 0.7, 0, 0), 0.63, 1e-12);
}

struct fixture {
    struct adl_gpu_type types[2];
    struct adl_cluster cluster;
    struct adl_loads *loads;
};

static void set_up(struct fixture *it)
{
    *it = (struct fixture){.types = {v100, a40}};
    it->cluster = (struct adl_cluster){.types = it->types, .type_count = 2};
    assert_int_equal(adl_loads_create(&it->cluster, 3, &it->loads), 0);
}

static void test_a_load_is_the_kinds_then_another_types_then_its_own(void **unused)
{
    (void)unused;
    struct fixture it;
    set_up(&it);
    struct adl_load load = adl_loads_find(it.loads, 1, 0, ADL_KIND_DATA);
    assert_int_equal(load.readings + load.types, 0);
    assert_true(load.load < adl_loads_find(it.loads, 1, 0, ADL_KIND_SIMULATION).load);
    adl_loads_measure(it.loads, 1, 1, 80 + 0.9 * 220, 0);
    load = adl_loads_find(it.loads, 1, 0, ADL_KIND_DATA);
    assert_near(load.load, 0.9, 1e-12);
    assert_int_equal(load.readings, 0);
    assert_int_equal(load.types, 1);
    adl_loads_measure(it.loads, 1, 0, 36 + 0.2 * 214, 0);
    adl_loads_measure(it.loads, 1, 0, 36 + 0.3 * 214, 0);
    load = adl_loads_find(it.loads, 1, 0, ADL_KIND_DATA);
    assert_near(load.load, 0.25, 1e-12);
    assert_int_equal(load.readings, 2);
    assert_int_equal(load.types, 2);
    assert_int_equal(adl_loads_find(it.loads, 2, 0, ADL_KIND_DATA).types, 0);
    adl_loads_destroy(it.loads);
}

static void test_a_load_is_told_through_a_cap(void **unused)
{
    (void)unused;
    struct fixture it;
    set_up(&it);
    for (int percent = 0; percent <= 90; percent += 5) {
        const double load = percent / 100.0;
        assert_near(adl_power_load_capped(&v100, adl_power_draw_w(&v100, load, 150), 150), load, 1e-5);
        assert_near(adl_power_load_capped(&v100, adl_power_draw_w(&v100, load, 0), 0), load, 1e-12);
    }
    assert_near(adl_power_load_capped(&v100, 20, 150), 0, 1e-5);
    assert_near(adl_power_load_capped(&v100, 200, 150), 1, 1e-5);
    adl_loads_measure(it.loads, 0, 0, adl_power_draw_w(&v100, 0.7, 125), 125);
    assert_near(adl_loads_find(it.loads, 0, 0, ADL_KIND_DATA).load, 0.7, 1e-5);
    adl_loads_destroy(it.loads);
}

static void test_a_load_follows_what_changes(void **unused)
{
    (void)unused;
    struct fixture it;
    set_up(&it);
    for (int i = 0; i < 1000; i++)
        adl_loads_measure(it.loads, 0, 0, 36 + 0.2 * 214, 0);
    for (int i = 0; i < 400; i++)
        adl_loads_measure(it.loads, 0, 0, 36 + 0.8 * 214, 0);
    assert_near(adl_loads_find(it.loads, 0, 0, ADL_KIND_TRAINING).load, 0.8, 0.01);
    adl_loads_destroy(it.loads);
}

static void test_a_forgotten_profile_is_as_new_and_others_are_kept(void **unused)
{
    (void)unused;
    struct fixture it;
    set_up(&it);
    adl_loads_measure(it.loads, 0, 0, 100, 0);
    adl_loads_measure(it.loads, 1, 0, 100, 0);
    adl_loads_forget(it.loads, 0);
    assert_int_equal(adl_loads_find(it.loads, 0, 0, ADL_KIND_TRAINING).types, 0);
    assert_int_equal(adl_loads_find(it.loads, 1, 0, ADL_KIND_TRAINING).readings, 1);
    adl_loads_destroy(it.loads);
    adl_loads_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_uncapped_gpu_draws_between_context_and_max),
        cmocka_unit_test(test_a_draw_and_its_load_are_inverse),
        cmocka_unit_test(test_a_v100_at_three_fifths_takes_what_zeus_measured),
        cmocka_unit_test(test_energy_is_least_between_two_fifths_and_two_thirds_of_the_limit),
        cmocka_unit_test(test_a_higher_cap_is_never_slower_and_never_draws_less),
        cmocka_unit_test(test_a_heavier_load_is_slowed_more_and_draws_more),
        cmocka_unit_test(test_a_cap_below_the_lowest_clock_is_exceeded_and_does_not_stop_the_job),
        cmocka_unit_test(test_a_pair_loads_a_gpu_by_the_work_that_is_done),
        cmocka_unit_test(test_a_load_is_the_kinds_then_another_types_then_its_own),
        cmocka_unit_test(test_a_load_is_told_through_a_cap),
        cmocka_unit_test(test_a_load_follows_what_changes),
        cmocka_unit_test(test_a_forgotten_profile_is_as_new_and_others_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
