/* setnet: parameters, workspace and the head that all forms share. */
#include "nn/setnet.h"

#include "nn/setnet_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct adl_setnet_ops *ops_of(enum adl_setnet_form form)
{
    static const struct adl_setnet_ops *const all[ADL_SETNET_FORM_COUNT] = {
        &adl_setnet_pool_ops, &adl_setnet_recurrent_ops, &adl_setnet_attention_ops};
    return all[form];
}

const char *adl_setnet_form_name(enum adl_setnet_form form)
{
    return ops_of(form)->name;
}

static ptrdiff_t padded(ptrdiff_t width)
{
    return adl_panels(width) * ADL_PANEL;
}

/* ---- shape and parameters ---- */

static void add_layer(struct adl_setnet *net, int index, int inputs, int outputs)
{
    struct adl_setnet_layer *layer = &net->layers[index];
    *layer = (struct adl_setnet_layer){inputs, outputs, net->parameter_count, 0};
    net->parameter_count += (size_t)(inputs * padded(outputs));
    layer->bias = net->parameter_count;
    net->parameter_count += (size_t)padded(outputs);
}

int adl_setnet_make(const struct adl_setnet_shape *shape, const struct adl_kernels *kernels, struct adl_setnet *ret,
                    struct adl_error *err)
{
    if ((int)shape->form < 0 || (int)shape->form >= ADL_SETNET_FORM_COUNT)
        return adl_fail(err, ADL_EINVAL, "network: there is no form %d; there are 0 to %d", (int)shape->form,
                        ADL_SETNET_FORM_COUNT - 1);
    if (shape->fact_features < 1 || shape->fact_features > ADL_SETNET_FEATURES_MAX || shape->query_features < 1 ||
        shape->query_features > ADL_SETNET_FEATURES_MAX)
        return adl_fail(err, ADL_EINVAL, "network: features must be 1 to %d, got %d of facts and %d of queries",
                        ADL_SETNET_FEATURES_MAX, shape->fact_features, shape->query_features);
    if (shape->width < ADL_PANEL || shape->width > ADL_SETNET_WIDTH_MAX || shape->width % ADL_PANEL)
        return adl_fail(err, ADL_EINVAL, "network: its width must be a multiple of %d up to %d, got %d", ADL_PANEL,
                        ADL_SETNET_WIDTH_MAX, shape->width);
    const struct adl_setnet_ops *ops = ops_of(shape->form);
    const int width = shape->width;
    struct adl_setnet net = {.shape = *shape, .kernels = kernels};
    add_layer(&net, ADL_SETNET_EMBED, shape->fact_features, width);
    add_layer(&net, ADL_SETNET_SECOND, width, ops->second * width);
    if (ops->own)
        add_layer(&net, ADL_SETNET_OWN, ops->own_inputs ? ops->own_inputs * width : shape->query_features,
                  ops->own * width);
    add_layer(&net, ADL_SETNET_QUERY, shape->query_features, width);
    add_layer(&net, ADL_SETNET_SUMMARY, ops->summary * width, width);
    add_layer(&net, ADL_SETNET_HEAD, width, width);
    add_layer(&net, ADL_SETNET_OUT, width, ADL_SETNET_OUTPUTS);
    *ret = net;
    return 0;
}

void adl_setnet_init(const struct adl_setnet *net, struct adl_rng *rng, float *ret_params)
{
    memset(ret_params, 0, net->parameter_count * sizeof *ret_params);
    for (int l = 0; l < ADL_SETNET_LAYERS; l++) {
        const struct adl_setnet_layer *layer = &net->layers[l];
        if (layer->outputs == 0)
            continue;
        const double scale = sqrt(2.0 / layer->inputs) * (l == ADL_SETNET_OUT ? 0.01 : 1.0);
        for (int i = 0; i < layer->inputs; i++)
            for (int o = 0; o < layer->outputs; o++) {
                const ptrdiff_t at = (o / ADL_PANEL * (ptrdiff_t)layer->inputs + i) * ADL_PANEL + o % ADL_PANEL;
                ret_params[layer->weights + (size_t)at] = (float)(scale * adl_rng_normal(rng));
            }
    }
}

/* ---- workspace ---- */

/* Allocates parts of the block, or only counts their size while base is NULL. */
static float *take(float *base, size_t *used, ptrdiff_t rows, ptrdiff_t width)
{
    float *part = base ? base + *used : NULL;
    *used += (size_t)(rows * padded(width));
    return part;
}

static size_t lay_out(const struct adl_setnet *net, float *base, struct adl_setnet_workspace *ws)
{
    const ptrdiff_t width = net->shape.width, facts = ws->facts, sets = ws->sets, most = facts > sets ? facts : sets;
    size_t used = 0, largest = 0;
    float **const of_facts[] = {&ws->embed, &ws->dembed, &ws->before, &ws->after};
    float **const of_sets[] = {&ws->hidden, &ws->dhidden, &ws->head, &ws->dhead};
    float **const wide[] = {&ws->second, &ws->dsecond, &ws->own, &ws->down, &ws->gates};
    for (size_t i = 0; i < sizeof of_facts / sizeof *of_facts; i++)
        *of_facts[i] = take(base, &used, facts, width);
    for (size_t i = 0; i < sizeof of_sets / sizeof *of_sets; i++)
        *of_sets[i] = take(base, &used, sets, width);
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        *wide[i] = take(base, &used, most, 3 * width);
    ws->summary = take(base, &used, sets, 2 * width);
    ws->dsummary = take(base, &used, sets, 2 * width);
    ws->out = take(base, &used, sets, ADL_SETNET_OUTPUTS);
    ws->dout = take(base, &used, sets, ADL_SETNET_OUTPUTS);
    for (int l = 0; l < ADL_SETNET_LAYERS; l++) {
        const struct adl_setnet_layer *layer = &net->layers[l];
        const size_t size = (size_t)(padded(layer->inputs) * padded(layer->outputs));
        largest = size > largest ? size : largest;
    }
    ws->transposed = take(base, &used, 1, (ptrdiff_t)largest);
    return used;
}

