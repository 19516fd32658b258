/* What researchers give an environment and ask of it: recorded jobs, measured speeds, an end in the middle, what a
 * policy would do, and what its features are. */
#include "base/rng.h"
#include "experiment/run.h"
#include "policy/policy.h"
#include "rl/environment.h"
#include "scenario/scenario.h"
#include "shared_data.h"

#include <math.h>
#include <string.h>

#include <cmocka.h>

#define PAPER16 ADL_SOURCE_DIR "/scenarios/paper16.yaml"
#define TRACE   ADL_SOURCE_DIR "/tests/data/philly.csv"
#define GAVEL   SHARED_DATA "data/gavel/simulation_throughputs.json"

struct play {
    struct adlro_environment *env;
    struct adlro_shape shape;
    struct adlro_buffers shown;
    uint8_t truncated[4];
};

static void open_play(struct play *play, struct adlro_config config)
{
    char error[ADLRO_ERROR_SIZE] = "";
    config.size = sizeof config;
    *play = (struct play){0};
    if (adlro_create(&config, &play->env, error))
        fail_msg("%s", error);
    adlro_shape(play->env, &play->shape, sizeof play->shape);
    assert_int_equal(adl_buffers_create(&play->shape, &play->shown), 0);
    play->shown.size = sizeof play->shown;
    play->shown.truncated = play->truncated;
}

static void close_play(struct play *play)
{
    play->shown.truncated = NULL;
    adl_buffers_clear(&play->shown);
    adlro_destroy(play->env);
}

static void reset(struct play *play, uint32_t i, uint64_t seed)
{
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_reset(play->env, i, seed, &play->shown, error))
        fail_msg("%s", error);
}

static void step_one(struct play *play, uint32_t i, int32_t action)
{
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_step_one(play->env, i, action, &play->shown, error))
        fail_msg("%s", error);
}

/* Takes the first action to the end. */
static struct adlro_result finish(struct play *play, uint64_t seed)
{
    struct adlro_result result;
    reset(play, 0, seed);
    while (!play->shown.done[0])
        step_one(play, 0, 0);
    adlro_result(play->env, 0, &result, sizeof result);
    return result;
}

static void refuses(struct adlro_config config, const char *why)
{
    struct adlro_environment *env = NULL;
    char error[ADLRO_ERROR_SIZE] = "";
    config.size = sizeof config;
    assert_true(adlro_create(&config, &env, error) < 0);
    if (!strstr(error, why))
        fail_msg("'%s' does not say '%s'", error, why);
    assert_null(env);
}

/* ---- recorded jobs ---- */

static void an_episode_of_a_trace_has_all_its_jobs(void **state)
{
    (void)state;
    struct play play;
    open_play(&play, (struct adlro_config){.scenario = "pool64", .trace = TRACE});
    const struct adlro_result one = finish(&play, 1), other = finish(&play, 2);
    assert_int_equal(one.jobs, 300);
    assert_true(one.makespan_s > 0 && one.energy_j > 0);
    assert_memory_equal(&one, &other, sizeof one); /* the whole trace is the same on every seed */
    close_play(&play);
}

static void a_seed_draws_where_in_the_trace_an_episode_begins(void **state)
{
    (void)state;
    struct play play;
    open_play(&play, (struct adlro_config){.scenario = "pool64", .trace = TRACE, .jobs = 40});
    const struct adlro_result one = finish(&play, 1), other = finish(&play, 2), again = finish(&play, 1);
    assert_int_equal(one.jobs, 40);
    assert_memory_equal(&one, &again, sizeof one);
    assert_true(one.jct_mean_s != other.jct_mean_s);
    close_play(&play);
}

static void twice_the_load_halves_the_time_between_submissions(void **state)
{
    (void)state;
    struct play slow, fast;
    open_play(&slow, (struct adlro_config){.scenario = "pool64", .trace = TRACE, .jobs = 100, .load = 0.01});
    open_play(&fast, (struct adlro_config){.scenario = "pool64", .trace = TRACE, .jobs = 100});
    assert_true(finish(&slow, 3).makespan_s > 2 * finish(&fast, 3).makespan_s);
    close_play(&slow);
    close_play(&fast);
}

