/* Clones of an environment: equal actions have equal outcomes, neither notices what is done to the other, and an
 * environment can return to where its clone is. */
#include "random_scenario.h"
#include "rl/environment.h"

#include <cmocka.h>

#define WORLDS 12
#define JOBS   40

struct play {
    struct adlro_environment *env;
    struct adlro_shape shape;
    struct adlro_buffers shown;
};

static struct play open_play(const struct adl_scenario *scenario, const struct adlro_config *config)
{
    struct play play = {0};
    struct adl_error err = {.text = ""};
    if (adl_environment_create(scenario, config, &play.env, &err))
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

static int32_t any_action(const struct play *play, uint32_t i, struct adl_rng *rng)
{
    return (int32_t)adl_rng_below(rng, (uint32_t)play->shown.action_count[i]);
}

static const struct adlro_config plain = {.tail = 0.3};

/* Both play the same random actions to the end, and see and get the same. */
static void play_alike(struct play *a, struct play *b, struct adl_rng *rng)
{
    const struct adlro_shape *s = &a->shape;
    struct adlro_result one, other;
    while (!a->shown.done[0]) {
        assert_int_equal(a->shown.action_count[0], b->shown.action_count[0]);
        assert_memory_equal(a->shown.gpus, b->shown.gpus, s->gpus * s->gpu_features * sizeof *a->shown.gpus);
        assert_memory_equal(a->shown.state, b->shown.state, s->state_features * sizeof *a->shown.state);
        const int32_t action = any_action(a, 0, rng);
        step_one(a, 0, action);
        step_one(b, 0, action);
        assert_true(a->shown.reward[0] == b->shown.reward[0] && a->shown.elapsed_s[0] == b->shown.elapsed_s[0]);
    }
    assert_true(b->shown.done[0]);
    adlro_result(a->env, 0, &one, sizeof one);
    adlro_result(b->env, 0, &other, sizeof other);
    assert_memory_equal(&one, &other, sizeof one);
}

static struct play clone_play(const struct play *original)
{
    struct play clone = {.shape = original->shape};
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_clone(original->env, &clone.env, error))
        fail_msg("%s", error);
    assert_int_equal(adl_buffers_create(&clone.shape, &clone.shown), 0);
    return clone;
}

static void restore(struct play *to, const struct play *from)
{
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_restore(to->env, 0, from->env, 0, &to->shown, error))
        fail_msg("%s", error);
    assert_true(to->shown.reward[0] == 0 && to->shown.elapsed_s[0] == 0);
}

static void play_some(struct play *it, uint32_t steps, struct adl_rng *rng)
{
    for (uint32_t i = 0; i < steps && !it->shown.done[0]; i++)
        step_one(it, 0, any_action(it, 0, rng));
}

/* In the middle of an episode; and again, after the clone has gone another way. */
static void a_clone_goes_on_as_the_original_and_can_return(void **unused)
{
    (void)unused;
    for (uint64_t w = 0; w < WORLDS; w++) {
        struct adl_scenario scenario = random_scenario(w, JOBS);
        struct play a = open_play(&scenario, &plain);
        struct adl_rng rng;
        adl_rng_seed(&rng, w, "clone");
        reset(&a, 0, w);
        play_some(&a, (uint32_t)(3 + 2 * w), &rng);
        struct play b = clone_play(&a);
        restore(&b, &a);
        play_some(&b, 1000, &rng);
        restore(&b, &a);
        restore(&a, &a); /* shows it again, with no reward since */
        play_alike(&a, &b, &rng);
        restore(&b, &a);
        assert_true(b.shown.done[0]);
        close_play(&a);
        reset(&b, 0, w + 1); /* it outlives the original */
        play_some(&b, 1000, &rng);
        close_play(&b);
        adl_scenario_clear(&scenario);
    }
}

static void a_clone_keeps_the_scenario_that_the_original_loaded(void **unused)
{
    (void)unused;
    const struct adlro_config config = {.size = sizeof config, .scenario = "paper16", .jobs = 20};
    struct play a = {0};
    struct adl_rng rng;
    char error[ADLRO_ERROR_SIZE] = "";
    if (adlro_create(&config, &a.env, error))
        fail_msg("%s", error);
    adlro_shape(a.env, &a.shape, sizeof a.shape);
    assert_int_equal(adl_buffers_create(&a.shape, &a.shown), 0);
    adl_rng_seed(&rng, 1, "clone");
    reset(&a, 0, 1);
    struct play b = clone_play(&a);
    close_play(&a);
    reset(&b, 0, 1);
    play_some(&b, 1000, &rng);
    assert_true(b.shown.done[0]);
    close_play(&b);
}

static void what_cannot_be_restored_is_refused(void **unused)
{
    (void)unused;
    char error[ADLRO_ERROR_SIZE] = "";
    struct adl_scenario one = random_scenario(1, JOBS), other = random_scenario(2, JOBS);
    struct play a = open_play(&one, &plain), b = open_play(&other, &plain);
    assert_int_equal(adlro_restore(a.env, 0, b.env, 0, &a.shown, error), ADL_EINVAL);
    assert_non_null(strstr(error, "not related"));
    assert_int_equal(adlro_restore(a.env, 1, a.env, 0, &a.shown, error), ADL_EINVAL);
    assert_string_equal(error, "environment 1 of 1");
    assert_int_equal(adlro_restore(a.env, 0, a.env, 1, &a.shown, error), ADL_EINVAL);
    close_play(&a);
    close_play(&b);
    adl_scenario_clear(&one);
    adl_scenario_clear(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clone_goes_on_as_the_original_and_can_return),
        cmocka_unit_test(a_clone_keeps_the_scenario_that_the_original_loaded),
        cmocka_unit_test(what_cannot_be_restored_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
