/* Tests of the policy gogh on states made by hand: power limits and caps, and gangs for which others are stopped. */
#include "gogh_fixture.h"

#include "predict/power.h"

#include <math.h>

#define LOAD 0.5 /* of every job here, taught */

/* ---- power ---- */

/* What all GPUs draw as the policy models it: idle ones that, others by the load they were taught, stopping ones too.
 */
static double modelled_w(const struct gogh_desk *shared)
{
    double power_w = 0;
    for (uint32_t gpu = 0; gpu < shared->cluster.gpu_count; gpu++) {
        const struct adl_gpu_type *type = &shared->cluster.types[adl_gpu_type_of(&shared->cluster, gpu)];
        const struct adl_gpu_use *use = &shared->state->gpus[gpu];
        const int jobs = (use->job[0] != ADL_NONE) + (use->job[1] != ADL_NONE);
        power_w += jobs ? adl_power_draw_w(type, LOAD * jobs, use->cap_w) : type->idle_w;
    }
    return power_w;
}

static void assert_within_limit(const struct gogh_desk *shared)
{
    if (modelled_w(shared) > shared->config.power_limit_w + 1e-6)
        fail_msg("%g W are drawn of %g", modelled_w(shared), shared->config.power_limit_w);
}

/* Of the fast type alone: what n GPUs at work add to the draw of all idle. */
static double limit_for(const struct gogh_desk *shared, double n)
{
    const struct adl_gpu_type *type = &shared->cluster.types[FAST];
    return type->idle_w * shared->cluster.gpu_count + n * (adl_power_draw_w(type, LOAD, 0) - type->idle_w);
}

static void open_limited(struct gogh_desk *shared, struct adl_job_spec *spec, uint32_t gpus, double n)
{
    desk_open_plain(shared, gpus, 0);
    shared->config.power_limit_w = limit_for(shared, n);
    desk_open(shared);
    *spec = desk_spec(1, 600, ADL_JOB_PREEMPTIBLE);
    desk_teach(shared, spec, FAST, 10, LOAD);
}

static void jobs_wait_while_no_watt_is_left_and_start_when_there_is(void **state)
{
    (void)state;
    struct gogh_desk shared;
    struct adl_job_spec spec;
    open_limited(&shared, &spec, 4, 2.5);
    for (uint32_t slot = 0; slot < 5; slot++)
        desk_submit(&shared, slot, &spec);
    uint32_t done = 0;
    for (int round = 0; round < 5; round++) {
        desk_decide(&shared);
        assert_within_limit(&shared);
        assert_int_equal(shared.state->busy_gpus, done < 4 ? 2 : 1);
        assert_int_equal(shared.stops, 0);
        shared.now_us += 100 * S;
        for (uint32_t slot = 0; slot < 5; slot++)
            if (desk_runs(&shared, slot)) {
                desk_finish(&shared, slot);
                done++;
                break;
            }
    }
    assert_int_equal(done, 5);
    desk_close(&shared);
}

static void under_a_limit_below_idle_power_nothing_starts_and_waking_ends(void **state)
{
    (void)state;
    struct gogh_desk shared;
    struct adl_job_spec spec;
    open_limited(&shared, &spec, 4, -0.5);
    spec.deadline_us = (int64_t)3600 * S;
    desk_submit(&shared, 0, &spec);
    uint32_t wakes = 0;
    for (;;) {
        desk_decide(&shared);
        assert_int_equal(shared.starts, 0);
        if (shared.wakes == 0)
            break;
        assert_true(++wakes < 10000);
        shared.now_us = shared.plan.commands[0].time_us;
        desk_wake(&shared);
    }
    assert_true(wakes > 0);
    desk_close(&shared);
}

