/* Adam against its textbook form, and its state as bytes. */
#include "nn/adam.h"
#include "nn_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT 37

static struct adl_adam *make(double norm_max)
{
    struct adl_adam *adam = NULL;
    struct adl_error err = {{0}};
    const struct adl_adam_config config = {.norm_max = norm_max};
    assert_int_equal(adl_adam_create(&config, COUNT, &adam, &err), 0);
    return adam;
}

/* Algorithm 1 of the paper as it stands, moments corrected one by one. */
static void steps_are_those_of_the_textbook(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        struct adl_rng rng;
        adl_rng_seed(&rng, 1, "adam");
        struct adl_adam *adam = make(0);
        float *params = random_numbers(&rng, COUNT);
        double exact[COUNT], first[COUNT] = {0}, second[COUNT] = {0};
        for (int i = 0; i < COUNT; i++)
            exact[i] = (double)params[i];
        for (int step = 1; step <= 50; step++) {
            float *grads = random_numbers(&rng, COUNT);
            adl_adam_step(adam, adl_kernels_choose(b), 1e-2, grads, params);
            for (int i = 0; i < COUNT; i++) {
                const double g = (double)grads[i];
                first[i] = 0.9 * first[i] + 0.1 * g;
                second[i] = 0.999 * second[i] + 0.001 * g * g;
                exact[i] -=
                    1e-2 * (first[i] / (1 - pow(0.9, step))) / (sqrt(second[i] / (1 - pow(0.999, step))) + 1e-8);
                assert_true(fabs((double)params[i] - exact[i]) < 1e-4);
            }
            free(grads);
        }
        free(params);
        adl_adam_destroy(adam);
    }
}

static void a_long_gradient_is_shortened_and_a_short_one_is_not(void **state)
{
    (void)state;
    struct adl_adam *free_one = make(0), *clipped = make(2);
    float a[COUNT] = {0}, b[COUNT] = {0}, grads[COUNT] = {3, 4}, scaled[COUNT] = {1.2f, 1.6f};
    const struct adl_kernels *kernels = adl_kernels_choose(true);
    assert_true(fabs(adl_adam_step(clipped, kernels, 1, grads, a) - 5) < 1e-9);
    adl_adam_step(free_one, kernels, 1, scaled, b);
    for (int i = 0; i < 2 * COUNT; i++)
        assert_true(fabsf(clipped->moments[i] - free_one->moments[i]) < 1e-6f);
    adl_adam_step(clipped, kernels, 1, scaled, a); /* of norm 2: as it is */
    adl_adam_step(free_one, kernels, 1, scaled, b);
    for (int i = 0; i < 2 * COUNT; i++)
        assert_true(fabsf(clipped->moments[i] - free_one->moments[i]) < 1e-6f);
    adl_adam_destroy(free_one);
    adl_adam_destroy(clipped);
}

static void a_gradient_that_is_not_finite_changes_nothing(void **state)
{
    (void)state;
    struct adl_adam *adam = make(1);
    float params[COUNT] = {1, 2}, grads[COUNT] = {1, (float)NAN};
    const struct adl_kernels *kernels = adl_kernels_choose(true);
    assert_true(!isfinite(adl_adam_step(adam, kernels, 1, grads, params)));
    grads[1] = (float)INFINITY;
    assert_true(!isfinite(adl_adam_step(adam, kernels, 1, grads, params)));
    assert_true(params[0] == 1 && params[1] == 2 && adam->steps == 0 && adam->moments[0] == 0);
    adl_adam_destroy(adam);
}

static void state_as_bytes_continues_where_it_was(void **state)
{
    (void)state;
    struct adl_adam *one = make(1), *two = make(1);
    struct adl_text bytes = {0};
    struct adl_error err = {{0}};
    const struct adl_kernels *kernels = adl_kernels_choose(true);
    float a[COUNT] = {1}, b[COUNT], grads[COUNT] = {0.5f, -0.25f};
    for (int i = 0; i < 5; i++)
        adl_adam_step(one, kernels, 0.1, grads, a);
    memcpy(b, a, sizeof b);
    adl_adam_write(one, &bytes);
    assert_int_equal(adl_adam_read(two, bytes.data, bytes.size - 1, &err), ADL_EINVAL);
    assert_true(two->steps == 0);
    assert_int_equal(adl_adam_read(two, bytes.data, bytes.size, &err), 0);
    adl_adam_step(one, kernels, 0.1, grads, a);
    adl_adam_step(two, kernels, 0.1, grads, b);
    assert_memory_equal(a, b, sizeof a);
    adl_text_clear(&bytes);
    adl_adam_destroy(one);
    adl_adam_destroy(two);
}

static void impossible_rates_are_refused(void **state)
{
    (void)state;
    const struct adl_adam_config wrong[] = {{.beta1 = 1}, {.beta2 = -0.5}, {.norm_max = -1}, {.epsilon = -1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct adl_adam *adam = NULL;
        struct adl_error err = {{0}};
        assert_int_equal(adl_adam_create(&wrong[i], COUNT, &adam, &err), ADL_EINVAL);
        assert_null(adam);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_the_textbook),
        cmocka_unit_test(a_long_gradient_is_shortened_and_a_short_one_is_not),
        cmocka_unit_test(a_gradient_that_is_not_finite_changes_nothing),
        cmocka_unit_test(state_as_bytes_continues_where_it_was),
        cmocka_unit_test(impossible_rates_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
