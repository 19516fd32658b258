/* Both networks against a reference in double precision, values and gradients. */
#include "nn_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const struct adl_qnet_shape shapes[] = {
    {ADL_QNET_SHARED, 5, 3, 7, 16, 32, 0},
    {ADL_QNET_SHARED, 12, 0, 0, 32, 16, 0},
    {ADL_QNET_PAPER, 1, 5, 0, 32, 48, 6},
    {ADL_QNET_PAPER, 1, 2, 0, 16, 16, 17},
};
#define SHAPE_COUNT (sizeof shapes / sizeof *shapes)

struct setup {
    struct adl_qnet net;
    struct adl_qnet_workspace *workspace;
    struct nn_sample sample;
    float *params;
    double *exact; /* the same parameters */
    int actions;
};

static void setup_make(const struct adl_qnet_shape *shape, const struct adl_kernels *kernels, uint64_t seed,
                       struct setup *ret)
{
    struct adl_error err = {{0}};
    struct adl_rng rng;
    struct setup s = {0};
    const struct adl_qnet_limits limits = {9, 9 * 17, 9 * 8};
    assert_int_equal(adl_qnet_make(shape, kernels, &s.net, &err), 0);
    assert_int_equal(adl_qnet_workspace_create(&s.net, &limits, &s.workspace, &err), 0);
    adl_rng_seed(&rng, seed, "gradients");
    s.params = nn_numbers(s.net.parameter_count);
    adl_qnet_init(&s.net, &rng, s.params);
    s.exact = nn_must_have(calloc(s.net.parameter_count, sizeof *s.exact));
    /* Biases and last layers of a size that shows, padding left at zero. */
    for (int l = 0; l < s.net.layer_count; l++) {
        const struct adl_qnet_layer *layer = &s.net.layers[l];
        for (int o = 0; layer->bias != SIZE_MAX && o < layer->outputs; o++)
            s.params[layer->bias + (size_t)o] = (float)(adl_rng_uniform(&rng) - 0.3);
        for (int i = 0; layer->outputs == 1 && i < layer->inputs; i++)
            s.params[layer->weights + (size_t)i] = (float)(adl_rng_uniform(&rng) - 0.5);
    }
    for (size_t i = 0; i < s.net.parameter_count; i++)
        s.exact[i] = (double)s.params[i];
    nn_sample_make(&rng, shape, 9, 17, 8, &s.sample);
    s.actions = s.sample.action_offset[9];
    *ret = s;
}

static void setup_clear(struct setup *s)
{
    adl_qnet_workspace_destroy(s->workspace);
    nn_sample_clear(&s->sample);
    free(s->params);
    free(s->exact);
}

static void networks_agree_with_the_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPE_COUNT * BUILD_COUNT; i++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct setup s;
            setup_make(&shapes[i / BUILD_COUNT], build_at(i % BUILD_COUNT), seed, &s);
            float *q = nn_numbers((size_t)s.actions);
            double *wanted = nn_must_have(calloc((size_t)s.actions + 1, sizeof *wanted));
            adl_qnet_forward(&s.net, s.params, &s.sample.batch, s.workspace, q);
            reference_forward(&s.net, s.exact, &s.sample.batch, wanted);
            for (int a = 0; a < s.actions; a++)
                assert_true(fabs((double)q[a] - wanted[a]) <= 1e-4 * (fabs(wanted[a]) + 0.1));
            free(q), free(wanted);
            setup_clear(&s);
        }
}

static double weighted_sum(const struct setup *s, const float *dq, double *q)
{
    double sum = 0;
    reference_forward(&s->net, s->exact, &s->sample.batch, q);
    for (int a = 0; a < s->actions; a++)
        sum += (double)dq[a] * q[a];
    return sum;
}