static void an_episode_of_a_trace_can_be_cloned(void **state)
{
    (void)state;
    struct play play, clone;
    char error[ADLRO_ERROR_SIZE] = "";
    open_play(&play, (struct adlro_config){.scenario = "pool64", .trace = TRACE, .jobs = 60});
    open_play(&clone, (struct adlro_config){.scenario = "pool64", .trace = TRACE, .jobs = 60});
    adlro_destroy(clone.env);
    reset(&play, 0, 5);
    for (int i = 0; i < 5 && !play.shown.done[0]; i++)
        step_one(&play, 0, 0);
    assert_int_equal(adlro_clone(play.env, &clone.env, error), 0);
    assert_int_equal(adlro_restore(clone.env, 0, play.env, 0, &clone.shown, error), 0);
    struct adlro_result one, other;
    while (!play.shown.done[0]) {
        step_one(&play, 0, 0);
        step_one(&clone, 0, 0);
        assert_true(play.shown.reward[0] == clone.shown.reward[0]);
    }
    adlro_result(play.env, 0, &one, sizeof one);
    adlro_result(clone.env, 0, &other, sizeof other);
    assert_memory_equal(&one, &other, sizeof one);
    close_play(&play);
    close_play(&clone);
}

static void a_trace_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    refuses((struct adlro_config){.scenario = "pool64", .trace = "no.csv"}, "no.csv");
    refuses((struct adlro_config){.scenario = "pool64", .trace = TRACE, .jobs = 301}, "the cluster can run 300");
    refuses((struct adlro_config){.scenario = PAPER16, .throughputs = "no.json"}, "no.json");
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    refuses((struct adlro_config){.scenario = PAPER16, .observation = ADLRO_OBSERVATION_PLAIN + 1},
            "config.observation");
    refuses((struct adlro_config){.scenario = PAPER16, .observation = -1}, "config.observation");
    refuses((struct adlro_config){.scenario = PAPER16, .count = 1u << 20}, "config.count");
    refuses((struct adlro_config){.scenario = PAPER16, .load = -1}, "config.load");
    refuses((struct adlro_config){.scenario = PAPER16, .tail = (double)NAN}, "config.tail");
    refuses((struct adlro_config){.scenario = PAPER16, .oracle = 1, .learned = 1}, "exclude each other");
    refuses((struct adlro_config){.scenario = PAPER16, .jobs = UINT64_MAX}, "config.jobs");
}

static void learned_run_times_differ_from_declared_ones(void **state)
{
    (void)state;
    struct play declared, learned;
    open_play(&declared, (struct adlro_config){.scenario = PAPER16, .jobs = 60});
    open_play(&learned, (struct adlro_config){.scenario = PAPER16, .jobs = 60, .learned = 1});
    assert_true(finish(&declared, 1).jct_mean_s != finish(&learned, 1).jct_mean_s);
    const struct adlro_result one = finish(&learned, 2), again = finish(&learned, 2);
    assert_memory_equal(&one, &again, sizeof one); /* nothing is learned from the episode before */
    close_play(&declared);
    close_play(&learned);
}

static void a_scenario_with_measured_speeds_loads(void **state)
{
    (void)state;
    struct play play;
    refuses((struct adlro_config){.scenario = ADL_SOURCE_DIR "/scenarios/gavel108.yaml"}, "throughputs");
    open_play(&play, (struct adlro_config){
                         .scenario = ADL_SOURCE_DIR "/scenarios/gavel108.yaml", .throughputs = GAVEL, .jobs = 50});
    assert_int_equal(finish(&play, 1).jobs, 50);
    close_play(&play);
}

/* ---- truncation ---- */

static void an_episode_ends_after_the_given_decisions_and_shows_where(void **state)
{
    (void)state;
    struct play play, whole;
    char error[ADLRO_ERROR_SIZE] = "";
    struct adlro_result result;
    open_play(&play, (struct adlro_config){.scenario = PAPER16, .jobs = 60, .max_decisions = 5});
    open_play(&whole, (struct adlro_config){.scenario = PAPER16, .jobs = 60});
    reset(&play, 0, 1);
    reset(&whole, 0, 1);
    for (int i = 0; i < 5; i++) {
        assert_false(play.shown.done[0] || play.truncated[0]);
        step_one(&play, 0, 0);
        step_one(&whole, 0, 0);
    }
    assert_true(play.shown.done[0] && play.truncated[0]);
    assert_int_equal(play.shown.action_count[0], whole.shown.action_count[0]);
    assert_memory_equal(play.shown.state, whole.shown.state, play.shape.state_features * sizeof(float));
    assert_int_equal(adlro_step_one(play.env, 0, 0, &play.shown, error), ADL_EINVAL);
    adlro_result(play.env, 0, &result, sizeof result);
    assert_true(result.jobs < 60);
    reset(&play, 0, 1);
    assert_false(play.shown.done[0] || play.truncated[0]);
    close_play(&play);
    close_play(&whole);
}

