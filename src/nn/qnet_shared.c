/* qnet_shared: the network whose weights are shared by all GPUs.
 *
 *     e = conv3(conv3(gpus))                           per GPU, with its neighbours in the row
 *     c = [mean of e, max of e, state]                 per state
 *     m = mean of e over the member GPUs               per action; 0 for none, which is to wait
 *     Q = V(c) + A(c, m, action features) - mean of A over the state's actions
 *
 * Value and advantage are separate as in dueling networks (Wang et al. 2016). Subtracting the mean of the advantages
 * matters: otherwise features of an action, such as its job's age, would be used to predict the value of the state. So
 * a batch must have all actions of its states. */
#include "nn/qnet_internal.h"

#include <assert.h>
#include <string.h>

static int check(const struct adl_qnet_shape *shape, struct adl_error *err)
{
    if (shape->paper_gpus != 0)
        return adl_fail(err, ADL_EINVAL, "network: paper_gpus is for the kind paper; with shared it must be 0, got %d",
                        shape->paper_gpus);
    return 0;
}

static void lay_out(struct adl_qnet *net)
{
    const int context = 2 * net->shape.gpu_width + net->shape.state_features;
    const int action = net->shape.gpu_width + net->shape.action_features;
    const int width = net->shape.head_width;
    adl_qnet_layer_add(net, context, width, context, true); /* VALUE1 */
    adl_qnet_layer_add(net, width, 1, width, true);
    adl_qnet_layer_add(net, context, width, context + action, true); /* STATE1 */
    adl_qnet_layer_add(net, action, width, context + action, false);
    adl_qnet_layer_add(net, width, width, width, true);
    adl_qnet_layer_add(net, width, 1, width, true); /* ACTION3 */
}

static void take_room(const struct adl_qnet *net, struct adl_qnet_room *room, struct adl_qnet_workspace *ws)
{
    const ptrdiff_t states = ws->limits.states, actions = ws->limits.actions, width = net->shape.head_width;
    const ptrdiff_t context = adl_qnet_padded(net->layers[ADL_QNET_STATE1].inputs);
    const ptrdiff_t action = adl_qnet_padded(net->layers[ADL_QNET_ACTION1].inputs);
    ws->context = adl_qnet_room_take(room, states, context);
    ws->dcontext = adl_qnet_room_take(room, states, context);
    ws->value_hidden = adl_qnet_room_take(room, states, width);
    ws->dvalue_hidden = adl_qnet_room_take(room, states, width);
    ws->value = adl_qnet_room_take(room, states, 1);
    ws->dvalue = adl_qnet_room_take(room, states, 1);
    ws->shared = adl_qnet_room_take(room, states, width);
    ws->dshared = adl_qnet_room_take(room, states, width);
    ws->action = adl_qnet_room_take(room, actions, action);
    ws->daction = adl_qnet_room_take(room, actions, action);
    ws->dadvantage = adl_qnet_room_take(room, actions, 1);
    ws->hidden1 = adl_qnet_room_take(room, actions, width);
    ws->dhidden1 = adl_qnet_room_take(room, actions, width);
    ws->hidden2 = adl_qnet_room_take(room, actions, width);
    ws->dhidden2 = adl_qnet_room_take(room, actions, width);
}

static float *weight(const struct adl_qnet *net, int index, float *params, int input, int output)
{
    const struct adl_qnet_layer *layer = &net->layers[index];
    if (layer->outputs == 1)
        return &params[layer->weights + (size_t)input];
    const ptrdiff_t at = (output / ADL_PANEL * (ptrdiff_t)layer->inputs + input) * ADL_PANEL + output % ADL_PANEL;
    return &params[layer->weights + (size_t)at];
}

void adl_qnet_prime(const struct adl_qnet *net, const float *rule, float scale, float *params)
{
    assert(net->shape.kind == ADL_QNET_SHARED && net->shape.head_width >= 2);
    const int features = net->shape.action_features, first = net->shape.gpu_width, width = net->shape.head_width;
    for (int unit = 0; unit < 2; unit++) {
        const float sign = unit == 0 ? 1.0f : -1.0f;
        for (int i = 0; i < net->layers[ADL_QNET_STATE1].inputs; i++)
            *weight(net, ADL_QNET_STATE1, params, i, unit) = 0;
        for (int i = 0; i < first; i++)
            *weight(net, ADL_QNET_ACTION1, params, i, unit) = 0;
        for (int f = 0; f < features; f++)
            *weight(net, ADL_QNET_ACTION1, params, first + f, unit) = sign * rule[f];
        for (int i = 0; i < width; i++)
            *weight(net, ADL_QNET_ACTION2, params, i, unit) = i == unit;
        *weight(net, ADL_QNET_ACTION3, params, unit, 0) = sign * scale;
    }
}

