/* onnx: a Q-network in the Open Neural Network Exchange format (opset 13), for other programs to run.
 *
 * The graph values the actions of one state. Its inputs, float32:
 *
 *     SHARED  gpus (1, F, G)   state (1, S)   actions (N, A)   members (N, G)
 *     PAPER   gpus (1, 1, n)   state (1, S)                    members (N, n + 1)
 *
 * and its output q (N). G and N may be any numbers; N must be all actions of the state, whose mean SHARED subtracts. A
 * row of members holds, for each member GPU, one over the number of members, so that a product takes the mean; to wait
 * is a row of zeros for SHARED and a 1 in the last column for PAPER. An input without features is left out. */
#ifndef ADLRO_NN_ONNX_H
#define ADLRO_NN_ONNX_H

#include "base/error.h"
#include "base/text.h"
#include "nn/qnet.h"

/* Appends the bytes of a ModelProto; ADL_ENOMEM leaves the text as it was. */
int adl_onnx_write(const struct adl_qnet *net, const float *params, struct adl_text *ret_bytes, struct adl_error *err);

#endif
