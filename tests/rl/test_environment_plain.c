/* The observation without a plan: equal seeds and actions give equal episodes, clones go on alike, every start that is
 * offered is executed, and every column has a name. */
#include "policy/dqn/typical_time.h"
#include "random_scenario.h"
#include "rl/environment.h"

#include <math.h>
#include <string.h>

#include <cmocka.h>

#define WORLDS 12
#define JOBS   40

struct play {
    struct adlro_environment *env;
    struct adlro_shape shape;
    struct adlro_buffers shown;
};

static const struct adlro_config without_plan = {.observation = ADLRO_OBSERVATION_PLAIN, .tail = 0.3};

static struct play open_play(const struct adl_scenario *scenario)
{
    struct play play = {0};
    struct adl_error err = {.text = ""};
    if (adl_environment_create(scenario, &without_plan, &play.env, &err))
        fail_msg("%s", err.text);
    adlro_shape(play.env, &play.shape, sizeof play.shape);
    assert_int_equal(adl_buffers_create(&play.shape, &play.shown), 0);
    return play;
}

static void close_play(struct play *play)
{
    adlro_destroy(play->env);
    adl_buffers_clear(&play->shown);
}

static void reset(struct play *play, uint64_t seed)
{
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_reset(play->env, 0, seed, &play->shown, error))
        fail_msg("%s", error);
}

static void step(struct play *play, int32_t action)
{
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_step_one(play->env, 0, action, &play->shown, error))
        fail_msg("%s", error);
}

static int32_t any_action(const struct play *play, struct adl_rng *rng)
{
    return (int32_t)adl_rng_below(rng, (uint32_t)play->shown.action_count[0]);
}

static void assert_bounded(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_true((values[i] >= 0 && values[i] <= 1) || values[i] == -1.0f);
}

static void check_shown(const struct play *play)
{
    const struct adlro_shape *s = &play->shape;
    const int32_t count = play->shown.action_count[0];
    for (uint32_t a = 0; a < s->actions; a++)
        assert_int_equal(play->shown.mask[a], (int32_t)a < count);
    if (play->shown.done[0])
        return;
    assert_true(count > 1);
    assert_int_equal(play->shown.member_offset[count], 0);
    assert_bounded(play->shown.state, s->state_features);
    assert_bounded(play->shown.actions, (size_t)s->actions * s->action_features);
}

static void assert_same(const struct play *a, const struct play *b)
{
    const struct adlro_shape *s = &a->shape;
    assert_int_equal(a->shown.done[0], b->shown.done[0]);
    assert_int_equal(a->shown.action_count[0], b->shown.action_count[0]);
    assert_memory_equal(a->shown.reward, b->shown.reward, sizeof *a->shown.reward);
    if (a->shown.done[0])
        return;
    assert_memory_equal(a->shown.state, b->shown.state, s->state_features * sizeof *a->shown.state);
    assert_memory_equal(a->shown.actions, b->shown.actions,
                        (size_t)s->actions * s->action_features * sizeof *a->shown.actions);
}

static void play_alike(struct play *a, struct play *b, struct adl_rng *rng)
{
    struct adlro_result one, other;
    assert_same(a, b);
    while (!a->shown.done[0]) {
        const int32_t action = any_action(a, rng);
        step(a, action);
        step(b, action);
        check_shown(a);
        assert_same(a, b);
    }
    adlro_result(a->env, 0, &one, sizeof one);
    adlro_result(b->env, 0, &other, sizeof other);
    assert_memory_equal(&one, &other, sizeof one);
    assert_int_equal(one.jobs, JOBS);
}

static void equal_seeds_and_actions_give_equal_episodes_whatever_was_played_before(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "actions");
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        struct play used = open_play(&scenario), fresh = open_play(&scenario);
        reset(&used, seed + 100);
        for (int i = 0; i < 20 && !used.shown.done[0]; i++)
            step(&used, any_action(&used, &rng));
        reset(&used, seed);
        reset(&fresh, seed);
        play_alike(&used, &fresh, &rng);
        close_play(&used);
        close_play(&fresh);
        adl_scenario_clear(&scenario);
    }
}

static void a_clone_goes_on_alike(void **state)
{
    (void)state;
    struct adl_rng rng;
    char error[ADLRO_ERROR_SIZE] = "";
    adl_rng_seed(&rng, 2, "actions");
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        struct play a = open_play(&scenario), b = open_play(&scenario);
        reset(&a, seed);
        for (int i = 0; i < 10 && !a.shown.done[0]; i++)
            step(&a, any_action(&a, &rng));
        adlro_destroy(b.env);
        if (adlro_clone(a.env, &b.env, error) || adlro_restore(b.env, 0, a.env, 0, &b.shown, error) ||
            adlro_restore(a.env, 0, b.env, 0, &a.shown, error))
            fail_msg("%s", error);
        play_alike(&a, &b, &rng);
        close_play(&a);
        close_play(&b);
        adl_scenario_clear(&scenario);
    }
}

/* Jobs that wait too long are offered alone. */
static void an_agent_that_waits_when_it_may_ends_its_episode(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        struct play play = open_play(&scenario);
        struct adlro_result result;
        reset(&play, seed);
        while (!play.shown.done[0])
            step(&play, play.shown.action_count[0] - 1);
        adlro_result(play.env, 0, &result, sizeof result);
        assert_int_equal(result.jobs, JOBS);
        close_play(&play);
        adl_scenario_clear(&scenario);
    }
}

