/* setnet_internal: shared by setnet.c and setnet_forms.c: the workspace and a layer's two passes. */
#ifndef ADLRO_NN_SETNET_INTERNAL_H
#define ADLRO_NN_SETNET_INTERNAL_H

#include "nn/setnet.h"

#define ADL_SETNET_HEADS 4

/* N facts, S sets; d is the gradient of what it precedes. */
struct adl_setnet_workspace {
    int sets, facts;           /* room */
    float *embed, *dembed;     /* (N, H) */
    float *second, *dsecond;   /* (N, 3H) in rows of what the form's second layer has */
    float *own, *down;         /* (N, 3H) RECURRENT: from the state; (S, H) ATTENTION: the query */
    float *gates;              /* (N, 3H) RECURRENT: update, reset, new; (N, heads) ATTENTION: weights */
    float *before, *after;     /* (N, H) RECURRENT: the state */
    float *summary, *dsummary; /* (S, 2H) in rows of the summary's width */
    float *hidden, *dhidden;   /* (S, H) */
    float *head, *dhead;       /* (S, H) */
    float *out, *dout;         /* (S, 16) */
    float *transposed;         /* of the largest layer */
};

struct adl_setnet_ops {
    const char *name;
    int second, own_inputs, own; /* widths in H; own_inputs 0 = Q; own 0 = no such layer */
    int summary;
    void (*forward)(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                    struct adl_setnet_workspace *ws);
    void (*backward)(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                     struct adl_setnet_workspace *ws, float *grads);
};

extern const struct adl_setnet_ops adl_setnet_pool_ops, adl_setnet_recurrent_ops, adl_setnet_attention_ops;

/* y (rows, outputs filled up) of a layer; accumulate: added to what is there, without the bias. */
void adl_setnet_dense(const struct adl_setnet *net, int layer, const float *params, ptrdiff_t rows, const float *x,
                      bool accumulate, bool relu, float *y);
/* dx (rows, inputs), NULL = not wanted, whose inputs are then any number; else a multiple of 16. */
void adl_setnet_dense_back(const struct adl_setnet *net, int layer, const float *params, ptrdiff_t rows, const float *x,
                           const float *dy, struct adl_setnet_workspace *ws, float *dx, float *grads);

#endif
