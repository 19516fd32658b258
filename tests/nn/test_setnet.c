/* The set networks: values by hand, gradients by finite differences. */
#include "nn/setnet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SETS = 5, FACTS = 9, QUERY = 7, FACT = 5, WIDTH = 16 };
static const int offset[SETS + 1] = {0, 3, 3, 4, 8, 9}; /* one set is empty */

struct sample {
    struct adl_setnet net;
    struct adl_setnet_workspace *workspace;
    float facts[FACTS * FACT], queries[SETS * QUERY], weights[SETS * 2];
    float *params;
};

static void sample_make(enum adl_setnet_form form, bool fast, struct sample *ret)
{
    const struct adl_setnet_shape shape = {form, FACT, QUERY, WIDTH};
    struct adl_error err = {{0}};
    struct adl_rng rng;
    adl_rng_seed(&rng, 7, "setnet");
    assert_int_equal(adl_setnet_make(&shape, adl_kernels_choose(fast), &ret->net, &err), 0);
    assert_int_equal(adl_setnet_workspace_create(&ret->net, SETS, FACTS, &ret->workspace, &err), 0);
    ret->params = calloc(ret->net.parameter_count, sizeof *ret->params);
    assert_non_null(ret->params);
    adl_setnet_init(&ret->net, &rng, ret->params);
    /* Biases and the last layer of a size that shows. */
    for (int l = 0; l < ADL_SETNET_LAYERS; l++) {
        const struct adl_setnet_layer *layer = &ret->net.layers[l];
        for (int o = 0; o < layer->outputs && l != ADL_SETNET_SUMMARY; o++)
            ret->params[layer->bias + (size_t)o] = (float)(0.3 * adl_rng_normal(&rng));
    }
    const struct adl_setnet_layer *out = &ret->net.layers[ADL_SETNET_OUT];
    for (int i = 0; i < out->inputs; i++)
        for (int o = 0; o < out->outputs; o++)
            ret->params[out->weights + (size_t)(i * ADL_PANEL + o)] = (float)(0.4 * adl_rng_normal(&rng));
    for (size_t i = 0; i < sizeof ret->facts / sizeof *ret->facts; i++)
        ret->facts[i] = (float)adl_rng_normal(&rng);
    for (size_t i = 0; i < sizeof ret->queries / sizeof *ret->queries; i++)
        ret->queries[i] = (float)adl_rng_normal(&rng);
    for (size_t i = 0; i < sizeof ret->weights / sizeof *ret->weights; i++)
        ret->weights[i] = (float)adl_rng_normal(&rng);
}

static void sample_clear(struct sample *s)
{
    adl_setnet_workspace_destroy(s->workspace);
    free(s->params);
}

static double weighted_sum(struct sample *s)
{
    const struct adl_setnet_batch batch = {SETS, offset, s->facts, s->queries};
    float outs[SETS * 2];
    double sum = 0;
    adl_setnet_forward(&s->net, s->params, &batch, s->workspace, outs);
    for (int i = 0; i < SETS * 2; i++)
        sum += (double)s->weights[i] * (double)outs[i];
    return sum;
}