/* A job that is being stopped draws power until its checkpoint is written. */
static void what_stopping_jobs_draw_is_not_given_to_others(void **state)
{
    (void)state;
    struct gogh_desk shared;
    desk_open_plain(&shared, 1, 2);
    const struct adl_gpu_type *slow = &shared.cluster.types[SLOW], *fast = &shared.cluster.types[FAST];
    const double idle_w = fast->idle_w + 2 * slow->idle_w;
    shared.config.power_limit_w = idle_w + 1.1 * (adl_power_draw_w(fast, LOAD, 0) - fast->idle_w);
    desk_open(&shared);
    const struct adl_job_spec spec = desk_spec(1, 36000, ADL_JOB_PREEMPTIBLE);
    desk_teach(&shared, &spec, FAST, 10, LOAD);
    desk_teach(&shared, &spec, SLOW, 5, LOAD);
    const struct adl_job_spec holder = desk_spec(2, 3600, 0);
    desk_submit(&shared, 1, &spec);
    desk_force(&shared, 1, 1);
    desk_submit(&shared, 0, &holder);
    desk_force(&shared, 0, 0);
    shared.now_us += 60 * S;
    desk_finish(&shared, 0);
    struct adl_job_spec urgent = spec;
    urgent.priority = 1;
    urgent.types = 1u << FAST;
    urgent.deadline_us = (int64_t)(1.3 * 36000 * S);
    desk_submit(&shared, 2, &urgent);
    for (int i = 0; i < 3; i++) {
        desk_decide(&shared);
        assert_within_limit(&shared);
        shared.now_us += 10 * S;
        if (shared.state->jobs[1].phase == ADL_PHASE_STOPPING)
            desk_evict(&shared, 1, 0.99);
    }
    assert_runs_on(&shared, 2, FAST);
    desk_close(&shared);
}

/* Beside the other it would draw less than on a GPU of its own, but the node has no cores left for it. */
static void a_job_that_cannot_join_its_partner_does_not_take_a_gpu_for_which_there_is_no_power(void **state)
{
    (void)state;
    struct gogh_desk shared = {.config = {.preemption_us = 20 * S, .share = true}};
    desk_types(&shared.cluster);
    fixture_node_of(&shared.cluster, &(struct adl_bank_spec){FAST, 1}, 1, 1, 65536);
    fixture_node_of(&shared.cluster, &(struct adl_bank_spec){FAST, 1}, 1, 1, 65536);
    shared.config.power_limit_w = limit_for(&shared, 1.9);
    desk_open(&shared);
    struct adl_job_spec spec = desk_spec(1, 3600, ADL_JOB_SHARE);
    spec.cpu_cores = 0;
    desk_teach(&shared, &spec, FAST, 10, LOAD);
    desk_teach_pair(&shared, &spec, &spec, FAST, 9.9, 9.9);
    spec.cpu_cores = 1;
    desk_submit(&shared, 0, &spec);
    desk_submit(&shared, 1, &spec);
    desk_decide(&shared);
    assert_true(shared.starts > 0);
    assert_within_limit(&shared);
    desk_close(&shared);
}

/* ---- caps ---- */

static void a_gpu_is_held_to_less_power_where_speed_is_worth_little_and_freed_for_a_job_that_needs_it(void **state)
{
    (void)state;
    struct gogh_desk shared;
    desk_open_plain(&shared, 1, 0);
    shared.config.worth_w = 200;
    shared.config.power_caps[0] = 0.6;
    desk_open(&shared);
    struct adl_job_spec spec = desk_spec(1, 600, 0);
    spec.priority = 1;
    desk_teach(&shared, &spec, FAST, 10, 0.9);
    desk_submit(&shared, 0, &spec);
    desk_decide(&shared);
    assert_true(desk_runs(&shared, 0));
    assert_true(shared.state->gpus[0].cap_w == 0.6 * shared.cluster.types[FAST].max_w);
    shared.now_us += 100 * S;
    desk_finish(&shared, 0);
    spec.min_steps_per_s = 9;
    desk_submit(&shared, 1, &spec);
    desk_decide(&shared);
    assert_true(desk_runs(&shared, 1));
    assert_true(shared.state->gpus[0].cap_w == 0);
    desk_close(&shared);
}

