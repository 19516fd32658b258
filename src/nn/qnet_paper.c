/* qnet_paper: the network of the ADLRO paper, section "state, action, reward", for a fixed number n of GPUs.
 *
 * Two convolutions over the n x 1 utilization, flattened and concatenated with the state features, a dense layer, and
 * n + 1 outputs: one for each GPU and one to wait. An action's value is the mean of its GPUs' outputs, which for a job
 * of one GPU is as in the paper; the paper does not cover gangs. */
#include "nn/qnet_internal.h"

#include <assert.h>
#include <string.h>

static int check(const struct adl_qnet_shape *shape, struct adl_error *err)
{
    if (shape->gpu_features != 1 || shape->action_features != 0)
        return adl_fail(err, ADL_EINVAL,
                        "network: the kind paper has 1 feature of a GPU and 0 of an action, got %d and %d",
                        shape->gpu_features, shape->action_features);
    if (shape->state_features < 1)
        return adl_fail(err, ADL_EINVAL, "network: the kind paper has at least 1 state feature, the queue's length");
    if (shape->paper_gpus < 1 || shape->paper_gpus > ADL_QNET_GPUS_MAX)
        return adl_fail(err, ADL_EINVAL, "network: paper_gpus must be from 1 to %d, got %d", ADL_QNET_GPUS_MAX,
                        shape->paper_gpus);
    return 0;
}

static void lay_out(struct adl_qnet *net)
{
    const int flat = net->shape.paper_gpus * net->shape.gpu_width;
    const int state = net->shape.state_features;
    const int width = net->shape.head_width;
    adl_qnet_layer_add(net, flat, width, flat + state, true);
    adl_qnet_layer_add(net, state, width, flat + state, false);
    adl_qnet_layer_add(net, width, net->shape.paper_gpus + 1, width, true);
}

static void take_room(const struct adl_qnet *net, struct adl_qnet_room *room, struct adl_qnet_workspace *ws)
{
    const ptrdiff_t states = ws->limits.states, width = net->shape.head_width;
    const ptrdiff_t outputs = adl_qnet_padded(net->shape.paper_gpus + 1);
    ws->hidden1 = adl_qnet_room_take(room, states, width);
    ws->dhidden1 = adl_qnet_room_take(room, states, width);
    ws->output = adl_qnet_room_take(room, states, outputs);
    ws->doutput = adl_qnet_room_take(room, states, outputs);
}

/* Distance of the states' rows in the convolution's result: the GPUs and a row of padding. */
static ptrdiff_t flat_step(const struct adl_qnet *net)
{
    return ((ptrdiff_t)net->shape.paper_gpus + 1) * net->shape.gpu_width;
}

static void forward(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                    struct adl_qnet_workspace *ws, float *q)
{
    const ptrdiff_t states = batch->states, width = net->shape.head_width, gpus = net->shape.paper_gpus;
    const ptrdiff_t ldo = adl_qnet_padded(gpus + 1);
    const struct adl_product plain = {0}, add_relu = {.accumulate = true, .relu = true};
    for (int s = 0; s < batch->states; s++)
        assert(batch->gpu_offset[s + 1] - batch->gpu_offset[s] == net->shape.paper_gpus);
    adl_qnet_convolve(net, params, batch, ws);
    adl_qnet_dense(net, ADL_QNET_FLAT, params, states, ws->second + net->shape.gpu_width, flat_step(net), plain,
                   ws->hidden1, width);
    adl_qnet_dense(net, ADL_QNET_FLAT_STATE, params, states, batch->state, net->shape.state_features, add_relu,
                   ws->hidden1, width);
    adl_qnet_dense(net, ADL_QNET_OUTPUT, params, states, ws->hidden1, width, plain, ws->output, ldo);
    for (ptrdiff_t s = 0; s < states; s++)
        for (ptrdiff_t a = batch->action_offset[s]; a < batch->action_offset[s + 1]; a++) {
            const int first = batch->member_offset[a], end = batch->member_offset[a + 1];
            const float *out = ws->output + s * ldo;
            float sum = first == end ? out[gpus] : 0;
            for (int i = first; i < end; i++)
                sum += out[batch->members[i]];
            q[a] = first == end ? sum : sum / (float)(end - first);
        }
}

static void output_gradient(const struct adl_qnet *net, const struct adl_qnet_batch *batch,
                            struct adl_qnet_workspace *ws, const float *dq)
{
    const ptrdiff_t gpus = net->shape.paper_gpus, ldo = adl_qnet_padded(gpus + 1);
    memset(ws->doutput, 0, (size_t)(batch->states * ldo) * sizeof *ws->doutput);
    for (int s = 0; s < batch->states; s++)
        for (ptrdiff_t a = batch->action_offset[s]; a < batch->action_offset[s + 1]; a++) {
            const int first = batch->member_offset[a], end = batch->member_offset[a + 1];
            float *dout = ws->doutput + s * ldo;
            if (first == end)
                dout[gpus] += dq[a];
            for (int i = first; i < end; i++)
                dout[batch->members[i]] += dq[a] / (float)(end - first);
        }
}

static void backward(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                     struct adl_qnet_workspace *ws, const float *dq, float *grads)
{
    const ptrdiff_t states = batch->states, width = net->shape.head_width, channels = net->shape.gpu_width;
    const ptrdiff_t ldo = adl_qnet_padded(net->shape.paper_gpus + 1);
    output_gradient(net, batch, ws, dq);
    adl_qnet_dense_gradient(net, ADL_QNET_OUTPUT, params,
                            &(struct adl_qnet_pass){states, ws->hidden1, width, ws->doutput, ldo, ws->dhidden1, false},
                            ws, grads);
    net->kernels->relu_gradient(states * width, ws->hidden1, ws->dhidden1);
    adl_qnet_dense_gradient(
        net, ADL_QNET_FLAT_STATE, params,
        &(struct adl_qnet_pass){states, batch->state, net->shape.state_features, ws->dhidden1, width, NULL, false}, ws,
        grads);
    adl_padding_clear(batch->states, batch->gpu_offset, channels, ws->dsecond);
    adl_qnet_dense_gradient(net, ADL_QNET_FLAT, params,
                            &(struct adl_qnet_pass){states, ws->second + channels, flat_step(net), ws->dhidden1, width,
                                                    ws->dsecond + channels, false},
                            ws, grads);
    adl_qnet_convolve_gradient(net, params, batch, ws, grads);
}

const struct adl_qnet_ops adl_qnet_paper_ops = {
    .name = "paper",
    .check = check,
    .lay_out = lay_out,
    .take_room = take_room,
    .forward = forward,
    .backward = backward,
};
