/* The environment: equal seeds and actions give equal episodes, however it was used before and beside whatever other
 * environments, and an episode is what the engine makes of the same decisions. */
#include "action_driver.h"
#include "rl/environment.h"

#include <math.h>

#include <cmocka.h>

#define WORLDS 12
#define JOBS   40

struct run_episodes {
    struct adlro_environment *env;
    struct adlro_shape shape;
    struct adlro_buffers shown;
};

static struct run_episodes open_play(const struct adl_scenario *scenario, const struct adlro_config *config)
{
    struct run_episodes run_episodes = {0};
    struct adl_error err = {.text = ""};
    if (adl_environment_create(scenario, config, &run_episodes.env, &err))
        fail_msg("%s", err.text);
    adlro_shape(run_episodes.env, &run_episodes.shape, sizeof run_episodes.shape);
    assert_int_equal(adl_buffers_create(&run_episodes.shape, &run_episodes.shown), 0);
    return run_episodes;
}

static void close_play(struct run_episodes *run_episodes)
{
    adlro_destroy(run_episodes->env);
    adl_buffers_clear(&run_episodes->shown);
}

static void reset(struct run_episodes *run_episodes, uint32_t i, uint64_t seed)
{
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_reset(run_episodes->env, i, seed, &run_episodes->shown, error))
        fail_msg("%s", error);
}

static void step_one(struct run_episodes *run_episodes, uint32_t i, int32_t action)
{
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_step_one(run_episodes->env, i, action, &run_episodes->shown, error))
        fail_msg("%s", error);
}

static int32_t any_action(const struct run_episodes *run_episodes, uint32_t i, struct adl_rng *rng)
{
    return (int32_t)adl_rng_below(rng, (uint32_t)run_episodes->shown.action_count[i]);
}

#define SAME(field, size, count)                                                                                       \
    assert_memory_equal(&a->shown.field[(size_t)i * (size)], &b->shown.field[(size_t)j * (size)],                      \
                        (count) * sizeof *a->shown.field)

/* Environment i of one shows just what environment j of the other does. */
static void assert_same(const struct run_episodes *a, uint32_t i, const struct run_episodes *b, uint32_t j)
{
    const struct adlro_shape *s = &a->shape;
    const size_t count = (size_t)a->shown.action_count[i];
    SAME(reward, 1, 1);
    SAME(elapsed_s, 1, 1);
    SAME(done, 1, 1);
    SAME(action_count, 1, 1);
    SAME(mask, s->actions, s->actions);
    if (a->shown.done[i])
        return;
    SAME(gpus, s->gpus * s->gpu_features, s->gpus * s->gpu_features);
    SAME(state, s->state_features, s->state_features);
    SAME(actions, s->actions * s->action_features, s->actions * s->action_features);
    SAME(member_offset, s->actions + 1, count + 1);
    SAME(members, s->members, (size_t)a->shown.member_offset[i * (s->actions + 1) + count]);
}

static void assert_same_result(struct run_episodes *a, uint32_t i, struct run_episodes *b, uint32_t j)
{
    struct adlro_result one, other;
    adlro_result(a->env, i, &one, sizeof one);
    adlro_result(b->env, j, &other, sizeof other);
    assert_memory_equal(&one, &other, sizeof one);
}

/* Both play the same random actions to the end. */
static void play_alike(struct run_episodes *a, struct run_episodes *b, struct adl_rng *rng)
{
    assert_same(a, 0, b, 0);
    while (!a->shown.done[0]) {
        const int32_t action = any_action(a, 0, rng);
        step_one(a, 0, action);
        step_one(b, 0, action);
        assert_same(a, 0, b, 0);
    }
    assert_same_result(a, 0, b, 0);
}

static const struct adlro_config plain = {.tail = 0.3};

static void equal_seeds_and_actions_give_equal_observations_and_results(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "actions");
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        struct run_episodes a = open_play(&scenario, &plain), b = open_play(&scenario, &plain);
        reset(&a, 0, seed);
        reset(&b, 0, seed);
        play_alike(&a, &b, &rng);
        struct adlro_result result;
        adlro_result(a.env, 0, &result, sizeof result);
        assert_int_equal(result.jobs, JOBS);
        close_play(&a);
        close_play(&b);
        adl_scenario_clear(&scenario);
    }
}

