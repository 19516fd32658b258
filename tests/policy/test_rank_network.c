/* Tests of the network that corrects policy adlro: what it computes, its bytes, and who uses which network. */
#include "base/real.h"
#include "base/rng.h"
#include "policy/adlro/job_factors.h"
#include "policy/adlro/rank_network.h"
#include "policy/adlro/shipped_network.h"
#include "policy/dqn/shipped_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct adl_rank_network random_network(uint64_t seed, double size)
{
    struct adl_rank_network network;
    struct adl_rng rng;
    adl_rng_seed(&rng, seed, "test");
    for (int i = 0; i < ADL_RANK_PARAMS; i++)
        network.params[i] = (float)(size * adl_rng_normal(&rng));
    return network;
}

static void draw_features(struct adl_rng *rng, double size, double ret[ADL_RANK_FEATURES])
{
    for (int f = 0; f < ADL_RANK_FEATURES; f++)
        ret[f] = size * adl_rng_normal(rng);
}

static void a_network_before_training_corrects_nothing(void **state)
{
    (void)state;
    struct adl_rank_network network;
    struct adl_rng rng;
    double features[ADL_RANK_FEATURES];
    adl_rank_network_init(&network, 7);
    adl_rng_seed(&rng, 1, "features");
    for (int n = 0; n < 100; n++) {
        draw_features(&rng, 10, features);
        const struct adl_rank_factors factors = adl_rank_network_apply(&network, features);
        for (int o = 0; o < ADL_RANK_OUTPUTS; o++)
            assert_true(factors.of[o] == 1);
    }
}

static void factors_stay_within_their_bounds_whatever_the_network_sees(void **state)
{
    (void)state;
    struct adl_rng rng;
    double features[ADL_RANK_FEATURES];
    double least = 1, most = 1;
    adl_rng_seed(&rng, 2, "features");
    for (uint64_t n = 0; n < 1000; n++) {
        const struct adl_rank_network network = random_network(n, 3);
        draw_features(&rng, n % 2 ? 1 : 1e9, features);
        const struct adl_rank_factors factors = adl_rank_network_apply(&network, features);
        for (int o = 0; o < ADL_RANK_OUTPUTS; o++) {
            least = fmin(least, factors.of[o]);
            most = fmax(most, factors.of[o]);
        }
    }
    assert_true(least > 0.1249 && least < 0.126);
    assert_true(most > 7.99 && most < 8.001);
}

/* Each parameter has its place: one hidden unit and one output at a time, against the formula. */
static void a_network_with_one_path_is_that_path(void **state)
{
    (void)state;
    const double features[ADL_RANK_FEATURES] = {0};
    for (int h = 0; h < ADL_RANK_HIDDEN; h++)
        for (int o = 0; o < ADL_RANK_OUTPUTS; o++) {
            struct adl_rank_network network = {{0}};
            network.params[h * (ADL_RANK_FEATURES + 1) + ADL_RANK_FEATURES] = 3;
            network.params[ADL_RANK_HIDDEN * (ADL_RANK_FEATURES + 1) + o * (ADL_RANK_HIDDEN + 1) + h] = 0.5F;
            const struct adl_rank_factors factors = adl_rank_network_apply(&network, features);
            for (int other = 0; other < ADL_RANK_OUTPUTS; other++)
                assert_true(fabs(factors.of[other] - (other == o ? adl_exp(0.5 * 3 / 4) : 1)) < 1e-12);
        }
}

static void a_feature_reaches_every_output(void **state)
{
    (void)state;
    const struct adl_rank_network network = random_network(5, 0.5);
    const double none[ADL_RANK_FEATURES] = {0};
    const struct adl_rank_factors before = adl_rank_network_apply(&network, none);
    for (int f = 0; f < ADL_RANK_FEATURES; f++) {
        double features[ADL_RANK_FEATURES] = {0};
        features[f] = 0.1;
        const struct adl_rank_factors after = adl_rank_network_apply(&network, features);
        for (int o = 0; o < ADL_RANK_OUTPUTS; o++)
            assert_true(after.of[o] != before.of[o]);
    }
}

static void bytes_are_read_back_and_damage_is_refused(void **state)
{
    (void)state;
    const struct adl_rank_network network = random_network(3, 1);
    struct adl_rank_network read = {{0}};
    struct adl_text bytes = {0};
    struct adl_error err;
    adl_rank_network_encode(&network, &bytes);
    assert_int_equal(adl_text_status(&bytes), 0);
    assert_int_equal(adl_rank_network_decode(bytes.data, bytes.size, &read, &err), 0);
    assert_memory_equal(&read, &network, sizeof read);
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.data[i] = (char)(bytes.data[i] ^ 0x10);
        assert_int_equal(adl_rank_network_decode(bytes.data, bytes.size, &read, &err), ADL_EINVAL);
        bytes.data[i] = (char)(bytes.data[i] ^ 0x10);
        assert_int_equal(adl_rank_network_decode(bytes.data, i, &read, &err), ADL_EINVAL);
    }
    assert_memory_equal(&read, &network, sizeof read);
    adl_text_clear(&bytes);
}

static void a_network_with_a_number_that_is_none_is_refused(void **state)
{
    (void)state;
    struct adl_rank_network network = random_network(4, 1), read;
    struct adl_text bytes = {0};
    struct adl_error err;
    network.params[17] = NAN;
    adl_rank_network_encode(&network, &bytes);
    assert_int_equal(adl_rank_network_decode(bytes.data, bytes.size, &read, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "parameter 17"));
    adl_text_clear(&bytes);
}

static void a_model_is_used_if_it_is_one_of_adlro_and_else_the_shipped_one(void **state)
{
    (void)state;
    const struct adl_rank_network network = random_network(6, 1);
    struct adl_rank_network shipped;
    struct adl_job_factors factors = {0};
    struct adl_text bytes = {0};
    struct adl_error err;
    adl_rank_network_encode(&network, &bytes);
    assert_int_equal(adl_rank_network_decode(adl_shipped_network, adl_shipped_network_size, &shipped, &err), 0);
    assert_int_equal(adl_job_factors_load(&factors, true, bytes.data, bytes.size, &err), 0);
    assert_memory_equal(&factors.network, &network, sizeof network);
    assert_int_equal(adl_job_factors_load(&factors, true, adl_shipped_model, adl_shipped_model_size, &err), 0);
    assert_memory_equal(&factors.network, &shipped, sizeof network);
    assert_int_equal(adl_job_factors_load(&factors, true, bytes.data, bytes.size - 1, &err), ADL_EINVAL);
    adl_text_clear(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_before_training_corrects_nothing),
        cmocka_unit_test(factors_stay_within_their_bounds_whatever_the_network_sees),
        cmocka_unit_test(a_network_with_one_path_is_that_path),
        cmocka_unit_test(a_feature_reaches_every_output),
        cmocka_unit_test(bytes_are_read_back_and_damage_is_refused),
        cmocka_unit_test(a_network_with_a_number_that_is_none_is_refused),
        cmocka_unit_test(a_model_is_used_if_it_is_one_of_adlro_and_else_the_shipped_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
