#include <stdio.h>
#include <string.h>

#include "shim/libraries/cudnn.h"

enum { MOST_WORDS = 30 };

struct text {
    char data[6144]; /* has room for MOST_WORDS words of the greatest length */
    size_t length;
    int words;
    int64_t uids[MOST_WORDS]; /* uids of the tensors that the text already has with their types */
    int uid_count;
};

static const char *type_name(ws_cudnnEnum type)
{
    switch (type) {
    case WS_CUDNN_DATA_FLOAT:
        return "float";
    case WS_CUDNN_DATA_DOUBLE:
        return "double";
    case WS_CUDNN_DATA_HALF:
        return "c10::Half";
    case WS_CUDNN_DATA_BFLOAT16:
        return "c10::BFloat16";
    case WS_CUDNN_DATA_FP8_E4M3:
        return "c10::Float8_e4m3fn";
    case WS_CUDNN_DATA_FP8_E5M2:
        return "c10::Float8_e5m2";
    case WS_CUDNN_DATA_INT8:
        return "signed_char";
    case WS_CUDNN_DATA_UINT8:
        return "unsigned_char";
    case WS_CUDNN_DATA_INT32:
        return "int";
    case WS_CUDNN_DATA_INT64:
        return "long_int";
    case WS_CUDNN_DATA_BOOLEAN:
        return "bool";
    default:
        return "-";
    }
}

static const char *compute_word(ws_cudnnEnum type)
{
    switch (type) {
    case WS_CUDNN_DATA_FLOAT:
        return " compute_32f";
    case WS_CUDNN_DATA_HALF:
        return " compute_16f";
    case WS_CUDNN_DATA_DOUBLE:
        return " compute_64f";
    case WS_CUDNN_DATA_INT32:
        return " compute_32i";
    default:
        return "";
    }
}

/* Appends a word to the text, or leaves the word out if it does not fit. */
static void add(struct text *text, const char *word)
{
    size_t length = strlen(word);
    if (length >= sizeof(text->data) - text->length)
        return;
    memcpy(text->data + text->length, word, length + 1);
    text->length += length;
}

static bool is_moved(const struct cudnn_tensor *tensor)
{
    return !tensor->is_virtual && !tensor->by_value;
}

static bool is_written(const struct text *text, const struct cudnn_tensor *tensor)
{
    for (int i = 0; i < text->uid_count; i++)
        if (text->uids[i] == tensor->uid)
            return true;
    return false;
}

/* Appends a tensor's type and sizes. "-" takes the place of the type if the tensor is not in device memory, or was
 * written before. */
static void add_tensor(struct text *text, const struct cudnn_tensor *tensor)
{
    bool moves = is_moved(tensor) && !is_written(text, tensor);
    if (text->words == MOST_WORDS)
        return;
    add(text, text->words++ ? " " : "");
    add(text, moves ? type_name(tensor->type) : "-");
    for (int i = 0; i < tensor->rank; i++) {
        char size[24];
        snprintf(size, sizeof(size), "%s%lld", i ? "," : "[", (long long)tensor->size[i]);
        add(text, size);
    }
    add(text, tensor->rank ? "]" : "");
    if (moves)
        text->uids[text->uid_count++] = tensor->uid;
}

/* ---- what an operation multiplies */

/* The operations that do most of a graph's arithmetic. */
static const struct heavy {
    const char *name;
    ws_cudnnEnum type, operands[4]; /* operands: names of attributes, in the label's order; 0: no more */
    int most; /* a graph gets a label only if it has at most this many operations of this type */
} heavies[] = {
    { "cudnnBackendExecute convolution_forward",
      WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
      { WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y },
      1 },
    { "cudnnBackendExecute convolution_backward_data",
      WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      { WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
        WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY },
      1 },
    { "cudnnBackendExecute convolution_backward_filter",
      WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      { WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
        WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY },
      1 },
    { "cudnnBackendExecute matmul",
      WS_CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
      { WS_CUDNN_ATTR_OPERATION_MATMUL_ADESC, WS_CUDNN_ATTR_OPERATION_MATMUL_BDESC,
        WS_CUDNN_ATTR_OPERATION_MATMUL_CDESC },
      8 },
    { "cudnnBackendExecute sdpa_forward",
      WS_CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
      { WS_CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, WS_CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
        WS_CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC },
      1 },
    { "cudnnBackendExecute sdpa_backward",
      WS_CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR,
      { WS_CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC, WS_CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC,
        WS_CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, WS_CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC },
      1 },
};