static void another_seed_gives_another_episode(void **state)
{
    (void)state;
    struct adl_scenario scenario = random_scenario(1, JOBS);
    struct run_episodes a = open_play(&scenario, &plain);
    double makespan_s[2];
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct adlro_result result;
        reset(&a, 0, seed);
        while (!a.shown.done[0])
            step_one(&a, 0, 0);
        adlro_result(a.env, 0, &result, sizeof result);
        makespan_s[seed] = result.makespan_s;
    }
    assert_true(makespan_s[0] != makespan_s[1]);
    close_play(&a);
    adl_scenario_clear(&scenario);
}

static void a_reset_after_any_number_of_steps_gives_a_fresh_environment(void **state)
{
    (void)state;
    static const int before[] = {0, 1, 7, 20, 1000000};
    struct adl_rng rng;
    adl_rng_seed(&rng, 2, "actions");
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        struct run_episodes used = open_play(&scenario, &plain);
        for (size_t k = 0; k < sizeof before / sizeof *before; k++) {
            struct run_episodes fresh = open_play(&scenario, &plain);
            reset(&used, 0, 100 + k);
            for (int n = 0; n < before[k] && !used.shown.done[0]; n++)
                step_one(&used, 0, any_action(&used, 0, &rng));
            reset(&used, 0, seed);
            reset(&fresh, 0, seed);
            play_alike(&used, &fresh, &rng);
            close_play(&fresh);
        }
        close_play(&used);
        adl_scenario_clear(&scenario);
    }
}

/* The same decisions by a policy of the engine: what the environment passes through has but one choice. */
static void always_taking_the_first_action_gives_the_run_of_a_policy_that_does(void **state)
{
    (void)state;
    driver_takes_first = true;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        struct run_episodes run_episodes = open_play(&scenario, &(struct adlro_config){.count = 1});
        struct adlro_result shown;
        struct adl_result all;
        reset(&run_episodes, 0, seed);
        double reward = run_episodes.shown.reward[0], elapsed_s = run_episodes.shown.elapsed_s[0];
        while (!run_episodes.shown.done[0]) {
            step_one(&run_episodes, 0, 0);
            reward += run_episodes.shown.reward[0];
            elapsed_s += run_episodes.shown.elapsed_s[0];
        }
        adlro_result(run_episodes.env, 0, &shown, sizeof shown);
        adl_environment_result(run_episodes.env, 0, &all);
        const struct adl_result run = driver_run(&scenario, seed, NULL);
        assert_true(shown.jobs == run.jobs && all.plan_hash == run.plan_hash);
        assert_true(shown.jct_mean_s == run.value[ADL_METRIC_JCT_MEAN]);
        assert_true(shown.jct_p99_s == run.value[ADL_METRIC_JCT_P99]);
        assert_true(shown.throughput_jobs_per_h == run.value[ADL_METRIC_THROUGHPUT]);
        assert_true(shown.gpu_utilization == run.value[ADL_METRIC_UTILIZATION]);
        assert_true(shown.makespan_s == run.value[ADL_METRIC_MAKESPAN]);
        assert_true(shown.reward == run.value[ADL_METRIC_REWARD]);
        assert_true(fabs(reward - shown.reward) <= 1e-9 * fabs(reward));
        assert_true(elapsed_s >= shown.makespan_s - 1e-6);
        close_play(&run_episodes);
        adl_scenario_clear(&scenario);
    }
    driver_takes_first = false;
}

static void what_is_not_offered_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    struct adl_scenario scenario = random_scenario(3, JOBS);
    struct run_episodes a = open_play(&scenario, &plain), b = open_play(&scenario, &plain);
    char error[ADLRO_ERROR_SIZE];
    struct adl_rng rng;
    adl_rng_seed(&rng, 3, "actions");
    reset(&a, 0, 1);
    reset(&b, 0, 1);
    while (!a.shown.done[0]) {
        const int32_t wrong[] = {-1, a.shown.action_count[0], INT32_MAX, INT32_MIN};
        for (int w = 0; w < 4; w++) {
            error[0] = 0;
            assert_int_equal(adlro_step_one(a.env, 0, wrong[w], &a.shown, error), ADL_EINVAL);
            assert_non_null(strstr(error, "is not offered"));
        }
        const int32_t action = any_action(&a, 0, &rng);
        step_one(&a, 0, action);
        step_one(&b, 0, action);
        assert_same(&a, 0, &b, 0);
    }
    assert_int_equal(adlro_step_one(a.env, 0, 0, &a.shown, error), ADL_EINVAL);
    assert_non_null(strstr(error, "reset it"));
    assert_int_equal(adlro_step_one(a.env, 1, 0, &a.shown, error), ADL_EINVAL);
    assert_int_equal(adlro_reset(a.env, 1, 0, &a.shown, NULL), ADL_EINVAL);
    assert_same_result(&a, 0, &b, 0);
    close_play(&a);
    close_play(&b);
    adl_scenario_clear(&scenario);
}

