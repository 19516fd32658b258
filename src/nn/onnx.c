/* onnx: see onnx.h; field numbers are those of the format's onnx.proto. */
#include "nn/onnx.h"

#include "nn/bytes.h"
#include "nn/protobuf.h"

#include <stdarg.h>
#include <stdio.h>

enum { /* fields of */
       MODEL_IR_VERSION = 1,
       MODEL_PRODUCER = 2,
       MODEL_GRAPH = 7,
       MODEL_OPSET = 8,
       OPSET_DOMAIN = 1,
       OPSET_VERSION = 2,
       GRAPH_NODE = 1,
       GRAPH_NAME = 2,
       GRAPH_INITIALIZER = 5,
       GRAPH_INPUT = 11,
       GRAPH_OUTPUT = 12,
       NODE_INPUT = 1,
       NODE_OUTPUT = 2,
       NODE_NAME = 3,
       NODE_OP = 4,
       NODE_ATTRIBUTE = 5,
       ATTRIBUTE_NAME = 1,
       ATTRIBUTE_INT = 3,
       ATTRIBUTE_INTS = 8,
       ATTRIBUTE_TYPE = 20,
       TENSOR_DIMENSION = 1,
       TENSOR_TYPE = 2,
       TENSOR_NAME = 8,
       TENSOR_RAW = 9,
       VALUE_NAME = 1,
       VALUE_TYPE = 2,
       TYPE_TENSOR = 1,
       TENSOR_TYPE_ELEMENT = 1,
       TENSOR_TYPE_SHAPE = 2,
       SHAPE_DIMENSION = 1,
       DIMENSION_VALUE = 1,
       DIMENSION_NAME = 2,
};
enum { TYPE_FLOAT = 1, TYPE_INT64 = 7, ATTRIBUTE_IS_INT = 2, ATTRIBUTE_IS_INTS = 7 };

/* A graph as it grows; parameters come from net. */
struct graph {
    const struct adl_qnet *net;
    const float *params;
    struct adl_text text;
};

/* ---- values ---- */

/* A size, or the name of one that is free: size 0. */
struct dimension {
    int64_t size;
    const char *name;
};

static void put_value(struct graph *g, unsigned field, const char *name, int count, const struct dimension *dimensions)
{
    struct adl_text shape = {0}, tensor = {0}, type = {0}, value = {0};
    for (int i = 0; i < count; i++) {
        struct adl_text dimension = {0};
        if (dimensions[i].size > 0)
            adl_protobuf_int(&dimension, DIMENSION_VALUE, dimensions[i].size);
        else
            adl_protobuf_string(&dimension, DIMENSION_NAME, dimensions[i].name);
        adl_protobuf_message(&shape, SHAPE_DIMENSION, &dimension);
    }
    adl_protobuf_int(&tensor, TENSOR_TYPE_ELEMENT, TYPE_FLOAT);
    adl_protobuf_message(&tensor, TENSOR_TYPE_SHAPE, &shape);
    adl_protobuf_message(&type, TYPE_TENSOR, &tensor);
    adl_protobuf_string(&value, VALUE_NAME, name);
    adl_protobuf_message(&value, VALUE_TYPE, &type);
    adl_protobuf_message(&g->text, field, &value);
}

static void put_tensor(struct graph *g, const char *name, int type, int count, const int64_t *dimensions,
                       struct adl_text *raw)
{
    struct adl_text tensor = {0};
    for (int i = 0; i < count; i++)
        adl_protobuf_int(&tensor, TENSOR_DIMENSION, dimensions[i]);
    adl_protobuf_int(&tensor, TENSOR_TYPE, type);
    adl_protobuf_string(&tensor, TENSOR_NAME, name);
    adl_protobuf_message(&tensor, TENSOR_RAW, raw);
    adl_protobuf_message(&g->text, GRAPH_INITIALIZER, &tensor);
}

