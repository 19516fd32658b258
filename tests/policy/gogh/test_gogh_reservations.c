/* Tests of the policy gogh on states made by hand: power limits and caps, and gangs for which others are stopped. */
#include "gogh_fixture.h"

#include "predict/power.h"

#include <math.h>

#define LOAD 0.5 /* of every job here, taught */

/* ---- power ---- */

/* What all GPUs draw as the policy models it: idle ones that, others by the load they were taught, stopping ones too.
 */
static double modelled_w(const struct gogh_fixture *fixture)
{
    double power_w = 0;
    for (uint32_t gpu = 0; gpu < fixture->cluster.gpu_count; gpu++) {
        const struct adl_gpu_type *type = &fixture->cluster.types[adl_gpu_type_of(&fixture->cluster, gpu)];
        const struct adl_gpu_use *use = &fixture->state->gpus[gpu];
        const int jobs = (use->job[0] != ADL_NONE) + (use->job[1] != ADL_NONE);
        power_w += jobs ? adl_power_draw_w(type, LOAD * jobs, use->cap_w) : type->idle_w;
    }
    return power_w;
}

static void assert_within_limit(const struct gogh_fixture *fixture)
{
    if (modelled_w(fixture) > fixture->limit_w + 1e-6)
        fail_msg("%g W are drawn of %g", modelled_w(fixture), fixture->limit_w);
}

/* Of the fast type alone: what n GPUs at work add to the draw of all idle. */
static double limit_for(const struct gogh_fixture *fixture, double n)
{
    const struct adl_gpu_type *type = &fixture->cluster.types[FAST];
    return type->idle_w * fixture->cluster.gpu_count + n * (adl_power_draw_w(type, LOAD, 0) - type->idle_w);
}

static void open_limited(struct gogh_fixture *fixture, struct adl_job_spec *spec, uint32_t gpus, double n)
{
    gogh_open_plain(fixture, gpus, 0);
    gogh_limit(fixture, limit_for(fixture, n));
    gogh_open(fixture);
    *spec = gogh_spec(1, 600, ADL_JOB_PREEMPTIBLE);
    gogh_teach(fixture, spec, FAST, 10, LOAD);
}

static void jobs_wait_while_no_watt_is_left_and_start_when_there_is(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    struct adl_job_spec spec;
    open_limited(&fixture, &spec, 4, 2.5);
    for (uint32_t slot = 0; slot < 5; slot++)
        gogh_submit(&fixture, slot, &spec);
    uint32_t done = 0;
    for (int round = 0; round < 5; round++) {
        gogh_decide(&fixture);
        assert_within_limit(&fixture);
        assert_int_equal(fixture.state->busy_gpus, done < 4 ? 2 : 1);
        assert_int_equal(fixture.stops, 0);
        fixture.now_us += 100 * S;
        for (uint32_t slot = 0; slot < 5; slot++)
            if (gogh_runs(&fixture, slot)) {
                gogh_finish(&fixture, slot);
                done++;
                break;
            }
    }
    assert_int_equal(done, 5);
    gogh_close(&fixture);
}

static void under_a_limit_below_idle_power_nothing_starts_and_waking_ends(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    struct adl_job_spec spec;
    open_limited(&fixture, &spec, 4, -0.5);
    spec.deadline_us = (int64_t)3600 * S;
    gogh_submit(&fixture, 0, &spec);
    uint32_t wakes = 0;
    for (;;) {
        gogh_decide(&fixture);
        assert_int_equal(fixture.starts, 0);
        if (fixture.wakes == 0)
            break;
        assert_true(++wakes < 10000);
        fixture.now_us = fixture.plan.commands[0].time_us;
        gogh_wake(&fixture);
    }
    assert_true(wakes > 0);
    gogh_close(&fixture);
}

