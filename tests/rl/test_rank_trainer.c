/* Tests of the trainer of policy adlro's network: it learns, and equal requests give equal networks. */
#include "rl/rank_trainer.h"
#include "scenario/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct adl_scenario scenario;

static int load(void **state)
{
    struct adl_error err;
    (void)state;
    const int status = adl_scenario_load("paper16", &scenario, NULL, &err);
    scenario.workload.jobs = 60;
    scenario.workload.arrivals.rate_per_h *= 4; /* all wait, and their order decides */
    return status;
}

static int unload(void **state)
{
    (void)state;
    adl_scenario_clear(&scenario);
    return 0;
}

static struct adl_rank_config small(const struct adl_rank_workload *workload)
{
    struct adl_rank_config config = adl_rank_defaults();
    config.workloads = workload;
    config.workload_count = 1;
    config.rounds = 10;
    config.directions = 8;
    config.runs = 6;
    config.check_runs = 16;
    config.distance = 0.3;
    config.step = 0.3;
    return config;
}

static struct adl_rank_network train(const struct adl_rank_config *config, double *ret_before, double *ret_after)
{
    struct adl_rank_trainer *trainer = NULL;
    struct adl_error err;
    bool best;
    assert_int_equal(adl_rank_trainer_create(config, &trainer, &err), 0);
    assert_int_equal(adl_rank_trainer_check(trainer, ret_before, &best, &err), 0);
    while (adl_rank_trainer_rounds(trainer) < config->rounds)
        assert_int_equal(adl_rank_trainer_round(trainer, &err), 0);
    assert_int_equal(adl_rank_trainer_check(trainer, ret_after, &best, &err), 0);
    const struct adl_rank_network network = *adl_rank_trainer_best(trainer);
    adl_rank_trainer_destroy(trainer);
    return network;
}

/* It begins with a network that lets long jobs go first, and all jobs wait for a type that few want. */
static void training_mends_a_network_that_ranks_badly(void **state)
{
    (void)state;
    const struct adl_rank_workload workload = {&scenario, 1};
    struct adl_rank_config config = small(&workload);
    struct adl_rank_network bad;
    double before, after;
    adl_rank_network_init(&bad, 1);
    for (int f = 0; f <= ADL_RANK_FEATURES; f++)
        bad.params[f] = f == ADL_RANK_REST ? 1 : 0;
    bad.params[ADL_RANK_HIDDEN * (ADL_RANK_FEATURES + 1)] = 4; /* the first hidden unit's, for the rank */
    bad.params[ADL_RANK_PARAMS - 1] = -2;                      /* of how much waiting counts: an eighth */
    bad.params[ADL_RANK_PARAMS - 2] = 2;                       /* of prices: eight times */
    config.begin = &bad;
    config.rounds = 20;
    train(&config, &before, &after);
    print_message("held-out cost relative to the rule's: %+.1f %%, then %+.1f %%\n", 100 * before, 100 * after);
    assert_true(before > 0.02);
    assert_true(after < before - 0.02);
}

static void the_network_does_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    const struct adl_rank_workload workload = {&scenario, 1};
    struct adl_rank_config config = small(&workload);
    double before, one, two;
    config.rounds = 2;
    config.check_runs = 16;
    const struct adl_rank_network first = train(&config, &before, &one);
    config.threads = 3;
    const struct adl_rank_network second = train(&config, &before, &two);
    assert_true(one == two);
    assert_memory_equal(&first, &second, sizeof first);
}

static void a_network_that_corrects_nothing_costs_what_the_rule_costs(void **state)
{
    (void)state;
    const struct adl_rank_workload workload = {&scenario, 1};
    struct adl_rank_config config = small(&workload);
    double before, after;
    config.rounds = 0;
    train(&config, &before, &after);
    assert_true(before == 0 && after == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_mends_a_network_that_ranks_badly),
        cmocka_unit_test(the_network_does_not_depend_on_the_number_of_threads),
        cmocka_unit_test(a_network_that_corrects_nothing_costs_what_the_rule_costs),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
