/* Tests of corrections: what completed jobs of a class tell of types on which it has not run. */
#include "policy/adlro/corrections.h"
#include "state_fixture.h"

#include <math.h>

enum { WITH_FP64, WITHOUT, ALSO_WITHOUT };

static struct adl_cluster cluster;
static struct adl_corrections *corrections;

static void open_types(void)
{
    cluster = (struct adl_cluster){.network_gbs = 10};
    fixture_types(&cluster, 3);
    for (uint32_t t = 0; t < 3; t++) {
        fixture_node(&cluster, t, 4);
        cluster.types[t].fp32_tflops = 16;
        cluster.types[t].fp64_tflops = t == WITH_FP64 ? 8 : 0.5;
        cluster.types[t].bandwidth_gbs = 800;
    }
    assert_int_equal(adl_corrections_create(&cluster, ADL_ACROSS_LEAST, &corrections), 0);
}

static void close_types(void)
{
    adl_corrections_destroy(corrections);
    adl_cluster_clear(&cluster);
}

/* Jobs of the first class need FP64: eight times as long where there is little of it. Those of the second do not. */
static void run_jobs(int count)
{
    const struct adl_job_spec needs = {.gpus = 1, .class_index = 0}, other = {.gpus = 1, .class_index = 1};
    for (int i = 0; i < count; i++) {
        adl_corrections_learn(corrections, &needs, WITH_FP64, false, 0);
        adl_corrections_learn(corrections, &needs, WITHOUT, false, log(8));
        adl_corrections_learn(corrections, &other, WITH_FP64, false, 0);
        adl_corrections_learn(corrections, &other, WITHOUT, false, 0);
    }
}

static double slower(uint16_t class_index, uint32_t type)
{
    const struct adl_job_spec spec = {.gpus = 1, .class_index = class_index};
    return adl_corrections_factor(corrections, &spec, type, false) /
           adl_corrections_factor(corrections, &spec, WITH_FP64, false);
}

static void a_class_that_needs_fp64_is_expected_to_be_slow_on_a_type_without_it_where_none_has_run(void **unused)
{
    (void)unused;
    open_types();
    assert_true(slower(0, ALSO_WITHOUT) == 1);
    run_jobs(20);
    assert_true(slower(0, WITHOUT) > 5);
    assert_true(slower(0, ALSO_WITHOUT) > 2);
    close_types();
}

static void what_one_class_needs_is_not_expected_of_another(void **unused)
{
    (void)unused;
    open_types();
    run_jobs(20);
    assert_true(slower(1, WITHOUT) < 1.05);
    assert_true(slower(1, ALSO_WITHOUT) < 1.2); /* as fast as on the others, as far as twenty jobs tell */
    assert_true(slower(2, ALSO_WITHOUT) == 1);
    close_types();
}

/* As where a frugal policy goes on with what a balanced one has learned. */
static void a_copy_has_what_was_learned_and_its_own_least_of_runs_across_nodes(void **unused)
{
    (void)unused;
    const struct adl_job_spec spec = {.gpus = 1, .class_index = 0};
    struct adl_corrections *frugal;
    open_types();
    run_jobs(20);
    assert_int_equal(adl_corrections_create(&cluster, ADL_ACROSS_LEAST_FRUGAL, &frugal), 0);
    adl_corrections_copy(frugal, corrections);
    for (uint32_t t = 0; t < 3; t++) {
        assert_true(adl_corrections_factor(frugal, &spec, t, false) ==
                    adl_corrections_factor(corrections, &spec, t, false));
        assert_true(adl_corrections_across(frugal, t) == ADL_ACROSS_LEAST_FRUGAL);
        assert_true(adl_corrections_across(corrections, t) == ADL_ACROSS_LEAST);
        assert_true(adl_corrections_beyond(frugal, t) == 0);
    }
    adl_corrections_destroy(frugal);
    close_types();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_that_needs_fp64_is_expected_to_be_slow_on_a_type_without_it_where_none_has_run),
        cmocka_unit_test(what_one_class_needs_is_not_expected_of_another),
        cmocka_unit_test(a_copy_has_what_was_learned_and_its_own_least_of_runs_across_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
