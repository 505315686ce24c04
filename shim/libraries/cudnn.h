/* Finds out what calls of cuDNN compute. cudnn.c has the wrappers, cudnn_graph.c follows the descriptors of the graph
 * interface, and cudnn_labels.c makes the labels (texts that tell what is computed) of graphs and convolutions. */
#ifndef WALLSHIM_SHIM_LIBRARIES_CUDNN_H
#define WALLSHIM_SHIM_LIBRARIES_CUDNN_H

#include "abi/cudnn.h"
#include "shim/libraries/library_calls.h"
#include "shim/objects/thread.h"

struct cudnn_tensor {
    int64_t uid; /* identifies the tensor in all operations of a graph */
    int64_t size[WS_CUDNN_DIM_MAX];
    ws_cudnnEnum type;
    uint8_t rank;
    bool is_virtual, by_value; /* if is_virtual or by_value is set, the tensor is not in device memory */
    /* the tensor has gaps, and the sizes of the gaps are in device memory */
    bool ragged;
    bool vectors; /* the tensor's elements are grouped in vectors, and `size` may count vectors instead of elements */
};

enum { CUDNN_OPERANDS = 14 };

/* An operation of a graph, with its attributes. */
struct cudnn_operation {
    ws_cudnnEnum type;    /* type of the operation's descriptor */
    ws_cudnnEnum compute; /* data type of the computation; -1: not set */
    bool by_index;        /* the operation uses the indices of elements, as a mask does */
    uint32_t count;       /* number of operands that are set */
    struct {
        ws_cudnnEnum name; /* the attribute (CUDNN_ATTR_…) by which the program set this tensor */
        struct cudnn_tensor tensor;
    } operands[CUDNN_OPERANDS];
};

/* The label of a graph (FORMAT.md says how it is written). label.inputs is 0 if the reports could not compute the
 * graph's cost from a label. Takes the registry's lock. */
struct call_label cudnn_graph_label(const struct cudnn_operation *const *operations, size_t count);

/* The label of a convolution's tensors: the input, the filter, the result. Each tensor may be a gradient. */
uint32_t cudnn_convolution_label(const struct cudnn_tensor tensors[3]);

/* Called when a cuDNN function has created, set, got or finalized a descriptor. Only cudnn_destroying is called
 * before cuDNN's function, which then destroys the descriptor. All these functions take LOCK_DESCRIPTORS for a
 * moment. */
void cudnn_created(ws_cudnnDescriptor descriptor, ws_cudnnEnum type);
void cudnn_set(ws_cudnnDescriptor descriptor, ws_cudnnEnum name, ws_cudnnEnum type, int64_t count,
               const void *elements);
void cudnn_got(ws_cudnnDescriptor descriptor, ws_cudnnEnum type, int64_t count, void *elements);
void cudnn_finalized(ws_cudnnDescriptor descriptor);
void cudnn_destroying(ws_cudnnDescriptor descriptor);

/* The label of a finalized plan. label.inputs is 0 if the label is not known, or if the variant pack overrides sizes.
 * Takes a lock only if some variant pack of the program has overridden sizes. */
struct call_label cudnn_plan_label(ws_cudnnDescriptor plan, ws_cudnnDescriptor pack);

#endif
