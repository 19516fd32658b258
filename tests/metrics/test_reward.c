/* Rewards: paid out bit by bit between events, they sum to what the whole run costs. The books to compare with are
 * run_checker's, which shares nothing with state and metrics. */
#include "action_driver.h"
#include "metrics/reward.h"
#include "run_checker.h"

#include <math.h>

#include <cmocka.h>

#define WORLDS 40
#define JOBS   50
#define TAIL   0.3

struct purse {
    struct checker checker;
    struct adl_reward plain, tail;
    double plain_sum, tail_sum, largest;
};

static int pay(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct purse *purse = self;
    const double paid = adl_reward_until(&purse->plain, state, event);
    purse->largest = paid > purse->largest ? paid : purse->largest;
    purse->plain_sum += paid;
    purse->tail_sum += adl_reward_until(&purse->tail, state, event);
    return checker_event(&purse->checker, event, state);
}

static int on_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    return checker_command(&((struct purse *)self)->checker, command, gpus, state);
}

static void assert_about(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("rewards sum to %.12g, and the run cost %.12g", got, expected);
}

static void check_world(uint64_t seed)
{
    struct adl_scenario scenario = random_scenario(seed, JOBS);
    struct purse purse = {.plain = {.lambda = scenario.lambda}, .tail = {.lambda = scenario.lambda, .tail = TAIL}};
    assert_int_equal(checker_start(&purse.checker, &scenario, seed), 0);
    const struct adl_observer observer = {.self = &purse, .event = pay, .command = on_command};
    const struct adl_result result = driver_run(&scenario, seed, &observer);
    double cubes = 0;
    for (uint64_t i = 0; i < purse.checker.job_count; i++) {
        const double jct_s = (double)purse.checker.jobs[i].jct_us * 1e-6;
        cubes += jct_s * jct_s * jct_s;
    }
    const double jct_s = (double)purse.checker.jct_us * 1e-6, idle_s = (double)purse.checker.idle_us * 1e-6;
    const double cost = jct_s + scenario.lambda * idle_s;
    assert_true(idle_s > 0 && purse.largest <= 0);
    assert_about(purse.plain_sum, -cost);
    assert_about(purse.tail_sum, -(cost + TAIL * cubes / (3 * 60.0 * 60.0)));
    assert_about(result.value[ADL_METRIC_REWARD], -cost);
    checker_clear(&purse.checker);
    adl_scenario_clear(&scenario);
}

static void rewards_sum_to_completion_times_and_idle_time_and_the_tail_to_its_closed_form(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        check_world(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewards_sum_to_completion_times_and_idle_time_and_the_tail_to_its_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