static void a_vector_with_one_wrong_action_does_not_step(void **state)
{
    (void)state;
    struct adl_scenario scenario = random_scenario(3, JOBS);
    struct run_episodes a = open_play(&scenario, &(struct adlro_config){.count = 3});
    struct run_episodes b = open_play(&scenario, &(struct adlro_config){.count = 3});
    const int32_t wrong[] = {0, 0, -1}, right[] = {0, 0, 0};
    char error[ADLRO_ERROR_SIZE] = "";
    for (uint32_t i = 0; i < 3; i++) {
        reset(&a, i, i);
        reset(&b, i, i);
        assert_false(a.shown.done[i]);
    }
    assert_int_equal(adlro_step(a.env, wrong, &a.shown, error), ADL_EINVAL);
    assert_non_null(strstr(error, "action -1 of environment 2 is not offered"));
    assert_int_equal(adlro_step(a.env, right, &a.shown, error), 0);
    assert_int_equal(adlro_step(b.env, right, &b.shown, error), 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_same(&a, i, &b, i);
    close_play(&a);
    close_play(&b);
    adl_scenario_clear(&scenario);
}

static void assert_bounded(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_true((values[i] >= 0 && values[i] <= 1) || values[i] == -1);
}

static void check_shown(const struct run_episodes *run_episodes)
{
    const struct adlro_shape *s = &run_episodes->shape;
    const struct adlro_buffers *b = &run_episodes->shown;
    const uint32_t count = (uint32_t)b->action_count[0];
    assert_int_equal(count == 0, b->done[0]);
    assert_true(count != 1 && count <= s->actions && b->elapsed_s[0] >= 0 && b->reward[0] <= 0);
    for (uint32_t a = 0; a < s->actions; a++)
        assert_int_equal(b->mask[a], a < count);
    if (count == 0)
        return;
    assert_int_equal(b->member_offset[0], 0);
    assert_true((uint32_t)b->member_offset[count] <= s->members);
    for (uint32_t a = 0; a < count; a++) /* the last may be to wait */
        assert_true(b->member_offset[a + 1] > b->member_offset[a] - (a == count - 1));
    for (int32_t m = 0; m < b->member_offset[count]; m++)
        assert_true(b->members[m] >= 0 && (uint32_t)b->members[m] < s->gpus);
    assert_bounded(b->gpus, (size_t)s->gpus * s->gpu_features);
    assert_bounded(b->state, s->state_features);
    assert_bounded(b->actions, (size_t)count * s->action_features);
}

static void mask_counts_and_members_agree_and_values_are_bounded_in_both_observations(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 4, "actions");
    for (uint64_t seed = 1; seed <= 2 * WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        const int observation = seed % 2 ? ADLRO_OBSERVATION_ALL : ADLRO_OBSERVATION_PAPER;
        struct run_episodes run_episodes = open_play(&scenario, &(struct adlro_config){.observation = observation});
        char error[ADLRO_ERROR_SIZE];
        if (seed % 4 >= 2)
            assert_int_equal(adlro_fit(run_episodes.env, 1000, 2, error), 0);
        reset(&run_episodes, 0, seed);
        check_shown(&run_episodes);
        while (!run_episodes.shown.done[0]) {
            step_one(&run_episodes, 0, any_action(&run_episodes, 0, &rng));
            check_shown(&run_episodes);
        }
        close_play(&run_episodes);
        adl_scenario_clear(&scenario);
    }
}

