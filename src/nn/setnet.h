/* setnet: a small network from a query and a set of facts to a prediction and its uncertainty.
 *
 *     s = summary of the facts, given the query          by one of three forms
 *     (mean, log spread) = OUT relu(HEAD relu(QUERY q + SUMMARY s))
 *
 * POOL      feed-forward: mean and maximum over the facts of a two-layer network (Zaheer et al., "Deep sets", 2017)
 * RECURRENT a gated recurrent unit over the facts in their order (Cho et al. 2014)
 * ATTENTION the query attends to the facts, or to none of them (Vaswani et al. 2017), four heads
 *
 * A set may be empty. All buffers are the caller's or the workspace's, made once; nothing allocates after. */
#ifndef ADLRO_NN_SETNET_H
#define ADLRO_NN_SETNET_H

#include "base/error.h"
#include "base/rng.h"
#include "nn/kernels.h"

enum adl_setnet_form { ADL_SETNET_POOL, ADL_SETNET_RECURRENT, ADL_SETNET_ATTENTION, ADL_SETNET_FORM_COUNT };

#define ADL_SETNET_FEATURES_MAX 256
#define ADL_SETNET_WIDTH_MAX    256
#define ADL_SETNET_OUTPUTS      2 /* mean, logarithm of the spread */

struct adl_setnet_shape {
    enum adl_setnet_form form;
    int fact_features;  /* F, at least 1 */
    int query_features; /* Q, at least 1 */
    int width;          /* H, a multiple of 16 */
};

struct adl_setnet_layer {
    int inputs, outputs;
    size_t weights; /* offset of (panels, inputs, 16) */
    size_t bias;    /* offset of (outputs filled up to 16) */
};

enum {
    ADL_SETNET_EMBED,   /* F -> H */
    ADL_SETNET_SECOND,  /* H -> H (POOL), 3H (RECURRENT: update, reset, new), 2H (ATTENTION: key, value) */
    ADL_SETNET_OWN,     /* H -> 3H (RECURRENT: from the state), Q -> H (ATTENTION: the query); none for POOL */
    ADL_SETNET_QUERY,   /* Q -> H */
    ADL_SETNET_SUMMARY, /* 2H (POOL) or H -> H */
    ADL_SETNET_HEAD,    /* H -> H */
    ADL_SETNET_OUT,     /* H -> 2 */
    ADL_SETNET_LAYERS
};

/* Immutable; created by adl_setnet_make. */
struct adl_setnet {
    struct adl_setnet_shape shape;
    const struct adl_kernels *kernels;
    size_t parameter_count;
    struct adl_setnet_layer layers[ADL_SETNET_LAYERS];
};

struct adl_setnet_batch {
    int sets;
    const int *offset;    /* (sets + 1) the facts of set s are offset[s] .. offset[s + 1] - 1; offset[0] is 0 */
    const float *facts;   /* (offset[sets], F) */
    const float *queries; /* (sets, Q) */
};

struct adl_setnet_workspace;

const char *adl_setnet_form_name(enum adl_setnet_form form);

/* ADL_EINVAL, with what would be right, if the shape is invalid. */
int adl_setnet_make(const struct adl_setnet_shape *shape, const struct adl_kernels *kernels, struct adl_setnet *ret,
                    struct adl_error *err);

/* He's initialization; the last layer is scaled by 1/100, so that a new network predicts 0 with spread 1. */
void adl_setnet_init(const struct adl_setnet *net, struct adl_rng *rng, float *ret_params);

int adl_setnet_workspace_create(const struct adl_setnet *net, int sets, int facts, struct adl_setnet_workspace **ret,
                                struct adl_error *err);
void adl_setnet_workspace_destroy(struct adl_setnet_workspace *workspace); /* accepts NULL */

/* ret: (sets, 2). The workspace keeps what backward needs. */
void adl_setnet_forward(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                        struct adl_setnet_workspace *workspace, float *ret);
/* grads (parameter_count) += d(sum of douts outs)/d params, for the batch that forward saw last. douts: (sets, 2). */
void adl_setnet_backward(const struct adl_setnet *net, const float *params, const struct adl_setnet_batch *batch,
                         struct adl_setnet_workspace *workspace, const float *douts, float *grads);

#endif