/* Difference of the reference, which in double precision leaves a step so small that it hardly ever crosses a kink. */
static void check_gradients(const struct adl_qnet_shape *shape, const struct adl_kernels *kernels, uint64_t seed)
{
    struct setup s;
    struct adl_rng rng;
    adl_rng_seed(&rng, seed, "dq");
    setup_make(shape, kernels, seed, &s);
    float *q = nn_numbers((size_t)s.actions), *dq = random_numbers(&rng, (size_t)s.actions);
    float *grads = nn_numbers(s.net.parameter_count);
    double *unused = nn_must_have(calloc((size_t)s.actions + 1, sizeof *unused));
    adl_qnet_forward(&s.net, s.params, &s.sample.batch, s.workspace, q);
    adl_qnet_backward(&s.net, s.params, &s.sample.batch, s.workspace, dq, grads);
    double largest = 0;
    for (size_t i = 0; i < s.net.parameter_count; i++)
        largest = fmax(largest, fabs((double)grads[i]));
    assert_true(largest > 0.1);
    for (size_t i = 0; i < s.net.parameter_count; i += 1 + adl_rng_below(&rng, 97)) {
        const double at = s.exact[i], step = 1e-6;
        s.exact[i] = at + step;
        const double above = weighted_sum(&s, dq, unused);
        s.exact[i] = at - step;
        const double below = weighted_sum(&s, dq, unused);
        s.exact[i] = at;
        const double wanted = (above - below) / (2 * step);
        if (!(fabs(wanted - (double)grads[i]) <= 1e-4 * (fabs(wanted) + 0.1 * largest)))
            fail_msg("%s, seed %d, parameter %zu: %g instead of %g", adl_qnet_kind_name(shape->kind), (int)seed, i,
                     (double)grads[i], wanted);
    }
    free(q), free(dq), free(grads), free(unused);
    setup_clear(&s);
}

static void gradients_are_those_of_finite_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPE_COUNT * BUILD_COUNT; i++)
        check_gradients(&shapes[i / BUILD_COUNT], build_at(i % BUILD_COUNT), 1 + i % 2);
}

static void padding_of_weights_gets_no_gradient(void **state)
{
    (void)state;
    struct setup s;
    setup_make(&shapes[3], adl_kernels_choose(true), 3, &s); /* 18 outputs in two panels */
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "dq");
    float *q = nn_numbers((size_t)s.actions), *dq = random_numbers(&rng, (size_t)s.actions);
    float *grads = nn_numbers(s.net.parameter_count);
    const struct adl_qnet_layer *layer = &s.net.layers[ADL_QNET_OUTPUT];
    adl_qnet_forward(&s.net, s.params, &s.sample.batch, s.workspace, q);
    adl_qnet_backward(&s.net, s.params, &s.sample.batch, s.workspace, dq, grads);
    for (int o = layer->outputs; o < 32; o++) {
        assert_true(grads[layer->bias + (size_t)o] == 0);
        for (int i = 0; i < layer->inputs; i++)
            assert_true(grads[layer->weights + panel_index(layer->inputs, i, o)] == 0);
    }
    free(q), free(dq), free(grads);
    setup_clear(&s);
}

/* The last state's values, computed alone and behind others: the same bits. */
static void a_state_gives_the_same_bits_wherever_it_stands(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPE_COUNT * BUILD_COUNT; i++) {
        struct setup s;
        setup_make(&shapes[i / BUILD_COUNT], build_at(i % BUILD_COUNT), 4, &s);
        float *q = nn_numbers((size_t)s.actions), *alone = nn_numbers((size_t)s.actions);
        adl_qnet_forward(&s.net, s.params, &s.sample.batch, s.workspace, q);
        for (int n = 0; n < 9; n++) {
            const struct adl_qnet_batch *all = &s.sample.batch;
            const int gpu = all->gpu_offset[n], action = all->action_offset[n];
            const int gpu_offset[2] = {0, all->gpu_offset[n + 1] - gpu};
            const int count = all->action_offset[n + 1] - action, action_offset[2] = {0, count};
            const struct adl_qnet_batch one = {1,
                                               gpu_offset,
                                               all->gpus + gpu * s.net.shape.gpu_features,
                                               all->state + n * s.net.shape.state_features,
                                               action_offset,
                                               all->actions + action * s.net.shape.action_features,
                                               all->member_offset + action,
                                               all->members};
            adl_qnet_forward(&s.net, s.params, &one, s.workspace, alone);
            assert_memory_equal(alone, q + action, (size_t)count * sizeof *q);
        }
        free(q), free(alone);
        setup_clear(&s);
    }
}