static const struct heavy *heavy_of(ws_cudnnEnum type)
{
    for (size_t i = 0; i < sizeof(heavies) / sizeof(heavies[0]); i++)
        if (heavies[i].type == type)
            return &heavies[i];
    return NULL;
}

/* Does the operation do little arithmetic? Returns false for operations that are not listed in this function, such as
 * those of later versions of cuDNN. */
static bool is_light(ws_cudnnEnum type)
{
    static const ws_cudnnEnum light[] = {
        WS_CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
        WS_CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR,
        WS_CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
        WS_CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR,
        WS_CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR,
        WS_CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR,
        WS_CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR,
        WS_CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR,
        WS_CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR,
        WS_CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR,
        WS_CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
        WS_CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR,
    };
    for (size_t i = 0; i < sizeof(light) / sizeof(light[0]); i++)
        if (light[i] == type)
            return true;
    return false;
}

static const struct cudnn_tensor *operand(const struct cudnn_operation *operation, ws_cudnnEnum name)
{
    for (uint32_t i = 0; i < operation->count; i++)
        if (operation->operands[i].name == name)
            return &operation->operands[i].tensor;
    return NULL;
}

/* May the operation compute only parts of its result? True if masks, or gaps or lengths that are stored in device
 * memory, decide which parts it computes. */
static bool leaves_out(const struct cudnn_operation *operation)
{
    bool partly = operation->by_index;
    for (uint32_t i = 0; i < operation->count; i++) {
        ws_cudnnEnum name = operation->operands[i].name;
        partly |=
            operation->operands[i].tensor.ragged || (name >= WS_CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC &&
                                                     name <= WS_CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC);
    }
    return partly;
}

/* Is this paged attention? In paged attention the tensors K and V contain all pages, not only the pages that the
 * operation uses. */
static bool is_paged(const struct cudnn_operation *operation)
{
    return operation->type == WS_CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR &&
           (operand(operation, WS_CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC) ||
            operand(operation, WS_CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC));
}

static bool add_heavy(struct text *text, const struct cudnn_operation *operation, const struct heavy *heavy)
{
    for (int i = 0; i < 4 && heavy->operands[i]; i++) {
        const struct cudnn_tensor *tensor = operand(operation, heavy->operands[i]);
        if (!tensor || tensor->rank < 2 || tensor->vectors || is_paged(operation))
            return false;
        add_tensor(text, tensor);
    }
    return true;
}

/* label.inputs lists, in this order: the operands of the multiplications, whether the graph may compute only parts of
 * its results (Scalar=True), the other tensors in device memory, and the data type of the computation. */
struct call_label cudnn_graph_label(const struct cudnn_operation *const *operations, size_t count)
{
    const struct call_label unknown = { 0 };
    const struct heavy *kind = NULL;
    struct text text = { .length = 0 };
    const char *compute = "";
    bool partly = false;
    int heavy_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct heavy *heavy = operations[i] ? heavy_of(operations[i]->type) : NULL;
        if (!operations[i] || (!heavy && !is_light(operations[i]->type)) || (heavy && kind && heavy != kind))
            return unknown;
        partly |= leaves_out(operations[i]);
        if (!heavy)
            continue;
        kind = heavy;
        compute = compute_word(operations[i]->compute);
        if (++heavy_count > heavy->most || !add_heavy(&text, operations[i], heavy))
            return unknown;
    }
    if (kind)
        add(&text, partly ? " Scalar=True" : " Scalar=False");
    for (size_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < operations[i]->count; j++) {
            const struct cudnn_tensor *tensor = &operations[i]->operands[j].tensor;
            if (is_moved(tensor) && !is_written(&text, tensor))
                add_tensor(&text, tensor);
        }
    add(&text, compute);
    if (!text.words)
        return unknown;
    return (struct call_label){ library_label(kind ? kind->name : "cudnnBackendExecute"), library_label(text.data) };
}

uint32_t cudnn_convolution_label(const struct cudnn_tensor tensors[3])
{
    struct text text = { .length = 0 };
    for (int i = 0; i < 3; i++)
        add_tensor(&text, &tensors[i]);
    return library_label(text.data);
}
