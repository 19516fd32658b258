/* Experience: observations are stored row by row, and targets with the actions that were tried. */
#include "base/rng.h"
#include "rl/experience.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define EPISODES 3

static const struct adlro_shape shape = {.count = EPISODES,
                                         .gpus = 3,
                                         .gpu_features = 2,
                                         .state_features = 4,
                                         .actions = 5,
                                         .action_features = 3,
                                         .members = 8};

struct shown {
    float gpus[EPISODES * 6], state[EPISODES * 4], actions[EPISODES * 15];
    int32_t action_count[EPISODES], member_offset[EPISODES * 6], members[EPISODES * 8];
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
        shown->action_count[e] = 1 + (int32_t)adl_rng_below(rng, 5);
    }
    return (struct adlro_buffers){.gpus = shown->gpus,
                                  .state = shown->state,
                                  .actions = shown->actions,
                                  .action_count = shown->action_count,
                                  .member_offset = shown->member_offset,
                                  .members = shown->members};
}

static void assert_kept(const struct adl_experience *e, uint32_t at, const struct shown *shown, uint32_t cell)
{
    const struct adl_tried_decision *it = &e->decisions[at];
    const int32_t *offset = &shown->member_offset[cell * 6];
    assert_memory_equal(&e->gpus[at * 6], &shown->gpus[cell * 6], 6 * sizeof(float));
    assert_memory_equal(&e->state[at * 4], &shown->state[cell * 4], 4 * sizeof(float));
    assert_int_equal(it->action_count, shown->action_count[cell]);
    assert_memory_equal(&e->actions[it->action_first * 3], &shown->actions[cell * 15],
                        it->action_count * 3 * sizeof(float));
    for (uint32_t a = 0; a < it->action_count; a++) {
        const uint32_t *kept = &e->member_offset[it->action_first + a];
        assert_int_equal(kept[1] - kept[0], offset[a + 1] - offset[a]);
        assert_memory_equal(&e->members[kept[0]], &shown->members[cell * 8 + (uint32_t)offset[a]],
                            (kept[1] - kept[0]) * sizeof(int32_t));
    }
}

static void observations_are_stored_with_all_actions_that_were_offered(void **state)
{
    (void)state;
    struct adl_experience e;
    struct adl_rng rng;
    struct shown shown[40];
    uint32_t taken[40];
    adl_rng_seed(&rng, 1, "shown");
    adl_experience_init(&e, &shape);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 40; i++) {
            const uint32_t cell = i % EPISODES;
            const struct adlro_buffers buffers = show_at_random(&rng, &shown[i]);
            float *targets;
            taken[i] = adl_rng_below(&rng, (uint32_t)shown[i].action_count[cell]);
            assert_int_equal(adl_experience_add(&e, &shape, &buffers, cell, (int32_t)taken[i], &targets), 0);
        }
        assert_int_equal(e.count, 40);
        for (uint32_t i = 0; i < 40; i++) {
            assert_kept(&e, i, &shown[i], i % EPISODES);
            assert_int_equal(e.decisions[i].greedy, taken[i]);
        }
        adl_experience_reset(&e);
    }
    adl_experience_clear(&e);
    adl_experience_clear(&e);
}

/* Only what was tried has a target. */
static void targets_stay_with_their_actions(void **state)
{
    (void)state;
    struct adl_experience e;
    struct adl_rng rng;
    struct shown shown;
    adl_rng_seed(&rng, 2, "shown");
    adl_experience_init(&e, &shape);
    for (uint32_t i = 0; i < 40; i++) {
        const struct adlro_buffers buffers = show_at_random(&rng, &shown);
        float *targets;
        assert_int_equal(adl_experience_add(&e, &shape, &buffers, 0, 0, &targets), 0);
        targets[shown.action_count[0] - 1] = (float)i;
    }
    for (uint32_t i = 0; i < 40; i++) {
        const struct adl_tried_decision *it = &e.decisions[i];
        for (uint32_t a = 0; a + 1 < it->action_count; a++)
            assert_true(isnan(e.targets[it->action_first + a]));
        assert_true(e.targets[it->action_first + it->action_count - 1] == (float)i);
    }
    adl_experience_clear(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(observations_are_stored_with_all_actions_that_were_offered),
        cmocka_unit_test(targets_stay_with_their_actions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
