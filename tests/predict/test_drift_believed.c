/* Believed speeds of GPUs and types in the state: what follows from drift. */
#include "state_fixture.h"

#include "state/fit.h"

static void test_a_job_takes_the_fastest_of_equally_free_gpus(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(4);
    struct adl_state *state = fixture_state(&cluster);
    const struct adl_job_spec spec = fixture_spec(1, 1), pair = fixture_spec(2, 2);
    uint32_t gpus[2];
    fixture_queue(state, 0, &spec, 1000000, 0);
    fixture_queue(state, 1, &pair, 1000000, 0);
    assert_true(adl_fit_find(state, 0, 0, NULL, gpus));
    assert_int_equal(gpus[0], 0);
    adl_state_set_gpu_speed(state, 0, 0.5);
    adl_state_set_gpu_speed(state, 1, 0.8);
    assert_true(adl_fit_find(state, 0, 0, NULL, gpus));
    assert_int_equal(gpus[0], 2);
    adl_state_start(state, 1, (const uint32_t[]){1, 3});
    assert_true(adl_state_gang_speed(state, 1) == 0.8);
    adl_state_set_gpu_speed(state, 0, 1);
    adl_state_set_gpu_speed(state, 1, 1);
    assert_false(state->drifted);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

static void test_a_slower_type_makes_waiting_jobs_longer_there_alone(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 2);
    fixture_node(&cluster, 0, 1);
    fixture_node(&cluster, 1, 1);
    struct adl_state *state = fixture_state(&cluster);
    const struct adl_job_spec spec = fixture_spec(1, 1);
    fixture_queue(state, 0, &spec, 1000000, 0);
    adl_state_set_type_speed(state, 1, 0.8);
    assert_int_equal(adl_state_runtime(state, 0, 0), 1000000);
    assert_int_equal(adl_state_runtime(state, 0, 1), 1250001);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

/* A start promises what its type promises; what is known of its GPUs moves its end afterwards. */
static void test_the_end_of_a_running_job_counts_its_slowest_gpu(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(4);
    struct adl_state *state = fixture_state(&cluster);
    const struct adl_job_spec pair = fixture_spec(1, 2);
    state->track_running = true;
    adl_state_set_gpu_speed(state, 1, 0.8);
    fixture_queue(state, 0, &pair, 1000000, 0);
    fixture_queue(state, 1, &pair, 1100000, 0);
    adl_state_start(state, 0, (const uint32_t[]){0, 1});
    adl_state_start(state, 1, (const uint32_t[]){2, 3});
    assert_int_equal(state->jobs[0].expected_us, 1000000);
    assert_int_equal(state->running[0].first, 0);
    adl_state_revise_ends(state);
    assert_int_equal(state->jobs[0].expected_us, 1250000);
    assert_int_equal(state->jobs[1].expected_us, 1100000);
    assert_int_equal(state->running[0].first, 1);
    adl_state_revise_ends(state);
    assert_int_equal(state->jobs[0].expected_us, 1250000);
    state->now_us = 250000;
    adl_state_set_gpu_speed(state, 0, 0.5); /* 1,000,000 us were left */
    assert_int_equal(state->jobs[0].expected_us, 250000 + 1600000);
    adl_state_set_gpu_speed(state, 0, 1);
    adl_state_set_gpu_speed(state, 1, 1);
    assert_int_equal(state->jobs[0].expected_us, 250000 + 800000);
    state->now_us = 2000000;
    adl_state_set_gpu_speed(state, 0, 0.5);
    assert_int_equal(state->jobs[0].expected_us, 1050000); /* it is overdue and stays so */
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_takes_the_fastest_of_equally_free_gpus),
        cmocka_unit_test(test_a_slower_type_makes_waiting_jobs_longer_there_alone),
        cmocka_unit_test(test_the_end_of_a_running_job_counts_its_slowest_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
