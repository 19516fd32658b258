/* nn_fixture: random numbers, and plain double-precision references of the kernels and both networks. */
#ifndef ADLRO_TESTS_NN_FIXTURE_H
#define ADLRO_TESTS_NN_FIXTURE_H

#include "base/rng.h"
#include "nn/kernels_builds.h"
#include "nn/qnet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every build of the kernels that this processor can run; some may be the same one. */
#define BUILD_COUNT 3
static inline const struct adl_kernels *build_at(size_t index)
{
    return index == 0 ? &adl_kernels_plain : adl_kernels_choose(index == 2);
}

static inline void *must_have(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static inline size_t area(ptrdiff_t rows, ptrdiff_t width)
{
    return (size_t)rows * (size_t)width;
}

static inline float *numbers(size_t count)
{
    return must_have(calloc(count + 1, sizeof(float)));
}

static inline float *random_numbers(struct adl_rng *rng, size_t count)
{
    float *x = numbers(count);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(adl_rng_uniform(rng) * 2 - 1);
    return x;
}

/* Element (input, output) of weights in panels. */
static inline size_t panel_index(int inputs, int input, int output)
{
    return ((size_t)(output / ADL_PANEL) * (size_t)inputs + (size_t)input) * ADL_PANEL + (size_t)(output % ADL_PANEL);
}

/* Random weights (inputs, outputs) in panels, zero where there is no output. */
static inline float *random_panels(struct adl_rng *rng, int inputs, int outputs)
{
    float *w = numbers((size_t)inputs * (size_t)adl_panels(outputs) * ADL_PANEL);
    for (int i = 0; i < inputs; i++)
        for (int o = 0; o < outputs; o++)
            w[panel_index(inputs, i, o)] = (float)(adl_rng_uniform(rng) * 2 - 1);
    return w;
}

/* ---- a batch ---- */

struct sample {
    struct adl_qnet_batch batch;
    int *gpu_offset, *action_offset, *member_offset, *members;
    float *gpus, *state, *actions;
};

static inline void sample_clear(struct sample *sample)
{
    free(sample->gpu_offset);
    free(sample->action_offset);
    free(sample->member_offset);
    free(sample->members);
    free(sample->gpus);
    free(sample->state);
    free(sample->actions);
}

/* States of 0..gpus_max GPUs (all of paper_gpus for PAPER) and 0..actions_max actions of 0..3 members. */
static inline void sample_make(struct adl_rng *rng, const struct adl_qnet_shape *shape, int states, int gpus_max,
                               int actions_max, struct sample *ret)
{
    struct sample s = {0};
    s.gpu_offset = must_have(calloc((size_t)states + 1, sizeof(int)));
    s.action_offset = must_have(calloc((size_t)states + 1, sizeof(int)));
    s.member_offset = must_have(calloc((size_t)(states * actions_max) + 1, sizeof(int)));
    s.members = must_have(calloc((size_t)(states * actions_max) * 3 + 1, sizeof(int)));
    for (int i = 0; i < states; i++) {
        const int gpus =
            shape->kind == ADL_QNET_PAPER ? shape->paper_gpus : (int)adl_rng_below(rng, (uint32_t)gpus_max + 1);
        const int actions = (int)adl_rng_below(rng, (uint32_t)actions_max + 1);
        s.gpu_offset[i + 1] = s.gpu_offset[i] + gpus;
        s.action_offset[i + 1] = s.action_offset[i] + actions;
        for (int a = s.action_offset[i]; a < s.action_offset[i + 1]; a++) {
            const int members = gpus > 0 ? (int)adl_rng_below(rng, 4) : 0;
            s.member_offset[a + 1] = s.member_offset[a] + members;
            for (int m = 0; m < members; m++)
                s.members[s.member_offset[a] + m] = (int)adl_rng_below(rng, (uint32_t)gpus);
        }
    }
    s.gpus = random_numbers(rng, area(s.gpu_offset[states], shape->gpu_features));
    s.state = random_numbers(rng, area(states, shape->state_features));
    s.actions = random_numbers(rng, area(s.action_offset[states], shape->action_features));
    s.batch = (struct adl_qnet_batch){states,          s.gpu_offset, s.gpus,          s.state,
                                      s.action_offset, s.actions,    s.member_offset, s.members};
    *ret = s;
}

/* ---- the networks, one action at a time, in double precision ---- */

static inline double layer_weight(const struct adl_qnet *net, int index, const double *params, int input, int output)
{
    const struct adl_qnet_layer *l = &net->layers[index];
    return params[l->weights + (l->outputs == 1 ? (size_t)input : panel_index(l->inputs, input, output))];
}

/* y[outputs] += layer(x[inputs]), with its bias if it has one. */
static inline void layer_add(const struct adl_qnet *net, int index, const double *params, const double *x, double *y)
{
    const struct adl_qnet_layer *l = &net->layers[index];
    for (int o = 0; o < l->outputs; o++) {
        for (int i = 0; i < l->inputs; i++)
            y[o] += x[i] * layer_weight(net, index, params, i, o);
        if (l->bias != SIZE_MAX)
            y[o] += params[l->bias + (size_t)o];
    }
}

static inline void relu_all(int count, double *x)
{
    for (int i = 0; i < count; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
}

/* (gpus, channels) -> (gpus, H) */
static inline double *conv_layer(const struct adl_qnet *net, int index, const double *params, int gpus, const double *x)
{
    const int channels = net->layers[index].inputs / 3, width = net->shape.gpu_width;
    double *y = must_have(calloc((size_t)(gpus * width) + 1, sizeof *y));
    double *window = must_have(calloc((size_t)channels * 3, sizeof *window));
    for (int g = 0; g < gpus; g++) {
        for (int tap = 0; tap < 3; tap++)
            for (int c = 0; c < channels; c++) {
                const int from = g + tap - 1;
                window[tap * channels + c] = from >= 0 && from < gpus ? x[from * channels + c] : 0;
            }
        layer_add(net, index, params, window, y + g * width);
    }
    relu_all(gpus * width, y);
    free(window);
    return y;
}

static inline double *embed(const struct adl_qnet *net, const double *params, int gpus, const float *features)
{
    const int count = gpus * net->shape.gpu_features;
    double *x = must_have(calloc((size_t)count + 1, sizeof *x));
    for (int i = 0; i < count; i++)
        x[i] = (double)features[i];
    double *first = conv_layer(net, ADL_QNET_CONV1, params, gpus, x);
    double *second = conv_layer(net, ADL_QNET_CONV2, params, gpus, first);
    free(x);
    free(first);
    return second;
}

/* c[2H + S] */
static inline void reference_context(const struct adl_qnet *net, int gpus, const double *e, const float *state,
                                     double *context)
{
    const int width = net->shape.gpu_width;
    for (int c = 0; c < width; c++)
        for (int g = 0; g < gpus; g++) {
            context[c] += e[g * width + c] / gpus;
            context[width + c] = g == 0 ? e[c] : fmax(context[width + c], e[g * width + c]);
        }
    for (int i = 0; i < net->shape.state_features; i++)
        context[2 * width + i] = (double)state[i];
}

static inline double reference_value(const struct adl_qnet *net, const double *params, const double *context)
{
    double hidden[512] = {0}, value = 0;
    layer_add(net, ADL_QNET_VALUE1, params, context, hidden);
    relu_all(net->shape.head_width, hidden);
    layer_add(net, ADL_QNET_VALUE2, params, hidden, &value);
    return value;
}

static inline double reference_advantage(const struct adl_qnet *net, const double *params, const double *e,
                                         const double *context, const float *action, int count, const int *members)
{
    const int width = net->shape.gpu_width;
    double input[512] = {0}, hidden[512] = {0}, hidden2[512] = {0}, advantage = 0;
    for (int c = 0; c < width; c++)
        for (int i = 0; i < count; i++)
            input[c] += e[members[i] * width + c] / count;
    for (int i = 0; i < net->shape.action_features; i++)
        input[width + i] = (double)action[i];
    layer_add(net, ADL_QNET_STATE1, params, context, hidden);
    layer_add(net, ADL_QNET_ACTION1, params, input, hidden);
    relu_all(net->shape.head_width, hidden);
    layer_add(net, ADL_QNET_ACTION2, params, hidden, hidden2);
    relu_all(net->shape.head_width, hidden2);
    layer_add(net, ADL_QNET_ACTION3, params, hidden2, &advantage);
    return advantage;
}

/* q[actions of the state] */
static inline void reference_shared(const struct adl_qnet *net, const double *params, int gpus, const double *e,
                                    const struct adl_qnet_batch *batch, int state, double *q)
{
    const int first = batch->action_offset[state], actions = batch->action_offset[state + 1] - first;
    double context[512] = {0}, mean = 0;
    reference_context(net, gpus, e, batch->state + state * net->shape.state_features, context);
    for (int i = 0; i < actions; i++) {
        const int a = first + i, member = batch->member_offset[a];
        q[i] = reference_advantage(net, params, e, context, batch->actions + a * net->shape.action_features,
                                   batch->member_offset[a + 1] - member, batch->members + member);
        mean += q[i] / actions;
    }
    const double value = reference_value(net, params, context);
    for (int i = 0; i < actions; i++)
        q[i] += value - mean;
}

static inline double reference_paper(const struct adl_qnet *net, const double *params, const double *e,
                                     const float *state, int count, const int *members)
{
    double features[512] = {0}, hidden[512] = {0}, out[512] = {0}, sum = 0;
    for (int i = 0; i < net->shape.state_features; i++)
        features[i] = (double)state[i];
    layer_add(net, ADL_QNET_FLAT, params, e, hidden);
    layer_add(net, ADL_QNET_FLAT_STATE, params, features, hidden);
    relu_all(net->shape.head_width, hidden);
    layer_add(net, ADL_QNET_OUTPUT, params, hidden, out);
    for (int i = 0; i < count; i++)
        sum += out[members[i]] / count;
    return count == 0 ? out[net->shape.paper_gpus] : sum;
}

static inline void reference_forward(const struct adl_qnet *net, const double *params,
                                     const struct adl_qnet_batch *batch, double *q)
{
    const struct adl_qnet_shape *shape = &net->shape;
    for (int s = 0; s < batch->states; s++) {
        const int gpus = batch->gpu_offset[s + 1] - batch->gpu_offset[s];
        double *e = embed(net, params, gpus, batch->gpus + batch->gpu_offset[s] * shape->gpu_features);
        const int first = batch->action_offset[s];
        if (shape->kind == ADL_QNET_SHARED)
            reference_shared(net, params, gpus, e, batch, s, q + first);
        for (int a = first; shape->kind == ADL_QNET_PAPER && a < batch->action_offset[s + 1]; a++) {
            const int member = batch->member_offset[a];
            q[a] = reference_paper(net, params, e, batch->state + s * shape->state_features,
                                   batch->member_offset[a + 1] - member, batch->members + member);
        }
        free(e);
    }
}

#endif
