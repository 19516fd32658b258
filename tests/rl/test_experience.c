/* Experience: observations are stored row by row, return targets are the lambda-returns by their definition, and the
 * baseline subtracted from them is the advantage of the other replicas. */
#include "base/rng.h"
#include "rl/experience.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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
    const struct adl_transition *transition = &e->transitions[at];
    const int32_t *offset = &shown->member_offset[cell * 6];
    assert_memory_equal(&e->gpus[at * 6], &shown->gpus[cell * 6], 6 * sizeof(float));
    assert_memory_equal(&e->state[at * 4], &shown->state[cell * 4], 4 * sizeof(float));
    assert_int_equal(transition->action_count, shown->action_count[cell]);
    assert_memory_equal(&e->actions[transition->action_first * 3], &shown->actions[cell * 15],
                        transition->action_count * 3 * sizeof(float));
    for (uint32_t a = 0; a < transition->action_count; a++) {
        const uint32_t *kept = &e->member_offset[transition->action_first + a];
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
            uint32_t at;
            taken[i] = adl_rng_below(&rng, (uint32_t)shown[i].action_count[cell]);
            assert_int_equal(adl_experience_add(&e, &shape, &buffers, cell, (int32_t)taken[i], &at), 0);
            assert_int_equal(at, i);
        }
        assert_int_equal(e.count, 40);
        for (uint32_t i = 0; i < 40; i++) {
            assert_kept(&e, i, &shown[i], i % EPISODES);
            assert_int_equal(e.transitions[i].action, taken[i]);
            assert_int_equal(e.transitions[i].next, ADL_NONE);
        }
        adl_experience_reset(&e);
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
static double n_step_return(const struct adl_transition *experience, uint32_t first, int n)
{
    double sum = 0, elapsed_s = 0;
    uint32_t at = first;
    for (int k = 0; k < n; k++) {
        sum += exp(-elapsed_s / HORIZON_S) * faded(experience[at].reward, experience[at].elapsed_s);
        elapsed_s += experience[at].elapsed_s;
        at = experience[at].next;
    }
    return at == ADL_NONE ? sum : sum + exp(-elapsed_s / HORIZON_S) * experience[at].value;
}

/* The mean of all n-step returns, weighted by (1 - lambda) lambda^(n - 1); the last, up to the end of the episode,
 * takes the rest of the weight. */
static double lambda_return(const struct adl_transition *experience, uint32_t first, double lambda)
{
    double sum = 0, weight = 1;
    int n = 1;
    for (uint32_t at = experience[first].next; at != ADL_NONE; at = experience[at].next, n++) {
        sum += weight * (1 - lambda) * n_step_return(experience, first, n);
        weight *= lambda;
    }
    return sum + weight * n_step_return(experience, first, n);
}

/* Parallel episodes, as a rollout adds them, each as long as it happens to be. */
static struct adl_experience random_transitions(uint64_t seed)
{
    struct adl_experience e;
    struct adl_rng rng;
    struct shown shown;
    uint32_t last[EPISODES] = {ADL_NONE, ADL_NONE, ADL_NONE}, length[EPISODES];
    double time_s[EPISODES];
    adl_rng_seed(&rng, seed, "lessons");
    adl_experience_init(&e, &shape);
    for (uint32_t r = 0; r < EPISODES; r++) {
        length[r] = 1 + adl_rng_below(&rng, LENGTH);
        time_s[r] = adl_rng_uniform(&rng);
    }
    for (uint32_t i = 0; i < EPISODES * LENGTH; i++) {
        const uint32_t replica = i % EPISODES;
        const struct adlro_buffers buffers = show_at_random(&rng, &shown);
        uint32_t at;
        if (i / EPISODES >= length[replica])
            continue;
        assert_int_equal(adl_experience_add(&e, &shape, &buffers, replica, 0, &at), 0);
        struct adl_transition *transition = &e.transitions[at];
        transition->reward = -100 * adl_rng_uniform(&rng);
        transition->elapsed_s = adl_rng_below(&rng, 4) ? adl_rng_below(&rng, 30) : 0;
        transition->value = -500 * adl_rng_uniform(&rng);
        transition->time_s = time_s[replica];
        transition->replica = (uint16_t)replica;
        time_s[replica] += transition->elapsed_s;
        if (last[replica] != ADL_NONE)
            e.transitions[last[replica]].next = at;
        last[replica] = at;
    }
    return e;
}

