/* The launches of a transformer's training: forward pass, loss, backward pass, update. */
#ifndef WALLSHIM_WALLS_MODEL_H
#define WALLSHIM_WALLS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels.h"

enum { MOST_LAYERS = 32, MODEL_BATCH = 8 << 20 };

struct layer {
    ws_CUdeviceptr weights, gradients; /* the optimizer's moments lie behind the gradients in the same buffer */
    ws_CUdeviceptr input, normed, mixed, attended, wide, active, output;
};

struct model {
    uint32_t layers, hidden, tokens, vocabulary;
    ws_CUstream stream;
    /* chain: how many pointwise kernels follow the activation between the two matrix products of the MLP. fused: one
     * kernel does the work of the activation and of these kernels. */
    uint32_t chain;
    bool fused;
    struct layer layer[MOST_LAYERS];
    uint64_t table_parameters; /* number of parameters of a large embedding, which only the optimizer uses */
    ws_CUdeviceptr batch, table, logits, gradient, loss, big_table;
    void (*in_forward)(void *context, uint32_t layer), *context;
    void (*after_backward)(void *context, uint32_t layer); /* called when a layer's gradients are complete */
};

/* Allocates the buffers for the sizes in *model. */
void model_allocate(struct model *model);

uint64_t model_layer_parameters(const struct model *model);

void model_forward(const struct model *model);
void model_loss(const struct model *model);
void model_backward(const struct model *model);
void model_update(const struct model *model);

#endif
