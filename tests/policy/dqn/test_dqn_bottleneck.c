/* The bottleneck: the types that would be busy last, and what dqn does about it: the higher lambda is, the earlier does
 * the last job of a backlog end. */
#include "experiment/run.h"
#include "policy/dqn/bottleneck.h"
#include "policy/policy.h"
#include "scenario/scenario.h"
#include "tiny_scenario.h"

#define SEEDS 4

/* Types of 8, 4 and 4 GPUs. */
static struct adl_scenario three_types(void)
{
    static const uint32_t gpus[] = {8, 4, 4};
    struct adl_scenario s = tiny_start(1);
    for (int i = 0; i < 3; i++)
        tiny_node(&s, tiny_type(&s), gpus[i]);
    return s;
}

/* Ratios of lambda: with 0.1 the bottleneck has to be busy more than 2 times as long as the others, with 0.05 3 times.
 */
static void the_bottleneck_is_the_set_of_types_with_most_work_of_its_own_for_each_gpu(void **state)
{
    (void)state;
    struct adl_scenario s = three_types();
    struct adl_bottleneck it = {.count = 0};
    adl_bottleneck_add(&it, 1, 60, 1); /* 100 that only the first type can run: 12.5 for each GPU */
    adl_bottleneck_add(&it, 1, 40, 0);
    adl_bottleneck_add(&it, 7, 33, 0); /* 4.125 for each of the other GPUs */
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 0.025), 1);
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 0.024), 0);
    adl_bottleneck_add(&it, 3, 68, 1); /* the first two have 14 for each GPU, the third has 8.25 */
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 0.075), 3);
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 0.07), 0);
    adl_scenario_clear(&s);
}

static void there_is_none_if_many_more_jobs_wait_for_other_types(void **state)
{
    (void)state;
    struct adl_scenario s = three_types();
    struct adl_bottleneck it = {.count = 0};
    adl_bottleneck_add(&it, 1, 100, 2);
    adl_bottleneck_add(&it, 7, 5, 5);
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 0.1), 1);
    adl_bottleneck_add(&it, 2, 5, 1); /* more than 2.5 times as many */
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 0.1), 0);
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 0.2), 1);
    adl_scenario_clear(&s);
}

static void there_is_none_if_all_types_can_do_the_work_or_idle_gpus_cost_nothing(void **state)
{
    (void)state;
    struct adl_scenario s = three_types(), plain = tiny_plain(1, 4, 10, 0);
    struct adl_bottleneck it = {.count = 0};
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 1), 0);
    adl_bottleneck_add(&it, 7, 100, 1);
    adl_bottleneck_add(&it, 1, 40, 1); /* 5 for each GPU; with the rest 8.75 */
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 1), 0);
    it = (struct adl_bottleneck){.count = 0};
    adl_bottleneck_add(&it, 1, 100, 1);
    assert_int_equal(adl_bottleneck_types(&it, &plain.cluster, 1), 0);
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 1), 1);
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 0), 0);
    adl_scenario_clear(&s);
    adl_scenario_clear(&plain);
}

static void work_of_more_sets_than_it_holds_counts_as_work_of_all_types(void **state)
{
    (void)state;
    struct adl_scenario s = three_types();
    struct adl_bottleneck it = {.count = 0};
    adl_bottleneck_add(&it, 1, 100, 1);
    for (uint32_t i = 0; i < 2 * ADL_BOTTLENECK_SETS; i++)
        adl_bottleneck_add(&it, 6 | i << 3, 0, 0);
    assert_int_equal(it.count, ADL_BOTTLENECK_SETS);
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 0.1), 1);
    adl_bottleneck_add(&it, UINT32_MAX, 51, 1); /* 6.4 for each of the other GPUs, where the first type has 12.5 */
    assert_int_equal(it.count, ADL_BOTTLENECK_SETS);
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 0.06), 1);
    assert_int_equal(adl_bottleneck_types(&it, &s.cluster, 0.05), 0);
    adl_scenario_clear(&s);
}

/* Sums over the seeds, with this lambda. */
static struct adl_result sum_of(struct adl_scenario *s, double lambda)
{
    struct adl_result sum = {.jobs = 0}, one;
    struct adl_error err = {.text = ""};
    s->lambda = lambda;
    for (uint64_t i = 0; i < SEEDS; i++) {
        const struct adl_run run = {.scenario = s, .policy = &adl_policy_dqn, .seed = 500000 + i};
        if (adl_run(&run, &one, &err))
            fail_msg("%s", err.text);
        for (int m = 0; m < ADL_METRIC_COUNT; m++)
            sum.value[m] += one.value[m];
    }
    return sum;
}

static void with_a_higher_lambda_a_backlog_ends_earlier_and_jobs_wait_longer(void **state)
{
    (void)state;
    struct adl_scenario s;
    struct adl_error err = {.text = ""};
    if (adl_scenario_load(ADL_SOURCE_DIR "/scenarios/paper16.yaml", &s, NULL, &err))
        fail_msg("%s", err.text);
    const double own = s.lambda;
    adl_scenario_set_jobs(&s, 1024);
    const struct adl_result fast = sum_of(&s, 0), mixed = sum_of(&s, own), busy = sum_of(&s, 1);
    const double end = mixed.value[ADL_METRIC_MAKESPAN] / fast.value[ADL_METRIC_MAKESPAN];
    const double jct = mixed.value[ADL_METRIC_JCT_MEAN] / fast.value[ADL_METRIC_JCT_MEAN];
    if (end > 0.97 || jct < 1 || jct > 1.2)
        fail_msg("with lambda %g the last job ends at %.3f of the time, and the mean JCT is %.3f times", own, end, jct);
    assert_true(busy.value[ADL_METRIC_UTILIZATION] > fast.value[ADL_METRIC_UTILIZATION]);
    assert_true(busy.value[ADL_METRIC_MAKESPAN] < fast.value[ADL_METRIC_MAKESPAN]);
    assert_true(busy.value[ADL_METRIC_JCT_MEAN] > mixed.value[ADL_METRIC_JCT_MEAN]);
    adl_scenario_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bottleneck_is_the_set_of_types_with_most_work_of_its_own_for_each_gpu),
        cmocka_unit_test(there_is_none_if_many_more_jobs_wait_for_other_types),
        cmocka_unit_test(there_is_none_if_all_types_can_do_the_work_or_idle_gpus_cost_nothing),
        cmocka_unit_test(work_of_more_sets_than_it_holds_counts_as_work_of_all_types),
        cmocka_unit_test(with_a_higher_lambda_a_backlog_ends_earlier_and_jobs_wait_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
