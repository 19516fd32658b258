/* The bound lp on runs of the simulator: no policy beats it, and it is as high as the docs say. */
#include "random_scenario.h"

#include "experiment/comparison.h"
#include "metrics/lp_bound.h"
#include "scenario/scenario.h"
#include "sim/workload.h"
#include "sim/world_sim.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {"srtf", "sjf", "allox", "gogh", "easy"};

enum { POLICIES = sizeof names / sizeof *names };

static struct adl_scenario load(const char *name, uint64_t jobs)
{
    struct adl_scenario scenario = {0};
    struct adl_error err;
    if (adl_scenario_load(name, &scenario, NULL, &err))
        fail_msg("%s", err.text);
    if (jobs > 0)
        adl_scenario_set_jobs(&scenario, jobs);
    return scenario;
}

static struct adl_comparison compare(const struct adl_scenario *scenario, uint64_t first_seed, uint32_t seeds,
                                     int bound)
{
    const struct adl_policy_ops *policies[POLICIES];
    struct adl_comparison comparison = {0};
    struct adl_error err;
    for (int p = 0; p < POLICIES; p++)
        policies[p] = adl_policy_find(names[p]);
    const struct adl_comparison_request request = {.scenario = scenario,
                                                   .policies = policies,
                                                   .policy_count = POLICIES,
                                                   .first_seed = first_seed,
                                                   .seed_count = seeds,
                                                   .regime = ADL_REGIME_ORACLE,
                                                   .bound = bound,
                                                   .threads = 1};
    if (adl_comparison_run(&request, &comparison, &err))
        fail_msg("%s", err.text);
    return comparison;
}

/* Compares all policies with the bound, and returns how much of the relaxed bound it is. */
static double check_scenario(const struct adl_scenario *scenario, uint64_t first_seed, uint32_t seeds)
{
    struct adl_comparison lp = compare(scenario, first_seed, seeds, ADL_BOUND_LP);
    const struct adl_job_supply supply = adl_workload_supply(scenario);
    double sum = 0, relaxed_sum = 0;
    for (uint32_t i = 0; i < seeds; i++) {
        const double bound = lp.policies[0].runs[i].bound_jct_s;
        struct adl_lower_bound relaxed;
        assert_int_equal(adl_lower_bound_compute(scenario, &supply, first_seed + i, &relaxed, NULL), 0);
        assert_true(bound >= relaxed.jct_mean_s);
        sum += bound;
        relaxed_sum += relaxed.jct_mean_s;
        for (uint32_t p = 0; p < POLICIES; p++) {
            const double jct = lp.policies[p].runs[i].value[ADL_METRIC_JCT_MEAN];
            if (jct * (1 + 1e-9) + 2e-6 < bound)
                fail_msg("%s, seed %llu: %s has a mean JCT of %.9g s, below the bound %.9g", scenario->name,
                         (unsigned long long)(first_seed + i), names[p], jct, bound);
        }
    }
    adl_comparison_clear(&lp);
    return sum / relaxed_sum;
}

static void no_policy_beats_the_bound_on_paper16_and_it_is_at_least_40_percent_above_the_relaxed_one(void **state)
{
    (void)state;
    struct adl_scenario s = load(ADL_SOURCE_DIR "/scenarios/paper16.yaml", 0);
    const double ratio = check_scenario(&s, 1, 3);
    adl_scenario_clear(&s);
    assert_true(ratio > 1.4);
}

static void no_policy_beats_the_bound_on_paper16p_where_jobs_are_preempted(void **state)
{
    (void)state;
    struct adl_scenario s = load(ADL_SOURCE_DIR "/scenarios/paper16p.yaml", 40);
    const double ratio = check_scenario(&s, 1, 2);
    adl_scenario_clear(&s);
    assert_true(ratio > 1);
}

static void no_policy_beats_the_bound_on_mixed64_where_jobs_share_gpus(void **state)
{
    (void)state;
    struct adl_scenario s = load(ADL_SOURCE_DIR "/scenarios/mixed64.yaml", 80);
    check_scenario(&s, 1, 2);
    adl_scenario_clear(&s);
}

static void no_policy_beats_the_bound_in_random_worlds_with_faults_drift_and_limits(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 6; i++) {
        struct adl_scenario s = random_scenario(i, 20 + i);
        check_scenario(&s, i, 1);
        adl_scenario_clear(&s);
    }
}

static void equal_calls_give_equal_bounds(void **state)
{
    (void)state;
    struct adl_scenario s = load(ADL_SOURCE_DIR "/scenarios/paper16p.yaml", 16);
    const struct adl_job_supply supply = adl_workload_supply(&s);
    struct adl_lower_bound bounds[2] = {{.makespan_s = 60}, {.makespan_s = 60}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(adl_lp_bound_raise(&s, &supply, 5, &bounds[i], NULL), 0);
    assert_true(bounds[0].jct_mean_s == bounds[1].jct_mean_s && bounds[0].jct_mean_s > 0);
    adl_scenario_clear(&s);
}

static void too_many_jobs_are_refused_with_what_to_give_instead(void **state)
{
    (void)state;
    struct adl_scenario s = load(ADL_SOURCE_DIR "/scenarios/paper16.yaml", ADL_LP_BOUND_JOBS_MAX + 1);
    const struct adl_job_supply supply = adl_workload_supply(&s);
    struct adl_lower_bound bound = {.jct_mean_s = 7, .makespan_s = 60};
    struct adl_error err;
    assert_int_equal(adl_lp_bound_raise(&s, &supply, 1, &bound, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "--jobs 2048"));
    assert_non_null(strstr(err.text, "--bound relaxed"));
    assert_true(bound.jct_mean_s == 7);
    adl_scenario_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_policy_beats_the_bound_on_paper16_and_it_is_at_least_40_percent_above_the_relaxed_one),
        cmocka_unit_test(no_policy_beats_the_bound_on_paper16p_where_jobs_are_preempted),
        cmocka_unit_test(no_policy_beats_the_bound_on_mixed64_where_jobs_share_gpus),
        cmocka_unit_test(no_policy_beats_the_bound_in_random_worlds_with_faults_drift_and_limits),
        cmocka_unit_test(equal_calls_give_equal_bounds),
        cmocka_unit_test(too_many_jobs_are_refused_with_what_to_give_instead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
