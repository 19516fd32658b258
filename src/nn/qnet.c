/* qnet: parameters, workspace and the steps that both networks consist of. */
#include "nn/qnet.h"

#include "nn/qnet_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct adl_qnet_ops *ops_of(enum adl_qnet_kind kind)
{
    return kind == ADL_QNET_PAPER ? &adl_qnet_paper_ops : &adl_qnet_shared_ops;
}

const char *adl_qnet_kind_name(enum adl_qnet_kind kind)
{
    return ops_of(kind)->name;
}

int adl_qnet_kind_find(const char *name)
{
    for (int kind = 0; kind < ADL_QNET_KIND_COUNT; kind++)
        if (strcmp(name, ops_of((enum adl_qnet_kind)kind)->name) == 0)
            return kind;
    return -1;
}

/* ---- shape and parameters ---- */

static int check_range(const char *what, int value, int low, int high, struct adl_error *err)
{
    if (value < low || value > high)
        return adl_fail(err, ADL_EINVAL, "network: %s must be from %d to %d, got %d", what, low, high, value);
    return 0;
}

static int check_width(const char *what, int value, struct adl_error *err)
{
    if (value < ADL_PANEL || value > ADL_QNET_WIDTH_MAX || value % ADL_PANEL)
        return adl_fail(err, ADL_EINVAL, "network: %s must be a multiple of %d from %d to %d, got %d", what, ADL_PANEL,
                        ADL_PANEL, ADL_QNET_WIDTH_MAX, value);
    return 0;
}

int adl_qnet_make(const struct adl_qnet_shape *shape, const struct adl_kernels *kernels, struct adl_qnet *ret,
                  struct adl_error *err)
{
    if ((int)shape->kind < 0 || (int)shape->kind >= ADL_QNET_KIND_COUNT)
        return adl_fail(err, ADL_EINVAL, "network: there is no kind %d; there are %s (%d) and %s (%d)",
                        (int)shape->kind, adl_qnet_shared_ops.name, ADL_QNET_SHARED, adl_qnet_paper_ops.name,
                        ADL_QNET_PAPER);
    int status = check_range("gpu_features", shape->gpu_features, 1, ADL_QNET_FEATURES_MAX, err);
    if (!status)
        status = check_range("state_features", shape->state_features, 0, ADL_QNET_FEATURES_MAX, err);
    if (!status)
        status = check_range("action_features", shape->action_features, 0, ADL_QNET_FEATURES_MAX, err);
    if (!status)
        status = check_width("gpu_width", shape->gpu_width, err);
    if (!status)
        status = check_width("head_width", shape->head_width, err);
    if (!status)
        status = ops_of(shape->kind)->check(shape, err);
    if (status)
        return status;
    struct adl_qnet net = {.shape = *shape, .kernels = kernels};
    adl_qnet_layer_add(&net, 3 * shape->gpu_features, shape->gpu_width, 3 * shape->gpu_features, true);
    adl_qnet_layer_add(&net, 3 * shape->gpu_width, shape->gpu_width, 3 * shape->gpu_width, true);
    ops_of(shape->kind)->lay_out(&net);
    *ret = net;
    return 0;
}

static size_t weight_count(const struct adl_qnet_layer *layer)
{
    return (size_t)layer->inputs * (size_t)(layer->outputs == 1 ? 1 : adl_qnet_padded(layer->outputs));
}

void adl_qnet_layer_add(struct adl_qnet *net, int inputs, int outputs, int fan_in, bool has_bias)
{
    assert(net->layer_count < ADL_QNET_LAYERS_MAX);
    struct adl_qnet_layer *layer = &net->layers[net->layer_count++];
    *layer = (struct adl_qnet_layer){.inputs = inputs, .outputs = outputs, .fan_in = fan_in, .bias = SIZE_MAX};
    layer->weights = net->parameter_count;
    net->parameter_count += weight_count(layer);
    if (has_bias) {
        layer->bias = net->parameter_count;
        net->parameter_count += (size_t)adl_qnet_padded(outputs);
    }
}

static bool is_last(const struct adl_qnet *net, int index)
{
    return index == net->layer_count - 1 || net->layers[index].outputs == 1;
}

