/* Tests of the policy gogh on states made by hand: power limits and caps, and gangs for which others are stopped. */
#include "gogh_fixture.h"

#include "predict/power.h"

#include <math.h>

#define LOAD 0.5 /* of every job here, taught */

/* ---- power ---- */

/* What all GPUs draw as the policy models it: idle ones that, others by the load they were taught, stopping ones too.
 */
static double modelled_w(const struct gogh_desk *desk)
{
    double power_w = 0;
    for (uint32_t gpu = 0; gpu < desk->cluster.gpu_count; gpu++) {
        const struct adl_gpu_type *type = &desk->cluster.types[adl_gpu_type_of(&desk->cluster, gpu)];
        const struct adl_gpu_use *use = &desk->state->gpus[gpu];
        const int jobs = (use->job[0] != ADL_NONE) + (use->job[1] != ADL_NONE);
        power_w += jobs ? adl_power_draw_w(type, LOAD * jobs, use->cap_w) : type->idle_w;
    }
    return power_w;
}

static void assert_within_limit(const struct gogh_desk *desk)
{
    if (modelled_w(desk) > desk->config.power_limit_w + 1e-6)
        fail_msg("%g W are drawn of %g", modelled_w(desk), desk->config.power_limit_w);
}

/* Of the fast type alone: what n GPUs at work add to the draw of all idle. */
static double limit_for(const struct gogh_desk *desk, double n)
{
    const struct adl_gpu_type *type = &desk->cluster.types[FAST];
    return type->idle_w * desk->cluster.gpu_count + n * (adl_power_draw_w(type, LOAD, 0) - type->idle_w);
}

static void open_limited(struct gogh_desk *desk, struct adl_job_spec *spec, uint32_t gpus, double n)
{
    desk_open_plain(desk, gpus, 0);
    desk->config.power_limit_w = limit_for(desk, n);
    desk_open(desk);
    *spec = desk_spec(1, 600, ADL_JOB_PREEMPTIBLE);
    desk_teach(desk, spec, FAST, 10, LOAD);
}

static void jobs_wait_while_no_watt_is_left_and_start_when_there_is(void **state)
{
    (void)state;
    struct gogh_desk desk;
    struct adl_job_spec spec;
    open_limited(&desk, &spec, 4, 2.5);
    for (uint32_t slot = 0; slot < 5; slot++)
        desk_submit(&desk, slot, &spec);
    uint32_t done = 0;
    for (int round = 0; round < 5; round++) {
        desk_decide(&desk);
        assert_within_limit(&desk);
        assert_int_equal(desk.state->busy_gpus, done < 4 ? 2 : 1);
        assert_int_equal(desk.stops, 0);
        desk.now_us += 100 * S;
        for (uint32_t slot = 0; slot < 5; slot++)
            if (desk_runs(&desk, slot)) {
                desk_finish(&desk, slot);
                done++;
                break;
            }
    }
    assert_int_equal(done, 5);
    desk_close(&desk);
}

static void under_a_limit_below_idle_power_nothing_starts_and_waking_ends(void **state)
{
    (void)state;
    struct gogh_desk desk;
    struct adl_job_spec spec;
    open_limited(&desk, &spec, 4, -0.5);
    spec.deadline_us = (int64_t)3600 * S;
    desk_submit(&desk, 0, &spec);
    uint32_t wakes = 0;
    for (;;) {
        desk_decide(&desk);
        assert_int_equal(desk.starts, 0);
        if (desk.wakes == 0)
            break;
        assert_true(++wakes < 10000);
        desk.now_us = desk.plan.commands[0].time_us;
        desk_wake(&desk);
    }
    assert_true(wakes > 0);
    desk_close(&desk);
}

/* A job that is being stopped draws power until its checkpoint is written. */
static void what_stopping_jobs_draw_is_not_given_to_others(void **state)
{
    (void)state;
    struct gogh_desk desk;
    desk_open_plain(&desk, 1, 2);
    const struct adl_gpu_type *slow = &desk.cluster.types[SLOW], *fast = &desk.cluster.types[FAST];
    const double idle_w = fast->idle_w + 2 * slow->idle_w;
    desk.config.power_limit_w = idle_w + 1.1 * (adl_power_draw_w(fast, LOAD, 0) - fast->idle_w);
    desk_open(&desk);
    const struct adl_job_spec spec = desk_spec(1, 36000, ADL_JOB_PREEMPTIBLE);
    desk_teach(&desk, &spec, FAST, 10, LOAD);
    desk_teach(&desk, &spec, SLOW, 5, LOAD);
    const struct adl_job_spec holder = desk_spec(2, 3600, 0);
    desk_submit(&desk, 1, &spec);
    desk_force(&desk, 1, 1);
    desk_submit(&desk, 0, &holder);
    desk_force(&desk, 0, 0);
    desk.now_us += 60 * S;
    desk_finish(&desk, 0);
    struct adl_job_spec urgent = spec;
    urgent.priority = 1;
    urgent.types = 1u << FAST;
    urgent.deadline_us = (int64_t)(1.3 * 36000 * S);
    desk_submit(&desk, 2, &urgent);
    for (int i = 0; i < 3; i++) {
        desk_decide(&desk);
        assert_within_limit(&desk);
        desk.now_us += 10 * S;
        if (desk.state->jobs[1].phase == ADL_PHASE_STOPPING)
            desk_evict(&desk, 1, 0.99);
    }
    assert_runs_on(&desk, 2, FAST);
    desk_close(&desk);
}

