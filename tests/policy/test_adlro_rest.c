/* Tests of the rest of a run as adlro believes it: across nodes, what is known, what is expected and what is learned.
 */
#include "policy/adlro/rest.h"
#include "state_fixture.h"

#include <math.h>

#define SECOND INT64_C(1000000)
#define LIMIT  (100 * SECOND)

#define assert_close(a, b) assert_true(fabs((a) / (b)-1) < 1e-3)

static struct adl_cluster cluster;
static struct adl_state *state;
static struct adl_belief *belief;
static struct adl_corrections *corrections;

/* Nodes of one GPU: a gang of two is always across nodes. Links are 31 times the network, so 7 times as long is
 * expected. */
static void open_nodes(void)
{
    cluster = (struct adl_cluster){.network_gbs = 10};
    fixture_types(&cluster, 1);
    for (uint32_t n = 0; n < 2; n++) {
        fixture_node(&cluster, 0, 1);
        cluster.nodes[n].link_gbs = 310;
    }
    state = fixture_state(&cluster);
    assert_int_equal(adl_belief_create(&cluster, false, &belief), 0);
    state->belief = belief;
    assert_int_equal(adl_corrections_create(&cluster, ADL_ACROSS_LEAST, &corrections), 0);
}

static void close_nodes(void)
{
    adl_corrections_destroy(corrections);
    adl_belief_destroy(belief);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

/* told_us: run time that the world tells; 0: it tells nothing but the limit. */
static void submit_gang(int64_t told_us)
{
    struct adl_job_spec spec = fixture_spec(1, 2);
    struct adl_runtimes predicted;
    spec.flags |= ADL_JOB_SPAN;
    spec.limit_us = LIMIT;
    const struct adl_event submit = {
        .kind = ADL_EVENT_SUBMIT,
        .time_us = state->now_us,
        .submit = {.spec = &spec, .runtime_us = told_us ? &told_us : NULL, .spanning_us = told_us ? &told_us : NULL}};
    assert_int_equal(adl_belief_admit(belief, &submit, &predicted), 0);
    assert_int_equal(adl_state_admit(state, 0, &spec, predicted.best_us), 0);
    if (!predicted.alike)
        adl_state_set_spanning(state, 0, predicted.across_us);
    assert_int_equal(adl_state_enqueue(state, 0, 0), 0);
}

/* It runs so many times as long as is predicted of one node. */
static void run_gang(double times)
{
    const uint32_t gpus[] = {0, 1};
    submit_gang(0);
    adl_state_start(state, 0, gpus);
    const int64_t run_us = (int64_t)(times * (double)(state->jobs[0].expected_us - state->jobs[0].start_us));
    const struct adl_event finish = {
        .kind = ADL_EVENT_FINISH, .time_us = state->now_us + run_us, .outcome.end = ADL_END_COMPLETED};
    assert_close(adl_rest_learn(corrections, &finish, state, 0), (double)run_us);
    state->now_us = finish.time_us;
    adl_state_finish(state, 0);
}

static void a_run_across_nodes_that_is_known_is_not_expected_to_take_longer(void **unused)
{
    (void)unused;
    open_nodes();
    submit_gang(LIMIT);
    assert_true(adl_belief_knows_across(belief, state, 0));
    assert_close(adl_rest_factor(corrections, state, 0, 0, true), 1);
    close_nodes();
}

static void completed_jobs_correct_what_links_and_network_say_of_runs_across_nodes(void **unused)
{
    (void)unused;
    open_nodes();
    submit_gang(0);
    assert_false(adl_belief_knows_across(belief, state, 0));
    assert_close(adl_rest_factor(corrections, state, 0, 0, true), 7);
    adl_state_finish(state, 0);
    const struct adl_job_spec other = {.gpus = 1, .class_index = 1};
    for (int i = 0; i < 200; i++) { /* the others take what is predicted: corrections are relative to all jobs */
        run_gang(2);
        for (int j = 0; j < 9; j++)
            adl_corrections_learn(corrections, &other, 0, false, 0);
    }
    submit_gang(0);
    const double across = adl_rest_factor(corrections, state, 0, 0, true);
    assert_true(across > 1.2 * 1.9 && across < 1.2 * 2.3); /* 1.2 times the truth */
    close_nodes();
}

/* A gang that takes four times as long as expected, as its limit told. */
static void what_a_limit_tells_is_not_taken_for_the_speed_of_a_type(void **unused)
{
    (void)unused;
    const uint32_t gpus[] = {0, 1};
    open_nodes();
    submit_gang(LIMIT);
    adl_state_start(state, 0, gpus);
    const struct adl_event finish = {.kind = ADL_EVENT_FINISH, .time_us = 4 * LIMIT, .outcome.end = ADL_END_COMPLETED};
    const struct adl_job_spec other = {.gpus = 1, .class_index = 1};
    adl_corrections_learn(corrections, &other, 0, false, 0);
    adl_rest_learn(corrections, &finish, state, log(4));
    assert_close(adl_rest_factor(corrections, state, 0, 0, true), 1);
    adl_rest_learn(corrections, &finish, state, 0);
    assert_true(adl_rest_factor(corrections, state, 0, 0, true) > 1.1);
    close_nodes();
}

static void a_job_that_was_stopped_or_failed_teaches_nothing(void **unused)
{
    (void)unused;
    const uint32_t gpus[] = {0, 1};
    open_nodes();
    submit_gang(0);
    adl_state_start(state, 0, gpus);
    struct adl_event finish = {.kind = ADL_EVENT_FINISH, .time_us = 50 * SECOND, .outcome.end = ADL_END_FAILED};
    assert_true(adl_rest_learn(corrections, &finish, state, 0) == 0);
    finish.outcome.end = ADL_END_COMPLETED;
    state->jobs[0].attempts = 2;
    assert_true(adl_rest_learn(corrections, &finish, state, 0) == 0);
    close_nodes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_across_nodes_that_is_known_is_not_expected_to_take_longer),
        cmocka_unit_test(completed_jobs_correct_what_links_and_network_say_of_runs_across_nodes),
        cmocka_unit_test(what_a_limit_tells_is_not_taken_for_the_speed_of_a_type),
        cmocka_unit_test(a_job_that_was_stopped_or_failed_teaches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