/* ---- forward ---- */

static void fill_context(const struct adl_qnet *net, const struct adl_qnet_batch *batch, struct adl_qnet_workspace *ws)
{
    const ptrdiff_t width = net->shape.gpu_width, features = net->shape.state_features;
    const ptrdiff_t ld = adl_qnet_padded(net->layers[ADL_QNET_STATE1].inputs);
    for (int s = 0; s < batch->states; s++) {
        float *row = ws->context + s * ld;
        const ptrdiff_t gpus = batch->gpu_offset[s + 1] - batch->gpu_offset[s];
        net->kernels->pool(gpus, width, ws->second + adl_padded_row(batch->gpu_offset, s) * width, row, row + width);
        if (features > 0)
            memcpy(row + 2 * width, batch->state + s * features, (size_t)features * sizeof *row);
    }
}

/* Also copies the state's part of the first layer into each action's row, to which the product is added. */
static void fill_actions(const struct adl_qnet *net, const struct adl_qnet_batch *batch, struct adl_qnet_workspace *ws)
{
    const ptrdiff_t width = net->shape.gpu_width, head = net->shape.head_width, features = net->shape.action_features;
    const ptrdiff_t ld = adl_qnet_padded(net->layers[ADL_QNET_ACTION1].inputs);
    for (int s = 0; s < batch->states; s++) {
        const float *gpus = ws->second + adl_padded_row(batch->gpu_offset, s) * width;
        for (ptrdiff_t a = batch->action_offset[s]; a < batch->action_offset[s + 1]; a++) {
            float *row = ws->action + a * ld;
            const int first = batch->member_offset[a];
            net->kernels->gather_mean(batch->member_offset[a + 1] - first, batch->members + first, width, gpus, row);
            if (features > 0)
                memcpy(row + width, batch->actions + a * features, (size_t)features * sizeof *row);
            memcpy(ws->hidden1 + a * head, ws->shared + s * head, (size_t)head * sizeof *row);
        }
    }
}

static float mean_of(const float *x, int count)
{
    float sum = 0;
    for (int i = 0; i < count; i++)
        sum += x[i];
    return count > 0 ? sum / (float)count : 0;
}

static void forward(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                    struct adl_qnet_workspace *ws, float *q)
{
    const struct adl_qnet_layer *layers = net->layers;
    const ptrdiff_t states = batch->states, actions = batch->action_offset[states], width = net->shape.head_width;
    const ptrdiff_t ldc = adl_qnet_padded(layers[ADL_QNET_STATE1].inputs);
    const ptrdiff_t lda = adl_qnet_padded(layers[ADL_QNET_ACTION1].inputs);
    const struct adl_product plain = {0}, relu = {.relu = true}, add_relu = {.accumulate = true, .relu = true};
    adl_qnet_convolve(net, params, batch, ws);
    fill_context(net, batch, ws);
    adl_qnet_dense(net, ADL_QNET_VALUE1, params, states, ws->context, ldc, relu, ws->value_hidden, width);
    net->kernels->dot(states, width, ws->value_hidden, width, params + layers[ADL_QNET_VALUE2].weights,
                      params + layers[ADL_QNET_VALUE2].bias, ws->value);
    adl_qnet_dense(net, ADL_QNET_STATE1, params, states, ws->context, ldc, plain, ws->shared, width);
    fill_actions(net, batch, ws);
    adl_qnet_dense(net, ADL_QNET_ACTION1, params, actions, ws->action, lda, add_relu, ws->hidden1, width);
    adl_qnet_dense(net, ADL_QNET_ACTION2, params, actions, ws->hidden1, width, relu, ws->hidden2, width);
    net->kernels->dot(actions, width, ws->hidden2, width, params + layers[ADL_QNET_ACTION3].weights,
                      params + layers[ADL_QNET_ACTION3].bias, q);
    for (int s = 0; s < batch->states; s++) {
        const int first = batch->action_offset[s], end = batch->action_offset[s + 1];
        const float shift = ws->value[s] - mean_of(q + first, end - first);
        for (int a = first; a < end; a++)
            q[a] += shift;
    }
}

/* ---- backward ---- */

