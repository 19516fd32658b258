/* Tests of first fit, of its strict variants, of EASY with the shortest first, and of srtf's power of GPUs: sums of
 * completion times worked out by hand. */
#include "peer_check.h"

#include "policy/policy.h"

#define SECOND INT64_C(1000000)

static int64_t sum_s(const struct adl_policy_ops *policy, const char *settings, uint32_t gpus, struct peer_job *jobs,
                     uint32_t count)
{
    struct peer_trace trace = {.jobs = jobs, .count = count};
    struct adl_scenario scenario = peer_check_scenario(1, gpus);
    scenario.policy.settings = settings;
    const struct peer_answer answer = peer_check_run(&scenario, &trace, policy);
    adl_scenario_clear(&scenario);
    assert_int_equal(answer.jct_us % SECOND, 0);
    return answer.jct_us / SECOND;
}

/* One GPU is free when the job of two comes: it waits for 99 s. The last runs at once or behind it. */
static void a_job_that_does_not_fit_blocks_in_strict_variants_alone(void **unused)
{
    (void)unused;
    struct peer_job jobs[] = {{0, 0, 1, 100}, {1, 1, 2, 2}, {2, 2, 1, 40}};
    const struct adl_policy_ops *const open[] = {&adl_policy_fcfs_ff, &adl_policy_sjf, &adl_policy_qssf},
                                       *const strict[] = {&adl_policy_fcfs, &adl_policy_sjf_strict,
                                                          &adl_policy_qssf_strict};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sum_s(open[i], NULL, 2, jobs, 3), 100 + 101 + 40);
        assert_int_equal(sum_s(strict[i], NULL, 2, jobs, 3), 100 + 101 + 140);
    }
    assert_int_equal(sum_s(&adl_policy_sjf, "first_fit=false", 2, jobs, 3), 100 + 101 + 140);
    assert_int_equal(sum_s(&adl_policy_sjf_strict, "first_fit=true", 2, jobs, 3), 100 + 101 + 140);
}

/* A GPU is free from 10 s on, and the job of two GPUs has both reserved at 100 s. */
static void easy_sjf_lets_the_shortest_overtake_first(void **unused)
{
    (void)unused;
    struct peer_job jobs[] = {{0, 0, 1, 100}, {1, 0, 1, 10}, {2, 1, 2, 10}, {3, 2, 1, 80}, {4, 3, 1, 5}};
    assert_int_equal(sum_s(&adl_policy_easy, NULL, 2, jobs, 5), 100 + 10 + 109 + 88 + 92);
    assert_int_equal(sum_s(&adl_policy_easy_sjf, NULL, 2, jobs, 5), 100 + 10 + 109 + 93 + 12);
    jobs[4].run_s = 86; /* 80 s end at 90 s, and then 86 s would delay the job of two */
    assert_int_equal(sum_s(&adl_policy_easy_sjf, NULL, 2, jobs, 5), 100 + 10 + 109 + 88 + 193);
}

/* Four GPUs for 10 s count 10, 20 or 40. */
static void srtf_weighs_gpus_by_the_power_it_is_told(void **unused)
{
    (void)unused;
    struct peer_job fifteen[] = {{0, 0, 4, 10}, {1, 0, 1, 15}}, twenty_five[] = {{0, 0, 4, 10}, {1, 0, 1, 25}};
    assert_int_equal(sum_s(&adl_policy_srtf, "gpus_exponent=0", 4, fifteen, 2), 10 + 25);
    assert_int_equal(sum_s(&adl_policy_srtf, "gpus_exponent=0.5", 4, fifteen, 2), 15 + 25);
    assert_int_equal(sum_s(&adl_policy_srtf, "gpus_exponent=0.5", 4, twenty_five, 2), 10 + 35);
    assert_int_equal(sum_s(&adl_policy_srtf, "gpus_exponent=1", 4, twenty_five, 2), 25 + 35);
    assert_int_equal(sum_s(&adl_policy_srtf, "by_gpu_time=true", 4, twenty_five, 2), 25 + 35);
}

/* Exact predictions: by remaining time * GPUs, 40 against 15 or 25. */
static void gittins_with_exact_predictions_goes_by_gpu_time(void **unused)
{
    (void)unused;
    struct peer_job four[] = {{0, 0, 4, 10}, {1, 0, 1, 25}}, one[] = {{0, 0, 4, 10}, {1, 0, 1, 45}};
    assert_int_equal(sum_s(&adl_policy_gittins, NULL, 4, four, 2), 25 + 35);
    assert_int_equal(sum_s(&adl_policy_gittins, NULL, 4, one, 2), 10 + 55);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_does_not_fit_blocks_in_strict_variants_alone),
        cmocka_unit_test(easy_sjf_lets_the_shortest_overtake_first),
        cmocka_unit_test(srtf_weighs_gpus_by_the_power_it_is_told),
        cmocka_unit_test(gittins_with_exact_predictions_goes_by_gpu_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
