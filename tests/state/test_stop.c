/* What a stop costs, from a job's specification and the time it has run: the one answer that all policies use. */
#include "policy/policy.h"
#include "state/stop.h"
#include "toy_world.h"

#include <math.h>

static struct adl_job_spec spec_of(int loss, int64_t checkpoint_us, uint16_t gpus)
{
    struct adl_job_spec spec = fixture_spec(1, gpus);
    spec.flags = ADL_JOB_PREEMPTIBLE;
    spec.stop_loss = (uint8_t)loss;
    spec.checkpoint_us = checkpoint_us;
    return spec;
}

static void a_stop_loses_what_the_specification_says(void **unused)
{
    (void)unused;
    static const struct {
        int loss;
        int64_t checkpoint_us, ran_us, lost_us;
    } cases[] = {
        {ADL_LOSS_NOTHING, 0, 500, 0},
        {ADL_LOSS_ALL, 0, 0, 0},
        {ADL_LOSS_ALL, 0, 500, 500},
        {ADL_LOSS_SINCE_CHECKPOINT, 100, 99, 99},
        {ADL_LOSS_SINCE_CHECKPOINT, 100, 100, 0},
        {ADL_LOSS_SINCE_CHECKPOINT, 100, 250, 50},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct adl_job_spec spec = spec_of(cases[i].loss, cases[i].checkpoint_us, 1);
        struct adl_cluster cluster = fixture_plain(1);
        struct adl_state *state = fixture_state(&cluster);
        fixture_run(state, 0, &spec, 1000, 0);
        state->now_us += cases[i].ran_us;
        assert_int_equal(adl_stop_lost_us(state, 0), cases[i].lost_us);
        assert_int_equal(adl_stop_cost_us(state, 0, 30), cases[i].lost_us + 30);
        const double left = 1.0 - (double)(cases[i].ran_us - cases[i].lost_us) / 1000;
        assert_true(fabs(adl_stop_remaining(state, 0, state->now_us, false) - left) < 1e-12);
        adl_state_destroy(state);
        adl_cluster_clear(&cluster);
    }
}

/* A job works until it is told to stop, not while it saves; one that fails was not told, and has saved nothing. */
static void a_prediction_of_what_is_left_counts_work_that_was_saved(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(1);
    struct adl_state *state = fixture_state(&cluster);
    const struct adl_job_spec spec = spec_of(ADL_LOSS_NOTHING, 0, 1);
    fixture_run(state, 0, &spec, 1000, 0);
    state->now_us += 400;
    assert_true(adl_stop_remaining(state, 0, state->now_us, true) == 1.0);
    adl_state_stopping(state, 0);
    state->now_us += 100;
    assert_true(fabs(adl_stop_remaining(state, 0, state->now_us, false) - 0.6) < 1e-12);
    assert_true(fabs(adl_stop_remaining(state, 0, state->now_us, true) - 0.6) < 1e-12);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

static void the_price_of_a_stop_grows_with_the_stops_before_it(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(1);
    struct adl_state *state = fixture_state(&cluster);
    const struct adl_job_spec spec = spec_of(ADL_LOSS_ALL, 0, 1);
    fixture_run(state, 0, &spec, 1000, 0);
    state->now_us += 70;
    assert_int_equal(adl_stop_price_us(state, 0, 30, 2.5), 250);
    state->jobs[0].attempts = 3;
    assert_int_equal(adl_stop_price_us(state, 0, 30, 2.5), 750);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

/* A job of two GPUs that waits for 50 has waited for as much GPU time as one GPU loses in 100. */
static void a_stop_pays_once_as_much_was_waited_for_as_it_loses(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(1);
    struct adl_state *state = fixture_state(&cluster);
    const struct adl_job_spec runs = spec_of(ADL_LOSS_ALL, 0, 1), waits = spec_of(ADL_LOSS_ALL, 0, 2);
    fixture_run(state, 0, &runs, 1000, 0);
    state->now_us = 50;
    fixture_queue(state, 1, &waits, 1000, 0);
    state->now_us = 99;
    assert_false(adl_stop_pays(state, 0, 1));
    state->now_us = 100;
    assert_true(adl_stop_pays(state, 0, 1));
    state->jobs[0].attempts = 2; /* it was stopped before: twice as much has to have been waited for */
    assert_false(adl_stop_pays(state, 0, 1));
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

/* One GPU; a job of 1000 is stopped by each policy at most where that pays, and ends. */
static uint32_t evictions_of(const struct adl_policy_ops *policy, int loss, int64_t checkpoint_us)
{
    static struct toy_world world;
    struct adl_cluster cluster = fixture_plain(1);
    struct adl_policy_config config = {.preemption_us = 10, .settings = "first_fit=true\nlas_limits_gpu_s=0.0001"};
    world = (struct toy_world){.cluster = &cluster};
    toy_add(&world, 0, 1, 1000)->spec.flags = ADL_JOB_PREEMPTIBLE;
    world.jobs[0].spec.stop_loss = (uint8_t)loss;
    world.jobs[0].spec.checkpoint_us = checkpoint_us;
    toy_add(&world, 450, 1, 300);
    toy_run(&world, policy, &config, NULL);
    const uint32_t evictions = world.jobs[0].evictions;
    adl_cluster_clear(&cluster);
    return evictions;
}

static void srtf_and_las_do_not_stop_a_job_that_would_lose_more_than_that_gains(void **unused)
{
    (void)unused;
    const struct adl_policy_ops *policies[] = {&adl_policy_srtf, &adl_policy_las};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(evictions_of(policies[i], ADL_LOSS_NOTHING, 0), 1);
        assert_int_equal(evictions_of(policies[i], ADL_LOSS_SINCE_CHECKPOINT, 450), 1);
        assert_int_equal(evictions_of(policies[i], ADL_LOSS_ALL, 0), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_loses_what_the_specification_says),
        cmocka_unit_test(a_prediction_of_what_is_left_counts_work_that_was_saved),
        cmocka_unit_test(the_price_of_a_stop_grows_with_the_stops_before_it),
        cmocka_unit_test(a_stop_pays_once_as_much_was_waited_for_as_it_loses),
        cmocka_unit_test(srtf_and_las_do_not_stop_a_job_that_would_lose_more_than_that_gains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