static void a_speed_that_was_measured_under_a_cap_is_not_taken_for_the_speed_without(void **state)
{
    (void)state;
    struct gogh_desk shared;
    desk_open_plain(&shared, 1, 1);
    desk_open(&shared);
    const struct adl_job_spec spec = desk_spec(1, 600, 0);
    const double cap_w = 0.5 * shared.cluster.types[FAST].max_w;
    desk_teach(&shared, &spec, SLOW, 8, 0.9);
    desk_teach(&shared, &spec, FAST, 10, 0.9);
    adl_state_cap(shared.state, (const uint32_t[]){0}, 1, cap_w);
    const double slowed = adl_power_cap_speed(&shared.cluster.types[FAST], 0.9, cap_w);
    assert_true(10 * slowed < 7);
    desk_submit(&shared, 0, &spec);
    desk_force(&shared, 0, 0);
    for (int i = 0; i < 3 * DESK_READINGS; i++)
        desk_progress(&shared, 0, 10 * slowed);
    desk_finish(&shared, 0);
    desk_submit(&shared, 1, &spec);
    desk_decide(&shared);
    assert_runs_on(&shared, 1, FAST);
    desk_close(&shared);
}

/* ---- reservations ---- */

/* Two nodes of two fast GPUs; on each one runs a job that can be stopped, and a gang of two waits since before they
 * came. So two GPUs are free, but scattered. */
static void open_scattered(struct gogh_desk *shared, int flags)
{
    *shared = (struct gogh_desk){.config = {.preemption_us = 20 * S, .share = flags & ADL_JOB_SHARE}};
    desk_types(&shared->cluster);
    fixture_node(&shared->cluster, FAST, 2);
    fixture_node(&shared->cluster, FAST, 2);
    desk_open(shared);
    struct adl_job_spec gang = desk_spec(1, 600, 0);
    const struct adl_job_spec single = desk_spec(2, 36000, flags);
    desk_teach(shared, &single, FAST, 10, LOAD);
    desk_teach_pair(shared, &single, &single, FAST, 9.9, 9.9);
    gang.gpus = 2;
    desk_submit(shared, 0, &gang);
    shared->now_us += S;
    for (uint32_t slot = 1; slot <= 2; slot++) {
        desk_submit(shared, slot, &single);
        desk_force(shared, slot, 2 * (slot - 1));
    }
    desk_decide(shared);
    assert_int_equal(shared->stops, 0);
    assert_int_equal(shared->starts, 0);
    assert_true(shared->wakes > 0);
}

static void wait_long(struct gogh_desk *shared)
{
    shared->now_us += 10 * shared->config.preemption_us;
    desk_wake(shared);
}

static void a_gang_gets_scattered_gpus_once_it_has_waited_for_ten_times_what_that_costs(void **state)
{
    (void)state;
    struct gogh_desk shared;
    open_scattered(&shared, ADL_JOB_PREEMPTIBLE);
    shared.now_us += 9 * shared.config.preemption_us;
    desk_wake(&shared);
    desk_decide(&shared);
    assert_int_equal(shared.stops, 0);
    shared.now_us += shared.config.preemption_us;
    desk_wake(&shared);
    desk_decide(&shared);
    assert_int_equal(shared.stops, 1);
    const uint32_t victim = shared.stopped;
    /* The GPUs stay reserved for the gang, whatever jobs arrive meanwhile. */
    const struct adl_job_spec other = desk_spec(2, 600, 0);
    desk_submit(&shared, 3, &other);
    desk_submit(&shared, 4, &other);
    desk_decide(&shared);
    assert_true(shared.starts <= 1);
    assert_int_equal(shared.stops, 0);
    shared.now_us += 10 * S;
    desk_evict(&shared, victim, 0.9);
    desk_decide(&shared);
    assert_runs_on(&shared, 0, FAST);
    desk_close(&shared);
}