/* A job that is being stopped draws power until its checkpoint is written. */
static void what_stopping_jobs_draw_is_not_given_to_others(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    gogh_open_plain(&fixture, 1, 2);
    const struct adl_gpu_type *slow = &fixture.cluster.types[SLOW], *fast = &fixture.cluster.types[FAST];
    const double idle_w = fast->idle_w + 2 * slow->idle_w;
    gogh_limit(&fixture, idle_w + 1.1 * (adl_power_draw_w(fast, LOAD, 0) - fast->idle_w));
    gogh_open(&fixture);
    const struct adl_job_spec spec = gogh_spec(1, 36000, ADL_JOB_PREEMPTIBLE);
    gogh_teach(&fixture, &spec, FAST, 10, LOAD);
    gogh_teach(&fixture, &spec, SLOW, 5, LOAD);
    const struct adl_job_spec holder = gogh_spec(2, 3600, 0);
    gogh_submit(&fixture, 1, &spec);
    gogh_force(&fixture, 1, 1);
    gogh_submit(&fixture, 0, &holder);
    gogh_force(&fixture, 0, 0);
    fixture.now_us += 60 * S;
    gogh_finish(&fixture, 0);
    struct adl_job_spec urgent = spec;
    urgent.priority = 1;
    urgent.types = 1u << FAST;
    urgent.deadline_us = (int64_t)(1.3 * 36000 * S);
    gogh_submit(&fixture, 2, &urgent);
    for (int i = 0; i < 3; i++) {
        gogh_decide(&fixture);
        assert_within_limit(&fixture);
        fixture.now_us += 10 * S;
        if (fixture.state->jobs[1].phase == ADL_PHASE_STOPPING)
            gogh_evict(&fixture, 1, 0.99);
    }
    assert_runs_on(&fixture, 2, FAST);
    gogh_close(&fixture);
}

/* Beside the other it would draw less than on a GPU of its own, but the node has no cores left for it. */
static void a_job_that_cannot_join_its_partner_does_not_take_a_gpu_for_which_there_is_no_power(void **state)
{
    (void)state;
    struct gogh_fixture fixture = {.config = {.preemption_us = 20 * S}, .settings = "share=true\n"};
    gogh_types(&fixture.cluster);
    fixture_node_of(&fixture.cluster, &(struct adl_bank_spec){FAST, 1}, 1, 1, 65536);
    fixture_node_of(&fixture.cluster, &(struct adl_bank_spec){FAST, 1}, 1, 1, 65536);
    gogh_limit(&fixture, limit_for(&fixture, 1.9));
    gogh_open(&fixture);
    struct adl_job_spec spec = gogh_spec(1, 3600, ADL_JOB_SHARE);
    spec.cpu_cores = 0;
    gogh_teach(&fixture, &spec, FAST, 10, LOAD);
    gogh_teach_pair(&fixture, &spec, &spec, FAST, 9.9, 9.9);
    spec.cpu_cores = 1;
    gogh_submit(&fixture, 0, &spec);
    gogh_submit(&fixture, 1, &spec);
    gogh_decide(&fixture);
    assert_true(fixture.starts > 0);
    assert_within_limit(&fixture);
    gogh_close(&fixture);
}

/* ---- caps ---- */

static void a_gpu_is_held_to_less_power_where_speed_is_worth_little_and_freed_for_a_job_that_needs_it(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    gogh_open_plain(&fixture, 1, 0);
    gogh_tell(&fixture, "worth_w=200\npower_caps=0.6");
    gogh_open(&fixture);
    struct adl_job_spec spec = gogh_spec(1, 600, 0);
    spec.priority = 1;
    gogh_teach(&fixture, &spec, FAST, 10, 0.9);
    gogh_submit(&fixture, 0, &spec);
    gogh_decide(&fixture);
    assert_true(gogh_runs(&fixture, 0));
    assert_true(fixture.state->gpus[0].cap_w == 0.6 * fixture.cluster.types[FAST].max_w);
    fixture.now_us += 100 * S;
    gogh_finish(&fixture, 0);
    spec.min_steps_per_s = 9;
    gogh_submit(&fixture, 1, &spec);
    gogh_decide(&fixture);
    assert_true(gogh_runs(&fixture, 1));
    assert_true(fixture.state->gpus[0].cap_w == 0);
    gogh_close(&fixture);
}