/* From dq to the gradients of the actions' rows and of their states' parts. */
static void advantage_gradient(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                               struct adl_qnet_workspace *ws, const float *dq, float *grads)
{
    const struct adl_kernels *kernels = net->kernels;
    const struct adl_qnet_layer *last = &net->layers[ADL_QNET_ACTION3];
    const ptrdiff_t actions = batch->action_offset[batch->states], width = net->shape.head_width;
    const ptrdiff_t lda = adl_qnet_padded(net->layers[ADL_QNET_ACTION1].inputs);
    for (int s = 0; s < batch->states; s++) {
        const int first = batch->action_offset[s], end = batch->action_offset[s + 1];
        const float mean = mean_of(dq + first, end - first);
        for (int a = first; a < end; a++)
            ws->dadvantage[a] = dq[a] - mean;
    }
    kernels->dot_gradient(actions, width, ws->hidden2, width, params + last->weights, ws->dadvantage, ws->dhidden2,
                          grads + last->weights, grads + last->bias);
    kernels->relu_gradient(actions * width, ws->hidden2, ws->dhidden2);
    adl_qnet_dense_gradient(
        net, ADL_QNET_ACTION2, params,
        &(struct adl_qnet_pass){actions, ws->hidden1, width, ws->dhidden2, width, ws->dhidden1, false}, ws, grads);
    kernels->relu_gradient(actions * width, ws->hidden1, ws->dhidden1);
    adl_qnet_dense_gradient(net, ADL_QNET_ACTION1, params,
                            &(struct adl_qnet_pass){actions, ws->action, lda, ws->dhidden1, width, ws->daction, false},
                            ws, grads);
    for (int s = 0; s < batch->states; s++) {
        const ptrdiff_t first = batch->action_offset[s];
        kernels->sum_rows(batch->action_offset[s + 1] - first, width, ws->dhidden1 + first * width, width,
                          ws->dshared + s * width);
    }
}

static void value_gradient(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                           struct adl_qnet_workspace *ws, const float *dq, float *grads)
{
    const struct adl_qnet_layer *last = &net->layers[ADL_QNET_VALUE2];
    const ptrdiff_t states = batch->states, width = net->shape.head_width;
    for (int s = 0; s < batch->states; s++) {
        ws->dvalue[s] = 0;
        for (int a = batch->action_offset[s]; a < batch->action_offset[s + 1]; a++)
            ws->dvalue[s] += dq[a];
    }
    net->kernels->dot_gradient(states, width, ws->value_hidden, width, params + last->weights, ws->dvalue,
                               ws->dvalue_hidden, grads + last->weights, grads + last->bias);
    net->kernels->relu_gradient(states * width, ws->value_hidden, ws->dvalue_hidden);
}

/* From the gradients of contexts and actions to those of e. */
static void spread(const struct adl_qnet *net, const struct adl_qnet_batch *batch, struct adl_qnet_workspace *ws)
{
    const ptrdiff_t width = net->shape.gpu_width;
    const ptrdiff_t ldc = adl_qnet_padded(net->layers[ADL_QNET_STATE1].inputs);
    const ptrdiff_t lda = adl_qnet_padded(net->layers[ADL_QNET_ACTION1].inputs);
    memset(ws->dsecond, 0, (size_t)(adl_padded_rows(batch->gpu_offset, batch->states) * width) * sizeof *ws->dsecond);
    for (int s = 0; s < batch->states; s++) {
        const ptrdiff_t at = adl_padded_row(batch->gpu_offset, s) * width;
        const float *dcontext = ws->dcontext + s * ldc;
        net->kernels->pool_gradient(batch->gpu_offset[s + 1] - batch->gpu_offset[s], width, ws->second + at,
                                    ws->context + s * ldc + width, dcontext, dcontext + width, ws->dsecond + at);
        for (ptrdiff_t a = batch->action_offset[s]; a < batch->action_offset[s + 1]; a++) {
            const int first = batch->member_offset[a];
            net->kernels->gather_mean_gradient(batch->member_offset[a + 1] - first, batch->members + first, width,
                                               ws->daction + a * lda, ws->dsecond + at);
        }
    }
}

static void backward(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                     struct adl_qnet_workspace *ws, const float *dq, float *grads)
{
    const ptrdiff_t states = batch->states, width = net->shape.head_width;
    const ptrdiff_t ldc = adl_qnet_padded(net->layers[ADL_QNET_STATE1].inputs);
    advantage_gradient(net, params, batch, ws, dq, grads);
    value_gradient(net, params, batch, ws, dq, grads);
    adl_qnet_dense_gradient(net, ADL_QNET_STATE1, params,
                            &(struct adl_qnet_pass){states, ws->context, ldc, ws->dshared, width, ws->dcontext, false},
                            ws, grads);
    adl_qnet_dense_gradient(
        net, ADL_QNET_VALUE1, params,
        &(struct adl_qnet_pass){states, ws->context, ldc, ws->dvalue_hidden, width, ws->dcontext, true}, ws, grads);
    spread(net, batch, ws);
    adl_qnet_convolve_gradient(net, params, batch, ws, grads);
}

const struct adl_qnet_ops adl_qnet_shared_ops = {
    .name = "shared",
    .check = check,
    .lay_out = lay_out,
    .take_room = take_room,
    .forward = forward,
    .backward = backward,
};