static void put_index(struct graph *g, const char *name, int64_t value)
{
    struct adl_text raw = {0};
    adl_bytes_put_u64(&raw, (uint64_t)value);
    put_tensor(g, name, TYPE_INT64, 1, (const int64_t[]){1}, &raw);
}

static const float *weight_at(const struct graph *g, int index, int input, int output)
{
    const struct adl_qnet_layer *layer = &g->net->layers[index];
    const size_t panel = (size_t)(output / ADL_PANEL) * (size_t)layer->inputs + (size_t)input;
    const size_t at = layer->outputs == 1 ? (size_t)input : panel * ADL_PANEL + (size_t)(output % ADL_PANEL);
    return g->params + layer->weights + at;
}

/* "NAME.weight" (inputs, outputs), and "NAME.bias" (outputs) if the layer has one. */
static void put_dense(struct graph *g, int index, const char *name)
{
    const struct adl_qnet_layer *layer = &g->net->layers[index];
    struct adl_text raw = {0};
    char full[64];
    for (int i = 0; i < layer->inputs; i++)
        for (int o = 0; o < layer->outputs; o++)
            adl_bytes_put_floats(&raw, weight_at(g, index, i, o), 1);
    snprintf(full, sizeof full, "%s.weight", name);
    put_tensor(g, full, TYPE_FLOAT, 2, (const int64_t[]){layer->inputs, layer->outputs}, &raw);
    if (layer->bias == SIZE_MAX)
        return;
    adl_bytes_put_floats(&raw, g->params + layer->bias, (size_t)layer->outputs);
    snprintf(full, sizeof full, "%s.bias", name);
    put_tensor(g, full, TYPE_FLOAT, 1, (const int64_t[]){layer->outputs}, &raw);
}

/* "NAME.weight" (outputs, channels, 3) and "NAME.bias". */
static void put_conv(struct graph *g, int index, const char *name)
{
    const struct adl_qnet_layer *layer = &g->net->layers[index];
    const int channels = layer->inputs / 3;
    struct adl_text raw = {0};
    char full[64];
    for (int o = 0; o < layer->outputs; o++)
        for (int c = 0; c < channels; c++)
            for (int tap = 0; tap < 3; tap++)
                adl_bytes_put_floats(&raw, weight_at(g, index, tap * channels + c, o), 1);
    snprintf(full, sizeof full, "%s.weight", name);
    put_tensor(g, full, TYPE_FLOAT, 3, (const int64_t[]){layer->outputs, channels, 3}, &raw);
    adl_bytes_put_floats(&raw, g->params + layer->bias, (size_t)layer->outputs);
    snprintf(full, sizeof full, "%s.bias", name);
    put_tensor(g, full, TYPE_FLOAT, 1, (const int64_t[]){layer->outputs}, &raw);
}

/* ---- nodes ---- */

/* A node's whole-number attribute: one number, or count of them. */
struct attribute {
    const char *name;
    int count; /* 0 = one number, not a list */
    int64_t values[3];
};

static void put_attribute(struct adl_text *node, const struct attribute *attribute)
{
    struct adl_text text = {0};
    adl_protobuf_string(&text, ATTRIBUTE_NAME, attribute->name);
    if (attribute->count == 0)
        adl_protobuf_int(&text, ATTRIBUTE_INT, attribute->values[0]);
    for (int i = 0; i < attribute->count; i++)
        adl_protobuf_int(&text, ATTRIBUTE_INTS, attribute->values[i]);
    adl_protobuf_int(&text, ATTRIBUTE_TYPE, attribute->count == 0 ? ATTRIBUTE_IS_INT : ATTRIBUTE_IS_INTS);
    adl_protobuf_message(node, NODE_ATTRIBUTE, &text);
}