/* One that may not be stopped holds the power. A cap acts at once, so the other need not wait for another decision. */
static void under_a_limit_a_job_with_a_deadline_starts_at_once_if_a_cap_on_another_makes_room(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    struct adl_job_spec spec;
    gogh_open_plain(&fixture, 2, 0);
    gogh_limit(&fixture, limit_for(&fixture, 1.8));
    gogh_tell(&fixture, "power_caps=0.4");
    gogh_open(&fixture);
    spec = gogh_spec(1, 600, 0);
    gogh_teach(&fixture, &spec, FAST, 10, LOAD);
    gogh_submit(&fixture, 0, &spec);
    gogh_force(&fixture, 0, 0);
    spec.deadline_us = (int64_t)2400 * S;
    gogh_submit(&fixture, 1, &spec);
    gogh_decide(&fixture);
    assert_true(gogh_runs(&fixture, 1));
    assert_true(fixture.state->gpus[0].cap_w > 0 && fixture.state->gpus[1].cap_w == 0);
    assert_within_limit(&fixture);
    gogh_close(&fixture);
}

static void a_speed_that_was_measured_under_a_cap_is_not_taken_for_the_speed_without(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    gogh_open_plain(&fixture, 1, 1);
    gogh_open(&fixture);
    const struct adl_job_spec spec = gogh_spec(1, 600, 0);
    const double cap_w = 0.5 * fixture.cluster.types[FAST].max_w;
    gogh_teach(&fixture, &spec, SLOW, 8, 0.9);
    gogh_teach(&fixture, &spec, FAST, 10, 0.9);
    adl_state_cap(fixture.state, (const uint32_t[]){0}, 1, cap_w);
    const double slowed = adl_power_cap_speed(&fixture.cluster.types[FAST], 0.9, cap_w);
    assert_true(10 * slowed < 7);
    gogh_submit(&fixture, 0, &spec);
    gogh_force(&fixture, 0, 0);
    for (int i = 0; i < 3 * GOGH_READINGS; i++)
        gogh_progress(&fixture, 0, 10 * slowed);
    gogh_finish(&fixture, 0);
    gogh_submit(&fixture, 1, &spec);
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 1, FAST);
    gogh_close(&fixture);
}

/* ---- reservations ---- */

/* Two nodes of two fast GPUs; on each one runs a job that can be stopped, and a gang of two waits since before they
 * came. So two GPUs are free, but scattered. */
static void open_scattered(struct gogh_fixture *fixture, int flags)
{
    *fixture = (struct gogh_fixture){.config = {.preemption_us = 20 * S}};
    gogh_tell(fixture, "share=%s", flags & ADL_JOB_SHARE ? "true" : "false");
    gogh_types(&fixture->cluster);
    fixture_node(&fixture->cluster, FAST, 2);
    fixture_node(&fixture->cluster, FAST, 2);
    gogh_open(fixture);
    struct adl_job_spec gang = gogh_spec(1, 600, 0);
    const struct adl_job_spec single = gogh_spec(2, 36000, flags);
    gogh_teach(fixture, &single, FAST, 10, LOAD);
    gogh_teach_pair(fixture, &single, &single, FAST, 9.9, 9.9);
    gang.gpus = 2;
    gogh_submit(fixture, 0, &gang);
    fixture->now_us += S;
    for (uint32_t slot = 1; slot <= 2; slot++) {
        gogh_submit(fixture, slot, &single);
        gogh_force(fixture, slot, 2 * (slot - 1));
    }
    gogh_decide(fixture);
    assert_int_equal(fixture->stops, 0);
    assert_int_equal(fixture->starts, 0);
    assert_true(fixture->wakes > 0);
}

static void wait_long(struct gogh_fixture *fixture)
{
    fixture->now_us += 10 * fixture->config.preemption_us;
    gogh_wake(fixture);
}

static void a_gang_gets_scattered_gpus_once_it_has_waited_for_ten_times_what_that_costs(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    open_scattered(&fixture, ADL_JOB_PREEMPTIBLE);
    fixture.now_us += 9 * fixture.config.preemption_us;
    gogh_wake(&fixture);
    gogh_decide(&fixture);
    assert_int_equal(fixture.stops, 0);
    fixture.now_us += fixture.config.preemption_us;
    gogh_wake(&fixture);
    gogh_decide(&fixture);
    assert_int_equal(fixture.stops, 1);
    const uint32_t victim = fixture.stopped;
    /* The GPUs stay reserved for the gang, whatever jobs arrive meanwhile. */
    const struct adl_job_spec other = gogh_spec(2, 600, 0);
    gogh_submit(&fixture, 3, &other);
    gogh_submit(&fixture, 4, &other);
    gogh_decide(&fixture);
    assert_true(fixture.starts <= 1);
    assert_int_equal(fixture.stops, 0);
    fixture.now_us += 10 * S;
    gogh_evict(&fixture, victim, 0.9);
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 0, FAST);
    gogh_close(&fixture);
}