static void every_column_has_a_name_of_the_features_and_no_other_has(void **state)
{
    (void)state;
    struct adl_scenario scenario = random_scenario(1, JOBS);
    struct play play = open_play(&scenario);
    const uint32_t sizes[] = {0, play.shape.state_features, play.shape.action_features};
    for (int row = ADLRO_ROW_GPU; row <= ADLRO_ROW_ACTION; row++) {
        for (uint32_t f = 0; f < sizes[row]; f++)
            assert_non_null(adlro_feature_name(ADLRO_OBSERVATION_PLAIN, row, f));
        assert_null(adlro_feature_name(ADLRO_OBSERVATION_PLAIN, row, sizes[row]));
    }
    assert_string_equal(adlro_feature_name(ADLRO_OBSERVATION_PLAIN, ADLRO_ROW_STATE, 0), "lambda");
    assert_string_equal(adlro_feature_name(ADLRO_OBSERVATION_PLAIN, ADLRO_ROW_STATE, sizes[1] - 1),
                        "waiting_gangs_of_8");
    assert_string_equal(adlro_feature_name(ADLRO_OBSERVATION_PLAIN, ADLRO_ROW_ACTION, 0), "wait");
    assert_string_equal(adlro_feature_name(ADLRO_OBSERVATION_PLAIN, ADLRO_ROW_ACTION, sizes[2] - 1),
                        "deadline_over_time");
    close_play(&play);
    adl_scenario_clear(&scenario);
}

static void fitting_changes_columns_that_have_no_natural_range(void **state)
{
    (void)state;
    struct adl_scenario scenario = random_scenario(3, JOBS);
    struct play raw = open_play(&scenario), fitted = open_play(&scenario);
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_fit(fitted.env, 1000, 4, error))
        fail_msg("%s", error);
    reset(&raw, 1);
    reset(&fitted, 1);
    check_shown(&fitted);
    assert_memory_not_equal(raw.shown.actions, fitted.shown.actions,
                            raw.shape.action_features * sizeof *raw.shown.actions);
    close_play(&raw);
    close_play(&fitted);
    adl_scenario_clear(&scenario);
}

static void a_policy_that_reads_distributions_cannot_be_asked(void **state)
{
    (void)state;
    struct adl_scenario scenario = random_scenario(1, JOBS);
    struct play play = open_play(&scenario);
    char error[ADLRO_ERROR_SIZE] = "";
    int32_t action;
    reset(&play, 1);
    assert_int_equal(adlro_policy_action(play.env, 0, "sjf", &action, error), 0);
    assert_true(adlro_policy_action(play.env, 0, "adlro", &action, error) < 0);
    assert_non_null(strstr(error, "distributions"));
    close_play(&play);
    adl_scenario_clear(&scenario);
}

static void the_typical_time_is_the_geometric_mean_of_live_jobs(void **state)
{
    (void)state;
    struct adl_typical_time typical = {0};
    assert_true(adl_typical_time_us(&typical) == 1);
    assert_int_equal(adl_typical_time_join(&typical, 0, 999999), 0);
    assert_int_equal(adl_typical_time_join(&typical, 700, 3999999), 0);
    assert_int_equal(adl_typical_time_join(&typical, 3, 5), 0);
    adl_typical_time_leave(&typical, 3);
    assert_true(fabs(adl_typical_time_us(&typical) / 2e6 - 1) < 1e-5);
    adl_typical_time_leave(&typical, 700);
    assert_true(fabs(adl_typical_time_us(&typical) / 1e6 - 1) < 1e-5);
    adl_typical_time_clear(&typical);
}

/* Rows behind those that are offered are 0. */
static void assert_rest_clear(const struct play *play)
{
    const size_t columns = play->shape.action_features;
    for (size_t i = (size_t)play->shown.action_count[0] * columns; i < play->shape.actions * columns; i++)
        assert_true(play->shown.actions[i] == 0);
}

static void rows_that_are_not_offered_are_0_whoever_wrote_to_the_buffer_before(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 9, "actions");
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        struct play one = open_play(&scenario), two = open_play(&scenario);
        const struct adlro_buffers own = two.shown;
        const size_t bytes = one.shape.actions * one.shape.action_features * sizeof *one.shown.actions;
        memset(one.shown.actions, 0xff, bytes); /* a buffer need not be clear when an episode begins */
        reset(&one, seed);
        two.shown.actions = one.shown.actions; /* both write their rows to the same place */
        reset(&two, seed + 100);
        while (!one.shown.done[0]) {
            step(&one, any_action(&one, &rng));
            if (!one.shown.done[0])
                assert_rest_clear(&one);
            if (two.shown.done[0])
                continue;
            step(&two, any_action(&two, &rng));
            if (!two.shown.done[0])
                assert_rest_clear(&two);
        }
        two.shown = own;
        close_play(&one);
        close_play(&two);
        adl_scenario_clear(&scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_not_offered_are_0_whoever_wrote_to_the_buffer_before),
        cmocka_unit_test(equal_seeds_and_actions_give_equal_episodes_whatever_was_played_before),
        cmocka_unit_test(a_clone_goes_on_alike),
        cmocka_unit_test(an_agent_that_waits_when_it_may_ends_its_episode),
        cmocka_unit_test(every_column_has_a_name_of_the_features_and_no_other_has),
        cmocka_unit_test(fitting_changes_columns_that_have_no_natural_range),
        cmocka_unit_test(a_policy_that_reads_distributions_cannot_be_asked),
        cmocka_unit_test(the_typical_time_is_the_geometric_mean_of_live_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
