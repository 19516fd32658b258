/* setnet_forms: the three ways to summarize a set. */
#include "nn/setnet_internal.h"

#include "base/real.h"

#include <math.h>
#include <string.h>

static float sigmoid(float x)
{
    return (float)(1.0 / (1.0 + adl_exp(-(double)x)));
}

static float hyperbolic_tangent(float x)
{
    return (float)(1.0 - 2.0 / (1.0 + adl_exp(2.0 * (double)x)));
}

/* ---- POOL ---- */

static void pool_forward(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                         struct adl_setnet_workspace *ws)
{
    const ptrdiff_t width = net->shape.width;
    adl_setnet_dense(net, ADL_SETNET_SECOND, params, batch->offset[batch->sets], ws->embed, false, true, ws->second);
    for (ptrdiff_t s = 0; s < batch->sets; s++) {
        float *row = ws->summary + s * 2 * width;
        net->kernels->pool(batch->offset[s + 1] - batch->offset[s], width, ws->second + batch->offset[s] * width, row,
                           row + width);
    }
}

static void pool_backward(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                          struct adl_setnet_workspace *ws, float *grads)
{
    const ptrdiff_t width = net->shape.width, facts = batch->offset[batch->sets];
    memset(ws->dsecond, 0, (size_t)(facts * width) * sizeof *ws->dsecond);
    for (ptrdiff_t s = 0; s < batch->sets; s++) {
        const ptrdiff_t first = batch->offset[s], count = batch->offset[s + 1] - first;
        const float *summary = ws->summary + s * 2 * width, *dsummary = ws->dsummary + s * 2 * width;
        if (count > 0)
            net->kernels->pool_gradient(count, width, ws->second + first * width, summary + width, dsummary,
                                        dsummary + width, ws->dsecond + first * width);
    }
    net->kernels->relu_gradient(facts * width, ws->second, ws->dsecond);
    adl_setnet_dense_back(net, ADL_SETNET_SECOND, params, facts, ws->embed, ws->dsecond, ws, ws->dembed, grads);
}

const struct adl_setnet_ops adl_setnet_pool_ops = {"feed-forward", 1, 0, 0, 2, pool_forward, pool_backward};

/* ---- RECURRENT ----
 *
 *     z = sigmoid(x_z + U_z h)   r = sigmoid(x_r + U_r h)   n = tanh(x_n + r (U_n h))   h' = (1 - z) n + z h */

static void step_forward(ptrdiff_t width, const float *x, const float *own, const float *before, float *gates,
                         float *after)
{
    for (ptrdiff_t i = 0; i < width; i++) {
        const float z = sigmoid(x[i] + own[i]), r = sigmoid(x[width + i] + own[width + i]);
        const float n = hyperbolic_tangent(x[2 * width + i] + r * own[2 * width + i]);
        gates[i] = z;
        gates[width + i] = r;
        gates[2 * width + i] = n;
        after[i] = (1 - z) * n + z * before[i];
    }
}

static void recurrent_forward(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                              struct adl_setnet_workspace *ws)
{
    const ptrdiff_t width = net->shape.width;
    const size_t bytes = (size_t)width * sizeof(float);
    adl_setnet_dense(net, ADL_SETNET_SECOND, params, batch->offset[batch->sets], ws->embed, false, false, ws->second);
    for (ptrdiff_t s = 0; s < batch->sets; s++) {
        float *summary = ws->summary + s * width;
        memset(summary, 0, bytes);
        for (ptrdiff_t f = batch->offset[s]; f < batch->offset[s + 1]; f++) {
            memcpy(ws->before + f * width, summary, bytes);
            adl_setnet_dense(net, ADL_SETNET_OWN, params, 1, summary, false, false, ws->own + f * 3 * width);
            step_forward(width, ws->second + f * 3 * width, ws->own + f * 3 * width, ws->before + f * width,
                         ws->gates + f * 3 * width, ws->after + f * width);
            memcpy(summary, ws->after + f * width, bytes);
        }
    }
}

/* dstate: in, of the state after; out, of the state before, without what goes through U. */
static void step_backward(ptrdiff_t width, const float *own, const float *before, const float *gates, float *dstate,
                          float *dx, float *down)
{
    for (ptrdiff_t i = 0; i < width; i++) {
        const float z = gates[i], r = gates[width + i], n = gates[2 * width + i];
        const float dn = dstate[i] * (1 - z) * (1 - n * n);
        dx[i] = down[i] = dstate[i] * (before[i] - n) * z * (1 - z);
        dx[width + i] = down[width + i] = dn * own[2 * width + i] * r * (1 - r);
        dx[2 * width + i] = dn;
        down[2 * width + i] = dn * r;
        dstate[i] *= z;
    }
}

static void recurrent_backward(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                               struct adl_setnet_workspace *ws, float *grads)
{
    const ptrdiff_t width = net->shape.width, facts = batch->offset[batch->sets], inputs = width,
                    panels = adl_panels(3 * width);
    const struct adl_setnet_layer *own = &net->layers[ADL_SETNET_OWN];
    const struct adl_product add = {.accumulate = true};
    if (facts > 0)
        net->kernels->transpose(inputs, panels, params + own->weights, ws->transposed);
    for (ptrdiff_t s = 0; s < batch->sets; s++) {
        float *dstate = ws->dsummary + s * width;
        for (ptrdiff_t f = batch->offset[s + 1]; f-- > batch->offset[s];) {
            step_backward(width, ws->own + f * 3 * width, ws->before + f * width, ws->gates + f * 3 * width, dstate,
                          ws->dsecond + f * 3 * width, ws->down + f * 3 * width);
            net->kernels->dense(1, 3 * width, adl_panels(inputs), ws->down + f * 3 * width, 3 * width, ws->transposed,
                                add, dstate, width);
        }
    }
    adl_setnet_dense_back(net, ADL_SETNET_OWN, params, facts, ws->before, ws->down, ws, NULL, grads);
    adl_setnet_dense_back(net, ADL_SETNET_SECOND, params, facts, ws->embed, ws->dsecond, ws, ws->dembed, grads);
}