static void for_a_gang_nobody_is_stopped_who_was_there_before_it_or_may_not_be_stopped(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    open_scattered(&fixture, 0);
    wait_long(&fixture);
    gogh_decide(&fixture);
    assert_int_equal(fixture.stops, 0);
    gogh_close(&fixture);
    open_scattered(&fixture, ADL_JOB_PREEMPTIBLE);
    fixture.state->jobs[1].submit_us = fixture.state->jobs[2].submit_us = fixture.state->jobs[0].submit_us - 1;
    wait_long(&fixture);
    gogh_decide(&fixture);
    assert_int_equal(fixture.stops, 0);
    gogh_close(&fixture);
}

static void a_reservation_is_dropped_if_one_of_its_gpus_fails(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    open_scattered(&fixture, ADL_JOB_PREEMPTIBLE);
    wait_long(&fixture);
    gogh_decide(&fixture);
    const uint32_t victim = fixture.stopped, gpu = fixture.state->jobs[victim].first_gpu;
    assert_int_equal(fixture.stops, 1);
    fixture.now_us += 5 * S;
    gogh_down(&fixture, gpu ^ 1); /* the free one beside it */
    gogh_decide(&fixture);
    fixture.now_us += 5 * S;
    gogh_evict(&fixture, victim, 0.9);
    const struct adl_job_spec other = gogh_spec(2, 600, 0);
    gogh_submit(&fixture, 3, &other);
    gogh_decide(&fixture);
    assert_int_equal(fixture.state->busy_gpus, 3); /* all that are left: nothing is withheld any more */
    assert_int_equal(fixture.state->gpus[gpu].job[1], ADL_NONE);
    for (uint32_t slot = 1; slot <= 3; slot++)
        gogh_finish(&fixture, slot);
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 0, FAST);
    gogh_close(&fixture);
}

/* Whoever joined a job that is being stopped would keep the gang from its GPU. */
static void nobody_is_put_beside_a_job_that_is_stopped_for_a_gang(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    open_scattered(&fixture, ADL_JOB_PREEMPTIBLE | ADL_JOB_SHARE);
    fixture.now_us += 10 * fixture.config.preemption_us;
    const struct adl_job_spec single = gogh_spec(2, 36000, ADL_JOB_PREEMPTIBLE | ADL_JOB_SHARE);
    for (uint32_t slot = 3; slot < 6; slot++)
        gogh_submit(&fixture, slot, &single);
    gogh_decide(&fixture);
    assert_int_equal(fixture.stops, 1);
    const uint32_t victim = fixture.stopped;
    assert_int_equal(fixture.state->gpus[fixture.state->jobs[victim].first_gpu].job[1], ADL_NONE);
    fixture.now_us += 10 * S;
    gogh_evict(&fixture, victim, 0.9);
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 0, FAST);
    gogh_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_wait_while_no_watt_is_left_and_start_when_there_is),
        cmocka_unit_test(under_a_limit_below_idle_power_nothing_starts_and_waking_ends),
        cmocka_unit_test(what_stopping_jobs_draw_is_not_given_to_others),
        cmocka_unit_test(a_job_that_cannot_join_its_partner_does_not_take_a_gpu_for_which_there_is_no_power),
        cmocka_unit_test(a_gpu_is_held_to_less_power_where_speed_is_worth_little_and_freed_for_a_job_that_needs_it),
        cmocka_unit_test(under_a_limit_a_job_with_a_deadline_starts_at_once_if_a_cap_on_another_makes_room),
        cmocka_unit_test(a_speed_that_was_measured_under_a_cap_is_not_taken_for_the_speed_without),
        cmocka_unit_test(a_gang_gets_scattered_gpus_once_it_has_waited_for_ten_times_what_that_costs),
        cmocka_unit_test(for_a_gang_nobody_is_stopped_who_was_there_before_it_or_may_not_be_stopped),
        cmocka_unit_test(a_reservation_is_dropped_if_one_of_its_gpus_fails),
        cmocka_unit_test(nobody_is_put_beside_a_job_that_is_stopped_for_a_gang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
