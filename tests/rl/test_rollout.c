/* Comparisons of actions: the target of an action is the difference of two returns, that of the same episode with it in
 * the place of the agent's own choice and that of the episode as the agent plays it. */
#include "rl/rollout.h"
#include "tiny_scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HORIZON_S 1e6 /* so long that nothing is discounted */
#define PRIOR     0.125
#define FEATURES  64

struct player {
    struct adl_scenario scenario;
    struct adl_qnet net;
    struct adl_rollout *rollout;
    float rule[FEATURES]; /* an arbitrary one, so that it often differs from the best action */
};

static void start(struct player *p)
{
    const struct adlro_config config = {.observation = ADLRO_OBSERVATION_ACTIONS};
    struct adlro_environment *env = NULL;
    struct adl_error err = {.text = ""};
    struct adlro_shape shape;
    struct adl_rng rng;
    p->scenario = tiny_start(40);
    for (int t = 0; t < 2; t++)
        tiny_node(&p->scenario, tiny_type(&p->scenario), 2);
    for (int c = 0; c < 2; c++) {
        struct adl_job_class *class = tiny_class(&p->scenario, ADL_KIND_TRAINING, 1.0, 0.5);
        struct adl_mix *mix = tiny_mix(&p->scenario, (uint32_t)c, 8, 1, 0);
        class->steps_per_s[!c] = 0.25;
        mix->reference = (uint32_t)c;
        mix->sigma = 0.5;
        mix->min_s = 2;
        mix->max_s = 30;
    }
    p->scenario.workload.arrivals.process = ADL_ARRIVAL_POISSON;
    p->scenario.workload.arrivals.rate_per_h = 900;
    assert_int_equal(adl_environment_create(&p->scenario, &config, &env, &err), 0);
    adlro_shape(env, &shape, sizeof shape);
    adlro_destroy(env);
    const struct adl_qnet_shape net = {.kind = ADL_QNET_SHARED,
                                       .gpu_features = (int)shape.gpu_features,
                                       .state_features = (int)shape.state_features,
                                       .action_features = (int)shape.action_features,
                                       .gpu_width = 16,
                                       .head_width = 16};
    assert_int_equal(adl_qnet_make(&net, adl_kernels_choose(false), &p->net, &err), 0);
    assert_int_equal(adl_rollout_create(&p->scenario, &config, &p->net, &p->rollout, &err), 0);
    assert_true(shape.action_features <= FEATURES);
    adl_rng_seed(&rng, 3, "rule");
    for (uint32_t f = 0; f < shape.action_features; f++)
        p->rule[f] = (float)adl_rng_normal(&rng);
}

static void stop(struct player *p)
{
    adl_rollout_destroy(p->rollout);
    adl_scenario_clear(&p->scenario);
}

static float value_of(const struct player *p, uint32_t action)
{
    const size_t size = p->rollout->shape.action_features;
    float sum = 0;
    for (size_t f = 0; f < size; f++)
        sum += p->rule[f] * p->rollout->buffers.actions[action * size + f];
    return sum;
}

static int32_t greedy(const struct player *p)
{
    uint32_t best = 0;
    for (uint32_t a = 1; a < (uint32_t)p->rollout->buffers.action_count[0]; a++)
        best = value_of(p, a) > value_of(p, best) ? a : best;
    return (int32_t)best;
}

/* Plays an episode in cell 0, with one decision decided otherwise; returns its sum of rewards. at < 0: none is.
 * *ret_at: the decision that shows these rows. */
static double play(const struct player *p, uint64_t seed, int at, int32_t action, const float *rows, size_t row_count,
                   int *ret_at)
{
    const struct adlro_buffers *shown = &p->rollout->buffers;
    double sum = 0;
    assert_int_equal(adlro_reset(p->rollout->env, 0, seed, shown, NULL), 0);
    for (int d = 0; !shown->done[0]; d++) {
        if (ret_at && memcmp(shown->actions, rows, row_count * sizeof *rows) == 0)
            *ret_at = d;
        assert_int_equal(adlro_step_one(p->rollout->env, 0, d == at ? action : greedy(p), shown, NULL), 0);
        sum += shown->reward[0];
    }
    return sum;
}

static void a_target_is_the_difference_of_two_episodes(void **state)
{
    (void)state;
    struct player p;
    struct adl_experience e;
    struct adl_error err = {.text = ""};
    uint32_t tried = 0, differ = 0;
    start(&p);
    adl_experience_init(&e, &p.rollout->shape);
    const struct adl_agent agent = {.rule = p.rule, .prior = PRIOR};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct adl_rng rng;
        double returned = 0;
        uint64_t decisions = 0;
        int at = -1;
        adl_rng_seed(&rng, seed, "compare");
        adl_experience_reset(&e);
        assert_int_equal(adl_rollout_compare(p.rollout, &agent, seed, HORIZON_S, &rng, &e, &returned, &decisions, &err),
                         0);
        assert_int_equal(e.count, 1);
        const struct adl_tried_decision *it = &e.decisions[0];
        const double own = play(&p, seed, -1, 0, e.actions, it->action_count * e.action_size, &at);
        assert_true(at >= 0 && returned == own);
        assert_true(isnan(e.targets[it->greedy]));
        for (uint32_t a = 0; a < it->action_count; a++) {
            if (isnan(e.targets[a]))
                continue;
            float by_rule = 0;
            for (size_t f = 0; f < e.action_size; f++)
                by_rule += p.rule[f] * (e.actions[a * e.action_size + f] - e.actions[it->greedy * e.action_size + f]);
            const double gained_s = play(&p, seed, at, (int32_t)a, NULL, 0, NULL) - own;
            const double target = gained_s / HORIZON_S + PRIOR * (double)by_rule;
            if (!(fabs((double)e.targets[a] - target) < 1e-5))
                fail_msg("seed %d, action %u: target %g, expected %g", (int)seed, a, (double)e.targets[a], target);
            differ += gained_s != 0;
            tried++;
        }
    }
    assert_true(tried > 6 && differ > 3);
    adl_experience_clear(&e);
    stop(&p);
}

/* Rewards of one hour from now on hardly count with a horizon of a second. */
static void rewards_are_discounted(void **state)
{
    (void)state;
    struct player p;
    struct adl_experience e;
    struct adl_error err = {.text = ""};
    double sizes[2] = {0};
    start(&p);
    adl_experience_init(&e, &p.rollout->shape);
    const struct adl_agent agent = {.rule = p.rule};
    for (int far = 0; far < 2; far++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            const double horizon_s = far ? 1e4 : 1;
            struct adl_rng rng;
            double returned;
            uint64_t decisions;
            adl_rng_seed(&rng, seed, "compare");
            adl_experience_reset(&e);
            assert_int_equal(
                adl_rollout_compare(p.rollout, &agent, seed, horizon_s, &rng, &e, &returned, &decisions, &err), 0);
            for (size_t a = 0; a < e.action_count; a++)
                sizes[far] += isnan(e.targets[a]) ? 0 : fabs((double)e.targets[a]) * horizon_s;
        }
    assert_true(sizes[1] > 4 * sizes[0]);
    adl_experience_clear(&e);
    stop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_the_difference_of_two_episodes),
        cmocka_unit_test(rewards_are_discounted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