const struct adl_setnet_ops adl_setnet_recurrent_ops = {"recurrent", 3, 1, 3, 1, recurrent_forward, recurrent_backward};

/* ---- ATTENTION ----
 *
 * Weight of fact f in head h = exp(query . key_f / sqrt(d)) / (1 + sum of these): the 1 is for attending to none. */

static void attend(const float *query, const float *keyed, ptrdiff_t count, ptrdiff_t width, ptrdiff_t head,
                   float *weights, float *summary)
{
    const ptrdiff_t part = width / ADL_SETNET_HEADS, first = head * part;
    const float scale = (float)(1.0 / sqrt((double)part));
    double most = 0, sum = 0;
    for (ptrdiff_t f = 0; f < count; f++) {
        float score = 0;
        for (ptrdiff_t i = first; i < first + part; i++)
            score += query[i] * keyed[f * 2 * width + i];
        weights[f * ADL_SETNET_HEADS + head] = score * scale;
        most = (double)(score * scale) > most ? (double)(score * scale) : most;
    }
    sum = adl_exp(-most);
    for (ptrdiff_t f = 0; f < count; f++) {
        const double e = adl_exp((double)weights[f * ADL_SETNET_HEADS + head] - most);
        weights[f * ADL_SETNET_HEADS + head] = (float)e;
        sum += e;
    }
    for (ptrdiff_t f = 0; f < count; f++) {
        const float w = weights[f * ADL_SETNET_HEADS + head] =
            (float)((double)weights[f * ADL_SETNET_HEADS + head] / sum);
        for (ptrdiff_t i = first; i < first + part; i++)
            summary[i] += w * keyed[f * 2 * width + width + i];
    }
}

static void attention_forward(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                              struct adl_setnet_workspace *ws)
{
    const ptrdiff_t width = net->shape.width;
    adl_setnet_dense(net, ADL_SETNET_SECOND, params, batch->offset[batch->sets], ws->embed, false, false, ws->second);
    adl_setnet_dense(net, ADL_SETNET_OWN, params, batch->sets, batch->queries, false, false, ws->own);
    memset(ws->summary, 0, (size_t)(batch->sets * width) * sizeof *ws->summary);
    for (ptrdiff_t s = 0; s < batch->sets; s++) {
        const ptrdiff_t first = batch->offset[s], count = batch->offset[s + 1] - first;
        for (ptrdiff_t h = 0; h < ADL_SETNET_HEADS; h++)
            attend(ws->own + s * width, ws->second + first * 2 * width, count, width, h,
                   ws->gates + first * ADL_SETNET_HEADS, ws->summary + s * width);
    }
}

static void attend_back(const float *query, const float *keyed, ptrdiff_t count, ptrdiff_t width, ptrdiff_t head,
                        const float *weights, const float *dsummary, float *dask, float *dkeyed)
{
    const ptrdiff_t part = width / ADL_SETNET_HEADS, first = head * part;
    const float scale = (float)(1.0 / sqrt((double)part));
    float mean = 0;
    for (ptrdiff_t f = 0; f < count; f++) {
        float dweight = 0;
        for (ptrdiff_t i = first; i < first + part; i++)
            dweight += dsummary[i] * keyed[f * 2 * width + width + i];
        mean += weights[f * ADL_SETNET_HEADS + head] * dweight;
    }
    for (ptrdiff_t f = 0; f < count; f++) {
        const float w = weights[f * ADL_SETNET_HEADS + head];
        float dweight = 0;
        for (ptrdiff_t i = first; i < first + part; i++)
            dweight += dsummary[i] * keyed[f * 2 * width + width + i];
        const float dscore = w * (dweight - mean) * scale;
        for (ptrdiff_t i = first; i < first + part; i++) {
            dkeyed[f * 2 * width + i] = dscore * query[i];
            dkeyed[f * 2 * width + width + i] = w * dsummary[i];
            dask[i] += dscore * keyed[f * 2 * width + i];
        }
    }
}

static void attention_backward(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                               struct adl_setnet_workspace *ws, float *grads)
{
    const ptrdiff_t width = net->shape.width, facts = batch->offset[batch->sets];
    memset(ws->down, 0, (size_t)(batch->sets * width) * sizeof *ws->down);
    for (ptrdiff_t s = 0; s < batch->sets; s++) {
        const ptrdiff_t first = batch->offset[s], count = batch->offset[s + 1] - first;
        for (ptrdiff_t h = 0; h < ADL_SETNET_HEADS; h++)
            attend_back(ws->own + s * width, ws->second + first * 2 * width, count, width, h,
                        ws->gates + first * ADL_SETNET_HEADS, ws->dsummary + s * width, ws->down + s * width,
                        ws->dsecond + first * 2 * width);
    }
    adl_setnet_dense_back(net, ADL_SETNET_OWN, params, batch->sets, batch->queries, ws->down, ws, NULL, grads);
    adl_setnet_dense_back(net, ADL_SETNET_SECOND, params, facts, ws->embed, ws->dsecond, ws, ws->dembed, grads);
}

const struct adl_setnet_ops adl_setnet_attention_ops = {"attention", 2, 0, 1, 1, attention_forward, attention_backward};
