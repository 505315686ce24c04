#include "model.h"

#include "tests/programs/program.h"

enum { TABLE_PIECE = 64000000 };

static ws_CUdeviceptr buffer(uint64_t bytes)
{
    ws_CUdeviceptr address;
    MUST(cuMemAlloc_v2(&address, bytes));
    return address;
}

uint64_t model_layer_parameters(const struct model *model)
{
    return (uint64_t)12 * model->hidden * model->hidden;
}

void model_allocate(struct model *model)
{
    uint64_t row = (uint64_t)model->tokens * model->hidden * 2, parameters = model_layer_parameters(model);
    model->batch = buffer(MODEL_BATCH);
    model->table = buffer((uint64_t)model->vocabulary * model->hidden * 2);
    model->logits = buffer((uint64_t)model->vocabulary * model->tokens * 2);
    model->gradient = buffer(row * 4);
    model->loss = buffer(512);
    if (model->table_parameters)
        model->big_table = buffer(model->table_parameters * 16);
    for (uint32_t i = 0; i < model->layers; i++) {
        struct layer *layer = &model->layer[i];
        layer->weights = buffer(parameters * 4);
        layer->gradients = buffer(parameters * 12);
        layer->input = i ? model->layer[i - 1].output : buffer(row);
        layer->normed = buffer(row);
        layer->mixed = buffer(row * 3);
        layer->attended = buffer(row);
        layer->wide = buffer(row * 4);
        layer->active = buffer(row * 4);
        layer->output = buffer(row);
    }
}

/* Launches the kernels between the two products of the MLP: an activation, and a chain of pointwise kernels with one
 * operation each. */
static void activate(const struct model *model, const struct layer *layer)
{
    static const enum kernel in_a_row[] = { KERNEL_SCALE, KERNEL_TANH, KERNEL_ADD, KERNEL_MUL };
    uint32_t elements = model->tokens * model->hidden * 4;
    if (model->fused) {
        launch_triton(model->stream, elements, layer->active, layer->wide, layer->wide);
        return;
    }
    launch_pointwise(model->stream, KERNEL_GELU, elements, layer->active, layer->wide, 0);
    for (uint32_t i = 0; i < model->chain; i++)
        launch_pointwise(model->stream, in_a_row[i % 4], elements, layer->active, layer->active, layer->wide);
}

static enum kernel product_of(const struct model *model)
{
    return model->tokens == 1 ? KERNEL_GEMV : KERNEL_GEMM;
}

static void layer_forward(const struct model *model, const struct layer *layer)
{
    uint32_t t = model->tokens, h = model->hidden;
    enum kernel product = product_of(model);
    ws_CUstream stream = model->stream;
    launch_rows(stream, KERNEL_NORM, t, h, layer->normed, layer->input);
    launch_gemm(stream, product, layer->mixed, layer->normed, layer->weights, t, 3 * h, h);
    launch_attention(stream, KERNEL_ATTENTION, t, h, layer->attended, layer->mixed);
    launch_gemm(stream, product, layer->output, layer->attended, layer->weights, t, h, h);
    launch_pointwise(stream, KERNEL_ADD, t * h, layer->output, layer->output, layer->input);
    launch_rows(stream, KERNEL_NORM, t, h, layer->normed, layer->output);
    launch_gemm(stream, product, layer->wide, layer->normed, layer->weights, t, 4 * h, h);
    activate(model, layer);
    launch_gemm(stream, product, layer->normed, layer->active, layer->weights, t, h, 4 * h);
    launch_pointwise(stream, KERNEL_ADD, t * h, layer->output, layer->normed, layer->output);
}

void model_forward(const struct model *model)
{
    launch_rows(model->stream, KERNEL_EMBEDDING, model->tokens, model->hidden, model->layer[0].input, model->table);
    for (uint32_t i = 0; i < model->layers; i++) {
        layer_forward(model, &model->layer[i]);
        if (model->in_forward)
            model->in_forward(model->context, i);
    }
}

void model_loss(const struct model *model)
{
    uint32_t t = model->tokens, h = model->hidden, v = model->vocabulary;
    ws_CUdeviceptr last = model->layer[model->layers - 1].output;
    launch_gemm(model->stream, product_of(model), model->logits, last, model->table, t, v, h);
    launch_rows(model->stream, KERNEL_SOFTMAX, t, v, model->logits, model->logits);
    launch_rows(model->stream, KERNEL_REDUCE, t, 1, model->loss, model->logits);
}

/* Computes the gradients of a product's input and weights. */
static void product_backward(const struct model *model, const struct layer *layer, ws_CUdeviceptr input, uint32_t out,
                             uint32_t in)
{
    launch_gemm(model->stream, KERNEL_GEMM, model->gradient, model->gradient, layer->weights, model->tokens, in, out);
    launch_gemm(model->stream, KERNEL_GEMM_SLIM, layer->gradients, model->gradient, input, out, in, model->tokens);
}

static void layer_backward(const struct model *model, const struct layer *layer)
{
    uint32_t t = model->tokens, h = model->hidden;
    ws_CUstream stream = model->stream;
    ws_CUdeviceptr gradient = model->gradient;
    product_backward(model, layer, layer->active, h, 4 * h);
    launch_pointwise(stream, KERNEL_GELU_BACKWARD, t * h * 4, gradient, gradient, layer->wide);
    product_backward(model, layer, layer->normed, 4 * h, h);
    launch_rows(stream, KERNEL_NORM_BACKWARD, t, h, gradient, layer->normed);
    launch_pointwise(stream, KERNEL_ADD, t * h, gradient, gradient, layer->output);
    product_backward(model, layer, layer->attended, h, h);
    launch_attention(stream, KERNEL_ATTENTION_BACKWARD, t, h, layer->mixed, gradient);
    product_backward(model, layer, layer->normed, 3 * h, h);
    launch_rows(stream, KERNEL_NORM_BACKWARD, t, h, gradient, layer->input);
    launch_pointwise(stream, KERNEL_ADD, t * h, gradient, gradient, layer->input);
}

void model_backward(const struct model *model)
{
    uint32_t t = model->tokens, h = model->hidden, v = model->vocabulary;
    ws_CUdeviceptr last = model->layer[model->layers - 1].output;
    launch_rows(model->stream, KERNEL_SOFTMAX_BACKWARD, t, v, model->logits, model->logits);
    launch_gemm(model->stream, KERNEL_GEMM, model->gradient, model->logits, model->table, t, h, v);
    launch_gemm(model->stream, KERNEL_GEMM_SLIM, model->table, model->logits, last, v, h, t);
    for (uint32_t i = model->layers; i-- > 0;) {
        layer_backward(model, &model->layer[i]);
        if (model->after_backward)
            model->after_backward(model->context, i);
    }
    launch_rows(model->stream, KERNEL_EMBEDDING_BACKWARD, t, h, model->table, model->gradient);
}

void model_update(const struct model *model)
{
    for (uint32_t i = 0; i < model->layers; i++)
        launch_adam(model->stream, (uint32_t)model_layer_parameters(model), model->layer[i].weights,
                    model->layer[i].gradients);
    for (uint64_t at = 0; at < model->table_parameters; at += TABLE_PIECE) {
        uint64_t left = model->table_parameters - at, piece = left < TABLE_PIECE ? left : TABLE_PIECE;
        ws_CUdeviceptr weights = model->big_table + 16 * at;
        launch_adam(model->stream, (uint32_t)piece, weights, weights + 4 * piece);
    }
}