/* Beside the other it would draw less than on a GPU of its own, but the node has no cores left for it. */
static void a_job_that_cannot_join_its_partner_does_not_take_a_gpu_for_which_there_is_no_power(void **state)
{
    (void)state;
    struct gogh_desk desk = {.config = {.preemption_us = 20 * S, .share = true}};
    desk_types(&desk.cluster);
    fixture_node_of(&desk.cluster, &(struct adl_bank_spec){FAST, 1}, 1, 1, 65536);
    fixture_node_of(&desk.cluster, &(struct adl_bank_spec){FAST, 1}, 1, 1, 65536);
    desk.config.power_limit_w = limit_for(&desk, 1.9);
    desk_open(&desk);
    struct adl_job_spec spec = desk_spec(1, 3600, ADL_JOB_SHARE);
    spec.cpu_cores = 0;
    desk_teach(&desk, &spec, FAST, 10, LOAD);
    desk_teach_pair(&desk, &spec, &spec, FAST, 9.9, 9.9);
    spec.cpu_cores = 1;
    desk_submit(&desk, 0, &spec);
    desk_submit(&desk, 1, &spec);
    desk_decide(&desk);
    assert_true(desk.starts > 0);
    assert_within_limit(&desk);
    desk_close(&desk);
}

/* ---- caps ---- */

static void a_gpu_is_held_to_less_power_where_speed_is_worth_little_and_freed_for_a_job_that_needs_it(void **state)
{
    (void)state;
    struct gogh_desk desk;
    desk_open_plain(&desk, 1, 0);
    desk.config.worth_w = 200;
    desk.config.power_caps[0] = 0.6;
    desk_open(&desk);
    struct adl_job_spec spec = desk_spec(1, 600, 0);
    spec.priority = 1;
    desk_teach(&desk, &spec, FAST, 10, 0.9);
    desk_submit(&desk, 0, &spec);
    desk_decide(&desk);
    assert_true(desk_runs(&desk, 0));
    assert_true(desk.state->gpus[0].cap_w == 0.6 * desk.cluster.types[FAST].max_w);
    desk.now_us += 100 * S;
    desk_finish(&desk, 0);
    spec.min_steps_per_s = 9;
    desk_submit(&desk, 1, &spec);
    desk_decide(&desk);
    assert_true(desk_runs(&desk, 1));
    assert_true(desk.state->gpus[0].cap_w == 0);
    desk_close(&desk);
}

static void a_speed_that_was_measured_under_a_cap_is_not_taken_for_the_speed_without(void **state)
{
    (void)state;
    struct gogh_desk desk;
    desk_open_plain(&desk, 1, 1);
    desk_open(&desk);
    const struct adl_job_spec spec = desk_spec(1, 600, 0);
    const double cap_w = 0.5 * desk.cluster.types[FAST].max_w;
    desk_teach(&desk, &spec, SLOW, 8, 0.9);
    desk_teach(&desk, &spec, FAST, 10, 0.9);
    adl_state_cap(desk.state, (const uint32_t[]){0}, 1, cap_w);
    const double slowed = adl_power_cap_speed(&desk.cluster.types[FAST], 0.9, cap_w);
    assert_true(10 * slowed < 7);
    desk_submit(&desk, 0, &spec);
    desk_force(&desk, 0, 0);
    for (int i = 0; i < 3 * DESK_READINGS; i++)
        desk_progress(&desk, 0, 10 * slowed);
    desk_finish(&desk, 0);
    desk_submit(&desk, 1, &spec);
    desk_decide(&desk);
    assert_runs_on(&desk, 1, FAST);
    desk_close(&desk);
}

/* ---- claims ---- */

/* Two nodes of two fast GPUs; on each one runs a job that can be stopped, and a gang of two waits since before they
 * came. So two GPUs are free, but scattered. */
static void open_scattered(struct gogh_desk *desk, int flags)
{
    *desk = (struct gogh_desk){.config = {.preemption_us = 20 * S, .share = flags & ADL_JOB_SHARE}};
    desk_types(&desk->cluster);
    fixture_node(&desk->cluster, FAST, 2);
    fixture_node(&desk->cluster, FAST, 2);
    desk_open(desk);
    struct adl_job_spec gang = desk_spec(1, 600, 0);
    const struct adl_job_spec single = desk_spec(2, 36000, flags);
    desk_teach(desk, &single, FAST, 10, LOAD);
    desk_teach_pair(desk, &single, &single, FAST, 9.9, 9.9);
    gang.gpus = 2;
    desk_submit(desk, 0, &gang);
    desk->now_us += S;
    for (uint32_t slot = 1; slot <= 2; slot++) {
        desk_submit(desk, slot, &single);
        desk_force(desk, slot, 2 * (slot - 1));
    }
    desk_decide(desk);
    assert_int_equal(desk->stops, 0);
    assert_int_equal(desk->starts, 0);
    assert_true(desk->wakes > 0);
}