static void gradients_are_those_of_finite_differences(void **state)
{
    (void)state;
    for (int form = 0; form < ADL_SETNET_FORM_COUNT; form++) {
        struct sample s;
        sample_make((enum adl_setnet_form)form, false, &s);
        const struct adl_setnet_batch batch = {SETS, offset, s.facts, s.queries};
        float *grads = calloc(s.net.parameter_count, sizeof *grads);
        assert_non_null(grads);
        weighted_sum(&s);
        adl_setnet_backward(&s.net, s.params, &batch, s.workspace, s.weights, grads);
        size_t checked = 0, wrong = 0;
        for (int l = 0; l < ADL_SETNET_LAYERS; l++)
            for (int i = 0; i < s.net.layers[l].inputs + 1; i++)
                for (int o = 0; o < s.net.layers[l].outputs; o += 3) {
                    const struct adl_setnet_layer *layer = &s.net.layers[l];
                    if (i == layer->inputs && l == ADL_SETNET_SUMMARY)
                        continue; /* its bias takes no part */
                    float *at =
                        i == layer->inputs
                            ? &s.params[layer->bias + (size_t)o]
                            : &s.params[layer->weights +
                                        (size_t)((o / ADL_PANEL * layer->inputs + i) * ADL_PANEL + o % ADL_PANEL)];
                    const float kept = *at, small = 2e-3f;
                    *at = kept + small;
                    const double above = weighted_sum(&s);
                    *at = kept - small;
                    const double below = weighted_sum(&s);
                    *at = kept;
                    const double wanted = (above - below) / (2 * (double)small), got = (double)grads[at - s.params];
                    checked++;
                    wrong += fabs(wanted - got) > 0.02 * fabs(wanted) + 3e-3; /* a kink of relu may lie between */
                }
        assert_true(checked > 300);
        assert_true(wrong * 200 < checked);
        free(grads);
        sample_clear(&s);
    }
}

static void a_set_is_answered_alike_alone_and_in_company(void **state)
{
    (void)state;
    for (int form = 0; form < ADL_SETNET_FORM_COUNT; form++) {
        struct sample s;
        sample_make((enum adl_setnet_form)form, false, &s);
        const struct adl_setnet_batch batch = {SETS, offset, s.facts, s.queries};
        float outs[SETS * 2], one[2];
        adl_setnet_forward(&s.net, s.params, &batch, s.workspace, outs);
        for (int i = 0; i < SETS; i++) {
            const int alone[2] = {0, offset[i + 1] - offset[i]};
            const struct adl_setnet_batch single = {1, alone, s.facts + offset[i] * FACT, s.queries + i * QUERY};
            adl_setnet_forward(&s.net, s.params, &single, s.workspace, one);
            assert_memory_equal(one, outs + 2 * i, sizeof one);
        }
        sample_clear(&s);
    }
}

static void only_the_recurrent_form_heeds_the_order_of_facts(void **state)
{
    (void)state;
    for (int form = 0; form < ADL_SETNET_FORM_COUNT; form++) {
        struct sample s;
        sample_make((enum adl_setnet_form)form, false, &s);
        float turned[3 * FACT], there[2], back[2];
        const int three[2] = {0, 3};
        for (int f = 0; f < 3; f++)
            memcpy(turned + f * FACT, s.facts + (2 - f) * FACT, FACT * sizeof(float));
        const struct adl_setnet_batch forth = {1, three, s.facts, s.queries}, reverse = {1, three, turned, s.queries};
        adl_setnet_forward(&s.net, s.params, &forth, s.workspace, there);
        adl_setnet_forward(&s.net, s.params, &reverse, s.workspace, back);
        const bool equal = fabs((double)there[0] - (double)back[0]) < 1e-4;
        assert_int_equal(equal, form != ADL_SETNET_RECURRENT);
        sample_clear(&s);
    }
}

static void impossible_shapes_are_refused(void **state)
{
    (void)state;
    static const struct adl_setnet_shape bad[] = {
        {(enum adl_setnet_form)3, 1, 1, 16}, {ADL_SETNET_POOL, 0, 1, 16},  {ADL_SETNET_POOL, 1, 0, 16},
        {ADL_SETNET_POOL, 1, 1, 24},         {ADL_SETNET_POOL, 1, 1, 512}, {ADL_SETNET_POOL, 1, 300, 16},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct adl_setnet net = {.parameter_count = 42};
        struct adl_error err = {{0}};
        assert_int_equal(adl_setnet_make(&bad[i], NULL, &net, &err), ADL_EINVAL);
        assert_true(err.text[0] != '\0' && net.parameter_count == 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_finite_differences),
        cmocka_unit_test(a_set_is_answered_alike_alone_and_in_company),
        cmocka_unit_test(only_the_recurrent_form_heeds_the_order_of_facts),
        cmocka_unit_test(impossible_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
