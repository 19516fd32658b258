/* qnet_internal: shared by qnet.c and the two networks' files: the workspace and common steps. */
#ifndef ADLRO_NN_QNET_INTERNAL_H
#define ADLRO_NN_QNET_INTERNAL_H

#include "nn/qnet.h"

/* Matrices of a batch; d is the gradient of what it precedes. P = padded rows (see kernels.h), B = states, N = actions;
 * widths are filled up to multiples of 16. */
struct adl_qnet_workspace {
    struct adl_qnet_limits limits;
    float *gpus;                         /* (P, F) */
    float *first, *dfirst;               /* (P, H) after the first convolution */
    float *second, *dsecond;             /* (P, H) after the second: e */
    float *context, *dcontext;           /* (B, 2H + S) SHARED: mean and max of e, state */
    float *value_hidden, *dvalue_hidden; /* (B, W) SHARED */
    float *value, *dvalue;               /* (B) SHARED */
    float *shared, *dshared;             /* (B, W) SHARED: the state's part of its actions' first layer */
    float *action, *daction;             /* (N, H + A) SHARED: mean of members' e, features */
    float *hidden1, *dhidden1;           /* (N, W) SHARED; (B, W) PAPER */
    float *dadvantage;                   /* (N) SHARED */
    float *hidden2, *dhidden2;           /* (N, W) SHARED */
    float *output, *doutput;             /* (B, n + 1) PAPER */
    float *transposed;                   /* the largest layer's weights */
    void *block;                         /* owns all of the above */
};

/* Allocates parts of the workspace's block, or only counts their size while base is NULL. */
struct adl_qnet_room {
    float *base;
    size_t used;
};

float *adl_qnet_room_take(struct adl_qnet_room *room, ptrdiff_t rows, ptrdiff_t width);

static inline ptrdiff_t adl_qnet_padded(ptrdiff_t width)
{
    return adl_panels(width) * ADL_PANEL;
}

static inline const float *adl_qnet_bias(const struct adl_qnet_layer *layer, const float *params)
{
    return layer->bias == SIZE_MAX ? NULL : params + layer->bias;
}

/* Layer `index` over x (rows, inputs). */
void adl_qnet_dense(const struct adl_qnet *net, int index, const float *params, ptrdiff_t rows, const float *x,
                    ptrdiff_t ldx, struct adl_product how, float *y, ptrdiff_t ldy);
/* The backward pass of the layer: its input, the gradient of its output, and where the gradient of its input goes. */
struct adl_qnet_pass {
    ptrdiff_t rows;
    const float *x; /* (rows, inputs), a row every ldx */
    ptrdiff_t ldx;
    const float *dy; /* (rows, outputs), a row every ldy */
    ptrdiff_t ldy;
    float *dx;       /* (rows, inputs filled up), a row every ldx; NULL = not wanted */
    bool accumulate; /* add to what is in dx */
};

void adl_qnet_dense_gradient(const struct adl_qnet *net, int index, const float *params,
                             const struct adl_qnet_pass *pass, struct adl_qnet_workspace *ws, float *grads);

/* Both convolutions: ws->gpus to ws->second, and ws->dsecond to gradients. */
void adl_qnet_convolve(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                       struct adl_qnet_workspace *ws);
void adl_qnet_convolve_gradient(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                                struct adl_qnet_workspace *ws, float *grads);

/* The operations of a kind of network. */
struct adl_qnet_ops {
    const char *name;
    int (*check)(const struct adl_qnet_shape *shape, struct adl_error *err);
    void (*lay_out)(struct adl_qnet *net);
    void (*take_room)(const struct adl_qnet *net, struct adl_qnet_room *room, struct adl_qnet_workspace *ws);
    void (*forward)(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                    struct adl_qnet_workspace *ws, float *q);
    void (*backward)(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                     struct adl_qnet_workspace *ws, const float *dq, float *grads);
};

extern const struct adl_qnet_ops adl_qnet_shared_ops, adl_qnet_paper_ops;

/* Appends a layer to the net's parameters; layers are added in the order of their enumerators. */
void adl_qnet_layer_add(struct adl_qnet *net, int inputs, int outputs, int fan_in, bool has_bias);

#endif