static void an_episode_ends_after_the_given_time(void **state)
{
    (void)state;
    struct play play;
    double now_s = 0, before_s = 0;
    open_play(&play, (struct adlro_config){.scenario = PAPER16, .max_s = 60});
    reset(&play, 0, 1);
    for (now_s = play.shown.elapsed_s[0]; !play.shown.done[0]; now_s += play.shown.elapsed_s[0]) {
        before_s = now_s;
        step_one(&play, 0, 0);
    }
    assert_true(play.truncated[0]);
    assert_true(before_s < 60 && now_s >= 60);
    close_play(&play);
}

static void an_episode_that_ends_by_itself_is_not_truncated(void **state)
{
    (void)state;
    struct play play;
    open_play(&play, (struct adlro_config){.scenario = PAPER16, .jobs = 20, .max_decisions = 100000});
    assert_int_equal(finish(&play, 1).jobs, 20);
    assert_false(play.truncated[0]);
    close_play(&play);
}

/* ---- what a policy would do ---- */

static double run_policy(const char *name, uint64_t seed, uint64_t jobs)
{
    struct adl_scenario scenario = {0};
    struct adl_error err = {.text = ""};
    struct adl_result result;
    if (adl_scenario_load(PAPER16, &scenario, NULL, &err))
        fail_msg("%s", err.text);
    scenario.workload.jobs = jobs;
    const struct adl_run run = {.scenario = &scenario, .policy = adl_policy_find(name), .seed = seed};
    if (adl_run(&run, &result, &err))
        fail_msg("%s", err.text);
    adl_scenario_clear(&scenario);
    return result.value[ADL_METRIC_JCT_MEAN];
}

/* Does what the policy would do to the end; returns how often that was not offered. */
static uint32_t follow(struct play *play, const char *policy, uint64_t seed, double *ret_jct_s)
{
    char error[ADLRO_ERROR_SIZE] = "";
    struct adlro_result result;
    uint32_t none = 0;
    int32_t action = -2;
    reset(play, 0, seed);
    while (!play->shown.done[0]) {
        if (adlro_policy_action(play->env, 0, policy, &action, error))
            fail_msg("%s", error);
        assert_in_range(action + 1, 0, play->shown.action_count[0]);
        none += action < 0;
        step_one(play, 0, action < 0 ? play->shown.action_count[0] - 1 : action);
    }
    adlro_result(play->env, 0, &result, sizeof result);
    *ret_jct_s = result.jct_mean_s;
    return none;
}

static void who_does_what_a_policy_would_do_is_as_good_as_it(void **state)
{
    (void)state;
    struct play play;
    double jct_s;
    open_play(&play, (struct adlro_config){.scenario = PAPER16, .jobs = 60});
    adl_environment_set_lambda(play.env,
                               0); /* above 0 starts that delay a reserved job of the bottleneck are not offered */
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const char *const names[] = {"sjf", "las"};
        for (int i = 0; i < 2; i++) {
            assert_int_equal(follow(&play, names[i], seed, &jct_s), 0);
            assert_true(fabs(jct_s / run_policy(names[i], seed, 60) - 1) < 0.1);
        }
    }
    close_play(&play);
}