static void for_a_gang_nobody_is_stopped_who_was_there_before_it_or_may_not_be_stopped(void **state)
{
    (void)state;
    struct gogh_desk shared;
    open_scattered(&shared, 0);
    wait_long(&shared);
    desk_decide(&shared);
    assert_int_equal(shared.stops, 0);
    desk_close(&shared);
    open_scattered(&shared, ADL_JOB_PREEMPTIBLE);
    shared.state->jobs[1].submit_us = shared.state->jobs[2].submit_us = shared.state->jobs[0].submit_us - 1;
    wait_long(&shared);
    desk_decide(&shared);
    assert_int_equal(shared.stops, 0);
    desk_close(&shared);
}

static void a_reservation_is_dropped_if_one_of_its_gpus_fails(void **state)
{
    (void)state;
    struct gogh_desk shared;
    open_scattered(&shared, ADL_JOB_PREEMPTIBLE);
    wait_long(&shared);
    desk_decide(&shared);
    const uint32_t victim = shared.stopped, gpu = shared.state->jobs[victim].first_gpu;
    assert_int_equal(shared.stops, 1);
    shared.now_us += 5 * S;
    desk_down(&shared, gpu ^ 1); /* the free one beside it */
    desk_decide(&shared);
    shared.now_us += 5 * S;
    desk_evict(&shared, victim, 0.9);
    const struct adl_job_spec other = desk_spec(2, 600, 0);
    desk_submit(&shared, 3, &other);
    desk_decide(&shared);
    assert_int_equal(shared.state->busy_gpus, 3); /* all that are left: nothing is withheld any more */
    assert_int_equal(shared.state->gpus[gpu].job[1], ADL_NONE);
    for (uint32_t slot = 1; slot <= 3; slot++)
        desk_finish(&shared, slot);
    desk_decide(&shared);
    assert_runs_on(&shared, 0, FAST);
    desk_close(&shared);
}

/* Whoever joined a job that is being stopped would keep the gang from its GPU. */
static void nobody_is_put_beside_a_job_that_is_stopped_for_a_gang(void **state)
{
    (void)state;
    struct gogh_desk shared;
    open_scattered(&shared, ADL_JOB_PREEMPTIBLE | ADL_JOB_SHARE);
    shared.now_us += 10 * shared.config.preemption_us;
    const struct adl_job_spec single = desk_spec(2, 36000, ADL_JOB_PREEMPTIBLE | ADL_JOB_SHARE);
    for (uint32_t slot = 3; slot < 6; slot++)
        desk_submit(&shared, slot, &single);
    desk_decide(&shared);
    assert_int_equal(shared.stops, 1);
    const uint32_t victim = shared.stopped;
    assert_int_equal(shared.state->gpus[shared.state->jobs[victim].first_gpu].job[1], ADL_NONE);
    shared.now_us += 10 * S;
    desk_evict(&shared, victim, 0.9);
    desk_decide(&shared);
    assert_runs_on(&shared, 0, FAST);
    desk_close(&shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_wait_while_no_watt_is_left_and_start_when_there_is),
        cmocka_unit_test(under_a_limit_below_idle_power_nothing_starts_and_waking_ends),
        cmocka_unit_test(what_stopping_jobs_draw_is_not_given_to_others),
        cmocka_unit_test(a_job_that_cannot_join_its_partner_does_not_take_a_gpu_for_which_there_is_no_power),
        cmocka_unit_test(a_gpu_is_held_to_less_power_where_speed_is_worth_little_and_freed_for_a_job_that_needs_it),
        cmocka_unit_test(a_speed_that_was_measured_under_a_cap_is_not_taken_for_the_speed_without),
        cmocka_unit_test(a_gang_gets_scattered_gpus_once_it_has_waited_for_ten_times_what_that_costs),
        cmocka_unit_test(for_a_gang_nobody_is_stopped_who_was_there_before_it_or_may_not_be_stopped),
        cmocka_unit_test(a_reservation_is_dropped_if_one_of_its_gpus_fails),
        cmocka_unit_test(nobody_is_put_beside_a_job_that_is_stopped_for_a_gang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
