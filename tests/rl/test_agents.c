/* The agents' axis of the environment: with plain bids a run is that of policy market; equal seeds and actions give
 * equal episodes, also in a copy; rewards of agents and of all add up to the same; bad actions change nothing. */
#include <math.h>
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
#include "rl/agents.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#define WORLDS 12
#define JOBS   60

struct episode {
    struct adlro_agents *env;
    struct adlro_agents_shape shape;
    struct adlro_agents_buffers shown;
};

static struct episode open_episode(const struct adl_scenario *scenario, const struct adlro_agents_config *config)
{
    struct episode e = {0};
    struct adl_error err = {.text = ""};
    if (adl_agents_create(scenario, config, &e.env, &err))
        fail_msg("%s", err.text);
    adlro_agents_shape(e.env, &e.shape, sizeof e.shape);
    assert_int_equal(adl_agents_buffers_create(&e.shape, &e.shown), 0);
    e.shown.rewards = calloc(e.shape.agents, sizeof *e.shown.rewards);
    assert_non_null(e.shown.rewards);
    return e;
}

static void close_episode(struct episode *e)
{
    adlro_agents_destroy(e->env);
    adl_agents_buffers_clear(&e->shown);
}

static void reset(struct episode *e, uint64_t seed)
{
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_agents_reset(e->env, seed, &e->shown, error))
        fail_msg("%s", error);
}

static void step(struct episode *e, const double *actions)
{
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_agents_step(e->env, actions, &e->shown, error))
        fail_msg("%s", error);
}

static void draw_actions(struct adl_rng *rng, double actions[64])
{
    for (int r = 0; r < 64; r++)
        actions[r] = adl_rng_uniform(rng) * 2 - 1;
}

static void assert_same(const struct episode *a, const struct episode *b)
{
    const size_t rows = (size_t)*a->shown.row_count;
    assert_int_equal(*a->shown.done, *b->shown.done);
    assert_int_equal(*a->shown.row_count, *b->shown.row_count);
    assert_memory_equal(a->shown.agents, b->shown.agents, rows * sizeof *a->shown.agents);
    assert_memory_equal(a->shown.jobs, b->shown.jobs, rows * sizeof *a->shown.jobs);
    assert_memory_equal(a->shown.bid_s, b->shown.bid_s, rows * sizeof *a->shown.bid_s);
    assert_memory_equal(a->shown.observations, b->shown.observations,
                        rows * a->shape.features * sizeof *a->shown.observations);
    assert_memory_equal(a->shown.won, b->shown.won, a->shape.rows);
    assert_memory_equal(a->shown.rewards, b->shown.rewards, a->shape.agents * sizeof *a->shown.rewards);
    assert_memory_equal(a->shown.shared_reward, b->shown.shared_reward, sizeof *a->shown.shared_reward);
    assert_memory_equal(a->shown.elapsed_s, b->shown.elapsed_s, sizeof *a->shown.elapsed_s);
}

static void play_alike(struct episode *a, struct episode *b, struct adl_rng *rng)
{
    double actions[64];
    struct adlro_result one, other;
    while (!*a->shown.done) {
        draw_actions(rng, actions);
        step(a, actions);
        step(b, actions);
        assert_same(a, b);
    }
    adlro_agents_result(a->env, &one, sizeof one);
    adlro_agents_result(b->env, &other, sizeof other);
    assert_memory_equal(&one, &other, sizeof one);
}

static const struct adlro_agents_config plain = {0};
static const struct adl_network_model bad = {
    .latency_ms = 50, .jitter = 0.5, .loss = 0.05, .duplicate = 0.05, .crash_mtbf_h = 0.9, .crash_s = 360};