/* One number for all actions of a state says how good the state is, not which action is better. */
static void what_all_actions_share_teaches_the_value_alone(void **state)
{
    (void)state;
    struct setup s;
    setup_make(&shapes[0], adl_kernels_choose(true), 5, &s);
    const struct adl_qnet_layer *layers = s.net.layers;
    float *q = nn_numbers((size_t)s.actions), *dq = nn_numbers((size_t)s.actions),
          *grads = nn_numbers(s.net.parameter_count);
    for (int n = 0; n < 9; n++)
        for (int a = s.sample.action_offset[n]; a < s.sample.action_offset[n + 1]; a++)
            dq[a] = (float)(n % 3 + 1);
    adl_qnet_forward(&s.net, s.params, &s.sample.batch, s.workspace, q);
    adl_qnet_backward(&s.net, s.params, &s.sample.batch, s.workspace, dq, grads);
    double value = 0;
    for (size_t i = layers[ADL_QNET_VALUE1].weights; i < layers[ADL_QNET_STATE1].weights; i++)
        value += fabs((double)grads[i]);
    assert_true(value > 1);
    for (size_t i = layers[ADL_QNET_STATE1].weights; i < s.net.parameter_count; i++)
        assert_true(grads[i] == 0);
    free(q), free(dq), free(grads);
    setup_clear(&s);
}

static void the_mean_over_a_states_actions_is_its_value(void **state)
{
    (void)state;
    struct setup s;
    setup_make(&shapes[0], adl_kernels_choose(true), 6, &s);
    float *q = nn_numbers((size_t)s.actions), *without = nn_numbers((size_t)s.actions);
    const struct adl_qnet_layer *last = &s.net.layers[ADL_QNET_ACTION3];
    adl_qnet_forward(&s.net, s.params, &s.sample.batch, s.workspace, q);
    memset(s.params + last->weights, 0, (size_t)last->inputs * sizeof *s.params); /* no advantages: Q is V */
    adl_qnet_forward(&s.net, s.params, &s.sample.batch, s.workspace, without);
    double spread = 0;
    for (int n = 0; n < 9; n++) {
        const int first = s.sample.action_offset[n], end = s.sample.action_offset[n + 1];
        double sum = 0;
        for (int a = first; a < end; a++) {
            sum += (double)q[a] - (double)without[a];
            spread = fmax(spread, fabs((double)q[a] - (double)without[a]));
            assert_true(without[a] == without[first]);
        }
        assert_true(fabs(sum) < 1e-4);
    }
    assert_true(spread > 0.1);
    free(q), free(without);
    setup_clear(&s);
}

/* Largest difference between what the network and scale * rule say of two actions of one state. */
static double contrast_error(const struct setup *s, const float *rule, double scale)
{
    const int features = s->net.shape.action_features;
    float *q = nn_numbers((size_t)s->actions);
    double *wanted = nn_must_have(calloc((size_t)s->actions + 1, sizeof *wanted)), error = 0;
    adl_qnet_forward(&s->net, s->params, &s->sample.batch, s->workspace, q);
    for (int a = 0; a < s->actions; a++)
        for (int f = 0; f < features; f++)
            wanted[a] += scale * (double)rule[f] * (double)s->sample.actions[a * features + f];
    for (int n = 0; n < 9; n++) {
        const int first = s->sample.action_offset[n];
        for (int a = first; a < s->sample.action_offset[n + 1]; a++)
            error = fmax(error, fabs((double)q[a] - (double)q[first] - (wanted[a] - wanted[first])));
    }
    free(q), free(wanted);
    return error;
}