/* output = op(inputs), the inputs' names with blanks between them; the node is called after its output. */
static void put_node(struct graph *g, const char *op, const char *inputs, const char *output, int count,
                     const struct attribute *attributes)
{
    struct adl_text node = {0};
    for (const char *at = inputs; *at;) {
        const size_t length = strcspn(at, " ");
        adl_protobuf_bytes(&node, NODE_INPUT, at, length);
        at += length + (at[length] == ' ');
    }
    adl_protobuf_string(&node, NODE_OUTPUT, output);
    adl_protobuf_string(&node, NODE_NAME, output);
    adl_protobuf_string(&node, NODE_OP, op);
    for (int i = 0; i < count; i++)
        put_attribute(&node, &attributes[i]);
    adl_protobuf_message(&g->text, GRAPH_NODE, &node);
}

/* A node without attributes. */
static void put_simple(struct graph *g, const char *op, const char *inputs, const char *output)
{
    put_node(g, op, inputs, output, 0, NULL);
}

static void put_axis(struct graph *g, const char *op, const char *inputs, const char *output, int64_t axis)
{
    put_node(g, op, inputs, output, 1, &(const struct attribute){"axis", 0, {axis}});
}

/* ---- the networks ---- */

/* gpus (1, F, G) -> embedding (1, H, G), and embedding_rows (1, G, H) */
static void put_convolutions(struct graph *g)
{
    static const struct attribute pads = {"pads", 2, {1, 1}}, swap = {"perm", 3, {0, 2, 1}};
    put_conv(g, ADL_QNET_CONV1, "conv1");
    put_conv(g, ADL_QNET_CONV2, "conv2");
    put_node(g, "Conv", "gpus conv1.weight conv1.bias", "conv1", 1, &pads);
    put_simple(g, "Relu", "conv1", "conv1_relu");
    put_node(g, "Conv", "conv1_relu conv2.weight conv2.bias", "conv2", 1, &pads);
    put_simple(g, "Relu", "conv2", "embedding");
    put_node(g, "Transpose", "embedding", "embedding_rows", 1, &swap);
}

static void put_shared(struct graph *g)
{
    const struct adl_qnet_shape *shape = &g->net->shape;
    static const struct attribute over_gpus[] = {{"axes", 1, {2}}, {"keepdims", 0, {0}}};
    static const struct attribute over_actions[] = {{"axes", 1, {0}}, {"keepdims", 0, {1}}};
    put_value(g, GRAPH_INPUT, "gpus", 3, (const struct dimension[]){{1, ""}, {shape->gpu_features, ""}, {0, "G"}});
    if (shape->state_features > 0)
        put_value(g, GRAPH_INPUT, "state", 2, (const struct dimension[]){{1, ""}, {shape->state_features, ""}});
    if (shape->action_features > 0)
        put_value(g, GRAPH_INPUT, "actions", 2, (const struct dimension[]){{0, "N"}, {shape->action_features, ""}});
    put_value(g, GRAPH_INPUT, "members", 2, (const struct dimension[]){{0, "N"}, {0, "G"}});
    put_convolutions(g);
    put_node(g, "ReduceMean", "embedding", "mean", 2, over_gpus);
    put_node(g, "ReduceMax", "embedding", "max", 2, over_gpus);
    put_axis(g, "Concat", shape->state_features > 0 ? "mean max state" : "mean max", "context", 1);
    put_dense(g, ADL_QNET_VALUE1, "value1");
    put_dense(g, ADL_QNET_VALUE2, "value2");
    put_simple(g, "Gemm", "context value1.weight value1.bias", "value1");
    put_simple(g, "Relu", "value1", "value1_relu");
    put_simple(g, "Gemm", "value1_relu value2.weight value2.bias", "value");
    put_dense(g, ADL_QNET_STATE1, "state1");
    put_dense(g, ADL_QNET_ACTION1, "action1");
    put_dense(g, ADL_QNET_ACTION2, "action2");
    put_dense(g, ADL_QNET_ACTION3, "action3");
    put_index(g, "axis0", 0);
    put_simple(g, "Squeeze", "embedding_rows axis0", "embedding_matrix");
    put_simple(g, "MatMul", "members embedding_matrix", "members_mean");
    put_axis(g, "Concat", shape->action_features > 0 ? "members_mean actions" : "members_mean", "action", 1);
    put_simple(g, "Gemm", "context state1.weight state1.bias", "state1");
    put_simple(g, "MatMul", "action action1.weight", "action1_part");
    put_simple(g, "Add", "action1_part state1", "action1");
    put_simple(g, "Relu", "action1", "action1_relu");
    put_simple(g, "Gemm", "action1_relu action2.weight action2.bias", "action2");
    put_simple(g, "Relu", "action2", "action2_relu");
    put_simple(g, "Gemm", "action2_relu action3.weight action3.bias", "advantage");
    put_node(g, "ReduceMean", "advantage", "advantage_mean", 2, over_actions);
    put_simple(g, "Sub", "advantage advantage_mean", "contrast");
    put_simple(g, "Add", "contrast value", "q_column");
}