static void a_return_target_is_the_lambda_return_by_its_definition(void **state)
{
    (void)state;
    static const double lambdas[] = {0, 0.5, 0.9, 1};
    for (uint64_t seed = 0; seed < 12; seed++) {
        const double lambda = lambdas[seed % 4];
        struct adl_experience e = random_transitions(seed);
        adl_experience_set_targets(&e, HORIZON_S, lambda);
        for (uint32_t i = 0; i < e.count; i++) {
            const double expected = lambda_return(e.transitions, i, lambda);
            if (!(fabs(e.transitions[i].return_target - expected) <= 1e-7 * fabs(expected)))
                fail_msg("lambda %g, transition %u: return target %.12g, by definition %.12g", lambda, i,
                         e.transitions[i].return_target, expected);
            assert_true(e.transitions[i].advantage == e.transitions[i].return_target - e.transitions[i].value);
        }
        adl_experience_clear(&e);
    }
}

/* Of a replica at some time: that of its last decision up to then, of its first if it had made none. False if it made
 * none at all. */
static bool advantage_at(const struct adl_experience *e, uint32_t replica, double at_s, double *ret)
{
    bool found = false;
    for (uint32_t i = 0; i < e->count; i++)
        if (e->transitions[i].replica == replica && (!found || e->transitions[i].time_s <= at_s)) {
            *ret = e->transitions[i].advantage;
            found = true;
        }
    return found;
}

/* What is subtracted from transition `at`: four fifths of the mean over the other replicas. */
static double shared_advantage(const struct adl_experience *e, uint32_t at, uint32_t replicas)
{
    double sum = 0, advantage = 0;
    int others = 0;
    for (uint32_t r = 0; r < replicas; r++)
        if (r != e->transitions[at].replica && advantage_at(e, r, e->transitions[at].time_s, &advantage)) {
            sum += advantage;
            others++;
        }
    return others > 0 ? 0.8 * sum / others : 0;
}

static void the_advantage_of_the_others_at_the_time_is_subtracted(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const uint32_t replicas = EPISODES + (uint32_t)(seed % 2); /* the fourth made no decisions */
        struct adl_experience before = random_transitions(seed), after = random_transitions(seed);
        adl_experience_set_targets(&before, HORIZON_S, 0.9);
        adl_experience_set_targets(&after, HORIZON_S, 0.9);
        adl_experience_subtract_baseline(&after, replicas);
        for (uint32_t i = 0; i < before.count; i++) {
            const double expected = before.transitions[i].return_target - shared_advantage(&before, i, replicas);
            if (!(fabs(after.transitions[i].return_target - expected) <= 1e-9 * fabs(expected) + 1e-9))
                fail_msg("seed %d, transition %u: return target %.12g instead of %.12g", (int)seed, i,
                         after.transitions[i].return_target, expected);
        }
        adl_experience_clear(&before);
        adl_experience_clear(&after);
    }
}

static void a_replica_alone_keeps_its_targets(void **state)
{
    (void)state;
    struct adl_experience e = random_transitions(1);
    for (uint32_t i = 0; i < e.count; i++)
        e.transitions[i] =
            (struct adl_transition){.reward = -1, .elapsed_s = 1, .time_s = i, .value = -7, .next = i + 1};
    e.transitions[e.count - 1].next = ADL_NONE;
    adl_experience_set_targets(&e, HORIZON_S, 0.9);
    const double return_target = e.transitions[0].return_target;
    assert_true(e.transitions[0].advantage != 0);
    adl_experience_subtract_baseline(&e, 2);
    assert_true(e.transitions[0].return_target == return_target);
    adl_experience_clear(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(observations_are_stored_with_all_actions_that_were_offered),
        cmocka_unit_test(a_return_target_is_the_lambda_return_by_its_definition),
        cmocka_unit_test(the_advantage_of_the_others_at_the_time_is_subtracted),
        cmocka_unit_test(a_replica_alone_keeps_its_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