static void wait_long(struct gogh_desk *desk)
{
    desk->now_us += 10 * desk->config.preemption_us;
    desk_wake(desk);
}

static void a_gang_gets_scattered_gpus_once_it_has_waited_for_ten_times_what_that_costs(void **state)
{
    (void)state;
    struct gogh_desk desk;
    open_scattered(&desk, ADL_JOB_PREEMPTIBLE);
    desk.now_us += 9 * desk.config.preemption_us;
    desk_wake(&desk);
    desk_decide(&desk);
    assert_int_equal(desk.stops, 0);
    desk.now_us += desk.config.preemption_us;
    desk_wake(&desk);
    desk_decide(&desk);
    assert_int_equal(desk.stops, 1);
    const uint32_t victim = desk.stopped;
    /* What is claimed is kept for the gang, whoever comes meanwhile. */
    const struct adl_job_spec other = desk_spec(2, 600, 0);
    desk_submit(&desk, 3, &other);
    desk_submit(&desk, 4, &other);
    desk_decide(&desk);
    assert_true(desk.starts <= 1);
    assert_int_equal(desk.stops, 0);
    desk.now_us += 10 * S;
    desk_evict(&desk, victim, 0.9);
    desk_decide(&desk);
    assert_runs_on(&desk, 0, FAST);
    desk_close(&desk);
}

static void for_a_gang_nobody_is_stopped_who_was_there_before_it_or_may_not_be_stopped(void **state)
{
    (void)state;
    struct gogh_desk desk;
    open_scattered(&desk, 0);
    wait_long(&desk);
    desk_decide(&desk);
    assert_int_equal(desk.stops, 0);
    desk_close(&desk);
    open_scattered(&desk, ADL_JOB_PREEMPTIBLE);
    desk.state->jobs[1].submit_us = desk.state->jobs[2].submit_us = desk.state->jobs[0].submit_us - 1;
    wait_long(&desk);
    desk_decide(&desk);
    assert_int_equal(desk.stops, 0);
    desk_close(&desk);
}

static void a_claim_is_dropped_if_one_of_its_gpus_fails(void **state)
{
    (void)state;
    struct gogh_desk desk;
    open_scattered(&desk, ADL_JOB_PREEMPTIBLE);
    wait_long(&desk);
    desk_decide(&desk);
    const uint32_t victim = desk.stopped, gpu = desk.state->jobs[victim].first_gpu;
    assert_int_equal(desk.stops, 1);
    desk.now_us += 5 * S;
    desk_down(&desk, gpu ^ 1); /* the free one beside it */
    desk_decide(&desk);
    desk.now_us += 5 * S;
    desk_evict(&desk, victim, 0.9);
    const struct adl_job_spec other = desk_spec(2, 600, 0);
    desk_submit(&desk, 3, &other);
    desk_decide(&desk);
    assert_int_equal(desk.state->busy_gpus, 3); /* all that are left: nothing is withheld any more */
    assert_int_equal(desk.state->gpus[gpu].job[1], ADL_NONE);
    for (uint32_t slot = 1; slot <= 3; slot++)
        desk_finish(&desk, slot);
    desk_decide(&desk);
    assert_runs_on(&desk, 0, FAST);
    desk_close(&desk);
}

/* Whoever joined a job that is being stopped would keep the gang from its GPU. */
static void nobody_is_put_beside_a_job_that_is_stopped_for_a_gang(void **state)
{
    (void)state;
    struct gogh_desk desk;
    open_scattered(&desk, ADL_JOB_PREEMPTIBLE | ADL_JOB_SHARE);
    desk.now_us += 10 * desk.config.preemption_us;
    const struct adl_job_spec single = desk_spec(2, 36000, ADL_JOB_PREEMPTIBLE | ADL_JOB_SHARE);
    for (uint32_t slot = 3; slot < 6; slot++)
        desk_submit(&desk, slot, &single);
    desk_decide(&desk);
    assert_int_equal(desk.stops, 1);
    const uint32_t victim = desk.stopped;
    assert_int_equal(desk.state->gpus[desk.state->jobs[victim].first_gpu].job[1], ADL_NONE);
    desk.now_us += 10 * S;
    desk_evict(&desk, victim, 0.9);
    desk_decide(&desk);
    assert_runs_on(&desk, 0, FAST);
    desk_close(&desk);
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
        cmocka_unit_test(a_claim_is_dropped_if_one_of_its_gpus_fails),
        cmocka_unit_test(nobody_is_put_beside_a_job_that_is_stopped_for_a_gang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
