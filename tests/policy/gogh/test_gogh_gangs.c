/* Tests of the policy gogh on states made by hand: gangs that run slower across nodes than within one. */
#include "gogh_fixture.h"

#define LOAD      0.6
#define TOGETHER  10.0 /* steps/s of the gang on fast GPUs of one node */
#define GANG_SIZE 2

static struct adl_job_spec gang_spec(void)
{
    struct adl_job_spec spec = gogh_spec(1, 36000, ADL_JOB_PREEMPTIBLE | ADL_JOB_SPAN);
    spec.gpus = GANG_SIZE;
    return spec;
}

/* Two nodes of two fast GPUs, and one of so many slow ones. Gangs are known to run at TOGETHER in a fast node, and at
 * across steps/s on the GPUs 1 and 2, which are in different nodes. */
static void open_two_nodes(struct gogh_fixture *fixture, uint32_t slow, double across)
{
    *fixture = (struct gogh_fixture){.config = {.preemption_us = 20 * S}};
    gogh_types(&fixture->cluster);
    fixture_node(&fixture->cluster, FAST, 2);
    fixture_node(&fixture->cluster, FAST, 2);
    if (slow > 0)
        fixture_node(&fixture->cluster, SLOW, slow);
    gogh_open(fixture);
    const struct adl_job_spec gang = gang_spec();
    gogh_teach(fixture, &gang, FAST, TOGETHER, LOAD);
    gogh_submit(fixture, 100, &gang);
    gogh_force(fixture, 100, 1);
    for (int i = 0; i < GOGH_READINGS; i++)
        gogh_progress(fixture, 100, across);
    gogh_finish(fixture, 100);
}

/* One GPU of each fast node gets a job that may not be stopped. */
static void occupy_one_gpu_of_each_node(struct gogh_fixture *fixture)
{
    const struct adl_job_spec single = gogh_spec(2, 36000, 0);
    for (uint32_t slot = 1; slot <= 2; slot++) {
        gogh_submit(fixture, slot, &single);
        gogh_force(fixture, slot, slot == 1 ? 0 : 3);
    }
}

static void a_gang_starts_across_nodes_only_if_its_speed_there_is_worth_the_power(void **state)
{
    (void)state;
    static const double across[2] = {0.9 * TOGETHER, 0.1 * TOGETHER};
    for (int slowed = 0; slowed < 2; slowed++) {
        struct gogh_fixture fixture;
        const struct adl_job_spec gang = gang_spec();
        open_two_nodes(&fixture, 0, across[slowed]);
        occupy_one_gpu_of_each_node(&fixture);
        gogh_submit(&fixture, 0, &gang);
        gogh_decide(&fixture);
        assert_int_equal(gogh_runs(&fixture, 0), !slowed);
        if (slowed) {
            gogh_finish(&fixture, 1);
            gogh_decide(&fixture);
            assert_runs_on(&fixture, 0, FAST);
            assert_false(adl_state_spans_nodes(fixture.state, 0));
        }
        gogh_close(&fixture);
    }
}

/* The program counts on two fast GPUs in one node; the free ones are in two. */
static void a_gang_does_not_move_across_nodes_where_it_would_be_slower_than_it_is(void **state)
{
    (void)state;
    static const double across[2] = {0.9 * TOGETHER, 0.1 * TOGETHER};
    for (int slowed = 0; slowed < 2; slowed++) {
        struct gogh_fixture fixture;
        const struct adl_job_spec gang = gang_spec();
        open_two_nodes(&fixture, 2, across[slowed]);
        gogh_teach(&fixture, &gang, SLOW, 0.3 * TOGETHER, LOAD);
        occupy_one_gpu_of_each_node(&fixture);
        gogh_submit(&fixture, 0, &gang);
        gogh_force(&fixture, 0, 4);
        gogh_decide(&fixture);
        assert_int_equal(fixture.stops, !slowed);
        gogh_close(&fixture);
    }
}

static void a_gang_that_crawls_across_nodes_moves_to_a_slower_type_with_room_in_one(void **state)
{
    (void)state;
    static const double across[2] = {0.9 * TOGETHER, 0.1 * TOGETHER};
    for (int slowed = 0; slowed < 2; slowed++) {
        struct gogh_fixture fixture;
        const struct adl_job_spec gang = gang_spec();
        open_two_nodes(&fixture, 2, across[slowed]);
        gogh_teach(&fixture, &gang, SLOW, 0.7 * TOGETHER, LOAD);
        gogh_submit(&fixture, 0, &gang);
        gogh_force(&fixture, 0, 1);
        gogh_decide(&fixture);
        assert_int_equal(fixture.stops, slowed);
        gogh_close(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_starts_across_nodes_only_if_its_speed_there_is_worth_the_power),
        cmocka_unit_test(a_gang_does_not_move_across_nodes_where_it_would_be_slower_than_it_is),
        cmocka_unit_test(a_gang_that_crawls_across_nodes_moves_to_a_slower_type_with_room_in_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
