/* Drift found in simulated runs, compared with the truth: the short form of bench/run drift. */
#include "state_fixture.h"

#include "drift_trial.h"
#include "predict/drift/drift.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

static struct drift_figures trial(const struct adl_scenario *scenario, uint64_t seed)
{
    struct drift_figures figures;
    drift_trial_run(&(struct drift_trial){.scenario = scenario,
                                          .policy = adl_policy_find("easy"),
                                          .seed = seed,
                                          .regime = ADL_REGIME_DECLARED,
                                          .sources = ADL_DRIFT_ALL},
                    &figures);
    return figures;
}

static void test_on_wear64_most_slow_gpus_are_flagged_in_time_and_localized(void **unused)
{
    (void)unused;
    struct adl_scenario wear;
    struct adl_error err = {{0}};
    assert_int_equal(adl_scenario_load(ADL_SOURCE_DIR "/scenarios/wear64.yaml", &wear, NULL, &err), 0);
    wear.telemetry.progress = true;
    const struct drift_figures figures = trial(&wear, 1);
    assert_true(figures.lost >= 20);
    assert_true(figures.in_time * 100 >= figures.lost * 90);
    assert_true(figures.right * 100 >= figures.verdicts * 90);
    assert_int_equal(figures.found, figures.updates);
    adl_scenario_clear(&wear);
}

static void test_short_runs_tell_throttling_from_wear(void **unused)
{
    (void)unused;
    struct drift_figures sum = {0};
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct adl_scenario scenario = drift_trial_generated(seed);
        const struct drift_figures one = trial(&scenario, seed);
        drift_figures_add(&sum, &one);
        adl_scenario_clear(&scenario);
    }
    assert_true(sum.lost >= 12 && sum.verdicts >= 20);
    assert_true(sum.in_time * 100 >= sum.lost * 90);
    assert_true(sum.right * 100 >= sum.verdicts * 90);
}

static void test_gangs_across_nodes_with_slow_links_are_not_taken_for_slow_gpus(void **unused)
{
    (void)unused;
    static const uint64_t seeds[] = {2037, 2224}; /* GPUs of one type in nodes of two kinds */
    for (int i = 0; i < 2; i++) {
        struct adl_scenario scenario = drift_trial_generated(seeds[i]);
        scenario.telemetry.progress = true;
        scenario.drift = (struct adl_drift_model){.wear_floor = 1, .throttle_factor = 1, .throttle_period_s = 3600};
        assert_int_equal(trial(&scenario, seeds[i]).alarms, 0);
        adl_scenario_clear(&scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_wear64_most_slow_gpus_are_flagged_in_time_and_localized),
        cmocka_unit_test(test_short_runs_tell_throttling_from_wear),
        cmocka_unit_test(test_gangs_across_nodes_with_slow_links_are_not_taken_for_slow_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
