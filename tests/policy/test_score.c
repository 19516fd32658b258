/* Tests of wfp3, unicep and f1: orders computed by hand, and the choice against one that looks at every job. */
#include "policy/policy.h"
#include "state_fixture.h"

#include <math.h>

#define SECOND INT64_C(1000000)

static struct adl_cluster cluster;
static struct adl_state *now;
static struct adl_plan plan;
static const struct adl_policy_ops *ops;
static void *policy;

static void open_policy(const struct adl_policy_ops *of, uint32_t gpus)
{
    struct adl_policy_config config = {0};
    cluster = fixture_plain(gpus);
    now = fixture_state(&cluster);
    ops = of;
    assert_int_equal(adl_plan_create(&plan, gpus), 0);
    assert_int_equal(adl_policy_create(ops, &config, &cluster, 1, &policy, NULL), 0);
}

static void close_policy(void)
{
    ops->destroy(policy);
    adl_plan_clear(&plan);
    adl_state_destroy(now);
    adl_cluster_clear(&cluster);
}

static void submit(uint32_t slot, double submit_s, uint16_t gpus, double run_s)
{
    const struct adl_job_spec spec = fixture_spec(slot + 1, gpus);
    const int64_t run_us = (int64_t)(run_s * SECOND);
    now->now_us = (int64_t)(submit_s * SECOND);
    assert_int_equal(adl_state_admit(now, slot, &spec, &run_us), 0);
    assert_int_equal(adl_state_enqueue(now, slot, ops->rank(policy, now, slot)), 0);
}

/* The slot that starts next at a time, or ADL_NONE. */
static uint32_t start_at(double time_s)
{
    now->now_us = (int64_t)(time_s * SECOND);
    adl_plan_reset(&plan);
    assert_int_equal(ops->decide(policy, now, &plan), 0);
    if (plan.command_count == 0)
        return ADL_NONE;
    assert_int_equal(plan.command_count, 1);
    adl_state_start(now, plan.commands[0].job, &plan.gpus[plan.commands[0].gpu_offset]);
    return plan.commands[0].job;
}

/* After 51 s 0.51^3 against 0.1^3; after 60 s 0.6^3 against 1^3. */
static void wfp3_changes_the_order_of_two_jobs_as_they_wait(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        open_policy(&adl_policy_wfp3, 1);
        submit(0, 0, 1, 100);
        submit(1, 50, 1, 10);
        assert_int_equal(start_at(i ? 60 : 51), i ? 1 : 0);
        close_policy();
    }
}

/* After 60 s: 0.216, 1, 2 and 8 * 0.1^3 = 0.008. */
static void wfp3_weighs_gpus_and_passes_over_what_does_not_fit(void **unused)
{
    (void)unused;
    open_policy(&adl_policy_wfp3, 3);
    submit(0, 0, 1, 100);
    submit(2, 40, 2, 20);
    submit(1, 50, 1, 10);
    submit(3, 50, 3, 100);
    assert_int_equal(start_at(60), 2);
    assert_int_equal(start_at(60), 1);
    assert_int_equal(start_at(60), ADL_NONE);
    adl_state_finish(now, 1);
    submit(4, 60, 2, 1); /* after 61 s 2 * 1, but one GPU is free */
    assert_int_equal(start_at(61), 0);
    close_policy();
}

/* After 60 s: 60 / (2 * 20) = 1.5, 20 / (1 * 20) = 1, and one GPU as two, 40 / (1 * 32) = 1.25. */
static void unicep_counts_one_gpu_as_two(void **unused)
{
    (void)unused;
    open_policy(&adl_policy_unicep, 5);
    submit(0, 0, 4, 20);
    submit(2, 20, 1, 32);
    submit(1, 40, 2, 20);
    assert_int_equal(start_at(60), 0);
    assert_int_equal(start_at(60), 2);
    assert_int_equal(start_at(60), ADL_NONE);
    adl_state_finish(now, 0);
    assert_int_equal(start_at(60), 1);
    close_policy();
}

/* 6 + 0, 3 * 1 + 870, 1 * 4 + 870, 0 + 1740; times count from the first submission. */
static void f1_goes_by_submission_before_length(void **unused)
{
    (void)unused;
    open_policy(&adl_policy_f1, 8);
    submit(3, 1000, 1, 1e6);
    submit(1, 1010, 4, 10);
    submit(2, 1010, 1, 1000);
    submit(0, 1100, 1, 1);
    for (uint32_t i = 0, expected[] = {3, 2, 1, 0}; i < 4; i++)
        assert_int_equal(start_at(1200), expected[i]);
    close_policy();
}

static double naive_score(const struct adl_state *state, uint32_t slot, int64_t origin_us)
{
    const struct adl_job *job = &state->jobs[slot];
    const double wait = (double)(state->now_us - job->submit_us) * 1e-6, n = job->spec.gpus,
                 t = (double)adl_state_runtime(state, slot, 0) * 1e-6, s = (double)(job->submit_us - origin_us) * 1e-6;
    if (ops == &adl_policy_wfp3)
        return pow(wait / t, 3) * n;
    if (ops == &adl_policy_unicep)
        return wait / (fmax(log2(n), 1) * t);
    return -log10(t) * n - 870 * log10(s > 1 ? s : 1);
}

static double naive_best(int64_t origin_us, uint32_t slots)
{
    double best = -HUGE_VAL;
    for (uint32_t slot = 0; slot < slots; slot++)
        if (now->jobs[slot].phase == ADL_PHASE_PENDING && now->jobs[slot].spec.gpus <= now->pool.free_gpus[0])
            best = fmax(best, naive_score(now, slot, origin_us));
    return best;
}

static void the_choice_is_that_of_one_who_scores_every_job(void **unused)
{
    (void)unused;
    const struct adl_policy_ops *const all[] = {&adl_policy_wfp3, &adl_policy_unicep, &adl_policy_f1};
    for (uint32_t round = 0; round < 60; round++) {
        struct adl_rng rng;
        double time_s = 0;
        uint32_t starts = 0;
        adl_rng_seed(&rng, round, "score");
        open_policy(all[round % 3], 6);
        for (uint32_t slot = 0; slot < 80; slot++)
            submit(slot, slot == 0 ? 0 : (time_s += fixture_between(&rng, 0, 9)), (uint16_t)fixture_between(&rng, 1, 6),
                   fixture_between(&rng, 1, 60));
        for (uint32_t slot = 0; slot < 80; slot++) {
            now->now_us = (int64_t)((time_s += fixture_between(&rng, 0, 30)) * SECOND);
            for (;;) {
                const double best = naive_best(0, 80);
                const uint32_t started = start_at(time_s);
                if (started == ADL_NONE)
                    break;
                const double own = naive_score(now, started, 0);
                assert_true(own >= best - 1e-9 * fabs(best));
                starts++;
            }
            assert_true(naive_best(0, 80) == -HUGE_VAL);
            for (uint32_t other = 0; other < 80; other++)
                if (now->jobs[other].phase == ADL_PHASE_RUNNING && adl_rng_below(&rng, 2))
                    adl_state_finish(now, other);
        }
        assert_true(starts > 40);
        close_policy();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wfp3_changes_the_order_of_two_jobs_as_they_wait),
        cmocka_unit_test(wfp3_weighs_gpus_and_passes_over_what_does_not_fit),
        cmocka_unit_test(unicep_counts_one_gpu_as_two),
        cmocka_unit_test(f1_goes_by_submission_before_length),
        cmocka_unit_test(the_choice_is_that_of_one_who_scores_every_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