void adl_qnet_init(const struct adl_qnet *net, struct adl_rng *rng, float *ret_params)
{
    memset(ret_params, 0, net->parameter_count * sizeof *ret_params);
    for (int l = 0; l < net->layer_count; l++) {
        const struct adl_qnet_layer *layer = &net->layers[l];
        const double scale = sqrt(2.0 / (double)layer->fan_in) * (is_last(net, l) ? 0.01 : 1);
        for (int o = 0; o < layer->outputs; o++)
            for (int i = 0; i < layer->inputs; i++) {
                const ptrdiff_t at = (o / ADL_PANEL * (ptrdiff_t)layer->inputs + i) * ADL_PANEL + o % ADL_PANEL;
                ret_params[layer->weights + (size_t)(layer->outputs == 1 ? i : at)] =
                    (float)(scale * adl_rng_normal(rng));
            }
    }
}

/* ---- workspace ---- */

float *adl_qnet_room_take(struct adl_qnet_room *room, ptrdiff_t rows, ptrdiff_t width)
{
    float *at = room->base ? room->base + room->used : NULL;
    room->used += (size_t)adl_qnet_padded(rows * width); /* multiples of 64 bytes: no cache line in two matrices */
    return at;
}

static void take_room(const struct adl_qnet *net, struct adl_qnet_room *room, struct adl_qnet_workspace *ws)
{
    const ptrdiff_t rows = (ptrdiff_t)ws->limits.gpus + ws->limits.states + 1;
    const ptrdiff_t width = net->shape.gpu_width;
    ptrdiff_t largest = 0;
    for (int l = 0; l < net->layer_count; l++) {
        const struct adl_qnet_layer *layer = &net->layers[l];
        const ptrdiff_t size = adl_qnet_padded(layer->inputs) * adl_qnet_padded(layer->outputs);
        largest = size > largest ? size : largest;
    }
    ws->transposed = adl_qnet_room_take(room, 1, largest);
    ws->gpus = adl_qnet_room_take(room, rows, net->shape.gpu_features);
    ws->first = adl_qnet_room_take(room, rows, width);
    ws->dfirst = adl_qnet_room_take(room, rows, width);
    ws->second = adl_qnet_room_take(room, rows, width);
    ws->dsecond = adl_qnet_room_take(room, rows, width);
    ops_of(net->shape.kind)->take_room(net, room, ws);
}

int adl_qnet_workspace_create(const struct adl_qnet *net, const struct adl_qnet_limits *limits,
                              struct adl_qnet_workspace **ret, struct adl_error *err)
{
    const int most = 1 << 24;
    int status = check_range("states of a batch", limits->states, 1, most, err);
    if (!status)
        status = check_range("GPUs of a batch", limits->gpus, 0, most, err);
    if (!status)
        status = check_range("actions of a batch", limits->actions, 0, most, err);
    if (status)
        return status;
    struct adl_qnet_workspace *ws = malloc(sizeof *ws);
    if (!ws)
        return adl_fail(err, ADL_ENOMEM, "network: out of memory");
    *ws = (struct adl_qnet_workspace){.limits = *limits};
    struct adl_qnet_room room = {0};
    take_room(net, &room, ws);
    const size_t align = 64;
    ws->block = calloc(room.used + align / sizeof(float), sizeof(float));
    if (!ws->block) {
        adl_qnet_workspace_destroy(ws);
        return adl_fail(err, ADL_ENOMEM, "network: no %zu bytes for a workspace", room.used * sizeof(float));
    }
    const size_t skip = (align - (uintptr_t)ws->block % align) % align;
    room = (struct adl_qnet_room){.base = (float *)ws->block + skip / sizeof(float)};
    take_room(net, &room, ws);
    *ret = ws;
    return 0;
}

void adl_qnet_workspace_destroy(struct adl_qnet_workspace *workspace)
{
    if (!workspace)
        return;
    free(workspace->block);
    free(workspace);
}

/* ---- steps ---- */

void adl_qnet_dense(const struct adl_qnet *net, int index, const float *params, ptrdiff_t rows, const float *x,
                    ptrdiff_t ldx, struct adl_product how, float *y, ptrdiff_t ldy)
{
    const struct adl_qnet_layer *layer = &net->layers[index];
    if (!how.accumulate)
        how.bias = adl_qnet_bias(layer, params);
    net->kernels->dense(rows, layer->inputs, adl_panels(layer->outputs), x, ldx, params + layer->weights, how, y, ldy);
}