int adl_setnet_workspace_create(const struct adl_setnet *net, int sets, int facts, struct adl_setnet_workspace **ret,
                                struct adl_error *err)
{
    struct adl_setnet_workspace size = {.sets = sets, .facts = facts};
    const size_t floats = lay_out(net, NULL, &size);
    const size_t head = (sizeof size + 63) / 64 * 64;
    struct adl_setnet_workspace *ws = calloc(1, head + floats * sizeof(float));
    if (!ws)
        return adl_fail(err, ADL_ENOMEM, "no memory for a network's workspace of %zu numbers", floats);
    ws->sets = sets;
    ws->facts = facts;
    lay_out(net, (float *)(void *)((char *)ws + head), ws);
    *ret = ws;
    return 0;
}

void adl_setnet_workspace_destroy(struct adl_setnet_workspace *workspace)
{
    free(workspace);
}

/* ---- layers ---- */

void adl_setnet_dense(const struct adl_setnet *net, int layer, const float *params, ptrdiff_t rows, const float *x,
                      bool accumulate, bool relu, float *y)
{
    const struct adl_setnet_layer *l = &net->layers[layer];
    const struct adl_product how = {
        .bias = accumulate ? NULL : params + l->bias, .accumulate = accumulate, .relu = relu};
    if (rows > 0)
        net->kernels->dense(rows, l->inputs, adl_panels(l->outputs), x, l->inputs, params + l->weights, how, y,
                            padded(l->outputs));
}

void adl_setnet_dense_back(const struct adl_setnet *net, int layer, const float *params, ptrdiff_t rows, const float *x,
                           const float *dy, struct adl_setnet_workspace *ws, float *dx, float *grads)
{
    const struct adl_setnet_layer *l = &net->layers[layer];
    const ptrdiff_t panels = adl_panels(l->outputs), ldy = padded(l->outputs);
    if (rows <= 0)
        return;
    net->kernels->dense_gradient(rows, l->inputs, panels, x, l->inputs, dy, ldy, grads + l->weights, grads + l->bias);
    if (!dx)
        return;
    const struct adl_product plain = {.relu = false};
    net->kernels->transpose(l->inputs, panels, params + l->weights, ws->transposed);
    net->kernels->dense(rows, ldy, adl_panels(l->inputs), dy, ldy, ws->transposed, plain, dx, padded(l->inputs));
}

/* ---- both passes ---- */

void adl_setnet_forward(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                        struct adl_setnet_workspace *workspace, float *ret)
{
    const ptrdiff_t sets = batch->sets;
    struct adl_setnet_workspace *ws = workspace;
    adl_setnet_dense(net, ADL_SETNET_EMBED, params, batch->offset[sets], batch->facts, false, true, ws->embed);
    ops_of(net->shape.form)->forward(net, params, batch, ws);
    adl_setnet_dense(net, ADL_SETNET_QUERY, params, sets, batch->queries, false, false, ws->hidden);
    adl_setnet_dense(net, ADL_SETNET_SUMMARY, params, sets, ws->summary, true, true, ws->hidden);
    adl_setnet_dense(net, ADL_SETNET_HEAD, params, sets, ws->hidden, false, true, ws->head);
    adl_setnet_dense(net, ADL_SETNET_OUT, params, sets, ws->head, false, false, ws->out);
    for (ptrdiff_t s = 0; s < sets; s++)
        memcpy(ret + s * ADL_SETNET_OUTPUTS, ws->out + s * ADL_PANEL, ADL_SETNET_OUTPUTS * sizeof *ret);
}

void adl_setnet_backward(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                         struct adl_setnet_workspace *workspace, const float *douts, float *grads)
{
    const ptrdiff_t sets = batch->sets, width = net->shape.width;
    struct adl_setnet_workspace *ws = workspace;
    memset(ws->dout, 0, (size_t)(sets * ADL_PANEL) * sizeof *ws->dout);
    for (ptrdiff_t s = 0; s < sets; s++)
        memcpy(ws->dout + s * ADL_PANEL, douts + s * ADL_SETNET_OUTPUTS, ADL_SETNET_OUTPUTS * sizeof *douts);
    adl_setnet_dense_back(net, ADL_SETNET_OUT, params, sets, ws->head, ws->dout, ws, ws->dhead, grads);
    net->kernels->relu_gradient(sets * width, ws->head, ws->dhead);
    adl_setnet_dense_back(net, ADL_SETNET_HEAD, params, sets, ws->hidden, ws->dhead, ws, ws->dhidden, grads);
    net->kernels->relu_gradient(sets * width, ws->hidden, ws->dhidden);
    adl_setnet_dense_back(net, ADL_SETNET_QUERY, params, sets, batch->queries, ws->dhidden, ws, NULL, grads);
    adl_setnet_dense_back(net, ADL_SETNET_SUMMARY, params, sets, ws->summary, ws->dhidden, ws, ws->dsummary, grads);
    /* The sum has one bias, that of the query's part. */
    memset(grads + net->layers[ADL_SETNET_SUMMARY].bias, 0, (size_t)width * sizeof *grads);
    ops_of(net->shape.form)->backward(net, params, batch, ws, grads);
    net->kernels->relu_gradient(batch->offset[sets] * width, ws->embed, ws->dembed);
    adl_setnet_dense_back(net, ADL_SETNET_EMBED, params, batch->offset[sets], batch->facts, ws->dembed, ws, NULL,
                          grads);
}
