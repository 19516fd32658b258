/* A shadow: pairs are equal for equal policies, the world under the policy in force is near what really happened, every
 * policy can take over in the middle; and short forms of what bench/run shadow measures. */
#include "random_scenario.h"
#include "year.h"

#include "experiment/run.h"
#include "sim/world_sim.h"

#include <math.h>

#include <cmocka.h>

#define JOBS 60

struct live {
    struct adl_scenario scenario;
    struct adl_world_sim *world;
    struct adl_engine *engine;
};

static void open_live(struct live *live, uint64_t seed)
{
    struct adl_error err = {.text = ""};
    *live = (struct live){.scenario = random_scenario(seed, JOBS)};
    live->scenario.workload.arrivals.rate_per_h *= 4;
    if (adl_world_sim_create(&live->scenario, seed, ADL_REGIME_LEARNED, &live->world, &err))
        fail_msg("%s", err.text);
    const struct adl_engine_config config = {.cluster = &live->scenario.cluster,
                                             .policy = &adl_policy_easy,
                                             .policy_config = adl_run_policy_config(&live->scenario),
                                             .seed = seed,
                                             .learned = true,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = live->world};
    if (adl_engine_create(&config, &live->engine, &err))
        fail_msg("%s", err.text);
}

static void close_live(struct live *live)
{
    adl_engine_destroy(live->engine);
    adl_world_sim_destroy(live->world);
    adl_scenario_clear(&live->scenario);
}

/* Plays on under a policy until all jobs have ended. */
static void play_under(const struct live *live, const struct adl_policy_ops *policy)
{
    struct adl_error err = {.text = ""};
    const struct adl_policy_config policy_config = adl_run_policy_config(&live->scenario);
    const struct adl_fork_config config = {.engine = live->engine,
                                           .preemption = live->scenario.preemption,
                                           .policy = policy,
                                           .policy_config = &policy_config};
    const struct adl_future future = {.base = live->engine, .count = 1, .until_us = INT64_MAX};
    struct adl_fork *fork = NULL;
    int status = adl_fork_create(&config, &fork, &err);
    if (status == 0)
        status = adl_fork_begin(fork, &future, &err);
    if (status)
        fail_msg("%s: %s", policy->name, err.text);
    struct adl_engine *engine = adl_fork_engine(fork);
    const struct adl_state *state = adl_engine_state(engine);
    assert_int_equal(state->queue.count, adl_engine_state(live->engine)->queue.count);
    assert_int_equal(state->running_jobs, adl_engine_state(live->engine)->running_jobs);
    for (int i = 0; i < 100000 && (status = adl_engine_step(engine, &err)) > 0; i++)
        ;
    if (status != 0 || state->queue.count + state->running_jobs > 0)
        fail_msg("%s: %u jobs are left: %s", policy->name, state->queue.count + state->running_jobs, err.text);
    assert_int_equal(adl_engine_counts(engine)->refused, adl_engine_counts(live->engine)->refused);
    adl_fork_destroy(fork);
}

static void test_every_policy_takes_over_in_the_middle(void **unused)
{
    (void)unused;
    for (uint64_t seed = 700000; seed < 700004; seed++) {
        struct live live;
        struct adl_error err;
        open_live(&live, seed);
        const struct adl_state *state = adl_engine_state(live.engine);
        while (state->queue.count < 5 && adl_engine_step(live.engine, &err) > 0)
            ;
        for (uint32_t i = 0; i < adl_policy_count(); i++)
            if (adl_policy_at(i)->copy)
                play_under(&live, adl_policy_at(i));
        close_live(&live);
    }
}

static struct year_result year_of(const char *in_force, const struct adl_policy_ops *candidate, double days,
                                  bool automatic, double force_day)
{
    struct adl_error err = {.text = ""};
    struct year_result result;
    const struct year_plan plan = {.in_force = adl_policy_find(in_force),
                                   .candidate = candidate,
                                   .seed = 700400,
                                   .days = days,
                                   .automatic = automatic,
                                   .until_promoted = automatic,
                                   .force_day = force_day};
    if (year_run(&plan, &result, &err))
        fail_msg("%s", err.text);
    return result;
}

static void test_equal_policies_make_equal_windows(void **unused)
{
    (void)unused;
    const struct year_result result = year_of("sjf", &adl_policy_sjf, 20, false, 0);
    assert_true(result.evidence.windows >= 5);
    for (int f = 0; f < ADL_SHADOW_FIGURES; f++) {
        assert_true(result.evidence.change[f].mean == 0);
        assert_true(result.evidence.change[f].squares == 0);
    }
}

static void test_model_is_near_what_really_happened(void **unused)
{
    (void)unused;
    const struct year_result result = year_of("adlro", &adl_policy_easy, 20, false, 0);
    assert_true(result.evidence.windows >= 5);
    assert_true(fabs(result.evidence.bias.mean) < 0.05 * result.evidence.real[ADL_SHADOW_JCT]);
    assert_true(result.evidence.real[ADL_SHADOW_JCT] > 0);
}

static void test_better_policy_is_promoted(void **unused)
{
    (void)unused;
    const struct year_result result = year_of("fcfs", &adl_policy_sjf, 90, true, 0);
    assert_true(result.promoted_day > 7);
    assert_true(result.evidence.candidate[ADL_SHADOW_JCT] < result.evidence.in_force[ADL_SHADOW_JCT]);
}

static void test_worse_policy_is_not_promoted(void **unused)
{
    (void)unused;
    const struct year_result result = year_of("sjf", &adl_policy_fcfs, 60, true, 0);
    assert_true(result.promoted_day == 0);
    assert_true(result.evidence.change[ADL_SHADOW_JCT].mean > 0);
}

static void test_bad_model_is_rolled_back(void **unused)
{
    (void)unused;
    const struct adl_policy_ops bad = year_bad_policy();
    const struct year_result result = year_of("easy", &bad, 24, false, 20.4);
    assert_true(result.promoted_day > 20);
    assert_true(result.rolled_back_day >= result.promoted_day);
    assert_int_equal(result.gate.stage, ADL_GATE_ROLLED_BACK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_policy_takes_over_in_the_middle),
        cmocka_unit_test(test_equal_policies_make_equal_windows),
        cmocka_unit_test(test_model_is_near_what_really_happened),
        cmocka_unit_test(test_better_policy_is_promoted),
        cmocka_unit_test(test_worse_policy_is_not_promoted),
        cmocka_unit_test(test_bad_model_is_rolled_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
