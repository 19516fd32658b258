/* Tests of the policy gogh on states made by hand: while power is short, jobs with an SLA are served before others. */
#include "gogh_fixture.h"

#include "predict/power.h"

#define LOAD 0.5 /* of every job here, taught */

/* Of the fast type alone: what n GPUs at work add to the draw of all idle. */
static double limit_for(const struct gogh_fixture *fixture, double n)
{
    const struct adl_gpu_type *type = &fixture->cluster.types[FAST];
    return type->idle_w * fixture->cluster.gpu_count + n * (adl_power_draw_w(type, LOAD, 0) - type->idle_w);
}

/* A node of fast GPUs. Progress is worth so much that the price of a missed SLA alone would stop no job. */
static struct adl_job_spec open_node(struct gogh_fixture *fixture, uint32_t gpus, const char *power_caps)
{
    gogh_open_plain(fixture, gpus, 0);
    gogh_tell(fixture, "worth_w=4000");
    if (power_caps)
        gogh_tell(fixture, "power_caps=%s", power_caps);
    gogh_open(fixture);
    const struct adl_job_spec spec = gogh_spec(1, 600, ADL_JOB_PREEMPTIBLE);
    gogh_teach(fixture, &spec, FAST, 10, LOAD);
    return spec;
}

static struct adl_job_spec gang_with_deadline(struct adl_job_spec spec, uint16_t gpus, double deadline_s)
{
    spec.gpus = gpus;
    spec.deadline_us = (int64_t)(deadline_s * S);
    return spec;
}

/* Stopped jobs leave within a few decisions. */
static void let_them_leave(struct gogh_fixture *fixture, uint32_t slots)
{
    for (int round = 0; round < 4; round++) {
        gogh_decide(fixture);
        fixture->now_us += 10 * S;
        for (uint32_t slot = 0; slot < slots; slot++)
            if (fixture->state->jobs[slot].phase == ADL_PHASE_STOPPING)
                gogh_evict(fixture, slot, 0.9);
    }
    gogh_decide(fixture);
}

static void under_a_limit_a_gang_with_a_deadline_gets_the_power_of_jobs_without_one(void **state)
{
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        struct gogh_fixture fixture;
        const struct adl_job_spec spec = open_node(&fixture, 8, NULL);
        for (uint32_t slot = 0; slot < 4; slot++) {
            gogh_submit(&fixture, slot, &spec);
            gogh_force(&fixture, slot, slot);
        }
        if (limited)
            gogh_change_limit(&fixture, limit_for(&fixture, 4.8));
        else /* as scarce, but GPUs are */
            for (uint32_t gpu = 4; gpu < 8; gpu++)
                gogh_down(&fixture, gpu);
        const struct adl_job_spec gang = gang_with_deadline(spec, 4, 2400);
        gogh_submit(&fixture, 4, &gang);
        let_them_leave(&fixture, 5);
        assert_int_equal(gogh_runs(&fixture, 4), limited);
        gogh_close(&fixture);
    }
}

static void under_a_limit_a_deadline_that_has_passed_protects_no_job(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    const struct adl_job_spec spec = open_node(&fixture, 4, NULL);
    gogh_change_limit(&fixture, limit_for(&fixture, 2.6));
    const struct adl_job_spec late = gang_with_deadline(spec, 2, 100), open = gang_with_deadline(spec, 2, 2400);
    gogh_submit(&fixture, 0, &late);
    gogh_force(&fixture, 0, 0);
    fixture.now_us += 90 * S;
    gogh_submit(&fixture, 1, &open);
    gogh_decide(&fixture);
    assert_true(gogh_runs(&fixture, 0));
    fixture.now_us += 20 * S;
    gogh_wake(&fixture);
    let_them_leave(&fixture, 2);
    assert_true(gogh_runs(&fixture, 1) && !gogh_runs(&fixture, 0));
    gogh_close(&fixture);
}

static void a_gang_with_a_deadline_that_needs_more_than_the_limit_starts_with_a_cap(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    const struct adl_job_spec spec = open_node(&fixture, 4, "0.5");
    gogh_change_limit(&fixture, limit_for(&fixture, 3.5));
    const struct adl_job_spec gang = gang_with_deadline(spec, 4, 2400);
    gogh_submit(&fixture, 0, &gang);
    gogh_decide(&fixture);
    assert_true(gogh_runs(&fixture, 0));
    assert_true(fixture.state->gpus[0].cap_w == 0.5 * fixture.cluster.types[FAST].max_w);
    gogh_close(&fixture);
}

/* Jobs that the limit delayed fill the cluster; the last of them gone, the policy decides as it always does. */
static void after_a_limit_jobs_with_deadlines_go_first_until_the_delayed_ones_have_ended(void **state)
{
    (void)state;
    for (int delayed = 0; delayed < 2; delayed++) {
        struct gogh_fixture fixture;
        const struct adl_job_spec spec = open_node(&fixture, 2, NULL);
        gogh_change_limit(&fixture, limit_for(&fixture, 0.5));
        for (uint32_t slot = 0; slot < 2 && delayed; slot++)
            gogh_submit(&fixture, slot, &spec);
        gogh_decide(&fixture);
        assert_int_equal(fixture.starts, 0);
        fixture.now_us += 60 * S;
        gogh_change_limit(&fixture, 0);
        for (uint32_t slot = 0; slot < 2 && !delayed; slot++)
            gogh_submit(&fixture, slot, &spec);
        gogh_decide(&fixture);
        assert_int_equal(fixture.starts, 2);
        fixture.now_us += 120 * S;
        const struct adl_job_spec gang = gang_with_deadline(spec, 2, 2400);
        gogh_submit(&fixture, 2, &gang);
        let_them_leave(&fixture, 3);
        assert_int_equal(gogh_runs(&fixture, 2), delayed);
        gogh_close(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(under_a_limit_a_gang_with_a_deadline_gets_the_power_of_jobs_without_one),
        cmocka_unit_test(under_a_limit_a_deadline_that_has_passed_protects_no_job),
        cmocka_unit_test(a_gang_with_a_deadline_that_needs_more_than_the_limit_starts_with_a_cap),
        cmocka_unit_test(after_a_limit_jobs_with_deadlines_go_first_until_the_delayed_ones_have_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