static void every_policy_can_be_asked_and_changes_nothing(void **state)
{
    (void)state;
    struct play asked, plain;
    char error[ADLRO_ERROR_SIZE] = "";
    struct adl_rng rng;
    struct adlro_result one, other;
    int32_t action;
    open_play(&asked, (struct adlro_config){.scenario = PAPER16, .jobs = 40});
    open_play(&plain, (struct adlro_config){.scenario = PAPER16, .jobs = 40});
    adl_rng_seed(&rng, 7, "actions");
    reset(&asked, 0, 1);
    reset(&plain, 0, 1);
    for (uint32_t p = 0; !asked.shown.done[0]; p++) {
        const int32_t any = (int32_t)adl_rng_below(&rng, (uint32_t)asked.shown.action_count[0]);
        if (adlro_policy_action(asked.env, 0, adl_policy_at(p % adl_policy_count())->name, &action, error))
            fail_msg("%s: %s", adl_policy_at(p % adl_policy_count())->name, error);
        step_one(&asked, 0, any);
        step_one(&plain, 0, any);
        assert_true(asked.shown.reward[0] == plain.shown.reward[0]);
    }
    adlro_result(asked.env, 0, &one, sizeof one);
    adlro_result(plain.env, 0, &other, sizeof other);
    assert_memory_equal(&one, &other, sizeof one);
    assert_int_equal(adlro_policy_action(asked.env, 0, "sjf", &action, error), ADL_EINVAL);
    assert_non_null(strstr(error, "has ended"));
    reset(&asked, 0, 1);
    assert_int_equal(adlro_policy_action(asked.env, 0, "nobody", &action, error), ADL_EINVAL);
    assert_non_null(strstr(error, "nobody"));
    assert_int_equal(adlro_policy_action(asked.env, 1, "sjf", &action, error), ADL_EINVAL);
    close_play(&asked);
    close_play(&plain);
}

/* ---- features and results ---- */

static void a_feature_says_what_it_is(void **state)
{
    (void)state;
    struct adlro_feature feature;
    assert_int_equal(adlro_feature(ADLRO_OBSERVATION_ALL, ADLRO_ROW_GPU, 16, &feature, sizeof feature), 0);
    assert_string_equal(feature.name, "read_temperature");
    assert_string_equal(feature.unit, "C");
    assert_string_equal(feature.source, "telemetry");
    assert_true(feature.low == 20 && feature.high == 110 && feature.stale_s == 120);
    assert_int_equal(feature.scale, ADLRO_SCALE_LINEAR);
    assert_int_equal(adlro_feature(ADLRO_OBSERVATION_PAPER, ADLRO_ROW_STATE, 1, &feature, sizeof feature), 0);
    assert_string_equal(feature.name, adlro_feature_name(ADLRO_OBSERVATION_PAPER, ADLRO_ROW_STATE, 1));
    assert_int_equal(adlro_feature(ADLRO_OBSERVATION_ACTIONS, ADLRO_ROW_GPU, 0, &feature, sizeof feature), -1);
    assert_int_equal(adlro_feature(ADLRO_OBSERVATION_ALL, 9, 0, &feature, sizeof feature), -1);
}

static void results_have_energy_and_service_levels(void **state)
{
    (void)state;
    struct play play;
    open_play(&play, (struct adlro_config){.scenario = ADL_SOURCE_DIR "/scenarios/mixed64.yaml", .jobs = 200});
    const struct adlro_result result = finish(&play, 1);
    assert_true(result.energy_j > 0 && result.wait_mean_s >= 0 && result.slowdown_mean >= 1);
    assert_true(result.sla_attainment >= 0 && result.sla_attainment <= 1);
    assert_true(result.sla_jobs > 0 && result.sla_jobs <= 200);
    close_play(&play);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(an_episode_of_a_trace_has_all_its_jobs),
        cmocka_unit_test(a_seed_draws_where_in_the_trace_an_episode_begins),
        cmocka_unit_test(twice_the_load_halves_the_time_between_submissions),
        cmocka_unit_test(an_episode_of_a_trace_can_be_cloned),
        cmocka_unit_test(a_trace_that_does_not_fit_is_refused),
        cmocka_unit_test(wrong_settings_are_refused),
        cmocka_unit_test(learned_run_times_differ_from_declared_ones),
        cmocka_unit_test(an_episode_ends_after_the_given_decisions_and_shows_where),
        cmocka_unit_test(an_episode_ends_after_the_given_time),
        cmocka_unit_test(an_episode_that_ends_by_itself_is_not_truncated),
        cmocka_unit_test(who_does_what_a_policy_would_do_is_as_good_as_it),
        cmocka_unit_test(every_policy_can_be_asked_and_changes_nothing),
        cmocka_unit_test(a_feature_says_what_it_is),
        cmocka_unit_test(results_have_energy_and_service_levels),
    };
    const struct CMUnitTest shared[] = {
        cmocka_unit_test(a_scenario_with_measured_speeds_loads),
    };
    return RUN_PLAIN_OR_SHARED(argc, argv, plain, shared);
}