static void a_vector_of_four_is_four_environments(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 5, "actions");
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        struct run_episodes vector = open_play(&scenario, &(struct adlro_config){.count = 4}), single[4];
        uint32_t episode_count = 4;
        for (uint32_t i = 0; i < 4; i++) {
            single[i] = open_play(&scenario, &(struct adlro_config){.count = 1});
            reset(&vector, i, seed + i);
            reset(&single[i], 0, seed + i);
        }
        while (episode_count > 0) {
            char error[ADLRO_ERROR_SIZE];
            int32_t actions[4] = {0};
            bool was_done[4];
            episode_count = 0;
            for (uint32_t i = 0; i < 4; i++) {
                was_done[i] = vector.shown.done[i];
                actions[i] = was_done[i] ? -1 : any_action(&vector, i, &rng);
            }
            assert_int_equal(adlro_step(vector.env, actions, &vector.shown, error), 0);
            for (uint32_t i = 0; i < 4; i++) {
                if (was_done[i]) {
                    assert_true(vector.shown.reward[i] == 0 && vector.shown.elapsed_s[i] == 0);
                    continue;
                }
                step_one(&single[i], 0, actions[i]);
                assert_same(&vector, i, &single[i], 0);
                episode_count += !vector.shown.done[i];
            }
        }
        for (uint32_t i = 0; i < 4; i++) {
            assert_same_result(&vector, i, &single[i], 0);
            close_play(&single[i]);
        }
        close_play(&vector);
        adl_scenario_clear(&scenario);
    }
}

static void the_papers_observation_has_the_papers_shape_and_asks_about_one_job(void **state)
{
    (void)state;
    struct run_episodes run_episodes = {0};
    const struct adlro_config config = {.scenario = ADL_SOURCE_DIR "/scenarios/paper16.yaml",
                                        .observation = ADLRO_OBSERVATION_PAPER};
    char error[ADLRO_ERROR_SIZE];
    assert_int_equal(adlro_create(&config, &run_episodes.env, error), 0);
    adlro_shape(run_episodes.env, &run_episodes.shape, sizeof run_episodes.shape);
    assert_int_equal(run_episodes.shape.gpus, 16);
    assert_int_equal(run_episodes.shape.gpu_features, 1);
    assert_int_equal(run_episodes.shape.state_features, 6);
    assert_int_equal(adl_buffers_create(&run_episodes.shape, &run_episodes.shown), 0);
    reset(&run_episodes, 0, 1);
    for (int n = 0; !run_episodes.shown.done[0]; n++) {
        const int32_t *offset = run_episodes.shown.member_offset;
        /* One job on at most three types, so the gang is the same for all. */
        assert_true(run_episodes.shown.action_count[0] <= 3);
        for (int32_t a = 1; a < run_episodes.shown.action_count[0]; a++)
            assert_int_equal(offset[a + 1] - offset[a], offset[1]);
        step_one(&run_episodes, 0, n % run_episodes.shown.action_count[0]);
    }
    close_play(&run_episodes);
}

static void fitting_repeats_and_normalizes_features_without_a_range(void **state)
{
    (void)state;
    struct adl_scenario scenario = random_scenario(5, JOBS);
    struct run_episodes a = open_play(&scenario, &plain), b = open_play(&scenario, &plain),
                        c = open_play(&scenario, &plain);
    char error[ADLRO_ERROR_SIZE];
    assert_int_equal(adlro_fit(a.env, 7, 3, error), 0);
    assert_int_equal(adlro_fit(b.env, 7, 3, error), 0);
    assert_memory_equal(adl_environment_normalizer(a.env), adl_environment_normalizer(b.env),
                        sizeof(struct adl_normalizer));
    const float *fitted = adl_environment_normalizer(a.env)->scale, *wide = adl_environment_normalizer(c.env)->scale;
    assert_true(fitted[ADL_ACTION_REST] > wide[ADL_ACTION_REST]);
    assert_true(fitted[ADL_STATE_BUSY] == wide[ADL_STATE_BUSY]);
    close_play(&a);
    close_play(&b);
    close_play(&c);
    adl_scenario_clear(&scenario);
}