static void actions_of_0_play_as_policy_market_does(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        scenario.network = seed % 2 ? bad : (struct adl_network_model){0};
        struct episode e = open_episode(&scenario, &(struct adlro_agents_config){.settings = ""});
        const double actions[64] = {0};
        for (reset(&e, seed); !*e.shown.done;)
            step(&e, actions);

        const struct adl_run run = {
            .scenario = &scenario, .policy = &adl_policy_market, .seed = seed, .regime = ADL_REGIME_DECLARED};
        struct adl_result all;
        struct adl_error err = {.text = ""};
        if (adl_run(&run, &all, &err))
            fail_msg("%s", err.text);
        struct adlro_result result;
        adlro_agents_result(e.env, &result, sizeof result);
        assert_int_equal(result.jobs, JOBS);
        assert_true(result.jct_mean_s == all.value[ADL_METRIC_JCT_MEAN]);
        assert_true(result.makespan_s == all.value[ADL_METRIC_MAKESPAN]);
        assert_true(result.reward == all.value[ADL_METRIC_REWARD]);
        close_episode(&e);
        adl_scenario_clear(&scenario);
    }
}

static void equal_seeds_and_actions_give_equal_episodes(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "actions");
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        scenario.network = seed % 2 ? bad : (struct adl_network_model){0};
        struct episode a = open_episode(&scenario, &plain), b = open_episode(&scenario, &plain);
        reset(&b, seed + 1);
        reset(&a, seed);
        reset(&b, seed);
        assert_same(&a, &b);
        play_alike(&a, &b, &rng);
        close_episode(&a);
        close_episode(&b);
        adl_scenario_clear(&scenario);
    }
}

static void a_copy_plays_alike_and_the_original_does_not_notice(void **state)
{
    (void)state;
    struct adl_rng rng;
    char error[ADLRO_ERROR_SIZE] = "";
    double actions[64];
    adl_rng_seed(&rng, 2, "actions");
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        scenario.network = seed % 2 ? bad : (struct adl_network_model){0};
        struct episode a = open_episode(&scenario, &plain), b = open_episode(&scenario, &plain);
        reset(&a, seed);
        for (int i = 0; i < 25 && !*a.shown.done; i++) {
            draw_actions(&rng, actions);
            step(&a, actions);
        }
        struct adlro_agents *clone = NULL;
        assert_int_equal(adlro_agents_clone(a.env, &clone, error), 0);
        assert_int_equal(adlro_agents_restore(a.env, clone, &a.shown, error), 0);
        assert_int_equal(adlro_agents_restore(b.env, clone, &b.shown, error), 0);
        assert_same(&a, &b);
        play_alike(&a, &b, &rng);
        assert_int_equal(adlro_agents_restore(a.env, clone, &a.shown, error), 0); /* the clone has not moved */
        assert_int_equal(adlro_agents_restore(b.env, clone, &b.shown, error), 0);
        play_alike(&a, &b, &rng);
        adlro_agents_destroy(clone);
        close_episode(&a);
        close_episode(&b);
        adl_scenario_clear(&scenario);
    }
}

/* Without faults, and with nothing for idle GPUs, both are minus the sum of completion times. */
static void rewards_of_agents_and_of_all_add_up_to_the_same(void **state)
{
    (void)state;
    struct adl_rng rng;
    double actions[64];
    adl_rng_seed(&rng, 3, "actions");
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        scenario.lambda = 0;
        struct episode e = open_episode(&scenario, &plain);
        double own = 0, team = 0;
        reset(&e, seed);
        for (;;) {
            team += *e.shown.shared_reward;
            for (uint32_t a = 0; a < e.shape.agents; a++)
                own += e.shown.rewards[a];
            if (*e.shown.done)
                break;
            draw_actions(&rng, actions);
            step(&e, actions);
        }
        struct adlro_result result;
        adlro_agents_result(e.env, &result, sizeof result);
        assert_true(team < 0 && fabs(own / team - 1) < 1e-9);
        assert_true(fabs(result.reward / team - 1) < 1e-9);
        close_episode(&e);
        adl_scenario_clear(&scenario);
    }
}