static void a_primed_network_begins_with_the_rule(void **state)
{
    (void)state;
    static const float rule[7] = {3, -2, 0.5f, 0, 1, -4, 2};
    for (size_t build = 0; build < BUILD_COUNT; build++) {
        struct setup s;
        struct adl_rng rng;
        setup_make(&shapes[0], build_at(build), 7, &s);
        const struct adl_qnet_layer *last = &s.net.layers[ADL_QNET_ACTION3];
        adl_rng_seed(&rng, 7, "prime");
        adl_qnet_init(&s.net, &rng, s.params);
        assert_true(contrast_error(&s, rule, 0.5) > 1);
        adl_qnet_prime(&s.net, rule, 0.5f, s.params);
        const double fresh = contrast_error(&s, rule, 0.5);
        assert_true(fresh > 1e-4 && fresh < 0.15); /* what the other units say, a hundredth of He's scale */
        memset(s.params + last->weights, 0, (size_t)last->inputs * sizeof *s.params);
        adl_qnet_prime(&s.net, rule, 0.5f, s.params);
        assert_true(contrast_error(&s, rule, 0.5) < 1e-5);
        setup_clear(&s);
    }
}

/* What decides in one place must decide alike in another, whichever of the two builds its processor can run. */
static void the_wide_build_gives_networks_the_same_bits_as_the_plain_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPE_COUNT; i++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            float *q[2], *grads[2];
            size_t actions = 0, parameters = 0;
            for (size_t build = 0; build < 2; build++) {
                struct setup s;
                struct adl_rng rng;
                setup_make(&shapes[i], build_at(build), seed, &s);
                adl_rng_seed(&rng, seed, "dq");
                float *dq = random_numbers(&rng, (size_t)s.actions);
                actions = (size_t)s.actions, parameters = s.net.parameter_count;
                q[build] = nn_numbers(actions), grads[build] = nn_numbers(parameters);
                adl_qnet_forward(&s.net, s.params, &s.sample.batch, s.workspace, q[build]);
                adl_qnet_backward(&s.net, s.params, &s.sample.batch, s.workspace, dq, grads[build]);
                free(dq);
                setup_clear(&s);
            }
            assert_memory_equal(q[0], q[1], actions * sizeof(float));
            assert_memory_equal(grads[0], grads[1], parameters * sizeof(float));
            free(q[0]), free(q[1]), free(grads[0]), free(grads[1]);
        }
}

static void impossible_shapes_are_refused_with_what_would_be_right(void **state)
{
    (void)state;
    static const struct {
        struct adl_qnet_shape shape;
        const char *says;
    } cases[] = {
        {{ADL_QNET_SHARED, 0, 3, 7, 16, 32, 0}, "gpu_features must be from 1"},
        {{ADL_QNET_SHARED, 5, -1, 7, 16, 32, 0}, "state_features must be from 0"},
        {{ADL_QNET_SHARED, 5, 3, 1 << 20, 16, 32, 0}, "action_features must be from 0"},
        {{ADL_QNET_SHARED, 5, 3, 7, 17, 32, 0}, "gpu_width must be a multiple of 16"},
        {{ADL_QNET_SHARED, 5, 3, 7, 16, 0, 0}, "head_width must be a multiple of 16"},
        {{ADL_QNET_SHARED, 5, 3, 7, 16, 32, 4}, "paper_gpus"},
        {{ADL_QNET_PAPER, 2, 3, 0, 16, 32, 4}, "1 feature of a GPU"},
        {{ADL_QNET_PAPER, 1, 3, 0, 16, 32, 0}, "paper_gpus must be from 1"},
        {{ADL_QNET_PAPER, 1, 0, 0, 16, 32, 4}, "state feature"},
        {{(enum adl_qnet_kind)7, 1, 3, 0, 16, 32, 4}, "there is no kind 7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adl_qnet net;
        struct adl_error err = {{0}};
        assert_int_equal(adl_qnet_make(&cases[i].shape, adl_kernels_choose(true), &net, &err), ADL_EINVAL);
        assert_non_null(strstr(err.text, cases[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_agree_with_the_reference),
        cmocka_unit_test(gradients_are_those_of_finite_differences),
        cmocka_unit_test(padding_of_weights_gets_no_gradient),
        cmocka_unit_test(a_state_gives_the_same_bits_wherever_it_stands),
        cmocka_unit_test(what_all_actions_share_teaches_the_value_alone),
        cmocka_unit_test(the_mean_over_a_states_actions_is_its_value),
        cmocka_unit_test(a_primed_network_begins_with_the_rule),
        cmocka_unit_test(the_wide_build_gives_networks_the_same_bits_as_the_plain_one),
        cmocka_unit_test(impossible_shapes_are_refused_with_what_would_be_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