static void a_configuration_takes_effect_and_a_wrong_one_is_refused(void **state)
{
    (void)state;
    struct adlro_config config = {.scenario = ADL_SOURCE_DIR "/scenarios/paper16.yaml", .jobs = 12};
    struct adlro_environment *untouched = (struct adlro_environment *)&config, *env = untouched;
    char error[ADLRO_ERROR_SIZE] = "";
    double makespan_s[2];
    for (int i = 0; i < 2; i++) {
        struct run_episodes run_episodes = {0};
        struct adlro_result result;
        config.load = i ? 0.01 : 0; /* 0 = as the scenario says */
        assert_int_equal(adlro_create(&config, &run_episodes.env, error), 0);
        adlro_shape(run_episodes.env, &run_episodes.shape, sizeof run_episodes.shape);
        assert_int_equal(adl_buffers_create(&run_episodes.shape, &run_episodes.shown), 0);
        reset(&run_episodes, 0, 1);
        while (!run_episodes.shown.done[0])
            step_one(&run_episodes, 0, 0);
        adlro_result(run_episodes.env, 0, &result, sizeof result);
        assert_int_equal(result.jobs, 12);
        makespan_s[i] = result.makespan_s;
        close_play(&run_episodes);
    }
    assert_true(makespan_s[1] > 10 * makespan_s[0]);
    config.scenario = "there/is/none.yaml";
    assert_true(adlro_create(&config, &env, error) < 0);
    assert_non_null(strstr(error, "there/is/none.yaml"));
    config.scenario = NULL;
    assert_int_equal(adlro_create(&config, &env, error), ADL_EINVAL);
    assert_non_null(strstr(error, "config.scenario"));
    assert_ptr_equal(env, untouched);
    adlro_destroy(NULL);
}

/* ---- versions ---- */

#define TEXT_OF(number) #number
#define TEXT(macro)     TEXT_OF(macro)

static void the_library_has_the_version_of_its_header(void **state)
{
    (void)state;
    assert_string_equal(adlro_version(),
                        TEXT(ADLRO_VERSION_MAJOR) "." TEXT(ADLRO_VERSION_MINOR) "." TEXT(ADLRO_VERSION_PATCH));
}

/* A caller that was compiled with a later header. */
struct later_config {
    struct adlro_config config;
    uint64_t later;
};

static void a_config_of_another_version_is_read_as_far_as_it_is_known(void **state)
{
    (void)state;
    const char *path = ADL_SOURCE_DIR "/scenarios/paper16.yaml";
    struct adlro_environment *env = NULL;
    char error[ADLRO_ERROR_SIZE] = "";
    const size_t known[] = {0, sizeof(struct adlro_config), sizeof(struct later_config)};
    for (int i = 0; i < 3; i++) {
        const struct later_config given = {.config = {.size = known[i], .scenario = path, .count = 2}};
        struct adlro_shape shape;
        assert_int_equal(adlro_create(&given.config, &env, error), 0);
        adlro_shape(env, &shape, sizeof shape);
        assert_int_equal(shape.count, 2);
        adlro_destroy(env);
    }
    const struct later_config later = {{.size = sizeof later, .scenario = path}, .later = 1};
    assert_int_equal(adlro_create(&later.config, &env, error), ADL_EINVAL);
    assert_non_null(strstr(error, "members are set that libadlro"));
    const struct adlro_config cut = {.size = 8, .scenario = path};
    assert_int_equal(adlro_create(&cut, &env, error), ADL_EINVAL);
    assert_non_null(strstr(error, "config.size is 8"));
}

static void buffers_of_a_wrong_size_are_refused_and_nothing_moves(void **state)
{
    (void)state;
    struct adl_scenario scenario = random_scenario(3, JOBS);
    struct run_episodes a = open_play(&scenario, &plain);
    char error[ADLRO_ERROR_SIZE] = "";
    reset(&a, 0, 1);
    const int32_t action = 0, count = a.shown.action_count[0];
    struct adlro_buffers cut = a.shown;
    cut.size = 8;
    assert_int_equal(adlro_reset(a.env, 0, 2, &cut, error), ADL_EINVAL);
    assert_non_null(strstr(error, "buffers.size is 8"));
    assert_int_equal(adlro_step(a.env, &action, &cut, error), ADL_EINVAL);
    assert_int_equal(adlro_step_one(a.env, 0, action, &cut, error), ADL_EINVAL);
    assert_int_equal(a.shown.action_count[0], count);
    step_one(&a, 0, action);
    close_play(&a);
    adl_scenario_clear(&scenario);
}

