/* qnet: the Q-network: from features of GPUs, queue and candidate actions to the value of each action.
 *
 * Two networks behind one interface. SHARED uses the same weights for every GPU, so one set of parameters
 * serves clusters of any size. PAPER is that of the ADLRO paper, for one fixed number of GPUs.
 *
 * Batches are ragged: a state has any number of GPUs and actions, an action any number of member GPUs. All buffers are
 * the caller's; a workspace is made once for the largest batch, after which nothing allocates. A network, its
 * parameters and a batch may be shared between threads; a workspace may not.
 *
 *     struct adl_qnet net;
 *     adl_qnet_make(&shape, kernels, &net, &err);
 *     float *params = ... net.parameter_count ...;
 *     adl_qnet_init(&net, &rng, params);
 *     adl_qnet_workspace_create(&net, &limits, &workspace, &err);
 *     adl_qnet_forward(&net, params, &batch, workspace, q);
 *     adl_qnet_backward(&net, params, &batch, workspace, dq, grads); */
#ifndef ADLRO_NN_QNET_H
#define ADLRO_NN_QNET_H

#include "base/error.h"
#include "base/rng.h"
#include "nn/kernels.h"

#include <stddef.h>

enum adl_qnet_kind { ADL_QNET_SHARED, ADL_QNET_PAPER, ADL_QNET_KIND_COUNT };

#define ADL_QNET_WIDTH_MAX    1024
#define ADL_QNET_FEATURES_MAX 4096
#define ADL_QNET_GPUS_MAX     4096 /* of PAPER; SHARED has no limit */

struct adl_qnet_shape {
    enum adl_qnet_kind kind;
    int gpu_features;    /* F, of each GPU; 1 for PAPER, its utilization */
    int state_features;  /* S, of the queue and the current job; may be 0 */
    int action_features; /* A, of each candidate; 0 for PAPER */
    int gpu_width;       /* H, channels of both convolutions; a multiple of 16 */
    int head_width;      /* W, of the dense layers; a multiple of 16 */
    int paper_gpus;      /* n, GPUs of every state of PAPER; 0 for SHARED */
};

/* Offsets increase from 0; those of members may start anywhere, so that part of a batch is a batch. */
struct adl_qnet_batch {
    int states;
    const int *gpu_offset;    /* (states + 1) */
    const float *gpus;        /* (sum of GPUs, F) in the order the convolution sees them */
    const float *state;       /* (states, S) */
    const int *action_offset; /* (states + 1) SHARED: all actions of the state, whose mean it subtracts */
    const float *actions;     /* (sum of actions, A) */
    const int *member_offset; /* (sum of actions + 1) */
    const int *members;       /* (sum of members) GPUs of the action's state, counted from 0; none = wait */
};

/* One layer's place in the parameters. */
struct adl_qnet_layer {
    int inputs;
    int outputs;
    int fan_in;     /* inputs of the sum it is part of, for He's scale */
    size_t weights; /* offset of (panels, inputs, 16), or of (inputs) if there is one output */
    size_t bias;    /* offset of (outputs, filled up to 16); SIZE_MAX = none, its sum has one elsewhere */
};

enum {
    /* both */
    ADL_QNET_CONV1, /* 3F -> H */
    ADL_QNET_CONV2, /* 3H -> H */
    /* SHARED */
    ADL_QNET_VALUE1 = 2, /* 2H + S -> W */
    ADL_QNET_VALUE2,     /* W -> 1 */
    ADL_QNET_STATE1,     /* 2H + S -> W, the part of the advantage's first layer that is the same for all actions */
    ADL_QNET_ACTION1,    /* H + A -> W, the part that is not */
    ADL_QNET_ACTION2,    /* W -> W */
    ADL_QNET_ACTION3,    /* W -> 1 */
    /* PAPER */
    ADL_QNET_FLAT = 2,   /* nH -> W */
    ADL_QNET_FLAT_STATE, /* S -> W, added to it */
    ADL_QNET_OUTPUT,     /* W -> n + 1 */
    ADL_QNET_LAYERS_MAX = 8
};

/* Immutable; created by adl_qnet_make. */
struct adl_qnet {
    struct adl_qnet_shape shape;
    const struct adl_kernels *kernels;
    size_t parameter_count;
    int layer_count;
    struct adl_qnet_layer layers[ADL_QNET_LAYERS_MAX];
};

/* What a workspace has room for, summed over a batch. */
struct adl_qnet_limits {
    int states;
    int gpus;
    int actions;
};

struct adl_qnet_workspace;

const char *adl_qnet_kind_name(enum adl_qnet_kind kind);
int adl_qnet_kind_find(const char *name); /* negative if there is none */

/* ADL_EINVAL, with what would be right, if the shape is invalid. */
int adl_qnet_make(const struct adl_qnet_shape *shape, const struct adl_kernels *kernels, struct adl_qnet *ret,
                  struct adl_error *err);

/* He's initialization (2015); the last layers are scaled by 1/100, so that a new network values all actions alike. */
void adl_qnet_init(const struct adl_qnet *net, struct adl_rng *rng, float *ret_params);

/* Initializes a new SHARED network with a linear rule: adds scale * (sum of rule[f] * action feature f) to its
 * advantage. Two units of each hidden layer carry it, one for positive and one for negative sums; training may change
 * them like all others. */
void adl_qnet_prime(const struct adl_qnet *net, const float *rule, float scale, float *params);

int adl_qnet_workspace_create(const struct adl_qnet *net, const struct adl_qnet_limits *limits,
                              struct adl_qnet_workspace **ret, struct adl_error *err);
void adl_qnet_workspace_destroy(struct adl_qnet_workspace *workspace); /* accepts NULL */

/* q (sum of actions). The workspace keeps what backward needs. */
void adl_qnet_forward(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                      struct adl_qnet_workspace *workspace, float *ret_q);
/* grads (parameter_count) += d(sum of dq q)/d params, for the batch that forward saw last with this workspace. */
void adl_qnet_backward(const struct adl_qnet *net, const float *params, const struct adl_qnet_batch *batch,
                       struct adl_qnet_workspace *workspace, const float *dq, float *grads);

#endif
