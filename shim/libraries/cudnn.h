/* What cuDNN computes: cudnn.c has the wrappers, cudnn_graph.c follows the descriptors of its graph interface,
 * cudnn_labels.c says what a graph or a convolution is. */
#ifndef WALLSHIM_SHIM_LIBRARIES_CUDNN_H
#define WALLSHIM_SHIM_LIBRARIES_CUDNN_H

#include "abi/cudnn.h"
#include "shim/libraries/library_calls.h"
#include "shim/objects/thread.h"

struct cudnn_tensor {
    int64_t uid; /* the same tensor in all operations of a graph has the same */
    int64_t size[WS_CUDNN_DIM_MAX];
    ws_cudnnEnum type;
    uint8_t rank;
    bool is_virtual, by_value; /* it is never in memory */
    bool ragged;               /* it has gaps, which only the device knows */
    bool vectors;              /* of several elements, in which sizes may count */
};

enum { CUDNN_OPERANDS = 14 };

/* An operation of a graph, with what it was given. */
struct cudnn_operation {
    ws_cudnnEnum type;    /* of its descriptor */
    ws_cudnnEnum compute; /* data type; -1: not said */
    bool by_index;        /* asks for indices, as masks do */
    uint32_t count;
    struct {
        ws_cudnnEnum name; /* of the attribute */
        struct cudnn_tensor tensor;
    } operands[CUDNN_OPERANDS];
};

/* The label of a graph, as FORMAT.md has them (names of cuDNN). inputs are 0 where the cost of the graph is not
 * known. Takes the registry's lock. */
struct call_label cudnn_graph_label(const struct cudnn_operation *const *operations, size_t count);

/* The inputs of a convolution: what is convolved, the filter, the result, each a tensor or its gradient. */
uint32_t cudnn_convolution_label(const struct cudnn_tensor tensors[3]);

/* Notes of calls that succeeded. They take the lock of descriptors for moments. */
void cudnn_created(ws_cudnnDescriptor descriptor, ws_cudnnEnum type);
void cudnn_set(ws_cudnnDescriptor descriptor, ws_cudnnEnum name, ws_cudnnEnum type, int64_t count,
               const void *elements);
void cudnn_got(ws_cudnnDescriptor descriptor, ws_cudnnEnum type, int64_t count, void *elements);
void cudnn_finalized(ws_cudnnDescriptor descriptor);
void cudnn_destroying(ws_cudnnDescriptor descriptor);

/* The label of a finalized plan. inputs are 0 where it is not known, or gets other sizes. Takes a lock only where
 * variant packs override sizes. */
struct call_label cudnn_plan_label(ws_cudnnDescriptor plan, ws_cudnnDescriptor pack);

#endif