static void no_more_of_a_struct_is_filled_than_the_caller_has(void **state)
{
    (void)state;
    struct adl_scenario scenario = random_scenario(1, JOBS);
    struct run_episodes a = open_play(&scenario, &plain);
    struct adlro_shape shape = {.actions = 7777};
    struct {
        struct adlro_result known;
        double later;
    } result = {.later = 1};
    adlro_shape(a.env, &shape, offsetof(struct adlro_shape, actions));
    assert_int_equal(shape.state_features, a.shape.state_features);
    assert_int_equal(shape.actions, 7777);
    reset(&a, 0, 1);
    adlro_result(a.env, 0, &result.known, sizeof result);
    assert_true(result.later == 0);
    close_play(&a);
    adl_scenario_clear(&scenario);
}

static void every_feature_of_a_shape_has_a_name_and_no_other_has(void **state)
{
    (void)state;
    struct adl_scenario scenario = random_scenario(1, JOBS);
    struct run_episodes a = open_play(&scenario, &plain);
    const uint32_t sizes[] = {a.shape.gpu_features, a.shape.state_features, a.shape.action_features};
    for (int row = ADLRO_ROW_GPU; row <= ADLRO_ROW_ACTION; row++) {
        for (uint32_t f = 0; f < sizes[row]; f++)
            assert_non_null(adlro_feature_name(ADLRO_OBSERVATION_ALL, row, f));
        assert_null(adlro_feature_name(ADLRO_OBSERVATION_ALL, row, sizes[row]));
    }
    assert_string_equal(adlro_feature_name(ADLRO_OBSERVATION_ALL, ADLRO_ROW_STATE, 0), "lambda");
    assert_string_equal(adlro_feature_name(ADLRO_OBSERVATION_PAPER, ADLRO_ROW_GPU, 0), "read_utilization");
    assert_string_equal(adlro_feature_name(ADLRO_OBSERVATION_PAPER, ADLRO_ROW_STATE, 5), "data");
    assert_null(adlro_feature_name(ADLRO_OBSERVATION_PAPER, ADLRO_ROW_STATE, 6));
    assert_null(adlro_feature_name(ADLRO_OBSERVATION_PAPER, ADLRO_ROW_ACTION, 0));
    assert_string_equal(adlro_feature_name(ADLRO_OBSERVATION_ACTIONS, ADLRO_ROW_ACTION, 0), "wait");
    assert_null(adlro_feature_name(ADLRO_OBSERVATION_ACTIONS, ADLRO_ROW_GPU, 0));
    assert_null(adlro_feature_name(4, ADLRO_ROW_STATE, 0));
    assert_null(adlro_feature_name(ADLRO_OBSERVATION_ALL, -1, 0));
    close_play(&a);
    adl_scenario_clear(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_seeds_and_actions_give_equal_observations_and_results),
        cmocka_unit_test(another_seed_gives_another_episode),
        cmocka_unit_test(a_reset_after_any_number_of_steps_gives_a_fresh_environment),
        cmocka_unit_test(always_taking_the_first_action_gives_the_run_of_a_policy_that_does),
        cmocka_unit_test(what_is_not_offered_is_refused_and_changes_nothing),
        cmocka_unit_test(a_vector_with_one_wrong_action_does_not_step),
        cmocka_unit_test(mask_counts_and_members_agree_and_values_are_bounded_in_both_observations),
        cmocka_unit_test(a_vector_of_four_is_four_environments),
        cmocka_unit_test(the_papers_observation_has_the_papers_shape_and_asks_about_one_job),
        cmocka_unit_test(fitting_repeats_and_normalizes_features_without_a_range),
        cmocka_unit_test(a_configuration_takes_effect_and_a_wrong_one_is_refused),
        cmocka_unit_test(the_library_has_the_version_of_its_header),
        cmocka_unit_test(a_config_of_another_version_is_read_as_far_as_it_is_known),
        cmocka_unit_test(buffers_of_a_wrong_size_are_refused_and_nothing_moves),
        cmocka_unit_test(no_more_of_a_struct_is_filled_than_the_caller_has),
        cmocka_unit_test(every_feature_of_a_shape_has_a_name_and_no_other_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
