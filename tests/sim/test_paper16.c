/* paper16 and paper16p are frozen: their jobs may not change, and they must still show what they were calibrated to
 * show. */
#include "experiment/comparison.h"
#include "scenario/scenario.h"
#include "sim/workload.h"
#include "sim/world_sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void load(const char *name, struct adl_scenario *ret)
{
    struct adl_error err;
    if (adl_scenario_load(name, ret, NULL, &err))
        fail_msg("%s", err.text);
}

static void assert_jobs(const char *name, const uint64_t frozen[3])
{
    struct adl_scenario scenario;
    load(name, &scenario);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        uint64_t hash = 0;
        assert_int_equal(adl_workload_hash(&scenario, seed, 0, &hash), 0);
        if (hash != frozen[seed - 1])
            fail_msg("seed %llu: the jobs hash to 0x%016llx, frozen is 0x%016llx", (unsigned long long)seed,
                     (unsigned long long)hash, (unsigned long long)frozen[seed - 1]);
    }
    adl_scenario_clear(&scenario);
}

/* Of both the jobs are the same but for whether they can be preempted. */
static void the_jobs_of_paper16_and_paper16p_are_those_they_were_frozen_with(void **context)
{
    (void)context;
    assert_jobs("paper16", (const uint64_t[]){0x0580c49d1246ec71, 0xe1b98dd5fd4a4d93, 0x06631c239235271d});
    assert_jobs("paper16p", (const uint64_t[]){0x76978b1b3bed856e, 0x2e36b198862e5abe, 0xccb1df915d4bf07d});
}

static void assert_preemption(const char *name, bool possible, double cost_s)
{
    struct adl_scenario scenario;
    load(name, &scenario);
    for (uint32_t i = 0; i < scenario.workload.mix_count; i++)
        assert_int_equal((scenario.workload.mix[i].flags & ADL_JOB_PREEMPTIBLE) != 0, possible);
    assert_true(scenario.preemption.checkpoint_s == cost_s && scenario.preemption.restart_s == cost_s);
    adl_scenario_clear(&scenario);
}

static void only_paper16p_can_preempt_and_a_stop_costs_one_and_one_second(void **context)
{
    (void)context;
    assert_preemption("paper16", false, 0);
    assert_preemption("paper16p", true, 1);
}

static void fcfs_and_static_are_as_busy_as_in_the_source_and_fcfs_is_slower(void **context)
{
    (void)context;
    const struct adl_policy_ops *const policies[] = {&adl_policy_fcfs, &adl_policy_static};
    struct adl_scenario scenario;
    struct adl_comparison comparison;
    struct adl_error err;
    load("paper16", &scenario);
    const struct adl_comparison_request request = {.scenario = &scenario,
                                                   .policies = policies,
                                                   .policy_count = 2,
                                                   .first_seed = 1,
                                                   .seed_count = 60,
                                                   .regime = ADL_REGIME_DECLARED,
                                                   .threads = 2};
    if (adl_comparison_run(&request, &comparison, &err))
        fail_msg("%s", err.text);
    const double fcfs = comparison.policies[0].metrics[ADL_METRIC_UTILIZATION].mean;
    const double affinity = comparison.policies[1].metrics[ADL_METRIC_UTILIZATION].mean;
    if (fabs(fcfs - 0.581) > 0.04 || fabs(affinity - 0.654) > 0.04)
        fail_msg("utilization is %.1f %% and %.1f %%, the ADLRO paper's is 58.1 %% and 65.4 %%", 100 * fcfs,
                 100 * affinity);
    assert_true(comparison.policies[0].metrics[ADL_METRIC_JCT_MEAN].lo >
                comparison.policies[1].metrics[ADL_METRIC_JCT_MEAN].hi);
    adl_comparison_clear(&comparison);
    adl_scenario_clear(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jobs_of_paper16_and_paper16p_are_those_they_were_frozen_with),
        cmocka_unit_test(only_paper16p_can_preempt_and_a_stop_costs_one_and_one_second),
        cmocka_unit_test(fcfs_and_static_are_as_busy_as_in_the_source_and_fcfs_is_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
