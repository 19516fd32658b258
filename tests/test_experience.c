/* Experience: what was shown is kept row by row, and worths are the lambda returns that their definition gives. */
#include "base/rng.h"
#include "learn/experience.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define EPISODES  3
#define LENGTH    12
#define HORIZON_S 50.0

static const struct adlro_shape shape = {.count = EPISODES,
                                         .gpus = 3,
                                         .gpu_features = 2,
                                         .state_features = 4,
                                         .actions = 5,
                                         .action_features = 3,
                                         .members = 8};

struct shown {
    float gpus[EPISODES * 6], state[EPISODES * 4], actions[EPISODES * 15];
    int32_t member_offset[EPISODES * 6], members[EPISODES * 8];
};

static struct adlro_buffers show_at_random(struct adl_rng *rng, struct shown *shown)
{
    for (size_t i = 0; i < EPISODES * 6; i++)
        shown->gpus[i] = (float)adl_rng_uniform(rng);
    for (size_t i = 0; i < EPISODES * 4; i++)
        shown->state[i] = (float)adl_rng_uniform(rng);
    for (size_t i = 0; i < EPISODES * 15; i++)
        shown->actions[i] = (float)adl_rng_uniform(rng);
    for (size_t i = 0; i < EPISODES * 8; i++)
        shown->members[i] = (int32_t)adl_rng_below(rng, 3);
    for (int e = 0; e < EPISODES; e++) {
        static const int32_t offsets[6] = {0, 1, 3, 4, 7, 8};
        for (int a = 0; a < 6; a++)
            shown->member_offset[e * 6 + a] = offsets[a];
    }
    return (struct adlro_buffers){.gpus = shown->gpus,
                                  .state = shown->state,
                                  .actions = shown->actions,
                                  .member_offset = shown->member_offset,
                                  .members = shown->members};
}

static void what_was_shown_is_kept_and_of_the_actions_the_one_taken(void **state)
{
    (void)state;
    struct adl_experience e;
    struct adl_rng rng;
    struct shown shown[40];
    int32_t taken[40];
    adl_rng_seed(&rng, 1, "shown");
    adl_experience_init(&e, &shape);
    for (uint32_t i = 0; i < 40; i++) {
        const struct adlro_buffers buffers = show_at_random(&rng, &shown[i]);
        uint32_t at;
        taken[i] = (int32_t)adl_rng_below(&rng, 5);
        assert_int_equal(adl_experience_add(&e, &shape, &buffers, i % EPISODES, taken[i], &at), 0);
        assert_int_equal(at, i);
    }
    for (uint32_t i = 0; i < 40; i++) {
        const uint32_t cell = i % EPISODES;
        const int32_t *offset = &shown[i].member_offset[cell * 6 + (uint32_t)taken[i]];
        const struct adl_lesson *lesson = &e.lessons[i];
        assert_memory_equal(&e.gpus[i * 6], &shown[i].gpus[cell * 6], 6 * sizeof(float));
        assert_memory_equal(&e.state[i * 4], &shown[i].state[cell * 4], 4 * sizeof(float));
        assert_memory_equal(&e.actions[i * 3], &shown[i].actions[cell * 15 + (uint32_t)taken[i] * 3],
                            3 * sizeof(float));
        assert_int_equal(lesson->member_count, offset[1] - offset[0]);
        assert_memory_equal(&e.members[lesson->member_first], &shown[i].members[cell * 8 + (uint32_t)offset[0]],
                            lesson->member_count * sizeof(int32_t));
        assert_int_equal(lesson->next, ADL_NONE);
    }
    adl_experience_clear(&e);
    adl_experience_clear(&e);
}

/* Reward that falls evenly over some seconds and fades, by Simpson's rule. */
static double faded(double reward, double elapsed_s)
{
    const int steps = 200;
    double sum = 0;
    for (int i = 0; i <= steps; i++)
        sum += exp(-elapsed_s * i / steps / HORIZON_S) * (i == 0 || i == steps ? 1 : i % 2 ? 4 : 2);
    return reward * sum / (3.0 * steps);
}