void adl_qnet_dense_gradient(const struct adl_qnet *net, int index, const float *params,
                             const struct adl_qnet_pass *pass, struct adl_qnet_workspace *ws, float *grads)
{
    const struct adl_qnet_layer *layer = &net->layers[index];
    const ptrdiff_t panels = adl_panels(layer->outputs);
    const struct adl_product how = {.accumulate = pass->accumulate};
    net->kernels->dense_gradient(pass->rows, layer->inputs, panels, pass->x, pass->ldx, pass->dy, pass->ldy,
                                 grads + layer->weights, layer->bias == SIZE_MAX ? NULL : grads + layer->bias);
    if (!pass->dx)
        return;
    net->kernels->transpose(layer->inputs, panels, params + layer->weights, ws->transposed);
    net->kernels->dense(pass->rows, panels * ADL_PANEL, adl_panels(layer->inputs), pass->dy, pass->ldy, ws->transposed,
                        how, pass->dx, pass->ldx);
}

void adl_qnet_convolve(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                       struct adl_qnet_workspace *ws)
{
    const struct adl_qnet_layer *layers = net->layers;
    const ptrdiff_t width = net->shape.gpu_width, panels = width / ADL_PANEL, features = net->shape.gpu_features;
    struct adl_product how = {.bias = params + layers[ADL_QNET_CONV1].bias, .relu = true};
    adl_padding_insert(batch->states, batch->gpu_offset, features, batch->gpus, ws->gpus);
    adl_conv3(net->kernels, batch->states, batch->gpu_offset, features, panels, ws->gpus,
              params + layers[ADL_QNET_CONV1].weights, how, ws->first);
    how.bias = params + layers[ADL_QNET_CONV2].bias;
    adl_conv3(net->kernels, batch->states, batch->gpu_offset, width, panels, ws->first,
              params + layers[ADL_QNET_CONV2].weights, how, ws->second);
}

void adl_qnet_convolve_gradient(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                                struct adl_qnet_workspace *ws, float *grads)
{
    const struct adl_qnet_layer *layers = net->layers;
    const struct adl_kernels *kernels = net->kernels;
    const int *offset = batch->gpu_offset;
    const ptrdiff_t width = net->shape.gpu_width, panels = width / ADL_PANEL;
    const ptrdiff_t count = adl_padded_rows(offset, batch->states) * width;
    const struct adl_product plain = {0};
    kernels->relu_gradient(count, ws->second, ws->dsecond);
    adl_conv3_gradient(kernels, batch->states, offset, width, panels, ws->first, ws->dsecond,
                       grads + layers[ADL_QNET_CONV2].weights, grads + layers[ADL_QNET_CONV2].bias);
    adl_conv3_transpose(width, panels, params + layers[ADL_QNET_CONV2].weights, ws->transposed);
    adl_conv3(kernels, batch->states, offset, width, panels, ws->dsecond, ws->transposed, plain, ws->dfirst);
    kernels->relu_gradient(count, ws->first, ws->dfirst);
    adl_conv3_gradient(kernels, batch->states, offset, net->shape.gpu_features, panels, ws->gpus, ws->dfirst,
                       grads + layers[ADL_QNET_CONV1].weights, grads + layers[ADL_QNET_CONV1].bias);
}

/* ---- both networks ---- */

static void check_batch(const struct adl_qnet_batch *batch, const struct adl_qnet_workspace *ws)
{
    assert(batch->states >= 0 && batch->states <= ws->limits.states);
    assert(batch->gpu_offset[0] == 0 && batch->gpu_offset[batch->states] <= ws->limits.gpus);
    assert(batch->action_offset[0] == 0 && batch->action_offset[batch->states] <= ws->limits.actions);
    (void)batch, (void)ws;
}

void adl_qnet_forward(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                      struct adl_qnet_workspace *workspace, float *ret_q)
{
    check_batch(batch, workspace);
    ops_of(net->shape.kind)->forward(net, params, batch, workspace, ret_q);
}

void adl_qnet_backward(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                       struct adl_qnet_workspace *workspace, const float *dq, float *grads)
{
    check_batch(batch, workspace);
    ops_of(net->shape.kind)->backward(net, params, batch, workspace, dq, grads);
}