static void put_paper(struct graph *g)
{
    const struct adl_qnet_shape *shape = &g->net->shape;
    put_value(g, GRAPH_INPUT, "gpus", 3, (const struct dimension[]){{1, ""}, {1, ""}, {shape->paper_gpus, ""}});
    put_value(g, GRAPH_INPUT, "state", 2, (const struct dimension[]){{1, ""}, {shape->state_features, ""}});
    put_value(g, GRAPH_INPUT, "members", 2, (const struct dimension[]){{0, "N"}, {shape->paper_gpus + 1, ""}});
    put_convolutions(g);
    put_dense(g, ADL_QNET_FLAT, "flat1");
    put_dense(g, ADL_QNET_FLAT_STATE, "state1");
    put_dense(g, ADL_QNET_OUTPUT, "output");
    put_axis(g, "Flatten", "embedding_rows", "flat", 1);
    put_simple(g, "Gemm", "flat flat1.weight flat1.bias", "flat1");
    put_simple(g, "MatMul", "state state1.weight", "state1");
    put_simple(g, "Add", "flat1 state1", "hidden");
    put_simple(g, "Relu", "hidden", "hidden_relu");
    put_simple(g, "Gemm", "hidden_relu output.weight output.bias", "outputs");
    put_simple(g, "Transpose", "outputs", "outputs_column");
    put_simple(g, "MatMul", "members outputs_column", "q_column");
}

int adl_onnx_write(const struct adl_qnet *net, const float *params, struct adl_text *ret_bytes, struct adl_error *err)
{
    struct graph g = {.net = net, .params = params};
    struct adl_text opset = {0};
    const size_t start = ret_bytes->size;
    adl_protobuf_string(&g.text, GRAPH_NAME, adl_qnet_kind_name(net->shape.kind));
    if (net->shape.kind == ADL_QNET_PAPER)
        put_paper(&g);
    else
        put_shared(&g);
    put_index(&g, "axis1", 1);
    put_simple(&g, "Squeeze", "q_column axis1", "q");
    put_value(&g, GRAPH_OUTPUT, "q", 1, (const struct dimension[]){{0, "N"}});
    adl_protobuf_string(&opset, OPSET_DOMAIN, "");
    adl_protobuf_int(&opset, OPSET_VERSION, 13);
    adl_protobuf_int(ret_bytes, MODEL_IR_VERSION, 7);
    adl_protobuf_string(ret_bytes, MODEL_PRODUCER, "adlro");
    adl_protobuf_message(ret_bytes, MODEL_OPSET, &opset);
    adl_protobuf_message(ret_bytes, MODEL_GRAPH, &g.text);
    if (adl_text_status(ret_bytes) == 0)
        return 0;
    adl_text_truncate(ret_bytes, start);
    return adl_fail(err, ADL_ENOMEM, "onnx: no memory for the network's bytes");
}