/* The rewards of n decisions from the first on, and then what the policy expected; without that at the end. */
static double n_step_return(const struct adl_lesson *lessons, uint32_t first, int n)
{
    double sum = 0, elapsed_s = 0;
    uint32_t at = first;
    for (int k = 0; k < n; k++) {
        sum += exp(-elapsed_s / HORIZON_S) * faded(lessons[at].reward, lessons[at].elapsed_s);
        elapsed_s += lessons[at].elapsed_s;
        at = lessons[at].next;
    }
    return at == ADL_NONE ? sum : sum + exp(-elapsed_s / HORIZON_S) * lessons[at].value;
}

/* The mean of all n-step returns, weighted by (1 - lambda) lambda^(n - 1), up to the end of the episode or the next
 * explored action, which takes the rest of the weight. */
static double lambda_return(const struct adl_lesson *lessons, uint32_t first, double lambda)
{
    double sum = 0, weight = 1;
    uint32_t at = lessons[first].next;
    int n = 1;
    for (; at != ADL_NONE && !lessons[at].explored; at = lessons[at].next, n++) {
        sum += weight * (1 - lambda) * n_step_return(lessons, first, n);
        weight *= lambda;
    }
    return sum + weight * n_step_return(lessons, first, n);
}

/* Episodes side by side, as a player fills them. */
static struct adl_experience random_lessons(uint64_t seed, double explored)
{
    struct adl_experience e;
    struct adl_rng rng;
    struct shown shown;
    uint32_t last[EPISODES];
    adl_rng_seed(&rng, seed, "lessons");
    adl_experience_init(&e, &shape);
    for (uint32_t i = 0; i < EPISODES * LENGTH; i++) {
        const struct adlro_buffers buffers = show_at_random(&rng, &shown);
        uint32_t at;
        assert_int_equal(adl_experience_add(&e, &shape, &buffers, i % EPISODES, 0, &at), 0);
        struct adl_lesson *lesson = &e.lessons[at];
        lesson->reward = -100 * adl_rng_uniform(&rng);
        lesson->elapsed_s = adl_rng_below(&rng, 4) ? 30 * adl_rng_uniform(&rng) : 0;
        lesson->value = -500 * adl_rng_uniform(&rng);
        lesson->explored = adl_rng_uniform(&rng) < explored;
        if (i >= EPISODES)
            e.lessons[last[i % EPISODES]].next = at;
        last[i % EPISODES] = at;
    }
    return e;
}

static void a_worth_is_the_lambda_return_by_its_definition(void **state)
{
    (void)state;
    static const double lambdas[] = {0, 0.5, 0.9, 1}, explored[] = {0, 0.3, 1};
    for (uint64_t seed = 0; seed < 12; seed++) {
        const double lambda = lambdas[seed % 4];
        struct adl_experience e = random_lessons(seed, explored[seed / 4]);
        adl_experience_settle(&e, HORIZON_S, lambda);
        for (uint32_t i = 0; i < e.count; i++) {
            const double expected = lambda_return(e.lessons, i, lambda);
            if (!(fabs(e.lessons[i].worth - expected) <= 1e-7 * fabs(expected)))
                fail_msg("lambda %g, lesson %u: worth %.12g, by definition %.12g", lambda, i, e.lessons[i].worth,
                         expected);
        }
        adl_experience_clear(&e);
    }
}

/* What comes after an explored action says nothing of the policy. */
static void nothing_beyond_an_explored_action_counts(void **state)
{
    (void)state;
    struct adl_experience e = random_lessons(1, 0);
    e.lessons[2 * EPISODES].explored = true;
    adl_experience_settle(&e, HORIZON_S, 1);
    const double first = e.lessons[0].worth, own = e.lessons[2 * EPISODES].worth;
    e.lessons[4 * EPISODES].reward -= 1000;
    adl_experience_settle(&e, HORIZON_S, 1);
    assert_true(e.lessons[0].worth == first);
    assert_true(e.lessons[2 * EPISODES].worth < own);
    adl_experience_clear(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_shown_is_kept_and_of_the_actions_the_one_taken),
        cmocka_unit_test(a_worth_is_the_lambda_return_by_its_definition),
        cmocka_unit_test(nothing_beyond_an_explored_action_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
