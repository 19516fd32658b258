/* The trainer of policy market: it repeats, whatever the number of threads, also after a checkpoint; the network that
 * it keeps does better on the validation seeds than bids without learning; the trained network in the policy bids as in
 * the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "experiment/run.h"
#include "random_scenario.h"
#include "rl/market_trainer.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#define JOBS 40

static struct adl_market_training small_training(enum adl_market_method method, const struct adl_scenario *scenarios)
{
    struct adl_market_training config = adl_market_training_defaults(method);
    config.scenario = &scenarios[0];
    config.others = &scenarios[1];
    config.other_count = 2;
    config.groups = 3;
    config.trials = 4;
    config.episodes = 72;
    config.validate_rounds = 2;
    config.validation_episodes = 2;
    return config;
}

static void make_scenarios(struct adl_scenario ret[3])
{
    for (uint64_t i = 0; i < 3; i++)
        ret[i] = random_scenario(i + 1, JOBS);
}

static void clear_scenarios(struct adl_scenario scenarios[3])
{
    for (int i = 0; i < 3; i++)
        adl_scenario_clear(&scenarios[i]);
}

static struct adl_market_trainer *open_trainer(const struct adl_market_training *config)
{
    struct adl_market_trainer *trainer = NULL;
    struct adl_error err;
    struct adlro_result plain;
    if (adl_market_trainer_create(config, &trainer, &err) || adl_market_trainer_prepare(trainer, &plain, &err))
        fail_msg("%s", err.text);
    return trainer;
}

/* Plays that many rounds, or all; returns how many. */
static int play(struct adl_market_trainer *trainer, int rounds)
{
    struct adl_market_report report;
    struct adl_error err;
    int more = 1, done = 0;
    for (; done < rounds && more > 0; done += more > 0)
        more = adl_market_trainer_round(trainer, &report, &err);
    if (more < 0)
        fail_msg("%s", err.text);
    return done;
}

static struct adl_text checkpoint_of(const struct adl_market_trainer *trainer)
{
    struct adl_text bytes = {0};
    adl_market_trainer_checkpoint(trainer, &bytes);
    assert_int_equal(adl_text_status(&bytes), 0);
    return bytes;
}

static void assert_equal_texts(struct adl_text *a, struct adl_text *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

static void every_method_repeats_with_any_number_of_threads_and_after_a_checkpoint(void **state)
{
    (void)state;
    struct adl_scenario scenarios[3];
    make_scenarios(scenarios);
    for (int method = 0; method < ADL_MARKET_METHODS; method++) {
        struct adl_market_training config = small_training((enum adl_market_method)method, scenarios);
        struct adl_error err;
        struct adl_market_trainer *one = open_trainer(&config);
        assert_int_equal(play(one, 100), 6);
        struct adl_text first = checkpoint_of(one);
        config.threads = 3;
        struct adl_market_trainer *many = open_trainer(&config);
        play(many, 3);
        struct adl_text middle = checkpoint_of(many);
        struct adl_market_trainer *resumed = open_trainer(&config);
        assert_int_equal(adl_market_trainer_resume(resumed, middle.data, middle.size, &err), 0);
        assert_int_equal(play(resumed, 100), 3);
        play(many, 100);
        struct adl_text second = checkpoint_of(many), third = checkpoint_of(resumed);
        assert_equal_texts(&first, &second);
        assert_equal_texts(&first, &third);
        config.seed = 2;
        struct adl_market_trainer *other = open_trainer(&config);
        assert_true(adl_market_trainer_resume(other, middle.data, middle.size, &err) < 0);
        assert_non_null(strstr(err.text, "other options"));
        assert_true(adl_market_trainer_resume(other, middle.data, 10, &err) < 0);
        play(other, 100);
        struct adl_text fourth = checkpoint_of(other);
        assert_memory_not_equal(first.data, fourth.data, first.size);
        struct adl_market_trainer *const trainers[] = {one, many, resumed, other};
        struct adl_text *const texts[] = {&first, &middle, &second, &third, &fourth};
        for (size_t i = 0; i < sizeof trainers / sizeof *trainers; i++)
            adl_market_trainer_destroy(trainers[i]);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            adl_text_clear(texts[i]);
    }
    clear_scenarios(scenarios);
}

static void the_kept_network_is_the_best_on_the_validation_seeds_or_none(void **state)
{
    (void)state;
    struct adl_scenario scenarios[3];
    make_scenarios(scenarios);
    const struct adl_market_training config = small_training(ADL_MARKET_EVOLUTION, scenarios);
    struct adl_market_trainer *trainer = open_trainer(&config);
    struct adl_market_report report;
    struct adl_valuation kept;
    struct adl_error err;
    double best = 1;
    while (adl_market_trainer_round(trainer, &report, &err) > 0) {
        assert_true(!report.best || (report.validated && report.relative < best));
        best = report.best ? report.relative : best;
    }
    adl_market_trainer_model(trainer, &kept);
    double learned_s = 0, plain_s = 0, cost_s;
    static const float none[ADL_VALUATION_PARAMS];
    struct adlro_result result;
    for (uint64_t seed = 0; seed < config.validation_episodes; seed++) {
        assert_int_equal(
            adl_market_evaluate(&scenarios[0], (UINT64_C(1) << 61) + seed, kept.params, &cost_s, &result, &err), 0);
        learned_s += cost_s;
        assert_int_equal(adl_market_evaluate(&scenarios[0], (UINT64_C(1) << 61) + seed, none, &cost_s, &result, &err),
                         0);
        plain_s += cost_s;
    }
    assert_true((best < 1) == (kept.episodes > 0));
    assert_true(best < 1 || learned_s == plain_s);
    adl_market_trainer_destroy(trainer);
    clear_scenarios(scenarios);
}

/* What the trainer evaluates in the environment is what the policy does with the same network. */
static void a_trained_network_bids_in_the_policy_as_in_the_environment(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        struct adl_valuation network = {.seed = 1};
        struct adl_rng rng;
        struct adl_text bytes = {0};
        struct adl_error err = {.text = ""};
        struct adlro_result result;
        struct adl_result all;
        double cost_s;
        adl_rng_seed(&rng, seed, "network");
        for (int i = 0; i < ADL_VALUATION_PARAMS; i++)
            network.params[i] = (float)adl_rng_normal(&rng);
        assert_int_equal(adl_market_evaluate(&scenario, seed, network.params, &cost_s, &result, &err), 0);
        adl_valuation_encode(&network, &bytes);
        scenario.policy.settings = "learned=true";
        scenario.policy.model = bytes.data;
        scenario.policy.model_size = bytes.size;
        const struct adl_run run = {
            .scenario = &scenario, .policy = &adl_policy_market, .seed = seed, .regime = ADL_REGIME_DECLARED};
        if (adl_run(&run, &all, &err))
            fail_msg("%s", err.text);
        assert_true(result.jct_mean_s == all.value[ADL_METRIC_JCT_MEAN]);
        scenario.policy.settings = "learned=false";
        if (adl_run(&run, &all, &err))
            fail_msg("%s", err.text);
        bytes.data[20] ^= 1;
        scenario.policy.settings = "learned=true";
        assert_true(adl_run(&run, &all, &err) < 0);
        assert_non_null(strstr(err.text, "damaged"));
        adl_text_clear(&bytes);
        adl_scenario_clear(&scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_repeats_with_any_number_of_threads_and_after_a_checkpoint),
        cmocka_unit_test(the_kept_network_is_the_best_on_the_validation_seeds_or_none),
        cmocka_unit_test(a_trained_network_bids_in_the_policy_as_in_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
