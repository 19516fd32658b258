/* Tests of speeds from completed jobs: what it finds, what it leaves to specifications, and that it stands bad input.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "predict/speed_regression.h"

enum { TYPES = 3 };

static const double specified[TYPES] = {1, 2, 4};

static struct adl_speed_regression *create(void)
{
    struct adl_speed_regression *regression = NULL;
    assert_int_equal(adl_speed_regression_create(TYPES, &regression), 0);
    return regression;
}

static struct adl_job_spec spec_of(uint16_t class_index, uint16_t gpus)
{
    return (struct adl_job_spec){
        .class_index = class_index, .gpus = gpus, .types = 7, .limit_us = INT64_C(3600000000), .flags = ADL_JOB_SPAN};
}

/* Class 0 runs as specified; class 1 does not gain from type 2, and takes twice as long across nodes. Gangs of two or
 * more often span nodes, and mostly on type 0. Limits say little: run times vary by factors. */
static void learn_jobs(struct adl_speed_regression *regression, int count)
{
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "jobs");
    for (int i = 0; i < count; i++) {
        const uint16_t class_index = (uint16_t)adl_rng_below(&rng, 2), gpus = (uint16_t)(1u << adl_rng_below(&rng, 3));
        const uint32_t type = adl_rng_below(&rng, TYPES);
        const bool spans = gpus > 1 && adl_rng_below(&rng, type == 0 ? 4 : 40) < 3;
        const double slower = class_index == 1 ? (spans ? 2.0 : 1.0) * (type == 2 ? 2.0 : 1.0) : 1.0;
        const double run_us = 1e9 * gpus * slower / specified[type] * exp(0.6 * adl_rng_normal(&rng));
        const struct adl_job_spec spec = spec_of(class_index, gpus);
        adl_speed_regression_learn(regression, &spec, type, spans, (int64_t)run_us, specified);
    }
}

static void nothing_is_said_of_a_class_that_has_not_run(void **unused)
{
    (void)unused;
    struct adl_speed_regression *regression = create();
    double here[TYPES], across[TYPES];
    const struct adl_job_spec spec = spec_of(0, 1), other = spec_of(7, 1);
    assert_false(adl_speed_regression_find(regression, &spec, specified, here, across));
    learn_jobs(regression, 100);
    assert_true(adl_speed_regression_find(regression, &spec, specified, here, across));
    assert_false(adl_speed_regression_find(regression, &other, specified, here, across));
    adl_speed_regression_destroy(regression);
}

static void types_and_spanning_are_told_apart(void **unused)
{
    (void)unused;
    struct adl_speed_regression *regression = create();
    double here[TYPES], across[TYPES];
    learn_jobs(regression, 3000);
    const struct adl_job_spec as_specified = spec_of(0, 2), slower = spec_of(1, 2);
    assert_true(adl_speed_regression_find(regression, &as_specified, specified, here, across));
    assert_true(fabs(log(here[1] / here[0]) - log(2)) < 0.15 && fabs(log(here[2] / here[0]) - log(4)) < 0.15);
    assert_true(across[0] > 0.8 * here[0]);
    assert_true(adl_speed_regression_find(regression, &slower, specified, here, across));
    assert_true(fabs(log(here[1] / here[0]) - log(2)) < 0.15 && fabs(log(here[2] / here[0]) - log(2)) < 0.15);
    assert_true(fabs(log(across[0] / here[0]) + log(2)) < 0.15);
    adl_speed_regression_destroy(regression);
}

static void one_job_hardly_moves_what_specifications_say(void **unused)
{
    (void)unused;
    struct adl_speed_regression *regression = create();
    const struct adl_job_spec spec = spec_of(3, 1);
    double here[TYPES], across[TYPES];
    adl_speed_regression_learn(regression, &spec, 0, false, 1000000, specified);
    adl_speed_regression_learn(regression, &spec, 1, false, 9000000, specified);
    assert_true(adl_speed_regression_find(regression, &spec, specified, here, across));
    assert_true(here[1] > here[0]);
    adl_speed_regression_destroy(regression);
}

static void absurd_run_times_leave_finite_speeds(void **unused)
{
    (void)unused;
    struct adl_speed_regression *regression = create();
    struct adl_job_spec spec = spec_of(1, 1);
    double here[TYPES], across[TYPES];
    const int64_t absurd[] = {0, -5, 1, INT64_MAX, INT64_MIN};
    for (int i = 0; i < 5; i++)
        adl_speed_regression_learn(regression, &spec, 0, i % 2, absurd[i], specified);
    spec.limit_us = 0;
    adl_speed_regression_learn(regression, &spec, 0, false, 5, specified);
    for (uint16_t class_index = 0; class_index < 500; class_index++) { /* more than it has room for */
        const struct adl_job_spec many = spec_of(class_index, 4096);
        adl_speed_regression_learn(regression, &many, 2, true, 1000000, specified);
    }
    spec = spec_of(499, 1);
    assert_true(adl_speed_regression_find(regression, &spec, specified, here, across));
    for (int t = 0; t < TYPES; t++)
        assert_true(isfinite(here[t]) && here[t] > 0 && isfinite(across[t]) && across[t] > 0);
    adl_speed_regression_destroy(regression);
}

static void bytes_give_the_same_speeds_and_go_on_alike(void **unused)
{
    (void)unused;
    struct adl_speed_regression *wrote = create(), *read = create();
    struct adl_text bytes = {0};
    const struct adl_translation same = {.same = true, .type_count = TYPES};
    double here[2][TYPES], across[2][TYPES];
    learn_jobs(wrote, 500);
    adl_speed_regression_encode(wrote, &bytes);
    const unsigned char *at = (const unsigned char *)bytes.data;
    struct adl_unpack from = {at, at + bytes.size, false};
    assert_true(adl_speed_regression_decode(read, &from, &same) && from.at == from.end);
    learn_jobs(wrote, 50);
    learn_jobs(read, 50);
    const struct adl_job_spec spec = spec_of(1, 2);
    assert_true(adl_speed_regression_find(wrote, &spec, specified, here[0], across[0]));
    assert_true(adl_speed_regression_find(read, &spec, specified, here[1], across[1]));
    assert_memory_equal(here[0], here[1], sizeof here[0]);
    assert_memory_equal(across[0], across[1], sizeof across[0]);
    for (size_t size = 0; size < bytes.size; size += 7) {
        struct adl_speed_regression *other = create();
        struct adl_unpack cut = {at, at + size, false};
        assert_false(adl_speed_regression_decode(other, &cut, &same));
        adl_speed_regression_destroy(other);
    }
    adl_text_clear(&bytes);
    adl_speed_regression_destroy(wrote);
    adl_speed_regression_destroy(read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_of_a_class_that_has_not_run),
        cmocka_unit_test(types_and_spanning_are_told_apart),
        cmocka_unit_test(one_job_hardly_moves_what_specifications_say),
        cmocka_unit_test(absurd_run_times_leave_finite_speeds),
        cmocka_unit_test(bytes_give_the_same_speeds_and_go_on_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