static void the_agent_that_bids_least_gets_the_job_and_no_agent_is_asked_twice_at_once(void **state)
{
    (void)state;
    struct adl_rng rng;
    uint32_t contested = 0, auctions = 0; /* where two meet, one may be decided in the next step */
    adl_rng_seed(&rng, 4, "rows");
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        scenario.network = (struct adl_network_model){0};
        struct episode e = open_episode(&scenario, &plain);
        for (reset(&e, seed); !*e.shown.done;) {
            double actions[64];
            const uint32_t rows = (uint32_t)*e.shown.row_count, chosen = adl_rng_below(&rng, rows);
            bool one_job = true;
            for (uint32_t r = 0; r < rows; r++) {
                actions[r] = r == chosen ? -ADLRO_AGENTS_ACTION_MAX : ADLRO_AGENTS_ACTION_MAX;
                one_job &= e.shown.jobs[r] == e.shown.jobs[0];
                for (uint32_t other = 0; other < r; other++)
                    assert_int_not_equal(e.shown.agents[r], e.shown.agents[other]);
            }
            step(&e, actions);
            contested += one_job && rows > 1 && e.shown.won[chosen];
            auctions += one_job && rows > 1;
            for (uint32_t r = 0; r < rows; r++)
                assert_true(!one_job || r == chosen || e.shown.won[r] == 0);
        }
        close_episode(&e);
        adl_scenario_clear(&scenario);
    }
    assert_true(contested > 100 && contested > 0.95 * auctions);
}

static void what_cannot_be_done_is_refused_with_a_text_and_changes_nothing(void **state)
{
    (void)state;
    static const double wrong[] = {NAN, INFINITY, -20.5, 21};
    struct adl_scenario scenario = random_scenario(3, JOBS);
    struct episode a = open_episode(&scenario, &plain), b = open_episode(&scenario, &plain);
    struct adl_rng rng;
    char error[ADLRO_ERROR_SIZE] = "";
    struct adlro_agents *none = NULL;
    adl_rng_seed(&rng, 5, "actions");
    double actions[64] = {0};
    assert_true(adlro_agents_step(a.env, actions, &a.shown, error) < 0); /* before the first reset */
    assert_non_null(strstr(error, "reset"));
    reset(&a, 1);
    reset(&b, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        actions[0] = wrong[i];
        assert_true(adlro_agents_step(a.env, actions, &a.shown, error) < 0);
        assert_non_null(strstr(error, "between -20 and 20"));
    }
    play_alike(&a, &b, &rng);
    close_episode(&a);
    close_episode(&b);
    adl_scenario_clear(&scenario);
    assert_true(adlro_agents_create(&(struct adlro_agents_config){.scenario = "paper16", .settings = "askd=3"}, &none,
                                    error) < 0);
    assert_non_null(strstr(error, "askd"));
    assert_true(adlro_agents_create(&(struct adlro_agents_config){0}, &none, error) < 0);
    assert_null(none);
}

/* The public door: a shipped scenario, an option, names of features. */
static void agents_of_a_shipped_scenario_play(void **state)
{
    (void)state;
    struct adlro_agents_config config = {
        .size = sizeof config, .scenario = "paper16", .jobs = 50, .settings = "agent_nodes=2\nasked=2"};
    struct episode e = {0};
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_agents_create(&config, &e.env, error))
        fail_msg("%s", error);
    adlro_agents_shape(e.env, &e.shape, sizeof e.shape);
    assert_int_equal(e.shape.agents, 2);
    assert_non_null(adlro_agents_feature_name(e.shape.features - 1));
    assert_null(adlro_agents_feature_name(e.shape.features));
    assert_int_equal(adl_agents_buffers_create(&e.shape, &e.shown), 0);
    const double actions[64] = {0};
    for (reset(&e, 1); !*e.shown.done; step(&e, actions))
        for (uint32_t i = 0; i < (uint32_t)*e.shown.row_count * e.shape.features; i++)
            assert_true(e.shown.observations[i] >= 0 && e.shown.observations[i] <= 1);
    struct adlro_result result;
    adlro_agents_result(e.env, &result, sizeof result);
    assert_int_equal(result.jobs, 50);
    close_episode(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actions_of_0_play_as_policy_market_does),
        cmocka_unit_test(equal_seeds_and_actions_give_equal_episodes),
        cmocka_unit_test(a_copy_plays_alike_and_the_original_does_not_notice),
        cmocka_unit_test(rewards_of_agents_and_of_all_add_up_to_the_same),
        cmocka_unit_test(the_agent_that_bids_least_gets_the_job_and_no_agent_is_asked_twice_at_once),
        cmocka_unit_test(what_cannot_be_done_is_refused_with_a_text_and_changes_nothing),
        cmocka_unit_test(agents_of_a_shipped_scenario_play),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
